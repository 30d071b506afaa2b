// Package guard keeps a verifier that fails from failing its callers more than
// it must, and callers from overwhelming it: a limit on concurrent calls, a
// bound on the time of a call, retries with a budget, and a circuit breaker.
package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/semaphore"

	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/verifiers"
)

const (
	// firstPause and longestPause are between attempts, before jitter.
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
	// longestWait is for a place where there is no Timeout.
	longestWait = 10 * time.Second
	// patience is what a call must have waited for its passed deadline to count
	// against the verifier: a caller in a great hurry says nothing about it.
	patience = time.Second
)

// Config bounds what is asked of a verifier.
type Config struct {
	// MaxCalls is how many calls may be inside at once, at least 1. Others wait for them,
	// up to half of Timeout, or longestWait where there is none.
	MaxCalls int
	// Timeout bounds a call with all its attempts; 0 leaves that to the caller.
	Timeout time.Duration
	// Retries is how many further attempts a call may make.
	Retries int
	// BreakerFailures is after how many failures in a row the breaker opens and
	// refuses calls at once; 0 means that there is no breaker.
	BreakerFailures int
	// BreakerPause is how long it stays open before one call may try.
	BreakerPause time.Duration
	// Observer is told what happens; its nil fields are skipped.
	Observer Observer
}

// Observer hears of what callers do not see. Its functions are quick.
type Observer struct {
	// Retry is called before each further attempt.
	Retry func(failure error)
	// State is called when the breaker has changed.
	State func(State)
}

// State is the breaker's.
type State = gobreaker.State

// The states: calls pass, calls are refused, one call may try.
const (
	Closed   = gobreaker.StateClosed
	Open     = gobreaker.StateOpen
	HalfOpen = gobreaker.StateHalfOpen
)

var errOpen = fmt.Errorf("%w: it failed again and again, and its circuit breaker is open", entail.ErrUnavailable)

// Verifier guards a verifier. It implements verifiers.Backend.
type Verifier struct {
	next    verifiers.Backend
	config  Config
	calls   *semaphore.Weighted
	budget  budget
	breaker *gobreaker.CircuitBreaker[entail.Batch]
}

// New puts a guard in front of next, which it owns from then on.
func New(next verifiers.Backend, config Config) *Verifier {
	return &Verifier{
		next:    next,
		config:  config,
		calls:   semaphore.NewWeighted(int64(max(config.MaxCalls, 1))),
		budget:  budget{tokens: budgetReserve},
		breaker: newBreaker(config),
	}
}

func newBreaker(config Config) *gobreaker.CircuitBreaker[entail.Batch] {
	settings := gobreaker.Settings{
		Timeout: config.BreakerPause,
		ReadyToTrip: func(counts gobreaker.Counts) bool {
			return config.BreakerFailures > 0 && int(counts.ConsecutiveFailures) >= config.BreakerFailures
		},
		IsSuccessful: func(err error) bool { return err == nil },
		IsExcluded:   neutral,
	}
	if config.Observer.State != nil {
		settings.OnStateChange = func(_ string, _, to gobreaker.State) { config.Observer.State(to) }
	}
	return gobreaker.NewCircuitBreaker[entail.Batch](settings)
}

// State is the breaker's state of the moment.
func (v *Verifier) State() State { return v.breaker.State() }

// Verify implements entail.Verifier. Where no place becomes free it is entail.ErrBusy;
// with the breaker open, entail.ErrUnavailable.
func (v *Verifier) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	if v.breaker.State() == Open {
		return entail.Batch{}, errOpen
	}
	waited, err := v.acquire(ctx)
	if err != nil {
		return entail.Batch{}, err
	}
	defer v.calls.Release(1)
	v.budget.deposit()
	bounded, cancel := v.bound(ctx)
	defer cancel()
	batch, err := v.attempts(bounded, func() (entail.Batch, error) {
		batch, err := v.next.Verify(bounded, pairs)
		if waited && errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
			err = hurriedError{err} // the wait has taken the caller's time
		}
		return batch, err
	})
	if err != nil {
		return entail.Batch{}, v.outcome(ctx, err)
	}
	return batch, nil
}

// Describe implements entail.Verifier. It is guarded as calls are, except that
// a description, which may come from memory, is no sign of recovery and earns no
// retries.
func (v *Verifier) Describe(ctx context.Context) (description entail.Description, err error) {
	bounded, cancel := v.bound(ctx)
	defer cancel()
	_, err = v.attempts(bounded, func() (entail.Batch, error) {
		description, err = v.next.Describe(bounded)
		if err == nil {
			err = errDescribed
		}
		return entail.Batch{}, err
	})
	if errors.Is(err, errDescribed) {
		return description, nil
	}
	return entail.Description{}, v.outcome(ctx, err)
}

// errDescribed is a success that the breaker does not count.
var errDescribed = errors.New("described")

// Probe implements verifiers.Backend. Behind an open breaker nobody is probed.
func (v *Verifier) Probe(ctx context.Context) error {
	if v.breaker.State() == Open {
		return errOpen
	}
	return v.next.Probe(ctx)
}

// Close implements verifiers.Backend.
func (v *Verifier) Close() error { return v.next.Close() }

// acquire takes a place, and says whether it had to wait. One request makes many
// calls at once, so that a few fill the verifier: more calls than places are no
// failure.
func (v *Verifier) acquire(ctx context.Context) (waited bool, err error) {
	if v.calls.TryAcquire(1) {
		return false, nil
	}
	wait := longestWait
	if v.config.Timeout > 0 {
		wait = v.config.Timeout / 2
	}
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if v.calls.Acquire(bounded, 1) == nil {
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return true, err
	}
	return true, entail.ErrBusy
}

func (v *Verifier) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if v.config.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, v.config.Timeout)
}

// outcome tells our own time limit from the caller's.
func (v *Verifier) outcome(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("%w: no answer within %v", entail.ErrUnavailable, v.config.Timeout)
	}
	return err
}

// attempts asks until there is an answer, a failure that would only repeat, or
// no room for another attempt.
func (v *Verifier) attempts(ctx context.Context, ask func() (entail.Batch, error)) (entail.Batch, error) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstPause, longestPause
	for attempt := 0; ; attempt++ {
		batch, err := v.attempt(ask)
		if attempt == v.config.Retries || !transient(err) {
			return batch, err
		}
		pause := pauses.NextBackOff()
		if asked, ok := errors.AsType[*entail.RetryAfter](err); ok {
			pause += asked.After
		}
		if !fits(ctx, pause) || !v.budget.withdraw() {
			return batch, err
		}
		if v.config.Observer.Retry != nil {
			v.config.Observer.Retry(err)
		}
		if sleep(ctx, pause) != nil {
			return batch, err
		}
	}
}

// attempt asks once, if the breaker lets it.
func (v *Verifier) attempt(ask func() (entail.Batch, error)) (entail.Batch, error) {
	begun := time.Now()
	batch, err := v.breaker.Execute(func() (entail.Batch, error) {
		batch, err := ask()
		if err == nil {
			err = verifiers.Outage(batch)
		}
		if errors.Is(err, context.DeadlineExceeded) && time.Since(begun) < patience {
			err = hurriedError{err}
		}
		return batch, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		err = errOpen
	}
	if hurried, ok := errors.AsType[hurriedError](err); ok {
		err = hurried.error
	}
	return batch, err
}

// hurriedError marks a deadline that passed before the verifier can be blamed.
type hurriedError struct{ error }

func (e hurriedError) Unwrap() error { return e.error }

// neutral says which outcomes tell nothing about the verifier's health: those
// of the caller, of its input, and of a verifier that works but is full.
func neutral(err error) bool {
	_, hurried := errors.AsType[hurriedError](err)
	_, input := errors.AsType[*score.Missing](err)
	return hurried || input || errors.Is(err, context.Canceled) || errors.Is(err, errDescribed) ||
		errors.Is(err, entail.ErrBusy) || errors.Is(err, entail.ErrRejected) || errors.Is(err, entail.ErrClosed)
}

// transient says whether the same call may fare better soon. A verifier that is
// full is asked again only if it says when.
func transient(err error) bool {
	_, invited := errors.AsType[*entail.RetryAfter](err)
	return invited || errors.Is(err, entail.ErrUnavailable) && !errors.Is(err, errOpen)
}

// fits says whether a pause ends before the deadline.
func fits(ctx context.Context, pause time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > pause
}

func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
