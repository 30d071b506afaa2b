package swap_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"plumbline/internal/orttest"
	"plumbline/models"
	"plumbline/models/engine"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/verifiers/swap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is an engine that answers with its number and knows whether it was
// closed too early or twice.
type fake struct {
	entail.Verifier
	digest  string
	inside  atomic.Int64
	closed  atomic.Int64
	failing error // of Probe and Close
}

func newFake(number int) *fake {
	scores := entailtest.Support(float64(number) / 1000)
	return &fake{
		digest: fmt.Sprint("sha256:", number),
		Verifier: entailtest.Func(func(entail.Pair) (entail.Scores, error) {
			return scores, nil
		}),
	}
}

func (f *fake) Describe(ctx context.Context) (entail.Description, error) {
	d, err := f.Verifier.Describe(ctx)
	d.Digest = f.digest
	return d, err
}

func (f *fake) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	f.inside.Add(1)
	defer f.inside.Add(-1)
	batch, err := f.Verifier.Verify(ctx, pairs)
	batch.Usage.Digest = f.digest
	if f.closed.Load() > 0 {
		return batch, errors.New("the engine was closed with a call inside")
	}
	return batch, err
}

func (f *fake) Probe(context.Context) error { return f.failing }

func (f *fake) Close() error {
	if f.closed.Add(1) > 1 {
		return errors.New("closed twice")
	}
	if n := f.inside.Load(); n > 0 {
		return fmt.Errorf("closed with %d calls inside", n)
	}
	return f.failing
}

// TestTwoHundredSwapsUnderLoad asks of every call that one model answered all
// of its pairs, and of every model that it was closed once, when idle.
func TestTwoHundredSwapsUnderLoad(t *testing.T) {
	engines := []*fake{newFake(0)}
	v := swap.New(engines[0])
	stop, answered := make(chan struct{}), make(chan struct{}, 1)
	var load sync.WaitGroup
	var calls atomic.Int64
	for range 8 {
		load.Go(func() {
			pairs := make([]entail.Pair, 5)
			for {
				select {
				case <-stop:
					return
				default:
				}
				batch, err := v.Verify(t.Context(), pairs)
				if err != nil {
					t.Error(err)
				}
				calls.Add(1)
				select {
				case answered <- struct{}{}:
				default:
				}
				for _, r := range batch.Results {
					if number := fmt.Sprintf("sha256:%.0f", r.Scores.Entailment*1000); number != batch.Usage.Digest {
						t.Errorf("a pair was scored by %s in a call of %s", number, batch.Usage.Digest)
					}
				}
			}
		})
	}
	var drains []<-chan error
	for number := 1; number <= 200; number++ {
		next := newFake(number)
		drained, err := v.Swap(t.Context(), next)
		if err != nil {
			t.Fatal(err)
		}
		engines, drains = append(engines, next), append(drains, drained)
		if d, err := v.Describe(t.Context()); err != nil || d.Digest != next.digest {
			t.Fatalf("after swap %d: %s, %v", number, d.Digest, err)
		}
		<-answered // so that calls and swaps interleave
	}
	close(stop)
	load.Wait()
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	for _, drained := range drains {
		if err := <-drained; err != nil {
			t.Error(err)
		}
	}
	for _, e := range engines {
		if n := e.closed.Load(); n != 1 {
			t.Errorf("%s was closed %d times", e.digest, n)
		}
	}
	t.Logf("%d calls", calls.Load())
}

// tiny opens one of the engine's small test models.
func tiny(t *testing.T, name string) *engine.Engine {
	t.Helper()
	model, err := models.Load(filepath.Join("..", "..", "models", "engine", "testdata", "modes", name))
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(model, engine.Config{Library: orttest.Library(t), Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestSwapsOfRealModelsUnderLoad changes between two networks of ONNX Runtime.
func TestSwapsOfRealModelsUnderLoad(t *testing.T) {
	names := []string{"two-class", "minicheck-t5"}
	pairs := []entail.Pair{{Premise: "the mill was sold", Hypothesis: "the old mill"}, {Premise: "a bridge", Hypothesis: "the bridge"}}
	want := map[string][]entail.Result{}
	v := swap.New(tiny(t, names[0]))
	for i := range names {
		if i > 0 {
			if _, err := v.Swap(t.Context(), tiny(t, names[i])); err != nil {
				t.Fatal(err)
			}
		}
		batch, err := v.Verify(t.Context(), pairs)
		if err != nil {
			t.Fatal(err)
		}
		want[batch.Usage.Digest] = batch.Results
	}
	if len(want) != len(names) {
		t.Fatalf("the models have %d digests", len(want))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for ctx.Err() == nil {
				batch, err := v.Verify(t.Context(), pairs)
				if err != nil {
					t.Error(err)
					return
				}
				for i, r := range batch.Results {
					if r != want[batch.Usage.Digest][i] {
						t.Errorf("%s answered %+v, want %+v", batch.Usage.Digest, r, want[batch.Usage.Digest][i])
					}
				}
			}
		})
	}
	for i := range 50 {
		drained, err := v.Swap(t.Context(), tiny(t, names[i%len(names)]))
		if err != nil {
			t.Fatal(err)
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
	}
	cancel()
	load.Wait()
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

func TestAPinOutlivesASwap(t *testing.T) {
	first, second := newFake(1), newFake(2)
	v := swap.New(first)
	pinned, release, err := v.Pin()
	if err != nil {
		t.Fatal(err)
	}
	drained, err := v.Swap(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := pinned.Verify(t.Context(), make([]entail.Pair, 1))
	if err != nil || batch.Usage.Digest != first.digest {
		t.Errorf("the pinned engine: %s, %v; want %s", batch.Usage.Digest, err, first.digest)
	}
	batch, err = v.Verify(t.Context(), make([]entail.Pair, 1))
	if err != nil || batch.Usage.Digest != second.digest {
		t.Errorf("a new call: %s, %v; want %s", batch.Usage.Digest, err, second.digest)
	}
	select {
	case err := <-drained:
		t.Fatalf("the pinned engine was closed (%v)", err)
	default:
	}
	release()
	release()
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if err := v.Close(); err != nil || second.closed.Load() != 1 {
		t.Errorf("Close: %v, closed %d times", err, second.closed.Load())
	}
}

func TestAModelThatDoesNotScoreStaysOut(t *testing.T) {
	first, broken := newFake(1), newFake(2)
	broken.failing = errors.New("no logits")
	v := swap.New(first)
	if _, err := v.Swap(t.Context(), broken); !errors.Is(err, broken.failing) {
		t.Errorf("Swap: %v, want the probe's error", err)
	}
	if d, err := v.Describe(t.Context()); err != nil || d.Digest != first.digest {
		t.Errorf("at work: %s, %v; want %s", d.Digest, err, first.digest)
	}
	if broken.closed.Load() != 0 {
		t.Error("the refused engine is the caller's, and was closed")
	}
	first.failing = errors.New("stuck")
	if err := v.Probe(t.Context()); !errors.Is(err, first.failing) {
		t.Errorf("Probe: %v", err)
	}
	if err := v.Close(); !errors.Is(err, first.failing) {
		t.Errorf("Close: %v, want the engine's error", err)
	}
}

func TestAfterCloseNothingIsAnswered(t *testing.T) {
	v := swap.New(newFake(1))
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	_, verify := v.Verify(t.Context(), nil)
	_, describe := v.Describe(t.Context())
	_, _, pin := v.Pin()
	_, swapped := v.Swap(t.Context(), newFake(2))
	for name, err := range map[string]error{
		"Verify": verify, "Describe": describe, "Pin": pin, "Swap": swapped, "Probe": v.Probe(t.Context()),
	} {
		if !errors.Is(err, entail.ErrClosed) {
			t.Errorf("%s: %v, want entail.ErrClosed", name, err)
		}
	}
}
