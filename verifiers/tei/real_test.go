package tei

import (
	"os"
	"slices"
	"strings"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
)

// TestRealServer asks the TEI server at the address in PLUMBLINE_TEI, which runs
// any model of entailment.
func TestRealServer(t *testing.T) {
	address := os.Getenv("PLUMBLINE_TEI")
	if address == "" {
		t.Skip("PLUMBLINE_TEI names no server, such as tei:http://127.0.0.1:8080")
	}
	v := open(t, address)
	if err := v.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := v.Describe(t.Context())
	if err != nil || d.Name == "" || d.MaxTokens == 0 {
		t.Fatalf("described as %+v, %v", d, err)
	}
	endless := entail.Pair{Premise: strings.Repeat("word ", d.MaxTokens+1), Hypothesis: "A word."}
	pairs := append(slices.Repeat([]entail.Pair{supported, unsupported}, 25), endless, supported)
	batch, err := v.Verify(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range batch.Results {
		switch pairs[i] {
		case endless:
			if statusOf(r) != plumblinev1.Status_STATUS_TOO_LONG {
				t.Errorf("a pair that is too long: %+v", r)
			}
		case supported:
			if r.Err != nil || r.Scores.Entailment < .5 {
				t.Errorf("a claim that is there word for word: %+v", r)
			}
		default:
			if r.Err != nil || r.Scores.Entailment > .5 {
				t.Errorf("a claim that is not there: %+v", r)
			}
		}
	}
	if batch.Usage.Tokens == 0 || batch.Usage.Pairs != 51 {
		t.Errorf("usage %+v", batch.Usage)
	}
	t.Logf("%+v\n%+v %+v\n%+v", d, batch.Results[0], batch.Results[1], batch.Usage)
}
