package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumbline/internal/testwait"
)

// decisions is the command whose equal runs give equal bytes.
func decisions(in, out string, more ...string) []string {
	return append([]string{"gate", "decide", "--policy", "beyond_uncertainty", "--in", in, "--out", out, "--limits-max-message-bytes", "4096"}, more...)
}

// TestResumeAfterKills kills runs at random points of the output.
func TestResumeAfterKills(t *testing.T) {
	t.Parallel()
	const kills = 50
	folder := t.TempDir()
	in, whole, resumed := filepath.Join(folder, "in.jsonl"), filepath.Join(folder, "whole.jsonl"), filepath.Join(folder, "resumed.jsonl")
	var input strings.Builder
	for i := range 20_000 {
		switch i % 1000 {
		case 100:
			input.WriteString("\n \t  \n")
		case 200:
			input.WriteString("nonsense\n")
		case 300:
			input.WriteString(strings.Repeat("x", 5000) + "\n")
		default:
			fmt.Fprintf(&input, `{"id":"%d","inputs":{"verbalized":%v}}`+"\n", i, float64(i%100)/100)
		}
	}
	writeFile(t, in, input.String())
	uninterrupted := plumbline(t, "", decisions(in, whole)...)
	want := read(t, whole)

	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	points := make([]int64, kills)
	for i := range points {
		points[i] = random.Int64N(int64(len(want)))
	}
	slices.Sort(points)
	for _, point := range points {
		run := program(t.Context(), decisions(in, resumed, "--resume")...)
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		testwait.For(t, fmt.Sprintf("%d bytes of output, seed %d", point, seed), func() bool {
			info, err := os.Stat(resumed)
			return err == nil && info.Size() >= point
		})
		if err := run.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		_ = run.Wait() // it was killed
	}
	last := plumbline(t, "", decisions(in, resumed, "--resume")...)
	if got := read(t, resumed); !bytes.Equal(got, want) {
		t.Errorf("%d bytes differ from the %d of a run without kills, seed %d", len(got), len(want), seed)
	}
	const failures = "40 of 19980 records failed"
	if uninterrupted.code != 1 || last.code != 1 || !strings.Contains(uninterrupted.stderr, failures) || !strings.Contains(last.stderr, failures) {
		t.Errorf("without kills exit code %d, %s; after them %d, %s", uninterrupted.code, uninterrupted.stderr, last.code, last.stderr)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	const (
		first   = `{"id":"0","inputs":{"verbalized":0.5}}`
		records = first + "\n\n" + "nonsense\n" + `{"id":"1","inputs":{"verbalized":1}}`
	)
	folder := t.TempDir()
	in, whole := filepath.Join(folder, "in.jsonl"), filepath.Join(folder, "whole.jsonl")
	writeFile(t, in, records)
	if got := plumbline(t, "", decisions(in, whole)...); got.code != 1 {
		t.Fatalf("%+v", got)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(read(t, whole)), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%q", lines)
	}
	for name, left := range map[string]string{
		"nothing":        "",
		"part of a line": lines[0][:5],
		"a whole line":   lines[0],
		"a failure":      lines[0] + lines[1],
		"no end of line": lines[0] + lines[1] + lines[2],
		"all of it":      lines[0] + lines[1] + lines[2] + "\n",
	} {
		out := filepath.Join(folder, name)
		writeFile(t, out, left)
		got := plumbline(t, records, decisions("-", out, "--resume")...)
		if text := read(t, out); got.code != 1 || !strings.Contains(got.stderr, "1 of 3 records failed") || !bytes.Equal(text, read(t, whole)) {
			t.Errorf("%s: %+v, %s", name, got, text)
		}
	}
	if got := plumbline(t, "", decisions(in, filepath.Join(folder, "new"), "--resume")...); got.code != 1 || !bytes.Equal(read(t, filepath.Join(folder, "new")), read(t, whole)) {
		t.Errorf("a file that was not there: %+v", got)
	}
	if got := plumbline(t, first, decisions("-", whole)...); got.code != 0 || string(read(t, whole)) != lines[0] {
		t.Errorf("without --resume: %+v", got)
	}
}

func TestResumeRefusesWhatItCannotGoOnWith(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in, long, packed := filepath.Join(folder, "in.jsonl"), filepath.Join(folder, "long.jsonl"), filepath.Join(folder, "out.jsonl.gz")
	writeFile(t, in, `{"id":"0"}`+"\n\n")
	writeFile(t, long, "{}\n{}\n")
	writeFile(t, packed, "packed")
	for name, test := range map[string]struct {
		out, says string
	}{
		"standard output": {"-", "name a file"},
		"gzip":            {packed, "without .gz"},
		"the input":       {in, "is the input"},
		"a device":        {os.DevNull, "regular file"},
		"another input's": {long, "it has 1 records and the output already 2 lines"},
	} {
		before, _ := os.ReadFile(test.out)
		got := plumbline(t, "", decisions(in, test.out, "--resume")...)
		if got.code != 2 || got.stdout != "" || !strings.Contains(got.stderr, test.says) {
			t.Errorf("%s: %+v", name, got)
		}
		if after, _ := os.ReadFile(test.out); !bytes.Equal(before, after) {
			t.Errorf("%s was changed to %q", name, after)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
