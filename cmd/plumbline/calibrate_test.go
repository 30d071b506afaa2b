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

// calibrationLines are records whose confidence tells how retrieval helps.
func calibrationLines(n int) string {
	var text strings.Builder
	for i := range n {
		confidence := float64(i%50) / 50
		label := confidence < 0.5 != (i%9 == 0)
		fmt.Fprintf(&text, `{"id":"q%d","dataset":"d%d","label":%t,"signals":{"final_conf":%g,"noise":%g},"arms":{"never":{"f1":%g},"always":{"f1":0.5,"passages":5}}}`+"\n",
			i, i%2, label, confidence, float64(i*7919%101)/101, confidence)
	}
	return text.String()
}

func readJSON(t *testing.T, path string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fields(t, string(data))
}

func TestCalibrateFitMakesAPolicyThatTheGateUses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Mkdir(at("policies"), 0o755); err != nil {
		t.Fatal(err)
	}
	arguments := []string{
		"calibrate", "fit", "--data-name", "made", "--name", "mine", "--seed", "7", "--bootstrap", "50",
		"--policy-out", at("policies/mine.yaml"), "--report", at("report.html"), "--plots", at("plots"), "--plot-format", "png", "--out", at("fit.json"),
	}
	got := plumbline(t, calibrationLines(400), arguments...)
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	answer := readJSON(t, at("fit.json"))
	if answer["status"] != "STATUS_OK" || answer["test_size"] != "200" {
		t.Errorf("%v", answer)
	}
	if check := plumbline(t, "", "gate", "check", at("policies/mine.yaml")); check.code != 0 {
		t.Errorf("gate check: %+v", check)
	}
	decided := plumbline(t, `{"inputs":{"final_conf":0.1}}`+"\n"+`{"inputs":{"final_conf":0.9}}`+"\n",
		"gate", "decide", "--policies-dir", at("policies"), "--policy", "mine").lines()
	for i, want := range []string{"ACTION_ESCALATE", "ACTION_COMMIT"} {
		if d := fields(t, decided[i]); d["action"] != want || d["calibrated"] != true {
			t.Errorf("%v, want %s", d, want)
		}
	}
	page, err := os.ReadFile(at("report.html"))
	if err != nil || !strings.Contains(string(page), "What it costs") || !strings.Contains(string(page), "v1.2.3") {
		t.Errorf("the report: %v, %.300s", err, page)
	}
	if plots, _ := filepath.Glob(at("plots/*.png")); len(plots) < 7 {
		t.Errorf("plots %v", plots)
	}

	evaluated := plumbline(t, calibrationLines(400), "calibrate", "evaluate", "--policy", "mine", "--policies-dir", at("policies"), "--bootstrap", "20")
	if evaluated.code != 0 || !strings.Contains(evaluated.stdout, "balanced_accuracy") {
		t.Errorf("%+v", evaluated)
	}
	compared := plumbline(t, calibrationLines(400), "calibrate", "compare", "--score", "noise", "--against", "final_conf", "--against-below", "--bootstrap", "20")
	if compared.code != 0 || !strings.Contains(compared.stdout, `"second": "final_conf"`) {
		t.Errorf("%.500s %s", compared.stdout, compared.stderr)
	}
	replayed := plumbline(t, calibrationLines(400), "calibrate", "replay", "--policy", "mine", "--policies-dir", at("policies"), "--bootstrap", "20")
	if replayed.code != 0 || !strings.Contains(replayed.stdout, `"random"`) {
		t.Errorf("%.500s %s", replayed.stdout, replayed.stderr)
	}
}

func TestCalibrateGivesTheSameHereAndOnAServer(t *testing.T) {
	t.Parallel()
	orttest.Library(t)
	server := talk(t, "serve", "--grpc-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0")
	addr := server.until(t, grpcAt)
	for _, command := range [][]string{
		{"calibrate", "evaluate", "--score", "final_conf", "--bootstrap", "20"},
		{"calibrate", "replay", "--policy", "beyond_uncertainty", "--bootstrap", "20"},
	} {
		here, there := plumbline(t, calibrationLines(100), command...), plumbline(t, calibrationLines(100), append(command, "--addr", addr)...)
		if here.code != 0 || there.code != 0 || here.stdout != there.stdout {
			t.Errorf("%v\nhere  %d %.300s %s\nthere %d %.300s %s", command, here.code, here.stdout, here.stderr, there.code, there.stdout, there.stderr)
		}
	}
	missing := plumbline(t, calibrationLines(10), "calibrate", "evaluate", "--policy", "nobody", "--addr", addr)
	if missing.code != 2 || !strings.Contains(missing.stderr, "nobody") {
		t.Errorf("%+v", missing)
	}
}

func TestCalibrateExitCodes(t *testing.T) {
	t.Parallel()
	lines := calibrationLines(100)
	for name, c := range map[string]struct {
		input     string
		arguments []string
		code      int
		stderr    string
	}{
		"a record that cannot be read": {lines + `{"id":"x","extra":1}` + "\n", []string{"evaluate", "--score", "noise"}, 1, "line 101: "},
		"no policy is attainable":      {lines, []string{"fit", "--data-name", "made", "--signal", "noise"}, 1, "no policy: no signal separates"},
		"the same id twice":            {lines + lines, []string{"evaluate", "--score", "noise"}, 2, "same id"},
		"no score of that name":        {lines, []string{"evaluate", "--score", "nothing"}, 2, "nothing"},
		"neither policy nor score":     {lines, []string{"evaluate"}, 2, "policy or a score"},
		"no name of the data":          {lines, []string{"fit"}, 2, "data-name"},
		"an unknown method":            {lines, []string{"fit", "--data-name", "made", "--method", "magic"}, 2, "target-recall"},
		"a file that is not there":     {"", []string{"evaluate", "--score", "noise", "--in", "/nowhere.jsonl"}, 2, "nowhere"},
		"an unknown format of plots":   {lines, []string{"evaluate", "--score", "noise", "--plot-format", "gif"}, 2, "svg or png"},
		"no records":                   {"", []string{"evaluate", "--score", "noise"}, 2, "record"},
	} {
		got := plumbline(t, c.input, append(append([]string{"calibrate"}, c.arguments...), "--bootstrap", "10")...)
		if got.code != c.code || !strings.Contains(got.stderr, c.stderr) {
			t.Errorf("%s: code %d, %q, want %d, %q", name, got.code, got.stderr, c.code, c.stderr)
		}
	}
}

// madeLines are records of one signal and a constant, whose 42nd is changed.
func madeLines(n int, label, changed string) string {
	var text strings.Builder
	for i := range n {
		line := fmt.Sprintf(`{"id":"q%d",%s"signals":{"s":%g,"constant":1}}`, i, label, float64(i*37%101)/101)
		if i == 41 && changed != "" {
			line = changed
		}
		text.WriteString(line + "\n")
	}
	return text.String()
}

// mixedLines are madeLines of both classes.
func mixedLines(n int) string {
	lines := strings.SplitAfter(madeLines(n, `"label":true,`, ""), "\n")
	for i := range lines {
		if i%3 == 0 {
			lines[i] = strings.Replace(lines[i], "true", "false", 1)
		}
	}
	return strings.Join(lines, "")
}

// TestCalibrateSaysWhatIsWrongWithRecords has everything that a file of records
// can have wrong but not one line.
func TestCalibrateSaysWhatIsWrongWithRecords(t *testing.T) {
	t.Parallel()
	const positive = `"label":true,`
	fit, evaluate := []string{"fit", "--data-name", "made"}, []string{"evaluate", "--score", "s"}
	for name, c := range map[string]struct {
		input     string
		arguments []string
		code      int
		stderr    string
	}{
		"no labels, fit":            {madeLines(100, "", ""), fit, 2, "label: no record has one"},
		"no labels, evaluate":       {madeLines(100, "", ""), evaluate, 2, "label: no record has one"},
		"one class":                 {madeLines(100, positive, ""), fit, 1, "no policy: needs records of both classes, got 50 positive and 0 negative"},
		"one class, one regression": {madeLines(100, positive, ""), append(fit, "--combination", "logistic"), 1, "needs records of both classes"},
		"a constant":                {mixedLines(100), append(fit, "--signal", "constant"), 1, "no policy: the signal is constant"},
		"one record":                {madeLines(1, positive, ""), fit, 1, "no policy: needs records of both classes, got 1 positive and 0 negative"},
		"no record":                 {"", fit, 2, "label: no record has one"},
		"not a number":              {madeLines(100, positive, `{"id":"x","label":true,"signals":{"s":"NaN"}}`), fit, 2, `record 42 (id "x"): signal "s" is not a finite number`},
		"infinite":                  {madeLines(100, positive, `{"id":"x","label":true,"signals":{"s":"-Infinity"}}`), evaluate, 2, `record 42 (id "x"): signal "s"`},
		"null":                      {madeLines(100, positive, `{"id":"x","label":true,"signals":{"s":null}}`), evaluate, 1, "line 42: "},
		"one id on both sides":      {madeLines(100, positive, `{"id":"q3","label":true,"split":"SPLIT_TEST"}`), fit, 2, `record 42 (id "q3"): record 4 has the same id`},
		"no id":                     {madeLines(100, positive, `{"label":true}`), evaluate, 2, "record 42"},
		"half an arm":               {madeLines(100, positive, `{"id":"x","arms":{"never":{"f1":2}}}`), evaluate, 2, "record 42"},
	} {
		got := plumbline(t, c.input, append(append([]string{"calibrate"}, c.arguments...), "--bootstrap", "10")...)
		if got.code != c.code || !strings.Contains(got.stderr, c.stderr) {
			t.Errorf("%s: code %d, %q, want %d, %q", name, got.code, got.stderr, c.code, c.stderr)
		}
	}
}

func TestCalibrateAnswersAreJSON(t *testing.T) {
	t.Parallel()
	got := plumbline(t, calibrationLines(60), "calibrate", "replay", "--score", "final_conf", "--below", "--threshold", "0.5", "--bootstrap", "10")
	var answer struct {
		Frontier []struct {
			RouteRate float64 `json:"route_rate"`
		}
		Policies []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(got.stdout), &answer); err != nil || len(answer.Policies) != 5 || len(answer.Frontier) == 0 {
		t.Errorf("%v, %.300s", err, got.stdout)
	}
}
