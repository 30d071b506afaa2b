package labelled_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"google.golang.org/protobuf/proto"

	"plumbline/cmd/plumbline/internal/labelled"
	plumblinev1 "plumbline/proto/plumbline/v1"
)

// read reads everything: the records, and what failed by its place.
func read(t *testing.T, in labelled.Input, stdin string) ([]*plumblinev1.CalibrationRecord, []string) {
	t.Helper()
	in.MaxLine = 1 << 16
	var records []*plumblinev1.CalibrationRecord
	var failed []string
	err := in.Read(strings.NewReader(stdin), labelled.Visitor{
		Record: func(r *plumblinev1.CalibrationRecord) error { records = append(records, r); return nil },
		Failed: func(place string, err error) { failed = append(failed, place+": "+err.Error()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return records, failed
}

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLinesOfRecords(t *testing.T) {
	records, failed := read(t, labelled.Input{}, `{"id":"a","label":true,"signals":{"x":0.5},"arms":{"never":{"f1":0.25}}}
{"id":"b","lable":true}

{"id":"c","split":"SPLIT_TEST"}
`)
	if len(records) != 2 || records[0].GetArms()["never"].GetF1() != 0.25 || records[1].GetSplit() != plumblinev1.Split_SPLIT_TEST {
		t.Errorf("%v", records)
	}
	if len(failed) != 1 || !strings.HasPrefix(failed[0], "line 2: ") || !strings.Contains(failed[0], "lable") {
		t.Errorf("%q", failed)
	}
}

func TestScoresJoinedWithLabels(t *testing.T) {
	signals := file(t, "signals.jsonl", `{"id":"a","signals":{"max_score":{"value":0.9,"status":"STATUS_OK"},"coherence":{"status":"STATUS_MISSING_INPUT","reason":"no vectors"}},"timing":{"total":"0.1s"}}
{"error":{"line":2,"message":"bad"}}
{"id":"b","sc":{"value":0.25,"status":"STATUS_OK","n_used":5},"margin":3}
{"id":"stranger","sc":{"value":1}}
`)
	labels := file(t, "labels.jsonl", `{"id":"b","weak":0,"split":"test","gold":7}
{"id":"a","weak":true,"split":"train","dataset":"d","model":"m","ranking":{"ranked_ids":["x"],"gold_ids":["x"]}}
{"id":"c","weak":"perhaps"}
{"id":"d","split":"elsewhere"}
`)
	records, failed := read(t, labelled.Input{Signals: signals, Labels: labels, Label: "weak"}, "")
	want := []*plumblinev1.CalibrationRecord{
		{
			Id: "a", Dataset: "d", Model: "m", Label: proto.Bool(true), Split: plumblinev1.Split_SPLIT_CALIBRATION,
			Signals: map[string]float64{"max_score": 0.9},
			Ranking: &plumblinev1.RankingOutcome{RankedIds: []string{"x"}, GoldIds: []string{"x"}},
		},
		{Id: "b", Label: proto.Bool(false), Split: plumblinev1.Split_SPLIT_TEST, Signals: map[string]float64{"sc": 0.25, "margin": 3}},
	}
	if len(records) != 2 || !proto.Equal(records[0], want[0]) || !proto.Equal(records[1], want[1]) {
		t.Errorf("got  %v\nwant %v", records, want)
	}
	for i, part := range []string{"labels, line 3", "labels, line 4", "line 2: the record could not be scored", `line 4: id "stranger" has no label`} {
		if i >= len(failed) || !strings.Contains(failed[i], part) {
			t.Errorf("failures %q lack %q", failed, part)
		}
	}
}

func TestLabelsWithoutTheLabel(t *testing.T) {
	in := labelled.Input{
		Signals: file(t, "signals.jsonl", `{"id":"a","signals":{"x":{"value":1}}}`+"\n"),
		Labels:  file(t, "labels.jsonl", `{"id":"a","label":true}`+"\n"), Label: "weak", MaxLine: 1 << 16,
	}
	err := in.Read(nil, labelled.Visitor{})
	if err == nil || !strings.Contains(err.Error(), `no line has the field "weak"`) {
		t.Errorf("%v", err)
	}
}

func TestScoresOfMixedKindsAreNamed(t *testing.T) {
	in := labelled.Input{
		Signals: file(t, "signals.jsonl", `{"id":"a","signals":{"max_score":{"value":0.9,"rank_fused":false},"rbo":{"value":0.5}}}
{"id":"b","signals":{"max_score":{"value":0.03,"rank_fused":true}}}
{"id":"c","signals":{"max_score":{"value":0.8}}}
`),
		Labels: file(t, "labels.jsonl", `{"id":"a","label":true}
{"id":"b","label":true}
{"id":"c","label":false}
`), Label: "label",
	}
	records, failed := read(t, in, "")
	if len(records) != 2 || len(failed) != 1 || !strings.HasPrefix(failed[0], "line 2: ") ||
		!strings.Contains(failed[0], `signal "max_score" is made of rank-fused scores here`) || !strings.Contains(failed[0], `"a"`) {
		t.Errorf("%d records, failures %q", len(records), failed)
	}
}

func TestOneOfTwoFilesIsAsked(t *testing.T) {
	for _, in := range []labelled.Input{{Signals: "x"}, {Labels: "x"}} {
		if err := in.Read(strings.NewReader(""), labelled.Visitor{}); err == nil || !strings.Contains(err.Error(), "--labels") {
			t.Errorf("%+v: %v", in, err)
		}
	}
}

func TestParquet(t *testing.T) {
	type row struct {
		ID      string               `parquet:"id"`
		Dataset string               `parquet:"dataset,optional"`
		Split   string               `parquet:"split,optional"`
		Label   *bool                `parquet:"label,optional"`
		Signals struct{ X *float64 } `parquet:"signals"`
		Count   int64                `parquet:"count"`
		Mean    float32              `parquet:"mean"`
		F1      *float64             `parquet:"arm.always.f1,optional"`
		Failed  bool                 `parquet:"arm.always.failed"`
		Tokens  float64              `parquet:"probe.tokens"`
		Comment string               `parquet:"comment"`
	}
	first := row{ID: "a", Dataset: "d", Split: "dev", Label: proto.Bool(true), Count: 3, Mean: 0.5, F1: proto.Float64(0.75), Failed: true, Tokens: 9, Comment: "text"}
	first.Signals.X = proto.Float64(1.5)
	second := row{ID: "b", Mean: float32(math.NaN())}
	path := filepath.Join(t.TempDir(), "records.parquet")
	if err := parquet.WriteFile(path, []row{first, second, {ID: "c", Split: "nowhere"}}); err != nil {
		t.Fatal(err)
	}
	records, failed := read(t, labelled.Input{In: path}, "")
	if len(records) != 2 {
		t.Fatalf("%v, %q", records, failed)
	}
	want := &plumblinev1.CalibrationRecord{
		Id: "a", Dataset: "d", Split: plumblinev1.Split_SPLIT_CALIBRATION, Label: proto.Bool(true),
		Signals: map[string]float64{"X": 1.5, "count": 3, "mean": 0.5},
		Arms:    map[string]*plumblinev1.ArmOutcome{"always": {F1: proto.Float64(0.75), Failed: true}},
		Probe:   &plumblinev1.ProbeCost{Tokens: 9},
	}
	if !proto.Equal(records[0], want) {
		t.Errorf("got  %v\nwant %v", records[0], want)
	}
	if _, ok := records[1].GetSignals()["mean"]; ok || records[1].Label != nil {
		t.Errorf("what is missing is absent: %v", records[1])
	}
	if !slices.ContainsFunc(failed, func(f string) bool { return strings.HasPrefix(f, `row 3: column "split"`) }) {
		t.Errorf("%q", failed)
	}
}

func TestParquetThatCannotBeRead(t *testing.T) {
	type lists struct {
		ID string    `parquet:"id"`
		X  []float64 `parquet:"x,list"`
	}
	type nameless struct {
		X float64 `parquet:"x"`
	}
	dir := t.TempDir()
	withLists, withoutID := filepath.Join(dir, "lists.parquet"), filepath.Join(dir, "nameless.parquet")
	if err := errors.Join(parquet.WriteFile(withLists, []lists{{ID: "a"}}), parquet.WriteFile(withoutID, []nameless{{}})); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		withLists: "is a list", withoutID: `no column "id"`, file(t, "text.parquet", "no parquet"): "is no Parquet file",
	} {
		err := labelled.Input{In: path}.Read(nil, labelled.Visitor{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
