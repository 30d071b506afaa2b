package entail

import (
	"errors"
	"time"
)

// Errors of a Verify call that mean the same for every verifier.
var (
	// ErrBusy refuses a call because the verifier holds all the calls that it
	// can; the same call may succeed later.
	ErrBusy = errors.New("the verifier holds all the calls that it can; try again later")
	// ErrClosed refuses a call because the verifier is being shut down.
	ErrClosed = errors.New("the verifier is closed")
	// ErrUnavailable means that the verifier could not be reached or failed by
	// itself; the same call may succeed later.
	ErrUnavailable = errors.New("the verifier is not available")
	// ErrRejected means that the verifier refused the call as it is (it wants
	// other credentials, another model or another form), so that a repetition is
	// refused too.
	ErrRejected = errors.New("the verifier rejects the call")
	// ErrBadReply means that the verifier answered in a way that its protocol
	// does not allow; no score of such a reply is used.
	ErrBadReply = errors.New("the verifier's reply is invalid")
)

// RetryAfter is the error of a call whose refusal says when to try again.
type RetryAfter struct {
	// After counts from the moment of the refusal.
	After time.Duration
	// Err is the refusal, such as ErrBusy.
	Err error
}

// Error implements error.
func (r *RetryAfter) Error() string {
	return r.Err.Error() + " (try again after " + r.After.String() + ")"
}

// Unwrap returns the refusal.
func (r *RetryAfter) Unwrap() error { return r.Err }
