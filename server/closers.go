package server

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// closeTimeout bounds every closer: a stuck one must not keep the process.
const closeTimeout = 5 * time.Second

// closers is the stack of what was opened.
type closers []closer

type closer struct {
	name  string
	close func() error
}

// push adds what is to be closed before everything pushed earlier.
func (c *closers) push(name string, closeIt func() error) {
	*c = append(*c, closer{name, closeIt})
}

// close closes everything, last opened first, and reports every failure.
func (c *closers) close() error {
	var errs []error
	for _, closer := range slices.Backward(*c) {
		done := make(chan error, 1)
		go func() { done <- closer.close() }()
		select {
		case err := <-done:
			if err != nil {
				errs = append(errs, fmt.Errorf("closing %s: %w", closer.name, err))
			}
		case <-time.After(closeTimeout):
			errs = append(errs, fmt.Errorf("closing %s: not done after %s", closer.name, closeTimeout))
		}
	}
	*c = nil
	return errors.Join(errs...)
}
