package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumbline/internal/orttest"
)

// evalLines are labelled claims that a model tells apart.
func evalLines(n int) string {
	var text strings.Builder
	for i := range n {
		claim := "The mill was built in 1954."
		if i%2 == 0 {
			claim = "The mill burnt down last year."
		}
		fmt.Fprintf(&text, `{"id":"r%d","doc":"In 1954 the council built the mill, number %d of the valley.","claim":%q,"label":%d}`+"\n", i, i/2, claim, i%2)
	}
	return text.String()
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestEvalMeasuresTheModel(t *testing.T) {
	t.Parallel()
	library := orttest.Library(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeFile(t, at("mill.dev.jsonl"), evalLines(60))
	got := plumbline(t, "", "eval", at("mill.dev.jsonl"), "--limit", "40", "--bootstrap", "50",
		"--scores", at("scores"), "--out", at("eval.json"), "--markdown", at("eval.md"), "--report", at("eval.html"))
	if got.code != 0 || got.stderr != "" || got.stdout != "" {
		t.Fatalf("%+v", got)
	}
	answer := readJSON(t, at("eval.json"))
	set := answer["sets"].([]any)[0].(map[string]any)
	auroc := set["figures"].(map[string]any)["auroc"].(map[string]any)["value"].(float64)
	if set["name"] != "mill.dev" || set["rows"] != 40.0 || auroc < 0.95 {
		t.Errorf("%v", set)
	}
	if throughput := answer["throughput"].(map[string]any); throughput["rows"] != 40.0 || !(throughput["processor_seconds"].(float64) > 0) {
		t.Errorf("%v", throughput)
	}
	for name, want := range map[string]string{"eval.md": "| mill.dev | 40 |", "eval.html": "<svg"} {
		data, err := os.ReadFile(at(name))
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: %v, lacks %q", name, err, want)
		}
	}

	// The same scores are no other mode's, although nothing is left to score.
	other := plumbline(t, "", "eval", at("mill.dev.jsonl"), "--limit", "40", "--scores", at("scores"), "--claims", "split")
	if other.code != 2 || !strings.Contains(other.stderr, "use another file") {
		t.Errorf("%+v", other)
	}

	// A host of the same model, in a process of its own, answers alike.
	host := plumbline(t, "", "eval", at("mill.dev.jsonl"), "--limit", "40", "--bootstrap", "50", "--verifier", "exec:"+binary+" verifier --onnxruntime-lib "+library)
	if host.code != 0 || fmt.Sprint(fields(t, host.stdout)["sets"]) != fmt.Sprint(answer["sets"]) {
		t.Errorf("%+v", host)
	}

	// The same figures come from the scores alone, where there is no model.
	again := plumbline(t, "", "eval", "--scores", at("scores"), "--bootstrap", "50", "--onnxruntime-lib", "/absent", "--against", at("scores"))
	if again.code != 0 {
		t.Fatalf("%+v", again)
	}
	var repeated map[string]any
	if err := json.Unmarshal([]byte(again.stdout), &repeated); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(repeated["sets"]) != fmt.Sprint(answer["sets"]) {
		t.Errorf("from the scores: %v\nbefore: %v", repeated["sets"], answer["sets"])
	}
	mean := repeated["against"].(map[string]any)["mean"].(map[string]any)["differences"].(map[string]any)["auroc"].(map[string]any)
	if mean["value"] != 0.0 || mean["p"] != 1.0 {
		t.Errorf("against itself: %v", mean)
	}
}

func TestEvalSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeFile(t, at("good.jsonl"), evalLines(10))
	writeFile(t, at("bad.jsonl"), evalLines(10)+`{"id":"x","doc":"d","claim":"c"}`)
	writeFile(t, at("results.json"), `{"sets":[]}`+"\n")
	for want, arguments := range map[string][]string{
		"name files":                     {},
		"line 11: field \"label\"":       {at("bad.jsonl")},
		"--claims is":                    {at("good.jsonl"), "--claims", "some"},
		"--threshold is 2":               {at("good.jsonl"), "--threshold", "2"},
		"--bootstrap is 0":               {at("good.jsonl"), "--bootstrap", "0"},
		"--against: ":                    {at("good.jsonl"), "--against", at("results.json")},
		"--scores: ":                     {"--scores", at("results.json")},
		"both standard output":           {at("good.jsonl"), "--markdown", "-", "--out", "-"},
		"neither an address nor":         {at("good.jsonl"), "--verifier", "mine"},
		"no file is the set \"wice\"":    {at("good.jsonl"), "--sets", "wice"},
		"--report: ":                     {at("good.jsonl"), "--report", at("absent/report.html")},
		"--out: " + dir + " is a folder": {at("good.jsonl"), "--out", dir},
		"is an input, too":               {dir, "--out", at("good.jsonl")},
		"is --scores, too":               {at("good.jsonl"), "--scores", at("new"), "--out", at("./new")},
		"is --out, too":                  {at("good.jsonl"), "--out", at("new"), "--report", at("new")},
	} {
		got := plumbline(t, "", append([]string{"eval"}, arguments...)...)
		if got.code != 2 || !strings.Contains(got.stderr, want) || got.stdout != "" {
			t.Errorf("%v: %+v, want %q", arguments, got, want)
		}
	}
}
