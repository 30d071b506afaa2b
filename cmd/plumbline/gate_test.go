package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGateDecide(t *testing.T) {
	t.Parallel()
	input := `{"inputs":{"verbalized":0.5}}` + "\n" + `{"policy":"sugar","inputs":{"semantic_entropy":0.1}}` + "\n" + `{"policy":"nobody","inputs":{}}` + "\n"
	got := plumbline(t, input, "gate", "decide", "--policy", "beyond_uncertainty")
	lines := got.lines()
	if got.code != 1 || len(lines) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, action := range []string{"ACTION_RETRIEVE", "ACTION_NO_RETRIEVAL"} {
		if object := fields(t, lines[i]); object["action"] != action {
			t.Errorf("%v, want %s", object, action)
		}
	}
	if failure := failed(t, lines[2]); failure["reason"] != "POLICY_NOT_FOUND" {
		t.Errorf("%v", failure)
	}
}

func TestGateShadowCountsChanges(t *testing.T) {
	t.Parallel()
	input := strings.Repeat(`{"inputs":{"mean_token_entropy":0.5,"margin":0.1}}`+"\n", 3) + `{"inputs":{"mean_token_entropy":0.5,"margin":0.9}}` + "\n"
	got := plumbline(t, input, "gate", "shadow", "--policy", "targ", "--with", "targ.margin")
	if got.code != 0 || len(got.lines()) != 4 {
		t.Fatalf("%+v", got)
	}
	for _, says := range []string{"targ.margin: decided 4, agrees on 1, could not decide 0", "ACTION_RETRIEVE → ACTION_NO_RETRIEVAL: 3"} {
		if !strings.Contains(got.stderr, says) {
			t.Errorf("stderr lacks %q: %s", says, got.stderr)
		}
	}
}

func TestGateList(t *testing.T) {
	t.Parallel()
	table := plumbline(t, "", "gate", "list")
	if table.code != 0 || !strings.Contains(table.stdout, "beyond_uncertainty") || !strings.Contains(table.stdout, "retrieve") {
		t.Errorf("%+v", table)
	}
	infos := plumbline(t, "", "gate", "list", "--json").lines()
	if len(infos) != len(table.lines())-1 {
		t.Errorf("%d policies in JSON, %d lines in the table", len(infos), len(table.lines()))
	}
	for _, line := range infos {
		if info := fields(t, line); info["name"] == "" || info["policy_digest"] == nil {
			t.Errorf("%s", line)
		}
	}
}

const policy = `name: mine
version: "1"
inputs:
  - {name: sc, type: INPUT_TYPE_NUMBER, range: {min: 0, max: 1}, direction: DIRECTION_HIGHER_IS_CONFIDENT}
thresholds: {tau: 0.5}
conditions:
  conditions: [{input: sc, comparison: COMPARISON_LESS, threshold: tau}]
  then: ACTION_RETRIEVE
  otherwise: ACTION_COMMIT
`

func TestGateCheckAndUseOfAPolicy(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	good := filepath.Join(folder, "mine.yaml")
	odd := filepath.Join(t.TempDir(), "odd.yaml")
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	for path, text := range map[string]string{
		good: policy,
		odd:  strings.Replace(policy, "tau: 0.5", "tau: 5", 1),
		bad:  strings.Replace(policy, "threshold: tau", "threshold: tua", 1),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := plumbline(t, "", "gate", "check", good); got.code != 0 || !strings.Contains(got.stdout, good+": policy mine can be loaded, sha256:") {
		t.Errorf("good: %+v", got)
	}
	if got := plumbline(t, "", "gate", "check", folder); got.code != 0 || !strings.Contains(got.stdout, "policy mine can be loaded") {
		t.Errorf("folder: %+v", got)
	}
	if got := plumbline(t, "", "gate", "check", odd); got.code != 0 || !strings.Contains(got.stdout, odd+": warning: ") {
		t.Errorf("odd: %+v", got)
	}
	if got := plumbline(t, "", "gate", "check", bad); got.code != 1 || !strings.Contains(got.stderr, bad) || !strings.Contains(got.stderr, "tua") || got.stdout != "" {
		t.Errorf("bad: %+v", got)
	}
	got := plumbline(t, `{"policy":"mine","inputs":{"sc":0.4}}`, "gate", "decide", "--policies-dir", folder)
	if got.code != 0 || fields(t, got.stdout)["action"] != "ACTION_RETRIEVE" {
		t.Errorf("in use: %+v", got)
	}
}
