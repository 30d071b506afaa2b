package evaluation

import (
	"math"

	"plumbline/scorers/calibration/stats"
	"plumbline/scorers/score"
)

// compared are the figures that verifiers are compared by.
var compared = figureNames[:3]

// Difference is a figure of the first verifier minus that of the second, with
// its 95 % interval.
type Difference struct {
	Estimate
	// P is the two-sided probability of the bootstrap: twice the share of draws
	// on the other side of zero, at least 2/(draws + 1).
	P *float64 `json:"p,omitempty"`
}

// ComparedSet is a set on the rows that both verifiers scored.
type ComparedSet struct {
	Name        string              `json:"name"`
	Rows        int                 `json:"rows"`
	Differences map[Name]Difference `json:"differences"`
}

// Comparison is two verifiers on the same rows.
type Comparison struct {
	// Sets are the sets that both have, and Mean is the mean over them.
	Sets []ComparedSet `json:"sets"`
	Mean ComparedSet   `json:"mean"`
	// Unmatched is how many rows only one of the two has a score for; they do
	// not enter.
	Unmatched int `json:"unmatched"`
}

// Compare measures first minus second on the rows that both have a score for.
// Each is judged at thresholds of its own, chosen on these rows.
func Compare(first, second []Row, o Options) (*Comparison, error) {
	a, b, unmatched, err := match(first, second)
	if err != nil {
		return nil, err
	}
	if len(a) == 0 {
		return nil, score.TooFew("no row has a score of both verifiers: compare runs over the same sets")
	}
	chosenA, chosenB := chooseThresholds(a), chooseThresholds(b)
	out := &Comparison{Unmatched: unmatched, Mean: ComparedSet{Name: "mean", Rows: len(a), Differences: map[Name]Difference{}}}
	var all []drawn
	start := 0
	for name, of := range sets(a) {
		sa, sb := newSample(of, chosenA, o), newSample(b[start:start+len(of)], chosenB, o)
		start += len(of)
		d := sa.draw(name, o, len(compared), func(weights []int32, out []float64) {
			minus := make([]float64, len(out))
			sa.writeRanking(weights, out)
			sb.writeRanking(weights, minus)
			for f := range out {
				out[f] -= minus[f]
			}
		})
		set := ComparedSet{Name: name, Rows: len(of), Differences: map[Name]Difference{}}
		for f, figure := range compared {
			set.Differences[figure] = difference(d.values[f], d.draws[f])
		}
		out.Sets = append(out.Sets, set)
		all = append(all, d)
	}
	for f, figure := range compared {
		out.Mean.Differences[figure] = difference(average(all, f))
	}
	return out, nil
}

// match returns the rows that both have a score for, in the same order.
func match(first, second []Row) (a, b []Row, unmatched int, err error) {
	type key struct{ set, id string }
	if first, err = ordered(first); err != nil {
		return nil, nil, 0, err
	}
	if second, err = ordered(second); err != nil {
		return nil, nil, 0, err
	}
	known := map[key]Row{}
	for _, r := range second {
		if r.Support != nil {
			known[key{r.Set, r.ID}] = r
		}
	}
	total := len(known)
	for _, r := range first {
		if r.Support == nil {
			continue
		}
		other, ok := known[key{r.Set, r.ID}]
		if !ok {
			unmatched++
			continue
		}
		if other.Label != r.Label || other.Document != r.Document {
			return nil, nil, 0, score.InvalidInput("set %s, id %q: the two runs scored different data", r.Set, r.ID)
		}
		a, b = append(a, r), append(b, other)
	}
	return a, b, unmatched + total - len(b), nil
}

func difference(value float64, draws []float64) Difference {
	d := Difference{Estimate: estimate(stats.Percentile(value, draws))}
	if d.Value == nil {
		return d
	}
	below, above, n := 0, 0, 0
	for _, v := range draws {
		if math.IsNaN(v) {
			continue
		}
		n++
		if v <= 0 {
			below++
		}
		if v >= 0 {
			above++
		}
	}
	p := min(1, 2*float64(1+min(below, above))/float64(1+n))
	d.P = &p
	return d
}
