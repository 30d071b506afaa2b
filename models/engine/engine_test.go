package engine

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plumbline/models"
	"plumbline/models/tokenizer"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// letters is a tokenizer that makes a token of every byte; the first id is the
// first byte of the hypothesis, by which a test knows the pair.
type letters struct{}

func (letters) EncodePair(premise, hypothesis string) (p tokenizer.PairEncoding) {
	for _, b := range []byte(hypothesis + premise) {
		p.IDs = append(p.IDs, int64(b))
	}
	p.TypeIDs = make([]int64, len(p.IDs))
	return p
}

func (letters) Spans(string) []entail.Span { return nil }
func (letters) PairOverhead() int          { return 0 }

// threeClasses is a model without weights whose classes stand in an unusual
// order.
func threeClasses() *models.Model {
	return &models.Model{
		Manifest: models.Manifest{
			Name:      "fake",
			Classes:   []string{models.ClassContradiction, models.ClassEntailment, models.ClassNeutral},
			MaxTokens: 16,
		},
		Digest: "sha256:fake",
	}
}

// fakeRunner is a model made of one function of the pair's ids.
type fakeRunner func(ctx context.Context, ids []int64) ([]float32, error)

func (f fakeRunner) Run(ctx context.Context, ids, _ []int64) ([]float32, error) { return f(ctx, ids) }
func (fakeRunner) Close() error                                                 { return nil }

// startFake starts an engine with the given number of equal fake workers and
// closes it when the test ends.
func startFake(t testing.TB, workers, maxCalls int, run fakeRunner) *Engine {
	t.Helper()
	e := start(threeClasses(), letters{}, slices.Repeat([]runner{run}, workers), maxCalls, func() error { return nil })
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return e
}

// byID answers with contradiction, entailment and neutral logits (0, id, 0).
func byID(_ context.Context, ids []int64) ([]float32, error) {
	return []float32{0, float32(ids[0]), 0}, nil
}

func hypotheses(texts ...string) []entail.Pair {
	pairs := make([]entail.Pair, len(texts))
	for i, text := range texts {
		pairs[i].Hypothesis = text
	}
	return pairs
}

func TestScoreKeepsOrderAndReadsClassesByName(t *testing.T) {
	e := startFake(t, 3, 0, byID)
	texts := strings.Split("\x01,\x02,\x03,\x04,\x05,\x06,\x07,\x08,\x09", ",")
	batch, err := e.Verify(t.Context(), hypotheses(texts...))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range batch.Results {
		x := math.Exp(float64(texts[i][0]))
		want := entail.Scores{Entailment: x / (x + 2), Neutral: 1 / (x + 2), Contradiction: 1 / (x + 2), ThreeClass: true}
		if r.Err != nil || !r.Scores.ThreeClass || distance(r.Scores, want) > 1e-12 {
			t.Errorf("result %d = %+v, want %+v", i, r, want)
		}
	}
	if batch.Usage.Pairs != len(texts) || batch.Usage.Tokens != len(texts) {
		t.Errorf("usage = %+v, want %d pairs of one token", batch.Usage, len(texts))
	}
}

func TestScoreOfNothingIsNothing(t *testing.T) {
	batch, err := startFake(t, 1, 0, byID).Verify(t.Context(), nil)
	want := entail.Usage{Verifier: "fake", Digest: "sha256:fake"}
	if err != nil || len(batch.Results) != 0 || batch.Usage != want {
		t.Errorf("= %+v, %v", batch, err)
	}
}

func TestAPairThatFailsFailsAlone(t *testing.T) {
	broken := errors.New("broken")
	e := startFake(t, 2, 0, func(_ context.Context, ids []int64) ([]float32, error) {
		switch ids[0] {
		case 'n':
			return []float32{0, float32(math.NaN()), 0}, nil
		case 'i':
			return []float32{0, float32(math.Inf(1)), 0}, nil
		case 'b':
			return nil, broken
		default:
			return []float32{0, 0, 0}, nil
		}
	})
	batch, err := e.Verify(t.Context(), hypotheses("n", "i", "b", strings.Repeat("x", 17), strings.Repeat("x", 16), ""))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{ErrNotFinite, ErrNotFinite, broken} {
		if !errors.Is(batch.Results[i].Err, want) {
			t.Errorf("result %d: error = %v, want %v", i, batch.Results[i].Err, want)
		}
	}
	tooLong := batch.Results[3].Err
	if score.Reason(tooLong).Status != plumblinev1.Status_STATUS_TOO_LONG || !strings.Contains(tooLong.Error(), "17 tokens") {
		t.Errorf("17 tokens: error = %v, want STATUS_TOO_LONG", tooLong)
	}
	if batch.Results[4].Err != nil || math.Abs(batch.Results[4].Scores.Entailment-1.0/3) > 1e-15 {
		t.Errorf("16 tokens: %+v, want thirds", batch.Results[4])
	}
	if empty := batch.Results[5].Err; score.Reason(empty).Status != plumblinev1.Status_STATUS_MISSING_INPUT {
		t.Errorf("no hypothesis: error = %v, want STATUS_MISSING_INPUT", empty)
	}
	if batch.Usage.Pairs != 4 || batch.Usage.Tokens != 19 {
		t.Errorf("usage = %+v, want 4 pairs and 19 tokens: the long and the empty one never reached the model", batch.Usage)
	}
}

// TestCallsTakeTurns has one worker, a long call that has filled its slots and
// a short one that comes later: the short one's pair is next but one.
func TestCallsTakeTurns(t *testing.T) {
	step := make(chan struct{})
	var mu sync.Mutex
	var order []byte
	e := startFake(t, 1, 0, func(_ context.Context, ids []int64) ([]float32, error) {
		<-step
		mu.Lock()
		defer mu.Unlock()
		order = append(order, byte(ids[0]))
		return []float32{0, 0, 0}, nil
	})
	var calls sync.WaitGroup
	begin := func(text string) {
		calls.Go(func() {
			if _, err := e.Verify(t.Context(), hypotheses(strings.Split(text, "")...)); err != nil {
				t.Error(err)
			}
		})
	}
	begin(strings.Repeat("l", 40))
	waitFor(t, "the long call to fill its slots", func() bool { return waitingJobs(e) == slotsPerWorker-1 })
	begin("s")
	waitFor(t, "the short call to queue", func() bool { return waitingJobs(e) == slotsPerWorker })
	close(step)
	calls.Wait()
	// One pair was running and at most one was before it in the line.
	if at := slices.Index(order, 's'); at > 2 {
		t.Errorf("the short call's pair ran as number %d of %d", at+1, len(order))
	}
}

func waitingJobs(e *Engine) int {
	e.queue.mu.Lock()
	defer e.queue.mu.Unlock()
	var n int
	for _, c := range e.queue.line {
		n += len(c.jobs)
	}
	return n
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestCancelledPairsNeverReachTheModel(t *testing.T) {
	release := make(chan struct{})
	var mu sync.Mutex
	seen := map[byte]int{}
	e := startFake(t, 2, 0, func(_ context.Context, ids []int64) ([]float32, error) {
		mu.Lock()
		seen[byte(ids[0])]++
		mu.Unlock()
		if ids[0] == 'h' {
			<-release
		}
		return []float32{0, 0, 0}, nil
	})
	holders := make(chan error, 1)
	go func() {
		_, err := e.Verify(t.Context(), hypotheses("h", "h"))
		holders <- err
	}()
	waitFor(t, "both workers to be held", func() bool { mu.Lock(); defer mu.Unlock(); return seen['h'] == 2 })

	ctx, cancel := context.WithCancel(t.Context())
	cancelled := make(chan error, 10)
	for range cap(cancelled) {
		go func() {
			_, err := e.Verify(ctx, hypotheses(strings.Split(strings.Repeat("c", 100), "")...))
			cancelled <- err
		}()
	}
	waitFor(t, "the calls to queue", func() bool { return waitingJobs(e) == cap(cancelled)*2*slotsPerWorker })
	cancel()
	for range cap(cancelled) {
		if err := <-cancelled; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled call: %v", err)
		}
	}
	close(release)
	if err := <-holders; err != nil {
		t.Error(err)
	}
	if _, err := e.Verify(t.Context(), hypotheses("z")); err != nil {
		t.Errorf("the next call: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if seen['c'] != 0 {
		t.Errorf("%d of 1,000 cancelled pairs reached the model", seen['c'])
	}
}

func TestARunningPairIsStopped(t *testing.T) {
	running := make(chan struct{})
	e := startFake(t, 1, 0, func(ctx context.Context, _ []int64) ([]float32, error) {
		close(running)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() {
		_, err := e.Verify(ctx, hypotheses("x"))
		done <- err
	}()
	<-running
	cancel(errors.New("the caller has gone"))
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
}

func TestCallsBeyondTheBoundAreRefused(t *testing.T) {
	release := make(chan struct{})
	e := startFake(t, 1, 2, func(context.Context, []int64) ([]float32, error) {
		<-release
		return []float32{0, 0, 0}, nil
	})
	var inside sync.WaitGroup
	for range 2 {
		inside.Go(func() {
			if _, err := e.Verify(t.Context(), hypotheses("x")); err != nil {
				t.Error(err)
			}
		})
	}
	waitFor(t, "two calls inside", func() bool { e.queue.mu.Lock(); defer e.queue.mu.Unlock(); return e.queue.calls == 2 })
	if _, err := e.Verify(t.Context(), hypotheses("x")); !errors.Is(err, entail.ErrBusy) {
		t.Errorf("third call: %v, want entail.ErrBusy", err)
	}
	if err := e.Probe(t.Context()); err != nil {
		t.Errorf("probe of a full engine: %v", err)
	}
	close(release)
	inside.Wait()
	if _, err := e.Verify(t.Context(), hypotheses("x")); err != nil {
		t.Errorf("after the others left: %v", err)
	}
}

func TestCloseDrainsAndRefuses(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	e := startFake(t, 2, 0, func(context.Context, []int64) ([]float32, error) {
		once.Do(func() { close(running) })
		<-release
		return []float32{0, 0, 0}, nil
	})
	inside := make(chan error, 1)
	go func() {
		batch, err := e.Verify(t.Context(), hypotheses(strings.Split(strings.Repeat("x", 50), "")...))
		for _, r := range batch.Results {
			err = errors.Join(err, r.Err)
		}
		inside <- err
	}()
	<-running
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	waitFor(t, "the engine to close its door", func() bool { e.queue.mu.Lock(); defer e.queue.mu.Unlock(); return e.queue.closed })
	if _, err := e.Verify(t.Context(), hypotheses("x")); !errors.Is(err, entail.ErrClosed) {
		t.Errorf("call to a closing engine: %v, want entail.ErrClosed", err)
	}
	if err := e.Probe(t.Context()); !errors.Is(err, entail.ErrClosed) {
		t.Errorf("probe of a closing engine: %v, want entail.ErrClosed", err)
	}
	select {
	case err := <-closed:
		t.Fatalf("Close returned (%v) with a call inside", err)
	default:
	}
	close(release)
	if err := <-inside; err != nil {
		t.Errorf("the call inside: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestManyCallersGetTheirOwnAnswers(t *testing.T) {
	e := startFake(t, 4, 0, byID)
	var callers sync.WaitGroup
	for id := range byte(64) {
		callers.Go(func() {
			want := math.Exp(float64(id)) / (math.Exp(float64(id)) + 2)
			for range 20 {
				batch, err := e.Verify(t.Context(), hypotheses(string(rune(id)), string(rune(id)), string(rune(id))))
				if err != nil {
					t.Error(err)
					return
				}
				for _, r := range batch.Results {
					if r.Err != nil || math.Abs(r.Scores.Entailment-want) > 1e-12 {
						t.Errorf("caller %d got %+v, want entailment %v", id, r, want)
					}
				}
			}
		})
	}
	callers.Wait()
}

func TestProbeReportsABrokenModel(t *testing.T) {
	e := startFake(t, 1, 0, func(context.Context, []int64) ([]float32, error) {
		return []float32{0, float32(math.NaN()), 0}, nil
	})
	e.manifest.MaxTokens = 100
	if err := e.Probe(t.Context()); !errors.Is(err, ErrNotFinite) {
		t.Errorf("probe = %v, want ErrNotFinite", err)
	}
}

func TestSoftmaxOfExtremeLogits(t *testing.T) {
	p, err := softmax([]float32{math.MaxFloat32, -math.MaxFloat32, 0})
	if err != nil || p[0] != 1 || p[1] != 0 || p[2] != 0 {
		t.Errorf("= %v, %v", p, err)
	}
	p, err = softmax([]float32{1000, 1000, 1000})
	if err != nil || math.Abs(p[0]+p[1]+p[2]-1) > 1e-15 {
		t.Errorf("= %v, %v", p, err)
	}
}

// TestEpsilonIsHeld: a model whose answers move with what ran before is refused,
// unless its manifest says so.
func TestEpsilonIsHeld(t *testing.T) {
	var runs atomic.Int64
	e := startFake(t, 2, 0, func(context.Context, []int64) ([]float32, error) {
		return []float32{0, float32(runs.Add(1)) / 10, 0}, nil
	})
	e.manifest.MaxTokens = 512
	if err := e.checkEpsilon(); err == nil || !strings.Contains(err.Error(), "epsilon of 0") {
		t.Errorf("got %v", err)
	}
	e.manifest.Epsilon = 1
	if err := e.checkEpsilon(); err != nil {
		t.Errorf("within epsilon: %v", err)
	}
	silent := startFake(t, 1, 0, func(context.Context, []int64) ([]float32, error) { return []float32{0, float32(math.NaN()), 0}, nil })
	silent.manifest.MaxTokens = 512
	if err := silent.checkEpsilon(); !errors.Is(err, ErrNotFinite) {
		t.Errorf("a model without answers: %v", err)
	}
}
