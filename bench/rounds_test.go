package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// note is a contender that writes its name down when it runs.
func note(name string, order *[]string) contender {
	return contender{name: name, work: 1, run: func(context.Context) ([]time.Duration, error) {
		*order = append(*order, name)
		return []time.Duration{time.Millisecond, 3 * time.Millisecond}, nil
	}}
}

func TestContendersTakeTurnsAndTheFirstRoundDoesNotCount(t *testing.T) {
	var order []string
	outcomes, err := alternate(t.Context(), 2, note("a", &order), note("b", &order))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, ""); got != "abbaab" {
		t.Errorf("the order is %s, want abbaab", got)
	}
	for _, o := range outcomes {
		if len(o.rates) != 2 || len(o.calls) != 4 || !slices.IsSorted(o.calls) {
			t.Errorf("%s: rates %v, calls %v; want two rounds of two calls, sorted", o.name, o.rates, o.calls)
		}
	}
}

func TestAContenderThatFailsIsNamed(t *testing.T) {
	broken := errors.New("broken")
	_, err := alternate(t.Context(), 1, contender{name: "peer", run: func(context.Context) ([]time.Duration, error) { return nil, broken }})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "peer") {
		t.Errorf("error = %v, want broken of the peer", err)
	}
}

func TestQuantilesAndMedians(t *testing.T) {
	o := outcome{}
	for i := range 100 {
		o.calls = append(o.calls, time.Duration(i+1))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := o.quantile(q); got != want {
			t.Errorf("quantile %v = %d, want %d", q, got, want)
		}
	}
	if odd, even := median([]float64{3, 1, 2}), median([]float64{4, 1, 2, 3}); odd != 2 || even != 2.5 {
		t.Errorf("medians %v and %v, want 2 and 2.5", odd, even)
	}
}

func TestEveryTaskIsDoneOnceByTheCallers(t *testing.T) {
	var mu sync.Mutex
	seen := map[int]int{}
	took, err := callers(t.Context(), 3, []int{1, 2, 3, 4, 5}, func(_ context.Context, task int) error {
		mu.Lock()
		defer mu.Unlock()
		seen[task]++
		return nil
	})
	if err != nil || len(took) != 5 || len(seen) != 5 {
		t.Errorf("%d times, tasks %v, %v", len(took), seen, err)
	}
	broken := errors.New("broken")
	if _, err := callers(t.Context(), 3, []int{1, 2}, func(context.Context, int) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error = %v, want broken", err)
	}
}

func TestAbsentDataIsSkippedWithAReason(t *testing.T) {
	var out bytes.Buffer
	s := &session{settings: settings{data: t.TempDir()}, out: &out}
	if err := engineBesideLoop(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "skipped") || !strings.Contains(out.String(), "-data") {
		t.Errorf("output %q, want the reason and the flag", out.String())
	}
}

func TestAnUnknownExperimentIsNamed(t *testing.T) {
	if _, err := choose([]string{"engine", "nonsense"}); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error = %v", err)
	}
	if all, err := choose(nil); err != nil || len(all) != len(experiments()) {
		t.Errorf("no name chooses %d experiments, %v", len(all), err)
	}
}
