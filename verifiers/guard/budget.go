package guard

import "sync"

const (
	// budgetShare is how many retries each call earns for all.
	budgetShare = 0.1
	// budgetReserve is what may be saved up, and what there is at the start.
	budgetReserve = 5
)

// budget keeps retries in proportion to calls, so that a verifier that fails
// all calls is not asked much more than one that fails none: n calls make at
// most 1.1·n + 5 attempts. (The idea is Finagle's retry budget.)
type budget struct {
	mu     sync.Mutex
	tokens float64
}

// deposit is made by each call of Verify.
func (b *budget) deposit() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.tokens+budgetShare, budgetReserve)
}

// withdraw says whether there may be a retry.
func (b *budget) withdraw() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
