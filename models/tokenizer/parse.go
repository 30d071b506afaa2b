package tokenizer

import (
	"encoding/json"
	"fmt"
)

// Parse reads a tokenizer.json as Hugging Face tokenizers writes it. It
// accepts the combinations that entailment models use:
//
//   - WordPiece with BertNormalizer and BertPreTokenizer (BERT, MiniLM, MPNet).
//
// The sections truncation, padding and decoder are ignored, and of added_tokens
// only the special ones matter: they are no part of any text.
func Parse(data []byte) (*Tokenizer, error) {
	var file struct {
		AddedTokens []struct {
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
	special := make(map[string]bool)
	for _, token := range file.AddedTokens {
		if token.Special {
			special[token.Content] = true
		}
	}
	model, err := newModel(file.Model, special)
	if err != nil {
		return nil, err
	}
	segmenter, err := newSegmenter(file.Normalizer, file.PreTokenizer)
	if err != nil {
		return nil, err
	}
	pair, err := newPairTemplate(file.PostProcessor)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{segmenter: segmenter, model: model, pair: pair}, nil
}

func newModel(raw json.RawMessage, special map[string]bool) (model, error) {
	kind, err := typeOf("model", raw)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "WordPiece":
		return newWordPiece(raw, special)
	default:
		return nil, unsupported("model", kind, "WordPiece")
	}
}

func newSegmenter(normalizer, preTokenizer json.RawMessage) (segmenter, error) {
	kind, err := typeOf("pre_tokenizer", preTokenizer)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "BertPreTokenizer":
		kind, err := typeOf("normalizer", normalizer)
		if err != nil {
			return nil, err
		}
		if kind != "BertNormalizer" {
			return nil, unsupported("normalizer", kind, "BertNormalizer before a BertPreTokenizer")
		}
		return newBertSegmenter(normalizer)
	default:
		return nil, unsupported("pre_tokenizer", kind, "BertPreTokenizer")
	}
}

// typeOf returns the type that a section of the file names.
func typeOf(section string, raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
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
