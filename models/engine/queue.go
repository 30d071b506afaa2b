package engine

import (
	"context"
	"sync"
	"time"

	"plumbline/models/tokenizer"
	"plumbline/scorers/entail"
)

// call is one Verify call. Its goroutine prepares jobs and receives outcomes;
// nothing of it is shared but what the queue guards.
type call struct {
	ctx  context.Context
	done chan outcome
	// jobs wait for a worker; guarded by the queue's lock.
	jobs []job
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

// queue hands jobs to workers. The calls that have jobs stand in a line; the
// first gives one job and, if it has more, goes to the end. A call of one pair
// therefore waits for one pair of each other call, however many those have.
// The queue is bounded: maxCalls calls, each with as many jobs as its channel
// of outcomes has room for.
type queue struct {
	maxCalls int

	mu     sync.Mutex
	wake   sync.Cond
	line   []*call
	calls  int
	closed bool
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

func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls--
	if q.closed && q.calls == 0 {
		q.wake.Broadcast()
	}
}

func (q *queue) push(c *call, j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
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
			c := q.line[0]
			q.line = q.line[1:]
			if c.ctx.Err() != nil {
				c.jobs = nil
				continue
			}
			j := c.jobs[0]
			c.jobs = c.jobs[1:]
			if len(c.jobs) > 0 {
				q.line = append(q.line, c)
			}
			return c, j, true
		}
		if q.closed && q.calls == 0 {
			return nil, job{}, false
		}
		q.wake.Wait()
	}
}

// close refuses new calls and lets the workers go when the last has left.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake.Broadcast()
}
