// Package calibration turns labelled records into a frozen policy: which
// signals separate weak evidence from good, where their thresholds lie, what
// the policy costs, and how sure all of that is.
//
// Throughout, a score is oriented so that the rule fires (retrieves,
// escalates) iff the score is above the threshold; Orient makes that so for a
// signal that is weak when low.
package calibration

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"plumbline/scorers/score"
)

// Orient returns values such that the rule fires on high ones: values itself,
// or their negatives for a signal whose positives are low.
func Orient(values []float64, positiveIsHigh bool) []float64 {
	if positiveIsHigh {
		return values
	}
	negated := make([]float64, len(values))
	for i, v := range values {
		negated[i] = -v
	}
	return negated
}

func orient(v float64, positiveIsHigh bool) float64 {
	if positiveIsHigh {
		return v
	}
	return -v
}

// Candidate is one threshold with what it does on the data.
type Candidate struct {
	// Threshold: the rule fires iff the oriented score is above it.
	Threshold float64
	// Fired is how many records it fires on and Caught how many of these are
	// positive.
	Fired, Caught int
	// N and Positives are the sizes of the data.
	N, Positives int
}

// CatchRate returns the share of positives caught, in [0, 1]; 0 without
// positives.
func (c Candidate) CatchRate() float64 { return share(c.Caught, c.Positives) }

// FalseAlarmRate returns the share of negatives fired on, in [0, 1]; 0 without
// negatives.
func (c Candidate) FalseAlarmRate() float64 { return share(c.Fired-c.Caught, c.N-c.Positives) }

// EscalationRate returns the share of records fired on, in [0, 1].
func (c Candidate) EscalationRate() float64 { return share(c.Fired, c.N) }

// Precision returns the share of fired records that are positive, in [0, 1]; 0
// if none fired.
func (c Candidate) Precision() float64 { return share(c.Caught, c.Fired) }

// alsoFiring adds records of these labels on which the rule fires whatever the
// threshold.
func (c *Candidate) alsoFiring(labels []bool) {
	positives := countRouted(labels)
	c.Fired, c.Caught = c.Fired+len(labels), c.Caught+positives
	c.N, c.Positives = c.N+len(labels), c.Positives+positives
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Candidates returns every threshold that tells the data apart, from the one
// that never fires to the one that always does: midway between neighbouring
// observed scores, and just beyond both ends.
func Candidates(oriented []float64, labels []bool) ([]Candidate, error) {
	if len(oriented) != len(labels) {
		return nil, score.InvalidInput("lists of unequal length: %d scores, %d labels", len(oriented), len(labels))
	}
	if len(oriented) == 0 {
		return nil, score.TooFew("needs 1 record, got 0")
	}
	index := make([]int, len(oriented))
	positives := 0
	for i, s := range oriented {
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return nil, score.InvalidInput("scores[%d] is not a finite number", i)
		}
		if labels[i] {
			positives++
		}
		index[i] = i
	}
	slices.SortFunc(index, func(a, b int) int { return cmp.Compare(oriented[b], oriented[a]) })
	distinct := 1
	for i := 1; i < len(index); i++ {
		if oriented[index[i]] != oriented[index[i-1]] {
			distinct++
		}
	}
	current := Candidate{Threshold: oriented[index[0]], N: len(index), Positives: positives}
	out := append(make([]Candidate, 0, distinct+1), current)
	for i, record := range index {
		current.Fired++
		if labels[record] {
			current.Caught++
		}
		switch {
		case i+1 == len(index):
			current.Threshold = math.Nextafter(oriented[record], math.Inf(-1))
		case oriented[index[i+1]] == oriented[record]:
			continue
		default:
			current.Threshold = midway(oriented[record], oriented[index[i+1]])
		}
		out = append(out, current)
	}
	return out, nil
}

// midway lies in [low, high) even where the mean rounds up to high, so that the
// rule still fires on high.
func midway(high, low float64) float64 {
	m := low + (high-low)/2
	if m >= high {
		return low
	}
	return m
}

// best returns the candidate with the greatest merit among the admissible;
// equal merit goes to the one that fires less, which comes first. Merits are
// counts, so that rounding makes no difference between equal ones.
func best(candidates []Candidate, merit func(Candidate) (value int, admissible bool)) (Candidate, bool) {
	var winner Candidate
	top, found := 0, false
	for _, c := range candidates {
		if value, ok := merit(c); ok && (!found || value > top) {
			winner, top, found = c, value, true
		}
	}
	return winner, found
}

// Youden returns the threshold with the largest catch rate minus false-alarm
// rate (Youden's J). Both classes are needed.
func Youden(candidates []Candidate) (Candidate, error) {
	if len(candidates) == 0 || candidates[0].Positives == 0 || candidates[0].Positives == candidates[0].N {
		return Candidate{}, score.NotApplicable("needs records of both classes")
	}
	c, _ := best(candidates, func(c Candidate) (int, bool) {
		return c.Caught*(c.N-c.Positives) - (c.Fired-c.Caught)*c.Positives, true // J · positives · negatives
	})
	return c, nil
}

// TargetRecall returns the threshold that fires least among those that catch at
// least the share recall of the positives, recall in (0, 1].
func TargetRecall(candidates []Candidate, recall float64) (Candidate, error) {
	if err := checkShare("recall", recall); err != nil {
		return Candidate{}, err
	}
	if len(candidates) == 0 || candidates[0].Positives == 0 {
		return Candidate{}, score.NotApplicable("needs positive records")
	}
	need := countAtLeast(recall, candidates[0].Positives)
	c, _ := best(candidates, func(c Candidate) (int, bool) { return -c.Fired, c.Caught >= need })
	return c, nil
}

// TargetPrecision returns the threshold that catches most among those whose
// precision is at least the target, in (0, 1]. It may not be attainable.
func TargetPrecision(candidates []Candidate, precision float64) (Candidate, error) {
	if err := checkShare("precision", precision); err != nil {
		return Candidate{}, err
	}
	c, ok := best(candidates, func(c Candidate) (int, bool) {
		return c.Caught, c.Fired > 0 && c.Caught >= countAtLeast(precision, c.Fired)
	})
	if !ok {
		return Candidate{}, score.NotApplicable("no threshold reaches a precision of %g on this data", precision)
	}
	return c, nil
}

// gainTolerance keeps rounding from telling equal sums of gains apart.
const gainTolerance = 1e-12

// BestGain returns the threshold whose firing gains most: gains[i] is what
// firing on record i brings, such as F1 with retrieval minus F1 without, less
// the price of retrieving. Equal gains go to the threshold that fires less. The
// thresholds tried are those of the grid, or all Candidates if it is empty.
//
// With the plain difference in F1 this is the sweep of validation F1
// (BeyondUncertainty's choice of τ); with λ times the cost taken off it is its
// equation 4, retrieve iff the expected benefit exceeds λ·cost, where that
// rule is a threshold on the score.
func BestGain(oriented, gains []float64, labels []bool, grid []float64) (Candidate, error) {
	if len(gains) != len(oriented) {
		return Candidate{}, score.InvalidInput("lists of unequal length: %d scores, %d gains", len(oriented), len(gains))
	}
	candidates, err := Candidates(oriented, labels)
	if err != nil {
		return Candidate{}, err
	}
	if len(grid) > 0 {
		candidates = make([]Candidate, len(grid))
		for i, tau := range grid {
			candidates[i] = at(tau, oriented, labels)
		}
		slices.SortStableFunc(candidates, func(a, b Candidate) int { return cmp.Compare(a.Fired, b.Fired) })
	}
	index := make([]int, len(oriented))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int { return cmp.Compare(oriented[b], oriented[a]) })
	sums := make([]float64, len(index)+1) // by number of records fired on
	for k, i := range index {
		sums[k+1] = sums[k] + gains[i]
	}
	winner := candidates[0]
	for _, c := range candidates {
		if sums[c.Fired] > sums[winner.Fired]+gainTolerance*float64(c.N) {
			winner = c
		}
	}
	return winner, nil
}

func checkShare(name string, v float64) error {
	if !(v > 0 && v <= 1) {
		return score.InvalidInput("%s must be in (0, 1], got %g", name, v)
	}
	return nil
}

// countAtLeast returns the least whole number that is the given share of n;
// binary fractions such as 0.7 are a little off, hence the slack.
func countAtLeast(part float64, n int) int { return int(math.Ceil(float64(n)*part - 1e-9)) }

// countAtMost returns the greatest whole number that is at most the given share
// of n.
func countAtMost(part float64, n int) int { return int(math.Floor(float64(n)*part + 1e-9)) }

// Budget returns the threshold that fires most among those that fire on at most
// the share budget of the records, in [0, 1): TARG's quantile (Wang et al.,
// 2026). It fires on fewer where scores tie.
func Budget(candidates []Candidate, budget float64) (Candidate, error) {
	if !(budget >= 0 && budget < 1) {
		return Candidate{}, score.InvalidInput("the budget must be in [0, 1), got %g", budget)
	}
	c, ok := best(candidates, func(c Candidate) (int, bool) {
		return c.Fired, c.Fired <= countAtMost(budget, c.N)
	})
	if !ok {
		return Candidate{}, score.NotApplicable("every threshold fires on more than the share %g of this data, where the score is missing", budget)
	}
	return c, nil
}

// Controlled is a commit rule with a bounded risk.
type Controlled struct {
	// Threshold: commit iff confidence > Threshold.
	Threshold float64
	// Committed and Errors are counts on the calibration data.
	Committed, Errors, N int
}

// riskGrid is about how many commit rates risk control tests.
const riskGrid = 100

// ControlRisk returns the rule with the largest commit rate such that, with
// probability at least 1 − delta over the calibration data, the error rate
// among committed answers is at most alpha. Records are assumed exchangeable
// with those to come.
//
// It is Learn-then-Test (Angelopoulos et al., 2021) by fixed-sequence testing:
// the grid of thresholds depends on the confidences alone; given that a record
// lies above a threshold its error is a coin flip, so that the null hypothesis
// "the risk exceeds alpha" has the exact binomial p-value. Testing goes on to
// larger commit rates until a hypothesis stands. Two sequences share delta: one
// from the fewest records that can reject at all, for scores that are sure of
// little, and one from where half of alpha would reject, so that a single early
// error does not end it. That no rule is attainable on the data is an answer: a
// *score.Missing with STATUS_NOT_APPLICABLE.
func ControlRisk(confidence []float64, correct []bool, alpha, delta float64) (Controlled, error) {
	if !(alpha > 0 && alpha < 1) || !(delta > 0 && delta < 1) {
		return Controlled{}, score.InvalidInput("alpha and delta must be in (0, 1), got %g and %g", alpha, delta)
	}
	wrong := make([]bool, len(correct))
	for i, c := range correct {
		wrong[i] = !c
	}
	candidates, err := Candidates(confidence, wrong)
	if err != nil {
		return Controlled{}, err
	}
	level := delta / 2
	chosen := Candidate{}
	for _, errorRate := range []float64{0, alpha / 2} {
		start := fewestThatReject(len(confidence), alpha, errorRate, level)
		chosen = further(chosen, lastRejected(commitGrid(candidates, start), alpha, level))
	}
	if chosen.Fired == 0 {
		return Controlled{}, score.NotApplicable(
			"an error rate of at most %g is not attainable with confidence %g on %d records", alpha, 1-delta, len(confidence))
	}
	return Controlled{Threshold: chosen.Threshold, Committed: chosen.Fired, Errors: chosen.Caught, N: chosen.N}, nil
}

// fewestThatReject returns the least number of committed records, up to n + 1,
// at which an observed error rate rejects the hypothesis at the level.
func fewestThatReject(n int, alpha, errorRate, level float64) int {
	for k := 1; k <= n; k++ {
		if binomialTail(k, int(errorRate*float64(k)), alpha) <= level {
			return k
		}
	}
	return n + 1
}

// commitGrid thins the candidates to about riskGrid commit rates, from the one
// that commits at least least records.
func commitGrid(candidates []Candidate, least int) []Candidate {
	var grid []Candidate
	next := least
	for _, c := range candidates {
		if c.Fired >= next {
			grid = append(grid, c)
			next = c.Fired + max(1, c.N/riskGrid)
		}
	}
	return grid
}

// lastRejected walks the grid while hypotheses are rejected.
func lastRejected(grid []Candidate, alpha, level float64) Candidate {
	var last Candidate
	for _, c := range grid {
		if binomialTail(c.Fired, c.Caught, alpha) > level {
			break
		}
		last = c
	}
	return last
}

func further(a, b Candidate) Candidate {
	if b.Fired > a.Fired {
		return b
	}
	return a
}

// binomialTail returns P(X ≤ errors) for X binomial with n trials of chance p.
func binomialTail(n, errors int, p float64) float64 {
	return distuv.Binomial{N: float64(n), P: p}.CDF(float64(errors))
}
