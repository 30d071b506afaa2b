package policy

import "sync"

// tracker counts the calls in flight and knows when, after the start of a
// drain, the last one has ended.
type tracker struct {
	mu       sync.Mutex
	inFlight int
	idle     chan struct{} // set by drain; closed when nothing is in flight
}

// begin counts a call, unless the server drains.
func (t *tracker) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.idle != nil {
		return false
	}
	t.inFlight++
	return true
}

func (t *tracker) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inFlight--
	if t.idle != nil && t.inFlight == 0 {
		close(t.idle)
	}
}

func (t *tracker) drain() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.idle == nil {
		t.idle = make(chan struct{})
		if t.inFlight == 0 {
			close(t.idle)
		}
	}
	return t.idle
}
