package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Parse reads a tokenizer.json as Hugging Face tokenizers writes it. It
// accepts the combinations that entailment models use:
//
//   - WordPiece with BertNormalizer and BertPreTokenizer (BERT, MiniLM);
//   - BPE with ByteLevel (RoBERTa);
//   - Unigram with Metaspace, WhitespaceSplit before it or not, and the
//     normalisers Strip, Precompiled and Replace of several blanks (DeBERTa-v3,
//     T5, XLM-RoBERTa).
//
// The sections truncation, padding and decoder are ignored, and of added_tokens
// only the special ones matter: they are no part of any text.
func Parse(data []byte) (*Tokenizer, error) {
	var file struct {
		AddedTokens []struct {
			ID      int64  `json:"id"`
			Content string `json:"content"`
			Special bool   `json:"special"`
		} `json:"added_tokens"`
		Normalizer    json.RawMessage `json:"normalizer"`
		PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
		PostProcessor json.RawMessage `json:"post_processor"`
		Model         json.RawMessage `json:"model"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not a tokenizer.json: %w", err)
	}
	special := make(map[string]int64)
	for _, token := range file.AddedTokens {
		if token.Special {
			special[token.Content] = token.ID
		}
	}
	templates, err := newTemplates(file.PostProcessor)
	if err != nil {
		return nil, err
	}
	model, err := newModel(file.Model, file.PostProcessor, special)
	if err != nil {
		return nil, err
	}
	segmenter, err := newSegmenter(file.Normalizer, file.PreTokenizer, model)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{segmenter: segmenter, model: model, special: special, templates: templates}, nil
}

func newModel(raw, postProcessor json.RawMessage, special map[string]int64) (model, error) {
	kind, err := typeOf("model", raw)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "WordPiece":
		return newWordPiece(raw, special)
	case "BPE":
		trim, err := newOffsetTrim(postProcessor)
		if err != nil {
			return nil, err
		}
		return newBPE(raw, trim)
	case "Unigram":
		return newUnigram(raw, special)
	default:
		return nil, unsupported("model", kind, "WordPiece, BPE, Unigram")
	}
}

// newSegmenter reads normalizer and pre_tokenizer, which must suit the model.
func newSegmenter(normalizer, preTokenizer json.RawMessage, m model) (segmenter, error) {
	kind, err := typeOf("pre_tokenizer", preTokenizer)
	if err != nil {
		return nil, err
	}
	switch m := m.(type) {
	case *wordPiece:
		if kind != "BertPreTokenizer" {
			return nil, unsupported("pre_tokenizer", kind, "BertPreTokenizer before a WordPiece model")
		}
		if kind, err = typeOf("normalizer", normalizer); err != nil {
			return nil, err
		}
		if kind != "BertNormalizer" {
			return nil, unsupported("normalizer", kind, "BertNormalizer before a WordPiece model")
		}
		return newBertSegmenter(normalizer, m.maxBytes())
	case *bpe:
		if kind != "ByteLevel" {
			return nil, unsupported("pre_tokenizer", kind, "ByteLevel before a BPE model")
		}
		if !absent(normalizer) {
			return nil, errors.New("normalizer: only null is supported before a BPE model")
		}
		return newByteLevelSegmenter(preTokenizer)
	default:
		return newMetaspaceSegmenter(normalizer, preTokenizer)
	}
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// typeOf returns the type that a section of the file names.
func typeOf(section string, raw json.RawMessage) (string, error) {
	if absent(raw) {
		return "", fmt.Errorf("%s is missing", section)
	}
	var tagged struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &tagged); err != nil {
		return "", fmt.Errorf("%s: %w", section, err)
	}
	if tagged.Type == "" {
		return "", fmt.Errorf("%s has no type", section)
	}
	return tagged.Type, nil
}

func unsupported(section, kind, supported string) error {
	return fmt.Errorf("%s type %q is not supported (supported: %s)", section, kind, supported)
}
