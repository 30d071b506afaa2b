package server

import (
	"context"
	"errors"
	"log/slog"

	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/server/config"
	"plumbline/server/fault"
	"plumbline/verifiers/cache"
	"plumbline/verifiers/embedded"
	"plumbline/verifiers/singleflight"
)

// sharedChunk is how many pairs of a long call run before those who share one
// of them are let go.
const sharedChunk = 64

// Engine is a verifier in this process.
type Engine interface {
	entail.Verifier
	// Probe says whether a pair can be scored at all.
	Probe(ctx context.Context) error
	// Close frees the model after the calls inside have ended.
	Close() error
}

// OpenEngine builds the verifier that the settings name: the embedded model
// behind its cache, with equal pairs in flight sharing one run.
func OpenEngine(cfg config.Config, log *slog.Logger) (Engine, error) {
	asked := embedded.Config{ModelDir: cfg.Model.Dir}
	asked.Engine.Library = cfg.ONNXRuntime.Lib
	asked.Engine.Workers = cfg.Verifier.Workers
	asked.Engine.MaxCalls = cfg.Verifier.MaxCalls
	model, err := embedded.Open(asked)
	if err != nil {
		return nil, err
	}
	cached, err := cache.New(model, cfg.Verifier.CacheBytes)
	if err != nil {
		return nil, errors.Join(err, model.Close())
	}
	if description, err := model.Describe(context.Background()); err == nil {
		log.Debug("the model is loaded", "name", description.Name, "digest", description.Digest)
	}
	return stack{Verifier: singleflight.New(cached, sharedChunk), model: model}, nil
}

// stack is an engine behind decorators. Probe passes them by, so that it tells
// of the model and not of the cache.
type stack struct {
	entail.Verifier
	model Engine
}

// Probe implements Engine.
func (s stack) Probe(ctx context.Context) error { return s.model.Probe(ctx) }

// Close implements Engine.
func (s stack) Close() error { return s.model.Close() }

// watched is a verifier whose failures are written to the log, because replies
// do not carry their cause, and whose panics are failures: scorers call it from
// goroutines of their own, where a panic would end the process.
type watched struct {
	entail.Verifier
	log *slog.Logger
}

// Describe implements entail.Verifier.
func (v watched) Describe(ctx context.Context) (description entail.Description, err error) {
	err = fault.Guard(func() (err error) {
		description, err = v.Verifier.Describe(ctx)
		return err
	})
	v.report(ctx, err)
	return description, err
}

// Verify implements entail.Verifier.
func (v watched) Verify(ctx context.Context, pairs []entail.Pair) (batch entail.Batch, err error) {
	err = fault.Guard(func() (err error) {
		batch, err = v.Verifier.Verify(ctx, pairs)
		return err
	})
	v.report(ctx, firstFailure(batch, err))
	return batch, err
}

// report logs a failure that is not the caller's own going away.
func (v watched) report(ctx context.Context, failure error) {
	if failure != nil && ctx.Err() == nil {
		v.log.ErrorContext(ctx, "the verifier failed", "error", failure)
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
