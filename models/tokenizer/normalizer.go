package tokenizer

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// normalizer is a step of the normalisation before a Unigram model. It may use
// the memory of its argument for the result.
type normalizer interface {
	normalize(w word) word
}

// newNormalizers reads the normalizer section: null, one step or a Sequence.
func newNormalizers(raw json.RawMessage, sets []runeSet) ([]normalizer, error) {
	if absent(raw) {
		return nil, nil
	}
	var config struct {
		Type        string            `json:"type"`
		Normalizers []json.RawMessage `json:"normalizers"`
		Left        bool              `json:"strip_left"`
		Right       bool              `json:"strip_right"`
		Charsmap    []byte            `json:"precompiled_charsmap"`
		Pattern     struct {
			String string
			Regex  string
		} `json:"pattern"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	switch config.Type {
	case "Sequence":
		var all []normalizer
		for _, step := range config.Normalizers {
			steps, err := newNormalizers(step, sets)
			if err != nil {
				return nil, err
			}
			all = append(all, steps...)
		}
		return all, nil
	case "Strip":
		return []normalizer{stripBlanks{left: config.Left, right: config.Right, sets: sets}}, nil
	case "Precompiled":
		charsmap, err := newCharsmap(config.Charsmap)
		if err != nil {
			return nil, err
		}
		return []normalizer{charsmap}, nil
	case "Replace":
		if config.Pattern.Regex != " {2,}" {
			return nil, fmt.Errorf("normalizer: Replace is supported for the regular expression \" {2,}\" only")
		}
		return []normalizer{joinBlanks{content: config.Content}}, nil
	default:
		return nil, unsupported("normalizer", config.Type, "Strip, Precompiled, Replace of several blanks, and their Sequence before a Unigram model")
	}
}

// stripBlanks removes white space at the ends of the text.
type stripBlanks struct {
	left, right bool
	sets        []runeSet
}

func (s stripBlanks) normalize(w word) word {
	for s.left && len(w.text) > 0 {
		r, size := utf8.DecodeRune(w.text)
		if s.sets[r]&space == 0 {
			break
		}
		w = w.slice(size, len(w.text))
	}
	for s.right && len(w.text) > 0 {
		r, size := utf8.DecodeLastRune(w.text)
		if s.sets[r]&space == 0 {
			break
		}
		w = w.slice(0, len(w.text)-size)
	}
	return w
}

// joinBlanks replaces each run of two and more blanks by content, which stands
// for the last one of them.
type joinBlanks struct{ content string }

func (j joinBlanks) normalize(in word) word {
	out := newWord(len(in.text))
	for at := 0; at < len(in.text); {
		end := at
		for end < len(in.text) && in.text[end] == ' ' {
			end++
		}
		if end-at >= 2 {
			for _, r := range j.content {
				out.add(r, in.spans[end-1])
			}
			at = end
			continue
		}
		r, size := utf8.DecodeRune(in.text[at:])
		out.add(r, in.spans[at])
		at += size
	}
	return out
}
