package kserve

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"plumbline/scorers/entail"
	"plumbline/verifiers/protocols/inference"
)

// Whatever a server sends, the outcome is a probability for each pair or
// entail.ErrBadReply.
func FuzzReply(f *testing.F) {
	rows := [][]float32{{2, 0, -1}, {-2, 0, -1}}
	for _, encode := range []func(*inference.ModelInferResponse, [][]float32){typed, typed64, raw, raw64} {
		var m inference.ModelInferResponse
		encode(&m, rows)
		wire, err := proto.Marshal(&m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire, true)
		f.Add(wire, false)
	}
	f.Fuzz(func(t *testing.T, wire []byte, logits bool) {
		var m inference.ModelInferResponse
		if proto.Unmarshal(wire, &m) != nil {
			return
		}
		o := output{tensor: "logits", classes: []string{"entailment", "neutral", "contradiction"}, logits: logits}
		scores, err := o.read(&m, len(rows))
		if err != nil {
			if !errors.Is(err, entail.ErrBadReply) {
				t.Errorf("an error of no kind: %v", err)
			}
			return
		}
		if len(scores) != len(rows) {
			t.Errorf("%d scores for %d pairs", len(scores), len(rows))
		}
		for _, s := range scores {
			for _, p := range []float64{s.Entailment, s.Neutral, s.Contradiction} {
				if !(p >= 0 && p <= 1) {
					t.Errorf("read as %+v", s)
				}
			}
		}
	})
}
