package records_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"plumbline/cmd/plumbline/internal/records"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/fault"
)

func TestLines(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		input string
		limit int
		want  []string // "number:data", or "number!" for a line that is too long
	}{
		"empty":              {input: "", limit: 10},
		"no final break":     {input: "a\nb", limit: 10, want: []string{"1:a", "2:b"}},
		"blank lines count":  {input: "\n \t\na\n\nb\n", limit: 10, want: []string{"3:a", "5:b"}},
		"crlf":               {input: "a\r\n\r\nb\r\n", limit: 10, want: []string{"1:a", "3:b"}},
		"byte order mark":    {input: "\ufeffa\nb\n", limit: 10, want: []string{"1:a", "2:b"}},
		"mark alone":         {input: "\ufeff", limit: 10},
		"at the limit":       {input: "12345\n12345\r\n12345", limit: 5, want: []string{"1:12345", "2:12345", "3:12345"}},
		"beyond the limit":   {input: "123456\nok\n123456\r\n123456", limit: 5, want: []string{"1!", "2:ok", "3!", "4!"}},
		"cr inside":          {input: "a\rb\n", limit: 10, want: []string{"1:a\rb"}},
		"blank and too long": {input: "a\n \t   \n      \r\nb\n    x\n", limit: 1, want: []string{"1:a", "4:b", "5!"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for line, err := range records.Lines(iotest.OneByteReader(strings.NewReader(test.input)), test.limit) {
				if err != nil {
					t.Fatal(err)
				}
				if line.TooLong {
					got = append(got, fmt.Sprintf("%d!", line.Number))
				} else {
					got = append(got, fmt.Sprintf("%d:%s", line.Number, line.Data))
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestCountCountsNoBlankLines(t *testing.T) {
	t.Parallel()
	input := "\n \na\n  \n \t \r\nb\r\n" + strings.Repeat(" ", 1<<18) + "\n" + strings.Repeat(" ", 1<<18) + "c"
	if got, err := records.Count(strings.NewReader(input)); got != 3 || err != nil {
		t.Errorf("%d records, %v", got, err)
	}
}

func TestLinesHoldsNoMoreThanTheLimit(t *testing.T) { // not parallel: it counts all allocation
	const limit = 1 << 20
	input := io.MultiReader(io.LimitReader(zeros{}, 256*limit), strings.NewReader("\n{}\n"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var tooLong []bool
	for line, err := range records.Lines(input, limit) {
		if err != nil {
			t.Fatal(err)
		}
		tooLong = append(tooLong, line.TooLong)
	}
	runtime.ReadMemStats(&after)
	if !slices.Equal(tooLong, []bool{true, false}) {
		t.Errorf("lines too long: %v", tooLong)
	}
	// Growing a slice to the limit by appends allocates a small multiple of it.
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 16*limit {
		t.Errorf("%d bytes allocated for a line of %d with limit %d", allocated, 256*limit, limit)
	}
}

// zeros is an endless line.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestDecodeNamesTheField(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ record, field, message string }{
		"unknown at the top":      {`{"questoin":"secret"}`, "questoin", "unknown field in ScoreRetrievalRequest"},
		"unknown below":           {`{"rankings":[{"name":"a","items":[{"id":"1"},{"id":"2","skore":1}]}]}`, "rankings[0].items[1].skore", "unknown field in RankedItem"},
		"string for a number":     {`{"rankings":[{"items":[{},{},{"score":"secret"}]}]}`, "rankings[0].items[2].score", "must be a number, found a string"},
		"number for a string":     {`{"question":7}`, "question", "must be a string, found a number"},
		"list for an object":      {`{"rankings":[[]]}`, "rankings[0]", "must be an object, found a list"},
		"object for a list":       {`{"rankings":{}}`, "rankings", "must be a list, found an object"},
		"list for a string":       {`{"id":["secret"]}`, "id", "must be a string, found a list"},
		"negative":                {`{"window":-1}`, "window", "whole number from 0"},
		"fraction":                {`{"k":1.5}`, "k", "whole number from 0"},
		"too large":               {`{"k":4294967296}`, "k", "whole number from 0"},
		"unknown enum name":       {`{"rankings":[{"score_kind":"COSINE"}]}`, "rankings[0].score_kind", "SCORE_KIND_COSINE"},
		"map value":               {`{"idf":{"a b":true}}`, `idf["a b"]`, "must be a number, found true or false"},
		"null in a list":          {`{"rankings":[null]}`, "", "cannot be read"},
		"given twice":             {`{"id":"a","id":"b"}`, "id", "given twice"},
		"given in both spellings": {`{"rrf_k":1,"rrfK":2}`, "rrf_k", "given twice"},
		"cut off":                 {`{"question":"secr`, "", "ends too early"},
		"cut off after a value":   {`{"question":"secret"`, "", "ends too early"},
		"not JSON":                {`{question:"secret"}`, "", "not JSON at byte 2"},
		"not an object":           {`"secret"`, "", "must be an object, found a string"},
		"two records":             {`{"id":"a"} {"id":"secret"}`, "", "text after the end"},
		"not UTF-8":               {"{\"id\":\"a\xff\"}", "", "byte 9"},
		"UTF-16":                  {"\xff\xfe{\x00}\x00", "", "byte 1"},
		"lone surrogate":          {`{"id":"\ud800"}`, "", "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := records.Decode([]byte(test.record), &plumblinev1.ScoreRetrievalRequest{})
			if err == nil {
				t.Fatal("no error")
			}
			failure := fault.Item(err)
			if failure.GetCode() != "INVALID_ARGUMENT" || failure.GetReason() != "MESSAGE_MALFORMED" || failure.GetField() != test.field {
				t.Errorf("got %v, want field %q", failure, test.field)
			}
			if !strings.Contains(failure.GetMessage(), test.message) {
				t.Errorf("message %q lacks %q", failure.GetMessage(), test.message)
			}
			if strings.Contains(failure.String(), "secret") {
				t.Errorf("%v quotes the record", failure)
			}
		})
	}
}

func TestDecodeReportsFieldsThatExcludeEachOther(t *testing.T) {
	t.Parallel()
	err := records.Decode([]byte(`{"policy":"p","inputs":{"a":[1,{"b":null}]},"telemetry":{}}`), &plumblinev1.DecideRequest{})
	if failure := fault.Item(err); failure.GetField() != "telemetry" || !strings.Contains(failure.GetMessage(), "only one of the fields of subject") {
		t.Errorf("got %v", failure)
	}
}

func TestDecodeReadsWhatEncodeWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOf(rapid.Custom(func(t *rapid.T) *plumblinev1.RankedItem {
			return &plumblinev1.RankedItem{
				Id:        rapid.String().Draw(t, "id"),
				Score:     rapid.Float64().Draw(t, "score"),
				Text:      rapid.String().Draw(t, "text"),
				Embedding: rapid.SliceOf(rapid.Float32()).Draw(t, "embedding"),
			}
		})).Draw(t, "items")
		want := &plumblinev1.ScoreRetrievalRequest{Rankings: []*plumblinev1.Ranking{{Items: items}}}
		line, err := records.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsAny(line, "\r\n") {
			t.Fatalf("more than one line: %q", line)
		}
		got := &plumblinev1.ScoreRetrievalRequest{}
		if err := records.Decode(line, got); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"id":"a"}`, `{"rankings":[{"items":[{"score":"NaN"}]}],"idf":{"a":1e999}}`, `{"inputs":`, "[", "\xff", `{"subgoal_key":1,"grounding":{"evidence":[{}]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		message := &plumblinev1.ObserveRequest{}
		if err := records.Decode(data, message); err != nil {
			if failure := fault.Item(err); failure.GetMessage() == "" || failure.GetReason() != "MESSAGE_MALFORMED" {
				t.Errorf("not a failure in words: %v", failure)
			}
			return
		}
		if _, err := records.Encode(message); err != nil {
			t.Errorf("read but cannot be written: %v", err)
		}
	})
}

// echoed is the line of echo's answer.
func echoed(id string) string {
	return fmt.Sprintf("{\"name\":%q,\"digest\":\"\",\"verifier\":\"\"}\n", id)
}

// echo answers with the record's id, and fails what is no record.
func echo(_ context.Context, record []byte) (proto.Message, *plumblinev1.ItemError) {
	request := &plumblinev1.ScoreRetrievalRequest{}
	if err := records.Decode(record, request); err != nil {
		return nil, fault.Item(err)
	}
	return &plumblinev1.ModelInfo{Name: request.GetId()}, nil
}

func TestPipelineKeepsOrderAndLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bad := rapid.SliceOfN(rapid.Bool(), 0, 300).Draw(t, "bad")
		workers := rapid.IntRange(1, 9).Draw(t, "workers")
		var input strings.Builder
		for i, bad := range bad {
			if bad {
				input.WriteString("nonsense\n")
			} else {
				fmt.Fprintf(&input, "{\"id\":\"%d\"}\n", i)
			}
		}
		var output bytes.Buffer
		var told []int
		pipeline := records.Pipeline{
			Handle: echo, Workers: workers, MaxLine: 20,
			Done: func(line int, _ *plumblinev1.ItemError) { told = append(told, line) },
		}
		summary, err := pipeline.Run(context.Background(), strings.NewReader(input.String()), &output)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(output.String(), "\n"), "\n")
		if len(bad) == 0 {
			lines = nil
		}
		if summary.Records != len(bad) || len(lines) != len(bad) || len(told) != len(bad) {
			t.Fatalf("%d records in, %d answered, %d lines, %d told", len(bad), summary.Records, len(lines), len(told))
		}
		failed := 0
		for i, line := range lines {
			var got struct {
				Name  string
				Error *struct{ Line int }
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatal(err)
			}
			if bad[i] {
				failed++
				if got.Error == nil || got.Error.Line != i+1 {
					t.Fatalf("line %d: %s", i+1, line)
				}
			} else if got.Name != fmt.Sprint(i) {
				t.Fatalf("line %d: %s", i+1, line)
			}
			if told[i] != i+1 {
				t.Fatalf("told of line %d in place of %d", told[i], i+1)
			}
		}
		if summary.Failed != failed {
			t.Fatalf("%d failed, summary says %d", failed, summary.Failed)
		}
	})
}

func TestPipelineAnswersEachRecordWithoutWaitingForTheNext(t *testing.T) {
	t.Parallel()
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	finished := make(chan error, 1)
	go func() {
		_, err := records.Pipeline{Handle: echo, Workers: 4, MaxLine: 100}.Run(context.Background(), inReader, outWriter)
		finished <- err
	}()
	buffer := make([]byte, 100)
	for i := range 3 {
		fmt.Fprintf(inWriter, "{\"id\":\"%d\"}\n", i)
		n, err := outReader.Read(buffer)
		if want := echoed(fmt.Sprint(i)); err != nil || string(buffer[:n]) != want {
			t.Fatalf("got %q, %v; want %q", buffer[:n], err, want)
		}
	}
	_ = inWriter.Close()
	if err := <-finished; err != nil {
		t.Fatal(err)
	}
}

func TestPipelineFinishesWhatIsUnderWayWhenInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(context.Background())
	input, feed := io.Pipe() // never ends: only the interrupt ends the run
	go func() { fmt.Fprint(feed, "{\"id\":\"1\"}\n{\"id\":\"2\"}\n") }()
	var started atomic.Int32
	handle := func(ctx context.Context, record []byte) (proto.Message, *plumblinev1.ItemError) {
		if started.Add(1) == 2 {
			interrupt()
		}
		// Both wait for the interrupt, so both were under way when it came.
		for started.Load() < 2 {
			if ctx.Err() != nil {
				return nil, &plumblinev1.ItemError{Code: "CANCELLED"}
			}
		}
		return echo(ctx, record)
	}
	var output bytes.Buffer
	summary, err := records.Pipeline{Handle: handle, Workers: 2, MaxLine: 100}.Run(ctx, input, &output)
	if err != nil || !summary.Interrupted || summary.Records != 2 || summary.Failed != 0 {
		t.Errorf("summary %+v, error %v", summary, err)
	}
	if want := echoed("1") + echoed("2"); output.String() != want {
		t.Errorf("got %q, want %q", output.String(), want)
	}
}

func TestPipelineReportsBrokenStreams(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	pipeline := records.Pipeline{Handle: echo, Workers: 2, MaxLine: 100}

	var output bytes.Buffer
	input := io.MultiReader(strings.NewReader("{\"id\":\"1\"}\n"), iotest.ErrReader(broken))
	if summary, err := pipeline.Run(context.Background(), input, &output); !errors.Is(err, broken) || summary.Records != 1 || output.String() != echoed("1") {
		t.Errorf("reading: summary %+v, error %v, output %q", summary, err, output.String())
	}

	endless, feed := io.Pipe()
	go func() {
		for {
			if _, err := fmt.Fprintln(feed, `{"id":"1"}`); err != nil {
				return
			}
		}
	}()
	defer func() { _ = endless.Close() }()
	if _, err := pipeline.Run(context.Background(), endless, brokenWriter{broken}); !errors.Is(err, broken) {
		t.Errorf("writing: error %v", err)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }
