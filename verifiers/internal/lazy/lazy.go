// Package lazy keeps what a server was asked for once.
package lazy

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Value is found out when it is first wanted, by one caller at a time, and kept
// until it is set or forgotten. A failure is not kept.
type Value[T any] struct {
	asking *semaphore.Weighted
	known  atomic.Pointer[T]
}

// New returns a Value that is not known yet.
func New[T any]() *Value[T] { return &Value[T]{asking: semaphore.NewWeighted(1)} }

// Get returns the value, and asks for it if it is not known. Whoever waits for
// another's asking still honours ctx.
func (v *Value[T]) Get(ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	var none T
	if known := v.known.Load(); known != nil {
		return *known, nil
	}
	if err := v.asking.Acquire(ctx, 1); err != nil {
		return none, err
	}
	defer v.asking.Release(1)
	if known := v.known.Load(); known != nil {
		return *known, nil
	}
	found, err := ask(ctx)
	if err != nil {
		return none, err
	}
	v.known.Store(&found)
	return found, nil
}

// Set replaces the value.
func (v *Value[T]) Set(value T) { v.known.Store(&value) }

// Forget lets the next Get ask again.
func (v *Value[T]) Forget() { v.known.Store(nil) }
