package engine

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"plumbline/models/tokenizer"
	"plumbline/scorers/entail"
)

// fixedLength is a tokenizer that makes every pair n tokens long.
type fixedLength struct {
	letters
	tokens int
}

func (f fixedLength) EncodePair(_, _ string) tokenizer.PairEncoding { return ofLength(f.tokens) }

// ofLength is a pair of n tokens of the bundled vocabulary, a quarter of them
// in the hypothesis.
func ofLength(n int) tokenizer.PairEncoding {
	p := tokenizer.PairEncoding{IDs: make([]int64, n), TypeIDs: make([]int64, n)}
	for i := range n {
		p.IDs[i] = 1996 + int64(i%1000)
		if i > n*3/4 {
			p.TypeIDs[i] = 1
		}
	}
	return p
}

// BenchmarkVerify reports pairs per second of one call with many pairs, and
// pairs per second of processor time, which other work on the machine disturbs
// less.
func BenchmarkVerify(b *testing.B) {
	for _, workers := range []int{1, 2} {
		for _, tokens := range []int{64, 128, 256, 512} {
			b.Run(fmt.Sprintf("workers=%d/tokens=%d", workers, tokens), func(b *testing.B) {
				e := openReal(b, fixedLength{tokens: tokens}, workers)
				b.ResetTimer()
				cpuBefore := processorSeconds(b)
				if _, err := e.Verify(context.Background(), make([]entail.Pair, b.N)); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
				b.ReportMetric(float64(b.N)/(processorSeconds(b)-cpuBefore), "pairs/CPU-s")
				b.ReportMetric(float64(residentBytes(b))/(1<<20), "RSS-MiB")
			})
		}
	}
}

// processorSeconds is the time that the process has used on all processors.
func processorSeconds(tb testing.TB) float64 {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
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
					pairs := make([]entail.Pair, 25)
					for k := range pairs {
						pairs[k].Premise = strings.Repeat("x", 3+(caller*31+i*7+k*11)%60)
					}
					if _, err := e.Verify(t.Context(), pairs); err != nil {
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
type byLength struct{ letters }

func (byLength) EncodePair(premise, _ string) tokenizer.PairEncoding { return ofLength(len(premise)) }
