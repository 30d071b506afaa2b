package retrieval

import (
	"slices"
	"sync"
)

// effect says what a change of all scores by the same shift or the same
// positive factor does to a signal.
type effect int

const (
	// unstated: the signal changes, with no simple law.
	unstated effect = iota
	// invariant: the signal stays as it is.
	invariant
	// equivariant: the signal is shifted or multiplied like the scores.
	equivariant
)

// signal is one row of the table: a signal's name, what is published about it,
// and its formula.
type signal struct {
	name, description string
	family            string
	unit, cost        string
	source            string   // paper and formula
	needs             []string // field names of the request
	min, max          float64  // the range, ±Inf where unbounded
	weakWhenHigh      bool     // else weak evidence is expected when it is low
	// reads names the ranking whose scores the signal is made of: "fused",
	// "dense" or "sparse"; empty where it reads ranks, text or embeddings.
	reads string
	// shift and scale say how the signal follows the scores.
	shift, scale effect
	// remark is a note on a value that was computed; nil for none.
	remark  func(*evidence) string
	compute func(*evidence) (float64, error)
	// compat is the formula of the source's own code, where it differs.
	compat func(*evidence) (float64, error)
}

// value computes the signal; what it returns without an error is finite.
func (s *signal) value(e *evidence) (float64, error) {
	compute := s.compute
	if e.Source && s.compat != nil {
		compute = s.compat
	}
	v, err := compute(e)
	if err == nil && !finite(v) {
		err = errOverflow
	}
	return v, err
}

// table is all signals with an index by name. Nothing changes it once it is
// built.
type table struct {
	rows  []signal
	index map[string]int
}

// registry returns the table of signals, built on first use.
var registry = sync.OnceValue(func() *table {
	t := &table{
		rows: slices.Concat(
			scoreSignals(),
			agreementSignals(),
			coverageSignals(),
			coherenceSignals(),
		),
		index: map[string]int{},
	}
	for i := range t.rows {
		t.index[t.rows[i].name] = i
	}
	return t
})

// selected says of each row whether it is named, and how many names the table
// does not have. No name selects all.
func (t *table) selected(names []string) (rows []bool, unknown int) {
	rows = make([]bool, len(t.rows))
	for _, name := range names {
		if i, ok := t.index[name]; ok {
			rows[i] = true
		} else {
			unknown++
		}
	}
	if len(names) == 0 {
		for i := range rows {
			rows[i] = true
		}
	}
	return rows, unknown
}
