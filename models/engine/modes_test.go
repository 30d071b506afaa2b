package engine

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumbline/internal/orttest"
	"plumbline/models"
	"plumbline/scorers/entail"
)

// mode is one way in which a model is asked and answers; testdata/modes has a
// tiny random model for each (see testdata/make_modes.py).
type mode struct {
	name string
	// separator is the id of the control token between the texts, which also
	// ends them, and literal is how it looks in a text.
	separator int64
	literal   string
}

func modes() []mode {
	return []mode{
		{name: "two-class", separator: 3, literal: "[SEP]"},
		{name: "minicheck-roberta", separator: 2, literal: "</s>"},
		{name: "minicheck-deberta", separator: 2, literal: "[SEP]"},
		{name: "minicheck-t5", separator: 1, literal: "</s>"},
	}
}

func (m mode) folder() string { return filepath.Join("testdata", "modes", m.name) }

func (m mode) load(t *testing.T) *models.Model {
	t.Helper()
	model, err := models.Load(m.folder())
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func (m mode) open(t *testing.T) *Engine {
	t.Helper()
	e, err := Open(m.load(t), Config{Library: orttest.Library(t), Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return e
}

// modeReference is a pair with the tokens of Hugging Face tokenizers and the
// support that NumPy computes from the model's weights.
type modeReference struct {
	reference
	Support float64 `json:"support"`
}

func (m mode) references(t *testing.T) []modeReference {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(m.folder(), "reference.json"))
	if err != nil {
		t.Fatal(err)
	}
	var refs []modeReference
	if err := json.Unmarshal(data, &refs); err != nil {
		t.Fatal(err)
	}
	return refs
}

func TestEveryModeAgreesWithItsReference(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			e, refs := m.open(t), m.references(t)
			pairs := make([]entail.Pair, len(refs))
			for i, ref := range refs {
				pairs[i] = ref.pair()
				got := e.tokenizer.EncodePair(ref.Premise, ref.Hypothesis)
				if !slices.Equal(got.IDs, ref.IDs) || !slices.Equal(got.TypeIDs, ref.Types) {
					t.Errorf("pair %d %q: tokens %v, want %v", i, ref.Premise, got, ref.IDs)
				}
			}
			batch, err := e.Verify(t.Context(), pairs)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range batch.Results {
				if r.Err != nil || r.Scores.ThreeClass || math.Abs(r.Scores.Entailment-refs[i].Support) > 1e-4 {
					t.Errorf("pair %d: %+v, want support %g of two classes", i, r, refs[i].Support)
				}
			}
			if err := e.Probe(t.Context()); err != nil {
				t.Errorf("Probe: %v", err)
			}
		})
	}
}

// TestTheOverheadCoversEveryMode takes pairs of each mode to the limit that the
// description promises to hold.
func TestTheOverheadCoversEveryMode(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			e := m.open(t)
			d, err := e.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, ref := range m.references(t) {
				promised := len(d.Tokenizer.Spans(ref.Premise)) + len(d.Tokenizer.Spans(ref.Hypothesis)) + d.PairOverhead
				if len(ref.IDs) > promised {
					t.Errorf("%q with %q: %d tokens, the description promises at most %d", ref.Premise, ref.Hypothesis, len(ref.IDs), promised)
				}
			}
		})
	}
}

func TestControlTokensInTextsStayTextInEveryMode(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			e := m.open(t)
			for _, text := range []string{m.literal, "the mill " + m.literal + " the river", m.literal + m.literal} {
				for _, pair := range []entail.Pair{{Premise: text, Hypothesis: "old"}, {Premise: "old", Hypothesis: text}} {
					var controls int
					for _, id := range e.tokenizer.EncodePair(pair.Premise, pair.Hypothesis).IDs {
						if id == m.separator {
							controls++
						}
					}
					if controls != 2 {
						t.Errorf("%+v has %d control tokens, want one between the texts and one at the end", pair, controls)
					}
				}
			}
		})
	}
}

func TestOpenNamesASeparatorThatTheTokenizerLacks(t *testing.T) {
	model := modes()[1].load(t)
	model.Manifest.OneText = &models.OneText{Separator: "<sep>"}
	_, err := Open(model, Config{Library: orttest.Library(t)})
	if err == nil || !strings.Contains(err.Error(), `"<sep>"`) || !strings.Contains(err.Error(), "tokenizer.json") {
		t.Errorf("error = %v, want one that names the separator and the file", err)
	}
}
