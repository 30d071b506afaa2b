// Package deadline tells the caller's own deadline from the other side's: a call
// carries it, and either side's clock may be the first to see it pass.
package deadline

import (
	"context"
	"time"
)

// skew is how much earlier than we the other side may see a deadline pass.
const skew = 100 * time.Millisecond

// Passing returns the error of a context that has ended or whose deadline is so
// near that the other side may have seen it pass; it waits for that, since callers
// look at the context, too. It returns nil if the context has time left: a call
// that ended early then ended for a reason of the other side's.
func Passing(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < skew {
		<-ctx.Done()
	}
	return ctx.Err()
}
