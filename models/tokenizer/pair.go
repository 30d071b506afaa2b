package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// templates are the layouts of the post-processor.
type templates struct {
	// pair is the layout of a pair: [CLS] A [SEP] B [SEP] for BERT.
	pair template
	// single is the layout of one text: [CLS] A [SEP]. It matters only where a
	// pair is read as one text.
	single template
}

// template is an order of texts and special tokens.
type template []templatePart

// templatePart is a special token or the place of a text.
type templatePart struct {
	// text is 0 for the premise, 1 for the hypothesis and -1 for a special
	// token, whose id is then set.
	text   int
	id     int64
	typeID int64
}

const specialPart = -1

func (t template) overhead() int {
	n := 0
	for _, part := range t {
		if part.text == specialPart {
			n++
		}
	}
	return n
}

func (t template) join(texts ...[]int64) PairEncoding {
	size := t.overhead()
	for _, ids := range texts {
		size += len(ids)
	}
	p := PairEncoding{IDs: make([]int64, 0, size), TypeIDs: make([]int64, 0, size)}
	for _, part := range t {
		if part.text == specialPart {
			p.IDs = append(p.IDs, part.id)
		} else {
			p.IDs = append(p.IDs, texts[part.text]...)
		}
		for len(p.TypeIDs) < len(p.IDs) {
			p.TypeIDs = append(p.TypeIDs, part.typeID)
		}
	}
	return p
}

// counts returns how often each text stands in the template.
func (t template) counts() (n [2]int) {
	for _, part := range t {
		if part.text != specialPart {
			n[part.text]++
		}
	}
	return n
}

// split turns the layout of one text into that of a pair: premise, separator
// and hypothesis stand where the text stood.
func (t template) split(separator int64) (template, error) {
	if t.counts() != [2]int{1, 0} {
		return nil, errors.New("post_processor: its single must contain the sequence A once and no other")
	}
	var pair template
	for _, part := range t {
		pair = append(pair, part)
		if part.text == 0 {
			pair = append(pair,
				templatePart{text: specialPart, id: separator, typeID: part.typeID},
				templatePart{text: 1, typeID: part.typeID})
		}
	}
	return pair, nil
}

func newTemplates(raw json.RawMessage) (templates, error) {
	kind, err := typeOf("post_processor", raw)
	if err != nil {
		return templates{}, err
	}
	switch kind {
	case "TemplateProcessing":
		return templateProcessing(raw)
	case "BertProcessing":
		// [CLS] A [SEP] B [SEP], and B with its end has type 1.
		return classifierProcessing(raw, 1, false)
	case "RobertaProcessing":
		// <s> A </s></s> B </s>, all of type 0.
		return classifierProcessing(raw, 0, true)
	case "Sequence":
		steps, err := processors(raw)
		if err != nil {
			return templates{}, err
		}
		if len(steps) != 2 || steps[0].kind != "ByteLevel" {
			return templates{}, errors.New("post_processor: a Sequence must be ByteLevel and a template")
		}
		return newTemplates(steps[1].raw)
	default:
		return templates{}, unsupported("post_processor", kind, "TemplateProcessing, BertProcessing, RobertaProcessing, or one of them after ByteLevel")
	}
}

// processor is a post_processor or a step of its Sequence.
type processor struct {
	kind string
	raw  json.RawMessage
}

// processors returns the steps of a Sequence, or the one that raw is.
func processors(raw json.RawMessage) ([]processor, error) {
	var config struct {
		Type       string            `json:"type"`
		Processors []json.RawMessage `json:"processors"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("post_processor: %w", err)
	}
	if config.Type != "Sequence" {
		return []processor{{config.Type, raw}}, nil
	}
	var steps []processor
	for _, step := range config.Processors {
		kind, err := typeOf("post_processor", step)
		if err != nil {
			return nil, err
		}
		steps = append(steps, processor{kind, step})
	}
	return steps, nil
}

// newOffsetTrim returns how the post-processor takes blanks out of spans:
// RobertaProcessing and ByteLevel may.
func newOffsetTrim(raw json.RawMessage) (offsetTrim, error) {
	var trim offsetTrim
	steps, err := processors(raw)
	if err != nil {
		return trim, err
	}
	for _, step := range steps {
		if step.kind == "RobertaProcessing" || step.kind == "ByteLevel" {
			if err := json.Unmarshal(step.raw, &trim); err != nil {
				return trim, fmt.Errorf("post_processor: %w", err)
			}
		}
	}
	return trim, nil
}

// templatePiece is a part of a template as the file has it; one of the two is
// set.
type templatePiece struct {
	SpecialToken, Sequence *struct {
		ID     string `json:"id"`
		TypeID int64  `json:"type_id"`
	}
}

// templateTokens are the ids of each special token that templates name.
type templateTokens map[string]struct {
	IDs []int64 `json:"ids"`
}

func templateProcessing(raw json.RawMessage) (templates, error) {
	var config struct {
		Single        []templatePiece `json:"single"`
		Pair          []templatePiece `json:"pair"`
		SpecialTokens templateTokens  `json:"special_tokens"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return templates{}, fmt.Errorf("post_processor: %w", err)
	}
	single, err := newTemplate("single", config.Single, config.SpecialTokens)
	if err != nil {
		return templates{}, err
	}
	pair, err := newTemplate("pair", config.Pair, config.SpecialTokens)
	if err != nil {
		return templates{}, err
	}
	if pair.counts() != [2]int{1, 1} {
		return templates{}, errors.New("post_processor: its pair must contain the sequences A and B once each")
	}
	return templates{pair: pair, single: single}, nil
}

func newTemplate(name string, pieces []templatePiece, tokens templateTokens) (template, error) {
	var t template
	for _, piece := range pieces {
		switch {
		case piece.Sequence != nil && piece.Sequence.ID == "A":
			t = append(t, templatePart{text: 0, typeID: piece.Sequence.TypeID})
		case piece.Sequence != nil && piece.Sequence.ID == "B":
			t = append(t, templatePart{text: 1, typeID: piece.Sequence.TypeID})
		case piece.SpecialToken != nil:
			token, ok := tokens[piece.SpecialToken.ID]
			if !ok {
				return nil, fmt.Errorf("post_processor: its %s names %q, which is not in special_tokens", name, piece.SpecialToken.ID)
			}
			for _, id := range token.IDs {
				t = append(t, templatePart{text: specialPart, id: id, typeID: piece.SpecialToken.TypeID})
			}
		default:
			return nil, fmt.Errorf("post_processor: its %s may contain SpecialToken, Sequence A and Sequence B only", name)
		}
	}
	return t, nil
}

// classifierProcessing reads the two fixed layouts that predate templates.
func classifierProcessing(raw json.RawMessage, secondType int64, doubleSeparator bool) (templates, error) {
	var config struct {
		Sep, Cls specialToken
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return templates{}, fmt.Errorf("post_processor: %w", err)
	}
	sep := templatePart{text: specialPart, id: config.Sep.id}
	single := template{{text: specialPart, id: config.Cls.id}, {text: 0}, sep}
	pair := slices.Clone(single)
	if doubleSeparator {
		pair = append(pair, sep)
	}
	sep.typeID = secondType
	return templates{pair: append(pair, templatePart{text: 1, typeID: secondType}, sep), single: single}, nil
}

// specialToken is written as a pair of its text and its id.
type specialToken struct {
	text string
	id   int64
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *specialToken) UnmarshalJSON(data []byte) error {
	var fields [2]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	return errors.Join(json.Unmarshal(fields[0], &s.text), json.Unmarshal(fields[1], &s.id))
}
