package embedded_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"plumbline/internal/orttest"
	"plumbline/models/engine"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/verifiers/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) entail.Verifier {
	t.Helper()
	v, err := embedded.Open(embedded.Config{Engine: engine.Config{Library: orttest.Library(t), Workers: 2}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if err := v.Probe(t.Context()); err != nil {
		t.Fatalf("Probe: %v", err)
	}
	return v
}

func TestTheBundledModelTellsTheClassesApart(t *testing.T) {
	v := open(t)
	const premise = "A man is playing a guitar on a stage."
	batch, err := v.Verify(t.Context(), []entail.Pair{
		{Premise: premise, Hypothesis: "A man is making music."},
		{Premise: premise, Hypothesis: "Nobody is playing a guitar."},
		{Premise: premise, Hypothesis: "The man has two sisters."},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range batch.Results {
		s := r.Scores
		if r.Err != nil || !s.ThreeClass || math.Abs(s.Entailment+s.Neutral+s.Contradiction-1) > 1e-12 {
			t.Fatalf("result %d = %+v", i, r)
		}
	}
	entailed, contradicted, unrelated := batch.Results[0].Scores, batch.Results[1].Scores, batch.Results[2].Scores
	if entailed.Entailment < 0.5 {
		t.Errorf("entailed: %+v", entailed)
	}
	if contradicted.Contradiction < 0.5 {
		t.Errorf("contradicted: %+v", contradicted)
	}
	if unrelated.Entailment > 0.1 || unrelated.Neutral < contradicted.Neutral {
		t.Errorf("unrelated: %+v", unrelated)
	}
	description, err := v.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if u := batch.Usage; u.Pairs != 3 || u.Tokens == 0 || u.Inference <= 0 || u.Digest != description.Digest || u.Verifier != description.Name {
		t.Errorf("usage = %+v", u)
	}
}

// TestTheDescriptionCountsAsTheModelDoes takes a pair to the token limit that
// the description states, and one token beyond.
func TestTheDescriptionCountsAsTheModelDoes(t *testing.T) {
	v := open(t)
	description, err := v.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const hypothesis = "It rains."
	room := description.MaxTokens - description.PairOverhead - len(description.Tokenizer.Spans(hypothesis))
	fits := strings.Repeat("rain ", room)
	if n := len(description.Tokenizer.Spans(fits)); n != room {
		t.Fatalf("the premise has %d tokens, want %d", n, room)
	}
	batch, err := v.Verify(t.Context(), []entail.Pair{
		{Premise: fits, Hypothesis: hypothesis},
		{Premise: fits + "rain", Hypothesis: hypothesis},
	})
	if err != nil {
		t.Fatal(err)
	}
	if batch.Results[0].Err != nil || batch.Usage.Tokens != description.MaxTokens {
		t.Errorf("at the limit: %v, usage %+v", batch.Results[0].Err, batch.Usage)
	}
	if reason := score.Reason(batch.Results[1].Err); reason == nil || reason.Status != plumblinev1.Status_STATUS_TOO_LONG {
		t.Errorf("beyond the limit: %v", batch.Results[1].Err)
	}
}

func TestOpenNamesWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	if _, err := embedded.Open(embedded.Config{ModelDir: filepath.Join(dir, "absent")}); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("no model: %v", err)
	}
	library := filepath.Join(dir, "lib.so")
	if _, err := embedded.Open(embedded.Config{Engine: engine.Config{Library: library}}); err == nil || !strings.Contains(err.Error(), library) {
		t.Errorf("no library: %v", err)
	}
	if err := os.WriteFile(library, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Open(embedded.Config{Engine: engine.Config{Library: library}}); err == nil || !strings.Contains(err.Error(), "make setup") {
		t.Errorf("no library either: %v", err)
	}
}
