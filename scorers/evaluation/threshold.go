package evaluation

import (
	"cmp"
	"hash/crc32"
	"math"
	"slices"
)

// thresholds are cross-fitted: the documents of all sets are divided into two
// halves by a hash, and the rows of each half are judged at the threshold that
// is best on the other. One threshold serves all sets, as it does in use.
type thresholds struct {
	// half[h] is for the rows of half h, fitted on the other one; NaN where
	// that has no set with both classes.
	half [2]float64
	// all is the best one on all rows, for use on other data.
	all float64
}

// chooseThresholds maximises the mean over sets of balanced accuracy.
func chooseThresholds(rows []Row) thresholds {
	var t thresholds
	for h := range t.half {
		t.half[h] = bestThreshold(slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return halfOf(r.Document) == h }))
	}
	t.all = bestThreshold(rows)
	return t
}

// known says whether rows of both halves have a threshold.
func (t thresholds) known() bool { return !math.IsNaN(t.half[0]) && !math.IsNaN(t.half[1]) }

// of returns the threshold for a document's rows.
func (t thresholds) of(document string) float64 { return t.half[halfOf(document)] }

func (t thresholds) message() Chosen {
	c := Chosen{Method: chosenMethod}
	if t.known() {
		c.Halves = t.half[:]
	}
	if !math.IsNaN(t.all) {
		c.All = &t.all
	}
	return c
}

func halfOf(document string) int { return int(crc32.ChecksumIEEE([]byte(document)) & 1) }

// step is one row as a step of the mean balanced accuracy: what predicting it
// supported adds.
type step struct{ support, gain float64 }

// bestThreshold returns the threshold with the highest mean over sets of
// balanced accuracy, midway between neighbouring scores; of equally good ones
// the highest. It is NaN if no set has both classes.
func bestThreshold(rows []Row) float64 {
	var steps []step
	for _, of := range sets(rows) {
		steps = append(steps, stepsOf(of)...)
	}
	if len(steps) == 0 {
		return math.NaN()
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(b.support, a.support) })
	// Above all scores nothing is supported: the gain is none.
	best, bestGain, gain := math.Nextafter(steps[0].support, 2), 0.0, 0.0
	for i, s := range steps {
		gain += s.gain
		last := i+1 == len(steps)
		if !last && steps[i+1].support == s.support {
			continue
		}
		if gain > bestGain+1e-12 { // above what the order of additions does
			bestGain, best = gain, s.support
			if !last {
				best = s.support + (steps[i+1].support-s.support)/2
			}
		}
	}
	return best
}

// stepsOf are the steps of one set, none if it has one class only.
func stepsOf(rows []Row) []step {
	var positives, negatives float64
	for _, r := range rows {
		switch {
		case r.Support == nil:
		case r.Label:
			positives++
		default:
			negatives++
		}
	}
	if positives == 0 || negatives == 0 {
		return nil
	}
	var steps []step
	for _, r := range rows {
		switch {
		case r.Support == nil:
		case r.Label:
			steps = append(steps, step{*r.Support, 1 / positives})
		default:
			steps = append(steps, step{*r.Support, -1 / negatives})
		}
	}
	return steps
}
