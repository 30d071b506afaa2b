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
	// Draws is how many draws gave a figure; draws that, say, hold one class
	// only give none and are left out.
	Draws int
}

// Bootstrap draws records with replacement and returns the percentile interval
// of statistic, which is called with the indices of a draw (shared by no other
// call) and may run on several cores at once. Draw i depends on seed and i
// alone, so that results do not depend on the number of cores.
//
// Drawing indices keeps pairs together: a statistic of differences, paired by
// record, is paired in every draw.
func Bootstrap(n, draws int, seed uint64, statistic func(index []int) (float64, error)) (Interval, error) {
	if n < 1 || draws < 1 {
		return Interval{}, score.TooFew("needs records and draws, got %d and %d", n, draws)
	}
	identity := make([]int, n)
	for i := range identity {
		identity[i] = i
	}
	value, err := statistic(identity)
	if err != nil {
		return Interval{}, err
	}
	figures := drawFigures(n, draws, seed, statistic)
	out := Interval{Value: value, Draws: len(figures)}
	if out.Draws == 0 {
		return Interval{}, score.TooFew("no bootstrap draw gives a figure")
	}
	slices.Sort(figures)
	out.Lower, out.Upper = Quantile(figures, 0.025), Quantile(figures, 0.975)
	return out, nil
}

// drawFigures returns the figures of the draws that have one.
func drawFigures(n, draws int, seed uint64, statistic func([]int) (float64, error)) []float64 {
	figures := make([]float64, draws)
	workers := min(runtime.GOMAXPROCS(0), draws)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			index := make([]int, n)
			for draw := w; draw < draws; draw += workers {
				generator := rand.New(rand.NewPCG(seed, uint64(draw)))
				for i := range index {
					index[i] = generator.IntN(n)
				}
				figure, err := statistic(index)
				if err != nil {
					figure = math.NaN()
				}
				figures[draw] = figure
			}
		})
	}
	group.Wait()
	return slices.DeleteFunc(figures, math.IsNaN)
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
