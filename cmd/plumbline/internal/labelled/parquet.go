package labelled

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// readParquet reads records from a Parquet file. Its columns are id, dataset,
// model, split, label, arm.NAME.FIELD for the outcomes of arms, probe.FIELD for
// the probe's cost, and signals: signals.NAME or any other column of numbers.
// Groups of columns count by their dotted names.
func readParquet(name string, v Visitor) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	opened, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		return fmt.Errorf("%s: is no Parquet file that can be read: %w", name, err)
	}
	reader := parquet.NewReader(opened)
	defer func() { _ = reader.Close() }()
	columns, err := columnsOf(opened.Schema())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	rows := make([]parquet.Row, 256)
	for number := 1; ; {
		n, err := reader.ReadRows(rows)
		for _, row := range rows[:n] {
			record, bad := columns.record(row)
			if bad != nil {
				v.Failed(fmt.Sprintf("row %d", number), bad)
			} else if err := v.Record(record); err != nil {
				return err
			}
			number++
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: row %d: %w", name, number, err)
		}
	}
}

// column is where a leaf column's values go.
type column struct {
	name string
	set  func(*plumblinev1.CalibrationRecord, parquet.Value) error
}

type columns []column

func columnsOf(schema *parquet.Schema) (columns, error) {
	var all columns
	hasID := false
	for _, path := range schema.Columns() {
		name := strings.Join(path, ".")
		leaf, ok := schema.Lookup(path...)
		if !ok {
			return nil, fmt.Errorf("column %q cannot be found in the schema", name)
		}
		hasID = hasID || name == "id"
		if leaf.MaxRepetitionLevel > 0 {
			return nil, fmt.Errorf("column %q is a list or map: a record has one value in each column", name)
		}
		all = append(all, column{name: name, set: setter(name, leaf.Node.Type().Kind())})
	}
	if !hasID {
		return nil, errors.New(`there is no column "id"`)
	}
	return all, nil
}

// setter finds the place of a column's values; a text column that has none is
// passed over.
func setter(name string, kind parquet.Kind) func(*plumblinev1.CalibrationRecord, parquet.Value) error {
	switch name {
	case "id":
		return func(r *plumblinev1.CalibrationRecord, v parquet.Value) error { r.Id = text(v); return nil }
	case "dataset":
		return func(r *plumblinev1.CalibrationRecord, v parquet.Value) error { r.Dataset = text(v); return nil }
	case "model":
		return func(r *plumblinev1.CalibrationRecord, v parquet.Value) error { r.Model = text(v); return nil }
	case "split":
		return func(r *plumblinev1.CalibrationRecord, v parquet.Value) (err error) {
			r.Split, err = parseSplit(text(v))
			return err
		}
	case "label":
		return func(r *plumblinev1.CalibrationRecord, v parquet.Value) (err error) {
			r.Label, err = labelOf([]byte(text(v)))
			return err
		}
	}
	if arm, ok := strings.CutPrefix(name, "arm."); ok {
		if cut := strings.LastIndex(arm, "."); cut > 0 {
			return armSetter(arm[:cut], arm[cut+1:])
		}
	}
	if field, ok := strings.CutPrefix(name, "probe."); ok {
		return probeSetter(field)
	}
	if kind == parquet.ByteArray || kind == parquet.FixedLenByteArray {
		return func(*plumblinev1.CalibrationRecord, parquet.Value) error { return nil }
	}
	signal := strings.TrimPrefix(name, "signals.")
	return func(r *plumblinev1.CalibrationRecord, v parquet.Value) error {
		x, err := number(v)
		if err == nil && !math.IsNaN(x) { // NaN is how data frames write "missing"
			r.Signals[signal] = x
		}
		return err
	}
}

func armSetter(arm, field string) func(*plumblinev1.CalibrationRecord, parquet.Value) error {
	return func(r *plumblinev1.CalibrationRecord, v parquet.Value) error {
		outcome := r.GetArms()[arm]
		if outcome == nil {
			outcome = &plumblinev1.ArmOutcome{}
			r.Arms[arm] = outcome
		}
		x, err := number(v)
		switch field {
		case "f1":
			outcome.F1 = &x
		case "em":
			outcome.Em = &x
		case "passages":
			outcome.Passages = &x
		case "tokens":
			outcome.Tokens = &x
		case "calls":
			outcome.Calls = &x
		case "failed":
			outcome.Failed = x != 0
		default:
			return fmt.Errorf("an arm has f1, em, passages, tokens, calls and failed, not %q", field)
		}
		return err
	}
}

func probeSetter(field string) func(*plumblinev1.CalibrationRecord, parquet.Value) error {
	return func(r *plumblinev1.CalibrationRecord, v parquet.Value) error {
		if r.Probe == nil {
			r.Probe = &plumblinev1.ProbeCost{}
		}
		x, err := number(v)
		switch field {
		case "passages":
			r.Probe.Passages = x
		case "tokens":
			r.Probe.Tokens = x
		case "calls":
			r.Probe.Calls = x
		default:
			return fmt.Errorf("a probe has passages, tokens and calls, not %q", field)
		}
		return err
	}
}

func (c columns) record(row parquet.Row) (*plumblinev1.CalibrationRecord, error) {
	record := &plumblinev1.CalibrationRecord{
		Signals: map[string]float64{}, Arms: map[string]*plumblinev1.ArmOutcome{},
	}
	for _, value := range row {
		if value.IsNull() {
			continue
		}
		column := c[value.Column()]
		if err := column.set(record, value); err != nil {
			return nil, fmt.Errorf("column %q: %w", column.name, err)
		}
	}
	return record, nil
}

// text is a value as text: ids may be numbers.
func text(v parquet.Value) string { return v.String() }

func number(v parquet.Value) (float64, error) {
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return 1, nil
		}
		return 0, nil
	case parquet.Int32:
		return float64(v.Int32()), nil
	case parquet.Int64:
		return float64(v.Int64()), nil
	case parquet.Float:
		return float64(v.Float()), nil
	case parquet.Double:
		return v.Double(), nil
	default:
		return 0, errors.New("the column must hold numbers")
	}
}
