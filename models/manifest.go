package models

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// ManifestName is the name of the manifest in a model's folder.
const ManifestName = "manifest.json"

// SchemaVersion is the version of the manifest's layout that this package
// reads.
const SchemaVersion = 1

// maxTokensLimit is far above what any encoder takes. Each worker holds buffers
// of max_tokens, so that an absurd value must not get that far.
const maxTokensLimit = 1 << 16

// maxVocabulary is likewise far above any vocabulary.
const maxVocabulary = 1 << 24

// Class names of a sequence classifier. A three-class model has entailment,
// neutral and contradiction, a two-class one entailment and not_entailment.
const (
	ClassEntailment    = "entailment"
	ClassNeutral       = "neutral"
	ClassContradiction = "contradiction"
	ClassNotEntailment = "not_entailment"
)

// Tasks: how a network answers.
const (
	// TaskSequenceClassification takes a pair and gives one logit for each
	// class: BERT, RoBERTa and DeBERTa with a classification head.
	TaskSequenceClassification = "sequence-classification"
	// TaskFirstDecoderToken takes a pair and the decoder's start token and gives
	// the logits of the first token of the answer, of which each class has one:
	// MiniCheck-Flan-T5 (Tang et al. 2024) says 0 or 1.
	TaskFirstDecoderToken = "first-decoder-token"
)

// Model inputs that the engine can fill.
const (
	InputIDs           = "input_ids"
	InputAttentionMask = "attention_mask"
	InputTokenTypeIDs  = "token_type_ids"
	// InputDecoderIDs has shape [1, 1] and holds the start token.
	InputDecoderIDs = "decoder_input_ids"
)

// Manifest describes a model: what its files are, how it is asked, how its
// answer is read, and where it comes from.
type Manifest struct {
	// SchemaVersion is the layout of this document; see the constant.
	SchemaVersion int `json:"schema_version"`
	// Name and Version name the model for people and logs.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Architecture is the encoder's family, such as "bert".
	Architecture string `json:"architecture"`
	// Task is TaskSequenceClassification or TaskFirstDecoderToken.
	Task string `json:"task"`
	// WeightsFormat says how the weights are stored, such as
	// "onnx-int8-dynamic".
	WeightsFormat string `json:"weights_format"`
	// Files are the parts of the model.
	Files Files `json:"files"`
	// Inputs are the names of the network's inputs, all int64 of shape
	// [1, tokens] but for InputDecoderIDs.
	Inputs []string `json:"inputs"`
	// Output is the name of the logits, float32: of shape [1, len(Classes)] for
	// TaskSequenceClassification and [1, 1, vocabulary] for
	// TaskFirstDecoderToken.
	Output string `json:"output"`
	// Classes are the classes in the order of the logits, or of the decoder's
	// tokens.
	Classes []string `json:"classes"`
	// Decoder is set for TaskFirstDecoderToken and for no other task.
	Decoder *Decoder `json:"decoder,omitempty"`
	// MaxTokens is the longest pair that the network takes, special tokens
	// included. A longer pair is refused, never cut.
	MaxTokens int `json:"max_tokens"`
	// TrainedMaxTokens is the longest pair that the model is at its best with;
	// chunks should not make longer ones.
	TrainedMaxTokens int `json:"trained_max_tokens"`
	// FineTokens asks for a second, finer cut of the evidence, into windows of
	// that many tokens; see entail.Description.
	FineTokens int `json:"fine_tokens,omitempty"`
	// PairTemplate shows how the tokenizer joins a pair, for people:
	// "[CLS] premise [SEP] hypothesis [SEP]".
	PairTemplate string `json:"pair_template"`
	// OneText is set for a model that reads a pair as one text, which the
	// tokenizer then lays out as it lays out any single text. Without it the
	// tokenizer's own layout of a pair applies.
	OneText *OneText `json:"one_text,omitempty"`
	// LowerCase says that the tokenizer folds case.
	LowerCase bool `json:"lower_case"`
	// QATemplate builds the hypothesis of a short answer from "{question}" and
	// "{answer}". Empty means that the model has none.
	QATemplate string `json:"qa_template"`
	// Languages are the BCP 47 codes that the model was made for.
	Languages []string `json:"languages"`
	// Epsilon bounds, for single-pair runs at exact length, how far the
	// probability of a pair may move with its neighbours in a call. The engine
	// holds a few pairs to it when it opens the model.
	Epsilon float64 `json:"epsilon"`
	// License is the SPDX identifier of the weights' licence.
	License string `json:"license"`
	// BaseModel is what the weights were trained from.
	BaseModel Source `json:"base_model"`
	// TrainingData are the sets of the fine-tuning.
	TrainingData []Source `json:"training_data"`
}

// Decoder says how the first token of an encoder-decoder's answer is read.
type Decoder struct {
	// StartID is the token from which the decoder starts: 0 for T5.
	StartID int64 `json:"start_id"`
	// Vocabulary is how many logits the network gives for a token.
	Vocabulary int `json:"vocabulary"`
	// ClassIDs are the tokens that stand for the classes, in their order.
	ClassIDs []int `json:"class_ids"`
}

// OneText joins a pair to one text: prefix, premise, separator, hypothesis.
type OneText struct {
	// Prefix stands before the premise: "predict: " for MiniCheck-Flan-T5.
	Prefix string `json:"prefix"`
	// Separator is the control token between the texts: "</s>" for RoBERTa and
	// T5, "[SEP]" for DeBERTa.
	Separator string `json:"separator"`
}

// Files are the parts of a model, each with its digest.
type Files struct {
	// Weights is the ONNX graph with its weights.
	Weights File `json:"weights"`
	// Tokenizer is a tokenizer.json in the format of Hugging Face tokenizers.
	Tokenizer File `json:"tokenizer"`
}

// All are the files in a fixed order.
func (f Files) All() []File { return []File{f.Weights, f.Tokenizer} }

// File is one file of a model's folder.
type File struct {
	// Name is the file's name in the folder.
	Name string `json:"name"`
	// SHA256 is the hexadecimal digest of its bytes.
	SHA256 string `json:"sha256"`
	// Bytes is its size.
	Bytes int64 `json:"bytes"`
}

// Source is a model or a data set that a model was made from.
type Source struct {
	// Name is the name by which it is published.
	Name string `json:"name"`
	// License is the licence that its publisher states, or "not stated".
	License string `json:"license"`
}

// ThreeClass says whether the model tells neutral from contradiction.
func (m *Manifest) ThreeClass() bool { return len(m.Classes) == 3 }

// ParseManifest reads a manifest strictly: a field that this version does not
// know may change the meaning of the others.
func ParseManifest(data []byte) (*Manifest, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var m Manifest
	if err := decoder.Decode(&m); err != nil {
		return nil, fmt.Errorf("not a manifest of schema version %d: %w", SchemaVersion, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after the end of the manifest")
	}
	if err := m.validate(); err != nil {
		return nil, err
	}
	return &m, nil
}

// validate names every field that is missing or makes no sense.
func (m *Manifest) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(m.SchemaVersion == SchemaVersion, "schema_version: is %d, this program reads %d", m.SchemaVersion, SchemaVersion)
	check(m.Name != "", "name: is empty")
	check(m.Version != "", "version: is empty")
	check(m.Task == TaskSequenceClassification || m.Task == TaskFirstDecoderToken,
		"task: is %q, must be %q or %q", m.Task, TaskSequenceClassification, TaskFirstDecoderToken)
	check((m.Task == TaskFirstDecoderToken) == (m.Decoder != nil), "decoder: belongs to the task %q and to no other", TaskFirstDecoderToken)
	check(m.Decoder.fits(m.Classes), "decoder: needs a start_id, a vocabulary of at most %d, and for each class a class_id of its own, all within the vocabulary", maxVocabulary)
	check(m.OneText == nil || m.OneText.Separator != "", "one_text.separator: is empty")
	check(m.Output != "", "output: is empty")
	check(m.MaxTokens > 0 && m.MaxTokens <= maxTokensLimit, "max_tokens: must be between 1 and %d", maxTokensLimit)
	check(m.TrainedMaxTokens > 0 && m.TrainedMaxTokens <= m.MaxTokens, "trained_max_tokens: must be between 1 and max_tokens")
	check(m.FineTokens >= 0 && m.FineTokens < m.TrainedMaxTokens, "fine_tokens: must be less than trained_max_tokens, or 0")
	check(m.Epsilon >= 0 && !math.IsInf(m.Epsilon, 1), "epsilon: must be finite and not negative")
	check(knownClasses(m.Classes), "classes: must be %s, %s, %s or %s, %s, in the order of the logits",
		ClassEntailment, ClassNeutral, ClassContradiction, ClassEntailment, ClassNotEntailment)
	check(slices.Contains(m.Inputs, InputIDs), "inputs: must contain %q", InputIDs)
	check((m.Decoder != nil) == slices.Contains(m.Inputs, InputDecoderIDs), "inputs: %q belongs to a decoder and to no other model", InputDecoderIDs)
	for i, name := range m.Inputs {
		known := slices.Contains([]string{InputIDs, InputAttentionMask, InputTokenTypeIDs, InputDecoderIDs}, name)
		check(known && !slices.Contains(m.Inputs[:i], name), "inputs[%d]: %q is unknown or repeated", i, name)
	}
	check(strings.Contains(m.PairTemplate, "premise") && strings.Contains(m.PairTemplate, "hypothesis"),
		`pair_template: must contain "premise" and "hypothesis"`)
	check(m.QATemplate == "" || strings.Contains(m.QATemplate, "{question}") && strings.Contains(m.QATemplate, "{answer}"),
		"qa_template: must contain {question} and {answer}, or be empty")
	errs = append(errs, m.Files.Weights.validate("files.weights"), m.Files.Tokenizer.validate("files.tokenizer"))
	return errors.Join(errs...)
}

// fits says whether the decoder, if there is one, has a token for each class.
func (d *Decoder) fits(classes []string) bool {
	if d == nil {
		return true
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(d.ClassIDs)))
	within := func(id int) bool { return id >= 0 && id < d.Vocabulary }
	return d.Vocabulary <= maxVocabulary && within(int(d.StartID)) &&
		len(d.ClassIDs) == len(classes) && len(distinct) == len(classes) && within(distinct[0]) && within(distinct[len(distinct)-1])
}

func (f File) validate(field string) error {
	if f.Name == "" || strings.ContainsAny(f.Name, `/\`) {
		return fmt.Errorf("%s.name: %q must be the name of a file beside the manifest", field, f.Name)
	}
	if digest, err := hex.DecodeString(f.SHA256); err != nil || len(digest) != 32 || f.SHA256 != strings.ToLower(f.SHA256) {
		return fmt.Errorf("%s.sha256: must be 64 hexadecimal digits in lower case", field)
	}
	if f.Bytes <= 0 {
		return fmt.Errorf("%s.bytes: must be positive", field)
	}
	return nil
}

// knownClasses accepts the two sets of classes in any order.
func knownClasses(classes []string) bool {
	sorted := slices.Sorted(slices.Values(classes))
	return slices.Equal(sorted, []string{ClassContradiction, ClassEntailment, ClassNeutral}) ||
		slices.Equal(sorted, []string{ClassEntailment, ClassNotEntailment})
}
