package entail

import (
	"context"
	"sync"
	"time"
)

// Account counts the pairs that the Verify calls of one request have had from a
// model. A verifier that shares itself fairly counts by it, so that a request
// of many small calls is not taken for many small requests. It is safe for
// concurrent use.
type Account struct {
	mu    sync.Mutex
	calls int
	had   int
	left  time.Time // when the last call left
}

// rest is how long a request may be without a call and still go on where it
// was. A conversation over one stream thinks longer between its turns, the
// parts of a large call follow each other at once.
const rest = 100 * time.Millisecond

type accountKey struct{}

// WithAccount returns a context whose Verify calls are counted together.
func WithAccount(ctx context.Context) context.Context {
	return context.WithValue(ctx, accountKey{}, new(Account))
}

// AccountOf returns the account of ctx, or a new one.
func AccountOf(ctx context.Context) *Account {
	if a, ok := ctx.Value(accountKey{}).(*Account); ok {
		return a
	}
	return new(Account)
}

// Enter begins a call, which must Leave. The first one after a rest begins
// anew.
func (a *Account) Enter() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls == 0 && time.Since(a.left) > rest {
		a.had = 0
	}
	a.calls++
}

// Leave ends a call.
func (a *Account) Leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls--
	a.left = time.Now()
}

// Charge counts a pair.
func (a *Account) Charge() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.had++
}

// Had is how many pairs were counted.
func (a *Account) Had() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.had
}
