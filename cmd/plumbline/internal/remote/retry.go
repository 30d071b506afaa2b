package remote

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/semaphore"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"plumbline/cmd/plumbline/internal/records"
	"plumbline/server/fault"
)

const (
	// firstWait and longestWait bound the wait before a call is made again, beside
	// what the server asks for.
	firstWait   = 100 * time.Millisecond
	longestWait = 2 * time.Second
	// callsBeforeGrowth is how many calls go well before one more is in flight: of
	// about as many, one is refused while the server is full.
	callsBeforeGrowth = 16
	// betweenNotices is how long a call waits before Options.Waiting is told, and the
	// least time between two notices.
	betweenNotices = 10 * time.Second
)

// caller makes calls, and makes them again until the server takes them. gRPC's own
// retries end after a few tries, and pass over requests that are large.
type caller struct {
	parallel int64
	places   *semaphore.Weighted // of the calls in flight
	waiting  func(string)

	mu       sync.Mutex
	withheld int64 // places that nobody gets while the server is full
	well     int   // calls that went well since withheld has changed
	noticed  time.Time
}

func newCaller(o Options) *caller {
	parallel := int64(max(o.Parallel, 1))
	return &caller{parallel: parallel, places: semaphore.NewWeighted(parallel), waiting: o.Waiting}
}

// call makes a call until the server has worked on it, ctx ends, or the run of records
// that it is part of is interrupted while it waits. The error is the server's last, or
// records.ErrInterrupted.
func call[Req, Res any](
	ctx context.Context, c *caller, request *Req,
	rpc func(context.Context, *Req, ...grpc.CallOption) (*Res, error),
) (*Res, error) {
	waits := &backoff.ExponentialBackOff{
		InitialInterval: firstWait, MaxInterval: longestWait,
		Multiplier: 2, RandomizationFactor: backoff.DefaultRandomizationFactor,
	}
	var refusal error
	waiting, done := records.Waiting(ctx)
	defer done()
	for start := time.Now(); ; {
		if c.places.Acquire(waiting, 1) != nil {
			if refusal == nil {
				refusal = fault.New(fault.From(waiting.Err()).Reason, "the server had no place for the call in time").Status().Err()
			}
			return nil, endOf(waiting, refusal)
		}
		response, err := rpc(ctx, request)
		delay, refused := refusalOf(err)
		c.leave(err == nil, refused && status.Code(err) == codes.ResourceExhausted)
		if sent := statusOf(err); sent.Code() == codes.DeadlineExceeded && len(sent.Details()) == 0 {
			// gRPC's words tell of how it ended the stream.
			return nil, fault.New(fault.DeadlineExceeded, "the server did not answer in time").Status().Err()
		}
		if !refused {
			return response, err
		}
		refusal = err
		c.notice(start, err)
		select {
		case <-time.After(delay + waits.NextBackOff()):
		case <-waiting.Done():
			return nil, endOf(waiting, refusal)
		}
	}
}

// endOf is the error of a call whose wait has ended.
func endOf(waiting context.Context, refusal error) error {
	if cause := context.Cause(waiting); errors.Is(cause, records.ErrInterrupted) {
		return cause
	}
	return refusal
}

// refusalOf says whether the server did no work for a reason that passes, and how
// long it asks to be left alone.
func refusalOf(err error) (delay time.Duration, refused bool) {
	sent := statusOf(err)
	var reason fault.Reason
	for _, detail := range sent.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			reason = fault.Reason(detail.GetReason())
		case *errdetails.RetryInfo:
			delay = detail.GetRetryDelay().AsDuration()
		}
	}
	// Without a reason of ours the server was not reached, or something before it
	// has answered.
	refused = reason == fault.Overloaded || sent.Code() == codes.Unavailable && reason != fault.VerifierUnavailable
	return delay, refused
}

// leave gives the place of a call back. A server that is full gets fewer calls: the
// place of one that it refuses is withheld. Others come back one by one as calls go
// well. One place always stays.
func (c *caller) leave(well, full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	free := int64(1)
	switch {
	case full && c.withheld < c.parallel-1:
		c.withheld++
		c.well, free = 0, 0
	case well && c.withheld > 0:
		c.well++
		if c.well == callsBeforeGrowth {
			c.withheld--
			c.well, free = 0, 2
		}
	}
	c.places.Release(free)
}

// notice tells now and then of a call that waits since start.
func (c *caller) notice(start time.Time, err error) {
	c.mu.Lock()
	now := time.Now()
	due := c.waiting != nil && now.Sub(start) >= betweenNotices && now.Sub(c.noticed) >= betweenNotices
	if due {
		c.noticed = now
	}
	c.mu.Unlock()
	if due {
		c.waiting(statusOf(err).Message())
	}
}
