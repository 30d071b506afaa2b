package calibration

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"plumbline/scorers/score"
)

// Split says on which side of a calibration a record stands.
type Split int8

// The sides. Unassigned records are assigned by Data.Assign.
const (
	Unassigned Split = iota
	Calibration
	Test
)

// Record is one labelled record as it comes in.
type Record struct {
	// ID is unique in the data.
	ID string
	// Dataset and Model name the group that the record belongs to.
	Dataset, Model string
	// Split is the side that the caller put it on, if any.
	Split Split
	// Signals are its scores by name; an absent one was not computed.
	Signals map[string]float64
	// Label is true for the positive class; nil if the record has none.
	Label *bool
	// Arms are the recorded outcomes by arm.
	Arms map[string]Outcome
	// Ranking is what a retrieval returned, if that is known. It gives the
	// label of a record that has none.
	Ranking *Ranking
	// Probe is what asking for the score cost.
	Probe Cost
}

// Data is a set of records, held by column: a record takes about 20 bytes beside
// its id, and 8 for each signal, 56 for each arm, 40 for a ranking. The zero
// value is empty and ready.
type Data struct {
	ids     ids
	groups  column[uint32] // places in cells
	splits  column[Split]
	labels  column[int8] // unlabelled, 0 or 1
	signals map[string]*column[float64]
	arms    map[string]*column[Outcome]

	cells []Group // each once
	cell  map[Group]uint32

	rankings column[rankingFigures]
	probes   column[Cost]
}

// notComputed stands in a column for a signal that a record lacks.
var notComputed = math.NaN()

// notRecorded stands in a column for an arm that a record lacks: its F1 is no
// number.
var notRecorded = Outcome{F1: math.NaN()}

// Group is a cell of the data: one dataset answered by one model.
type Group struct{ Dataset, Model string }

// Add appends a record. An error names the record by its number, from 1, and
// its id; the record is then not added.
func (d *Data) Add(r Record) error {
	number := d.Len() + 1
	fail := func(format string, args ...any) error {
		return score.InvalidInput("record %d (id %q): %s", number, r.ID, fmt.Sprintf(format, args...))
	}
	if r.ID == "" {
		return fail("it has no id")
	}
	for name, v := range r.Signals {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fail("signal %q is not a finite number; leave it out where it was not computed", name)
		}
	}
	for arm, o := range r.Arms {
		if err := o.check(); err != nil {
			return fail("arm %q: %v", arm, err)
		}
	}
	if err := r.Probe.check(); err != nil {
		return fail("probe: %v", err)
	}
	figures, err := r.Ranking.figures()
	if err != nil {
		return fail("ranking: %v", err)
	}
	if number > mostRecords {
		return fail("more than %d records cannot be held", mostRecords)
	}
	if earlier, added := d.ids.add(r.ID); !added {
		return fail("record %d has the same id; every record must have one of its own, also across splits", earlier+1)
	}
	d.append(r, figures)
	return nil
}

// mostRecords is how many records the numbers in columns can tell apart.
const mostRecords = math.MaxInt32

func (o Outcome) check() error {
	for _, v := range []float64{o.F1, o.EM} {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("f1 and em must be in [0, 1], got %g", v)
		}
	}
	return o.Cost.check()
}

func (c Cost) check() error {
	for _, v := range []float64{c.Passages, c.Tokens, c.Calls} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("costs must be finite and at least 0, got %g", v)
		}
	}
	return nil
}

// append adds the columns of a record whose id was added.
func (d *Data) append(r Record, ranking rankingFigures) {
	if d.cell == nil {
		d.cell, d.signals, d.arms = map[Group]uint32{}, map[string]*column[float64]{}, map[string]*column[Outcome]{}
	}
	i := d.Len() - 1
	label := unlabelled
	switch {
	case r.Label != nil:
		label = labelOf(*r.Label)
	case ranking.answerable:
		label = labelOf(ranking.full == 0)
	}
	d.groups.append(d.cellOf(Group{r.Dataset, r.Model}))
	d.splits.append(r.Split)
	d.labels.append(label)
	for name, v := range r.Signals {
		columnOf(d.signals, name).appendAt(i, v, notComputed)
	}
	for arm, o := range r.Arms {
		columnOf(d.arms, arm).appendAt(i, o, notRecorded)
	}
	if ranking.known {
		d.rankings.appendAt(i, ranking, rankingFigures{})
	}
	if r.Probe != (Cost{}) {
		d.probes.appendAt(i, r.Probe, Cost{})
	}
}

func (d *Data) cellOf(g Group) uint32 {
	place, known := d.cell[g]
	if !known {
		place = uint32(len(d.cells))
		d.cells = append(d.cells, g)
		d.cell[g] = place
	}
	return place
}

func columnOf[T any](columns map[string]*column[T], name string) *column[T] {
	c, ok := columns[name]
	if !ok {
		c = &column[T]{}
		columns[name] = c
	}
	return c
}

// unlabelled is the label of a record that has none.
const unlabelled int8 = -1

func labelOf(positive bool) int8 {
	if positive {
		return 1
	}
	return 0
}

// labelByBenefit labels the records that have no label but both arms: positive
// iff F1 is strictly higher with retrieval.
func (d *Data) labelByBenefit(never, always string) {
	for i := range d.Len() {
		without, okNever := d.Arm(never, i)
		with, okAlways := d.Arm(always, i)
		if d.label(i) == unlabelled && okNever && okAlways {
			d.labels.set(i, labelOf(Paired{Never: without, Always: with}.Benefit() > 0))
		}
	}
}

// Len returns the number of records.
func (d *Data) Len() int { return d.ids.length }

// Cells returns about how many values the data hold: records times columns.
func (d *Data) Cells() int {
	const columnsPerArm = 6
	return d.Len() * (len(d.signals) + columnsPerArm*len(d.arms))
}

// SignalNames returns the names of the signals that at least one record has,
// sorted.
func (d *Data) SignalNames() []string { return slices.Sorted(maps.Keys(d.signals)) }

// Signal returns a record's signal, if it has it.
func (d *Data) Signal(name string, i int) (float64, bool) {
	v := d.signals[name].at(i, notComputed)
	if math.IsNaN(v) {
		return 0, false
	}
	return v, true
}

// Label returns a record's label, if it has one.
func (d *Data) Label(i int) (positive, ok bool) {
	label := d.label(i)
	return label == 1, label != unlabelled
}

// Split returns the side that a record is on.
func (d *Data) Split(i int) Split { return d.splits.at(i, Unassigned) }

func (d *Data) label(i int) int8 { return d.labels.at(i, unlabelled) }

func (d *Data) id(i int) string { return string(d.ids.bytes(i)) }

// Probe returns what asking for a record's score cost.
func (d *Data) Probe(i int) Cost {
	return d.probes.at(i, Cost{})
}

// Group returns a record's cell.
func (d *Data) Group(i int) Group { return d.cells[d.groups.at(i, 0)] }

// Arm returns the outcome of an arm on a record, if it was recorded.
func (d *Data) Arm(name string, i int) (Outcome, bool) {
	o := d.arms[name].at(i, notRecorded)
	if math.IsNaN(o.F1) {
		return Outcome{}, false
	}
	return o, true
}

// Assign puts every record that has no side on one: the share of each stratum
// (dataset, model, label), rounded up or down, goes to calibration. What rounding
// leaves is carried to the next stratum, label by label, so that many small strata
// together get their share too. Strata, by their first record, and the records of
// each are taken in the order of SHA-256 over seed and id, so that the split does
// not depend on the order of the input.
// The error is of the share, or that of ctx.
func (d *Data) Assign(ctx context.Context, share float64, seed uint64) error {
	if !(share > 0 && share < 1) {
		return score.InvalidInput("the calibration share must be in (0, 1), got %g", share)
	}
	type stratum struct {
		cell  uint32
		label int8
	}
	members := map[stratum][]int{}
	for i := range d.Len() {
		if d.Split(i) == Unassigned {
			s := stratum{d.groups.at(i, 0), d.label(i)}
			members[s] = append(members[s], i)
		}
	}
	strata := slices.Collect(maps.Values(members))
	for _, index := range strata {
		if err := d.shuffle(ctx, index, seed); err != nil {
			return err
		}
	}
	slices.SortFunc(strata, func(a, b []int) int {
		x, y := splitKey(seed, d.ids.bytes(a[0])), splitKey(seed, d.ids.bytes(b[0]))
		return cmp.Or(cmp.Compare(d.label(a[0]), d.label(b[0])), bytes.Compare(x[:], y[:]))
	})
	seen, taken := 0, 0
	for _, index := range strata {
		seen += len(index)
		border := int(math.Round(share*float64(seen))) - taken
		taken += border
		for rank, i := range index {
			side := Test
			if rank < border {
				side = Calibration
			}
			d.splits.set(i, side)
		}
	}
	return nil
}

// shuffle orders records by SHA-256 over seed and id.
func (d *Data) shuffle(ctx context.Context, index []int, seed uint64) error {
	type keyed struct {
		key    [sha256.Size]byte
		record int
	}
	keys := make([]keyed, len(index))
	err := inBlocks(ctx, len(index), func(from, to int) {
		for r := from; r < to; r++ {
			keys[r] = keyed{splitKey(seed, d.ids.bytes(index[r])), index[r]}
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(keys, func(a, b keyed) int { return bytes.Compare(a.key[:], b.key[:]) })
	for r, k := range keys {
		index[r] = k.record
	}
	return nil
}

// halves cuts records in two by SHA-256 over seed and id, stratified by label.
func (d *Data) halves(ctx context.Context, index []int, seed uint64) (first, second []int, err error) {
	ordered := slices.Clone(index)
	// Another seed than Assign's: its order is by the same key.
	if err := d.shuffle(ctx, ordered, ^seed); err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(ordered, func(a, b int) int { return cmp.Compare(d.label(a), d.label(b)) })
	for rank, i := range ordered {
		if rank%2 == 0 {
			first = append(first, i)
		} else {
			second = append(second, i)
		}
	}
	return first, second, nil
}

func splitKey(seed uint64, id []byte) [sha256.Size]byte {
	return sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, seed), id...))
}

// labelled returns the records of a split that have a label.
func (d *Data) labelled(split Split) []int {
	var index []int
	for i := range d.Len() {
		if d.Split(i) == split && d.label(i) != unlabelled {
			index = append(index, i)
		}
	}
	return index
}

// column returns a signal and the labels of those of the given records that
// have it.
func (d *Data) column(name string, index []int) (values []float64, labels []bool, present []int) {
	column := d.signals[name]
	values, labels, present = make([]float64, 0, len(index)), make([]bool, 0, len(index)), make([]int, 0, len(index))
	for _, i := range index {
		if v := column.at(i, notComputed); !math.IsNaN(v) {
			values = append(values, v)
			labels = append(labels, d.label(i) == 1)
			present = append(present, i)
		}
	}
	return values, labels, present
}

// Digest returns "sha256:" and the hexadecimal digest of the records' content
// (ids, groups, labels, signals, F1 and costs of arms; not the split). It does
// not depend on their order. The error is that of ctx.
func (d *Data) Digest(ctx context.Context) (string, error) {
	counted := begin(ctx, "digest of the records", d.Len())
	columns, arms := d.digestColumns(), slices.Sorted(maps.Keys(d.arms))
	sums := make([][sha256.Size]byte, d.Len())
	err := inBlocks(ctx, len(sums), func(from, to int) {
		var buffer []byte
		for i := from; i < to; i++ {
			buffer = d.appendContent(buffer[:0], i, columns, arms)
			sums[i] = sha256.Sum256(buffer)
		}
		counted.add(to - from)
	})
	if err != nil {
		return "", err
	}
	slices.SortFunc(sums, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
	whole := sha256.New()
	for _, sum := range sums {
		whole.Write(sum[:])
	}
	return "sha256:" + hex.EncodeToString(whole.Sum(nil)), nil
}

// digestColumn is a signal with its name as it is digested.
type digestColumn struct {
	name   []byte
	values *column[float64]
}

func (d *Data) digestColumns() []digestColumn {
	var columns []digestColumn
	for _, name := range d.SignalNames() {
		columns = append(columns, digestColumn{fmt.Appendf(nil, " %q ", name), d.signals[name]})
	}
	return columns
}

// appendContent appends what is digested of a record.
func (d *Data) appendContent(to []byte, i int, columns []digestColumn, arms []string) []byte {
	group := d.Group(i)
	for _, text := range []string{d.id(i), group.Dataset, group.Model} {
		to = append(strconv.AppendQuote(to, text), ' ')
	}
	to = strconv.AppendInt(to, int64(d.label(i)), 10)
	for _, c := range columns {
		if v := c.values.at(i, notComputed); !math.IsNaN(v) {
			to = binary.BigEndian.AppendUint64(append(to, c.name...), math.Float64bits(v))
		}
	}
	for _, name := range arms {
		if o, ok := d.Arm(name, i); ok {
			to = fmt.Appendf(to, " %q %v", name, o)
		}
	}
	return to
}
