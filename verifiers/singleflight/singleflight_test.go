package singleflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pair(i int) entail.Pair {
	return entail.Pair{Premise: fmt.Sprint("premise ", i), Hypothesis: fmt.Sprint("premise ", i%3)}
}

// outcome is what one Verify call returned.
type outcome struct {
	batch entail.Batch
	err   error
}

// verify runs a call in the background.
func verify(ctx context.Context, v entail.Verifier, pairs ...entail.Pair) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		batch, err := v.Verify(ctx, pairs)
		done <- outcome{batch, err}
	}()
	return done
}

// underWay counts the flights that have not landed.
func (v *Verifier) underWay() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.flights)
}

// joinCounter is the context of a call that joins a run: it tells the test when
// the call begins to wait, which is when it first asks for Done.
type joinCounter struct {
	context.Context
	once   sync.Once
	joined *sync.WaitGroup
}

func (c *joinCounter) Done() <-chan struct{} {
	c.once.Do(c.joined.Done)
	return c.Context.Done()
}

func TestHundredEqualPairsInFlightAreOneRun(t *testing.T) {
	recorder := entailtest.NewRecorder(entailtest.Overlap())
	blocking := entailtest.NewBlocking(recorder)
	v := New(blocking, 32)
	leader := verify(t.Context(), v, pair(1))
	<-blocking.Entered()
	var joined sync.WaitGroup
	var others []<-chan outcome
	for range 99 {
		joined.Add(1)
		others = append(others, verify(&joinCounter{Context: t.Context(), joined: &joined}, v, pair(1)))
	}
	joined.Wait()
	blocking.Release()
	want := <-leader
	if want.err != nil || want.batch.Usage.Pairs != 1 || want.batch.Usage.Shared != 0 {
		t.Fatalf("leader: %+v", want)
	}
	for _, other := range others {
		got := <-other
		if got.err != nil || !slices.Equal(got.batch.Results, want.batch.Results) {
			t.Fatalf("a joined call: %+v, want %+v", got, want)
		}
		if u := got.batch.Usage; u.Shared != 1 || u.Pairs != 0 || u.Digest != want.batch.Usage.Digest {
			t.Errorf("a joined call's usage: %+v", u)
		}
	}
	if n := recorder.Count(pair(1)); n != 1 {
		t.Errorf("the pair ran %d times", n)
	}
}

func TestACancelledLeaderFailsNobodyElse(t *testing.T) {
	recorder := entailtest.NewRecorder(entailtest.Overlap())
	blocking := entailtest.NewBlocking(recorder)
	v := New(blocking, 32)
	ctx, cancel := context.WithCancel(t.Context())
	leader := verify(ctx, v, pair(1), pair(2))
	<-blocking.Entered()
	var joined sync.WaitGroup
	var others []<-chan outcome
	for range 10 {
		joined.Add(1)
		others = append(others, verify(&joinCounter{Context: t.Context(), joined: &joined}, v, pair(1)))
	}
	joined.Wait()
	cancel()
	if got := <-leader; !errors.Is(got.err, context.Canceled) {
		t.Errorf("leader: %v", got.err)
	}
	<-blocking.Entered() // one of the others has taken over
	blocking.Release()
	for _, other := range others {
		if got := <-other; got.err != nil || got.batch.Results[0].Err != nil {
			t.Errorf("a joined call: %+v", got)
		}
	}
	if n := recorder.Count(pair(2)); n != 0 {
		t.Errorf("a pair that nobody waits for ran %d times", n)
	}
	if n := v.underWay(); n != 0 {
		t.Errorf("%d flights are left", n)
	}
}

func TestACancelledFollowerLeavesAtOnce(t *testing.T) {
	blocking := entailtest.NewBlocking(entailtest.Overlap())
	v := New(blocking, 32)
	leader := verify(t.Context(), v, pair(1))
	<-blocking.Entered()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if got := <-verify(ctx, v, pair(1)); !errors.Is(got.err, context.DeadlineExceeded) {
		t.Errorf("follower: %v", got.err)
	}
	blocking.Release()
	if got := <-leader; got.err != nil {
		t.Errorf("leader: %v", got.err)
	}
}

func TestAFailureIsSharedAndForgotten(t *testing.T) {
	broken := errors.New("broken")
	blocking := entailtest.NewBlocking(entailtest.Failing{Err: broken})
	v := New(blocking, 32)
	leader := verify(t.Context(), v, pair(1))
	<-blocking.Entered()
	var joined sync.WaitGroup
	joined.Add(1)
	other := verify(&joinCounter{Context: t.Context(), joined: &joined}, v, pair(1))
	joined.Wait()
	blocking.Release()
	for _, call := range []<-chan outcome{leader, other} {
		if got := <-call; !errors.Is(got.err, broken) {
			t.Errorf("error = %v", got.err)
		}
	}
	if n := v.underWay(); n != 0 {
		t.Errorf("%d flights are left", n)
	}
}

func TestAPanicLeavesNobodyWaiting(t *testing.T) {
	v := New(entailtest.Func(func(entail.Pair) (entail.Scores, error) { panic("defect") }), 32)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = v.Verify(t.Context(), []entail.Pair{pair(1)})
	}()
	if n := v.underWay(); n != 0 {
		t.Errorf("%d flights are left", n)
	}
}

// TestLongCallsGoInChunks asks that a pair of a later chunk is not under way
// yet, so that another call need not wait for the whole of the first.
func TestLongCallsGoInChunks(t *testing.T) {
	recorder := entailtest.NewRecorder(entailtest.Overlap())
	v := New(recorder, 4)
	var pairs []entail.Pair
	for i := range 10 {
		pairs = append(pairs, pair(i))
	}
	if _, err := v.Verify(t.Context(), pairs); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, call := range recorder.Calls() {
		sizes = append(sizes, len(call))
	}
	if !slices.Equal(sizes, []int{4, 4, 2}) {
		t.Errorf("calls of %v pairs", sizes)
	}
}

// holding holds calls of more than one pair until it is let go.
type holding struct {
	entail.Verifier
	entered, release chan struct{}
}

func (h holding) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	if len(pairs) > 1 {
		close(h.entered)
		<-h.release
	}
	return h.Verifier.Verify(ctx, pairs)
}

// TestASmallCallDoesNotWaitForALargeOne: their pair lands with the other 99.
func TestASmallCallDoesNotWaitForALargeOne(t *testing.T) {
	held := holding{entailtest.Overlap(), make(chan struct{}), make(chan struct{})}
	v := New(held, 1000)
	var pairs []entail.Pair
	for i := range 100 {
		pairs = append(pairs, pair(i))
	}
	large := verify(t.Context(), v, pairs...)
	<-held.entered
	small := <-verify(t.Context(), v, pair(7))
	if small.err != nil || small.batch.Usage.Shared != 0 {
		t.Errorf("the small call: %+v", small)
	}
	close(held.release)
	if got := <-large; got.err != nil || got.batch.Results[7] != small.batch.Results[0] {
		t.Errorf("the large call: %v", got.err)
	}
	if n := v.underWay(); n != 0 {
		t.Errorf("%d flights are left", n)
	}
}

// TestSharingChangesNoScore runs concurrent calls with many equal pairs, which
// must get what the verifier says without sharing.
func TestSharingChangesNoScore(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		recorder := entailtest.NewRecorder(entailtest.Overlap())
		v := New(recorder, rapid.IntRange(1, 5).Draw(r, "chunk"))
		calls := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 6), 0, 12), 1, 6).Draw(r, "calls")
		var running []<-chan outcome
		var all [][]entail.Pair
		for _, numbers := range calls {
			var pairs []entail.Pair
			for _, i := range numbers {
				pairs = append(pairs, pair(i))
			}
			all = append(all, pairs)
			running = append(running, verify(context.Background(), v, pairs...))
		}
		for i, call := range running {
			got := <-call
			want, err := entailtest.Overlap().Verify(context.Background(), all[i])
			if got.err != nil || err != nil || !slices.Equal(got.batch.Results, want.Results) {
				r.Fatalf("call %d: %+v, want %+v", i, got, want.Results)
			}
			if u := got.batch.Usage; u.Pairs+u.Shared != len(all[i]) {
				r.Fatalf("call %d: usage %+v does not account for %d pairs", i, u, len(all[i]))
			}
		}
		if n := v.underWay(); n != 0 {
			r.Fatalf("%d flights are left", n)
		}
	})
}

// alternating answers each call as another model.
type alternating struct {
	entail.Verifier
	calls int
}

func (a *alternating) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	a.calls++
	batch, err := a.Verifier.Verify(ctx, pairs)
	batch.Usage.Digest = fmt.Sprint("sha256:", a.calls)
	return batch, err
}

// TestACallIsAnsweredByOneModel: the model is exchanged between two chunks of a
// call, which is then asked as a whole.
func TestACallIsAnsweredByOneModel(t *testing.T) {
	next := &alternating{Verifier: entailtest.Overlap()}
	batch, err := New(next, 2).Verify(t.Context(), []entail.Pair{pair(1), pair(2), pair(3)})
	if err != nil || batch.Usage.Digest != "sha256:3" || batch.Usage.Pairs != 3 || len(batch.Results) != 3 {
		t.Errorf("%+v, %v", batch, err)
	}
}
