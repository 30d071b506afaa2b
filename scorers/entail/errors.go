package entail

import "errors"

// Errors of a Verify call that mean the same for every verifier.
var (
	// ErrBusy refuses a call because the verifier holds all the calls that it
	// can; the same call may succeed later.
	ErrBusy = errors.New("the verifier holds all the calls that it can; try again later")
	// ErrClosed refuses a call because the verifier is being shut down.
	ErrClosed = errors.New("the verifier is closed")
)
