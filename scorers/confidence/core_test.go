package confidence_test

import (
	"context"
	"math"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/confidence"
	"plumbline/scorers/entail"
)

// A class is claimed only where it is strictly the most probable.
func TestMostProbableClass(t *testing.T) {
	three := func(e, n, c float64) entail.Scores {
		return entail.Scores{Entailment: e, Neutral: n, Contradiction: c, ThreeClass: true}
	}
	for _, c := range []struct {
		scores entail.Scores
		want   confidence.Class
	}{
		{three(0.5, 0.3, 0.2), confidence.Entailment},
		{three(0.2, 0.3, 0.5), confidence.Contradiction},
		{three(0.2, 0.5, 0.3), confidence.Neutral},
		{three(0.4, 0.2, 0.4), confidence.Neutral},
		{three(0.4, 0.4, 0.2), confidence.Neutral},
		{three(0.2, 0.4, 0.4), confidence.Neutral},
		{entail.Scores{Entailment: 0.51}, confidence.Entailment},
		{entail.Scores{Entailment: 0.5}, confidence.Neutral},
		{entail.Scores{Entailment: 0.1, Contradiction: 0.9}, confidence.Neutral}, // a two-class verifier's other numbers mean nothing
	} {
		if got := confidence.MostProbable(c.scores); got != c.want {
			t.Errorf("%+v is %v, want %v", c.scores, got, c.want)
		}
	}
}

func TestExactRulesHoldForNoClasses(t *testing.T) {
	if confidence.EquivalentExact.Holds(confidence.Entailment, confidence.Entailment) ||
		confidence.AgreeExact.Holds(confidence.Entailment, confidence.Entailment) ||
		confidence.AgreeDinco.Holds(confidence.Entailment, confidence.Entailment) {
		t.Error("a rule that looks at no classes holds")
	}
}

func TestCoreSaysWhatItLacks(t *testing.T) {
	_, luqNone := confidence.LUQ(0, nil, nil)
	_, luqOne := confidence.LUQ(1, nil, nil)
	_, lexical := confidence.LexicalSimilarity(context.Background(), []string{"one"}, nil)
	_, normalized := confidence.NormalizedEntropy(0, 1)
	_, weighted := confidence.RaoEntropy([][]int{{0}}, []float64{math.Inf(-1)})
	_, sequence := confidence.SequenceEntropy(nil, nil)
	for name, c := range map[string]struct {
		err  error
		want plumblinev1.Status
	}{
		"LUQ of none":       {luqNone, statusTooFew},
		"LUQ of one":        {luqOne, statusTooFew},
		"similarity of one": {lexical, statusTooFew},
		"normalised of one": {normalized, statusTooFew},
		"weighted":          {weighted, statusMissing},
		"sequence":          {sequence, statusMissing},
		"long form":         {confidence.LongFormConsistency(nil).Err, statusTooFew},
		"consistency":       {confidence.Consistency(nil, nil).Err, statusTooFew},
	} {
		if c.err == nil || reasonOf(c.err).Status != c.want {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
}

// Fractional weights, which stand for no whole number of copies, keep every
// score in its range.
func TestFractionalWeights(t *testing.T) {
	req := &plumblinev1.ScoreConfidenceRequest{
		MainAnswer: "Paris", Equivalence: plumblinev1.Equivalence_EQUIVALENCE_STRICT,
		Samples: []*plumblinev1.Sample{{Text: "Paris", Weight: ptr(0.25)}, {Text: "Lyon", Weight: ptr(0.5)}, {Text: "Nice", Weight: ptr(1e-9)}},
	}
	resp := run(everything(entail.Scores{Neutral: 1, ThreeClass: true}), req)
	requireStatus(t, resp, statusOK, "sc", "semantic_entropy_normalized", "luq", "lexical_similarity")
	requireValue(t, "sc", resp.GetSc(), 0.25/(0.75+1e-9))
}
