package kserve

import (
	"fmt"
	"slices"

	"plumbline/models"
	"plumbline/models/tokenizer"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/verifiers/protocols/inference"
)

// Types of tensors.
const (
	typeBytes = "BYTES"
	typeInt32 = "INT32"
	typeInt64 = "INT64"
	typeFP32  = "FP32"
	typeFP64  = "FP64"
)

// tensorSpec describes a tensor of the model.
type tensorSpec = inference.ModelMetadataResponse_TensorMetadata

// tensor is a tensor that goes in.
type tensor = inference.ModelInferRequest_InferInputTensor

// input writes pairs as the model takes them.
type input interface {
	// tensors returns the tensors for some pairs, and how many tokens they have,
	// or 0 if that is not known. The error is a *score.Missing.
	tensors(pairs []entail.Pair) ([]*tensor, int, error)
}

// texts are a model's inputs for premises and hypotheses.
type texts struct{ premise, hypothesis *tensorSpec }

// newTexts finds the inputs among those of the model. A server that lists none
// is taken to have them: some do not know their model's tensors.
func newTexts(config *Config, inputs []*tensorSpec) (texts, error) {
	find := func(name string) (*tensorSpec, error) {
		if len(inputs) == 0 {
			return &tensorSpec{Name: name, Datatype: typeBytes, Shape: []int64{-1}}, nil
		}
		m, err := named(inputs, name)
		if err == nil && (m.GetDatatype() != typeBytes || !column(m.GetShape())) {
			err = fmt.Errorf("%w: input %q is %s of shape %v, and texts need %s of shape [-1] or [-1, 1]",
				entail.ErrRejected, name, m.GetDatatype(), m.GetShape(), typeBytes)
		}
		return m, err
	}
	premise, err := find(config.Premise)
	if err != nil {
		return texts{}, err
	}
	hypothesis, err := find(config.Hypothesis)
	return texts{premise, hypothesis}, err
}

// column says whether a shape is that of one element for each pair.
func column(shape []int64) bool {
	return len(shape) == 1 || len(shape) == 2 && (shape[1] == 1 || shape[1] == -1)
}

func (t texts) tensors(pairs []entail.Pair) ([]*tensor, int, error) {
	premises, hypotheses := make([][]byte, len(pairs)), make([][]byte, len(pairs))
	for i, pair := range pairs {
		premises[i], hypotheses[i] = []byte(pair.Premise), []byte(pair.Hypothesis)
	}
	return []*tensor{bytesTensor(t.premise, premises), bytesTensor(t.hypothesis, hypotheses)}, 0, nil
}

func bytesTensor(m *tensorSpec, elements [][]byte) *tensor {
	shape := []int64{int64(len(elements))}
	if len(m.GetShape()) == 2 {
		shape = append(shape, 1)
	}
	return &tensor{
		Name: m.GetName(), Datatype: typeBytes, Shape: shape,
		Contents: &inference.InferTensorContents{BytesContents: elements},
	}
}

// tokens are a model's inputs for token ids.
type tokens struct {
	tokenizer *tokenizer.Tokenizer
	max       int
	inputs    []*tensorSpec
}

func newTokens(config *Config, t *tokenizer.Tokenizer, inputs []*tensorSpec) (tokens, error) {
	if _, err := named(inputs, models.InputIDs); err != nil {
		return tokens{}, err
	}
	for _, m := range inputs {
		known := slices.Contains([]string{models.InputIDs, models.InputAttentionMask, models.InputTokenTypeIDs}, m.GetName())
		typed := m.GetDatatype() == typeInt64 || m.GetDatatype() == typeInt32
		if !known || !typed || len(m.GetShape()) != 2 {
			return tokens{}, fmt.Errorf("%w: input %q is %s of shape %v; with a tokenizer a model takes %s, %s and %s, as %s or %s of shape [-1, -1]",
				entail.ErrRejected, m.GetName(), m.GetDatatype(), m.GetShape(),
				models.InputIDs, models.InputAttentionMask, models.InputTokenTypeIDs, typeInt64, typeInt32)
		}
	}
	return tokens{t, config.MaxTokens, inputs}, nil
}

func (t tokens) tensors(pairs []entail.Pair) ([]*tensor, int, error) {
	encodings := make([]tokenizer.PairEncoding, len(pairs))
	width, total := 0, 0
	for i, pair := range pairs {
		encodings[i] = t.tokenizer.EncodePair(pair.Premise, pair.Hypothesis)
		n := len(encodings[i].IDs)
		if n > t.max {
			return nil, 0, score.TooLong("the pair has %d tokens and the model takes %d; split the premise or the hypothesis", n, t.max)
		}
		width, total = max(width, n), total+n
	}
	all := make([]*tensor, len(t.inputs))
	for i, m := range t.inputs {
		all[i] = &tensor{
			Name: m.GetName(), Datatype: m.GetDatatype(), Shape: []int64{int64(len(pairs)), int64(width)},
			Contents: contents(m.GetDatatype(), rows(m.GetName(), encodings, width)),
		}
	}
	return all, total, nil
}

// rows are the values of an input, padded on the right to one width. Padding is
// 0 everywhere: the mask keeps it out, whatever the vocabulary has at 0.
func rows(name string, encodings []tokenizer.PairEncoding, width int) []int64 {
	values := make([]int64, len(encodings)*width)
	for i, encoding := range encodings {
		row := values[i*width : (i+1)*width]
		switch name {
		case models.InputIDs:
			copy(row, encoding.IDs)
		case models.InputTokenTypeIDs:
			copy(row, encoding.TypeIDs)
		default: // the mask
			for j := range encoding.IDs {
				row[j] = 1
			}
		}
	}
	return values
}

func contents(datatype string, values []int64) *inference.InferTensorContents {
	if datatype == typeInt64 {
		return &inference.InferTensorContents{Int64Contents: values}
	}
	narrow := make([]int32, len(values))
	for i, value := range values {
		narrow[i] = int32(value) // an index into a vocabulary
	}
	return &inference.InferTensorContents{IntContents: narrow}
}

// named finds a tensor of the model.
func named(all []*tensorSpec, name string) (*tensorSpec, error) {
	var names []string
	for _, m := range all {
		if m.GetName() == name {
			return m, nil
		}
		names = append(names, m.GetName())
	}
	return nil, fmt.Errorf("%w: the model has no tensor %q but %q", entail.ErrRejected, name, names)
}
