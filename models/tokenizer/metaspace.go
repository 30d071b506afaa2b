package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"plumbline/scorers/entail"
)

// metaspaceSegmenter is the pipeline of SentencePiece models: normalisers, an
// optional split at white space, and Metaspace, which writes blanks as a mark
// and begins a word at each mark.
type metaspaceSegmenter struct {
	normalizers     []normalizer
	splitWhitespace bool
	// mark stands for a blank; prepend says that each text that Metaspace
	// gets begins with one, and split that words begin at marks.
	mark    rune
	prepend bool
	split   bool
	sets    []runeSet
}

// preTokenizer is a pre_tokenizer of the types that metaspaceSegmenter knows.
type preTokenizer struct {
	Type           string         `json:"type"`
	PreTokenizers  []preTokenizer `json:"pretokenizers"`
	Replacement    string         `json:"replacement"`
	PrependScheme  string         `json:"prepend_scheme"`
	AddPrefixSpace *bool          `json:"add_prefix_space"`
	Split          *bool          `json:"split"`
}

func newMetaspaceSegmenter(normalizer, pre json.RawMessage) (*metaspaceSegmenter, error) {
	var config preTokenizer
	if err := json.Unmarshal(pre, &config); err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	s := &metaspaceSegmenter{sets: newRuneSets()}
	steps := []preTokenizer{config}
	if config.Type == "Sequence" {
		steps = config.PreTokenizers
	}
	if len(steps) == 2 && steps[0].Type == "WhitespaceSplit" {
		s.splitWhitespace = true
		steps = steps[1:]
	}
	if len(steps) != 1 || steps[0].Type != "Metaspace" {
		return nil, unsupported("pre_tokenizer", config.Type, "Metaspace, alone or after WhitespaceSplit, before a Unigram model")
	}
	if err := s.setMetaspace(steps[0]); err != nil {
		return nil, err
	}
	var err error
	s.normalizers, err = newNormalizers(normalizer, s.sets)
	return s, err
}

func (s *metaspaceSegmenter) setMetaspace(config preTokenizer) error {
	if utf8.RuneCountInString(config.Replacement) != 1 {
		return errors.New("pre_tokenizer: replacement must be one character")
	}
	s.mark, _ = utf8.DecodeRuneInString(config.Replacement)
	s.split = config.Split == nil || *config.Split
	switch config.PrependScheme {
	case "always":
		s.prepend = true
	case "never":
		s.prepend = false
	case "": // files from before 2024
		s.prepend = config.AddPrefixSpace == nil || *config.AddPrefixSpace
	default:
		return fmt.Errorf("pre_tokenizer: prepend_scheme %q is not supported (supported: always, never)", config.PrependScheme)
	}
	return nil
}

func (s *metaspaceSegmenter) segment(text string, emit func(word)) {
	in := newWord(len(text))
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		in.add(r, entail.Span{Start: at, End: at + size})
		at += size
	}
	for _, n := range s.normalizers {
		in = n.normalize(in)
	}
	var w word // keeps its memory from word to word
	start := 0
	for at := 0; s.splitWhitespace && at < len(in.text); {
		r, size := utf8.DecodeRune(in.text[at:])
		if s.sets[r]&space != 0 {
			s.metaspace(in.slice(start, at), &w, emit)
			start = at + size
		}
		at += size
	}
	s.metaspace(in.slice(start, len(in.text)), &w, emit)
}

// metaspace writes blanks as marks, puts one in front and emits the words,
// which it builds in w.
func (s *metaspaceSegmenter) metaspace(in word, w *word, emit func(word)) {
	if len(in.text) == 0 {
		return
	}
	if first, _ := utf8.DecodeRune(in.text); s.prepend && first != ' ' && first != s.mark {
		w.add(s.mark, in.spans[0])
	}
	for at := 0; at < len(in.text); {
		r, size := utf8.DecodeRune(in.text[at:])
		if r == ' ' {
			r = s.mark
		}
		if s.split && r == s.mark && len(w.text) > 0 {
			emit(*w)
			w.clear()
		}
		w.add(r, in.spans[at])
		at += size
	}
	emit(*w)
	w.clear()
}
