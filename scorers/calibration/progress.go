package calibration

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"plumbline/scorers/calibration/stats"
)

// Progress is told how far a call is: done of total steps of a stage, such as
// "separation of signals". Stages come one after another, and so do calls, from
// any goroutine; done never falls within a stage. It should return soon: the
// work waits for it.
type Progress func(stage string, done, total int)

// progressKey is the key of a Progress in a context.
type progressKey struct{}

// WithProgress returns a context under which Fit, Evaluate and ReplayRecords say
// how far they are, through whatever lies between.
func WithProgress(ctx context.Context, p Progress) context.Context {
	return context.WithValue(ctx, progressKey{}, p)
}

// stage is a part of a call that is counted. It is safe for concurrent use.
type stage struct {
	tell Progress // nil tells nobody
	name string

	mu          sync.Mutex
	done, total int
}

// begin begins a stage of so many steps.
func begin(ctx context.Context, name string, total int) *stage {
	tell, _ := ctx.Value(progressKey{}).(Progress)
	s := &stage{tell: tell, name: name, total: total}
	s.add(0)
	return s
}

// add counts steps. More than were announced move the end.
func (s *stage) add(steps int) {
	if s.tell == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += steps
	s.total = max(s.total, s.done)
	s.tell(s.name, s.done, s.total)
}

// counting is a bootstrap each of whose draws is so many steps of the stage.
func (s *stage) counting(r stats.Resampling, steps int) stats.Resampling {
	r.Drawn = func() { s.add(steps) }
	return r
}

// inBlocks is onCores for short work on many records.
func inBlocks(ctx context.Context, n int, do func(from, to int)) error {
	const block = 256
	return onCores(ctx, n, block, do)
}

// onCores does work for the numbers below n, in blocks [from, to), on all cores.
// Once ctx is done no block is begun, and its error returned.
func onCores(ctx context.Context, n, block int, do func(from, to int)) error {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n/block+1) {
		group.Go(func() {
			for ctx.Err() == nil {
				to := int(next.Add(int64(block)))
				if to-block >= n {
					return
				}
				do(to-block, min(to, n))
			}
		})
	}
	group.Wait()
	return ctx.Err()
}
