package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/server/config"
	"plumbline/server/fault"
	"plumbline/server/metrics"
	"plumbline/verifiers"
	"plumbline/verifiers/address"
	"plumbline/verifiers/cache"
	"plumbline/verifiers/guard"
	"plumbline/verifiers/remote"
	"plumbline/verifiers/singleflight"
)

const (
	// embeddedChunk is how many pairs of a long call the embedded model runs
	// before those who share one of them are let go.
	embeddedChunk = 64
	// remoteChunk is the same for verifiers that are asked over a wire, where
	// each call costs a round trip.
	remoteChunk = 2048
)

// OpenEngine opens the embedded model as the settings describe it, behind its
// cache and with equal pairs in flight sharing one run.
func OpenEngine(cfg config.Config, log *slog.Logger) (verifiers.Backend, error) {
	v := config.DefaultVerifier(config.Embedded, "")
	v.MaxCalls = cfg.Verifier.MaxCalls
	return openBackend(context.Background(), cfg, v, guard.Observer{}, log)
}

// openBackend opens a verifier with all that stands in front of it.
func openBackend(ctx context.Context, cfg config.Config, v config.NamedVerifier, observer guard.Observer, log *slog.Logger) (verifiers.Backend, error) {
	at, err := address.Parse(v.Address)
	if err != nil {
		return nil, err
	}
	options := address.Options{ModelDir: cfg.Model.Dir, TLS: remote.TLS(v.TLS), Log: log}
	options.Engine.Library = cfg.ONNXRuntime.Lib
	options.Engine.Workers = cfg.Verifier.Workers
	options.Engine.MaxCalls = v.MaxCalls + 1 // the guard's limit, and a probe
	backend, err := at.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	guarded := guard.New(backend, guard.Config{
		MaxCalls:        v.MaxCalls,
		Timeout:         v.Timeout,
		Retries:         v.Retries,
		BreakerFailures: v.Breaker.Failures,
		BreakerPause:    v.Breaker.Pause,
		Observer:        observer,
	})
	cached, err := cache.New(guarded, cfg.Verifier.CacheBytes)
	if err != nil {
		return nil, errors.Join(err, guarded.Close())
	}
	chunk := remoteChunk
	if at.Scheme == address.Embedded {
		chunk = embeddedChunk
	}
	return stack{Verifier: singleflight.New(cached, chunk), backend: guarded}, nil
}

// stack is a backend behind decorators. Probe passes them by, so that it tells
// of the backend and not of the cache.
type stack struct {
	entail.Verifier
	backend verifiers.Backend
}

// Probe implements verifiers.Backend.
func (s stack) Probe(ctx context.Context) error { return s.backend.Probe(ctx) }

// Close implements verifiers.Backend.
func (s stack) Close() error { return s.backend.Close() }

// observe tells metrics and log what a guard does.
func observe(name string, m metrics.Verifier, log *slog.Logger) guard.Observer {
	return guard.Observer{
		Retry: func(failure error) {
			m.Retried()
			log.Debug("a verifier is asked again", "verifier", name, "error", failure)
		},
		State: func(state guard.State) {
			m.Breaker(int(state))
			log.Warn("a verifier's circuit breaker has changed", "verifier", name, "state", state.String())
		},
	}
}

// named is a verifier under its configured name, which its replies carry. Its
// failures are written to the log, because replies do not carry their cause, and
// its panics are failures: scorers call it from goroutines of their own, where a
// panic would end the process.
type named struct {
	entail.Verifier
	name string
	log  *slog.Logger
}

// Describe implements entail.Verifier.
func (v named) Describe(ctx context.Context) (description entail.Description, err error) {
	err = fault.Guard(func() (err error) {
		description, err = v.Verifier.Describe(ctx)
		return err
	})
	v.report(ctx, err)
	return description, err
}

// Verify implements entail.Verifier.
func (v named) Verify(ctx context.Context, pairs []entail.Pair) (batch entail.Batch, err error) {
	err = fault.Guard(func() (err error) {
		batch, err = v.Verifier.Verify(ctx, pairs)
		return err
	})
	batch.Usage.Configured = v.name
	v.report(ctx, firstFailure(batch, err))
	return batch, err
}

// report logs a failure that is not the caller's own going away.
func (v named) report(ctx context.Context, failure error) {
	if failure != nil && ctx.Err() == nil {
		v.log.ErrorContext(ctx, "the verifier failed", "verifier", v.name, "error", failure)
	}
}

// firstFailure is the error of a call, or of the first pair that failed for
// another reason than its own text.
func firstFailure(batch entail.Batch, err error) error {
	if err != nil {
		return err
	}
	for _, result := range batch.Results {
		var missing *score.Missing
		if result.Err != nil && !errors.As(result.Err, &missing) {
			return result.Err
		}
	}
	return nil
}

// probeEvery is how often a verifier is probed. A broken model in this process
// must be known within a second; others are not to be pestered.
func probeEvery(scheme string) time.Duration {
	if scheme == address.Embedded {
		return 400 * time.Millisecond
	}
	return 2 * time.Second
}
