package spawn

import "time"

const (
	// maxStarts is how often a sidecar is started within startWindow.
	maxStarts   = 6
	startWindow = time.Minute
	// firstDelay follows the second failure in a row and doubles from there; the
	// first restart is at once.
	firstDelay = time.Second
	// settled is how long a sidecar runs until its failures are forgotten.
	settled = time.Minute
)

// schedule says when a sidecar may be started again.
type schedule struct {
	starts   []time.Time // the last ones, at most maxStarts
	restarts int         // since the sidecar last ran for long
}

// started notes a start.
func (s *schedule) started(at time.Time) {
	s.starts = append(s.starts, at)
	if len(s.starts) > maxStarts {
		s.starts = s.starts[1:]
	}
}

// next is the time of the start that follows a failure.
func (s *schedule) next(failed time.Time) time.Time {
	if len(s.starts) > 0 && failed.Sub(s.starts[len(s.starts)-1]) >= settled {
		s.restarts = 0
	}
	at := failed
	if s.restarts > 0 {
		at = at.Add(min(firstDelay<<min(s.restarts-1, maxStarts), startWindow))
	}
	s.restarts++
	if len(s.starts) == maxStarts {
		if free := s.starts[0].Add(startWindow); free.After(at) {
			at = free
		}
	}
	return at
}
