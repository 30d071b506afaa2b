package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"plumbline/models/tokenizer"
	"plumbline/scorers/entail"
)

// call is one Verify call. Its goroutine prepares jobs and receives outcomes;
// nothing of it is shared but what the queue guards.
type call struct {
	ctx     context.Context
	done    chan outcome
	account *entail.Account // of the request that the call belongs to
	pairs   int             // that the call has in all
	jobs    []job           // wait for a worker; guarded by the queue's lock
	arrived int             // its place among all calls; guarded by the queue's lock
	came    int             // how many turns there had been; guarded likewise
}

func newCall(ctx context.Context, slots, pairs int) *call {
	return &call{ctx: ctx, done: make(chan outcome, slots), account: entail.AccountOf(ctx), pairs: pairs}
}

// job is one tokenised pair.
type job struct {
	index    int
	encoding tokenizer.PairEncoding
	queued   time.Time
}

// outcome is a job's answer on its way back to the call.
type outcome struct {
	index            int
	result           entail.Result
	queue, inference time.Duration
}

const (
	// inTurn says that one turn in so many is kept for calls that rank high.
	inTurn = 8
	// short is the most pairs of a call that is served as a whole.
	short = 32
)

// queue hands jobs to workers. The next job is that of the call that ranks
// lowest: by its pairs, or by what its request has had from the model if that is
// more; of equals the first that came. An interactive call of a few pairs
// therefore goes ahead of larger ones and of requests that have had more, without
// saying that it is one, and short calls of one size are served one after the other,
// so that none waits longer for it (shortest job first; Conway, Maxwell and Miller,
// Theory of Scheduling, 1967). Calls beyond short rank alike until they have had as
// much and share the model from then on (least attained service; Kleinrock, Queueing
// Systems II, 1976). One turn in inTurn goes, by turns, to the request that has had the
// most and to the call that has waited longest for its size (highest response ratio;
// Brinch Hansen, Short-term scheduling in multiprogramming systems, 1971), so that no
// stream of smaller calls starves any.
// The queue is bounded: maxCalls calls, each with as many jobs as its channel
// of outcomes has room for.
type queue struct {
	maxCalls int

	mu       sync.Mutex
	wake     sync.Cond
	line     []*call // that have jobs
	arrivals int
	turns    int
	calls    int
	closed   bool
}

func newQueue(maxCalls int) *queue {
	q := &queue{maxCalls: maxCalls}
	q.wake.L = &q.mu
	return q
}

// enter admits a call, which must leave.
func (q *queue) enter() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return entail.ErrClosed
	}
	if q.calls == q.maxCalls {
		return entail.ErrBusy
	}
	q.calls++
	return nil
}

// leave lets a call go, with the jobs of it that still wait.
func (q *queue) leave(c *call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at := slices.Index(q.line, c); at >= 0 {
		q.line, c.jobs = slices.Delete(q.line, at, at+1), nil
	}
	q.calls--
	if q.closed && q.calls == 0 {
		q.wake.Broadcast()
	}
}

func (q *queue) push(c *call, j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.arrived == 0 {
		q.arrivals++
		c.arrived, c.came = q.arrivals, q.turns
	}
	c.jobs = append(c.jobs, j)
	if len(c.jobs) == 1 {
		q.line = append(q.line, c)
	}
	q.wake.Signal()
}

// next waits for a job whose call still wants it. It returns false once the
// queue is closed and the last call has left.
func (q *queue) next() (*call, job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.line) > 0 {
			at := q.favoured()
			c := q.line[at]
			if c.ctx.Err() != nil {
				q.line, c.jobs = slices.Delete(q.line, at, at+1), nil
				continue
			}
			q.turns++
			j := c.jobs[0]
			if c.jobs = c.jobs[1:]; len(c.jobs) == 0 {
				q.line = slices.Delete(q.line, at, at+1)
			}
			c.account.Charge()
			return c, j, true
		}
		if q.closed && q.calls == 0 {
			return nil, job{}, false
		}
		q.wake.Wait()
	}
}

// favoured is the place in the line of the call that gives the next job.
func (q *queue) favoured() int {
	rank := func(c *call) float64 { return float64(max(c.account.Had(), min(c.pairs, short))) }
	switch q.turns % (2 * inTurn) {
	case inTurn - 1:
		rank = func(c *call) float64 { return -float64(c.account.Had()) }
	case 2*inTurn - 1:
		rank = func(c *call) float64 { return -float64(q.turns-c.came) / float64(c.pairs) }
	}
	best, least := 0, 0.0
	for i, c := range q.line {
		if r := rank(c); i == 0 || r < least || r == least && c.arrived < q.line[best].arrived {
			best, least = i, r
		}
	}
	return best
}

// close refuses new calls and lets the workers go when the last has left.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake.Broadcast()
}
