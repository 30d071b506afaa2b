//go:build unix

// Package spawn runs a verifier in a process of its own: it starts the command
// of an exec: address, makes sure that what answers is that process, asks it
// through package remote, and starts it again when it crashes or hangs.
//
// The protocol between the two is that of docs/verifiers-exec.md: three
// environment variables name a private Unix socket, a cookie and the protocol's
// version; one line on standard output proves that the sidecar knows the cookie;
// every call carries the cookie as metadata; standard input ends with the host.
// The ideas are those of HashiCorp's go-plugin; its own protocol (mutual TLS, a
// broker, several languages of its wire) is more than a sidecar of a few lines in
// Python should have to speak.
//
// A sidecar has no variables of the host's environment, unless they are asked
// for. What it prints goes to the log line by line, and it is not for the
// sidecar to print text of pairs.
package spawn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"

	"plumbline/scorers/entail"
)

// Verifier is a sidecar that is kept running. It implements entail.Verifier and
// is safe for concurrent use. While the sidecar is down calls fail at once as
// entail.ErrUnavailable, with the time of the next start if that is known.
type Verifier struct {
	config    Config
	ctx       context.Context //nolint:containedctx // its end ends the supervision
	cancel    context.CancelFunc
	ended     chan struct{} // closed when the supervision is over
	endError  error         // of the last sidecar; valid then
	schedule  schedule      // the supervision's own
	mu        sync.Mutex
	current   *sidecar // nil while down
	down      error    // why
	nextStart time.Time
}

// Open starts the sidecar and returns when it serves. A failure has one of the
// errors of this package, or a *remote.ProtocolError where the sidecar's
// description is wrong; nothing is left running then.
func Open(ctx context.Context, config Config) (*Verifier, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	v := &Verifier{config: config.withDefaults(), ended: make(chan struct{})}
	v.ctx, v.cancel = context.WithCancel(context.WithoutCancel(ctx))
	v.schedule.started(time.Now())
	first, err := start(ctx, v.config)
	if err != nil {
		v.cancel()
		return nil, err
	}
	v.up(first)
	go v.supervise(first)
	return v, nil
}

// supervise keeps the sidecar running until Close.
func (v *Verifier) supervise(s *sidecar) {
	defer close(v.ended)
	for s != nil {
		go s.watch()
		select {
		case <-v.ctx.Done():
			v.set(nil, entail.ErrClosed, time.Time{})
			v.endError = s.end()
			return
		case <-s.process.ended:
		}
		failure := s.failure()
		next := v.schedule.next(time.Now())
		v.set(nil, failure, next)
		v.config.Log.Error("the sidecar is down", "error", failure, "next_start", next)
		if err := s.end(); err != nil {
			v.config.Log.Warn("the sidecar left something behind", "error", err)
		}
		s = v.restart(next)
	}
}

// restart starts the sidecar as often as it takes, and returns nil if the
// verifier is closed meanwhile.
func (v *Verifier) restart(next time.Time) *sidecar {
	for {
		select {
		case <-v.ctx.Done():
			v.set(nil, entail.ErrClosed, time.Time{})
			return nil
		case <-time.After(time.Until(next)):
		}
		v.schedule.started(time.Now())
		s, err := start(v.ctx, v.config)
		if err == nil {
			v.up(s)
			return s
		}
		next = v.schedule.next(time.Now())
		v.set(nil, err, next)
		v.config.Log.Error("the sidecar did not start", "error", err, "next_start", next)
	}
}

func (v *Verifier) up(s *sidecar) {
	v.config.Log.Info("the sidecar serves", "pid", s.process.pid())
	v.set(s, nil, time.Time{})
}

func (v *Verifier) set(s *sidecar, down error, next time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.current, v.down, v.nextStart = s, down, next
}

// running is the sidecar to ask, or why there is none.
func (v *Verifier) running() (*sidecar, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.current != nil {
		return v.current, nil
	}
	if errors.Is(v.down, entail.ErrClosed) {
		return nil, entail.ErrClosed
	}
	err := fmt.Errorf("%w: %w", entail.ErrUnavailable, v.down)
	if wait := time.Until(v.nextStart); wait > 0 {
		return nil, &entail.RetryAfter{After: wait, Err: err}
	}
	return nil, err
}

// Describe implements entail.Verifier.
func (v *Verifier) Describe(ctx context.Context) (entail.Description, error) {
	s, err := v.running()
	if err != nil {
		return entail.Description{}, err
	}
	description, err := s.remote.Describe(ctx)
	return description, v.explain(ctx, s, err)
}

// Verify implements entail.Verifier.
func (v *Verifier) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	s, err := v.running()
	if err != nil {
		return entail.Batch{}, err
	}
	batch, err := s.remote.Verify(ctx, pairs)
	return batch, v.explain(ctx, s, err)
}

// Probe says whether the sidecar answers.
func (v *Verifier) Probe(ctx context.Context) error {
	s, err := v.running()
	if err != nil {
		return err
	}
	return v.explain(ctx, s, s.remote.Probe(ctx))
}

// Conn is the connection to the sidecar of the moment, for tools that speak
// VerifierService by themselves.
func (v *Verifier) Conn() (grpc.ClientConnInterface, error) {
	s, err := v.running()
	if err != nil {
		return nil, err
	}
	return s.remote.Conn()
}

// explain makes the error of a call that a crash cut short say so. By itself it
// only tells what became of the connection, which by now we may have closed.
func (v *Verifier) explain(ctx context.Context, s *sidecar, err error) error {
	if err == nil || ctx.Err() != nil || v.ctx.Err() != nil {
		return err
	}
	if exited := s.orExited(nil); exited != nil {
		return fmt.Errorf("%w: %w", entail.ErrUnavailable, exited)
	}
	return err
}

// Close ends the sidecar: SIGTERM, and SIGKILL after the grace period, to its
// whole process group. Nothing of it is left when Close returns.
func (v *Verifier) Close() error {
	v.cancel()
	<-v.ended
	return v.endError
}
