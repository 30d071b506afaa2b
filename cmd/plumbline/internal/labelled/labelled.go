// Package labelled reads calibration records: JSON lines, Parquet, or scores
// joined with labels by id.
package labelled

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"plumbline/cmd/plumbline/internal/files"
	"plumbline/cmd/plumbline/internal/records"
	plumblinev1 "plumbline/proto/plumbline/v1"
)

// Input says where records are.
type Input struct {
	// In is a file of records: JSON lines, or Parquet if its name says so.
	In string
	// Signals is a file of score responses, one a line; it takes the place of
	// In and needs Labels.
	Signals string
	// Labels is a file of JSON objects with an id and what is known of it.
	Labels string
	// Label is the field of Labels that holds the label.
	Label string
	// MaxLine bounds a line in bytes.
	MaxLine int
}

// Visitor takes what was read, in order. Failed is told of a record that cannot
// be read, by its place in the input; reading then goes on. An error of Record
// ends the reading.
type Visitor struct {
	Record func(*plumblinev1.CalibrationRecord) error
	Failed func(place string, err error)
}

// Read reads all records. An error is one of the files or of the visitor.
func (in Input) Read(stdin io.Reader, v Visitor) error {
	switch {
	case in.Signals != "" && in.Labels == "":
		return errors.New("--signals needs --labels, a file of labels by id")
	case in.Labels != "" && in.Signals == "":
		return errors.New("--labels needs --signals, the scores that the labels belong to")
	case in.Signals != "":
		return in.readJoined(stdin, v)
	case strings.HasSuffix(in.In, ".parquet"):
		return readParquet(in.In, v)
	}
	return in.eachLine(in.In, stdin, v, func(line []byte) (*plumblinev1.CalibrationRecord, error) {
		record := &plumblinev1.CalibrationRecord{}
		return record, records.Decode(line, record)
	})
}

func (in Input) eachLine(name string, stdin io.Reader, v Visitor, read func([]byte) (*plumblinev1.CalibrationRecord, error)) error {
	file, err := files.OpenInput(name, stdin)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	for line, err := range records.Lines(file, in.MaxLine) {
		if err != nil {
			return err
		}
		place := fmt.Sprintf("line %d", line.Number)
		if line.TooLong {
			v.Failed(place, fmt.Errorf("the line is longer than %d bytes", in.MaxLine))
			continue
		}
		record, err := read(line.Data)
		if err != nil {
			v.Failed(place, err)
			continue
		}
		if err := v.Record(record); err != nil {
			return err
		}
	}
	return nil
}

// readJoined reads the labels into memory and streams the scores.
func (in Input) readJoined(stdin io.Reader, v Visitor) error {
	known := map[string]*plumblinev1.CalibrationRecord{}
	labels := Visitor{
		Record: func(r *plumblinev1.CalibrationRecord) error {
			if _, twice := known[r.GetId()]; twice {
				return fmt.Errorf("--labels: id %q stands there twice", r.GetId())
			}
			known[r.GetId()] = r
			return nil
		},
		Failed: func(place string, err error) { v.Failed("labels, "+place, err) },
	}
	if err := in.eachLine(in.Labels, stdin, labels, in.parseLabel); err != nil {
		return err
	}
	if len(known) > 0 && !anyLabel(known) {
		return fmt.Errorf("--labels: no line has the field %q; name the field of the label by --label", in.Label)
	}
	kinds := kinds{}
	return in.eachLine(in.Signals, stdin, v, func(line []byte) (*plumblinev1.CalibrationRecord, error) {
		scores, err := parseScores(line)
		if err != nil {
			return nil, err
		}
		record, ok := known[scores.id]
		if !ok {
			return nil, fmt.Errorf("id %q has no label; add it to the labels", scores.id)
		}
		if err := kinds.add(scores); err != nil {
			return nil, err
		}
		record.Signals = scores.values
		return record, nil
	})
}

// anyLabel reports whether a record has a label, or what can stand in for one.
func anyLabel(known map[string]*plumblinev1.CalibrationRecord) bool {
	for _, r := range known {
		if r.Label != nil || r.GetRanking() != nil || len(r.GetArms()) > 0 {
			return true
		}
	}
	return false
}

// kinds has, by signal, the first id that has it, and whether it was made of
// rank-fused scores there.
type kinds map[string]struct {
	id        string
	rankFused bool
}

// add makes sure that a signal means the same in all records: a best score that
// is a cosine here and a sum of reciprocal ranks there has no threshold.
func (k kinds) add(s scores) error {
	for name := range s.values {
		first, known := k[name]
		if !known {
			first.id, first.rankFused = s.id, s.rankFused[name]
			k[name] = first
		}
		if first.rankFused != s.rankFused[name] {
			made := map[bool]string{true: "rank-fused scores", false: "a retriever's own scores"}
			return fmt.Errorf("signal %q is made of %s here and of %s in record %q: give all records scores of one kind",
				name, made[s.rankFused[name]], made[first.rankFused], first.id)
		}
	}
	return nil
}

// parseLabel reads a line of labels: the fields of a record that it has, its
// split in the usual words, and the label under its name. Other fields are
// passed over: label files have more than is needed here.
func (in Input) parseLabel(line []byte) (*plumblinev1.CalibrationRecord, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return nil, errors.New("the line is no JSON object")
	}
	label, err := labelOf(fields[in.Label])
	if err != nil {
		return nil, fmt.Errorf("field %q: %w", in.Label, err)
	}
	split, err := splitOf(fields["split"])
	if err != nil {
		return nil, err
	}
	delete(fields, "split")
	delete(fields, "label")
	delete(fields, "signals")
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, errors.New("the line is no JSON object")
	}
	record := &plumblinev1.CalibrationRecord{}
	// protojson's errors quote values; what they name is in the schema.
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(rest, record); err != nil {
		return nil, errors.New("id, dataset, model, arms, ranking or probe is not as in CalibrationRecord")
	}
	record.Label, record.Split = label, split
	return record, nil
}

// labelOf reads true, false, 1 or 0; null or nothing is no label.
func labelOf(raw json.RawMessage) (*bool, error) {
	yes, no := true, false
	switch strings.TrimSpace(string(raw)) {
	case "", "null":
		return nil, nil
	case "true", "1", "1.0":
		return &yes, nil
	case "false", "0", "0.0":
		return &no, nil
	default:
		return nil, errors.New("a label is true, false, 1 or 0")
	}
}

func splitOf(raw json.RawMessage) (plumblinev1.Split, error) {
	var name string
	if len(raw) > 0 && json.Unmarshal(raw, &name) != nil {
		return 0, errors.New(`field "split": must be a text`)
	}
	return parseSplit(name)
}

// parseSplit reads the names that data sets use for their sides.
func parseSplit(name string) (plumblinev1.Split, error) {
	switch strings.ToLower(name) {
	case "", "split_unspecified":
		return plumblinev1.Split_SPLIT_UNSPECIFIED, nil
	case "calibration", "train", "dev", "validation", "split_calibration":
		return plumblinev1.Split_SPLIT_CALIBRATION, nil
	case "test", "held-out", "held_out", "split_test":
		return plumblinev1.Split_SPLIT_TEST, nil
	default:
		return 0, errors.New(`field "split": must be calibration, train, dev or validation, or test or held-out`)
	}
}

// scores are the values of one score response.
type scores struct {
	id     string
	values map[string]float64
	// rankFused are the signals made of scores that are relative to their list.
	rankFused map[string]bool
}

// parseScores reads the values of a score response of any kind: numbers and
// Scores at its top, and the Scores of "signals". A Score without a value was
// not computed and is left out.
func parseScores(line []byte) (scores, error) {
	s := scores{values: map[string]float64{}, rankFused: map[string]bool{}}
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil {
		return s, errors.New("the line is no JSON object")
	}
	if _, failed := fields["error"]; failed {
		return s, errors.New("the record could not be scored")
	}
	if json.Unmarshal(fields["id"], &s.id) != nil || s.id == "" {
		return s, errors.New(`field "id": every line needs one`)
	}
	s.add(fields)
	var nested map[string]json.RawMessage
	if json.Unmarshal(fields["signals"], &nested) == nil {
		s.add(nested)
	}
	return s, nil
}

func (s *scores) add(fields map[string]json.RawMessage) {
	for name, raw := range fields {
		var number float64
		var score struct {
			Value     *float64
			RankFused bool `json:"rank_fused"`
		}
		switch {
		case json.Unmarshal(raw, &number) == nil:
			s.values[name] = number
		case json.Unmarshal(raw, &score) == nil && score.Value != nil:
			s.values[name] = *score.Value
			if score.RankFused {
				s.rankFused[name] = true
			}
		}
	}
}
