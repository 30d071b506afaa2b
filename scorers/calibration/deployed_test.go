package calibration_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration"
	"plumbline/scorers/gate"
)

// deployed fits a policy and returns what its gate does on the calibration split:
// decisions and labels. ok is false where no policy is attainable.
func deployed(t *testing.T, d *calibration.Data, options *plumblinev1.FitOptions) (fired, labels []bool, ok bool) {
	t.Helper()
	options.DataName, options.Bootstrap = "made", 2
	r, err := calibration.Fit(t.Context(), d, options, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.GetPolicy() == nil {
		return nil, nil, false
	}
	g, _, err := gate.Compile(r.GetPolicy(), gate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var index []int
	for i := range d.Len() {
		if label, has := d.Label(i); has && d.Split(i) == calibration.Calibration {
			index, labels = append(index, i), append(labels, label)
		}
	}
	fired, err = calibration.Decide(t.Context(), d, index, g, calibration.InputName)
	if err != nil {
		t.Fatal(err)
	}
	return fired, labels, true
}

func count(all []bool) int {
	n := 0
	for _, yes := range all {
		if yes {
			n++
		}
	}
	return n
}

// A signal of few levels puts whole groups on the threshold, which the last bit
// of a probability must not decide; and what lacks the signal fires too.
func TestABudgetHoldsWhereTheGateIsDeployed(t *testing.T) {
	const budget = 0.4
	for _, combination := range []plumblinev1.Combination{
		plumblinev1.Combination_COMBINATION_PLATT,
		plumblinev1.Combination_COMBINATION_ISOTONIC,
		plumblinev1.Combination_COMBINATION_LOGISTIC,
	} {
		for lacking, share := range map[string]float64{"all have the signal": 0, "some lack the signal": 0.15} {
			attained := 0
			for seed := range uint64(40) {
				generator := rand.New(rand.NewPCG(seed, 1))
				var d calibration.Data
				for i := range 200 {
					level := generator.IntN(5)
					label := generator.IntN(6) > level
					record := calibration.Record{ID: fmt.Sprint(i), Label: &label, Split: calibration.Calibration}
					if generator.Float64() >= share {
						record.Signals = map[string]float64{"level": float64(level) * 0.1}
					}
					if err := d.Add(record); err != nil {
						t.Fatal(err)
					}
				}
				fired, _, ok := deployed(t, &d, &plumblinev1.FitOptions{
					Combination: combination, MinSeparation: proto.Float64(0.5),
					Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_BUDGET_QUANTILE, Target: proto.Float64(budget),
				})
				if !ok {
					continue
				}
				attained++
				if n := count(fired); float64(n) > budget*float64(len(fired)) {
					t.Errorf("%v, %s, seed %d: fires on %d of %d", combination, lacking, seed, n, len(fired))
				}
			}
			if attained < 30 {
				t.Errorf("%v, %s: attained for %d seeds only", combination, lacking, attained)
			}
		}
	}
}

// Where more lack the signal than the budget has room for, that is the answer.
func TestABudgetThatMissingSignalsExceedIsNotAttainable(t *testing.T) {
	var d calibration.Data
	for i := range 100 {
		label := i%2 == 0
		record := calibration.Record{ID: fmt.Sprint(i), Label: &label, Split: calibration.Calibration}
		if i >= 30 {
			record.Signals = map[string]float64{"s": float64(i%2) + float64(i)/1000}
		}
		if err := d.Add(record); err != nil {
			t.Fatal(err)
		}
	}
	for _, combination := range []plumblinev1.Combination{
		plumblinev1.Combination_COMBINATION_PLATT, plumblinev1.Combination_COMBINATION_LOGISTIC, plumblinev1.Combination_COMBINATION_ISOTONIC,
	} {
		r, err := calibration.Fit(t.Context(), &d, &plumblinev1.FitOptions{
			DataName: "made", Bootstrap: 2, Combination: combination,
			Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_BUDGET_QUANTILE, Target: proto.Float64(0.2),
		}, nil)
		if err != nil || r.GetPolicy() != nil || r.GetStatus() != plumblinev1.Status_STATUS_NOT_APPLICABLE {
			t.Errorf("%v: %v, %v", combination, r, err)
		}
	}
}

// severalSignals are records with up to four signals in either direction, of few
// or many levels, some of which some records lack, and the outcomes of two arms.
func severalSignals(t *testing.T, seed uint64) *calibration.Data {
	t.Helper()
	generator := rand.New(rand.NewPCG(seed, 2))
	signals, levels, prevalence := 1+generator.IntN(4), 2+generator.IntN(30), 0.2+0.6*generator.Float64()
	lacking := generator.Float64() * 0.3
	var d calibration.Data
	for i := range 150 {
		label := generator.Float64() < prevalence
		record := calibration.Record{
			ID: fmt.Sprint(i), Label: &label, Split: calibration.Calibration, Signals: map[string]float64{},
			Arms: map[string]calibration.Outcome{"never": {F1: generator.Float64()}, "always": {F1: generator.Float64()}},
		}
		for k := range signals {
			value := generator.Float64()
			if label {
				value += 0.5
			}
			value = float64(int(value*float64(levels))) / 10
			if k%2 == 1 {
				value = -value
			}
			if k == 0 && seed%2 == 0 || generator.Float64() >= lacking {
				record.Signals[fmt.Sprint("s", k)] = value
			}
		}
		if err := d.Add(record); err != nil {
			t.Fatal(err)
		}
	}
	return &d
}

// What a method promises holds for the policy as a whole, which fires if any of
// its signals does, not for each signal alone.
func TestAnyFloorKeepsWhatTheMethodPromises(t *testing.T) {
	for name, c := range map[string]struct {
		method plumblinev1.ThresholdMethod
		target float64
		holds  func(fired, labels []bool) bool
	}{
		"budget": {plumblinev1.ThresholdMethod_THRESHOLD_METHOD_BUDGET_QUANTILE, 0.3, func(fired, _ []bool) bool {
			return float64(count(fired)) <= 0.3*float64(len(fired))
		}},
		"precision": {plumblinev1.ThresholdMethod_THRESHOLD_METHOD_TARGET_PRECISION, 0.75, func(fired, labels []bool) bool {
			return float64(caught(fired, labels)) >= 0.75*float64(count(fired))
		}},
		"recall": {plumblinev1.ThresholdMethod_THRESHOLD_METHOD_TARGET_RECALL, 0.6, func(fired, labels []bool) bool {
			return float64(caught(fired, labels)) >= 0.6*float64(count(labels))
		}},
	} {
		attained := 0
		for seed := range uint64(150) {
			fired, labels, ok := deployed(t, severalSignals(t, seed), &plumblinev1.FitOptions{
				Method: c.method, Target: &c.target, MinSeparation: proto.Float64(0.5), MaxCorrelation: proto.Float64(1),
			})
			if !ok {
				continue
			}
			attained++
			if !c.holds(fired, labels) {
				t.Errorf("%s, seed %d: fires on %d of %d, catches %d of %d", name, seed, count(fired), len(fired), caught(fired, labels), count(labels))
			}
		}
		if attained < 75 {
			t.Errorf("%s: attained for %d seeds only", name, attained)
		}
	}
}

func caught(fired, labels []bool) int {
	n := 0
	for i := range fired {
		if fired[i] && labels[i] {
			n++
		}
	}
	return n
}

// Firing by the best gain is at least as good as never firing and as always
// firing, though every signal alone may gain by firing.
func TestAnyFloorGainsAsAWhole(t *testing.T) {
	for seed := range uint64(100) {
		d := severalSignals(t, seed)
		fired, _, ok := deployed(t, d, &plumblinev1.FitOptions{
			Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_VALIDATION_F1, MinSeparation: proto.Float64(0.5), MaxCorrelation: proto.Float64(1),
		})
		if !ok {
			continue
		}
		gain, always, unavoidable := 0.0, 0.0, 0.0
		for i := range fired {
			with, _ := d.Arm("always", i)
			without, _ := d.Arm("never", i)
			always += with.F1 - without.F1
			if fired[i] {
				gain += with.F1 - without.F1
			}
			lacks := true
			for _, name := range d.SignalNames() {
				_, has := d.Signal(name, i)
				lacks = lacks && !has
			}
			if lacks {
				unavoidable += with.F1 - without.F1
			}
		}
		if gain < always-1e-9 || gain < unavoidable-1e-9 {
			t.Errorf("seed %d: gains %v, always %v, never %v", seed, gain, always, unavoidable)
		}
	}
}

// A common level leaves no room unused, and the policy says how it was found.
func TestFloorsSetTogetherUseTheBudget(t *testing.T) {
	generator := rand.New(rand.NewPCG(5, 6))
	var d calibration.Data
	for i := range 2000 {
		label := generator.Float64() < 0.5
		signals := map[string]float64{"a": generator.NormFloat64(), "b": generator.NormFloat64()}
		if label {
			signals["a"]++
			signals["b"]--
		}
		if err := d.Add(calibration.Record{ID: fmt.Sprint(i), Label: &label, Split: calibration.Calibration, Signals: signals}); err != nil {
			t.Fatal(err)
		}
	}
	options := &plumblinev1.FitOptions{
		DataName: "made", Bootstrap: 2, Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_BUDGET_QUANTILE, Target: proto.Float64(0.3),
	}
	r, err := calibration.Fit(t.Context(), &d, options, nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "floors on 2 signals, set together at one level; at most 0.3 of the calibration records fire"
	if got := r.GetPolicy().GetProvenance().GetMethod(); got != want {
		t.Errorf("method %q, want %q", got, want)
	}
	rate := r.GetCalibrationMetrics()["escalation_rate"].GetValue()
	a, b := r.GetSignals()[0].GetEscalationRate().GetValue(), r.GetSignals()[1].GetEscalationRate().GetValue()
	if rate > 0.3 || rate < 0.299 || a != b {
		t.Errorf("fires on %v, by a signal %v and %v", rate, a, b)
	}
}

// A precision that a weak signal spoils is reached without it.
func TestASignalThatSpoilsThePrecisionIsLeftOut(t *testing.T) {
	var d calibration.Data
	for i := range 400 {
		label := i%2 == 0
		strong, weak := float64(i%50), float64(i%100)
		if label {
			strong, weak = strong+100, weak+20
		}
		if !label && weak > 90 { // the highest of the weak signal are negative
			weak += 1000
		}
		if err := d.Add(calibration.Record{
			ID: fmt.Sprint(i), Label: &label, Split: calibration.Calibration, Signals: map[string]float64{"strong": strong, "weak": weak},
		}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := calibration.Fit(t.Context(), &d, &plumblinev1.FitOptions{
		DataName: "made", Bootstrap: 2, MinSeparation: proto.Float64(0.5),
		Method: plumblinev1.ThresholdMethod_THRESHOLD_METHOD_TARGET_PRECISION, Target: proto.Float64(1),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	weak := r.GetSignals()[1]
	if precision := r.GetCalibrationMetrics()["precision"].GetValue(); precision != 1 || len(r.GetPolicy().GetInputs()) != 1 ||
		weak.GetKept() || !strings.Contains(weak.GetReason(), "no threshold reaches a precision of 1") {
		t.Errorf("precision %v, %v", precision, weak)
	}
}
