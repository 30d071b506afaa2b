package engine

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gonum.org/v1/gonum/stat"

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
				batch, err := e.Verify(context.Background(), slices.Repeat([]entail.Pair{{Hypothesis: "x"}}, b.N))
				if err != nil || batch.Usage.Pairs != b.N {
					b.Fatalf("the model ran %d of %d pairs: %v", batch.Usage.Pairs, b.N, err)
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

// long is for runs of minutes, which need -timeout 0:
//
//	go test ./models/engine -run TestMemoryStaysFlat -v -long -timeout 0
var long = flag.Bool("long", false, "make 100,000 calls in place of 10,000 in TestMemoryStaysFlat")

// TestMemoryStaysFlat makes calls of changing numbers of pairs of changing
// lengths and asks that the process does not grow once it is warm.
func TestMemoryStaysFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the model 15,000 times")
	}
	if raceDetector {
		t.Skip("the race detector's own memory grows: run it without -race, as `make test` does")
	}
	if residentBytes(t) == 0 {
		t.Skip("the system does not tell the resident set size")
	}
	calls := 10_000
	if *long {
		calls = 100_000
	}
	const samples = 20
	e := openReal(t, byLength{}, 2)
	var at, resident []float64 // thousands of calls, MiB
	for sample := range samples {
		verifyMany(t, e, sample*calls/samples, (sample+1)*calls/samples)
		at = append(at, float64((sample+1)*calls/samples)/1000)
		resident = append(resident, float64(residentBytes(t))/(1<<20))
	}
	const warm = samples / 4
	_, slope := stat.LinearRegression(at[warm:], resident[warm:], nil, false)
	grown := resident[samples-1] - resident[warm]
	t.Logf("%d calls: resident %.1f MiB when warm, %.1f at the end, slope %.3f MiB per 1,000 calls", calls, resident[warm], resident[samples-1], slope)
	if grown > 16 {
		t.Errorf("the process grew by %.1f MiB over %d calls", grown, calls*(samples-warm)/samples)
	}
}

// verifyMany makes the calls with the given numbers by four callers. Most
// pairs are short, for the sake of time; some have any length up to the longest.
func verifyMany(t *testing.T, e *Engine, from, to int) {
	t.Helper()
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			for i := from + caller; i < to; i += 4 {
				pairs := make([]entail.Pair, 1+i%2)
				for k := range pairs {
					length := 3 + (i*7+k*11)%30
					if i%200 == 0 {
						length = 33 + (i*7)%480
					}
					pairs[k] = entail.Pair{Premise: strings.Repeat("x", length), Hypothesis: "x"}
				}
				batch, err := e.Verify(t.Context(), pairs)
				if err != nil || batch.Usage.Pairs != len(pairs) {
					t.Errorf("call %d: the model ran %d of %d pairs: %v", i, batch.Usage.Pairs, len(pairs), err)
				}
			}
		})
	}
	callers.Wait()
}

// byLength is a tokenizer that makes a pair as long as its premise.
type byLength struct{ letters }

func (byLength) EncodePair(premise, _ string) tokenizer.PairEncoding { return ofLength(len(premise)) }
