package calibration_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration"
	"plumbline/scorers/gate"
)

// longCalls are calls of every kind whose bootstraps would take long.
func longCalls(t *testing.T) map[string]func(context.Context) (proto.Message, error) {
	const endless = 500_000
	paired := paired(t, 300, nil)
	g := compiled(t)
	return map[string]func(context.Context) (proto.Message, error){
		"fit": func(ctx context.Context) (proto.Message, error) {
			return calibration.Fit(ctx, synthetic(t, 500), &plumblinev1.FitOptions{DataName: "made", Bootstrap: endless}, nil)
		},
		"evaluate a score": func(ctx context.Context) (proto.Message, error) {
			return calibration.Evaluate(ctx, synthetic(t, 500), &plumblinev1.EvaluateOptions{Score: "noise", Bootstrap: endless}, calibration.Policies{})
		},
		"evaluate a policy": func(ctx context.Context) (proto.Message, error) {
			return calibration.Evaluate(ctx, synthetic(t, 500), &plumblinev1.EvaluateOptions{Policy: "made", Bootstrap: endless}, calibration.Policies{Policy: g})
		},
		"compare": func(ctx context.Context) (proto.Message, error) {
			return calibration.Evaluate(ctx, synthetic(t, 500), &plumblinev1.EvaluateOptions{
				Score: "noise", AgainstScore: "max_score", Bootstrap: endless,
			}, calibration.Policies{})
		},
		"replay": func(ctx context.Context) (proto.Message, error) {
			return calibration.ReplayRecords(ctx, paired, &plumblinev1.ReplayOptions{Score: "c", Bootstrap: endless}, nil)
		},
	}
}

// compiled is a policy of the synthetic records.
func compiled(t *testing.T) *gate.Gate {
	t.Helper()
	fitted, err := calibration.Fit(t.Context(), synthetic(t, 500), &plumblinev1.FitOptions{DataName: "made", Bootstrap: 5}, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, _, err := gate.Compile(fitted.GetPolicy(), gate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestCallsEndWithTheirContext(t *testing.T) {
	for name, call := range longCalls(t) {
		ctx, cancel := context.WithCancel(t.Context())
		ctx = calibration.WithProgress(ctx, func(_ string, done, total int) {
			if done > 50 && done < total {
				cancel()
			}
		})
		if response, err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, %v", name, response, err)
		}
		stages := 0
		ctx = calibration.WithProgress(ctx, func(string, int, int) { stages++ })
		if _, err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, when nobody waits any more: %v", name, err)
		}
	}
}

func TestProgressRisesToTheEndOfEveryStage(t *testing.T) {
	const draws = 20
	for name, c := range map[string]struct {
		call func(context.Context) error
		want []string
	}{
		"fit": {func(ctx context.Context) error {
			_, err := calibration.Fit(ctx, synthetic(t, 3000), &plumblinev1.FitOptions{DataName: "made", Bootstrap: draws}, nil)
			return err
		}, []string{
			"digest of the records", "separation of signals", "figures of floors", "figures held out", "figures of the calibration split",
		}},
		"compare": {func(ctx context.Context) error {
			_, err := calibration.Evaluate(ctx, synthetic(t, 500), &plumblinev1.EvaluateOptions{
				Score: "dense_stddev", AgainstScore: "max_score", Bootstrap: draws,
			}, calibration.Policies{})
			return err
		}, []string{"figures", "calibration of the score", "figures of the second", "differences"}},
		"replay": {func(ctx context.Context) error {
			_, err := calibration.ReplayRecords(ctx, paired(t, 300, nil), &plumblinev1.ReplayOptions{
				Score: "c", Threshold: proto.Float64(0.5), Bootstrap: draws,
			}, nil)
			return err
		}, []string{"figures of routings", "benefit of retrieval", "differences"}},
	} {
		type step struct{ done, total int }
		last := map[string]step{}
		var order []string
		err := c.call(calibration.WithProgress(t.Context(), func(stage string, done, total int) {
			before, seen := last[stage]
			if !seen {
				order = append(order, stage)
			}
			if done < before.done || done > total {
				t.Errorf("%s, %s: %d of %d after %d", name, stage, done, total, before.done)
			}
			last[stage] = step{done, total}
		}))
		if err != nil || !slices.Equal(order, c.want) {
			t.Errorf("%s: stages %q, %v; want %q", name, order, err, c.want)
		}
		for stage, s := range last {
			if s.done != s.total {
				t.Errorf("%s, %s ends at %d of %d", name, stage, s.done, s.total)
			}
		}
	}
}
