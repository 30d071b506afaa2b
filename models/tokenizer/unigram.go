package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// unknownPenalty is how much worse an unknown character scores than the worst
// vocabulary entry, in nats.
const unknownPenalty = 10

// unigram cuts a word into the vocabulary entries whose log-probabilities have
// the greatest sum (Kudo 2018), found by Viterbi's algorithm. Neighbouring
// unknown characters are one unknown token.
type unigram struct {
	pieces       *trie
	scores       []float64
	unknown      int32
	unknownScore float64
}

func newUnigram(raw json.RawMessage, special map[string]int64) (*unigram, error) {
	var config struct {
		Vocab        []unigramEntry `json:"vocab"`
		Unknown      *int32         `json:"unk_id"`
		ByteFallback bool           `json:"byte_fallback"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	switch {
	case len(config.Vocab) == 0:
		return nil, errors.New("model: vocab is empty")
	case config.Unknown == nil || *config.Unknown < 0 || int(*config.Unknown) >= len(config.Vocab):
		return nil, errors.New("model: unk_id must be the index of an entry of vocab")
	case config.ByteFallback:
		return nil, errors.New("model: byte_fallback is not supported in Unigram")
	}
	m := &unigram{unknown: *config.Unknown, scores: make([]float64, len(config.Vocab))}
	ids := make(map[string]int32, len(config.Vocab))
	for id, entry := range config.Vocab {
		m.scores[id] = entry.score
		_, control := special[entry.piece]
		if entry.piece != "" && !control && int32(id) != m.unknown {
			ids[entry.piece] = int32(id)
		}
	}
	entries := make([]trieEntry, 0, len(ids))
	for piece, id := range ids {
		entries = append(entries, trieEntry{piece, id})
	}
	m.pieces = newTrie(entries)
	m.unknownScore = slices.Min(m.scores) - unknownPenalty
	return m, nil
}

// unigramEntry is written as a pair of a piece and its score.
type unigramEntry struct {
	piece string
	score float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (u *unigramEntry) UnmarshalJSON(data []byte) error {
	var fields [2]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	return errors.Join(json.Unmarshal(fields[0], &u.piece), json.Unmarshal(fields[1], &u.score))
}

// bestPath is the best way to cut the word up to some byte: its score and its
// last token, which begins at start. There is none yet where start is -1.
type bestPath struct {
	score     float64
	start, id int32
}

func (p *bestPath) improve(score float64, start int, id int32) {
	if p.start < 0 || score > p.score {
		*p = bestPath{score, int32(start), id}
	}
}

func (m *unigram) appendTo(e *Encoding) func(word) {
	var paths []bestPath
	return func(w word) {
		paths = m.search(w.text, paths[:0])
		mark := len(e.IDs)
		for end := len(w.text); end > 0; {
			id, start := paths[end].id, int(paths[end].start)
			for id == m.unknown && start > 0 && paths[start].id == m.unknown {
				start = int(paths[start].start)
			}
			e.add(int64(id), w.span(start, end))
			end = start
		}
		slices.Reverse(e.IDs[mark:])
		slices.Reverse(e.Spans[mark:])
	}
}

// search returns the best path to every byte of text, in the memory of paths.
func (m *unigram) search(text []byte, paths []bestPath) []bestPath {
	paths = slices.Grow(paths, len(text)+1)
	for range len(text) + 1 {
		paths = append(paths, bestPath{start: -1})
	}
	for at := 0; at < len(text); {
		_, size := utf8.DecodeRune(text[at:])
		known := false
		for n, id := range m.pieces.prefixes(text[at:]) {
			paths[at+n].improve(paths[at].score+m.scores[id], at, id)
			known = known || n == size
		}
		if !known {
			paths[at+size].improve(paths[at].score+m.unknownScore, at, m.unknown)
		}
		at += size
	}
	return paths
}
