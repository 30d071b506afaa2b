package evaluate_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"plumbline/cmd/plumbline/internal/evaluate"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/evaluation"
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// lines are n rows of alternating label; each document has two of them.
func lines(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, `{"id":"r%d","doc":"Document %d says so.","claim":"Claim %d is not new.","label":%d,"label3":"neutral","source":"made"}`+"\n", i, i/2, i, i%2)
	}
	return out.String()
}

var all = evaluate.Selection{MaxLine: 1 << 20}

func read(t *testing.T, s evaluate.Selection, paths ...string) []evaluate.Pair {
	t.Helper()
	pairs, err := evaluate.Read(paths, s)
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}

func TestReadKnowsASetByItsFile(t *testing.T) {
	pairs := read(t, all, write(t, "wice.dev.jsonl.gz", zipped(t, lines(4))))
	if len(pairs) != 4 {
		t.Fatalf("%d pairs", len(pairs))
	}
	got := pairs[1]
	want := evaluation.Row{Set: "wice.dev", ID: "r1", Label: true, Document: pairs[0].Row.Document, Words: 4, Types: []string{"number", "negation"}}
	if !reflect.DeepEqual(got.Row, want) || got.Claim != "Claim 1 is not new." {
		t.Errorf("%+v, want %+v", got, want)
	}
	if pairs[2].Row.Document == pairs[1].Row.Document {
		t.Error("two documents count as one")
	}
}

func TestReadOfAFolderAndASelection(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.dev.jsonl": lines(4), "b.half.jsonl.gz": zipped(t, lines(6)), "notes.txt": "no"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(read(t, all, dir)); n != 10 {
		t.Errorf("the folder has %d pairs, want 10", n)
	}
	s := all
	s.Sets = []string{"b"}
	if n := len(read(t, s, dir)); n != 6 {
		t.Errorf("the set b has %d pairs, want 6", n)
	}
	s.Sets = []string{"b", "c"}
	if _, err := evaluate.Read([]string{dir}, s); err == nil || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("a set that is not there: %v", err)
	}
}

func TestASmallerSampleIsPartOfALarger(t *testing.T) {
	path := write(t, "s.jsonl", lines(60))
	sample := func(limit int, seed uint64) []string {
		s := all
		s.Limit, s.Seed = limit, seed
		var ids []string
		for _, p := range read(t, s, path) {
			ids = append(ids, p.Row.ID)
		}
		return ids
	}
	small, large := sample(10, 1), sample(30, 1)
	if len(small) != 10 || len(large) != 30 {
		t.Fatalf("%d and %d rows", len(small), len(large))
	}
	for _, id := range small {
		if !slices.Contains(large, id) {
			t.Errorf("%s is in the small sample only", id)
		}
	}
	if slices.Equal(small, sample(10, 2)) {
		t.Error("the seed does not matter")
	}
	if n := len(sample(100, 1)); n != 60 {
		t.Errorf("a limit above the size keeps %d of 60", n)
	}
}

func TestWhatCannotBeReadIsNamedWithItsLine(t *testing.T) {
	good := lines(2)
	broken := zipped(t, lines(4000))
	for want, file := range map[string]struct{ name, content string }{
		`line 3: field "label": is missing`:         {"s.jsonl", good + `{"id":"x","doc":"d","claim":"c"}`},
		`line 3: field "label": must be 1 or 0`:     {"s.jsonl", good + `{"id":"x","doc":"d","claim":"c","label":0.5}`},
		`line 3: field "label": is missing or null`: {"s.jsonl", good + `{"id":"x","doc":"d","claim":"c","label":null}`},
		`line 4: is no JSON object (NaN`:            {"s.jsonl", good + "\n" + `{"id":"x","doc":"d","claim":"c","label":NaN}`},
		`line 3: is no JSON object`:                 {"s.jsonl", good + `{"id":"x","doc":"secret`},
		`line 3: field "claim": is missing`:         {"s.jsonl", good + `{"id":"x","doc":"d","claim":" ","label":1}`},
		`line 3: field "doc": must be a text`:       {"s.jsonl", good + `{"id":"x","doc":["secret"],"claim":"c","label":1}`},
		`line 3: field "id": line 1 has the same`:   {"s.jsonl", good + `{"id":"r0","doc":"d","claim":"c","label":1}`},
		`line 3: is not valid UTF-8`:                {"s.jsonl", good + "{\"id\":\"\xff\",\"doc\":\"d\",\"claim\":\"c\",\"label\":1}"},
		`line 1: is longer than`:                    {"s.jsonl", `{"id":"` + strings.Repeat("x", 1<<20) + `"}`},
		`the file has no rows`:                      {"s.jsonl", "\n\n"},
		`all labels up to line 1 are 0`:             {"s.jsonl", lines(1)},
		`after line`:                                {"s.jsonl.gz", broken[:len(broken)/2]},
		`gzip: invalid header`:                      {"s.jsonl.gz", "plain text of some length"},
		`gzip: invalid checksum`:                    {"s.jsonl.gz", broken[:len(broken)-8] + "\x00\x00\x00\x00" + broken[len(broken)-4:]},
	} {
		_, err := evaluate.Read([]string{write(t, file.name, file.content)}, all)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, s := range []string{filepath.Join(t.TempDir(), "absent.jsonl"), t.TempDir()} {
		if _, err := evaluate.Read([]string{s}, all); err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("%s: %v", s, err)
		}
	}
	path := write(t, "s.jsonl", good)
	if _, err := evaluate.Read([]string{path, path}, all); err == nil || !strings.Contains(err.Error(), "rename one") {
		t.Errorf("the same set twice: %v", err)
	}
}

// fake supports claim i by i/100, and fails after some calls.
type fake struct {
	digest string
	calls  atomic.Int64
	after  int64 // 0 never fails
	status plumblinev1.Status
}

func (f *fake) ScoreGrounding(_ context.Context, req *plumblinev1.ScoreGroundingRequest) (*plumblinev1.ScoreGroundingResponse, error) {
	if n := f.calls.Add(1); f.after > 0 && n > f.after {
		if f.status == plumblinev1.Status_STATUS_UNSPECIFIED {
			return nil, errors.New("down")
		}
		return &plumblinev1.ScoreGroundingResponse{GMin: &plumblinev1.Score{Status: f.status, Reason: "the verifier is away"}}, nil
	}
	response := &plumblinev1.ScoreGroundingResponse{
		Model:    &plumblinev1.ModelInfo{Name: "fake", Digest: f.digest},
		Coverage: &plumblinev1.EvidenceCoverage{Pairs: 3, CacheHits: 1},
	}
	var i int
	text := req.GetAnswer()
	if len(req.GetClaims()) > 0 {
		text = req.GetClaims()[0].GetText()
	}
	if _, err := fmt.Sscanf(text, "Claim %d", &i); err != nil {
		return nil, err
	}
	score := &plumblinev1.Score{Value: proto.Float64(float64(i) / 100), Status: plumblinev1.Status_STATUS_OK}
	if i == 7 {
		score = &plumblinev1.Score{Status: plumblinev1.Status_STATUS_TOO_LONG, Reason: "too long"}
	}
	response.GMin = score
	for range req.GetClaims() {
		response.Claims = append(response.Claims, &plumblinev1.GroundedClaim{Support: score})
	}
	return response, nil
}

// run scores what a log of that name has not, and returns all rows.
func run(t *testing.T, name string, scorer evaluate.Scorer, pairs []evaluate.Pair) ([]evaluation.Row, *evaluate.Log, error) {
	t.Helper()
	log, err := evaluate.OpenLog(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	pending, err := evaluate.Pending(log, pairs)
	if err != nil {
		return nil, nil, err
	}
	err = evaluate.Job{Scorer: scorer, Log: log, Claims: evaluate.Whole, Parallel: 3}.Run(t.Context(), pending)
	rows := log.Rows(pairs)
	return rows, log, err
}

func TestARunThatFailedGoesOnWhereItWas(t *testing.T) {
	pairs := read(t, all, write(t, "s.jsonl", lines(40)))
	want, _, err := run(t, "", &fake{digest: "d"}, pairs)
	if err != nil {
		t.Fatal(err)
	}
	if got := *want[30].Support; got != 0.3 || want[7].Support != nil || want[7].Reason != "too long" {
		t.Errorf("row 30 has support %v, row 7 %+v", got, want[7])
	}
	for _, failing := range []*fake{{digest: "d", after: 15}, {digest: "d", after: 15, status: plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE}} {
		name := filepath.Join(t.TempDir(), "scores")
		if _, _, err := run(t, name, failing, pairs); err == nil || !strings.Contains(err.Error(), "set s, id") {
			t.Fatalf("a verifier that fails: %v", err)
		}
		// A run that is killed may leave half a line.
		file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(`{"row":{"set":"s","id":"r9`); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		rest := &fake{digest: "d"}
		got, log, err := run(t, name, rest, pairs)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v; the rows differ from those of one run", err)
		}
		if calls := rest.calls.Load(); calls != 25 {
			t.Errorf("%d rows were scored the second time, want 25", calls)
		}
		if s := log.Session(); s.Rows != 40 || s.Pairs != 80 || s.Seconds <= 0 {
			t.Errorf("both sittings: %+v", s)
		}
		kept, err := evaluate.ReadLog(name)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := kept.Select(evaluate.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kept.Select(evaluate.Selection{Sets: []string{"t"}}); err == nil || !strings.Contains(err.Error(), `no set "t"`) {
			t.Errorf("a set that is not there: %v", err)
		}
		if len(rows) != 40 || kept.Run() != (evaluate.Run{Verifier: "fake", Digest: "d", Mode: "plumbline", Claims: "whole"}) {
			t.Errorf("the file has %d rows of %v", len(rows), kept.Run())
		}
	}
}

func TestALogDoesNotMixRuns(t *testing.T) {
	pairs := read(t, all, write(t, "s.jsonl", lines(10)))
	name := filepath.Join(t.TempDir(), "scores")
	if _, _, err := run(t, name, &fake{digest: "d"}, pairs[:5]); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, name, &fake{digest: "other"}, pairs); err == nil || !strings.Contains(err.Error(), "other") || !strings.Contains(err.Error(), "use another file") {
		t.Errorf("another model: %v", err)
	}
	pairs[2].Claim = "Claim 2 is another one."
	if _, _, err := run(t, name, &fake{digest: "d"}, pairs); err == nil || !strings.Contains(err.Error(), `id "r2"`) {
		t.Errorf("another claim of the same id: %v", err)
	}
}

// TestAWholeLogIsOfOneRunToo: where nothing is left to score, another model's
// scores are not taken for this one's, and a label that was corrected counts.
func TestAWholeLogIsOfOneRunToo(t *testing.T) {
	pairs := read(t, all, write(t, "s.jsonl", lines(10)))
	name := filepath.Join(t.TempDir(), "scores")
	if _, _, err := run(t, name, &fake{digest: "d"}, pairs); err != nil {
		t.Fatal(err)
	}
	pairs[3].Row.Label = !pairs[3].Row.Label
	rows, log, err := run(t, name, &fake{digest: "d"}, pairs)
	if err != nil || rows[3].Label != pairs[3].Row.Label {
		t.Errorf("the label is %v, %v", rows[3].Label, err)
	}
	for want, job := range map[string]evaluate.Job{
		"":                 {Scorer: &fake{digest: "d"}, Log: log, Claims: evaluate.Whole},
		"fake (other; ":    {Scorer: &fake{digest: "other"}, Log: log, Claims: evaluate.Whole},
		"claims split)":    {Scorer: &fake{digest: "d"}, Log: log, Claims: evaluate.Split},
		"mode minicheck, ": {Scorer: &fake{digest: "d"}, Log: log, Claims: evaluate.Whole, Mode: plumblinev1.ScoreGroundingRequest_MODE_MINICHECK},
	} {
		if err := job.Agree(t.Context(), pairs); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	other, err := evaluate.OpenLog(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := evaluate.OpenLog(name); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Errorf("two runs on one file: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestALogHoldsNoText(t *testing.T) {
	pairs := read(t, all, write(t, "s.jsonl", lines(4)))
	name := filepath.Join(t.TempDir(), "scores")
	if _, _, err := run(t, name, &fake{digest: "d"}, pairs); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Document", "says", "Claim", "new"} {
		if bytes.Contains(data, []byte(text)) {
			t.Errorf("the scores hold the word %q", text)
		}
	}
}

func TestAnInterruptedRunKeepsWhatIsDone(t *testing.T) {
	pairs := read(t, all, write(t, "s.jsonl", lines(40)))
	log, err := evaluate.OpenLog("")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var done atomic.Int64
	job := evaluate.Job{Scorer: &fake{digest: "d"}, Log: log, Claims: evaluate.Split, Parallel: 2, Done: func() {
		if done.Add(1) == 10 {
			stop()
		}
	}}
	if err := job.Run(ctx, pairs); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	kept, err := log.Select(evaluate.Selection{})
	if n := len(kept); err != nil || n != int(done.Load()) || n < 10 || n == 40 {
		t.Errorf("%d rows kept, %d done", n, done.Load())
	}
}

func TestAFileThatIsNoLogIsRefused(t *testing.T) {
	for want, content := range map[string]string{
		"line 1: is no line of scores":             "{\"sets\":[]}\n",
		"line 1: the line that names the verifier": `{"row":{"set":"s","id":"a","label":true,"document":"d","words":1}}` + "\n",
		"line 2: is no line of scores":             `{"run":{"verifier":"v"}}` + "\n{}\n",
		"holds no scores":                          `{"run":{"verifier":"v"}}` + "\n",
	} {
		name := write(t, "scores", content)
		if _, err := evaluate.ReadLog(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, content := range []string{"{\n \"sets\": []\n}\n", "{\"sets\":[]}", "notes", `{"run":{"verifier":"v"}}` + "\nnotes"} {
		name := write(t, "results.json", content)
		if _, err := evaluate.OpenLog(name); err == nil {
			t.Errorf("%q was taken for a log", content)
		} else if data, readErr := os.ReadFile(name); readErr != nil || string(data) != content {
			t.Errorf("%q was made %q", content, data)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(lines(4)))
	f.Add([]byte(`{"id":"a","doc":"d","claim":"c","label":1,"question":null}` + "\n" + `{"id":"b","doc":"d","claim":"c","label":0}`))
	f.Add([]byte("\ufeff{}\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pairs, err := evaluate.Read([]string{write(t, "s.jsonl", string(data))}, all)
		if err != nil {
			return
		}
		positives := 0
		for _, p := range pairs {
			if p.Row.Label {
				positives++
			}
			if p.Row.ID == "" || p.Row.Document == "" || len(p.Row.Types) == 0 || p.Row.Set != "s" {
				t.Errorf("%+v", p.Row)
			}
		}
		if positives == 0 || positives == len(pairs) {
			t.Errorf("%d of %d rows are supported", positives, len(pairs))
		}
	})
}
