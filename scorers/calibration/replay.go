package calibration

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"plumbline/scorers/score"
)

// Outcome is what one arm did on one question. A failure counts as zero and
// stays in the denominator; its costs count as they are.
type Outcome struct {
	// F1 and EM are the answer's token F1 and exact match, in [0, 1].
	F1, EM float64
	// Cost is what the arm spent.
	Cost
	// Failed says that the arm gave no usable answer.
	Failed bool
}

// Cost is what was spent on one question.
type Cost struct {
	// Passages returned, Tokens used and model Calls made.
	Passages, Tokens, Calls float64
}

// Paired is one question with the recorded outcomes of both arms.
type Paired struct {
	// ID is unique within Dataset and Model, which name the question's cell.
	ID, Dataset, Model string
	// Never and Always are the outcomes without and with retrieval.
	Never, Always Outcome
	// Probe is the cost of asking for the score, paid on either branch.
	Probe Cost
}

// Benefit returns F1 with retrieval minus F1 without; retrieval helps iff it is
// strictly positive.
func (p Paired) Benefit() float64 { return p.Always.f1() - p.Never.f1() }

// f1 is the F1 that counts.
func (o Outcome) f1() float64 {
	if o.Failed {
		return 0
	}
	return o.F1
}

// Totals are means over questions of a routing.
type Totals struct {
	// F1, EM and Cost are means over all questions.
	F1, EM float64
	Cost
	// RouteRate is the share of questions that retrieve.
	RouteRate float64
	// N is the number of questions, failures included.
	N int
}

// Replay recombines recorded outcomes by the given routing: routed questions
// take the arm with retrieval, the others the arm without. With probe, its cost
// is added on both branches.
func Replay(questions []Paired, routed []bool, probe bool) (Totals, error) {
	if len(questions) != len(routed) {
		return Totals{}, score.InvalidInput("lists of unequal length: %d questions, %d routes", len(questions), len(routed))
	}
	if len(questions) == 0 {
		return Totals{}, score.TooFew("needs 1 question, got 0")
	}
	t := Totals{N: len(questions)}
	for i, q := range questions {
		taken := q.Never
		if routed[i] {
			taken = q.Always
			t.RouteRate++
		}
		t.add(taken)
		if probe {
			t.add(Outcome{Cost: q.Probe})
		}
	}
	for _, sum := range []*float64{&t.F1, &t.EM, &t.Passages, &t.Tokens, &t.Calls, &t.RouteRate} {
		*sum /= float64(t.N)
	}
	return t, nil
}

func (t *Totals) add(o Outcome) {
	t.F1 += o.f1()
	if !o.Failed {
		t.EM += o.EM
	}
	t.Passages += o.Passages
	t.Tokens += o.Tokens
	t.Calls += o.Calls
}

// swap exchanges one question's outcome for another in a sum.
func (t *Totals) swap(out, in Outcome) {
	t.add(in)
	t.F1 -= out.f1()
	if !out.Failed {
		t.EM -= out.EM
	}
	t.Passages -= out.Passages
	t.Tokens -= out.Tokens
	t.Calls -= out.Calls
}

// Oracle returns the routing by the better arm, which nobody can know
// beforehand. Ties retrieve, or skip if tiesSkip.
func Oracle(questions []Paired, tiesSkip bool) []bool {
	routed := make([]bool, len(questions))
	for i, q := range questions {
		benefit := q.Benefit()
		routed[i] = benefit > 0 || (benefit == 0 && !tiesSkip)
	}
	return routed
}

// MatchedRandom returns a routing without information that retrieves for as
// many questions of each cell (dataset × model) as the given one. Within a cell
// questions are taken in ascending order of the hexadecimal SHA-256 of dataset,
// model and id joined by line feeds, so that it does not depend on the input's
// order.
func MatchedRandom(questions []Paired, routed []bool) ([]bool, error) {
	if len(questions) != len(routed) {
		return nil, score.InvalidInput("lists of unequal length: %d questions, %d routes", len(questions), len(routed))
	}
	type cell struct{ dataset, model string }
	members, quota := map[cell][]int{}, map[cell]int{}
	digests := make([]string, len(questions))
	for i, q := range questions {
		c := cell{q.Dataset, q.Model}
		members[c] = append(members[c], i)
		if routed[i] {
			quota[c]++
		}
		sum := sha256.Sum256([]byte(q.Dataset + "\n" + q.Model + "\n" + q.ID))
		digests[i] = hex.EncodeToString(sum[:])
	}
	out := make([]bool, len(questions))
	for c, index := range members {
		slices.SortFunc(index, func(a, b int) int { return cmp.Compare(digests[a], digests[b]) })
		for _, i := range index[:quota[c]] {
			out[i] = true
		}
	}
	return out, nil
}
