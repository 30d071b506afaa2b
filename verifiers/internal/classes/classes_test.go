package classes

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"plumbline/scorers/entail"
)

func TestNormal(t *testing.T) {
	for name, want := range map[string]string{
		"entailment": "entailment", "ENTAILMENT": "entailment", " Neutral ": "neutral",
		"not entailment": "not_entailment", "Not-Entailment": "not_entailment",
	} {
		if class, ok := Normal(name); !ok || class != want {
			t.Errorf("%q is %q, %v", name, class, ok)
		}
	}
	for _, name := range []string{"", "LABEL_0", "support", "entailment!"} {
		if class, ok := Normal(name); ok {
			t.Errorf("%q is taken for %q", name, class)
		}
	}
}

// The order in which a server lists classes does not matter.
func TestScoresAreReadByName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := map[string]float64{"entailment": .7, "neutral": .2, "contradiction": .1}
		order := rapid.Permutation([]string{"entailment", "neutral", "contradiction"}).Draw(t, "order")
		var p []float64
		for _, class := range order {
			p = append(p, of[class])
		}
		scores, err := Scores(order, p)
		if want := (entail.Scores{Entailment: .7, Neutral: .2, Contradiction: .1, ThreeClass: true}); err != nil || scores != want {
			t.Fatalf("got %+v, %v", scores, err)
		}
	})
	scores, err := Scores([]string{"not_entailment", "entailment"}, []float64{.9, .1})
	if want := (entail.Scores{Entailment: .1}); err != nil || scores != want {
		t.Errorf("got %+v, %v", scores, err)
	}
}

func TestScoresRefuses(t *testing.T) {
	three := []string{"entailment", "neutral", "contradiction"}
	for name, test := range map[string]struct {
		classes []string
		p       []float64
	}{
		"NaN":              {three, []float64{math.NaN(), .5, .5}},
		"infinite":         {three, []float64{math.Inf(1), 0, 0}},
		"negative":         {three, []float64{-.5, 1, .5}},
		"above 1":          {three, []float64{1.5, 0, 0}},
		"a sum of 0":       {three, []float64{0, 0, 0}},
		"a sum of 2":       {three, []float64{1, .5, .5}},
		"too few":          {three, []float64{.5, .5}},
		"too many":         {three, []float64{.25, .25, .25, .25}},
		"one class":        {[]string{"entailment"}, []float64{1}},
		"a class twice":    {[]string{"entailment", "entailment"}, []float64{.5, .5}},
		"a class unknown":  {[]string{"entailment", "LABEL_1"}, []float64{.5, .5}},
		"classes of both":  {[]string{"entailment", "neutral"}, []float64{.5, .5}},
		"no class, no sum": {nil, nil},
	} {
		if scores, err := Scores(test.classes, test.p); !errors.Is(err, entail.ErrBadReply) {
			t.Errorf("%s: %+v, %v, want entail.ErrBadReply", name, scores, err)
		}
	}
}

func TestSoftmax(t *testing.T) {
	// exp(0), exp(log 3) are 1 and 3; a shift changes nothing.
	for _, shift := range []float64{0, 1000, -1000} {
		p, err := Softmax([]float64{shift, math.Log(3) + shift})
		if err != nil || math.Abs(p[0]-.25) > 1e-12 || math.Abs(p[1]-.75) > 1e-12 {
			t.Errorf("shifted by %v: %v, %v", shift, p, err)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if p, err := Softmax([]float64{0, bad}); !errors.Is(err, entail.ErrBadReply) {
			t.Errorf("%v: %v, %v", bad, p, err)
		}
	}
}
