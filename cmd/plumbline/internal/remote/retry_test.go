package remote_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"plumbline/cmd/plumbline/internal/remote"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/fault"
)

// server answers calls in place of a connection.
type server func(ctx context.Context) error

// Invoke implements grpc.ClientConnInterface.
func (s server) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	return s(ctx)
}

// NewStream implements grpc.ClientConnInterface.
func (s server) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams")
}

func decide(ctx context.Context, c *remote.Client) error {
	_, err := c.Decide(ctx, &plumblinev1.DecideRequest{})
	return err
}

// refusal is an error as the server sends it.
func refusal(reason fault.Reason, after time.Duration) error {
	e := fault.New(reason, "the server's words")
	e.RetryAfter = after
	return e.Status().Err()
}

func TestCallsAreMadeAgainUntilTheServerTakesThem(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		after time.Duration
	}{
		"overloaded":   {refusal(fault.Overloaded, 3*time.Second), 3 * time.Second},
		"draining":     {refusal(fault.Draining, 0), 0},
		"not reached":  {status.Error(codes.Unavailable, "connection refused"), 0},
		"behind proxy": {status.Error(codes.Unavailable, "no healthy upstream"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const refused = 100
				calls := 0
				last := time.Now()
				client := remote.Options{}.NewClient(server(func(context.Context) error {
					if now := time.Now(); calls > 0 && now.Sub(last) <= test.after {
						t.Errorf("call %d came %v after the one before", calls, now.Sub(last))
					}
					last = time.Now()
					calls++
					if calls <= refused {
						return test.err
					}
					return nil
				}))
				if err := decide(t.Context(), client); err != nil || calls != refused+1 {
					t.Errorf("%v after %d calls", err, calls)
				}
			})
		})
	}
}

func TestCallsThatWouldFailAgainAreMadeOnce(t *testing.T) {
	t.Parallel()
	for _, want := range []error{
		refusal(fault.FieldInvalid, 0),
		refusal(fault.MessageTooLarge, 0),
		refusal(fault.VerifierUnavailable, 0),
		refusal(fault.Internal, 0),
		status.Error(codes.ResourceExhausted, "trying to send message larger than max"),
		status.Error(codes.DeadlineExceeded, "late"),
	} {
		calls := 0
		client := remote.Options{}.NewClient(server(func(context.Context) error {
			calls++
			return want
		}))
		if err := decide(t.Context(), client); status.Code(err) != status.Code(want) || calls != 1 {
			t.Errorf("%v after %d calls, want %v after one", err, calls, want)
		}
	}
}

func TestCallsThatAreLateHaveAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		full := true
		client := remote.Options{Parallel: 2}.NewClient(server(func(ctx context.Context) error {
			if full {
				full = false
				return refusal(fault.Overloaded, 0)
			}
			<-ctx.Done()
			return status.Error(codes.DeadlineExceeded, "stream terminated by RST_STREAM with error code: CANCEL")
		}))
		got := make(chan string, 3)
		for range cap(got) { // one is refused, one is late, and one waits for the other place
			go func() {
				item := remote.Item(decide(ctx, client))
				got <- item.GetReason() + ": " + item.GetMessage()
			}()
		}
		ends := []string{<-got, <-got, <-got}
		slices.Sort(ends)
		if want := []string{
			"DEADLINE_EXCEEDED: the server did not answer in time",
			"DEADLINE_EXCEEDED: the server had no place for the call in time",
			"OVERLOADED: the server's words",
		}; !slices.Equal(ends, want) {
			t.Errorf("got %q", ends)
		}
	})
}

func TestTheDeadlineEndsWithTheServersWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		client := remote.Options{}.NewClient(server(func(context.Context) error { return refusal(fault.Overloaded, time.Second) }))
		item := remote.Item(decide(ctx, client))
		if item.GetReason() != "OVERLOADED" || item.GetMessage() != "the server's words" || ctx.Err() == nil {
			t.Errorf("got %v", item)
		}
	})
}

// TestAFullServerGetsFewerCalls has a server whose places become fewer, and then
// enough for all.
func TestAFullServerGetsFewerCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const parallel, calls = 32, 3200
		var places, inFlight, refused, most, full, done atomic.Int64
		places.Store(parallel)
		client := remote.Options{Parallel: parallel}.NewClient(server(func(context.Context) error {
			defer inFlight.Add(-1)
			if n := inFlight.Add(1); n > places.Load() {
				refused.Add(1)
				time.Sleep(25 * time.Millisecond)
				return refusal(fault.Overloaded, 100*time.Millisecond)
			} else if n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			switch done.Add(1) {
			case calls / 4:
				places.Store(3)
			case calls / 2:
				full.Store(refused.Load())
				places.Store(parallel)
				most.Store(0)
			}
			return nil
		}))
		var workers sync.WaitGroup
		for range parallel {
			workers.Go(func() {
				for range calls / parallel {
					if err := decide(t.Context(), client); err != nil {
						t.Error(err)
					}
				}
			})
		}
		workers.Wait()
		// 800 calls went well meanwhile.
		if n := full.Load(); n < 1 || n > 200 {
			t.Errorf("the full server refused %d calls", n)
		}
		if most.Load() != parallel {
			t.Errorf("afterwards only %d calls were in flight", most.Load())
		}
	})
}

func TestLongWaitsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		start := time.Now()
		client := remote.Options{Waiting: func(reason string) { told = append(told, reason) }}.NewClient(server(func(context.Context) error {
			if time.Since(start) < time.Minute {
				return status.Error(codes.Unavailable, "connection refused")
			}
			return nil
		}))
		if err := decide(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		if len(told) < 2 || len(told) > 5 || slices.ContainsFunc(told, func(text string) bool { return text != "connection refused" }) {
			t.Errorf("in a minute it said %q", told)
		}
	})
}

func TestItemHasTheServersWords(t *testing.T) {
	t.Parallel()
	item := remote.Item(fmt.Errorf("max retries exhausted: failed after 5 attempts: %w", refusal(fault.Draining, 0)))
	if item.GetMessage() != "the server's words" || item.GetCode() != "UNAVAILABLE" || item.GetReason() != "DRAINING" {
		t.Errorf("got %v", item)
	}
}
