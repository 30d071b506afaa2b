package stats

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"plumbline/scorers/score"
)

// Interval is a figure with its percentile bootstrap interval.
type Interval struct {
	// Value is the figure on the data itself.
	Value float64
	// Lower and Upper are the 2.5 % and 97.5 % quantiles of the draws.
	Lower, Upper float64
	// Draws is how many draws gave a figure; a draw that, say, holds one class
	// only gives none and is left out.
	Draws int
	// Err says why there is no figure: a *score.Missing, or nil.
	Err error
}

// Weighted computes figures of records that count several times: weights[i] is
// how often record i counts. It writes one figure to each place of out, NaN
// where there is none, and keeps neither slice. It may run on several cores at
// once.
type Weighted func(weights []int, out []float64)

// Bootstrap draws n records with replacement and returns the percentile
// intervals of several figures of the same draws. Records are drawn whole, so
// that figures of differences stay paired. Draw d depends on seed and d alone:
// results do not depend on the number of cores.
//
// Working with counts instead of lists of drawn records lets a statistic sort
// once and pass over the sorted records in each draw.
func Bootstrap(n, draws int, seed uint64, figures int, statistic Weighted) ([]Interval, error) {
	values, drawn, err := Draws(n, draws, seed, figures, statistic)
	if err != nil {
		return nil, err
	}
	out := make([]Interval, figures)
	for f := range out {
		out[f] = Percentile(values[f], drawn[f])
	}
	return out, nil
}

// Draws returns what Bootstrap makes intervals of: the figures of the data
// itself, and those of every draw by figure. Draws of several data sets can be
// combined one by one, for the interval of a mean over sets or of a difference.
func Draws(n, draws int, seed uint64, figures int, statistic Weighted) (values []float64, drawn [][]float64, err error) {
	if n < 1 || draws < 1 {
		return nil, nil, score.TooFew("needs records and draws, got %d and %d", n, draws)
	}
	ones := make([]int, n)
	for i := range ones {
		ones[i] = 1
	}
	values = make([]float64, figures)
	statistic(ones, values)
	return values, drawFigures(n, draws, seed, figures, statistic), nil
}

// Percentile returns a figure with the percentile interval of its draws. NaN
// stands for no figure, in value and in drawn, which it does not modify.
func Percentile(value float64, drawn []float64) Interval {
	drawn = slices.DeleteFunc(slices.Clone(drawn), math.IsNaN)
	switch {
	case math.IsNaN(value):
		return Interval{Err: score.NotApplicable("the data give no figure: one class only, or nothing to divide by")}
	case len(drawn) == 0:
		return Interval{Err: score.TooFew("no bootstrap draw gives a figure")}
	}
	slices.Sort(drawn)
	return Interval{Value: value, Lower: Quantile(drawn, 0.025), Upper: Quantile(drawn, 0.975), Draws: len(drawn)}
}

// drawFigures returns the figures of every draw, by figure.
func drawFigures(n, draws int, seed uint64, figures int, statistic Weighted) [][]float64 {
	drawn := make([][]float64, figures)
	for f := range drawn {
		drawn[f] = make([]float64, draws)
	}
	workers := min(runtime.GOMAXPROCS(0), draws)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			weights, out := make([]int, n), make([]float64, figures)
			for draw := w; draw < draws; draw += workers {
				clear(weights)
				generator := rand.New(rand.NewPCG(seed, uint64(draw)))
				for range n {
					weights[generator.IntN(n)]++
				}
				statistic(weights, out)
				for f, v := range out {
					drawn[f][draw] = v
				}
			}
		})
	}
	group.Wait()
	return drawn
}

// Quantile returns the q-quantile of sorted values by linear interpolation
// (NumPy's default). values must not be empty.
func Quantile(sorted []float64, q float64) float64 {
	position := q * float64(len(sorted)-1)
	low := int(position)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (position-float64(low))*(sorted[low+1]-sorted[low])
}

// Ranked is a score that was sorted once, for statistics of many draws.
type Ranked struct {
	labels []bool
	// groups are the records of equal score, highest first.
	groups [][]int
}

// NewRanked sorts labelled scores. Scores are finite.
func NewRanked(scores []float64, labels []bool) (*Ranked, error) {
	if err := checkPaired(len(scores), len(labels), 1); err != nil {
		return nil, err
	}
	if err := checkFinite("scores", scores); err != nil {
		return nil, err
	}
	r := &Ranked{labels: labels}
	for group := range descendingGroups(scores) {
		r.groups = append(r.groups, group)
	}
	return r, nil
}

// tally counts the weighted positives and negatives of a group.
func (r *Ranked) tally(group, weights []int) (positives, negatives float64) {
	for _, i := range group {
		if r.labels[i] {
			positives += float64(weights[i])
		} else {
			negatives += float64(weights[i])
		}
	}
	return positives, negatives
}

// AUROC returns the weighted AUROC, or NaN if the weights leave one class only.
func (r *Ranked) AUROC(weights []int) float64 {
	var positives, negatives, won float64
	for _, group := range r.groups {
		p, n := r.tally(group, weights)
		won += n * (positives + p/2)
		positives += p
		negatives += n
	}
	return won / (positives * negatives) // 0/0 is NaN
}

// AUPRC returns the weighted average precision, or NaN if the weights leave no
// positive record.
func (r *Ranked) AUPRC(weights []int) float64 {
	var hits, seen, area float64
	for _, group := range r.groups {
		p, n := r.tally(group, weights)
		hits += p
		seen += p + n
		if seen > 0 {
			area += p * hits / seen
		}
	}
	return area / hits
}
