// Package export_test runs what export.py made of tiny models through the
// engine.
package export_test

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"plumbline/internal/orttest"
	"plumbline/internal/pyenv"
	"plumbline/models"
	"plumbline/models/engine"
	"plumbline/scorers/entail"
)

// exported are the models of tiny.py, in testdata as export.py wrote them.
var exported = []string{"minicheck-roberta", "minicheck-deberta", "minicheck-t5", "nli-bert", "nli-roberta"}

// TestExportedModelsAnswerAsInHuggingFace compares with reference.json: pairs
// with the probabilities that Hugging Face's model gives.
func TestExportedModelsAnswerAsInHuggingFace(t *testing.T) {
	for _, name := range exported {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join("testdata", name)
			model, err := models.Load(folder)
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(filepath.Join(folder, "reference.json"))
			if err != nil {
				t.Fatal(err)
			}
			var rows []struct {
				Premise, Hypothesis string
				Probabilities       map[string]float64
			}
			if err := json.Unmarshal(data, &rows); err != nil {
				t.Fatal(err)
			}
			e, err := engine.Open(model, engine.Config{Library: orttest.Library(t), Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			}()
			pairs := make([]entail.Pair, len(rows))
			for i, r := range rows {
				pairs[i] = entail.Pair{Premise: r.Premise, Hypothesis: r.Hypothesis}
			}
			batch, err := e.Verify(t.Context(), pairs)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range batch.Results {
				if r.Err != nil || r.Scores.ThreeClass != model.Manifest.ThreeClass() {
					t.Fatalf("pair %d: %+v", i, r)
				}
				got := map[string]float64{models.ClassEntailment: r.Scores.Entailment}
				if r.Scores.ThreeClass {
					got[models.ClassNeutral], got[models.ClassContradiction] = r.Scores.Neutral, r.Scores.Contradiction
				}
				for class, p := range got {
					if want, ok := rows[i].Probabilities[class]; !ok || math.Abs(p-want) > 1e-4 {
						t.Errorf("pair %d: P(%s) %g, want %g", i, class, p, want)
					}
				}
			}
		})
	}
}

// TestTheExport runs the export's own tests, in the environment of the recipe:
// it has their packages at the same versions.
func TestTheExport(t *testing.T) {
	python := pyenv.Find(t, filepath.Join("..", "train", "requirements.txt"))
	test := exec.CommandContext(t.Context(), python, "-W", "ignore", "-m", "unittest")
	if output, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
