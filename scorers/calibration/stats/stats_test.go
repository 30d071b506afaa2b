package stats_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration/stats"
	"plumbline/scorers/gate"
	"plumbline/scorers/score"
)

const tolerance = 1e-9

type golden struct {
	Binary []struct {
		Name             string    `json:"name"`
		Scores           []float64 `json:"scores"`
		Labels           []bool    `json:"labels"`
		IsotonicGrid     []float64 `json:"isotonic_grid"`
		Isotonic         []float64 `json:"isotonic"`
		AUROC            float64   `json:"auroc"`
		AUPRC            float64   `json:"auprc"`
		Brier            float64   `json:"brier"`
		LogLoss          float64   `json:"log_loss"`
		Accuracy         float64   `json:"accuracy"`
		BalancedAccuracy float64   `json:"balanced_accuracy"`
		F1               *float64  `json:"f1"`
		AURC             float64   `json:"aurc"`
		FalseAlarm       []float64 `json:"roc_false_alarm"`
		Recall           []float64 `json:"roc_recall"`
		Precision        []float64 `json:"precision"`
		Width5           float64   `json:"ece_width_5"`
		Width10          float64   `json:"ece_width_10"`
		Width15          float64   `json:"ece_width_15"`
		MCE5             float64   `json:"mce_width_5"`
		Mass5            float64   `json:"ece_mass_5"`
		Mass10           float64   `json:"ece_mass_10"`
		Mass15           float64   `json:"ece_mass_15"`
	} `json:"binary"`
	Paired []struct {
		Name      string    `json:"name"`
		X         []float64 `json:"x"`
		Y         []float64 `json:"y"`
		Wilcoxon  float64   `json:"wilcoxon"`
		WilcoxonP float64   `json:"wilcoxon_p"`
		Exact     bool      `json:"exact"`
		Pearson   *float64  `json:"pearson"`
		Spearman  *float64  `json:"spearman"`
	} `json:"paired"`
	Logistic []struct {
		Rows      [][]float64 `json:"rows"`
		Targets   []float64   `json:"targets"`
		C         float64     `json:"c"`
		Weights   []float64   `json:"weights"`
		Intercept float64     `json:"intercept"`
	} `json:"logistic"`
	Quantiles struct {
		Values   []float64 `json:"values"`
		Q        []float64 `json:"q"`
		Expected []float64 `json:"expected"`
	} `json:"quantiles"`
}

func loadGolden(t *testing.T) golden {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func near(t *testing.T, name string, got float64, err error, want float64) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v, want %v", name, err, want)
	} else if math.Abs(got-want) > tolerance*max(1, math.Abs(want)) {
		t.Errorf("%s = %v, want %v", name, got, want)
	}
}

func TestBinaryStatisticsAgreeWithReferences(t *testing.T) {
	for _, c := range loadGolden(t).Binary {
		t.Run(c.Name, func(t *testing.T) {
			v, err := stats.AUROC(c.Scores, c.Labels)
			near(t, "AUROC", v, err, c.AUROC)
			v, err = stats.AUPRC(c.Scores, c.Labels)
			near(t, "AUPRC", v, err, c.AUPRC)
			v, err = stats.LogLoss(c.Scores, c.Labels)
			near(t, "LogLoss", v, err, c.LogLoss)
			v, err = stats.AURC(c.Scores, c.Labels)
			near(t, "AURC", v, err, c.AURC)
			points, err := stats.OperatingPoints(c.Scores, c.Labels, 0)
			if err != nil || len(points) != len(c.Recall) {
				t.Fatalf("%d operating points, %v, want %d", len(points), err, len(c.Recall))
			}
			for i, p := range points {
				near(t, "false-alarm rate", p.FalseAlarm, nil, c.FalseAlarm[i])
				near(t, "recall", p.Recall, nil, c.Recall[i])
				near(t, "precision", p.Precision, nil, c.Precision[i])
			}
			brier, err := stats.Brier(c.Scores, c.Labels)
			near(t, "Brier", brier.Brier, err, c.Brier)
			near(t, "Brier's parts", brier.Reliability-brier.Resolution+brier.Uncertainty, err, c.Brier)
			confusion, err := stats.At(0.5, c.Scores, c.Labels)
			if err != nil {
				t.Fatal(err)
			}
			v, err = confusion.Accuracy()
			near(t, "Accuracy", v, err, c.Accuracy)
			v, err = confusion.BalancedAccuracy()
			near(t, "BalancedAccuracy", v, err, c.BalancedAccuracy)
			if c.F1 != nil {
				v, err = confusion.F1()
				near(t, "F1", v, err, *c.F1)
			}
			checkBins(t, c.Scores, c.Labels, map[int]float64{5: c.Width5, 10: c.Width10, 15: c.Width15}, stats.EqualWidthBins)
			checkBins(t, c.Scores, c.Labels, map[int]float64{5: c.Mass5, 10: c.Mass10, 15: c.Mass15}, stats.EqualMassBins)
			bins, err := stats.EqualWidthBins(c.Scores, c.Labels, 5)
			if err != nil {
				t.Fatal(err)
			}
			v, err = stats.MCE(bins)
			near(t, "MCE", v, err, c.MCE5)
			iso, err := stats.FitIsotonic(c.Scores, c.Labels)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range c.IsotonicGrid {
				near(t, "Isotonic", iso.Predict(s), nil, c.Isotonic[i])
			}
		})
	}
}

func checkBins(t *testing.T, scores []float64, labels []bool, want map[int]float64,
	binning func([]float64, []bool, int) ([]stats.Bin, error),
) {
	t.Helper()
	for n, expected := range want {
		bins, err := binning(scores, labels, n)
		if err != nil {
			t.Fatal(err)
		}
		v, err := stats.ECE(bins)
		near(t, "ECE", v, err, expected)
	}
}

func TestPairedStatisticsAgreeWithSciPy(t *testing.T) {
	for _, c := range loadGolden(t).Paired {
		t.Run(c.Name, func(t *testing.T) {
			w, err := stats.Wilcoxon(c.X, c.Y)
			near(t, "Wilcoxon", w.Statistic, err, c.Wilcoxon)
			near(t, "p", w.P, err, c.WilcoxonP)
			if w.Exact != c.Exact {
				t.Errorf("Exact = %v, want %v", w.Exact, c.Exact)
			}
			if c.Pearson != nil {
				v, err := stats.Pearson(c.X, c.Y)
				near(t, "Pearson", v, err, *c.Pearson)
				v, err = stats.Spearman(c.X, c.Y)
				near(t, "Spearman", v, err, *c.Spearman)
			}
		})
	}
}

func matrix(rows [][]float64) *mat.Dense {
	x := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		x.SetRow(i, row)
	}
	return x
}

func TestLogisticAgreesWithScikitLearn(t *testing.T) {
	for i, c := range loadGolden(t).Logistic {
		m, err := stats.FitLogistic(t.Context(), matrix(c.Rows), c.Targets, c.C)
		if err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		near(t, "intercept", m.Intercept, nil, c.Intercept)
		for j, w := range c.Weights {
			near(t, "weight", m.Weights[j], nil, w)
		}
	}
}

func TestQuantileAgreesWithNumPy(t *testing.T) {
	q := loadGolden(t).Quantiles
	for i, p := range q.Q {
		near(t, "quantile", stats.Quantile(q.Values, p), nil, q.Expected[i])
	}
}

// Worked by hand.
func TestSmallExamples(t *testing.T) {
	labels := []bool{true, false, true, false, false, true, false, false}
	scores := []float64{0.9, 0.9, 0.7, 0.7, 0.4, 0.4, 0.2, 0.1}
	v, err := stats.AUROC(scores, labels)
	near(t, "AUROC with ties", v, err, 0.7)
	v, err = stats.AUPRC(scores, labels)
	near(t, "average precision with ties", v, err, 0.5)

	p := []float64{0.05, 0.2, 0.2, 0.35, 0.4, 0.55, 0.6, 0.8, 0.95, 1}
	y := []bool{false, true, false, true, true, false, true, true, false, true}
	wide, err := stats.EqualWidthBins(p, y, 5)
	if err != nil {
		t.Fatal(err)
	}
	v, err = stats.ECE(wide)
	near(t, "right-closed bins", v, err, 0.31)
	mass, err := stats.EqualMassBins(p, y, 5)
	if err != nil {
		t.Fatal(err)
	}
	v, err = stats.ECE(mass)
	near(t, "equal mass, ties in input order", v, err, 0.28)

	p = []float64{0.05, 0.15, 0.25, 0.35, 0.4, 0.55, 0.6, 0.8, 0.95, 1}
	y = []bool{false, true, true, false, false, true, true, false, true, true}
	mass, err = stats.EqualMassBins(p, y, 4)
	if err != nil {
		t.Fatal(err)
	}
	v, err = stats.ECE(mass)
	near(t, "borders half to even", v, err, 0.09)

	adjusted, err := stats.Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		near(t, "Holm", adjusted[i], err, want)
	}
	v, err = stats.Spearman([]float64{0.1, 0.4, 0.4, 0.9, 0.6}, []float64{0, 0.2, 0.2, 0.2, -0.1})
	near(t, "Spearman with ties", v, err, 0.11470786693528087)
}

func wantStatus(t *testing.T, name string, err error, want plumblinev1.Status) {
	t.Helper()
	var missing *score.Missing
	if !errors.As(err, &missing) || missing.Status != want {
		t.Errorf("%s: got %v, want %v", name, err, want)
	}
}

func TestWhatCannotBeComputedHasAReason(t *testing.T) {
	nan := math.NaN()
	_, err := stats.AUROC([]float64{1, 2}, []bool{true, true})
	wantStatus(t, "one class", err, plumblinev1.Status_STATUS_NOT_APPLICABLE)
	_, err = stats.AUROC([]float64{1, nan}, []bool{true, false})
	wantStatus(t, "NaN", err, plumblinev1.Status_STATUS_INVALID_INPUT)
	_, err = stats.AUROC(nil, nil)
	wantStatus(t, "nothing", err, plumblinev1.Status_STATUS_TOO_FEW_ITEMS)
	_, err = stats.AUROC([]float64{1}, []bool{true, false})
	wantStatus(t, "unequal length", err, plumblinev1.Status_STATUS_INVALID_INPUT)
	_, err = stats.Pearson([]float64{1, 1}, []float64{1, 2})
	wantStatus(t, "constant", err, plumblinev1.Status_STATUS_NOT_APPLICABLE)
	// Ten times 0.1 sums to less than 1: by their sums these lists vary.
	low, high := slices.Repeat([]float64{0.1}, 10), slices.Repeat([]float64{0.7}, 10)
	_, err = stats.Pearson(low, high)
	wantStatus(t, "two constants, by Pearson", err, plumblinev1.Status_STATUS_NOT_APPLICABLE)
	_, err = stats.Spearman(low, high)
	wantStatus(t, "two constants, by Spearman", err, plumblinev1.Status_STATUS_NOT_APPLICABLE)
	if mean, deviation := stats.Moments(low); mean != 0.1 || deviation != 0 {
		t.Errorf("ten times 0.1 has mean %v and deviation %v", mean, deviation)
	}
	_, err = stats.FitPlatt(t.Context(), low, []bool{true, false, true, false, true, false, true, false, true, true})
	wantStatus(t, "a constant that sums do not tell", err, plumblinev1.Status_STATUS_NOT_APPLICABLE)
	_, err = stats.Wilcoxon([]float64{1, 2}, []float64{1, 2})
	wantStatus(t, "no difference", err, plumblinev1.Status_STATUS_NOT_APPLICABLE)
	_, err = stats.Brier([]float64{1.5}, []bool{true})
	wantStatus(t, "above 1", err, plumblinev1.Status_STATUS_INVALID_INPUT)
	_, err = stats.EqualWidthBins([]float64{0.5}, []bool{true}, 0)
	wantStatus(t, "no bins", err, plumblinev1.Status_STATUS_INVALID_INPUT)
	_, err = stats.FitPlatt(t.Context(), []float64{1, 1}, []bool{true, false})
	wantStatus(t, "constant score", err, plumblinev1.Status_STATUS_NOT_APPLICABLE)
	_, err = stats.FitLogistic(t.Context(), matrix([][]float64{{0}, {1}}), []float64{0, 1}, math.Inf(1))
	wantStatus(t, "separable without a penalty", err, plumblinev1.Status_STATUS_NOT_APPLICABLE)
	_, err = stats.Holm([]float64{nan})
	wantStatus(t, "p NaN", err, plumblinev1.Status_STATUS_INVALID_INPUT)
}

func TestPlattIsMonotoneAndFiniteWhereClassesSeparate(t *testing.T) {
	p, err := stats.FitPlatt(t.Context(), []float64{1, 2, 3, 4}, []bool{false, false, true, true})
	if err != nil {
		t.Fatal(err)
	}
	if !(p.Slope > 0) || math.IsInf(p.Slope, 0) {
		t.Fatalf("slope = %v", p.Slope)
	}
	if low, high := p.Predict(1), p.Predict(4); !(0 < low && low < 0.5 && 0.5 < high && high < 1) {
		t.Fatalf("P(1) = %v, P(4) = %v", low, high)
	}
}

func TestBootstrapIsReproducibleAndCoversTheMean(t *testing.T) {
	values := []float64{0, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1}
	mean := func(weights []int32, out []float64) {
		sum := 0.0
		for i, w := range weights {
			sum += float64(w) * values[i]
		}
		out[0], out[1] = sum/float64(len(values)), math.NaN()
	}
	run := func() []stats.Interval {
		intervals, err := stats.Bootstrap(t.Context(), len(values), stats.Resampling{Draws: 2000, Seed: 7}, 2, mean)
		if err != nil {
			t.Fatal(err)
		}
		return intervals
	}
	first := run()
	if second := run(); first[0] != second[0] {
		t.Fatalf("%v and %v from one seed", first[0], second[0])
	}
	// The binomial's own 2.5 % and 97.5 % quantiles of 16 draws at 10/16.
	if got := first[0]; got.Value != 0.625 || got.Lower != 0.375 || got.Upper != 0.875 || got.Draws != 2000 {
		t.Fatalf("interval %+v", got)
	}
	wantStatus(t, "no figure", first[1].Err, plumblinev1.Status_STATUS_NOT_APPLICABLE)
}

func TestABootstrapEndsWithItsContext(t *testing.T) {
	const n, draws, enough = 100, 1_000_000, 20
	ctx, cancel := context.WithCancel(t.Context())
	var begun, drawn atomic.Int64
	_, err := stats.Bootstrap(ctx, n, stats.Resampling{Draws: draws, Drawn: func() {
		if drawn.Add(1) == enough {
			cancel()
		}
	}}, 1, func(_ []int32, out []float64) {
		begun.Add(1)
		out[0] = 1
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	// The data themselves, and on each core at most the draw that was under way.
	if most := int64(1 + enough + 2*runtime.GOMAXPROCS(0)); begun.Load() > most {
		t.Errorf("%d statistics were begun, at most %d after %d draws", begun.Load(), most, enough)
	}
	if _, err := stats.Bootstrap(ctx, n, stats.Resampling{Draws: 1}, 1, func([]int32, []float64) { t.Error("begun after the end") }); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

func TestDrawsAreCounted(t *testing.T) {
	var drawn atomic.Int64
	if _, err := stats.Bootstrap(t.Context(), 5, stats.Resampling{Draws: 77, Drawn: func() { drawn.Add(1) }}, 1, func(_ []int32, out []float64) { out[0] = 1 }); err != nil || drawn.Load() != 77 {
		t.Errorf("%d draws, %v", drawn.Load(), err)
	}
}

func TestRankedAgreesWithRecordsThatAreRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 25).Draw(t, "n")
		scores := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}), n, n).Draw(t, "scores")
		labels := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "labels")
		weights := rapid.SliceOfN(rapid.Int32Range(0, 3), n, n).Draw(t, "weights")
		var repeated []float64
		var repeatedLabels []bool
		for i, w := range weights {
			for range w {
				repeated, repeatedLabels = append(repeated, scores[i]), append(repeatedLabels, labels[i])
			}
		}
		ranked, err := stats.NewRanked(scores, labels)
		if err != nil {
			t.Fatal(err)
		}
		reversed, err := stats.NewRanked(negated(scores), labels)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := ranked.Reversed(), reversed; got.AUROC(weights) != want.AUROC(weights) && !math.IsNaN(want.AUROC(weights)) {
			t.Fatalf("reversed: %v, want %v", got.AUROC(weights), want.AUROC(weights))
		}
		area, err := stats.AUROC(repeated, repeatedLabels)
		if got := ranked.AUROC(weights); (err != nil) != math.IsNaN(got) || err == nil && math.Abs(got-area) > 1e-12 {
			t.Fatalf("AUROC %v, want %v, %v", got, area, err)
		}
		if len(repeated) > 0 {
			coverage, err := stats.AURC(repeated, repeatedLabels)
			if got := ranked.AURC(weights); err != nil || math.Abs(got-coverage) > 1e-12 {
				t.Fatalf("AURC %v, want %v, %v", got, coverage, err)
			}
			brier, err := stats.Brier(repeated, repeatedLabels)
			got := ranked.Brier(scores, weights)
			for _, pair := range [][2]float64{
				{got.Brier, brier.Brier},
				{got.Reliability, brier.Reliability},
				{got.Resolution, brier.Resolution},
				{got.Uncertainty, brier.Uncertainty},
			} {
				if err != nil || math.Abs(pair[0]-pair[1]) > 1e-12 {
					t.Fatalf("Brier %+v, want %+v, %v", got, brier, err)
				}
			}
		}
		precision, err := stats.AUPRC(repeated, repeatedLabels)
		if got := ranked.AUPRC(weights); err == nil && math.Abs(got-precision) > 1e-12 {
			t.Fatalf("AUPRC %v, want %v", got, precision)
		}
	})
}

func negated(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = -v
	}
	return out
}

func TestOperatingPointsAreThinnedEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 60).Draw(t, "n")
		scores := rapid.SliceOfN(rapid.Float64Range(0, 1), n, n).Draw(t, "scores")
		labels := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "labels")
		labels[0], labels[1] = true, false
		most := rapid.IntRange(2, 80).Draw(t, "most")
		all, err := stats.OperatingPoints(scores, labels, 0)
		if err != nil {
			t.Fatal(err)
		}
		some, err := stats.OperatingPoints(scores, labels, most)
		if err != nil || len(some) != min(most, len(all)) {
			t.Fatalf("%d of %d points, at most %d; %v", len(some), len(all), most, err)
		}
		for i, p := range some {
			if want := all[i*(len(all)-1)/(len(some)-1)]; p != want {
				t.Fatalf("point %d is %v, want %v", i, p, want)
			}
		}
	})
}

func TestRankedPairAgreesWithRecordsThatAreRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 20).Draw(t, "n")
		values := rapid.SliceOfN(rapid.SampledFrom([]float64{-1, 0, 0.5, 2}), n, n)
		x, y := values.Draw(t, "x"), values.Draw(t, "y")
		weights := rapid.SliceOfN(rapid.Int32Range(0, 3), n, n).Draw(t, "weights")
		var rx, ry []float64
		for i, w := range weights {
			for range w {
				rx, ry = append(rx, x[i]), append(ry, y[i])
			}
		}
		pair, err := stats.NewRankedPair(x, y)
		if err != nil {
			t.Fatal(err)
		}
		want, err := stats.Spearman(rx, ry)
		if got := pair.Spearman(weights); (err != nil) != math.IsNaN(got) || err == nil && math.Abs(got-want) > 1e-12 {
			t.Fatalf("ρ %v, want %v, %v", got, want, err)
		}
	})
}

func TestAUROCIsInvariantAndSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Float64Range(-5, 5), 2, 40).Draw(t, "scores")
		labels := rapid.SliceOfN(rapid.Bool(), len(scores), len(scores)).Draw(t, "labels")
		area, err := stats.AUROC(scores, labels)
		if err != nil {
			t.Skip("one class")
		}
		mapped, negated := make([]float64, len(scores)), make([]float64, len(scores))
		for i, s := range scores {
			mapped[i], negated[i] = 2*s, -s
		}
		if again, _ := stats.AUROC(mapped, labels); again != area {
			t.Fatalf("%v after a rising map, %v before", again, area)
		}
		if opposite, _ := stats.AUROC(negated, labels); math.Abs(opposite+area-1) > 1e-12 {
			t.Fatalf("%v negated, %v before", opposite, area)
		}
	})
}

func TestIsotonicNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Float64Range(0, 1), 2, 60).Draw(t, "scores")
		labels := rapid.SliceOfN(rapid.Bool(), len(scores), len(scores)).Draw(t, "labels")
		f, err := stats.FitIsotonic(scores, labels)
		if err != nil {
			t.Skip("one class")
		}
		last := -1.0
		for s := -0.1; s <= 1.1; s += 0.01 {
			p := f.Predict(s)
			if p < last || p < 0 || p > 1 {
				t.Fatalf("P(%v) = %v after %v", s, p, last)
			}
			last = p
		}
	})
}

// TestProbabilitiesAreThoseOfTheGate: thresholds are set on them, and a last bit would
// put a whole group of ties on the wrong side.
func TestProbabilitiesAreThoseOfTheGate(t *testing.T) {
	for z := -8.0; z < 8; z += 1.0 / 257 {
		if got, want := (stats.Platt{Slope: 1}).Predict(z), gate.Sigmoid(z); got != want {
			t.Errorf("at %v: %v, the gate has %v", z, got, want)
		}
	}
}
