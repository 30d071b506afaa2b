// Package tokenizer cuts text into the tokens of an entailment model, exactly
// as Hugging Face tokenizers does for the same tokenizer.json, and says which
// bytes of the text each token stands for.
//
// Three rules set it apart from the library:
//
//   - Text is plain text. "[SEP]" or "</s>" in a passage is tokenised like any
//     other text and never becomes a control token, so evidence cannot forge
//     the border between premise and hypothesis.
//   - Nothing is truncated or padded; those sections of the file are ignored.
//     Windowing and batching belong to the caller.
//   - Any input is accepted. Each byte that is not valid UTF-8 counts as
//     U+FFFD, as in a range loop over a string.
//
// Time and memory are linear in the length of the text, but for a logarithm in
// byte pair encoding and for canonical ordering. A text must be shorter than
// 2 GiB.
//
// The Unicode properties are frozen in unicode_tables.go as the library has
// them; testdata/unicode_differences.txt lists where Go's differ.
package tokenizer

import (
	"fmt"
	"os"
	"unicode/utf8"

	"plumbline/scorers/entail"
)

// Tokenizer is read from a tokenizer.json; see Parse. It is immutable and safe
// for concurrent use, and implements entail.Tokenizer.
type Tokenizer struct {
	segmenter segmenter
	model     model
	// special are the ids of the control tokens.
	special   map[string]int64
	templates templates
	// prefix stands before every premise of a pair; see AsOneText.
	prefix string
}

// A segmenter normalises text and cuts it into words. It calls emit for each
// word in order; the word is valid until emit returns.
type segmenter interface {
	segment(text string, emit func(word))
}

// A model cuts words into tokens. appendTo returns the function that does so
// for one text, word by word, none of them empty; what it needs between words
// lives in that function.
type model interface {
	appendTo(e *Encoding) func(word)
}

// word is a piece of normalised text. spans has the place in the original text
// of the character behind each byte of text.
type word struct {
	text  []byte
	spans []entail.Span
}

// newWord returns an empty word with room for size bytes.
func newWord(size int) word {
	return word{text: make([]byte, 0, size), spans: make([]entail.Span, 0, size)}
}

// add appends a character that stands for a place in the original.
func (w *word) add(r rune, at entail.Span) {
	w.text = utf8.AppendRune(w.text, r)
	for len(w.spans) < len(w.text) {
		w.spans = append(w.spans, at)
	}
}

// clear empties the word and keeps its memory.
func (w *word) clear() { w.text, w.spans = w.text[:0], w.spans[:0] }

// slice returns the bytes from..to of the word.
func (w word) slice(from, to int) word {
	return word{text: w.text[from:to], spans: w.spans[from:to]}
}

// span returns the place in the original of the bytes from..to of the word.
func (w word) span(from, to int) entail.Span {
	return entail.Span{Start: w.spans[from].Start, End: w.spans[to-1].End}
}

// Encoding is the tokens of one text, without special tokens.
type Encoding struct {
	// IDs are indices into the model's vocabulary.
	IDs []int64
	// Spans has for each token the bytes of the original text that it stands
	// for. Starts and ends never decrease. Tokens share a span where one
	// character became several tokens (a Hangul syllable, a byte-level token).
	Spans []entail.Span
}

func (e *Encoding) add(id int64, span entail.Span) {
	e.IDs = append(e.IDs, id)
	e.Spans = append(e.Spans, span)
}

// PairEncoding is the model's input for one pair, special tokens included.
type PairEncoding struct {
	// IDs are indices into the model's vocabulary.
	IDs []int64
	// TypeIDs says for each token to which segment it belongs (0 or 1).
	TypeIDs []int64
}

// Load reads a tokenizer.json from disk; see Parse.
func Load(path string) (*Tokenizer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the tokenizer: %w", err)
	}
	t, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Encode tokenises text.
func (t *Tokenizer) Encode(text string) Encoding {
	// English has about 4.5 bytes a token, so that most texts fit at once.
	size := len(text)/4 + 4
	e := Encoding{IDs: make([]int64, 0, size), Spans: make([]entail.Span, 0, size)}
	t.segmenter.segment(text, t.model.appendTo(&e))
	return e
}

// Spans implements entail.Tokenizer.
func (t *Tokenizer) Spans(text string) []entail.Span {
	return t.Encode(text).Spans
}

// EncodePair tokenises both texts and joins them with the special tokens that
// the model expects.
func (t *Tokenizer) EncodePair(premise, hypothesis string) PairEncoding {
	return t.templates.pair.join(t.Encode(t.prefix+premise).IDs, t.Encode(hypothesis).IDs)
}

// PairOverhead returns the number of tokens that a pair costs beside those of
// its texts.
func (t *Tokenizer) PairOverhead() int {
	return t.templates.pair.overhead() + len(t.Encode(t.prefix).IDs)
}

// AsOneText returns a tokenizer that lays a pair out as one text: the prefix
// and the premise, a control token as separator, and the hypothesis, inside the
// tokens that a single text gets. Models are asked so that were trained without
// a layout for pairs, such as MiniCheck's (Tang et al. 2024):
//
//	RoBERTa  <s> premise </s> hypothesis </s>
//	DeBERTa  [CLS] premise [SEP] hypothesis [SEP]
//	T5       predict: premise </s> hypothesis </s>
//
// The separator must be a special token of the file. Texts stay plain text:
// only the separator itself becomes the control token.
func (t *Tokenizer) AsOneText(prefix, separator string) (*Tokenizer, error) {
	id, ok := t.special[separator]
	if !ok {
		return nil, fmt.Errorf("added_tokens: there is no special token %q", separator)
	}
	pair, err := t.templates.single.split(id)
	if err != nil {
		return nil, err
	}
	one := *t
	one.prefix = prefix
	one.templates.pair = pair
	return &one, nil
}
