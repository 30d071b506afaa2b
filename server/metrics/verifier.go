package metrics

import (
	"context"
	"time"

	"plumbline/scorers/entail"
)

// Verifier returns next with its calls counted.
func (m *Metrics) Verifier(next entail.Verifier) entail.Verifier {
	return &measured{Verifier: next, metrics: m}
}

type measured struct {
	entail.Verifier
	metrics *Metrics
}

// Verify implements entail.Verifier.
func (v *measured) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	start := time.Now()
	batch, err := v.Verifier.Verify(ctx, pairs)
	m, usage := v.metrics, batch.Usage
	m.verifierDuration.Observe(time.Since(start).Seconds())
	m.verifierCalls.WithLabelValues(outcome(ctx, err)).Inc()
	m.verifierPairs.WithLabelValues("model").Add(float64(usage.Pairs))
	m.verifierPairs.WithLabelValues("cache").Add(float64(usage.CacheHits))
	m.verifierPairs.WithLabelValues("shared").Add(float64(usage.Shared))
	m.verifierTokens.Add(float64(usage.Tokens))
	m.verifierSeconds.WithLabelValues("queue").Add(usage.Queue.Seconds())
	m.verifierSeconds.WithLabelValues("tokenization").Add(usage.Tokenization.Seconds())
	m.verifierSeconds.WithLabelValues("inference").Add(usage.Inference.Seconds())
	return batch, err
}

func outcome(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return "ok"
	case ctx.Err() != nil:
		return "cancelled"
	default:
		return "failed"
	}
}
