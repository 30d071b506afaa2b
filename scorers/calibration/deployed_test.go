package calibration_test

import (
	"fmt"
	"math/rand/v2"
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
