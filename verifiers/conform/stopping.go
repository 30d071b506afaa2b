package conform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"plumbline/verifiers/internal/deadline"
)

const (
	// longCall is about how long the call takes that is stopped, within bounds
	// of its pairs.
	longCall         = 6 * time.Second
	minLong, maxLong = 200, 3000
	// stopAfter is when it is stopped.
	stopAfter = 100 * time.Millisecond
	// returnTime is how long a stopped call may take to return.
	returnTime = 2 * time.Second
	// underway is how many pairs may be in the model when a call is stopped, as
	// a batch that cannot be taken apart any more.
	underway = 64
	// sample is how many pairs are timed to tell what one costs.
	sample = 8
)

func stopsWhenCancelled(ctx context.Context, s *subject) error {
	return s.stops(ctx, func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(stopAfter, cancel)
		return ctx, cancel
	}, context.Canceled, codes.Canceled)
}

func stopsAtTheDeadline(ctx context.Context, s *subject) error {
	return s.stops(ctx, func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, stopAfter)
	}, context.DeadlineExceeded, codes.DeadlineExceeded)
}

// stops stops a long call and sees whether it returns, and whether a short call
// after it has to wait for its work. The latter shows only where the verifier
// scores for a while and one call at a time; elsewhere the check cannot see more
// than the return. A machine that is busy with something else looks the same for
// once, so that a failure must show twice.
func (s *subject) stops(ctx context.Context, stopping stopper, want error, code codes.Code) error {
	if err := s.stopsOnce(ctx, stopping, want, code); err == nil || errors.As(err, new(skipped)) || ctx.Err() != nil {
		return err
	}
	return s.stopsOnce(ctx, stopping, want, code)
}

// stopper is a context that soon ends.
type stopper func(context.Context) (context.Context, context.CancelFunc)

func (s *subject) stopsOnce(ctx context.Context, stopping stopper, want error, code codes.Code) error {
	if _, err := s.timed(ctx, 1); err != nil { // it warms up
		return err
	}
	short, err := s.fastest(ctx, 1)
	if err != nil {
		return err
	}
	several, err := s.fastest(ctx, sample)
	if err != nil {
		return err
	}
	each := max(several/sample, time.Microsecond)
	long := s.fresh(min(max(int(longCall/each), minLong), maxLong))

	stopped, cancel := stopping(ctx)
	defer cancel()
	begin := time.Now()
	_, err = s.ask(stopped, long)
	took := time.Since(begin)
	switch {
	case err == nil:
		return skipped(fmt.Sprintf("%d pairs were scored before the call could be stopped", len(long)))
	case errors.Is(err, errNoResult) && deadline.Passing(stopped) != nil:
		// Its clock saw the deadline before ours did.
	case !errors.Is(err, want) && status.Code(err) != code:
		return fmt.Errorf("the stopped call ended with: %w", err)
	case took > stopAfter+returnTime:
		return fmt.Errorf("the call returned %s after it was stopped", (took - stopAfter).Round(time.Millisecond))
	}
	after, err := s.timed(ctx, 1)
	if err != nil {
		return fmt.Errorf("a call after the stopped one: %w", err)
	}
	if after > max(4*short, underway*each, 500*time.Millisecond) {
		return fmt.Errorf("a call of one pair took %s after a call of %d pairs was stopped, and %s before: the work goes on",
			after.Round(time.Millisecond), len(long), short.Round(time.Millisecond))
	}
	return nil
}
