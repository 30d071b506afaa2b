// Package swap exchanges the model behind a verifier while calls go on: none
// fails, and none is answered by two models.
package swap

import (
	"context"
	"fmt"
	"sync"

	"plumbline/scorers/entail"
	"plumbline/verifiers"
)

// Verifier passes every call to its engine of the moment. It implements
// verifiers.Backend and verifiers.Pinner. Decorators that remember or share scores belong inside, around each
// engine: outside they would mix the scores of two models.
type Verifier struct {
	mu      sync.Mutex
	current *tenure // nil once closed
	// draining counts the engines that are retired and not yet closed.
	draining sync.WaitGroup
}

// tenure is an engine's time at work: from its swap until it is retired and
// its last user has left.
type tenure struct {
	engine verifiers.Backend
	// users are the calls and pins on the engine, and one for being current;
	// guarded by Verifier.mu.
	users int
	idle  chan struct{} // closed with the last user
}

// New returns a Verifier with its first engine, which it owns from then on.
func New(first verifiers.Backend) *Verifier {
	return &Verifier{current: newTenure(first)}
}

func newTenure(engine verifiers.Backend) *tenure {
	return &tenure{engine: engine, users: 1, idle: make(chan struct{})}
}

// enter takes hold of the current engine.
func (v *Verifier) enter() (*tenure, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.current == nil {
		return nil, entail.ErrClosed
	}
	v.current.users++
	return v.current, nil
}

func (v *Verifier) leave(t *tenure) {
	v.mu.Lock()
	defer v.mu.Unlock()
	t.release()
}

// release ends one use; the caller holds the lock.
func (t *tenure) release() {
	t.users--
	if t.users == 0 {
		close(t.idle)
	}
}

// Pin returns the verifier of the moment for as long as a request needs it: all
// that is asked of it until release, its description included, comes from one
// model. A request that asks more than once should pin; release may be called
// more than once.
func (v *Verifier) Pin() (pinned entail.Verifier, release func(), err error) {
	t, err := v.enter()
	if err != nil {
		return nil, nil, err
	}
	return t.engine, sync.OnceFunc(func() { v.leave(t) }), nil
}

// Describe implements entail.Verifier.
func (v *Verifier) Describe(ctx context.Context) (entail.Description, error) {
	t, err := v.enter()
	if err != nil {
		return entail.Description{}, err
	}
	defer v.leave(t)
	return t.engine.Describe(ctx)
}

// Verify implements entail.Verifier. One engine answers the whole call.
func (v *Verifier) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	t, err := v.enter()
	if err != nil {
		return entail.Batch{}, err
	}
	defer v.leave(t)
	return t.engine.Verify(ctx, pairs)
}

// Probe implements verifiers.Backend.
func (v *Verifier) Probe(ctx context.Context) error {
	t, err := v.enter()
	if err != nil {
		return err
	}
	defer v.leave(t)
	return t.engine.Probe(ctx)
}

// Swap puts next to work if it can score at all, and owns it from then on; if
// it cannot, the error says why, the engine at work stays, and next remains the
// caller's. Calls that are inside end where they began. Their engine is closed
// when the last of them has left, and the channel then has Close's outcome.
func (v *Verifier) Swap(ctx context.Context, next verifiers.Backend) (drained <-chan error, err error) {
	if err := next.Probe(ctx); err != nil {
		return nil, fmt.Errorf("the new model does not score, the old one stays: %w", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.current == nil {
		return nil, entail.ErrClosed
	}
	return v.succeed(newTenure(next)), nil
}

// Close refuses new calls, waits for those inside, pins included, and closes
// every engine. A second Close only waits.
func (v *Verifier) Close() error {
	v.mu.Lock()
	var last <-chan error
	if v.current != nil {
		last = v.succeed(nil)
	}
	v.mu.Unlock()
	v.draining.Wait()
	if last == nil {
		return nil
	}
	return <-last
}

// succeed retires the current engine in favour of next; the caller holds the
// lock.
func (v *Verifier) succeed(next *tenure) <-chan error {
	old := v.current
	v.current = next
	old.release()
	drained := make(chan error, 1)
	v.draining.Go(func() {
		<-old.idle
		drained <- old.engine.Close()
	})
	return drained
}
