package engine

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/cpu"

	"plumbline/internal/orttest"
	"plumbline/models/bundled"
	"plumbline/scorers/entail"
)

// reference is a pair with what Hugging Face tokenizers and Python's ONNX
// Runtime make of it; see testdata/make_parity.py.
type reference struct {
	Premise    string    `json:"premise"`
	Hypothesis string    `json:"hypothesis"`
	IDs        []int64   `json:"ids"`
	Types      []int64   `json:"types"`
	Logits     []float32 `json:"logits"`
}

func (r reference) pair() entail.Pair {
	return entail.Pair{Premise: r.Premise, Hypothesis: r.Hypothesis}
}

// want is the softmax of the reference's logits.
func (r reference) want(t *testing.T) entail.Scores {
	t.Helper()
	p, err := softmax(r.Logits)
	if err != nil {
		t.Fatal(err)
	}
	return entail.Scores{Entailment: p[0], Neutral: p[1], Contradiction: p[2], ThreeClass: true}
}

func readReferences(tb testing.TB) []reference {
	tb.Helper()
	data, err := os.ReadFile("testdata/parity.json")
	if err != nil {
		tb.Fatal(err)
	}
	var refs []reference
	if err := json.Unmarshal(data, &refs); err != nil {
		tb.Fatal(err)
	}
	return refs
}

func pairsOf(refs []reference) []entail.Pair {
	pairs := make([]entail.Pair, len(refs))
	for i, ref := range refs {
		pairs[i] = ref.pair()
	}
	return pairs
}

// openReal opens the bundled model and closes it when the test ends. Without a
// tokenizer of the test's it has its own.
func openReal(tb testing.TB, tokens Tokenizer, workers int) *Engine {
	tb.Helper()
	config := Config{Library: orttest.Library(tb), Workers: workers}
	model, err := bundled.Load()
	if err != nil {
		tb.Fatal(err)
	}
	var e *Engine
	if tokens == nil {
		e, err = Open(model, config)
	} else {
		e, err = open(model, tokens, config)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return e
}

// tolerance is 1e-5 on processors that compute as the one of the references
// does (amd64, AVX2). Others round in another order, which can move an
// activation to the neighbouring 8-bit step.
func tolerance() float64 {
	if runtime.GOARCH == "amd64" && cpu.X86.HasAVX2 && !cpu.X86.HasAVX512F {
		return 1e-5
	}
	return 0.03
}

func distance(a, b entail.Scores) float64 {
	return max(math.Abs(a.Entailment-b.Entailment), math.Abs(a.Neutral-b.Neutral), math.Abs(a.Contradiction-b.Contradiction))
}

func TestScoresEqualThoseOfPython(t *testing.T) {
	e, refs := openReal(t, nil, 2), readReferences(t)
	batch, err := e.Verify(t.Context(), pairsOf(refs))
	if err != nil {
		t.Fatal(err)
	}
	var worst float64
	for i, r := range batch.Results {
		if r.Err != nil {
			t.Fatalf("pair %d: %v", i, r.Err)
		}
		worst = max(worst, distance(r.Scores, refs[i].want(t)))
	}
	t.Logf("largest difference over %d pairs: %.3g", len(refs), worst)
	if worst > tolerance() {
		t.Errorf("largest difference = %g, want at most %g", worst, tolerance())
	}
}

// TestScoresDoNotDependOnNeighbours asks for bit-equality, which is what the
// manifest's epsilon of 0 says.
func TestScoresDoNotDependOnNeighbours(t *testing.T) {
	e, refs := openReal(t, nil, 2), readReferences(t)
	pairs := pairsOf(refs)
	together, err := e.Verify(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 5 {
		alone, err := e.Verify(t.Context(), pairs[i:i+1])
		if err != nil {
			t.Fatal(err)
		}
		if alone.Results[0] != together.Results[i] {
			t.Errorf("pair %d: alone %+v, among others %+v", i, alone.Results[0], together.Results[i])
		}
	}
}

func TestConcurrentCallsOfTheRealModel(t *testing.T) {
	e, refs := openReal(t, nil, 2), readReferences(t)
	short := refs[:8]
	want, err := e.Verify(t.Context(), pairsOf(short))
	if err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	for caller := range 64 {
		callers.Go(func() {
			i := caller % len(short)
			got, err := e.Verify(t.Context(), []entail.Pair{short[i].pair()})
			if err != nil || got.Results[0] != want.Results[i] {
				t.Errorf("caller %d: %+v, %v; want %+v", caller, got.Results, err, want.Results[i])
			}
			if usage := got.Usage; usage.Pairs != 1 || usage.Tokens != len(short[i].IDs) || usage.Inference <= 0 {
				t.Errorf("caller %d: usage %+v", caller, usage)
			}
		})
	}
	callers.Wait()
}

func TestCancellationStopsTheRealModel(t *testing.T) {
	e, refs := openReal(t, nil, 1), readReferences(t)
	longest := refs[0]
	for _, ref := range refs {
		if len(ref.IDs) > len(longest.IDs) {
			longest = ref
		}
	}
	many := make([]entail.Pair, 400)
	for i := range many {
		many[i] = longest.pair()
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(30*time.Millisecond, cancel)
	if _, err := e.Verify(ctx, many); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled call: %v", err)
	}
	// The runner's terminate flag must not have stuck.
	for range 3 {
		batch, err := e.Verify(t.Context(), []entail.Pair{longest.pair()})
		if err != nil || batch.Results[0].Err != nil {
			t.Fatalf("the next call: %+v, %v", batch.Results, err)
		}
		if d := distance(batch.Results[0].Scores, longest.want(t)); d > tolerance() {
			t.Errorf("the next call is off by %g", d)
		}
	}
}

func TestADeadlineIsTheErrorOfTheCall(t *testing.T) {
	e, refs := openReal(t, nil, 1), readReferences(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if _, err := e.Verify(ctx, pairsOf(refs)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want context.DeadlineExceeded", err)
	}
}

func TestOpenExplainsABrokenNetwork(t *testing.T) {
	library := orttest.Library(t)
	for name, spoil := range map[string]func([]byte) []byte{
		"truncated": func(b []byte) []byte { return b[:len(b)/2] },
		"garbage":   func([]byte) []byte { return []byte("not a network") },
	} {
		t.Run(name, func(t *testing.T) {
			model, err := bundled.Load()
			if err != nil {
				t.Fatal(err)
			}
			model.Weights = spoil(model.Weights)
			_, err = Open(model, Config{Library: library})
			if err == nil || !strings.Contains(err.Error(), "model.int8.onnx") || !strings.Contains(err.Error(), "fetch it again") {
				t.Errorf("error = %v, want one that names the file and says what to do", err)
			}
		})
	}
	// A failed open must have let go of the library.
	openReal(t, nil, 1)
}

// TestSwappingModelsUnderLoad opens and closes engines while another scores:
// they share the one library of the process.
func TestSwappingModelsUnderLoad(t *testing.T) {
	e, refs := openReal(t, nil, 1), readReferences(t)
	pair := []entail.Pair{refs[0].pair()}
	want, err := e.Verify(t.Context(), pair)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	load.Go(func() {
		for ctx.Err() == nil {
			got, err := e.Verify(t.Context(), pair)
			if err != nil || got.Results[0] != want.Results[0] {
				t.Errorf("under a swap: %+v, %v; want %+v", got.Results, err, want.Results[0])
				return
			}
		}
	})
	for range 5 {
		other := openReal(t, nil, 1)
		got, err := other.Verify(t.Context(), pair)
		if err != nil || got.Results[0] != want.Results[0] {
			t.Errorf("the other engine: %+v, %v; want %+v", got.Results, err, want.Results[0])
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
	cancel()
	load.Wait()
}
