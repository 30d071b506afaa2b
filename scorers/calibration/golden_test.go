package calibration_test

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	"plumbline/internal/shareddata"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration"
	"plumbline/scorers/calibration/stats"
)

// worked is one worked example of a formula.
type worked struct {
	ID     string `yaml:"id"`
	Inputs struct {
		Labels         []int      `yaml:"labels"`
		Scores         []float64  `yaml:"scores"`
		Bins           int        `yaml:"bins"`
		Tau            []float64  `yaml:"tau"`
		PassagesAlways []float64  `yaml:"passages_always"`
		Dataset        string     `yaml:"dataset"`
		Model          string     `yaml:"model"`
		IDs            []string   `yaml:"ids"`
		Order          []string   `yaml:"order"`
		Routed         int        `yaml:"routed"`
		F1             []*float64 `yaml:"f1"`
		U              []float64  `yaml:"u"`
		Delta          []float64  `yaml:"delta"`
		P              []float64  `yaml:"p"`
		Confidence     []*float64 `yaml:"confidence"`
		F1No           yaml.Node  `yaml:"f1_no"`
		F1Always       yaml.Node  `yaml:"f1_always"`
	} `yaml:"inputs"`
	Expected map[string]yaml.Node `yaml:"expected"`
}

func (w worked) expect(t *testing.T, name string, into any) {
	t.Helper()
	node, ok := w.Expected[name]
	if !ok {
		t.Fatalf("%s expects no %s", w.ID, name)
	}
	if err := node.Decode(into); err != nil {
		t.Fatal(err)
	}
}

func (w worked) number(t *testing.T, name string) float64 {
	t.Helper()
	var v float64
	w.expect(t, name, &v)
	return v
}

func (w worked) labels() []bool {
	out := make([]bool, len(w.Inputs.Labels))
	for i, l := range w.Inputs.Labels {
		out[i] = l == 1
	}
	return out
}

func (w worked) confidences() []float64 {
	out := make([]float64, len(w.Inputs.Confidence))
	for i, c := range w.Inputs.Confidence {
		out[i] = *c
	}
	return out
}

func decode[T any](t *testing.T, node yaml.Node) T {
	t.Helper()
	var v T
	if err := node.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func equal(t *testing.T, name string, got float64, err error, want float64) {
	t.Helper()
	if err != nil || math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: %v, %v, want %v", name, got, err, want)
	}
}

// formulas check the worked examples that there are, by id.
var formulas = map[string]func(*testing.T, worked){
	"bu-route":                       checkRoute,
	"bu-oracle-ties":                 checkOracle,
	"bu-matched-random-order":        checkMatchedOrder,
	"bu-matched-random-values":       checkMatchedValues,
	"bu-failures-in-denominator":     checkFailures,
	"benefit-label":                  checkBenefit,
	"ece5-equal-width-borders":       checkECE("right_closed", stats.EqualWidthBins),
	"ece5-equal-mass":                checkECE("ece", stats.EqualMassBins),
	"ece-equal-mass-half-even-edges": checkECE("ece", stats.EqualMassBins),
	"ece15-fewer-records-than-bins":  checkECE("ece", stats.EqualMassBins),
	"auroc-ties": func(t *testing.T, w worked) {
		v, err := stats.AUROC(w.Inputs.Scores, w.labels())
		equal(t, "AUROC", v, err, w.number(t, "auroc"))
	},
	"auprc-ties": func(t *testing.T, w worked) {
		figures, err := calibration.MeasureScore(t.Context(), w.Inputs.Scores, w.labels(), stats.Resampling{Draws: 10})
		equal(t, "average precision", figures["auprc"].Value, err, w.number(t, "average_precision"))
		equal(t, "prevalence", figures["prevalence"].Value, err, w.number(t, "prevalence"))
	},
	"spearman-ties": func(t *testing.T, w worked) {
		v, err := stats.Spearman(w.Inputs.U, w.Inputs.Delta)
		equal(t, "ρ", v, err, w.number(t, "rho"))
	},
	"holm": func(t *testing.T, w worked) {
		adjusted, err := stats.Holm(w.Inputs.P)
		var want []float64
		w.expect(t, "adjusted", &want)
		for i := range want {
			equal(t, "adjusted", adjusted[i], err, want[i])
		}
	},
}

func checkECE(name string, binning func([]float64, []bool, int) ([]stats.Bin, error)) func(*testing.T, worked) {
	return func(t *testing.T, w worked) {
		bins, err := binning(w.confidences(), w.labels(), w.Inputs.Bins)
		if err != nil {
			t.Fatal(err)
		}
		v, err := stats.ECE(bins)
		equal(t, "ECE", v, err, w.number(t, name))
	}
}

func checkRoute(t *testing.T, w worked) {
	var want []string
	w.expect(t, "actions", &want)
	for i, c := range w.Inputs.Confidence {
		r := calibration.Record{ID: "q", Arms: map[string]calibration.Outcome{"never": {}, "always": {}}}
		if c != nil {
			r.Signals = map[string]float64{"c": *c}
		}
		var d calibration.Data
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
		response, err := calibration.ReplayRecords(t.Context(), &d, &plumblinev1.ReplayOptions{
			Score: "c", Below: true, Threshold: proto.Float64(w.Inputs.Tau[i]), Bootstrap: 1,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		routed := response.GetPolicies()[0].GetMetrics()["route_rate"].GetValue() == 1
		if routed != (want[i] == "ACTION_RETRIEVE") {
			t.Errorf("row %d: retrieves %v, want %s", i, routed, want[i])
		}
	}
}

func checkOracle(t *testing.T, w worked) {
	never, always := decode[[]float64](t, w.Inputs.F1No), decode[[]float64](t, w.Inputs.F1Always)
	questions := make([]calibration.Paired, len(never))
	for i := range questions {
		questions[i] = calibration.Paired{
			Never:  calibration.Outcome{F1: never[i]},
			Always: calibration.Outcome{F1: always[i], Cost: calibration.Cost{Passages: w.Inputs.PassagesAlways[i]}},
		}
	}
	for name, skip := range map[string]bool{"passages_ties_retrieve": false, "passages_ties_skip": true} {
		totals, err := calibration.Replay(questions, calibration.Oracle(questions, skip), false)
		equal(t, "F1", totals.F1, err, w.number(t, "f1"))
		equal(t, name, totals.Passages, err, w.number(t, name))
	}
}

// matched routes as many of the questions as the example says.
func matched(t *testing.T, questions []calibration.Paired, routed int) []bool {
	t.Helper()
	route := make([]bool, len(questions))
	for i := range routed {
		route[i] = true
	}
	random, err := calibration.MatchedRandom(questions, route)
	if err != nil {
		t.Fatal(err)
	}
	return random
}

func checkMatchedOrder(t *testing.T, w worked) {
	var want []string
	w.expect(t, "retrieved", &want)
	for range 2 { // in both directions: the order of the input must not matter
		var questions []calibration.Paired
		for _, id := range w.Inputs.IDs {
			questions = append(questions, calibration.Paired{ID: id, Dataset: w.Inputs.Dataset, Model: w.Inputs.Model})
		}
		var got []string
		for i, r := range matched(t, questions, w.Inputs.Routed) {
			if r {
				got = append(got, questions[i].ID)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("retrieved %v, want %v", got, want)
		}
		slices.Reverse(w.Inputs.IDs)
	}
}

func checkMatchedValues(t *testing.T, w worked) {
	never, always := decode[map[string]float64](t, w.Inputs.F1No), decode[map[string]float64](t, w.Inputs.F1Always)
	routed := make([]bool, len(w.Inputs.Order))
	questions := make([]calibration.Paired, len(w.Inputs.Order))
	for i, id := range w.Inputs.Order {
		routed[i] = i < w.Inputs.Routed
		questions[i] = calibration.Paired{
			ID: id, Never: calibration.Outcome{F1: never[id]}, Always: calibration.Outcome{F1: always[id]},
		}
	}
	totals, err := calibration.Replay(questions, routed, false)
	equal(t, "F1", totals.F1, err, w.number(t, "f1"))
}

func checkFailures(t *testing.T, w worked) {
	var questions []calibration.Paired
	for _, f1 := range w.Inputs.F1 {
		outcome := calibration.Outcome{F1: 1, Failed: true}
		if f1 != nil {
			outcome = calibration.Outcome{F1: *f1}
		}
		questions = append(questions, calibration.Paired{Never: outcome})
	}
	totals, err := calibration.Replay(questions, make([]bool, len(questions)), false)
	equal(t, "mean F1", totals.F1, err, w.number(t, "mean_f1"))
	equal(t, "denominator", float64(totals.N), err, w.number(t, "denominator"))
}

func checkBenefit(t *testing.T, w worked) {
	never, always := decode[[]float64](t, w.Inputs.F1No), decode[[]float64](t, w.Inputs.F1Always)
	var want []int
	w.expect(t, "benefit", &want)
	for i := range never {
		p := calibration.Paired{Never: calibration.Outcome{F1: never[i]}, Always: calibration.Outcome{F1: always[i]}}
		if (p.Benefit() > 0) != (want[i] == 1) {
			t.Errorf("row %d: benefit %v, want %d", i, p.Benefit(), want[i])
		}
	}
}

func readWorked(t *testing.T, path string) []worked {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The shared file holds examples of other formulas, of other shapes.
	var nodes []yaml.Node
	if err := yaml.Unmarshal(data, &nodes); err != nil {
		t.Fatal(err)
	}
	var out []worked
	for _, node := range nodes {
		id := decode[struct {
			ID string `yaml:"id"`
		}](t, node).ID
		if _, known := formulas[id]; known {
			out = append(out, decode[worked](t, node))
		}
	}
	return out
}

func runWorked(t *testing.T, path string) {
	examples := readWorked(t, path)
	if len(examples) != len(formulas) {
		t.Errorf("%d examples, want one for each of %d formulas", len(examples), len(formulas))
	}
	for _, w := range examples {
		t.Run(w.ID, func(t *testing.T) { formulas[w.ID](t, w) })
	}
}

func TestWorkedExamples(t *testing.T) { runWorked(t, "testdata/worked.yaml") }

func TestSharedWorkedExamples(t *testing.T) {
	runWorked(t, shareddata.Path(t, "cases", "golden_formulas.yaml"))
}

// No example of a kind that this package owns may be overlooked.
func TestNoSharedExampleIsOverlooked(t *testing.T) {
	data, err := os.ReadFile(shareddata.Path(t, "cases", "golden_formulas.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		ID string `yaml:"id"`
	}
	if err := yaml.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		for _, prefix := range []string{"bu-", "auroc", "auprc", "ece", "spearman", "holm", "benefit"} {
			if _, known := formulas[e.ID]; strings.HasPrefix(e.ID, prefix) && !known {
				t.Errorf("%s is not run", e.ID)
			}
		}
	}
}
