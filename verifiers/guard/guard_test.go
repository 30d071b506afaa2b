package guard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/scorers/score"
	"plumbline/verifiers/guard"
)

// backend answers each call by the function of the moment and counts them.
type backend struct {
	calls, closed atomic.Int32
	verify        func(ctx context.Context) error
	describe      func() error
	probe         error
}

func (b *backend) Describe(ctx context.Context) (entail.Description, error) {
	if b.describe != nil {
		if err := b.describe(); err != nil {
			return entail.Description{}, err
		}
	}
	return entailtest.Overlap().Describe(ctx)
}

func (b *backend) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	b.calls.Add(1)
	if err := b.verify(ctx); err != nil {
		return entail.Batch{}, err
	}
	return entailtest.Overlap().Verify(context.WithoutCancel(ctx), pairs)
}

func (b *backend) Probe(context.Context) error { return b.probe }
func (b *backend) Close() error                { b.closed.Add(1); return nil }

var (
	pair    = []entail.Pair{{Premise: "rain falls", Hypothesis: "rain"}}
	errDown = fmt.Errorf("%w: connection refused", entail.ErrUnavailable)
)

func failing(err error) *backend {
	return &backend{verify: func(context.Context) error { return err }}
}

// times makes each of the first calls fail with its error.
func times(errs ...error) *backend {
	var calls atomic.Int32
	return &backend{verify: func(context.Context) error {
		if n := int(calls.Add(1)); n <= len(errs) {
			return errs[n-1]
		}
		return nil
	}}
}

// defaults has every protection; each test changes what it is about.
func defaults() guard.Config {
	return guard.Config{MaxCalls: 100, Timeout: 30 * time.Second, Retries: 2, BreakerFailures: 5, BreakerPause: 5 * time.Second}
}

func TestTransientFailuresAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := times(errDown, errDown)
		config := defaults()
		var retried []error
		config.Observer.Retry = func(err error) { retried = append(retried, err) }
		batch, err := guard.New(b, config).Verify(t.Context(), pair)
		if err != nil || batch.Results[0].Scores != entailtest.Support(1) || b.calls.Load() != 3 {
			t.Errorf("%+v, %v after %d calls", batch, err, b.calls.Load())
		}
		if !slices.Equal(retried, []error{errDown, errDown}) {
			t.Errorf("retries told: %v", retried)
		}
	})
}

func TestAnAttemptTooManyIsNotMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := failing(errDown)
		if _, err := guard.New(b, defaults()).Verify(t.Context(), pair); !errors.Is(err, entail.ErrUnavailable) || b.calls.Load() != 3 {
			t.Errorf("%v after %d calls", err, b.calls.Load())
		}
	})
}

func TestFailuresThatWouldRepeatAreNotRetried(t *testing.T) {
	for _, failure := range []error{
		entail.ErrBusy, entail.ErrRejected, entail.ErrBadReply, entail.ErrClosed, score.InvalidInput("no"), errors.New("defect"), context.Canceled,
	} {
		b := failing(failure)
		if _, err := guard.New(b, defaults()).Verify(t.Context(), pair); !errors.Is(err, failure) || b.calls.Load() != 1 {
			t.Errorf("%v: %v after %d calls", failure, err, b.calls.Load())
		}
	}
}

func TestAVerifierThatSaysWhenIsAskedThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := times(&entail.RetryAfter{After: 3 * time.Second, Err: entail.ErrBusy})
		begun := time.Now()
		if _, err := guard.New(b, defaults()).Verify(t.Context(), pair); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(begun); waited < 3*time.Second || waited > 4*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

// TestRetriesStayWithinTheDeadline: where the pause would outlast the deadline
// the failure is told at once, while the caller can still use it.
func TestRetriesStayWithinTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := failing(&entail.RetryAfter{After: time.Minute, Err: errDown})
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := guard.New(b, defaults()).Verify(ctx, pair)
		if !errors.Is(err, entail.ErrUnavailable) || b.calls.Load() != 1 || time.Since(begun) != 0 {
			t.Errorf("%v after %d calls and %v", err, b.calls.Load(), time.Since(begun))
		}
	})
}

func TestACancelledCallStopsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := failing(&entail.RetryAfter{After: 10 * time.Second, Err: errDown})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { time.Sleep(time.Second); cancel() }()
		begun := time.Now()
		if _, err := guard.New(b, defaults()).Verify(ctx, pair); err == nil || time.Since(begun) != time.Second || b.calls.Load() != 1 {
			t.Errorf("%v after %v and %d calls", err, time.Since(begun), b.calls.Load())
		}
	})
}

// TestRetriesCannotMultiplyTheLoad has no breaker, so that the budget alone
// must hold: a verifier that fails everything gets at most 1.2 attempts a call.
func TestRetriesCannotMultiplyTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := failing(errDown)
		config := defaults()
		config.BreakerFailures, config.Retries = 0, 3
		v := guard.New(b, config)
		const callers, each = 10, 20
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range each {
					_, _ = v.Verify(t.Context(), pair)
				}
			})
		}
		wg.Wait()
		if attempts := b.calls.Load(); attempts > callers*each*12/10 || attempts <= callers*each {
			t.Errorf("%d attempts for %d calls", attempts, callers*each)
		}
	})
}

func TestTheBreakerOpensProbesAndCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		b := &backend{verify: func(context.Context) error {
			if down {
				return errDown
			}
			return nil
		}}
		config := defaults()
		config.Retries = 0
		var states []guard.State
		config.Observer.State = func(s guard.State) { states = append(states, s) }
		v := guard.New(b, config)
		for range 20 {
			if _, err := v.Verify(t.Context(), pair); !errors.Is(err, entail.ErrUnavailable) {
				t.Fatal(err)
			}
		}
		if b.calls.Load() != 5 || v.State() != guard.Open || v.Probe(t.Context()) == nil {
			t.Errorf("%d calls, state %v", b.calls.Load(), v.State())
		}
		time.Sleep(6 * time.Second) // one call tries and fails
		for range 3 {
			_, _ = v.Verify(t.Context(), pair)
		}
		if b.calls.Load() != 6 || v.State() != guard.Open {
			t.Errorf("half-open: %d calls, state %v", b.calls.Load(), v.State())
		}
		down = false
		time.Sleep(6 * time.Second)
		for range 3 {
			if _, err := v.Verify(t.Context(), pair); err != nil {
				t.Errorf("after recovery: %v", err)
			}
		}
		if err := v.Probe(t.Context()); err != nil || v.State() != guard.Closed {
			t.Errorf("state %v, probe %v", v.State(), err)
		}
		want := []guard.State{guard.Open, guard.HalfOpen, guard.Open, guard.HalfOpen, guard.Closed}
		if !slices.Equal(states, want) {
			t.Errorf("states %v, want %v", states, want)
		}
	})
}

// TestHalfOpenLetsOneCallTry holds the probing call: meanwhile others are
// refused, and its cancellation gives its place back.
func TestHalfOpenLetsOneCallTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hang atomic.Bool
		b := &backend{verify: func(ctx context.Context) error {
			if !hang.Load() {
				return errDown
			}
			<-ctx.Done()
			return ctx.Err()
		}}
		config := defaults()
		config.Retries = 0
		v := guard.New(b, config)
		for range 5 {
			_, _ = v.Verify(t.Context(), pair)
		}
		time.Sleep(6 * time.Second)
		hang.Store(true)
		for range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { _, err := v.Verify(ctx, pair); done <- err }()
			synctest.Wait()
			inside := b.calls.Load()
			if _, err := v.Verify(t.Context(), pair); !errors.Is(err, entail.ErrUnavailable) || b.calls.Load() != inside {
				t.Errorf("a second call while one tries: %v", err)
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("the probing call: %v", err)
			}
		}
		if n := b.calls.Load(); n != 7 {
			t.Errorf("%d calls, want 5 failures and 2 that tried", n)
		}
	})
}

func TestWhatTheBreakerDoesNotCount(t *testing.T) {
	for _, failure := range []error{entail.ErrBusy, entail.ErrRejected, score.InvalidInput("no"), context.Canceled, context.DeadlineExceeded} {
		v := guard.New(failing(failure), defaults())
		for range 20 {
			_, _ = v.Verify(t.Context(), pair)
		}
		if v.State() != guard.Closed {
			t.Errorf("%v opened the breaker", failure)
		}
	}
}

func TestWhatTheBreakerCounts(t *testing.T) {
	config := defaults()
	config.Retries = 0
	for _, failure := range []error{errDown, entail.ErrBadReply, errors.New("defect")} {
		v := guard.New(failing(failure), config)
		for range 5 {
			_, _ = v.Verify(t.Context(), pair)
		}
		if v.State() != guard.Open {
			t.Errorf("%v did not open the breaker", failure)
		}
	}
}

// TestAHangOpensTheBreaker: a verifier that never answers is found by the time
// limit, whoever's it is.
func TestAHangOpensTheBreaker(t *testing.T) {
	hanging := func() *backend {
		return &backend{verify: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	}
	synctest.Test(t, func(t *testing.T) {
		v := guard.New(hanging(), defaults())
		for range 5 {
			if _, err := v.Verify(t.Context(), pair); !errors.Is(err, entail.ErrUnavailable) {
				t.Errorf("our limit: %v", err)
			}
		}
		if v.State() != guard.Open {
			t.Error("our limit did not count")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		v := guard.New(hanging(), defaults())
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			if _, err := v.Verify(ctx, pair); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the caller's limit: %v", err)
			}
			cancel()
		}
		if v.State() != guard.Open {
			t.Error("the caller's limit did not count")
		}
	})
}

func TestDescriptionsAreNoSignOfRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := failing(errDown)
		config := defaults()
		config.Retries = 0
		v := guard.New(b, config)
		for range 5 {
			if _, err := v.Describe(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, _ = v.Verify(t.Context(), pair)
		}
		if v.State() != guard.Open {
			t.Error("descriptions from memory kept the breaker closed")
		}
		if _, err := v.Describe(t.Context()); !errors.Is(err, entail.ErrUnavailable) {
			t.Errorf("Describe behind an open breaker: %v", err)
		}
	})
}

func TestDescriptionsThatFailCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := failing(nil)
		var described int
		b.describe = func() error { described++; return errDown }
		v := guard.New(b, defaults())
		for range 20 {
			if _, err := v.Describe(t.Context()); !errors.Is(err, entail.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		}
		if described != 5 || v.State() != guard.Open {
			t.Errorf("described %d times, state %v", described, v.State())
		}
	})
}

// TestCallsBeyondTheLimitWait for those inside as long as a call may take.
func TestCallsBeyondTheLimitWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := &backend{verify: func(context.Context) error { <-release; return nil }}
		config := defaults()
		config.MaxCalls = 3
		v := guard.New(b, config)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		done := make(chan error, 4)
		for range 3 {
			go func() { _, err := v.Verify(t.Context(), pair); done <- err }()
		}
		synctest.Wait()
		if _, err := v.Verify(short, pair); !errors.Is(err, context.DeadlineExceeded) || b.calls.Load() != 3 {
			t.Errorf("a call that cannot wait: %v", err)
		}
		begun := time.Now()
		if _, err := v.Verify(t.Context(), pair); !errors.Is(err, entail.ErrBusy) || time.Since(begun) != config.Timeout/2 {
			t.Errorf("a call that waits in vain: %v after %v", err, time.Since(begun))
		}
		go func() { _, err := v.Verify(t.Context(), pair); done <- err }()
		synctest.Wait()
		close(release)
		for range 4 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if _, err := v.Verify(t.Context(), pair); err != nil {
			t.Errorf("after the others: %v", err)
		}
	})
}

// TestWaitingOpensNoBreaker: what a call has left after a wait says nothing about
// the verifier.
func TestWaitingOpensNoBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := defaults()
		config.MaxCalls, config.Retries, config.BreakerFailures = 1, 0, 2
		v := guard.New(&backend{verify: func(ctx context.Context) error {
			select {
			case <-time.After(4 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}, config)
		var calls sync.WaitGroup
		for range 6 {
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
				defer cancel()
				_, _ = v.Verify(ctx, pair)
			})
		}
		calls.Wait()
		if v.State() != guard.Closed {
			t.Errorf("the breaker is %v", v.State())
		}
	})
}

// TestABatchWithoutAnyScoreIsAFailure: verifiers that report an outage pair by
// pair are retried as well.
func TestABatchWithoutAnyScoreIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &outages{backend: failing(nil)}
		v := guard.New(b, defaults())
		if _, err := v.Verify(t.Context(), pair); !errors.Is(err, entail.ErrUnavailable) || b.calls != 3 {
			t.Errorf("%v after %d calls", err, b.calls)
		}
	})
}

type outages struct {
	*backend
	calls int
}

func (o *outages) Verify(context.Context, []entail.Pair) (entail.Batch, error) {
	o.calls++
	return entail.Batch{Results: []entail.Result{{Err: score.Unavailable("no model")}}}, nil
}

func TestProbeAndCloseReachTheVerifier(t *testing.T) {
	b := failing(nil)
	b.probe = errDown
	v := guard.New(b, defaults())
	if err := v.Probe(t.Context()); !errors.Is(err, errDown) {
		t.Errorf("Probe: %v", err)
	}
	if err := v.Close(); err != nil || b.closed.Load() != 1 {
		t.Errorf("Close: %v", err)
	}
}
