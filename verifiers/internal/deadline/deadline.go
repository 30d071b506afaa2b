// Package deadline tells the caller's own deadline from the other side's: a call
// carries it, and either side's clock may be the first to see it pass.
package deadline

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
)

// Ends says whether a code may be how the other side ends a call whose time is over.
func Ends(code codes.Code) bool {
	return code == codes.DeadlineExceeded || code == codes.Canceled
}

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
