package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"plumbline/scorers/entail"
)

const (
	// pairCost is what a pair takes in the fake model.
	pairCost = 10 * time.Millisecond
	// An interactive call is a claim with three passages; about 20 come a second,
	// whether or not those before are done.
	interactiveCalls, interactivePairs, interactiveEvery = 1000, 3, 49 * time.Millisecond
	// The flood is of callers that always have a call of many pairs inside.
	floodCallers, floodPairs = 10, 200
)

// waitingCall is a call with n jobs in the queue.
func waitingCall(t *testing.T, q *queue, n int) *call {
	t.Helper()
	c := newCall(t.Context(), 0, n)
	for i := range n {
		q.push(c, job{index: i})
	}
	return c
}

// turns are the calls that gave the next n jobs.
func turns(q *queue, n int) (given []*call) {
	for range n {
		c, _, _ := q.next()
		given = append(given, c)
	}
	return given
}

func TestASmallCallGoesAheadOfThoseThatHadMore(t *testing.T) {
	q := newQueue(10)
	for range 3 {
		waitingCall(t, q, 100)
	}
	turns(q, inTurn*3)
	small := waitingCall(t, q, 3)
	for i, c := range turns(q, 3) {
		if c != small {
			t.Errorf("turn %d is not the small call's", i+1)
		}
	}
}

func TestEqualCallsHaveEqualShares(t *testing.T) {
	q := newQueue(10)
	a, b := waitingCall(t, q, 500), waitingCall(t, q, 500)
	had := map[*call]int{}
	for _, c := range turns(q, 400) {
		had[c]++
	}
	if difference := had[a] - had[b]; max(difference, -difference) > 2 {
		t.Errorf("they had %d and %d turns", had[a], had[b])
	}
}

// TestShortCallsOfOneSizeAreServedInTheirOrder: turn by turn all of them would
// end late.
func TestShortCallsOfOneSizeAreServedInTheirOrder(t *testing.T) {
	q := newQueue(10)
	calls := []*call{waitingCall(t, q, 8), waitingCall(t, q, 8), waitingCall(t, q, 8)}
	for i, c := range turns(q, 24) {
		if c != calls[i/8] {
			t.Fatalf("turn %d is not that of call %d", i, i/8)
		}
	}
}

func TestALargeCallIsNotStarvedBySmallOnes(t *testing.T) {
	q := newQueue(10)
	large := waitingCall(t, q, 1000)
	turns(q, 10)
	const rounds = 20
	var had int
	for range rounds * inTurn {
		waitingCall(t, q, 1)
		if turns(q, 1)[0] == large {
			had++
		}
	}
	if had < rounds/2 {
		t.Errorf("the large call had %d of %d turns", had, rounds*inTurn)
	}
}

// TestACallOfMiddleSizeIsNotStarved by smaller ones, of which one always waits, and
// a flood together.
func TestACallOfMiddleSizeIsNotStarved(t *testing.T) {
	q := newQueue(10)
	flood := waitingCall(t, q, 10_000)
	turns(q, 100)
	middle := waitingCall(t, q, 8)
	small := waitingCall(t, q, 1)
	had := map[*call]int{}
	for range 10 * 2 * inTurn {
		c := turns(q, 1)[0]
		had[c]++
		if c == small {
			small = waitingCall(t, q, 1)
		}
	}
	if had[middle] != 8 || had[flood] < 10 {
		t.Errorf("the call of eight had %d turns, the flood %d", had[middle], had[flood])
	}
}

// TestACallThatEndsLeavesTheLine with all that it has there.
func TestACallThatEndsLeavesTheLine(t *testing.T) {
	q := newQueue(10)
	if err := q.enter(); err != nil {
		t.Fatal(err)
	}
	c := waitingCall(t, q, 8)
	q.leave(c)
	if len(q.line) != 0 || len(c.jobs) != 0 {
		t.Errorf("%d calls and %d jobs wait", len(q.line), len(c.jobs))
	}
}

// TestSmallCallsOfOneRequestCountTogether: a request of many small calls waits
// like one large call.
func TestSmallCallsOfOneRequestCountTogether(t *testing.T) {
	q := newQueue(10)
	ctx := entail.WithAccount(t.Context())
	for range 3 * inTurn {
		q.push(newCall(ctx, 1, 1), job{})
	}
	turns(q, inTurn)
	q.push(newCall(ctx, 1, 1), job{})
	small := waitingCall(t, q, 1)
	if got := turns(q, 1)[0]; got != small {
		t.Error("a call of the request that had more goes first")
	}
}

// TestInteractiveCallsBesideAFlood measures interactive calls alone and beside a
// flood of batch requests, in the time of a bubble: what it finds is the schedule's
// doing and not the machine's. The requests are one call of many pairs each, or
// many calls of a few, some at a time, as a batch of small answers is.
func TestInteractiveCallsBesideAFlood(t *testing.T) {
	t.Run("large calls", func(t *testing.T) {
		besideAFlood(t, func(ctx context.Context, e *Engine) {
			_, _ = e.Verify(ctx, hypotheses(strings.Split(strings.Repeat("f", floodPairs), "")...))
		})
	})
	t.Run("small calls", func(t *testing.T) {
		besideAFlood(t, func(ctx context.Context, e *Engine) {
			ctx = entail.WithAccount(ctx)
			var items errgroup.Group
			items.SetLimit(4)
			for range floodPairs / interactivePairs {
				items.Go(func() error {
					_, err := e.Verify(ctx, hypotheses(slices.Repeat([]string{"f"}, interactivePairs)...))
					return err
				})
			}
			_ = items.Wait()
		})
	})
}

func besideAFlood(t *testing.T, request func(context.Context, *Engine)) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 2
		var flooded atomic.Int64
		e := startFake(t, workers, 0, func(_ context.Context, ids []int64) ([]float32, error) {
			time.Sleep(pairCost)
			if ids[0] == 'f' {
				flooded.Add(1)
			}
			return []float32{0, 0, 0}, nil
		})
		alone := interactive(t, e)
		ctx, cancel := context.WithCancel(t.Context())
		var flood sync.WaitGroup
		for range floodCallers {
			flood.Go(func() {
				for ctx.Err() == nil {
					request(ctx, e)
				}
			})
		}
		time.Sleep(floodPairs * pairCost) // The flood stands before it is measured.
		begun, before := time.Now(), flooded.Load()
		beside := interactive(t, e)
		share := float64(flooded.Load()-before) / (workers * time.Since(begun).Seconds() / pairCost.Seconds())
		cancel()
		flood.Wait()
		t.Logf("interactive p99 alone %v, beside the flood %v; the flood has %.2f of the capacity", alone, beside, share)
		if beside > 2*alone {
			t.Errorf("interactive p99 is %v beside the flood and %v alone, more than twice", beside, alone)
		}
		if share < 0.05 {
			t.Errorf("the flood has %.3f of the capacity", share)
		}
	})
}

// interactive makes calls at their rate and returns the 99th percentile of
// their times. The rate is no multiple of a pair's time, so that calls come at
// any moment of those that run.
func interactive(t *testing.T, e *Engine) time.Duration {
	t.Helper()
	took := make([]time.Duration, interactiveCalls)
	var group sync.WaitGroup
	for i := range took {
		time.Sleep(interactiveEvery)
		group.Go(func() {
			begun := time.Now()
			if _, err := e.Verify(t.Context(), hypotheses(slices.Repeat([]string{"i"}, interactivePairs)...)); err != nil {
				t.Error(err)
			}
			took[i] = time.Since(begun)
		})
	}
	group.Wait()
	slices.Sort(took)
	return took[len(took)*99/100]
}
