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
)

// reference is a pair with what Hugging Face tokenizers and Python's ONNX
// Runtime make of it; see testdata/make_parity.py.
type reference struct {
	Premise    string    `json:"premise"`
	Hypothesis string    `json:"hypothesis"`
	IDs        []uint32  `json:"ids"`
	Types      []uint32  `json:"types"`
	Logits     []float32 `json:"logits"`
}

func (r reference) pair() Pair { return Pair{Premise: r.Premise, Hypothesis: r.Hypothesis} }

// want is the softmax of the reference's logits.
func (r reference) want(t *testing.T) Result {
	t.Helper()
	p, err := softmax(r.Logits)
	if err != nil {
		t.Fatal(err)
	}
	return Result{Entailment: p[0], Neutral: p[1], Contradiction: p[2]}
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

// lookup is a tokenizer that knows the references' token ids: it keeps these
// tests about the engine.
type lookup map[Pair]reference

func (l lookup) EncodePair(premise, hypothesis string) (ids, types []uint32) {
	ref := l[Pair{premise, hypothesis}]
	return ref.IDs, ref.Types
}

func pairsOf(refs []reference) []Pair {
	pairs := make([]Pair, len(refs))
	for i, ref := range refs {
		pairs[i] = ref.pair()
	}
	return pairs
}

// openReal opens the bundled model and closes it when the test ends.
func openReal(tb testing.TB, tokenizer Tokenizer, workers int) *Engine {
	tb.Helper()
	library := orttest.Library(tb)
	model, err := bundled.Load()
	if err != nil {
		tb.Fatal(err)
	}
	e, err := Open(model, tokenizer, Config{Library: library, Workers: workers})
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

func openReferences(tb testing.TB, workers int) (*Engine, []reference) {
	tb.Helper()
	refs := readReferences(tb)
	tokens := lookup{}
	for _, ref := range refs {
		tokens[ref.pair()] = ref
	}
	return openReal(tb, tokens, workers), refs
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

func distance(a, b Result) float64 {
	return max(math.Abs(a.Entailment-b.Entailment), math.Abs(a.Neutral-b.Neutral), math.Abs(a.Contradiction-b.Contradiction))
}

func TestScoresEqualThoseOfPython(t *testing.T) {
	e, refs := openReferences(t, 2)
	results, _, err := e.Score(t.Context(), pairsOf(refs))
	if err != nil {
		t.Fatal(err)
	}
	var worst float64
	for i, r := range results {
		if r.Err != nil {
			t.Fatalf("pair %d: %v", i, r.Err)
		}
		worst = max(worst, distance(r, refs[i].want(t)))
	}
	t.Logf("largest difference over %d pairs: %.3g", len(refs), worst)
	if worst > tolerance() {
		t.Errorf("largest difference = %g, want at most %g", worst, tolerance())
	}
}

// TestScoresDoNotDependOnNeighbours asks for bit-equality, which is what the
// manifest's epsilon of 0 says.
func TestScoresDoNotDependOnNeighbours(t *testing.T) {
	e, refs := openReferences(t, 2)
	pairs := pairsOf(refs)
	together, _, err := e.Score(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 5 {
		alone, _, err := e.Score(t.Context(), pairs[i:i+1])
		if err != nil {
			t.Fatal(err)
		}
		if alone[0] != together[i] {
			t.Errorf("pair %d: alone %+v, among others %+v", i, alone[0], together[i])
		}
	}
}

func TestConcurrentCallsOfTheRealModel(t *testing.T) {
	e, refs := openReferences(t, 2)
	short := refs[:8]
	want, _, err := e.Score(t.Context(), pairsOf(short))
	if err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	for caller := range 64 {
		callers.Go(func() {
			i := caller % len(short)
			got, usage, err := e.Score(t.Context(), []Pair{short[i].pair()})
			if err != nil || got[0] != want[i] {
				t.Errorf("caller %d: %+v, %v; want %+v", caller, got, err, want[i])
			}
			if usage.Pairs != 1 || usage.Tokens != len(short[i].IDs) || usage.Inference <= 0 {
				t.Errorf("caller %d: usage %+v", caller, usage)
			}
		})
	}
	callers.Wait()
}

func TestCancellationStopsTheRealModel(t *testing.T) {
	e, refs := openReferences(t, 1)
	longest := refs[0]
	for _, ref := range refs {
		if len(ref.IDs) > len(longest.IDs) {
			longest = ref
		}
	}
	many := make([]Pair, 400)
	for i := range many {
		many[i] = longest.pair()
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(30*time.Millisecond, cancel)
	if _, _, err := e.Score(ctx, many); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled call: %v", err)
	}
	// The runner's terminate flag must not have stuck.
	for range 3 {
		results, _, err := e.Score(t.Context(), []Pair{longest.pair()})
		if err != nil || results[0].Err != nil {
			t.Fatalf("the next call: %+v, %v", results, err)
		}
		if d := distance(results[0], longest.want(t)); d > tolerance() {
			t.Errorf("the next call is off by %g", d)
		}
	}
}

func TestADeadlineIsTheErrorOfTheCall(t *testing.T) {
	e, refs := openReferences(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if _, _, err := e.Score(ctx, pairsOf(refs)); !errors.Is(err, context.DeadlineExceeded) {
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
			_, err = Open(model, lookup{}, Config{Library: library})
			if err == nil || !strings.Contains(err.Error(), "model.int8.onnx") || !strings.Contains(err.Error(), "fetch it again") {
				t.Errorf("error = %v, want one that names the file and says what to do", err)
			}
		})
	}
	// A failed open must have let go of the library.
	openReal(t, lookup{}, 1)
}

// TestSwappingModelsUnderLoad opens and closes engines while another scores:
// they share the one library of the process.
func TestSwappingModelsUnderLoad(t *testing.T) {
	e, refs := openReferences(t, 1)
	pair := []Pair{refs[0].pair()}
	want, _, err := e.Score(t.Context(), pair)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	load.Go(func() {
		for ctx.Err() == nil {
			got, _, err := e.Score(t.Context(), pair)
			if err != nil || got[0] != want[0] {
				t.Errorf("under a swap: %+v, %v; want %+v", got, err, want[0])
				return
			}
		}
	})
	for range 5 {
		other, _ := openReferences(t, 1)
		got, _, err := other.Score(t.Context(), pair)
		if err != nil || got[0] != want[0] {
			t.Errorf("the other engine: %+v, %v; want %+v", got, err, want[0])
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
	cancel()
	load.Wait()
}
