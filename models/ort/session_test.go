package ort

import (
	"context"
	"errors"
	"testing"
	"time"

	"plumbline/internal/orttest"
	"plumbline/models/bundled"
)

// openRunner opens the bundled model and one runner of it.
func openRunner(t *testing.T) *Runner {
	t.Helper()
	model, err := bundled.Load()
	if err != nil {
		t.Fatal(err)
	}
	session, err := Open(Library{Path: orttest.Library(t)}, model)
	if err != nil {
		t.Fatal(err)
	}
	runner, err := session.NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(runner.Close(), session.Close()); err != nil {
			t.Error(err)
		}
	})
	return runner
}

func TestRunRefusesWhatDoesNotFit(t *testing.T) {
	runner := openRunner(t)
	for _, c := range []struct{ ids, types int }{{0, 0}, {513, 513}, {4, 3}} {
		if _, err := runner.Run(t.Context(), make([]int64, c.ids), make([]int64, c.types)); err == nil {
			t.Errorf("%d ids and %d types were run", c.ids, c.types)
		}
	}
	// An id outside the vocabulary is the library's error, not a crash.
	if _, err := runner.Run(t.Context(), []int64{1 << 40}, []int64{0}); err == nil {
		t.Error("an id outside the vocabulary was run")
	}
	if logits, err := runner.Run(t.Context(), []int64{101, 102}, []int64{0, 0}); err != nil || len(logits) != 3 {
		t.Errorf("after errors: %v, %v", logits, err)
	}
}

// TestTheEndOfACallStopsItsRun: the longest pair, which takes the model long,
// has no answer once its call has ended, and leaves nothing for the next run. A
// machine that is busy may let a run get through before it hears of the end.
func TestTheEndOfACallStopsItsRun(t *testing.T) {
	runner := openRunner(t)
	ids, types := make([]int64, 512), make([]int64, 512)
	stopped := false
	for wait := time.Duration(0); wait < 20*time.Millisecond && !stopped; wait += time.Millisecond {
		call, cancel := context.WithTimeout(t.Context(), wait)
		_, err := runner.Run(call, ids, types)
		stopped = errors.Is(err, context.DeadlineExceeded)
		cancel()
		if logits, err := runner.Run(t.Context(), ids[:8], types[:8]); err != nil || len(logits) != 3 {
			t.Fatalf("the next run: %v, %v", logits, err)
		}
	}
	if !stopped {
		t.Error("no run was stopped")
	}
}
