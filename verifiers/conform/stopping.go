package conform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// longCall is how long the call would take that is stopped.
	longCall = 3 * time.Second
	// stopAfter is when it is stopped.
	stopAfter = 200 * time.Millisecond
	// returnTime is how long a stopped call may take to return.
	returnTime = 2 * time.Second
	// maxLongCall bounds its pairs.
	maxLongCall = 1500
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
// than the return.
func (s *subject) stops(ctx context.Context, stopping func(context.Context) (context.Context, context.CancelFunc), want error, code codes.Code) error {
	short, err := s.timed(ctx)
	if err != nil {
		return err
	}
	if short, err = s.timed(ctx); err != nil { // the first may have warmed it up
		return err
	}
	n := min(max(int(longCall/max(short, time.Microsecond)), 2), maxLongCall)
	long := s.fresh(n)

	stopped, cancel := stopping(ctx)
	defer cancel()
	begin := time.Now()
	_, err = s.ask(stopped, long)
	took := time.Since(begin)
	switch {
	case err == nil:
		return skipped(fmt.Sprintf("%d pairs were scored before the call could be stopped", n))
	case !errors.Is(err, want) && status.Code(err) != code:
		return fmt.Errorf("the stopped call ended with: %w", err)
	case took > stopAfter+returnTime:
		return fmt.Errorf("the call returned %s after it was stopped", (took - stopAfter).Round(time.Millisecond))
	}
	after, err := s.timed(ctx)
	if err != nil {
		return fmt.Errorf("a call after the stopped one: %w", err)
	}
	left := time.Duration(n)*short - stopAfter
	if patience := max(left/2, 3*short, 500*time.Millisecond); after > patience {
		return fmt.Errorf("a call of one pair took %s after a call of %d pairs was stopped, and %s before: the work goes on",
			after.Round(time.Millisecond), n, short.Round(time.Millisecond))
	}
	return nil
}
