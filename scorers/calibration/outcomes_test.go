package calibration_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration"
	"plumbline/scorers/calibration/stats"
	"plumbline/scorers/gate"
)

func TestBestGain(t *testing.T) {
	scores, labels := []float64{4, 3, 2, 1}, make([]bool, 4)
	for name, c := range map[string]struct {
		gains, grid []float64
		fired       int
		threshold   float64
	}{
		"the best prefix":                        {[]float64{1, -0.5, 1, -2}, nil, 3, 1.5},
		"equal gains go to fewer":                {[]float64{1, -1, 1, 0}, nil, 1, 3.5},
		"rounding is no gain":                    {[]float64{0.3, 0.1, 0.2, -0.3}, nil, 3, 1.5},
		"nothing to gain fires never":            {[]float64{-1, -1, -1, -1}, nil, 0, 4},
		"a grid":                                 {[]float64{1, -0.5, 1, -2}, []float64{0, 3.5, 2.5}, 1, 3.5},
		"a grid whose order must not matter":     {[]float64{1, -1, 1, 0}, []float64{1.5, 3.5}, 1, 3.5},
		"0.1 + 0.2 − 0.3 is nothing to fire for": {[]float64{0.1, 0.2, -0.3, 0}, []float64{4, 1.5}, 0, 4},
	} {
		got, err := calibration.BestGain(scores, c.gains, labels, c.grid)
		if err != nil || got.Fired != c.fired || got.Threshold != c.threshold {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestBestGainIsBestOfAllThresholds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		scores := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1, 2, 3}), n, n).Draw(t, "scores")
		gains := rapid.SliceOfN(rapid.Float64Range(-1, 1), n, n).Draw(t, "gains")
		best, err := calibration.BestGain(scores, gains, make([]bool, n), nil)
		if err != nil {
			t.Fatal(err)
		}
		gain := func(threshold float64) (sum float64) {
			for i, s := range scores {
				if s > threshold {
					sum += gains[i]
				}
			}
			return sum
		}
		for _, tau := range []float64{-1, 0, 0.5, 1, 2, 3} {
			if gain(tau) > gain(best.Threshold)+1e-9 {
				t.Fatalf("%v gains %v, the best of %v only %v", tau, gain(tau), best.Threshold, gain(best.Threshold))
			}
		}
	})
}

// paired are questions whose confidence tells when retrieval helps: below 0.6 it
// does, above it harms.
func paired(t *testing.T, n int, label *bool) *calibration.Data {
	t.Helper()
	var d calibration.Data
	for i := range n {
		confidence := float64(i) / float64(n)
		always := calibration.Outcome{F1: 0.9, Cost: calibration.Cost{Passages: 5, Tokens: 100}}
		if confidence >= 0.6 {
			always.F1 = 0.3
		}
		if confidence >= 0.3 && confidence < 0.6 {
			always.F1 = 0.55 // helps by 0.05, a cent for each passage
		}
		if err := d.Add(calibration.Record{
			ID: fmt.Sprint(i), Label: label, Signals: map[string]float64{"c": confidence},
			Probe: calibration.Cost{Tokens: 7},
			Arms:  map[string]calibration.Outcome{"never": {F1: 0.5}, "always": always},
		}); err != nil {
			t.Fatal(err)
		}
	}
	return &d
}

func TestThresholdsFromOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		options   *plumblinev1.FitOptions
		low, high float64
	}{
		"validation F1":                  {&plumblinev1.FitOptions{Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_VALIDATION_F1}, 0.59, 0.61},
		"validation F1 over a grid":      {&plumblinev1.FitOptions{Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_VALIDATION_F1, ThresholdGrid: []float64{0, 0.3, 0.5, 0.7, 0.9, 1}}, 0.5, 0.5},
		"a price of 0.02 for a passage":  {&plumblinev1.FitOptions{Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_COST_SENSITIVE, Target: proto.Float64(0.02)}, 0.29, 0.31},
		"a price of 0.0001 for a token":  {&plumblinev1.FitOptions{Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_COST_SENSITIVE, Target: proto.Float64(0.0001), CostUnit: plumblinev1.CostUnit_COST_UNIT_TOKENS}, 0.59, 0.61},
		"a price of 0.001 for a token":   {&plumblinev1.FitOptions{Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_COST_SENSITIVE, Target: proto.Float64(0.001), CostUnit: plumblinev1.CostUnit_COST_UNIT_TOKENS}, 0.29, 0.31},
		"an isotonic floor by Youden":    {&plumblinev1.FitOptions{Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_YOUDEN, Combination: plumblinev1.Combination_COMBINATION_ISOTONIC}, 0.59, 0.61},
		"an isotonic floor by its gains": {&plumblinev1.FitOptions{Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_VALIDATION_F1, Combination: plumblinev1.Combination_COMBINATION_ISOTONIC}, 0.59, 0.61},
	} {
		c.options.DataName, c.options.Bootstrap = "made", 20
		d := paired(t, 2000, nil)
		if c.options.GetMethod() == plumblinev1.ThresholdMethod_THRESHOLD_METHOD_YOUDEN {
			// Youden's point needs labels; those of the benefit.
			if err := calibration.Prepare(t.Context(), d, &plumblinev1.FitOptions{Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_VALIDATION_F1}); err != nil {
				t.Fatal(err)
			}
		}
		r, err := calibration.Fit(t.Context(), d, c.options, nil)
		if err != nil || r.GetPolicy() == nil {
			t.Errorf("%s: %v, %v", name, r.GetReason(), err)
			continue
		}
		if v := r.GetSignals()[0]; v.GetDirection() != plumblinev1.WeakWhen_WEAK_WHEN_LOW || v.GetThreshold() < c.low || v.GetThreshold() > c.high {
			t.Errorf("%s: threshold %v %v, want %v to %v", name, v.GetDirection(), v.GetThreshold(), c.low, c.high)
		}
	}
	_, err := calibration.Fit(t.Context(), paired(t, 20, nil), &plumblinev1.FitOptions{
		DataName: "made", Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_COST_SENSITIVE,
	}, nil)
	wantStatus(t, err, plumblinev1.Status_STATUS_INVALID_INPUT)
}

func TestReplayAddsTheProbeAndReportsFailuresApart(t *testing.T) {
	var d calibration.Data
	for i := range 40 {
		if err := d.Add(calibration.Record{
			ID: fmt.Sprint(i), Dataset: []string{"a", "b"}[i%2], Signals: map[string]float64{"c": float64(i) / 40},
			Probe: calibration.Cost{Tokens: 7, Calls: 1},
			Arms: map[string]calibration.Outcome{
				"answer": {F1: 0.5, Cost: calibration.Cost{Tokens: 10}},
				"search": {F1: 1, Failed: i%4 == 0, Cost: calibration.Cost{Tokens: 100}},
			},
		}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := calibration.ReplayRecords(t.Context(), &d, &plumblinev1.ReplayOptions{
		Score: "c", Below: true, Threshold: proto.Float64(0.5), NeverArm: "answer", AlwaysArm: "search", Bootstrap: 50,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	metric := func(policies []*plumblinev1.RoutedPolicy, name, metric string) float64 {
		for _, p := range policies {
			if p.GetName() == name {
				return p.GetMetrics()[metric].GetValue()
			}
		}
		t.Fatalf("no routing %q", name)
		return 0
	}
	// Half of the questions take 100 tokens, half 10, all 7 for the probe.
	for name, want := range map[string]float64{"policy": 62, "always": 100, "never": 10, "random": 55} {
		if got := metric(r.GetPolicies(), name, "tokens"); got != want {
			t.Errorf("%s: %v tokens, want %v", name, got, want)
		}
	}
	if r.GetFailures()["search"] != 10 || r.GetFailures()["answer"] != 0 {
		t.Errorf("failures %v", r.GetFailures())
	}
	if with, without := metric(r.GetPolicies(), "always", "f1"), metric(r.GetSuccessOnly(), "always", "f1"); with != 0.75 || without != 1 {
		t.Errorf("always: F1 %v, %v over successes", with, without)
	}
	if len(r.GetGroups()) != 2 {
		t.Errorf("%d groups", len(r.GetGroups()))
	}
	family := 0
	for _, c := range r.GetComparisons() {
		if c.GetDataset() == "" && c.PAdjusted != nil {
			t.Error("the test over all questions is not of the family of the groups")
		}
		if c.PAdjusted != nil {
			family++
			if c.GetPAdjusted() < c.GetPValue() {
				t.Errorf("adjusted %v below %v", c.GetPAdjusted(), c.GetPValue())
			}
		}
	}
	if family == 0 {
		t.Error("no test of a group was adjusted")
	}
	// The frontier goes from never to always, and its last thresholds route as it
	// says: all but the question of the highest score, and all.
	frontier := r.GetFrontier()
	for _, c := range []struct {
		point             *plumblinev1.FrontierPoint
		routeRate, tokens float64
	}{
		{frontier[0], 0, 7 + 10},
		{frontier[len(frontier)-2], 39.0 / 40, 7 + 100 - 90.0/40},
		{frontier[len(frontier)-1], 1, 7 + 100},
	} {
		if c.point.GetRouteRate() != c.routeRate || math.Abs(c.point.GetTokens()-c.tokens) > 1e-9 {
			t.Errorf("frontier: %v, want a route rate of %v and %v tokens", c.point, c.routeRate, c.tokens)
		}
		at, err := calibration.ReplayRecords(t.Context(), &d, &plumblinev1.ReplayOptions{
			Score: "c", Below: true, Threshold: new(c.point.GetThreshold()), NeverArm: "answer", AlwaysArm: "search", Bootstrap: 1,
		}, nil)
		if err != nil || metric(at.GetPolicies(), "policy", "route_rate") != c.routeRate {
			t.Errorf("the threshold %v routes %v, %v", c.point.GetThreshold(), at.GetPolicies()[0], err)
		}
	}
}

func TestRankings(t *testing.T) {
	var d calibration.Data
	for i, r := range []calibration.Ranking{
		{Ranked: []string{"a", "b", "c"}, Gold: []string{"b"}, Window: 2},              // in the window, second
		{Ranked: []string{"a", "b", "c"}, Gold: []string{"c", "a"}, Window: 2},         // one of two in it
		{Ranked: []string{"x", "y", "z", "gold"}, Gold: []string{"gold"}},              // below the window of 3
		{Ranked: []string{"x"}, Gold: []string{"gold"}, Window: 3},                     // not found
		{Ranked: []string{"x"}, Gold: nil, Unanswerable: true},                         // left out
		{Ranked: []string{"g", "g", "h"}, Gold: []string{"g", "h"}, Window: 2},         // a repeated item counts once
		{Ranked: []string{"g", "h", "h"}, Gold: []string{"g", "h", "h"}, Window: 1000}, // as does a repeated id of gold
	} {
		if err := d.Add(calibration.Record{ID: fmt.Sprint(i), Ranking: &r}); err != nil {
			t.Fatal(err)
		}
	}
	all := make([]int, d.Len())
	for i := range all {
		all[i] = i
	}
	figures, n, err := calibration.MeasureRankings(t.Context(), &d, all, stats.Resampling{Draws: 20})
	if err != nil || n != 6 {
		t.Fatalf("%d, %v", n, err)
	}
	for name, want := range map[string]float64{
		"recall_at_window": 4.0 / 6, "gold_share_at_window": (1 + 0.5 + 0 + 0 + 0.5 + 1) / 6,
		"full_gold_at_window": 2.0 / 6, "mrr": (0.5 + 1 + 0.25 + 0 + 1 + 1) / 6,
	} {
		if got := figures[name].Value; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	for i, want := range []bool{false, true, true, true, false, true, false} {
		label, ok := d.Label(i)
		if unanswerable := i == 4; ok == unanswerable || ok && label != want {
			t.Errorf("record %d: label %v, %v", i, label, ok)
		}
	}
	if err := d.Add(calibration.Record{ID: "x", Ranking: &calibration.Ranking{Ranked: []string{"a"}}}); err == nil || !strings.Contains(err.Error(), "gold_ids") {
		t.Errorf("no gold: %v", err)
	}
}

// The error among the records committed to stays below alpha in at least the
// share 1 − delta of fits, though the signal is chosen among several by the data.
func TestFittedRiskIsControlled(t *testing.T) {
	const fits, n, alpha, delta = 40, 500, 0.2, 0.1
	generator := rand.New(rand.NewPCG(7, 8))
	violations, attained := 0, 0
	for range fits {
		var d calibration.Data
		for i := range n {
			// An answer is wrong with chance 0.6·(1 − u), so that the risk of
			// committing at u ≥ τ is exactly 0.3·(1 − τ).
			u := generator.Float64()
			wrong := generator.Float64() < (1-u)*0.6
			if err := d.Add(calibration.Record{
				ID: fmt.Sprint(i), Label: &wrong, Split: calibration.Calibration,
				Signals: map[string]float64{"u": u, "noise": generator.Float64(), "more noise": generator.Float64()},
			}); err != nil {
				t.Fatal(err)
			}
		}
		r, err := calibration.Fit(t.Context(), &d, &plumblinev1.FitOptions{
			DataName: "made", Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_RISK_CONTROL,
			Alpha: proto.Float64(alpha), Delta: proto.Float64(delta), MinSeparation: proto.Float64(0.5), Bootstrap: 2,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.GetPolicy() == nil {
			continue
		}
		attained++
		tau, ok := r.GetPolicy().GetThresholds()["u"]
		if !ok || len(r.GetPolicy().GetThresholds()) != 1 {
			t.Fatalf("risk control bounds one score, the best one; got %v", r.GetPolicy().GetThresholds())
		}
		if 0.3*(1-tau) > alpha {
			violations++
		}
	}
	// Three standard errors above delta.
	if limit := delta + 3*math.Sqrt(delta*(1-delta)/fits); float64(violations)/fits > limit {
		t.Errorf("%d of %d fits exceed the bound", violations, fits)
	}
	if attained < fits*8/10 {
		t.Errorf("attained in %d of %d fits only", attained, fits)
	}
}

func TestComparisonOfScoresAndPolicies(t *testing.T) {
	generator := rand.New(rand.NewPCG(9, 10))
	var d calibration.Data
	for i := range 600 {
		label := generator.Float64() < 0.5
		good, bad := generator.Float64()*0.6, generator.Float64()
		if label {
			good += 0.4
		}
		if err := d.Add(calibration.Record{
			ID: fmt.Sprint(i), Dataset: []string{"a", "b", "c"}[i%3], Label: &label,
			Signals: map[string]float64{"good": good, "bad": bad},
		}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := calibration.Evaluate(t.Context(), &d, &plumblinev1.EvaluateOptions{Score: "good", AgainstScore: "bad", Bootstrap: 200}, calibration.Policies{})
	if err != nil {
		t.Fatal(err)
	}
	all := r.GetComparisons()[0]
	want := r.GetMetrics()["auroc"].GetValue() - r.GetAgainstMetrics()["auroc"].GetValue()
	if all.GetMetric() != "auroc" || math.Abs(all.GetDifference().GetValue()-want) > 1e-12 || all.GetDifference().GetLower() <= 0 {
		t.Errorf("AUROC differs by %v, want %v", all.GetDifference(), want)
	}
	if n := len(r.GetComparisons()); n != 4*4 { // AUROC, AUPRC, AURC, Brier; all and three groups
		t.Errorf("%d comparisons", n)
	}
	if len(r.GetGroups()) != 3 || len(r.GetCurves()) != 3 || len(r.GetReliability()) != 3 {
		t.Errorf("%d groups, %d curves, %d calibrations", len(r.GetGroups()), len(r.GetCurves()), len(r.GetReliability()))
	}
	policies := map[string]*gate.Gate{}
	for _, signal := range []string{"good", "bad"} {
		fit, err := calibration.Fit(t.Context(), &d, &plumblinev1.FitOptions{DataName: "made", Signals: []string{signal}, MinSeparation: proto.Float64(0), Bootstrap: 10}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if policies[signal], _, err = gate.Compile(fit.GetPolicy(), gate.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	r, err = calibration.Evaluate(t.Context(), &d, &plumblinev1.EvaluateOptions{Policy: "good", AgainstPolicy: "bad", Bootstrap: 200, Split: plumblinev1.Split_SPLIT_TEST},
		calibration.Policies{Policy: policies["good"], Against: policies["bad"]})
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, c := range r.GetComparisons() {
		if c.GetMetric() == "accuracy" && c.GetDataset() != "" {
			tested++
			if c.PAdjusted == nil || c.GetPAdjusted() < c.GetPValue() {
				t.Errorf("%v", c)
			}
		}
	}
	if tested != 3 {
		t.Errorf("%d groups tested", tested)
	}
	_, err = calibration.Evaluate(t.Context(), &d, &plumblinev1.EvaluateOptions{Score: "good", AgainstPolicy: "bad"}, calibration.Policies{})
	wantStatus(t, err, plumblinev1.Status_STATUS_INVALID_INPUT)
}

// Few records separate by chance.
func TestASignalOfFewRecordsIsNotJudged(t *testing.T) {
	var d calibration.Data
	for i := range 200 {
		label := i%2 == 0
		signals := map[string]float64{"all": float64(i % 100)}
		if label {
			signals["all"] -= 60
		}
		if i < 8 {
			signals["few"] = float64(labelNumber(label))
		}
		if err := d.Add(calibration.Record{ID: fmt.Sprint(i), Label: &label, Signals: signals, Split: calibration.Calibration}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := calibration.Fit(t.Context(), &d, &plumblinev1.FitOptions{DataName: "made", Bootstrap: 5}, nil)
	if err != nil {
		t.Fatal(err)
	}
	few := r.GetSignals()[1]
	if few.GetSignal() != "few" || few.GetKept() || few.GetSeparation().GetStatus() != plumblinev1.Status_STATUS_TOO_FEW_ITEMS ||
		!strings.Contains(few.GetReason(), "4 positive and 4 negative") {
		t.Errorf("%v", few)
	}
}

// A signal that some questions do not have, such as how many of their numbers
// were found, must not make the policy fire on all of those.
func TestASignalThatSomeRecordsLackIsOptional(t *testing.T) {
	var d calibration.Data
	for i := range 400 {
		label := i%2 == 0
		signals := map[string]float64{"always": float64(i % 50)}
		if label {
			signals["always"] -= 30
		}
		if i%4 < 2 { // as often with either label
			signals["sometimes"] = 1 - float64(labelNumber(label)) + float64(i%7)/10
		}
		if err := d.Add(calibration.Record{ID: fmt.Sprint(i), Label: &label, Signals: signals}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := calibration.Fit(t.Context(), &d, &plumblinev1.FitOptions{DataName: "made", Bootstrap: 5}, nil)
	if err != nil {
		t.Fatal(err)
	}
	compiled, _, err := gate.Compile(r.GetPolicy(), gate.Options{})
	if err != nil || len(r.GetPolicy().GetThresholds()) != 2 {
		t.Fatalf("%v, %v", r, err)
	}
	for name, c := range map[string]struct {
		values gate.Values
		want   plumblinev1.Action
	}{
		"one is missing that often is": {gate.Values{"always": gate.Number(45)}, plumblinev1.Action_ACTION_COMMIT},
		"one is missing that never is": {gate.Values{"sometimes": gate.Number(1)}, plumblinev1.Action_ACTION_ESCALATE},
		"both are missing":             {gate.Values{}, plumblinev1.Action_ACTION_ESCALATE},
		"the optional one fires":       {gate.Values{"always": gate.Number(45), "sometimes": gate.Number(0)}, plumblinev1.Action_ACTION_ESCALATE},
	} {
		if got := compiled.Decide(c.values).Action; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func labelNumber(label bool) int {
	if label {
		return 1
	}
	return 0
}

// A signal that is called as a score of the telemetry but lies outside its range
// is taken for missing by the policy; that must not pass unseen.
func TestSignalsThatThePolicyCannotReadAreWarnedOf(t *testing.T) {
	var d calibration.Data
	for i := range 100 {
		label := i%2 == 0
		value := -float64(i % 50)
		if label {
			value -= 40
		}
		if err := d.Add(calibration.Record{ID: fmt.Sprint(i), Label: &label, Signals: map[string]float64{"perplexity": value, "my-own.signal": value}}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := calibration.Fit(t.Context(), &d, &plumblinev1.FitOptions{DataName: "made", Bootstrap: 5, Signals: []string{"perplexity"}}, nil)
	if err != nil || !strings.Contains(strings.Join(r.GetWarnings(), "\n"), "perplexity lies outside the range") {
		t.Errorf("warnings %v, %v", r.GetWarnings(), err)
	}
	r, err = calibration.Fit(t.Context(), &d, &plumblinev1.FitOptions{DataName: "made", Bootstrap: 5, Signals: []string{"my-own.signal"}}, nil)
	if err != nil || len(r.GetWarnings()) > 0 || r.GetPolicy() == nil {
		t.Errorf("any other name is free: %v, %v", r, err)
	}
}

// A score is cut at 0.5 unless said otherwise, on the side that is asked for:
// each of two scores on its own.
func TestScoresAreCutAtOneHalfInTheirOwnDirection(t *testing.T) {
	var d calibration.Data
	for i := range 100 {
		label := i < 30
		low := 0.6
		if label {
			low = 0.4
		}
		if err := d.Add(calibration.Record{ID: fmt.Sprint(i), Label: &label, Signals: map[string]float64{"low": low, "high": 1 - low}}); err != nil {
			t.Fatal(err)
		}
	}
	for name, options := range map[string]*plumblinev1.EvaluateOptions{
		"by default":             {},
		"as asked":               {Threshold: proto.Float64(0.5)},
		"between the two scores": {Threshold: proto.Float64(0.55)},
	} {
		options.Score, options.Below, options.AgainstScore, options.Bootstrap = "low", true, "high", 2
		r, err := calibration.Evaluate(t.Context(), &d, options, calibration.Policies{})
		if err != nil {
			t.Fatal(err)
		}
		for which, metrics := range map[string]map[string]*plumblinev1.Estimate{"first": r.GetMetrics(), "second": r.GetAgainstMetrics()} {
			if got := metrics["accuracy"].GetValue(); got != 1 {
				t.Errorf("%s, the %s: accuracy %v, want 1", name, which, got)
			}
		}
	}
}

// However small the groups are, calibration gets its share of the records, of each
// label, and of every group as nearly as whole records allow; in any order of the
// input.
func TestTheShareHoldsOverManySmallGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 100).Draw(t, "sizes")
		share := rapid.Float64Range(0.05, 0.95).Draw(t, "share")
		seed := rapid.Uint64().Draw(t, "seed")
		var records []calibration.Record
		for group, size := range sizes {
			for i := range size {
				label := (group+i)%3 == 0
				records = append(records, calibration.Record{ID: fmt.Sprint(group, "/", i), Dataset: fmt.Sprint(group), Label: &label})
			}
		}
		assigned := func() *calibration.Data {
			var d calibration.Data
			for _, r := range records {
				if err := d.Add(r); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Assign(context.Background(), share, seed); err != nil {
				t.Fatal(err)
			}
			return &d
		}
		type stratum struct {
			dataset string
			label   bool
		}
		all, calibrating := map[stratum]int{}, map[stratum]int{}
		d := assigned()
		for i := range d.Len() {
			label, _ := d.Label(i)
			for _, s := range []stratum{{d.Group(i).Dataset, label}, {"all", label}} {
				all[s]++
				if d.Split(i) == calibration.Calibration {
					calibrating[s]++
				}
			}
		}
		for s, n := range all {
			if off := math.Abs(float64(calibrating[s]) - share*float64(n)); off > 1+1e-9 {
				t.Fatalf("%v: %d of %d calibrate at a share of %v", s, calibrating[s], n, share)
			}
		}
		slices.Reverse(records)
		again := assigned()
		for i := range d.Len() {
			if d.Split(i) != again.Split(d.Len()-1-i) {
				t.Fatal("another order of the records gave another split")
			}
		}
	})
}
