package evaluation

import (
	"hash/fnv"
	"math"

	"plumbline/scorers/calibration/stats"
)

// The figures of a set, in the order in which samples write them.
var figureNames = []Name{AUROC, BalancedAccuracy, BalancedAccuracyChosen, ECE15, Brier}

// eceBins are the bins of equal width of the expected calibration error.
const eceBins = 15

// drawn is a set's figures on the data itself and on each draw, by figure.
type drawn struct {
	values []float64
	draws  [][]float64
}

// figures are the set's own estimates.
func (d drawn) figures() map[Name]Estimate {
	out := map[Name]Estimate{}
	for f, name := range figureNames {
		out[name] = estimate(stats.Percentile(d.values[f], d.draws[f]))
	}
	return out
}

// measure draws the figures of a set's rows that have a score.
func measure(set string, rows []Row, chosen thresholds, o Options) drawn {
	s := newSample(rows, chosen, o)
	return s.draw(set, o, len(figureNames), s.write)
}

// clusters are the documents of rows.
type clusters struct {
	of    []int // the document of each row
	count int
}

func clustersOf(rows []Row) clusters {
	c := clusters{of: make([]int, len(rows))}
	index := map[string]int{}
	for i, r := range rows {
		if _, known := index[r.Document]; !known {
			index[r.Document] = len(index)
		}
		c.of[i] = index[r.Document]
	}
	c.count = len(index)
	return c
}

// draw computes a statistic of rows in draws of documents. Two statistics of
// the same set, seed and documents see the same draws.
func (c clusters) draw(set string, o Options, figures int, statistic stats.Weighted) drawn {
	values, draws, err := stats.Draws(c.count, o.Draws, o.Seed^setSeed(set), figures, func(weights []int32, out []float64) {
		rows := make([]int32, len(c.of))
		for i, cluster := range c.of {
			rows[i] = weights[cluster]
		}
		statistic(rows, out)
	})
	if err != nil { // no rows, or no draws
		return none(figures, o.Draws)
	}
	return drawn{values, draws}
}

// none is the figures of a set that has no row with a score.
func none(figures, draws int) drawn {
	d := drawn{values: make([]float64, figures), draws: make([][]float64, figures)}
	for f := range figures {
		d.values[f] = math.NaN()
		d.draws[f] = make([]float64, max(0, draws))
		for i := range d.draws[f] {
			d.draws[f][i] = math.NaN()
		}
	}
	return d
}

// setSeed tells the draws of sets apart, so that the mean over sets averages
// independent draws.
func setSeed(set string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(set)) // never fails
	return h.Sum64()
}

// sample is rows with scores, sorted and binned once for many draws.
type sample struct {
	clusters
	supports []float64
	labels   []bool
	fixed    []bool // predicted at the fixed threshold
	chosen   []bool // predicted at the threshold of the other half; nil if there is none
	ranked   *stats.Ranked
	binned   *stats.Binned
}

func newSample(rows []Row, chosen thresholds, o Options) *sample {
	s := &sample{}
	var scored []Row
	for _, r := range rows {
		if r.Support == nil {
			continue
		}
		scored = append(scored, r)
		s.supports, s.labels = append(s.supports, *r.Support), append(s.labels, r.Label)
		s.fixed = append(s.fixed, *r.Support >= o.Threshold)
		if chosen.known() {
			s.chosen = append(s.chosen, *r.Support >= chosen.of(r.Document))
		}
	}
	s.clusters = clustersOf(scored)
	// Errors are those of empty lists, for which nothing is ever drawn.
	s.ranked, _ = stats.NewRanked(s.supports, s.labels)
	assigned, _ := stats.EqualWidthAssignment(s.supports, eceBins)
	s.binned, _ = stats.NewBinned(s.supports, s.labels, assigned, eceBins)
	return s
}

// write writes the figures of figureNames.
func (s *sample) write(weights []int32, out []float64) {
	s.writeRanking(weights, out)
	out[3], _ = s.binned.Errors(weights)
	out[4] = s.ranked.Brier(s.supports, weights).Brier
}

// writeRanking writes the figures that verifiers are compared by: the first
// three.
func (s *sample) writeRanking(weights []int32, out []float64) {
	out[0] = s.ranked.AUROC(weights)
	out[1] = balancedAccuracy(s.fixed, s.labels, weights)
	out[2] = balancedAccuracy(s.chosen, s.labels, weights)
}

// balancedAccuracy is the mean of recall and specificity, NaN where a class or
// the prediction is missing.
func balancedAccuracy(predicted, labels []bool, weights []int32) float64 {
	if predicted == nil {
		return math.NaN()
	}
	var positives, negatives, hits, rejections float64
	for i, w := range weights {
		switch weight := float64(w); {
		case labels[i]:
			positives += weight
			if predicted[i] {
				hits += weight
			}
		default:
			negatives += weight
			if !predicted[i] {
				rejections += weight
			}
		}
	}
	return (hits/positives + rejections/negatives) / 2
}
