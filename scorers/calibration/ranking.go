package calibration

import (
	"context"
	"errors"
	"slices"

	"plumbline/scorers/calibration/stats"
	"plumbline/scorers/score"
)

// DefaultWindow is how many items the reader is given where nothing else is
// said, as in "Route Retrieval by Evidence".
const DefaultWindow = 3

// Ranking is what a retrieval returned beside what the question needed.
type Ranking struct {
	// Ranked are the ids of the items returned, best first; Gold those of the
	// items that the question needs, in any order.
	Ranked, Gold []string
	// Window is how many items the reader is given; 0 means DefaultWindow.
	Window int
	// Unanswerable says that the corpus does not hold what the question needs.
	Unanswerable bool
}

// rankingFigures are the figures of one ranking, each in [0, 1].
type rankingFigures struct {
	// known is false for a record without a ranking.
	known, answerable bool
	// recall is 1 iff a gold item is in the window, full iff all are; share is
	// the share of gold items that are; reciprocal is 1 / rank of the first gold
	// item in the whole ranking, 0 if there is none.
	recall, share, full, reciprocal float64
}

// figures measures the ranking; nil has none.
func (r *Ranking) figures() (rankingFigures, error) {
	switch {
	case r == nil:
		return rankingFigures{}, nil
	case r.Unanswerable:
		return rankingFigures{known: true}, nil
	case len(r.Gold) == 0:
		return rankingFigures{}, errors.New("it has no gold_ids; say unanswerable where the corpus has none")
	}
	gold := map[string]bool{}
	for _, id := range r.Gold {
		gold[id] = true
	}
	window := r.Window
	if window <= 0 {
		window = DefaultWindow
	}
	f := rankingFigures{known: true, answerable: true}
	if first := slices.IndexFunc(r.Ranked, func(id string) bool { return gold[id] }); first >= 0 {
		f.reciprocal = 1 / float64(first+1)
	}
	found := map[string]bool{}
	for _, id := range r.Ranked[:min(window, len(r.Ranked))] {
		if gold[id] {
			found[id] = true
		}
	}
	f.share = float64(len(found)) / float64(len(gold))
	if len(found) > 0 {
		f.recall = 1
	}
	if len(found) == len(gold) {
		f.full = 1
	}
	return f, nil
}

// MeasureRankings measures the rankings of the given records that have one and
// are answerable: the share of questions with a gold item in the window
// ("recall_at_window") and with all of them ("full_gold_at_window"), the mean
// share of gold items in it ("gold_share_at_window"), and the mean reciprocal
// rank of the first gold item over the whole ranking ("mrr"). n is how many
// there are; without any there are no figures.
func MeasureRankings(ctx context.Context, d *Data, index []int, r stats.Resampling) (figures Figures, n int, err error) {
	var columns [4][]float64
	for _, i := range index {
		f := d.rankings.at(i, rankingFigures{})
		if !f.answerable {
			continue
		}
		for c, v := range []float64{f.recall, f.share, f.full, f.reciprocal} {
			columns[c] = append(columns[c], v)
		}
		n++
	}
	if n == 0 {
		return nil, 0, score.MissingInput("no answerable record has a ranking")
	}
	figures, err = measureMeans(ctx, columns[:], r,
		"recall_at_window", "gold_share_at_window", "full_gold_at_window", "mrr")
	return figures, n, err
}

// measureMeans bootstraps the means of columns over the same records.
func measureMeans(ctx context.Context, columns [][]float64, r stats.Resampling, names ...string) (Figures, error) {
	return measure(ctx, len(columns[0]), r, func(weights []int32, out []float64) {
		for c, column := range columns {
			out[c] = weightedMean(column, weights)
		}
	}, names...)
}

func weightedMean(values []float64, weights []int32) float64 {
	sum, total := 0.0, 0.0
	for i, w := range weights {
		sum += float64(w) * values[i]
		total += float64(w)
	}
	return sum / total
}
