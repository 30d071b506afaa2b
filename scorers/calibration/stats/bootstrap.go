package stats

import (
	"cmp"
	"context"
	"iter"
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
type Weighted func(weights []int32, out []float64)

// Resampling says how a bootstrap draws.
type Resampling struct {
	// Draws is how often the records are drawn, Seed fixes how.
	Draws int
	Seed  uint64
	// Drawn is called after each draw, on several cores at once; nil tells
	// nobody.
	Drawn func()
}

// Bootstrap draws n records with replacement and returns the percentile
// intervals of several figures of the same draws. Records are drawn whole, so
// that figures of differences stay paired. Draw d depends on n, seed and d
// alone: results do not depend on the number of cores. Once ctx is done no draw
// is begun, and its error returned.
//
// Working with counts instead of lists of drawn records lets a statistic sort
// once and pass over the sorted records in each draw.
func Bootstrap(ctx context.Context, n int, r Resampling, figures int, statistic Weighted) ([]Interval, error) {
	values, drawn, err := r.draw(ctx, n, figures, statistic)
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
	return Resampling{Draws: draws, Seed: seed}.draw(context.Background(), n, figures, statistic)
}

func (r Resampling) draw(ctx context.Context, n, figures int, statistic Weighted) (values []float64, drawn [][]float64, err error) {
	if n < 1 || r.Draws < 1 {
		return nil, nil, score.TooFew("needs records and draws, got %d and %d", n, r.Draws)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	ones := make([]int32, n)
	for i := range ones {
		ones[i] = 1
	}
	values = make([]float64, figures)
	statistic(ones, values)
	drawn = r.drawFigures(ctx, n, figures, statistic)
	return values, drawn, ctx.Err()
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

// drawFigures returns the figures of every draw, by figure; of not all of them
// if ctx is done before.
func (r Resampling) drawFigures(ctx context.Context, n, figures int, statistic Weighted) [][]float64 {
	drawn := make([][]float64, figures)
	for f := range drawn {
		drawn[f] = make([]float64, r.Draws)
	}
	workers := min(runtime.GOMAXPROCS(0), r.Draws)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			weights, out := make([]int32, n), make([]float64, figures)
			for draw := w; draw < r.Draws; draw += workers {
				if r.weigh(ctx, weights, draw) != nil {
					return
				}
				statistic(weights, out)
				for f, v := range out {
					drawn[f][draw] = v
				}
				if r.Drawn != nil {
					r.Drawn()
				}
			}
		})
	}
	group.Wait()
	return drawn
}

// weigh counts how often a draw has each record. With millions of records that
// takes so long that it looks up from time to time.
func (r Resampling) weigh(ctx context.Context, weights []int32, draw int) error {
	const recordsPerLook = 1 << 16
	clear(weights)
	generator := rand.New(rand.NewPCG(r.Seed, uint64(draw)))
	for i := range weights {
		if i%recordsPerLook == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		weights[generator.IntN(len(weights))]++
	}
	return nil
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
	// records are the records' numbers and labels, the highest score first:
	// twice the number, and one more if the label is true. A draw passes over
	// them in order and looks up nothing but weights.
	records []uint32
	// ends are the ends of the groups of equal score in records.
	ends []uint32
}

// mostRanked is how many records fit into Ranked.
const mostRanked = math.MaxUint32 / 2

// NewRanked sorts labelled scores. Scores are finite.
func NewRanked(scores []float64, labels []bool) (*Ranked, error) {
	if err := checkPaired(len(scores), len(labels), 1); err != nil {
		return nil, err
	}
	if err := checkFinite("scores", scores); err != nil {
		return nil, err
	}
	if len(scores) > mostRanked {
		return nil, score.InvalidInput("%d records are too many: at most %d can be ranked", len(scores), mostRanked)
	}
	r := &Ranked{records: make([]uint32, len(scores))}
	for i, positive := range labels {
		r.records[i] = uint32(2 * i)
		if positive {
			r.records[i]++
		}
	}
	slices.SortFunc(r.records, func(a, b uint32) int {
		if c := cmp.Compare(scores[b/2], scores[a/2]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	endsGroup := func(at int) bool {
		return at == len(r.records) || scores[r.records[at]/2] != scores[r.records[at-1]/2]
	}
	groups := 0
	for at := 1; at <= len(r.records); at++ {
		if endsGroup(at) {
			groups++
		}
	}
	r.ends = make([]uint32, 0, groups)
	for at := 1; at <= len(r.records); at++ {
		if endsGroup(at) {
			r.ends = append(r.ends, uint32(at))
		}
	}
	return r, nil
}

// Reversed is the ranking of the negated scores.
func (r *Ranked) Reversed() *Ranked {
	n := uint32(len(r.records))
	reversed := &Ranked{records: slices.Clone(r.records), ends: make([]uint32, 0, len(r.ends))}
	slices.Reverse(reversed.records)
	for i := len(r.ends) - 2; i >= 0; i-- {
		reversed.ends = append(reversed.ends, n-r.ends[i])
	}
	reversed.ends = append(reversed.ends, n)
	return reversed
}

// tally is the weight of a group of equal score.
type tally struct {
	positives, negatives float64
	first                uint32 // one of its records
}

// tallies yields the groups, the highest score first.
func (r *Ranked) tallies(weights []int32) iter.Seq[tally] {
	return func(yield func(tally) bool) {
		start := uint32(0)
		for _, end := range r.ends {
			var sums [2]int32
			for _, record := range r.records[start:end] {
				sums[record%2] += weights[record/2]
			}
			if !yield(tally{float64(sums[1]), float64(sums[0]), r.records[start] / 2}) {
				return
			}
			start = end
		}
	}
}

// AUROC returns the weighted AUROC, or NaN if the weights leave one class only.
func (r *Ranked) AUROC(weights []int32) float64 {
	var positives, negatives, won float64
	for t := range r.tallies(weights) {
		won += t.negatives * (positives + t.positives/2)
		positives += t.positives
		negatives += t.negatives
	}
	return won / (positives * negatives) // 0/0 is NaN
}

// AUPRC returns the weighted average precision, or NaN if the weights leave no
// positive record.
func (r *Ranked) AUPRC(weights []int32) float64 {
	var hits, seen, area float64
	for t := range r.tallies(weights) {
		hits += t.positives
		seen += t.positives + t.negatives
		if seen > 0 {
			area += t.positives * hits / seen
		}
	}
	return area / hits
}
