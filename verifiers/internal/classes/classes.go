// Package classes reads a classifier's probabilities by the names of its
// classes. The order in which a server lists them says nothing.
package classes

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plumbline/models"
	"plumbline/scorers/entail"
)

// tolerance is how far probabilities may leave [0, 1], and their sum 1, so that
// those of half-precision models pass.
const tolerance = 1e-2

// Normal returns the class that a name stands for, whatever its case and
// whether its words are joined by blanks, hyphens or underscores.
func Normal(name string) (string, bool) {
	class := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(name)))
	known := slices.Contains([]string{
		models.ClassEntailment, models.ClassNeutral, models.ClassContradiction, models.ClassNotEntailment,
	}, class)
	return class, known
}

// ThreeClass says whether the classes tell neutral from contradiction. They
// must be entailment, neutral and contradiction, or entailment and
// not_entailment, in any order.
func ThreeClass(classes []string) (bool, error) {
	sorted := slices.Sorted(slices.Values(classes))
	switch {
	case slices.Equal(sorted, []string{models.ClassContradiction, models.ClassEntailment, models.ClassNeutral}):
		return true, nil
	case slices.Equal(sorted, []string{models.ClassEntailment, models.ClassNotEntailment}):
		return false, nil
	default:
		return false, fmt.Errorf("the classes are %q: they must be %s, %s and %s, or %s and %s", classes,
			models.ClassEntailment, models.ClassNeutral, models.ClassContradiction, models.ClassEntailment, models.ClassNotEntailment)
	}
}

// Scores reads the probabilities p of the classes. A value that is none, or a
// sum that is not 1, is entail.ErrBadReply.
func Scores(classes []string, p []float64) (entail.Scores, error) {
	three, err := ThreeClass(classes)
	if err != nil {
		return entail.Scores{}, fmt.Errorf("%w: %w", entail.ErrBadReply, err)
	}
	if len(p) != len(classes) {
		return entail.Scores{}, fmt.Errorf("%w: %d values for %d classes", entail.ErrBadReply, len(p), len(classes))
	}
	var sum float64
	for _, x := range p {
		// Written so that NaN fails.
		if !(x >= -tolerance && x <= 1+tolerance) {
			return entail.Scores{}, fmt.Errorf("%w: %v is no probability", entail.ErrBadReply, x)
		}
		sum += x
	}
	if math.Abs(sum-1) > tolerance {
		return entail.Scores{}, fmt.Errorf("%w: the probabilities of a pair sum to %v", entail.ErrBadReply, sum)
	}
	of := func(class string) float64 {
		if i := slices.Index(classes, class); i >= 0 {
			return min(max(p[i], 0), 1)
		}
		return 0
	}
	return entail.Scores{
		Entailment:    of(models.ClassEntailment),
		Neutral:       of(models.ClassNeutral),
		Contradiction: of(models.ClassContradiction),
		ThreeClass:    three,
	}, nil
}

// Softmax turns logits into probabilities, exp(x) / Σ exp(x), shifted by the
// maximum so that nothing overflows. A logit that is not finite is
// entail.ErrBadReply.
func Softmax(logits []float64) ([]float64, error) {
	p := make([]float64, len(logits))
	var sum float64
	for i, x := range logits {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("%w: a logit is %v", entail.ErrBadReply, x)
		}
		p[i] = math.Exp(x - slices.Max(logits))
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p, nil
}
