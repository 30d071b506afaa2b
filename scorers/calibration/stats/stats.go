// Package stats has the statistics of calibration and evaluation: how well a
// score separates two classes, how far a probability is from the truth, and how
// sure one can be of either.
//
// Every function either returns a finite number or a *score.Missing that says
// why there is none: one class only, too few records, a value that is not
// finite. None of them modifies its arguments. Where scikit-learn or SciPy has
// the same statistic, results agree to 1e-9; where not, the doc comment is the
// definition.
package stats

import (
	"cmp"
	"math"
	"slices"

	"plumbline/scorers/score"
)

// checkFinite names the first value that is not finite.
func checkFinite(name string, values []float64) error {
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return score.InvalidInput("%s[%d] is not a finite number", name, i)
		}
	}
	return nil
}

// checkPaired requires two lists of one length that is at least least.
func checkPaired(a, b, least int) error {
	if a != b {
		return score.InvalidInput("lists of unequal length: %d and %d", a, b)
	}
	if a < least {
		return score.TooFew("needs %d records, got %d", least, a)
	}
	return nil
}

// checkBinary requires finite scores with labels of both classes.
func checkBinary(scores []float64, labels []bool) (positives, negatives int, err error) {
	if err := checkPaired(len(scores), len(labels), 1); err != nil {
		return 0, 0, err
	}
	if err := checkFinite("scores", scores); err != nil {
		return 0, 0, err
	}
	positives = countTrue(labels)
	negatives = len(labels) - positives
	if positives == 0 || negatives == 0 {
		return 0, 0, score.NotApplicable("needs records of both classes, got %d positive and %d negative", positives, negatives)
	}
	return positives, negatives, nil
}

// checkProbabilities requires labelled probabilities in [0, 1].
func checkProbabilities(probabilities []float64, labels []bool) error {
	if err := checkPaired(len(probabilities), len(labels), 1); err != nil {
		return err
	}
	for i, p := range probabilities {
		if !(p >= 0 && p <= 1) {
			return score.InvalidInput("probabilities[%d] is not in [0, 1]", i)
		}
	}
	return nil
}

func countTrue(labels []bool) int {
	n := 0
	for _, l := range labels {
		if l {
			n++
		}
	}
	return n
}

// order returns the indices of values in rising order; equal values keep their
// order, so that results depend on the input alone.
func order(values []float64) []int {
	index := make([]int, len(values))
	for i := range index {
		index[i] = i
	}
	// By number where values tie; of millions that is faster than a stable sort.
	slices.SortFunc(index, func(a, b int) int {
		if c := cmp.Compare(values[a], values[b]); c != 0 {
			return c
		}
		return a - b
	})
	return index
}

// Ranks returns the ranks of values from 1; equal values share the mean of
// their ranks.
func Ranks(values []float64) []float64 {
	index := order(values)
	ranks := make([]float64, len(values))
	for start := 0; start < len(index); {
		end := start + 1
		for end < len(index) && values[index[end]] == values[index[start]] {
			end++
		}
		mean := float64(start+end+1) / 2
		for _, i := range index[start:end] {
			ranks[i] = mean
		}
		start = end
	}
	return ranks
}

// Mean returns the arithmetic mean.
func Mean(values []float64) (float64, error) {
	if len(values) == 0 {
		return 0, score.TooFew("needs 1 record, got 0")
	}
	if err := checkFinite("values", values); err != nil {
		return 0, err
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values)), nil
}

// checkCorrelated requires two finite lists of one length, two at least.
func checkCorrelated(x, y []float64) error {
	if err := checkPaired(len(x), len(y), 2); err != nil {
		return err
	}
	if err := checkFinite("x", x); err != nil {
		return err
	}
	return checkFinite("y", y)
}

// constant says whether all values, of which there are some, are equal. Sums
// cannot tell: the mean of ten times 0.1 is not 0.1.
func constant(values []float64) bool { return slices.Min(values) == slices.Max(values) }

// Pearson returns the product-moment correlation of x and y, in [-1, 1]. A
// constant list has none.
func Pearson(x, y []float64) (float64, error) {
	if err := checkCorrelated(x, y); err != nil {
		return 0, err
	}
	if constant(x) || constant(y) {
		return 0, score.NotApplicable("a constant list has no correlation")
	}
	mx, _ := Mean(x)
	my, _ := Mean(y)
	var sxy, sxx, syy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		sxy += dx * dy
		sxx += dx * dx
		syy += dy * dy
	}
	if sxx == 0 || syy == 0 {
		return 0, score.NotApplicable("a list varies too little to be squared")
	}
	return max(-1, min(1, sxy/math.Sqrt(sxx)/math.Sqrt(syy))), nil
}

// Spearman returns the rank correlation of x and y, in [-1, 1]: Pearson's of
// the mean ranks.
func Spearman(x, y []float64) (float64, error) {
	if err := checkCorrelated(x, y); err != nil {
		return 0, err
	}
	return Pearson(Ranks(x), Ranks(y))
}
