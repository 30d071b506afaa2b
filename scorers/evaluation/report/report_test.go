package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"plumbline/scorers/evaluation"
	"plumbline/scorers/evaluation/report"
)

// hostile is a name that would be markup, or a cell of a table, where it is not
// escaped.
const hostile = `<script>|"&'`

func made(t *testing.T) *report.Report {
	t.Helper()
	generator := rand.New(rand.NewPCG(1, 2))
	rows := func() []evaluation.Row {
		generator := rand.New(rand.NewPCG(3, 4))
		var out []evaluation.Row
		for i := range 300 {
			out = append(out, evaluation.Row{
				Set: []string{hostile, "lfqa.half", "single"}[i%3], ID: fmt.Sprint(i), Label: i%3 == 2 || generator.Float64() < 0.4,
				Document: fmt.Sprint(i / 2), Words: 10 * i, Types: []string{"name"},
			})
		}
		return out
	}
	score := func(rows []evaluation.Row, strength float64) []evaluation.Row {
		for i := range rows {
			support := generator.Float64()
			if rows[i].Label {
				support = strength + (1-strength)*support
			}
			rows[i].Support = &support
		}
		rows[0].Support, rows[0].Reason = nil, "too long"
		return rows
	}
	first, second := score(rows(), 0.5), score(rows(), 0.2)
	options := evaluation.Options{Threshold: 0.5, Draws: 50}
	result, err := evaluation.Evaluate(first, options)
	if err != nil {
		t.Fatal(err)
	}
	comparison, err := evaluation.Compare(first, second, options)
	if err != nil {
		t.Fatal(err)
	}
	r := &report.Report{
		Title: "Of " + hostile, Program: "1.2.3", Verifier: report.Verifier{Name: hostile, Digest: "d"}, Result: result,
		Throughput: report.Throughput{Rows: 300, Pairs: 900, Seconds: 30, ProcessorSeconds: 45},
		Against:    &report.Against{Verifier: report.Verifier{Name: "other"}, Comparison: comparison},
	}
	if r.Published, err = report.PublishedFor(result.Sets); err != nil {
		t.Fatal(err)
	}
	return r
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestMarkdownHasATableForEachPart(t *testing.T) {
	r := made(t)
	text := written(t, r.WriteMarkdown)
	for _, want := range []string{
		"## Sets", "## By document length", "## By claim type", "## Against other", "## Beside published figures",
		"| mean of 3 |", `<script>\|"&'`, "10.0 rows/s and 30.0 pairs/s; 20.0 pairs per processor second",
		"Not scored: 1 rows of " + hostile + ": too long.", "| lfqa.half | LFQA |", "| 83.9 | 85.2 | 84.4 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q", want)
		}
	}
	columns := 0
	for line := range strings.Lines(text) {
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if n > 0 && columns > 0 && n != columns && strings.HasPrefix(line, "|") {
			t.Errorf("a row of %d borders in a table of %d: %s", n, columns, line)
		}
		columns = n
	}
	if want := fmt.Sprintf("| lfqa.half | %d |", r.Sets[1].Rows); !strings.Contains(text, want) {
		t.Errorf("lacks %q", want)
	}
}

// TestIntervalsOfFewDrawsSaySo has documents of one label each: a draw of two of them
// has both labels in one case of two, one of twelve nearly always.
func TestIntervalsOfFewDrawsSaySo(t *testing.T) {
	of := func(documents int) string {
		var rows []evaluation.Row
		for i := range 24 {
			support := float64(i) / 24
			rows = append(rows, evaluation.Row{Set: "few", ID: fmt.Sprint(i), Document: fmt.Sprint(i % documents), Label: i%2 == 0, Support: &support})
		}
		result, err := evaluation.Evaluate(rows, evaluation.Options{Threshold: 0.5, Draws: 200})
		if err != nil {
			t.Fatal(err)
		}
		return written(t, (&report.Report{Result: result}).WriteMarkdown)
	}
	const note = "of 200 draws: the others had one class only"
	if strings.Contains(of(12), note) {
		t.Error("most draws give a figure, and a note says otherwise")
	}
	if !strings.Contains(of(2), "Intervals of few rest on ") || !strings.Contains(of(2), note) {
		t.Errorf("no note:\n%s", of(2))
	}
}

func TestThePageEscapesNamesAndShowsItsPlots(t *testing.T) {
	page := written(t, made(t).WriteHTML)
	if strings.Contains(page, "<script") {
		t.Error("a name became markup")
	}
	for _, want := range []string{"prefers-color-scheme: dark", "AUROC by set", "Reliability", "Difference of AUROC", "var(--chosen)"} {
		if !strings.Contains(page, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if strings.Contains(page, "NaN") {
		t.Error("a set without a figure is shown as a number")
	}
}

func TestTheJSONHasEveryNumberAndNoNaN(t *testing.T) {
	var answer struct {
		Sets []struct {
			Name    string
			Figures map[string]map[string]any
		}
		Against struct {
			Mean struct{ Differences map[string]map[string]any }
		}
		Chosen map[string]any `json:"chosen_threshold"`
	}
	if err := json.Unmarshal([]byte(written(t, made(t).WriteJSON)), &answer); err != nil {
		t.Fatal(err)
	}
	single := answer.Sets[2]
	if f := single.Figures["auroc"]; single.Name != "single" || f["value"] != nil || f["reason"] == "" {
		t.Errorf("one class: %v", f)
	}
	if f := answer.Sets[0].Figures["auroc"]; f["value"] == nil || f["lower"] == nil || f["upper"] == nil {
		t.Errorf("%v", f)
	}
	if answer.Chosen["all"] == nil || answer.Chosen["method"] == "" {
		t.Errorf("%v", answer.Chosen)
	}
}
