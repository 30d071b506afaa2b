package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"plumbline/scorers/entail"
)

// byteLevelSegmenter is the ByteLevel pre-tokenizer: words with the blank
// before them, cut as by the pattern of GPT-2 (Radford et al. 2019):
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
type byteLevelSegmenter struct {
	classes []patternClass
}

// patternClass is what a code point is to the pattern.
type patternClass uint8

const (
	otherRune patternClass = iota
	letterRune
	numberRune
	spaceRune
)

var contractions = []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}

func newByteLevelSegmenter(preTokenizer json.RawMessage) (*byteLevelSegmenter, error) {
	options := struct {
		AddPrefixSpace bool `json:"add_prefix_space"`
		UseRegex       bool `json:"use_regex"`
	}{UseRegex: true}
	if err := json.Unmarshal(preTokenizer, &options); err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	if !options.UseRegex || options.AddPrefixSpace {
		return nil, errors.New("pre_tokenizer: ByteLevel is supported with use_regex true and add_prefix_space false only")
	}
	b := &byteLevelSegmenter{classes: make([]patternClass, utf8.MaxRune+1)}
	for class, ranges := range map[patternClass][]runeRange{
		letterRune: letterRunes, numberRune: numberRunes, spaceRune: bpeSpaceRunes,
	} {
		for _, r := range ranges {
			for c := r.first; c <= r.last; c++ {
				b.classes[c] = class
			}
		}
	}
	return b, nil
}

func (b *byteLevelSegmenter) segment(text string, emit func(word)) {
	var w word
	for at := 0; at < len(text); {
		end := b.matchEnd(text, at)
		for at < end {
			r, size := utf8.DecodeRuneInString(text[at:])
			w.add(r, entail.Span{Start: at, End: at + size})
			at += size
		}
		emit(w)
		w.clear()
	}
}

// matchEnd returns where the match of the pattern ends that begins at a
// position.
func (b *byteLevelSegmenter) matchEnd(text string, at int) int {
	for _, c := range contractions {
		if strings.HasPrefix(text[at:], c) {
			return at + len(c)
		}
	}
	body := at
	if text[at] == ' ' {
		body++
	}
	if body < len(text) {
		if class := b.class(text[body:]); class != spaceRune {
			return b.runEnd(text, body, class)
		}
	}
	return b.spaceEnd(text, at)
}

// spaceEnd returns the end of a match of \s+(?!\S)|\s+: white space up to the
// end of the text, or else all of it but its last character if there are more.
func (b *byteLevelSegmenter) spaceEnd(text string, at int) int {
	end := b.runEnd(text, at, spaceRune)
	if end == len(text) {
		return end
	}
	_, size := utf8.DecodeLastRuneInString(text[at:end])
	if at+size == end {
		return end
	}
	return end - size
}

func (b *byteLevelSegmenter) class(text string) patternClass {
	r, _ := utf8.DecodeRuneInString(text)
	return b.classes[r]
}

func (b *byteLevelSegmenter) runEnd(text string, at int, class patternClass) int {
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if b.classes[r] != class {
			break
		}
		at += size
	}
	return at
}
