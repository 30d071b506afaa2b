package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
)

func newCache(t *testing.T, next entail.Verifier, entries int64) entail.Verifier {
	t.Helper()
	v, err := New(next, entries*entryBytes)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func pair(i int) entail.Pair {
	return entail.Pair{Premise: fmt.Sprint("premise ", i), Hypothesis: fmt.Sprint("premise ", i%3)}
}

func verify(t *testing.T, v entail.Verifier, pairs ...entail.Pair) entail.Batch {
	t.Helper()
	batch, err := v.Verify(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func TestAKnownPairDoesNotReachTheVerifier(t *testing.T) {
	recorder := entailtest.NewRecorder(entailtest.Overlap())
	v := newCache(t, recorder, 10)
	first := verify(t, v, pair(1), pair(2))
	if first.Usage.CacheHits != 0 || first.Usage.Pairs != 2 {
		t.Errorf("first call: usage %+v", first.Usage)
	}
	second := verify(t, v, pair(2), pair(3), pair(1))
	if second.Usage.CacheHits != 2 || second.Usage.Pairs != 1 || second.Usage.Digest != first.Usage.Digest {
		t.Errorf("second call: usage %+v", second.Usage)
	}
	third := verify(t, v, pair(1), pair(2))
	if third.Usage.CacheHits != 2 || third.Usage.Pairs != 0 || third.Usage.Tokens != 0 ||
		third.Usage.Verifier != first.Usage.Verifier || third.Usage.Digest != first.Usage.Digest {
		t.Errorf("third call: usage %+v", third.Usage)
	}
	for i := range 3 {
		if n := recorder.Count(pair(i + 1)); n != 1 {
			t.Errorf("pair %d reached the verifier %d times", i+1, n)
		}
	}
}

// TestTheCacheChangesNoScore compares any sequence of calls with the verifier
// alone.
func TestTheCacheChangesNoScore(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cached, err := New(entailtest.Overlap(), rapid.Int64Range(1, 6).Draw(r, "entries")*entryBytes)
		if err != nil {
			r.Fatal(err)
		}
		for range 5 {
			var pairs []entail.Pair
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, 8), 0, 12).Draw(r, "call") {
				pairs = append(pairs, pair(i))
			}
			got, err := cached.Verify(context.Background(), pairs)
			if err != nil {
				r.Fatal(err)
			}
			want, err := entailtest.Overlap().Verify(context.Background(), pairs)
			if err != nil {
				r.Fatal(err)
			}
			if !slices.Equal(got.Results, want.Results) {
				r.Fatalf("results %+v, want %+v", got.Results, want.Results)
			}
			if got.Usage.CacheHits+got.Usage.Pairs != len(pairs) {
				r.Fatalf("usage %+v does not account for %d pairs", got.Usage, len(pairs))
			}
		}
	})
}

func TestFailuresAreNotKept(t *testing.T) {
	known := pair(0)
	table := map[entail.Pair]entail.Scores{}
	recorder := entailtest.NewRecorder(entailtest.Table(table))
	v := newCache(t, recorder, 10)
	if r := verify(t, v, known).Results[0]; !errors.Is(r.Err, entailtest.ErrUnknownPair) {
		t.Fatalf("result = %+v", r)
	}
	table[known] = entailtest.Support(0.75)
	if r := verify(t, v, known).Results[0]; r.Err != nil || r.Scores != entailtest.Support(0.75) {
		t.Errorf("after the failure: %+v", r)
	}
}

func TestErrorsOfTheVerifierPassThrough(t *testing.T) {
	broken := errors.New("broken")
	if _, err := newCache(t, entailtest.Failing{Err: broken}, 10).Verify(t.Context(), []entail.Pair{pair(0)}); !errors.Is(err, broken) {
		t.Errorf("error = %v", err)
	}
}

func TestTheBoundHolds(t *testing.T) {
	recorder := entailtest.NewRecorder(entailtest.Overlap())
	v := newCache(t, recorder, 2)
	verify(t, v, pair(0), pair(1))
	verify(t, v, pair(0))
	verify(t, v, pair(2)) // pair 1 was used longest ago
	if got := verify(t, v, pair(0), pair(2)).Usage.CacheHits; got != 2 {
		t.Errorf("%d of the two pairs used last are in the cache", got)
	}
	if got := verify(t, v, pair(1)).Usage.CacheHits; got != 0 {
		t.Error("the pair used longest ago is still in the cache")
	}
}

func TestNoRoomMeansNoCache(t *testing.T) {
	next := entailtest.Overlap()
	v, err := New(next, entryBytes-1)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := v.(entailtest.Func); !ok {
		t.Errorf("New returned %T", v)
	}
}

// versioned is a verifier whose model is exchanged after its n-th Describe.
type versioned struct {
	entail.Verifier
	describes atomic.Int64
	swapAt    int64
}

func (v *versioned) digest() string {
	if v.describes.Load() > v.swapAt {
		return "new"
	}
	return "old"
}

func (v *versioned) Describe(ctx context.Context) (entail.Description, error) {
	d, err := v.Verifier.Describe(ctx)
	d.Digest = v.digest()
	v.describes.Add(1)
	return d, err
}

func (v *versioned) Verify(_ context.Context, pairs []entail.Pair) (entail.Batch, error) {
	scores := entailtest.Support(0.25)
	if v.digest() == "new" {
		scores = entailtest.Support(0.75)
	}
	batch := entail.Batch{Usage: entail.Usage{Pairs: len(pairs), Digest: v.digest()}}
	for range pairs {
		batch.Results = append(batch.Results, entail.Result{Scores: scores})
	}
	return batch, nil
}

// TestAReplySpeaksForOneModel exchanges the model between the description and
// the run of a call that has a hit.
func TestAReplySpeaksForOneModel(t *testing.T) {
	v := newCache(t, &versioned{Verifier: entailtest.Overlap(), swapAt: 1}, 10)
	if got := verify(t, v, pair(0)); got.Usage.Digest != "old" {
		t.Fatalf("before the exchange: %+v", got.Usage)
	}
	batch := verify(t, v, pair(0), pair(1))
	want := entail.Result{Scores: entailtest.Support(0.75)}
	if batch.Usage.Digest != "new" || batch.Results[0] != want || batch.Results[1] != want || batch.Usage.CacheHits != 0 {
		t.Errorf("across the exchange: %+v", batch)
	}
	if got := verify(t, v, pair(0), pair(1)); got.Usage.CacheHits != 2 || got.Results[0] != want {
		t.Errorf("after the exchange: %+v", got)
	}
}

func TestKeysOfDifferentSplitsDiffer(t *testing.T) {
	keys := map[key]bool{
		keyOf("d", entail.Pair{Premise: "ab", Hypothesis: "c"}): true,
		keyOf("d", entail.Pair{Premise: "a", Hypothesis: "bc"}): true,
		keyOf("da", entail.Pair{Premise: "b", Hypothesis: "c"}): true,
		keyOf("d", entail.Pair{Premise: "abc"}):                 true,
		keyOf("d", entail.Pair{Hypothesis: "abc"}):              true,
	}
	if len(keys) != 5 {
		t.Errorf("5 different pairs have %d keys", len(keys))
	}
}

// TestEntriesCostWhatTheyAreSaidTo measures the memory of a full cache.
func TestEntriesCostWhatTheyAreSaidTo(t *testing.T) {
	const entries = 50_000
	heap := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	v := newCache(t, entailtest.Overlap(), entries)
	for i := range 2 * entries {
		verify(t, v, entail.Pair{Premise: fmt.Sprint(i)})
	}
	each := float64(heap()-before) / entries
	t.Logf("%.0f bytes an entry", each)
	if each > entryBytes {
		t.Errorf("an entry costs %.0f bytes, entryBytes is %d", each, entryBytes)
	}
	runtime.KeepAlive(v)
}
