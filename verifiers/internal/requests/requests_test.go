package requests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// numbered returns n pairs, each with its number as the hypothesis.
func numbered(n int) []entail.Pair {
	pairs := make([]entail.Pair, n)
	for i := range pairs {
		pairs[i].Hypothesis = strconv.Itoa(i)
	}
	return pairs
}

// echo scores a pair with its number.
func echo(_ context.Context, pairs []entail.Pair) (entail.Batch, error) {
	var batch entail.Batch
	for _, pair := range pairs {
		n, err := strconv.Atoi(pair.Hypothesis)
		if err != nil {
			return entail.Batch{}, err
		}
		batch.Results = append(batch.Results, entail.Result{Scores: entail.Scores{Entailment: float64(n)}})
	}
	batch.Usage.Pairs = len(pairs)
	return batch, nil
}

// checkEcho fails the test unless the results are those of echo, in order.
func checkEcho(t interface{ Errorf(string, ...any) }, batch entail.Batch, n int) {
	if len(batch.Results) != n || batch.Usage.Pairs != n {
		t.Errorf("%d results and %d pairs for %d", len(batch.Results), batch.Usage.Pairs, n)
	}
	for i, result := range batch.Results {
		if result.Err != nil || result.Scores.Entailment != float64(i) {
			t.Errorf("result %d is %+v", i, result)
		}
	}
}

func TestEveryPairIsAnsweredInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 50).Draw(t, "pairs")
		size := rapid.IntRange(1, 20).Draw(t, "size")
		var largest atomic.Int64
		ask := func(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
			largest.Store(max(largest.Load(), int64(len(pairs))))
			return echo(ctx, pairs)
		}
		batch, err := NewLimiter(rapid.IntRange(1, 4).Draw(t, "limit")).Verify(t.Context(), numbered(n), size, ask)
		if err != nil {
			t.Fatal(err)
		}
		checkEcho(t, batch, n)
		if int(largest.Load()) > size {
			t.Errorf("a request of %d pairs, the limit is %d", largest.Load(), size)
		}
	})
}

func TestTheLimitHoldsOverAllCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 3
		limiter := NewLimiter(limit)
		var inside, most int
		var mu sync.Mutex
		ask := func(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			inside--
			mu.Unlock()
			return echo(ctx, pairs)
		}
		var calls sync.WaitGroup
		for range 4 {
			calls.Go(func() {
				batch, err := limiter.Verify(t.Context(), numbered(10), 2, ask)
				if err != nil {
					t.Error(err)
				}
				checkEcho(t, batch, 10)
			})
		}
		calls.Wait()
		if most != limit {
			t.Errorf("%d requests were under way at once, the limit is %d", most, limit)
		}
	})
}

func TestARefusalIsOfThePairThatItIsAbout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 40
		bad := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, 5, rapid.ID).Draw(t, "bad")
		size := rapid.IntRange(1, n).Draw(t, "size")
		ask := func(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
			for _, pair := range pairs {
				if i, _ := strconv.Atoi(pair.Hypothesis); slices.Contains(bad, i) {
					return entail.Batch{}, score.TooLong("too long")
				}
			}
			return echo(ctx, pairs)
		}
		batch, err := NewLimiter(2).Verify(t.Context(), numbered(n), size, ask)
		if err != nil {
			t.Fatal(err)
		}
		for i, result := range batch.Results {
			if _, refused := errors.AsType[*score.Missing](result.Err); refused != slices.Contains(bad, i) {
				t.Errorf("pair %d: %v; bad are %v", i, result.Err, bad)
			}
		}
		if batch.Usage.Pairs != n-len(bad) {
			t.Errorf("%d pairs were scored, want %d", batch.Usage.Pairs, n-len(bad))
		}
	})
}

func TestTextsWithoutMeaningAreNotSent(t *testing.T) {
	pairs := numbered(4)
	pairs[1].Premise = "\xff"
	pairs[3].Hypothesis = ""
	batch, err := NewLimiter(1).Verify(t.Context(), pairs, 4, func(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
		if len(pairs) != 2 {
			t.Errorf("%d pairs were sent, want 2", len(pairs))
		}
		return echo(ctx, pairs)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]plumblinev1.Status{1: plumblinev1.Status_STATUS_INVALID_INPUT, 3: plumblinev1.Status_STATUS_MISSING_INPUT} {
		if err := batch.Results[i].Err; score.Reason(err).Status != want {
			t.Errorf("pair %d: %v, want %s", i, err, want)
		}
	}
	if batch.Results[0].Scores.Entailment != 0 || batch.Results[2].Scores.Entailment != 2 {
		t.Errorf("their neighbours have %+v", batch.Results)
	}
}

// flaky fails the requests of the given numbers, counted from 1.
type flaky struct {
	requests atomic.Int64
	fails    func(request int64) error
}

func (f *flaky) ask(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	if err := f.fails(f.requests.Add(1)); err != nil {
		return entail.Batch{}, err
	}
	return echo(ctx, pairs)
}

func TestACallSurvivesFailuresThatPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{fails: func(request int64) error {
			switch request {
			case 5:
				return fmt.Errorf("%w: HTTP 500", entail.ErrUnavailable)
			case 11:
				return &entail.RetryAfter{After: 7 * time.Second, Err: entail.ErrBusy}
			default:
				return nil
			}
		}}
		begun := time.Now()
		batch, err := NewLimiter(1).Verify(t.Context(), numbered(20), 1, f.ask)
		if err != nil {
			t.Fatal(err)
		}
		checkEcho(t, batch, 20)
		if f.requests.Load() != 22 {
			t.Errorf("%d requests for 20 pairs with 2 failures", f.requests.Load())
		}
		if waited := time.Since(begun); waited != 7*time.Second {
			t.Errorf("waited %v and was asked for 7s", waited)
		}
	})
}

func TestFailuresThatEndACall(t *testing.T) {
	rejected := fmt.Errorf("%w: HTTP 401", entail.ErrRejected)
	unavailable := fmt.Errorf("%w: HTTP 500", entail.ErrUnavailable)
	later := &entail.RetryAfter{After: time.Hour, Err: entail.ErrBusy}
	soon := &entail.RetryAfter{After: 30 * time.Second, Err: entail.ErrBusy}
	from := func(first int64, err error) func(int64) error {
		return func(request int64) error {
			if request >= first {
				return err
			}
			return nil
		}
	}
	for name, test := range map[string]struct {
		fails    func(int64) error
		want     error
		requests int64
	}{
		"no progress at all":              {from(1, unavailable), unavailable, 1},
		"no progress any more":            {from(10, unavailable), unavailable, 11},
		"a failure that would repeat":     {from(10, rejected), rejected, 10},
		"longer than anybody waits":       {from(10, later), later, 10},
		"longer than the caller's time":   {from(10, soon), soon, 10},
		"busy, and does not say how long": {from(10, entail.ErrBusy), entail.ErrBusy, 10},
		"every other request fails": {func(request int64) error {
			if request%2 == 0 {
				return unavailable
			}
			return nil
		}, unavailable, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				f := &flaky{fails: test.fails}
				if _, err := NewLimiter(1).Verify(ctx, numbered(100), 1, f.ask); !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				if f.requests.Load() != test.requests {
					t.Errorf("%d requests, want %d", f.requests.Load(), test.requests)
				}
			})
		})
	}
}

func TestTheEndOfTheContextEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		var requests int
		_, err := NewLimiter(1).Verify(ctx, numbered(10), 1, func(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
			requests++
			select {
			case <-time.After(time.Second):
				return echo(ctx, pairs)
			case <-ctx.Done():
				return entail.Batch{}, ctx.Err()
			}
		})
		if !errors.Is(err, context.DeadlineExceeded) || requests != 4 {
			t.Errorf("%v after %d requests, want the deadline after 4", err, requests)
		}
	})
}
