package retrieval_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/retrieval"
)

// TestCompatSource compares compat SOURCE with what the published code itself
// computed (testdata/source_reference.py).
func TestCompatSource(t *testing.T) {
	data, err := os.ReadFile("testdata/source.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name     string
		Request  json.RawMessage
		Expected map[string]float64
		Entities []string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			req := &plumblinev1.ScoreRetrievalRequest{}
			if err := protojson.Unmarshal(c.Request, req); err != nil {
				t.Fatal(err)
			}
			resp := retrieval.Score(req)
			for name, want := range c.Expected {
				got := resp.GetSignals()[name]
				if got.Value == nil || math.Abs(got.GetValue()-want) > 1e-12 {
					t.Errorf("%s: %v, the source %v", name, got, want)
				}
			}
			var entities []string
			for _, e := range resp.GetEntities() {
				entities = append(entities, e.GetText())
			}
			slices.Sort(entities)
			if !slices.Equal(entities, c.Entities) {
				t.Errorf("entities = %q, the source's %q", entities, c.Entities)
			}
		})
	}
}

// TestCompatSourceKeepsRules: the source's NaN for an absent ranking and its
// scores that are not finite stay typed reasons.
func TestCompatSourceKeepsRules(t *testing.T) {
	resp := retrieval.Score(&plumblinev1.ScoreRetrievalRequest{
		Compat: plumblinev1.Compat_COMPAT_SOURCE,
		Rankings: []*plumblinev1.Ranking{{Name: "dense", Items: []*plumblinev1.RankedItem{
			{Id: "a", Score: math.NaN()}, {Id: "b", Score: 1},
		}}},
	})
	for name, want := range map[string]plumblinev1.Status{
		"retriever_divergence": plumblinev1.Status_STATUS_MISSING_INPUT,
		"score_stddev":         plumblinev1.Status_STATUS_INVALID_INPUT,
		"dense_gap":            plumblinev1.Status_STATUS_INVALID_INPUT,
		"evidence_coverage":    plumblinev1.Status_STATUS_INVALID_INPUT,
	} {
		if got := resp.GetSignals()[name].GetStatus(); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
