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

// Class names of a sequence classifier. A three-class model has entailment,
// neutral and contradiction, a two-class one entailment and not_entailment.
const (
	ClassEntailment    = "entailment"
	ClassNeutral       = "neutral"
	ClassContradiction = "contradiction"
	ClassNotEntailment = "not_entailment"
)

// TaskSequenceClassification is the one task so far: the pair goes in, one
// logit for each class comes out.
const TaskSequenceClassification = "sequence-classification"

// Model inputs that the engine can fill.
const (
	InputIDs           = "input_ids"
	InputAttentionMask = "attention_mask"
	InputTokenTypeIDs  = "token_type_ids"
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
	// Task is TaskSequenceClassification.
	Task string `json:"task"`
	// WeightsFormat says how the weights are stored, such as
	// "onnx-int8-dynamic".
	WeightsFormat string `json:"weights_format"`
	// Files are the parts of the model.
	Files Files `json:"files"`
	// Inputs are the names of the network's inputs, all int64 of shape
	// [1, tokens].
	Inputs []string `json:"inputs"`
	// Output is the name of the logits, float32 of shape [1, len(Classes)].
	Output string `json:"output"`
	// Classes are the classes in the order of the logits.
	Classes []string `json:"classes"`
	// MaxTokens is the longest pair that the network takes, special tokens
	// included. A longer pair is refused, never cut.
	MaxTokens int `json:"max_tokens"`
	// TrainedMaxTokens is the longest pair seen in training; chunks should not
	// be longer.
	TrainedMaxTokens int `json:"trained_max_tokens"`
	// PairTemplate shows how the tokenizer joins a pair, for people:
	// "[CLS] premise [SEP] hypothesis [SEP]".
	PairTemplate string `json:"pair_template"`
	// LowerCase says that the tokenizer folds case.
	LowerCase bool `json:"lower_case"`
	// QATemplate builds the hypothesis of a short answer from "{question}" and
	// "{answer}". Empty means that the model has none.
	QATemplate string `json:"qa_template"`
	// Languages are the BCP 47 codes that the model was made for.
	Languages []string `json:"languages"`
	// Epsilon bounds, for single-pair runs at exact length, how far the
	// probability of a pair may move with its neighbours in a call.
	Epsilon float64 `json:"epsilon"`
	// License is the SPDX identifier of the weights' licence.
	License string `json:"license"`
	// BaseModel is what the weights were trained from.
	BaseModel Source `json:"base_model"`
	// TrainingData are the sets of the fine-tuning.
	TrainingData []Source `json:"training_data"`
}

// Files are the parts of a model, each with its digest.
type Files struct {
	// Weights is the ONNX graph with its weights.
	Weights File `json:"weights"`
	// Tokenizer is a tokenizer.json in the format of Hugging Face tokenizers.
	Tokenizer File `json:"tokenizer"`
}

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
	check(m.Task == TaskSequenceClassification, "task: is %q, must be %q", m.Task, TaskSequenceClassification)
	check(m.Output != "", "output: is empty")
	check(m.MaxTokens > 0 && m.MaxTokens <= maxTokensLimit, "max_tokens: must be between 1 and %d", maxTokensLimit)
	check(m.TrainedMaxTokens > 0 && m.TrainedMaxTokens <= m.MaxTokens, "trained_max_tokens: must be between 1 and max_tokens")
	check(m.Epsilon >= 0 && !math.IsInf(m.Epsilon, 1), "epsilon: must be finite and not negative")
	check(knownClasses(m.Classes), "classes: must be %s, %s, %s or %s, %s, in the order of the logits",
		ClassEntailment, ClassNeutral, ClassContradiction, ClassEntailment, ClassNotEntailment)
	check(slices.Contains(m.Inputs, InputIDs), "inputs: must contain %q", InputIDs)
	for i, name := range m.Inputs {
		known := name == InputIDs || name == InputAttentionMask || name == InputTokenTypeIDs
		check(known && !slices.Contains(m.Inputs[:i], name), "inputs[%d]: %q is unknown or repeated", i, name)
	}
	check(strings.Contains(m.PairTemplate, "premise") && strings.Contains(m.PairTemplate, "hypothesis"),
		`pair_template: must contain "premise" and "hypothesis"`)
	check(m.QATemplate == "" || strings.Contains(m.QATemplate, "{question}") && strings.Contains(m.QATemplate, "{answer}"),
		"qa_template: must contain {question} and {answer}, or be empty")
	errs = append(errs, m.Files.Weights.validate("files.weights"), m.Files.Tokenizer.validate("files.tokenizer"))
	return errors.Join(errs...)
}

func (f File) validate(field string) error {
	if f.Name == "" || strings.ContainsAny(f.Name, `/\`) {
		return fmt.Errorf("%s.name: %q must be the name of a file beside the manifest", field, f.Name)
	}
	if digest, err := hex.DecodeString(f.SHA256); err != nil || len(digest) != 32 {
		return fmt.Errorf("%s.sha256: must be 64 hexadecimal digits", field)
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
