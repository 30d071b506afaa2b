package engine

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// fixedLength is a tokenizer that makes every pair n tokens long.
type fixedLength int

func (n fixedLength) EncodePair(_, _ string) (ids, types []uint32) {
	ids, types = make([]uint32, n), make([]uint32, n)
	for i := range ids {
		ids[i] = 1996 + uint32(i%1000)
		if i > int(n)*3/4 {
			types[i] = 1
		}
	}
	ids[0], ids[n-1] = 101, 102
	return ids, types
}

// BenchmarkScore reports pairs per second of one call with many pairs.
func BenchmarkScore(b *testing.B) {
	for _, workers := range []int{1, 2} {
		for _, tokens := range []int{64, 128, 256, 512} {
			b.Run(fmt.Sprintf("workers=%d/tokens=%d", workers, tokens), func(b *testing.B) {
				e := openReal(b, fixedLength(tokens), workers)
				b.ResetTimer()
				if _, _, err := e.Score(context.Background(), make([]Pair, b.N)); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
				b.ReportMetric(float64(residentBytes(b))/(1<<20), "RSS-MiB")
			})
		}
	}
}

// residentBytes reads the resident set size, and returns 0 where the system
// does not tell.
func residentBytes(tb testing.TB) int64 {
	tb.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		tb.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

// TestMemoryStaysFlat runs thousands of pairs of changing lengths and asks
// that the process does not grow once it has seen them all.
func TestMemoryStaysFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the model 3,000 times")
	}
	if residentBytes(t) == 0 {
		t.Skip("the system does not tell the resident set size")
	}
	e := openReal(t, byLength{}, 2)
	round := func() {
		var callers sync.WaitGroup
		for caller := range 4 {
			callers.Go(func() {
				for i := range 15 {
					pairs := make([]Pair, 25)
					for k := range pairs {
						pairs[k].Premise = strings.Repeat("x", 3+(caller*31+i*7+k*11)%60)
					}
					if _, _, err := e.Score(t.Context(), pairs); err != nil {
						t.Error(err)
					}
				}
			})
		}
		callers.Wait()
	}
	round()
	before := residentBytes(t)
	round()
	after := residentBytes(t)
	t.Logf("resident: %d MiB, then %d MiB", before>>20, after>>20)
	if grown := after - before; grown > 16<<20 {
		t.Errorf("1,500 further pairs made the process grow by %d MiB", grown>>20)
	}
}

// byLength is a tokenizer that makes a pair as long as its premise.
type byLength struct{}

func (byLength) EncodePair(premise, _ string) (ids, types []uint32) {
	return fixedLength(len(premise)).EncodePair("", "")
}
