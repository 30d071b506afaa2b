package retrieval

import (
	"errors"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
)

// Value is one computed signal, or the reason why there is none.
type Value struct {
	Name         string
	WeakWhenHigh bool
	// Number is finite; it counts only without an error.
	Number float64
	// Remark is a note on the number.
	Remark string
	// RankFused marks a number made of scores that are relative to their own
	// list.
	RankFused bool
	// Err is a *score.Missing.
	Err error
}

// Scored is a passage of the fused order.
type Scored struct {
	ID    string
	Score float64
}

// Entity is something that the question names, and whether the text has it.
type Entity struct {
	Text                 string
	Found, FoundInWindow bool
}

// Result is what was computed for a request besides its signals.
type Result struct {
	Fused          []Scored // best first, at most k, scores in the ranking's kind
	FusedByService bool
	Entities       []Entity
	Duplicates     []Duplicate
	Warnings       []string
}

// Compute computes the selected signals of one retrieval result, in the order
// of the table, and hands each to emit: a result has dozens, and callers turn
// them into something of their own.
func Compute(r Request, emit func(Value)) Result {
	e := newEvidence(r)
	t := registry()
	selected, unknown := t.selected(r.Signals)
	for i := range t.rows {
		if selected[i] {
			emit(t.rows[i].valueOf(e))
		}
	}
	for range unknown {
		e.warnings = append(e.warnings, "signals: a name is unknown and was left out")
	}
	return Result{
		Fused: e.fusedItems(), FusedByService: e.fusedHere, Entities: e.entities(), Duplicates: e.duplicates, Warnings: e.warnings,
	}
}

const rankFusedRemark = "made of scores that are relative to their own list: a threshold needs calibration"

func (s *signal) valueOf(e *evidence) Value {
	v := Value{Name: s.name, WeakWhenHigh: s.weakWhenHigh}
	if v.Number, v.Err = s.value(e); v.Err != nil {
		return v
	}
	if s.reads != "" {
		// A value under compat SOURCE may lack the ranking.
		if l, err := e.ranking(s.reads); err == nil && l.kind.relative() {
			v.RankFused, v.Remark = true, rankFusedRemark
			return v
		}
	}
	if s.remark != nil {
		v.Remark = s.remark(e)
	}
	return v
}

// fusedItems is the fused order as the signals read it; none where it has no
// order.
func (e *evidence) fusedItems() []Scored {
	if e.fused == nil || e.fused.notFinite {
		return nil
	}
	items := make([]Scored, len(e.fused.docs))
	for i, entry := range e.fused.entries[:len(items)] {
		items[i] = Scored{ID: entry.item.ID, Score: e.fused.kind.orient(entry.score)}
	}
	return items
}

// entities reports what coverage looked for; nothing where it did not look.
func (e *evidence) entities() []Entity {
	if e.Source {
		return e.sourceFound.value
	}
	if e.text.value == nil {
		return nil
	}
	c := e.text.value
	entities := make([]Entity, len(c.entities))
	for i, n := range c.entities {
		entities[i] = Entity{Text: n.text, Found: c.reaches(n.rank, wholePool), FoundInWindow: c.reaches(n.rank, windowOnly)}
	}
	return entities
}

// isAbsence reports whether a value is missing for want of a ranking or of
// results.
func isAbsence(err error) bool {
	missing, ok := errors.AsType[*score.Missing](err)
	return ok && (missing.Status == plumblinev1.Status_STATUS_MISSING_INPUT || missing.Status == plumblinev1.Status_STATUS_TOO_FEW_ITEMS)
}
