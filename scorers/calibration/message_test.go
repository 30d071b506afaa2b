package calibration_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"plumbline/internal/shareddata"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/answer"
	"plumbline/scorers/calibration"
	"plumbline/scorers/gate"
)

// synthetic makes records in which dense_stddev is low for weak retrievals,
// max_score repeats it with a little noise, and noise says nothing.
func synthetic(t *testing.T, n int) *calibration.Data {
	t.Helper()
	generator := rand.New(rand.NewPCG(3, 4))
	var d calibration.Data
	for i := range n {
		weak := generator.Float64() < 0.4
		stddev := 0.3 + 0.1*generator.NormFloat64()
		if weak {
			stddev -= 0.15
		}
		err := d.Add(calibration.Record{
			ID: fmt.Sprint(i), Dataset: "made", Label: &weak,
			Signals: map[string]float64{
				"dense_stddev": stddev,
				"max_score":    stddev + 0.02*generator.NormFloat64(),
				"noise":        generator.Float64(),
				"constant":     1,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return &d
}

func TestFitKeepsWhatSeparatesAndDropsRepeats(t *testing.T) {
	options := &plumblinev1.FitOptions{PolicyName: "made", DataName: "made", Seed: 1}
	r, err := calibration.Fit(t.Context(), synthetic(t, 2000), options, nil)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]*plumblinev1.SignalVerdict{}
	for _, v := range r.GetSignals() {
		verdicts[v.GetSignal()] = v
	}
	if v := verdicts["dense_stddev"]; !v.GetKept() || v.GetDirection() != plumblinev1.WeakWhen_WEAK_WHEN_LOW || v.GetUnexpectedDirection() {
		t.Errorf("dense_stddev: %v", v)
	}
	if v := verdicts["max_score"]; v.GetKept() || v.GetRedundantWith() != "dense_stddev" || v.GetCorrelation() < 0.9 {
		t.Errorf("max_score: %v", v)
	}
	if v := verdicts["noise"]; v.GetKept() || !strings.Contains(v.GetReason(), "bar") {
		t.Errorf("noise: %v", v)
	}
	if v := verdicts["constant"]; v.GetKept() || v.GetSeparation().GetStatus() != plumblinev1.Status_STATUS_NOT_APPLICABLE {
		t.Errorf("constant: %v", v)
	}
	if c := r.GetMetrics()["catch_rate"]; c.GetValue() < 0.65 || c.GetLower() >= c.GetValue() || c.GetUpper() <= c.GetValue() {
		t.Errorf("catch rate %v", c)
	}
	if r.GetCalibrationSize()+r.GetTestSize() != 2000 {
		t.Errorf("sizes %d + %d", r.GetCalibrationSize(), r.GetTestSize())
	}
	if !r.GetPolicy().GetProvenance().GetCalibrated() {
		t.Error("a fitted policy is calibrated")
	}
	again, err := calibration.Fit(t.Context(), synthetic(t, 2000), options, nil)
	if err != nil || !proto.Equal(r, again) {
		t.Errorf("the same data and seed gave another policy: %v", err)
	}
}

func TestEveryCombinationGivesAPolicyThatCompilesAndWorks(t *testing.T) {
	for _, combination := range []plumblinev1.Combination{
		plumblinev1.Combination_COMBINATION_ANY_FLOOR,
		plumblinev1.Combination_COMBINATION_LOGISTIC,
		plumblinev1.Combination_COMBINATION_PLATT,
	} {
		for _, method := range []plumblinev1.ThresholdMethod{
			plumblinev1.ThresholdMethod_THRESHOLD_METHOD_YOUDEN,
			plumblinev1.ThresholdMethod_THRESHOLD_METHOD_TARGET_RECALL,
			plumblinev1.ThresholdMethod_THRESHOLD_METHOD_BUDGET_QUANTILE,
		} {
			r, err := calibration.Fit(t.Context(), synthetic(t, 1000), &plumblinev1.FitOptions{
				DataName: "made", Combination: combination, Method: method, Target: proto.Float64(0.6),
			}, nil)
			if err != nil || r.GetPolicy() == nil {
				t.Errorf("%v, %v: %v, %v", combination, method, r.GetReason(), err)
				continue
			}
			if _, _, err := gate.Compile(r.GetPolicy(), gate.Options{}); err != nil {
				t.Errorf("%v, %v: %v", combination, method, err)
			}
			if accuracy := r.GetMetrics()["balanced_accuracy"].GetValue(); accuracy < 0.65 {
				t.Errorf("%v, %v: balanced accuracy %v", combination, method, accuracy)
			}
		}
	}
}

func TestBadRecordsAreNamed(t *testing.T) {
	var d calibration.Data
	yes := true
	if err := d.Add(calibration.Record{ID: "a", Label: &yes, Signals: map[string]float64{"x": 1}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		record calibration.Record
		want   string
	}{
		{calibration.Record{ID: "a"}, "record 1 has the same id"},
		{calibration.Record{ID: "b", Signals: map[string]float64{"x": math.NaN()}}, `signal "x" is not a finite number`},
		{calibration.Record{}, "it has no id"},
		{calibration.Record{ID: "c", Arms: map[string]calibration.Outcome{"never": {F1: 2}}}, `arm "never"`},
	} {
		err := d.Add(c.record)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "record 2") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if d.Len() != 1 {
		t.Errorf("%d records", d.Len())
	}
	_, err := calibration.Fit(t.Context(), &d, &plumblinev1.FitOptions{}, nil)
	wantStatus(t, err, plumblinev1.Status_STATUS_MISSING_INPUT)
	r, err := calibration.Fit(t.Context(), &d, &plumblinev1.FitOptions{DataName: "one record"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.GetPolicy() != nil || r.GetStatus() == plumblinev1.Status_STATUS_OK || r.GetReason() == "" {
		t.Errorf("one record gave %v", r)
	}
}

// The figures that scikit-learn gives for these rows.
func TestKnownSignalsOfNQ(t *testing.T) {
	var d calibration.Data
	type row struct {
		ID         string  `json:"id"`
		Perplexity float64 `json:"perplexity"`
		Entropy    float64 `json:"ln_entropy"`
		Eigen      float64 `json:"eigen_score"`
		Right      int     `json:"in_accuracy"`
	}
	for r := range shareddata.Rows[row](t, "data", "routing", "nq.signals.jsonl.gz") {
		right := r.Right == 1
		if err := d.Add(calibration.Record{ID: r.ID, Label: &right, Signals: map[string]float64{
			"perplexity": -r.Perplexity, "ln_entropy": -r.Entropy, "eigen_score": -r.Eigen,
		}}); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]float64{"perplexity": 0.629, "ln_entropy": 0.618, "eigen_score": 0.635} {
		r, err := calibration.Evaluate(t.Context(), &d, &plumblinev1.EvaluateOptions{Score: name}, calibration.Policies{})
		if err != nil || math.Abs(r.GetMetrics()["auroc"].GetValue()-want) > 0.0005 {
			t.Errorf("%s: AUROC %v, %v, want %v", name, r.GetMetrics()["auroc"], err, want)
		}
	}
}

// SeaKR's published threshold lies below every score of these rows, so that it
// always fires; the replay must say so.
func TestReplayOfAlwaysFiringThresholdWarns(t *testing.T) {
	var d calibration.Data
	type row struct {
		ID     string   `json:"id"`
		Gold   []string `json:"gold"`
		Never  string   `json:"answer_no_retrieval"`
		Always string   `json:"answer_one_retrieval"`
		Eigen  float64  `json:"seakr_last_step_eigen_score"`
	}
	for r := range shareddata.Rows[row](t, "data", "routing", "hotpotqa.paired.jsonl.gz") {
		f1 := func(prediction string) calibration.Outcome {
			o := calibration.Outcome{Cost: calibration.Cost{Calls: 1}}
			for _, gold := range r.Gold {
				o.F1 = max(o.F1, answer.F1(answer.SQuAD, prediction, gold))
			}
			return o
		}
		always := f1(r.Always)
		always.Passages = 5
		if err := d.Add(calibration.Record{
			ID: r.ID, Dataset: "hotpotqa", Signals: map[string]float64{"eigen_score": r.Eigen},
			Arms: map[string]calibration.Outcome{"never": f1(r.Never), "always": always},
		}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := calibration.ReplayRecords(t.Context(), &d, &plumblinev1.ReplayOptions{Score: "eigen_score", Threshold: proto.Float64(-6)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(r.GetWarnings(), "\n"), "fires on every record") {
		t.Errorf("warnings %v", r.GetWarnings())
	}
	f1 := map[string]float64{}
	for _, p := range r.GetPolicies() {
		f1[p.GetName()] = p.GetMetrics()["f1"].GetValue()
	}
	if f1["policy"] != f1["always"] || f1["oracle"] < f1["always"] || f1["oracle"] < f1["never"] {
		t.Errorf("F1 %v", f1)
	}
	t.Logf("F1 %v; benefit %v", f1, r.GetBenefit())
	for i := 1; i < len(r.GetFrontier()); i++ {
		if r.GetFrontier()[i].GetRouteRate() <= r.GetFrontier()[i-1].GetRouteRate() {
			t.Fatal("the frontier's route rate must rise")
		}
	}
}
