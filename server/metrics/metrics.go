// Package metrics has the server's Prometheus metrics: calls by procedure,
// protocol and code, and what the verifier did. Label values come from fixed
// lists, never from a client, so that their number is bounded.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const namespace = "plumbline"

// Metrics are the server's metrics, in a registry of their own.
type Metrics struct {
	// Registry gathers them.
	Registry *prometheus.Registry

	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
	received *prometheus.HistogramVec
	sent     *prometheus.HistogramVec
	refused  *prometheus.CounterVec

	policyLoads *prometheus.CounterVec

	verifier verifierMetrics
}

// New registers the metrics.
func New(version, commit string) *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: "rpc", Name: "calls_total",
			Help: "Calls that have ended, by gRPC status code.",
		}, []string{"procedure", "protocol", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: "rpc", Name: "duration_seconds",
			Help:    "Time from the start of a call's handling to its end.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"procedure", "protocol"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: "rpc", Name: "in_flight",
			Help: "Calls that have begun and not ended.",
		}, []string{"procedure", "protocol"}),
		received: prometheus.NewHistogramVec(sizeOpts("received_bytes", "Size of received messages, decoded."), []string{"procedure"}),
		sent:     prometheus.NewHistogramVec(sizeOpts("sent_bytes", "Size of sent messages, before compression."), []string{"procedure"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: "rpc", Name: "refused_total",
			Help: "Calls that the server refused to begin, by reason; UNREADABLE are requests that HTTP could not even read.",
		}, []string{"reason"}),
		policyLoads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: "policies", Name: "loads_total",
			Help: "Readings of the policy folder after a change, by outcome: ok or failed.",
		}, []string{"outcome"}),
		verifier: newVerifierMetrics(),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info",
		Help:        "Always 1; the labels tell the program's version.",
		ConstLabels: prometheus.Labels{"version": version, "commit": commit},
	})
	build.Set(1)
	m.Registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build,
		m.calls, m.duration, m.inFlight, m.received, m.sent, m.refused, m.policyLoads,
	)
	m.Registry.MustRegister(m.verifier.collectors()...)
	return m
}

func sizeOpts(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Namespace: namespace, Subsystem: "rpc", Name: name, Help: help,
		Buckets: prometheus.ExponentialBuckets(256, 4, 9),
	}
}

// Handler serves the metrics to Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{Registry: m.Registry})
}

// Begin counts a call as in flight; the function that it returns ends it.
func (m *Metrics) Begin(procedure, protocol string) (end func(code string, took time.Duration)) {
	gauge := m.inFlight.WithLabelValues(procedure, protocol)
	gauge.Inc()
	return func(code string, took time.Duration) {
		gauge.Dec()
		m.calls.WithLabelValues(procedure, protocol, code).Inc()
		m.duration.WithLabelValues(procedure, protocol).Observe(took.Seconds())
	}
}

// Received counts a message from a client.
func (m *Metrics) Received(procedure string, bytes int) {
	m.received.WithLabelValues(procedure).Observe(float64(bytes))
}

// Sent counts a message to a client.
func (m *Metrics) Sent(procedure string, bytes int) {
	m.sent.WithLabelValues(procedure).Observe(float64(bytes))
}

// Refused counts a call that was not begun.
func (m *Metrics) Refused(reason string) { m.refused.WithLabelValues(reason).Inc() }

// PoliciesLoaded notes a reading of the policy folder.
func (m *Metrics) PoliciesLoaded(ok bool) {
	m.policyLoads.WithLabelValues(okOrFailed(ok)).Inc()
}
