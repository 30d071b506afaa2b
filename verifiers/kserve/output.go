package kserve

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"plumbline/scorers/entail"
	"plumbline/verifiers/internal/classes"
	"plumbline/verifiers/protocols/inference"
)

// output is how the scores of pairs are read from a reply.
type output struct {
	tensor  string
	classes []string // of the columns
	logits  bool
}

// newOutput finds the output among those of the model. A server that lists none
// is taken to have the one that the configuration names.
func newOutput(config *Config, outputs []*tensorSpec) (output, error) {
	o := output{tensor: config.Output, classes: config.Classes, logits: config.Values == ValuesLogits}
	switch {
	case o.tensor == "" && len(outputs) == 1:
		o.tensor = outputs[0].GetName()
	case o.tensor == "":
		var names []string
		for _, m := range outputs {
			names = append(names, m.GetName())
		}
		return output{}, fmt.Errorf("%w: the model has the outputs %q; say which has the scores, as in output=NAME", entail.ErrRejected, names)
	case len(outputs) > 0:
		if _, err := named(outputs, o.tensor); err != nil {
			return output{}, err
		}
	}
	return o, nil
}

// read returns the scores of a reply for some pairs. Whatever does not fit what
// was asked is entail.ErrBadReply.
func (o output) read(m *inference.ModelInferResponse, pairs int) ([]entail.Scores, error) {
	values, err := o.values(m, pairs)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", entail.ErrBadReply, err)
	}
	var all []entail.Scores
	for row := range slices.Chunk(values, len(o.classes)) {
		if o.logits {
			if row, err = classes.Softmax(row); err != nil {
				return nil, err
			}
		}
		scores, err := classes.Scores(o.classes, row)
		if err != nil {
			return nil, err
		}
		all = append(all, scores)
	}
	return all, nil
}

// values are the elements of the output, row after row.
func (o output) values(m *inference.ModelInferResponse, pairs int) ([]float64, error) {
	at := slices.IndexFunc(m.GetOutputs(), func(t *inference.ModelInferResponse_InferOutputTensor) bool {
		return t.GetName() == o.tensor
	})
	if at < 0 {
		return nil, fmt.Errorf("it has no tensor %q", o.tensor)
	}
	t, raw := m.GetOutputs()[at], m.GetRawOutputContents()
	want := []int64{int64(pairs), int64(len(o.classes))}
	if !slices.Equal(t.GetShape(), want) {
		return nil, fmt.Errorf("tensor %q has the shape %v, and not %v", o.tensor, t.GetShape(), want)
	}
	var values []float64
	switch {
	case len(raw) > 0 && t.GetContents() != nil:
		return nil, fmt.Errorf("tensor %q has contents both raw and typed", o.tensor)
	case len(raw) > 0 && len(raw) != len(m.GetOutputs()):
		return nil, fmt.Errorf("it has %d raw contents for %d tensors", len(raw), len(m.GetOutputs()))
	case t.GetDatatype() == typeFP32 && len(raw) > 0:
		values = little(raw[at], 4, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) })
	case t.GetDatatype() == typeFP64 && len(raw) > 0:
		values = little(raw[at], 8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) })
	case t.GetDatatype() == typeFP32:
		for _, x := range t.GetContents().GetFp32Contents() {
			values = append(values, float64(x))
		}
	case t.GetDatatype() == typeFP64:
		values = t.GetContents().GetFp64Contents()
	default:
		return nil, fmt.Errorf("tensor %q is %.20s, and neither %s nor %s", o.tensor, t.GetDatatype(), typeFP32, typeFP64)
	}
	if len(values) != pairs*len(o.classes) {
		return nil, fmt.Errorf("tensor %q has the contents of another shape than %v", o.tensor, want)
	}
	return values, nil
}

// little reads numbers of some bytes each; nil if the bytes are not a whole
// number of them.
func little(raw []byte, size int, number func([]byte) float64) []float64 {
	if len(raw)%size != 0 {
		return nil
	}
	var values []float64
	for b := range slices.Chunk(raw, size) {
		values = append(values, number(b))
	}
	return values
}
