package evaluation_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"plumbline/scorers/evaluation"
)

var options = evaluation.Options{Threshold: 0.5, Draws: 400, Seed: 1}

// goldenRows are the rows of testdata/make_golden.py.
func goldenRows(t *testing.T) []evaluation.Row {
	t.Helper()
	file, err := os.Open("testdata/rows.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var rows []evaluation.Row
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var row evaluation.Row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func evaluate(t *testing.T, rows []evaluation.Row) *evaluation.Result {
	t.Helper()
	result, err := evaluation.Evaluate(rows, options)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

type figures = map[evaluation.Name]struct{ Value, Lower, Upper float64 }

// slice is what scikit-learn says of the rows of a part.
type slice struct {
	Rows, Sets       int
	AUROC            *float64
	BalancedAccuracy *float64 `json:"balanced_accuracy"`
}

func TestFiguresAreThoseOfScikitLearn(t *testing.T) {
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Halves         []float64
		All            float64
		Sets           map[string]figures
		Mean           figures
		Lengths, Types []slice
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	result := evaluate(t, goldenRows(t))
	for i, want := range append(golden.Halves, golden.All) {
		if got := append(slices.Clone(result.Chosen.Halves), *result.Chosen.All)[i]; math.Abs(got-want) > 1e-12 {
			t.Errorf("threshold %d is %v, want %v", i, got, want)
		}
	}
	if len(result.Sets) != len(golden.Sets) {
		t.Fatalf("%d sets", len(result.Sets))
	}
	for _, set := range result.Sets {
		compareFigures(t, set.Name, set.Figures, golden.Sets[set.Name])
	}
	compareFigures(t, "mean", result.Mean.Figures, golden.Mean)
	compareSlices(t, result.Lengths, golden.Lengths)
	compareSlices(t, result.Types, golden.Types)
}

func compareSlices(t *testing.T, got []evaluation.Part, want []slice) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d slices, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Rows != w.Rows || g.Sets != w.Sets {
			t.Errorf("%s: %d rows of %d sets, want %d of %d", g.Name, g.Rows, g.Sets, w.Rows, w.Sets)
		}
		for name, value := range map[evaluation.Name]*float64{evaluation.AUROC: w.AUROC, evaluation.BalancedAccuracy: w.BalancedAccuracy} {
			switch f := g.Figures[name]; {
			case (f.Value == nil) != (value == nil):
				t.Errorf("%s, %s: %+v, want %v", g.Name, name, f, value)
			case value != nil && math.Abs(*f.Value-*value) > 1e-9:
				t.Errorf("%s, %s: %v, want %v", g.Name, name, *f.Value, *value)
			}
		}
	}
}

// compareFigures compares values exactly and the ends of intervals about: these
// come from other random numbers.
func compareFigures(t *testing.T, set string, got map[evaluation.Name]evaluation.Estimate, want figures) {
	t.Helper()
	for name, w := range want {
		g := got[name]
		if g.Value == nil || math.Abs(*g.Value-w.Value) > 1e-9 {
			t.Errorf("%s, %s: %+v, want %v", set, name, g, w)
			continue
		}
		about := (w.Upper - w.Lower) / 6
		if math.Abs(*g.Lower-w.Lower) > about || math.Abs(*g.Upper-w.Upper) > about {
			t.Errorf("%s, %s: interval [%.3f, %.3f], want about [%.3f, %.3f]", set, name, *g.Lower, *g.Upper, w.Lower, w.Upper)
		}
	}
}

func TestTheOrderOfRowsDoesNotMatter(t *testing.T) {
	rows := goldenRows(t)
	want := evaluate(t, rows)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	if got := evaluate(t, rows); !reflect.DeepEqual(got, want) {
		t.Error("shuffled rows have other figures")
	}
}

// TestRepeatsOfADocumentDoNotNarrowIntervals adds to each row two like it about
// the same document: nothing new is known.
func TestRepeatsOfADocumentDoNotNarrowIntervals(t *testing.T) {
	rows := goldenRows(t)
	var thrice []evaluation.Row
	for _, r := range rows {
		for i := range 3 {
			repeat := r
			repeat.ID = fmt.Sprint(r.ID, "/", i)
			thrice = append(thrice, repeat)
		}
	}
	once, three := evaluate(t, rows), evaluate(t, thrice)
	for name, want := range once.Mean.Figures {
		got := three.Mean.Figures[name]
		if math.Abs(*got.Lower-*want.Lower) > 0.02 || math.Abs(*got.Upper-*want.Upper) > 0.02 {
			t.Errorf("%s: [%.3f, %.3f], once it was [%.3f, %.3f]", name, *got.Lower, *got.Upper, *want.Lower, *want.Upper)
		}
	}
}

func TestTheChosenThresholdHasNotSeenItsRows(t *testing.T) {
	rows := goldenRows(t)
	before := evaluate(t, rows).Chosen
	for i := range rows {
		if crc32.ChecksumIEEE([]byte(rows[i].Document))&1 == 0 {
			rows[i].Label = i%2 == 0
		}
	}
	after := evaluate(t, rows).Chosen
	if after.Halves[0] != before.Halves[0] {
		t.Error("the threshold of a half depends on the labels of that half")
	}
	if after.Halves[1] == before.Halves[1] {
		t.Error("the other threshold does not depend on them")
	}
}

// TestSlicesAreWhatTheirRowsAloneGive compares slices with the figures of their rows
// alone, at both sides of each border of length.
func TestSlicesAreWhatTheirRowsAloneGive(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	kinds := []string{"name", "number"}
	var rows []evaluation.Row
	for i := range 2400 {
		words := []int{1, 50, 51, 200, 201, 500, 501, 1000, 1001, 5000}[i%10]
		support := rng.Float64()
		rows = append(rows, evaluation.Row{
			Set: fmt.Sprint("set", rng.IntN(2)), ID: fmt.Sprint(i), Document: fmt.Sprint(i), Words: words, Types: kinds[rng.IntN(2):],
			Support: &support, Label: rng.Float64() < support*float64(words%7+1)/7, // each length has an AUROC of its own
		})
	}
	result := evaluate(t, rows)
	check := func(part evaluation.Part, within func(evaluation.Row) bool) {
		t.Helper()
		alone := slices.DeleteFunc(slices.Clone(rows), func(r evaluation.Row) bool { return !within(r) })
		want := evaluate(t, alone).Mean
		if part.Rows != len(alone) || part.Sets != want.Sets {
			t.Errorf("%s: %d rows of %d sets, want %d of %d", part.Name, part.Rows, part.Sets, len(alone), want.Sets)
		}
		for _, figure := range []evaluation.Name{evaluation.AUROC, evaluation.BalancedAccuracy} {
			if got, want := *part.Figures[figure].Value, *want.Figures[figure].Value; got != want {
				t.Errorf("%s: %s is %v, want %v", part.Name, figure, got, want)
			}
		}
	}
	least := 0
	for i, most := range []int{50, 200, 500, 1000, math.MaxInt} {
		check(result.Lengths[i], func(r evaluation.Row) bool { return least < r.Words && r.Words <= most })
		least = most
	}
	for i, kind := range kinds {
		check(result.Types[i], func(r evaluation.Row) bool { return slices.Contains(r.Types, kind) })
	}
}

func TestWhatCannotBeMeasuredHasAReason(t *testing.T) {
	half := 0.5
	rows := []evaluation.Row{
		{Set: "one", ID: "a", Label: true, Document: "x", Support: &half},
		{Set: "one", ID: "b", Label: true, Document: "y", Support: &half},
		{Set: "one", ID: "c", Label: false, Document: "z", Reason: "no language"},
	}
	result := evaluate(t, rows)
	set := result.Sets[0]
	if set.NotScored != 1 || set.Reasons["no language"] != 1 || set.Positives != 2 || set.Documents != 3 {
		t.Errorf("%+v", set)
	}
	for _, name := range []evaluation.Name{evaluation.AUROC, evaluation.BalancedAccuracy, evaluation.BalancedAccuracyChosen} {
		if f := set.Figures[name]; f.Value != nil || f.Reason == "" {
			t.Errorf("%s of one class: %+v", name, f)
		}
	}
	if brier := set.Figures[evaluation.Brier]; brier.Value == nil || *brier.Value != 0.25 {
		t.Errorf("the Brier score needs no second class: %+v", brier)
	}
	if len(result.Chosen.Halves) != 0 || result.Chosen.All != nil {
		t.Errorf("a threshold from one class: %+v", result.Chosen)
	}
}

func TestRowsThatMakeNoSenseAreRefused(t *testing.T) {
	nan, two, half := math.NaN(), 2.0, 0.5
	for want, rows := range map[string][]evaluation.Row{
		"no rows":       nil,
		"twice":         {{Set: "s", ID: "a", Support: &half}, {Set: "s", ID: "a", Support: &half}},
		"not in [0, 1]": {{Set: "s", ID: "a", Support: &nan}},
		`id "b"`:        {{Set: "s", ID: "b", Support: &two}},
		"no row has":    {{Set: "s", ID: "a", Reason: "none"}},
	} {
		if _, err := evaluation.Evaluate(rows, options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// changed returns the rows with other supports.
func changed(rows []evaluation.Row, support func(evaluation.Row) float64) []evaluation.Row {
	out := slices.Clone(rows)
	for i, r := range rows {
		s := support(r)
		out[i].Support = &s
	}
	return out
}

func compare(t *testing.T, first, second []evaluation.Row) *evaluation.Comparison {
	t.Helper()
	c, err := evaluation.Compare(first, second, options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAVerifierDoesNotDifferFromItself(t *testing.T) {
	rows := goldenRows(t)
	c := compare(t, rows, rows)
	for _, set := range append(c.Sets, c.Mean) {
		for name, d := range set.Differences {
			if *d.Value != 0 || *d.Lower != 0 || *d.Upper != 0 || *d.P != 1 {
				t.Errorf("%s, %s: %+v", set.Name, name, d)
			}
		}
	}
}

func TestADifferenceIsTheDifferenceOfTheFigures(t *testing.T) {
	rows := goldenRows(t)
	generator := rand.New(rand.NewPCG(3, 4))
	worse := changed(rows, func(r evaluation.Row) float64 { return (*r.Support + 2*generator.Float64()) / 3 })
	first, second, c, back := evaluate(t, rows), evaluate(t, worse), compare(t, rows, worse), compare(t, worse, rows)
	for i, set := range c.Sets {
		for name, d := range set.Differences {
			want := *first.Sets[i].Figures[name].Value - *second.Sets[i].Figures[name].Value
			if math.Abs(*d.Value-want) > 1e-12 {
				t.Errorf("%s, %s: %v, want %v", set.Name, name, *d.Value, want)
			}
		}
	}
	there, again := c.Mean.Differences[evaluation.AUROC], back.Mean.Differences[evaluation.AUROC]
	if math.Abs(*there.Value+*again.Value) > 1e-12 || math.Abs(*there.Lower+*again.Upper) > 1e-12 || *there.P != *again.P {
		t.Errorf("there %+v, back %+v", there, again)
	}
	if !(*there.Lower > 0 && *there.P < 0.05) {
		t.Errorf("scores that are mostly noise are not found to be worse: %+v", there)
	}
	if width := *there.Upper - *there.Lower; width > *first.Mean.Figures[evaluation.AUROC].Upper-*second.Mean.Figures[evaluation.AUROC].Lower {
		t.Errorf("the draws are not paired: the interval is %v wide", width)
	}
}

func TestOnlyRowsThatBothScoredAreCompared(t *testing.T) {
	rows := goldenRows(t)
	second := slices.Clone(rows[:len(rows)-5])
	second[0].Support, second[0].Reason = nil, "too long"
	c := compare(t, rows, second)
	if c.Unmatched != 6 || c.Mean.Rows != len(rows)-6 {
		t.Errorf("%d unmatched, %d compared", c.Unmatched, c.Mean.Rows)
	}
	second[1].Label = !second[1].Label
	if _, err := evaluation.Compare(rows, second, options); err == nil || !strings.Contains(err.Error(), second[1].ID) {
		t.Errorf("another label for the same row: %v", err)
	}
	if _, err := evaluation.Compare(rows[:240], rows[240:], options); err == nil || !strings.Contains(err.Error(), "same sets") {
		t.Errorf("nothing in common: %v", err)
	}
}
