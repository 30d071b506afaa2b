package retrieval

import (
	"strings"
)

// evidence is a request made ready for the formulas. The parts that cost more
// than a few sums are made when the first signal asks for them.
type evidence struct {
	Request
	lists         []*list // by name
	fused         *list   // the ranking named "fused", the only one, or the fusion
	dense, sparse *list   // the rankings of these names, or nil
	fusedHere     bool    // the fusion was made by this package
	docs          int     // distinct ids
	// retrievers are the lists that came from a retriever: all but the one
	// named "fused". denseRetrievers are those whose names begin with "dense".
	retrievers, denseRetrievers []*list
	duplicates                  []Duplicate
	warnings                    []string

	words       memo[[]span]
	pairs       [comparisonCount]memo[[]float64] // by index of the comparison
	text        memo[*coverage]
	vectors     memo[*coherence]
	sourceFound memo[[]Entity]
}

// memo is a result that is computed once.
type memo[T any] struct {
	done  bool
	value T
	err   error
}

func (m *memo[T]) get(compute func() (T, error)) (T, error) {
	if !m.done {
		m.value, m.err = compute()
		m.done = true
	}
	return m.value, m.err
}

func newEvidence(r Request) *evidence {
	e := &evidence{}
	e.Request, e.warnings = r.withDefaults()
	e.readRankings()
	e.dense, e.sparse = e.find(denseName), e.find(sparseName)
	e.retrievers = make([]*list, 0, len(e.lists))
	for _, l := range e.lists {
		if l.name != fusedName {
			e.retrievers = append(e.retrievers, l)
		}
		if strings.HasPrefix(l.name, denseName) {
			e.denseRetrievers = append(e.denseRetrievers, l)
		}
	}
	return e
}

// readRankings makes the lists and their fusion. What they consist of is
// allocated once for all: most requests are so small that allocating would
// otherwise take longer than computing.
func (e *evidence) readRankings() {
	lists := make([]list, len(e.Rankings)+1) // the last for a fusion
	e.lists = make([]*list, len(e.Rankings))
	items := e.itemCount()
	ids, entries := make(numbering, items), make(slab[entry], items)
	for i := range e.Rankings {
		r := &e.Rankings[i]
		e.lists[i] = &lists[i]
		e.lists[i].read(r, ids, entries.take(len(r.Items)))
	}
	e.docs = len(ids)
	ranks := make(slab[int32], len(lists)*e.docs)
	for _, l := range e.lists {
		e.duplicates = append(e.duplicates, l.sort(ranks.take(e.docs))...)
		e.warnings = append(e.warnings, l.warnings()...)
	}
	e.fused = e.find(fusedName)
	switch {
	case e.fused != nil:
	case len(e.lists) == 1:
		e.fused = e.lists[0]
	case len(e.lists) > 1:
		e.fused, e.fusedHere = &lists[len(e.lists)], true
		e.fused.fuse(e.lists, e.RRFConstant, make([]entry, e.docs), ranks.take(e.docs))
	}
	e.readTops(lists)
}

// readTops reads the first k of all lists; a list that was not made is empty.
func (e *evidence) readTops(lists []list) {
	most := 0
	for i := range lists {
		most += min(e.K, len(lists[i].entries))
	}
	scores, docs := make(slab[float64], most), make(slab[int32], most)
	for i := range lists {
		n := min(e.K, len(lists[i].entries))
		lists[i].readTop(scores.take(n), docs.take(n))
	}
}

func (e *evidence) itemCount() int {
	n := 0
	for i := range e.Rankings {
		n += len(e.Rankings[i].Items)
	}
	return n
}

func (e *evidence) find(name string) *list {
	for _, l := range e.lists {
		if l.name == name {
			return l
		}
	}
	return nil
}

// ranking returns the list that plays a part: "fused", "dense" or "sparse".
func (e *evidence) ranking(part string) (*list, error) {
	l, missing := e.fused, errNoRankings
	switch part {
	case denseName:
		l, missing = e.dense, errNoDense
	case sparseName:
		l, missing = e.sparse, errNoSparse
	}
	if l == nil {
		return nil, missing
	}
	return l, nil
}

// pool returns the fused order's first k items as they are read for text or
// embeddings: an item that lacks them in the fused ranking is looked up in the
// others. has says whether an item has what is sought; others are nil.
func (e *evidence) pool(has func(*Item) bool) ([]*Item, error) {
	fused, err := e.ranking(fusedName)
	if err != nil {
		return nil, err
	}
	if err := fused.ready(1, false); err != nil {
		return nil, err
	}
	items := make([]*Item, len(fused.docs))
	missing := false
	for i, entry := range fused.entries[:len(items)] {
		if has(entry.item) {
			items[i] = entry.item
		} else {
			missing = true
		}
	}
	if missing {
		e.lookUp(items, fused, has)
	}
	return items, nil
}

// lookUp fills the gaps of items from the other rankings, in the order of
// their names.
func (e *evidence) lookUp(items []*Item, fused *list, has func(*Item) bool) {
	for _, l := range e.lists {
		for _, entry := range l.entries {
			if rank := fused.ranks[entry.doc]; rank > 0 && items[rank-1] == nil && has(entry.item) {
				items[rank-1] = entry.item
			}
		}
	}
}
