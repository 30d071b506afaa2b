package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// wordPiece cuts a word into the longest vocabulary entries, from the left; a
// word that this cannot cut up, or a very long one, is one unknown token
// (Wu et al. 2016, as BERT uses it).
type wordPiece struct {
	// initial has the pieces that begin a word, continuing those inside one,
	// without their prefix.
	initial, continuing *trie
	unknown             int64
	maxRunes            int
}

// maxMaxRunes bounds max_input_chars_per_word, which is 100 in practice.
const maxMaxRunes = 1 << 20

func newWordPiece(raw json.RawMessage, special map[string]int64) (*wordPiece, error) {
	var config struct {
		Vocab    map[string]int32 `json:"vocab"`
		Unknown  string           `json:"unk_token"`
		Prefix   string           `json:"continuing_subword_prefix"`
		MaxRunes int              `json:"max_input_chars_per_word"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	unknown, ok := config.Vocab[config.Unknown]
	switch {
	case len(config.Vocab) == 0:
		return nil, fmt.Errorf("model: vocab is empty")
	case !ok:
		return nil, fmt.Errorf("model: unk_token %q is not in vocab", config.Unknown)
	case config.MaxRunes < 1 || config.MaxRunes > maxMaxRunes:
		return nil, fmt.Errorf("model: max_input_chars_per_word is %d: it must be in 1..%d", config.MaxRunes, maxMaxRunes)
	}
	var initial, continuing []trieEntry
	for key, id := range config.Vocab {
		if id < 0 {
			return nil, fmt.Errorf("model: vocab has the negative id %d", id)
		}
		if _, control := special[key]; key == "" || control {
			continue
		}
		initial = append(initial, trieEntry{key, id})
		if rest, ok := strings.CutPrefix(key, config.Prefix); ok && rest != "" {
			continuing = append(continuing, trieEntry{rest, id})
		}
	}
	return &wordPiece{
		initial:    newTrie(initial),
		continuing: newTrie(continuing),
		unknown:    int64(unknown),
		maxRunes:   config.MaxRunes,
	}, nil
}

// maxBytes returns a length in bytes that only unknown words exceed.
func (m *wordPiece) maxBytes() int { return m.maxRunes * utf8.UTFMax }

func (m *wordPiece) appendTo(e *Encoding) func(word) {
	return func(w word) { m.tokenize(w, e) }
}

func (m *wordPiece) tokenize(w word, e *Encoding) {
	mark := len(e.IDs)
	if len(w.text) <= m.maxRunes || utf8.RuneCount(w.text) <= m.maxRunes {
		if m.cut(w, e) {
			return
		}
	}
	e.IDs, e.Spans = e.IDs[:mark], e.Spans[:mark]
	e.add(m.unknown, w.span(0, len(w.text)))
}

// cut appends the pieces of w and reports whether they cover it.
func (m *wordPiece) cut(w word, e *Encoding) bool {
	pieces := m.initial
	for at := 0; at < len(w.text); {
		n, id := pieces.longest(w.text[at:])
		if n == 0 {
			return false
		}
		e.add(int64(id), w.span(at, at+n))
		at += n
		pieces = m.continuing
	}
	return true
}
