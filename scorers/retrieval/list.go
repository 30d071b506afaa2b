package retrieval

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plumbline/scorers/score"
)

func compareStrings(a, b string) int { return strings.Compare(a, b) }

// entry is one result of a sorted list.
type entry struct {
	item  *Item
	score float64 // oriented: higher is better
	doc   int32   // the passage's number in the request, from its id
}

// list is a ranking as the formulas read it: best first, each id once.
type list struct {
	name    string
	kind    Kind
	entries []entry
	scores  []float64 // of the first k entries, oriented
	docs    []int32   // of the first k entries
	// ranks has the place of each passage among the first k, from 1; 0 where
	// it is not among them. It is indexed by doc.
	ranks      []int32
	corpusMean *float64 // oriented
	notFinite  bool     // a score is NaN or infinite: the list has no order
}

// Duplicate is an id that a ranking had more than once.
type Duplicate struct {
	Ranking, ID string
	Count       int
}

// numbering gives each id of a request a small number, so that agreement
// compares integers.
type numbering map[string]int32

func (n numbering) of(id string) int32 {
	doc, ok := n[id]
	if !ok {
		doc = int32(len(n))
		n[id] = doc
	}
	return doc
}

// slab hands out parts of one allocation.
type slab[T any] []T

func (s *slab[T]) take(n int) []T {
	part := (*s)[:n:n]
	*s = (*s)[n:]
	return part
}

// read takes the ranking over into entries, which are as many as its items.
func (l *list) read(r *Ranking, ids numbering, entries []entry) {
	l.name, l.kind, l.entries = r.Name, r.Kind, entries
	if r.CorpusMean != nil {
		mean := r.Kind.orient(*r.CorpusMean)
		l.corpusMean = &mean
	}
	for i := range r.Items {
		item := &r.Items[i]
		entries[i] = entry{item: item, score: r.Kind.orient(item.Score), doc: ids.of(item.ID)}
		l.notFinite = l.notFinite || !finite(item.Score)
	}
}

// sort brings the entries into their order and drops repeated ids. ranks has a
// place for each passage of the request.
func (l *list) sort(ranks []int32) []Duplicate {
	l.ranks = ranks
	if !slices.IsSortedFunc(l.entries, compareEntries) {
		slices.SortFunc(l.entries, compareEntries)
	}
	return l.dropRepeated()
}

// compareEntries orders by score, better first, then by id. Repetitions of an
// id with one score are ordered by content, so that the one that is kept does
// not depend on the order of the input.
func compareEntries(a, b entry) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	if a.doc != b.doc {
		return compareStrings(a.item.ID, b.item.ID)
	}
	return cmp.Or(
		compareStrings(b.item.Text, a.item.Text),
		compareStrings(b.item.Title, a.item.Title),
		slices.Compare(b.item.Embedding, a.item.Embedding),
	)
}

// dropRepeated keeps the first, that is the best, entry of each id. It counts in
// the place of the ranks, which are not known yet.
func (l *list) dropRepeated() []Duplicate {
	count := l.ranks
	defer clear(count)
	kept := l.entries[:0]
	for _, e := range l.entries {
		count[e.doc]++
		if count[e.doc] == 1 {
			kept = append(kept, e)
		}
	}
	if len(kept) == len(l.entries) {
		return nil
	}
	l.entries = kept
	var duplicates []Duplicate
	for _, e := range kept {
		if n := count[e.doc]; n > 1 {
			duplicates = append(duplicates, Duplicate{Ranking: l.name, ID: e.item.ID, Count: int(n)})
		}
	}
	slices.SortFunc(duplicates, func(a, b Duplicate) int { return compareStrings(a.ID, b.ID) })
	return duplicates
}

// readTop fixes the part of the list that the formulas read: as many results as
// scores and docs have places.
func (l *list) readTop(scores []float64, docs []int32) {
	l.scores, l.docs = scores, docs
	for i, e := range l.entries[:len(docs)] {
		l.scores[i] = e.score
		l.docs[i] = e.doc
		l.ranks[e.doc] = int32(i + 1)
	}
}

// fuse makes l the fusion of lists by reciprocal rank: a passage scores the sum, over the
// lists that have it, of 1/(constant + rank), ranks from 1.
//
// Source: Cormack, Clarke, Büttcher, "Reciprocal rank fusion outperforms
// Condorcet and individual rank learning methods" (SIGIR 2009).
func (l *list) fuse(lists []*list, constant int, entries []entry, ranks []int32) {
	l.name, l.kind, l.entries, l.ranks = fusedName, RRF, entries, ranks
	for _, one := range lists {
		l.notFinite = l.notFinite || one.notFinite
		for i, e := range one.entries {
			sum := &entries[e.doc]
			if sum.item == nil {
				*sum = entry{item: e.item, doc: e.doc}
			}
			sum.score += exactly(1 / float64(constant+i+1))
		}
	}
	slices.SortFunc(entries, compareEntries)
}

// exactly rounds a term of a sum to a multiple of 2⁻⁴⁴. Sums of up to 256 such terms
// of at most 1 are exact, so that passages of equal ranks tie in whatever order the
// lists come.
func exactly(term float64) float64 { return math.Ldexp(math.Round(math.Ldexp(term, 44)), -44) }

// ready says why a formula cannot read the list's scores, if so: absolute
// formulas make no sense of scores that are relative to their own list.
func (l *list) ready(atLeast int, absolute bool) error {
	switch {
	case l.notFinite:
		return l.errNotFinite()
	case absolute && l.kind.relative():
		return errRelative
	case len(l.scores) < atLeast:
		return tooFew(atLeast, len(l.scores))
	}
	return nil
}

// The reasons that usual requests meet are made once.
var (
	errRelative = score.WrongKind("the ranking's scores were made from ranks or relative to their own list: " +
		"give the retrievers' own rankings and read the dense_ or sparse_ signal")
	errNoRankings = score.MissingInput("rankings: none was given")
	errNoDense    = score.MissingInput("rankings: none is named \"dense\"")
	errNoSparse   = score.MissingInput("rankings: none is named \"sparse\"")
)

func (l *list) errNotFinite() error {
	return score.InvalidInput("the ranking %q has a score that is not finite, so that its items have no order", l.name)
}

func tooFew(need, have int) error {
	return score.TooFew("at least %d results are needed, %d given", need, have)
}

// warnings are remarks on the ranking's scores.
func (l *list) warnings() []string {
	var out []string
	if l.name == fusedName && l.kind == Unspecified {
		out = append(out, `the ranking "fused" states no score kind: heights made from ranks cannot be marked as such`)
	}
	for _, e := range l.entries {
		if l.kind.outside(l.kind.orient(e.score)) {
			return append(out, fmt.Sprintf("the ranking %q has scores outside the range of its score kind", l.name))
		}
	}
	return out
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
