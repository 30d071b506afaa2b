package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// verifierMetrics are told by configured name, and names come from the settings.
type verifierMetrics struct {
	calls      *prometheus.CounterVec
	inFlight   *prometheus.GaugeVec
	duration   *prometheus.HistogramVec
	pairs      *prometheus.CounterVec
	tokens     *prometheus.CounterVec
	seconds    *prometheus.CounterVec
	ready      *prometheus.GaugeVec
	retries    *prometheus.CounterVec
	breaker    *prometheus.GaugeVec
	swaps      *prometheus.CounterVec
	unanswered *prometheus.CounterVec
}

func newVerifierMetrics() verifierMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: "verifier", Name: name, Help: help},
			append([]string{"verifier"}, labels...))
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: "verifier", Name: name, Help: help}, []string{"verifier"})
	}
	return verifierMetrics{
		calls: counter("calls_total",
			"Calls of a verifier, by outcome: ok, cancelled, deadline, busy, unavailable, rejected, bad_reply, bad_input or failed.", "outcome"),
		inFlight: gauge("in_flight", "Calls that are inside a verifier."),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: "verifier", Name: "duration_seconds",
			Help:    "Time of a verifier's calls, retries included.",
			Buckets: prometheus.ExponentialBuckets(.001, 2.5, 12),
		}, []string{"verifier"}),
		pairs:   counter("pairs_total", "Pairs answered, by source: model, cache, or shared with a run under way.", "source"),
		tokens:  counter("tokens_total", "Tokens that reached the model."),
		seconds: counter("work_seconds_total", "Time of pairs, by stage: queue, tokenization or inference.", "stage"),
		ready:   gauge("ready", "1 while the last probe of the verifier passed."),
		retries: counter("retries_total", "Attempts beyond the first of a call."),
		breaker: gauge("breaker_state", "The circuit breaker: 0 closed, 1 half-open, 2 open."),
		swaps:   counter("swaps_total", "Exchanges of the embedded model, by outcome: ok or failed.", "outcome"),
		unanswered: counter("unanswered_total",
			"Requests of which a part found no verifier, by the fail mode in force: closed or open.", "fail_mode"),
	}
}

func (v verifierMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		v.calls, v.inFlight, v.duration, v.pairs, v.tokens, v.seconds, v.ready, v.retries, v.breaker, v.swaps, v.unanswered,
	}
}

// Verifier are the metrics of one verifier.
type Verifier struct {
	name    string
	metrics verifierMetrics
}

// Verifier returns the metrics of the verifier with that configured name.
func (m *Metrics) Verifier(name string) Verifier {
	v := Verifier{name, m.verifier}
	v.Breaker(0) // so that a verifier without a failure has a series
	return v
}

// Ready notes the outcome of a probe.
func (v Verifier) Ready(ready bool) {
	value := 0.0
	if ready {
		value = 1
	}
	v.metrics.ready.WithLabelValues(v.name).Set(value)
}

// Retried counts a further attempt of a call.
func (v Verifier) Retried() { v.metrics.retries.WithLabelValues(v.name).Inc() }

// Breaker notes the state of the breaker: 0 closed, 1 half-open, 2 open.
func (v Verifier) Breaker(state int) { v.metrics.breaker.WithLabelValues(v.name).Set(float64(state)) }

// Swapped counts an exchange of the model.
func (v Verifier) Swapped(ok bool) { v.metrics.swaps.WithLabelValues(v.name, okOrFailed(ok)).Inc() }

// Unanswered counts a request of which a part found no verifier. The mode is
// closed or open.
func (v Verifier) Unanswered(mode string) { v.metrics.unanswered.WithLabelValues(v.name, mode).Inc() }

// Measure returns next with its calls counted.
func (v Verifier) Measure(next entail.Verifier) entail.Verifier { return &measured{next, v} }

type measured struct {
	entail.Verifier
	of Verifier
}

// Verify implements entail.Verifier.
func (v *measured) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	m, name := v.of.metrics, v.of.name
	inFlight := m.inFlight.WithLabelValues(name)
	inFlight.Inc()
	defer inFlight.Dec()
	start := time.Now()
	batch, err := v.Verifier.Verify(ctx, pairs)
	usage := batch.Usage
	m.duration.WithLabelValues(name).Observe(time.Since(start).Seconds())
	m.calls.WithLabelValues(name, outcome(ctx, err)).Inc()
	m.pairs.WithLabelValues(name, "model").Add(float64(usage.Pairs))
	m.pairs.WithLabelValues(name, "cache").Add(float64(usage.CacheHits))
	m.pairs.WithLabelValues(name, "shared").Add(float64(usage.Shared))
	m.tokens.WithLabelValues(name).Add(float64(usage.Tokens))
	m.seconds.WithLabelValues(name, "queue").Add(usage.Queue.Seconds())
	m.seconds.WithLabelValues(name, "tokenization").Add(usage.Tokenization.Seconds())
	m.seconds.WithLabelValues(name, "inference").Add(usage.Inference.Seconds())
	return batch, err
}

func outcome(ctx context.Context, err error) string {
	if err == nil {
		return "ok"
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return "cancelled"
	case ctx.Err() != nil:
		return "deadline"
	}
	for _, kind := range []struct {
		err  error
		name string
	}{
		{entail.ErrBusy, "busy"},
		{entail.ErrUnavailable, "unavailable"},
		{entail.ErrRejected, "rejected"},
		{entail.ErrBadReply, "bad_reply"},
	} {
		if errors.Is(err, kind.err) {
			return kind.name
		}
	}
	if _, input := errors.AsType[*score.Missing](err); input {
		return "bad_input"
	}
	return "failed"
}

func okOrFailed(ok bool) string {
	if ok {
		return "ok"
	}
	return "failed"
}
