// Package evaluation measures how well a verifier's support tells supported
// from unsupported claims, on labelled sets: per set, in the mean over sets, by
// length of the document, by type of claim, and against another verifier on the
// same claims.
//
// Intervals are percentile intervals of a bootstrap that draws documents, not
// rows: claims about one document succeed and fail together, and drawing them
// one by one would make intervals too narrow. A difference between verifiers is
// measured on the same draws for both.
//
// The mean over sets weighs sets equally, whatever their size, as
// LLM-AggreFact's does (Tang et al. 2024). Slices across sets (lengths, types)
// are measured within each set and then averaged: sets differ in how many
// claims are supported, and pooling them would measure that.
package evaluation

import (
	"cmp"
	"slices"

	"plumbline/scorers/calibration/stats"
	"plumbline/scorers/score"
)

// Row is one labelled claim with its score. It carries no text.
type Row struct {
	// Set names the data set and ID the row within it.
	Set string `json:"set"`
	ID  string `json:"id"`
	// Label says whether the document supports the claim.
	Label bool `json:"label"`
	// Document identifies the document: rows with the same one are drawn
	// together and lie in the same half.
	Document string `json:"document"`
	// Words is the length of the document in words.
	Words int `json:"words"`
	// Types are the types of the claim, as grounding.Traits names them.
	Types []string `json:"types,omitempty"`
	// Support is the score in [0, 1]; nil if there is none, for the Reason.
	Support *float64 `json:"support,omitempty"`
	Reason  string   `json:"reason,omitempty"`
}

// Options are the choices of an evaluation.
type Options struct {
	// Threshold: a claim counts as supported iff its support is at or above it.
	Threshold float64 `json:"threshold"`
	// Draws and Seed are the bootstrap's.
	Draws int    `json:"draws"`
	Seed  uint64 `json:"seed"`
}

// Evaluate measures rows of one or several sets. The order of rows does not
// matter.
func Evaluate(rows []Row, o Options) (*Result, error) {
	if len(rows) == 0 {
		return nil, score.TooFew("there are no rows to measure")
	}
	rows, err := ordered(rows)
	if err != nil {
		return nil, err
	}
	chosen := chooseThresholds(rows)
	result := &Result{Options: o, Chosen: chosen.message()}
	var all []drawn
	for name, of := range sets(rows) {
		d := measure(name, of, chosen, o)
		set := describe(name, of)
		set.Figures = d.figures()
		result.Sets = append(result.Sets, set)
		all = append(all, d)
	}
	result.Mean = mean(all)
	result.Lengths = slice(rows, chosen, o, lengthNames(), func(r Row) []string { return []string{lengthName(r.Words)} })
	result.Types = slice(rows, chosen, o, typeNames(rows), func(r Row) []string { return r.Types })
	result.Reliability, err = reliability(rows)
	return result, err
}

func reliability(rows []Row) ([]Bin, error) {
	var supports []float64
	var labels []bool
	for _, r := range rows {
		if r.Support != nil {
			supports, labels = append(supports, *r.Support), append(labels, r.Label)
		}
	}
	if len(supports) == 0 {
		return nil, score.TooFew("no row has a score")
	}
	bins, err := stats.EqualWidthBins(supports, labels, eceBins)
	if err != nil {
		return nil, err
	}
	out := make([]Bin, len(bins))
	for i, b := range bins {
		out[i] = Bin{Lower: b.Lower, Upper: b.Upper, Rows: b.Count, Support: b.Confidence, Supported: b.Accuracy}
	}
	return out, nil
}

// ordered returns the rows by set and id, so that draws depend on nothing else.
func ordered(rows []Row) ([]Row, error) {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, byName)
	for i, r := range rows {
		if i > 0 && byName(r, rows[i-1]) == 0 {
			return nil, score.InvalidInput("set %s has the id %q twice", r.Set, r.ID)
		}
		if r.Support != nil && !(*r.Support >= 0 && *r.Support <= 1) {
			return nil, score.InvalidInput("set %s, id %q: the support is not in [0, 1]", r.Set, r.ID)
		}
	}
	return rows, nil
}

func byName(a, b Row) int { return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(a.ID, b.ID)) }

// sets yields the sets of ordered rows.
func sets(rows []Row) func(yield func(string, []Row) bool) {
	return func(yield func(string, []Row) bool) {
		for start := 0; start < len(rows); {
			end := start
			for end < len(rows) && rows[end].Set == rows[start].Set {
				end++
			}
			if !yield(rows[start].Set, rows[start:end]) {
				return
			}
			start = end
		}
	}
}

// leastOfClass is how many rows of either class a set needs in a slice to enter
// the slice's mean: below that an AUROC says next to nothing.
const leastOfClass = 10

// slice measures parts of the rows: each named part is the rows that partsOf
// puts into it.
func slice(rows []Row, chosen thresholds, o Options, names []string, partsOf func(Row) []string) []Part {
	var parts []Part
	for _, name := range names {
		of := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Support == nil || !slices.Contains(partsOf(r), name) })
		var all []drawn
		part := Part{Name: name}
		for set, of := range sets(of) {
			positives := countPositives(of)
			if min(positives, len(of)-positives) < leastOfClass {
				continue
			}
			part.Rows += len(of)
			all = append(all, measure(set, of, chosen, o))
		}
		part.Sets, part.Figures = len(all), mean(all).Figures
		parts = append(parts, part)
	}
	return parts
}

func countPositives(rows []Row) int {
	n := 0
	for _, r := range rows {
		if r.Label {
			n++
		}
	}
	return n
}

// describe counts what a set has.
func describe(name string, rows []Row) Set {
	documents := map[string]bool{}
	s := Set{Name: name, Rows: len(rows), Positives: countPositives(rows)}
	reasons := map[string]int{}
	for _, r := range rows {
		documents[r.Document] = true
		if r.Support == nil {
			s.NotScored++
			reasons[r.Reason]++
		}
	}
	s.Documents = len(documents)
	if len(reasons) > 0 {
		s.Reasons = reasons
	}
	return s
}

// mean averages the figures of sets, draw by draw.
func mean(all []drawn) Mean {
	out := Mean{Sets: len(all), Figures: map[Name]Estimate{}}
	for f, name := range figureNames {
		if len(all) == 0 {
			out.Figures[name] = estimate(stats.Interval{Err: score.TooFew("no set has %d rows of either class here", leastOfClass)})
			continue
		}
		value, draws := average(all, f)
		out.Figures[name] = estimate(stats.Percentile(value, draws))
	}
	return out
}

// average returns the mean of figure f over sets, of the data and of each draw.
// Where a set has none the mean has none: over fewer sets it would be another
// figure.
func average(all []drawn, f int) (value float64, draws []float64) {
	draws = make([]float64, len(all[0].draws[f]))
	for _, d := range all {
		value += d.values[f] / float64(len(all))
		for i, v := range d.draws[f] {
			draws[i] += v / float64(len(all))
		}
	}
	return value, draws
}
