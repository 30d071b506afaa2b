package main_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"plumbline/internal/orttest"
	"plumbline/internal/testlog"
)

// record is a retrieval request that can be scored.
func record(id int) string {
	return fmt.Sprintf(`{"id":"%d","rankings":[{"name":"dense","items":[{"id":"a","score":0.8},{"id":"b","score":0.5}]}]}`, id)
}

func TestScoreKeepsOrder(t *testing.T) {
	t.Parallel()
	var input strings.Builder
	for i := range 2000 {
		fmt.Fprintln(&input, record(i))
	}
	got := plumbline(t, input.String(), "score", "retrieval", "--parallel", "7")
	if got.code != 0 || got.stderr != "" || len(got.lines()) != 2000 {
		t.Fatalf("exit code %d, %d lines, stderr %q", got.code, len(got.lines()), got.stderr)
	}
	for i, line := range got.lines() {
		if object := fields(t, line); object["id"] != fmt.Sprint(i) || object["signals"] == nil {
			t.Fatalf("line %d: %s", i+1, line)
		}
	}
}

func TestScoreReportsBadRecordsAndGoesOn(t *testing.T) {
	t.Parallel()
	input := "\ufeff" + record(1) + "\r\n" +
		"\r\n" +
		`{"rankings":[{"name":"dense","items":[{"id":"a"},{"id":"b"},{"id":"c","score":"high"}]}]}` + "\r\n" +
		`{"rankings":[{"name":"dense","itmes":[]}]}` + "\n" +
		`{"rankings":[{"name":"dense","items":[{"id":"a"},{"score":1}]}]}` + "\n" +
		"{\"id\":\"\xff\"}\n" +
		"not JSON\n" +
		record(8) // no line break at the end
	got := plumbline(t, input, "score", "retrieval")
	if got.code != 1 {
		t.Errorf("exit code %d", got.code)
	}
	lines := got.lines()
	if len(lines) != 7 {
		t.Fatalf("%d lines for 7 records:\n%s", len(lines), got.stdout)
	}
	if first, last := fields(t, lines[0]), fields(t, lines[6]); first["id"] != "1" || last["id"] != "8" {
		t.Errorf("first %v, last %v", first, last)
	}
	for i, want := range []struct {
		line          int
		field, reason string
	}{
		{3, "rankings[0].items[2].score", "MESSAGE_MALFORMED"},
		{4, "rankings[0].itmes", "MESSAGE_MALFORMED"},
		{5, "rankings[0].items[1].id", "FIELD_INVALID"},
		{6, "", "MESSAGE_MALFORMED"},
		{7, "", "MESSAGE_MALFORMED"},
	} {
		failure := failed(t, lines[i+1])
		field, _ := failure["field"].(string)
		if failure["line"] != float64(want.line) || field != want.field || failure["reason"] != want.reason || failure["code"] != "INVALID_ARGUMENT" {
			t.Errorf("line %d: %v", want.line, failure)
		}
		if says := fmt.Sprintf("line %d: %s", want.line, want.field); !strings.Contains(got.stderr, says) {
			t.Errorf("stderr lacks %q:\n%s", says, got.stderr)
		}
	}
	if !strings.Contains(got.stderr, "5 of 7 records failed") {
		t.Errorf("stderr does not sum up:\n%s", got.stderr)
	}
}

func TestScoreRefusesLongLinesAlone(t *testing.T) {
	t.Parallel()
	long := fmt.Sprintf(`{"id":%q}`, strings.Repeat("x", 5000))
	got := plumbline(t, record(1)+"\n"+long+"\n"+record(3)+"\n", "score", "retrieval", "--limits-max-message-bytes", "4096", "--quiet")
	if lines := got.lines(); got.code != 1 || got.stderr != "" || len(lines) != 3 ||
		failed(t, lines[1])["reason"] != "MESSAGE_TOO_LARGE" || fields(t, lines[2])["id"] != "3" {
		t.Errorf("%+v", got)
	}
}

func TestScoreReadsAndWritesFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	fmt.Fprintln(writer, record(1))
	_ = writer.Close()
	in, out := filepath.Join(folder, "in.jsonl.gz"), filepath.Join(folder, "out.jsonl.gz")
	if err := os.WriteFile(in, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := plumbline(t, "", "score", "retrieval", "--in", in, "--out", out); got.code != 0 || got.stdout != "" {
		t.Fatalf("%+v", got)
	}
	file, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil || fields(t, string(text))["id"] != "1" {
		t.Errorf("%s, %v", text, err)
	}
	if got := plumbline(t, "", "score", "retrieval", "--in", out); got.code != 1 {
		t.Errorf("a response is no request: %+v", got)
	}
}

func TestScoreOfNothing(t *testing.T) {
	t.Parallel()
	if got := plumbline(t, "\n\n", "score", "retrieval"); got.code != 0 || got.stdout != "" || got.stderr != "" {
		t.Errorf("%+v", got)
	}
}

func TestEqualRunsGiveEqualBytesButForTiming(t *testing.T) {
	t.Parallel()
	without := func(line string) string {
		start := strings.Index(line, `,"timing"`)
		if start < 0 {
			t.Fatalf("no timing in %s", line)
		}
		return line[:start]
	}
	first := plumbline(t, record(1), "score", "retrieval").lines()
	second := plumbline(t, record(1), "score", "retrieval").lines()
	if len(first) != 1 || len(second) != 1 || without(first[0]) != without(second[0]) {
		t.Errorf("%s\n%s", first, second)
	}
}

// conversation is a run of the program that a test talks to line by line.
type conversation struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  *testlog.Buffer
}

func talk(t *testing.T, arguments ...string) *conversation {
	t.Helper()
	c := &conversation{command: program(t.Context(), arguments...), stderr: &testlog.Buffer{}}
	var err error
	if c.in, err = c.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out, c.command.Stderr = bufio.NewReader(out), c.stderr
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// end waits for the program and returns what it still wrote.
func (c *conversation) end(t *testing.T) result {
	t.Helper()
	rest, err := io.ReadAll(c.out)
	if err != nil {
		t.Fatal(err)
	}
	return result{code: exitCode(t, c.command.Wait()), stdout: string(rest), stderr: c.stderr.String()}
}

func TestScoreAnswersAsRecordsCome(t *testing.T) {
	t.Parallel()
	c := talk(t, "score", "retrieval")
	for i := range 3 {
		fmt.Fprintln(c.in, record(i))
		line, err := c.out.ReadString('\n')
		if err != nil || fields(t, line)["id"] != fmt.Sprint(i) {
			t.Fatalf("%q, %v", line, err)
		}
	}
	_ = c.in.Close()
	if got := c.end(t); got.code != 0 || got.stdout != "" {
		t.Errorf("%+v", got)
	}
}

func TestInterruptedScoreKeepsWhatIsDone(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		file := filepath.Join(t.TempDir(), "out.jsonl")
		c := talk(t, "score", "retrieval", "--out", file)
		for i := range 10 {
			fmt.Fprintln(c.in, record(i))
		}
		// The output is flushed when nothing is left to do, so ten lines in the
		// file mean that all ten records were taken.
		waitFor(t, func() bool {
			data, _ := os.ReadFile(file)
			return bytes.Count(data, []byte("\n")) == 10
		})
		if err := c.command.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		got := c.end(t) // the input is still open
		data, err := os.ReadFile(file)
		if err != nil || got.code != 130 || bytes.Count(data, []byte("\n")) != 10 || !strings.Contains(got.stderr, "interrupted after 10 records") {
			t.Errorf("%v: %+v, %d bytes, %v", signal, got, len(data), err)
		}
		_ = c.in.Close()
	}
}

func TestScoreWithTheModel(t *testing.T) {
	t.Parallel()
	orttest.Library(t)
	input := `{"evidence":[{"text":"The bridge opened in 1932."}],"answer":"The bridge opened in 1932."}` + "\n" +
		`{"evidence":[{"text":"x"}],"answer":"y","verifier":"nobody"}` + "\n"
	got := plumbline(t, input, "score", "grounding", "--verifier", "embedded")
	lines := got.lines()
	if got.code != 1 || len(lines) != 2 {
		t.Fatalf("%+v", got)
	}
	if fields(t, lines[0])["verdict"] != "VERDICT_SUPPORTED" {
		t.Errorf("%s", lines[0])
	}
	if failure := failed(t, lines[1]); failure["reason"] != "VERIFIER_NOT_FOUND" || failure["code"] != "NOT_FOUND" {
		t.Errorf("%v", failure)
	}
	if got := plumbline(t, input, "score", "grounding", "--verifier", "nobody"); slices.ContainsFunc(got.lines(), func(line string) bool {
		return failed(t, line)["field"] != "verifier"
	}) {
		t.Errorf("%+v", got)
	}
}

func TestQuietTakesTheLogToo(t *testing.T) {
	t.Parallel()
	const input = `{"evidence":[{"text":"x"}],"answer":"The bridge opened in 1932."}`
	arguments := []string{"score", "grounding", "--verifiers", "away=grpc://127.0.0.1:1", "--verifier-default", "away"}
	if got := plumbline(t, input, arguments...); got.code != 0 || !strings.Contains(got.stderr, "the verifier failed") {
		t.Errorf("%+v", got)
	}
	if got := plumbline(t, input, append(arguments, "--quiet")...); got.code != 0 || got.stderr != "" || len(got.lines()) != 1 {
		t.Errorf("--quiet: %+v", got)
	}
	if got := plumbline(t, input, append(arguments, "--quiet", "--in", "nowhere.jsonl")...); got.code != 2 || !strings.Contains(got.stderr, "nowhere.jsonl") {
		t.Errorf("--quiet that cannot run: %+v", got)
	}
}
