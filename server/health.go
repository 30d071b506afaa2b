package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/grpchealth"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/metrics"
)

const (
	// probeInterval is how often the engine is probed: at least twice within
	// the second after which a broken engine must be known.
	probeInterval = 400 * time.Millisecond
	// probeTimeout is when a probe that hangs counts as failed. It is longer
	// than a probe waits its turn in an overloaded engine.
	probeTimeout = 5 * time.Second
)

var (
	errNotProbed = errors.New("the verifier has not been probed yet")
	errDraining  = errors.New("the server is shutting down")
)

// readiness is whether the server can score, for gRPC health on both listeners
// and for /readyz. Services that need no verifier serve without it.
type readiness struct {
	services []string
	grpc     *health.Server
	http     *grpchealth.StaticChecker
	metrics  *metrics.Metrics
	log      *slog.Logger

	mu       sync.Mutex
	err      error // nil: ready
	draining bool
}

func newReadiness(services []string, m *metrics.Metrics, log *slog.Logger) *readiness {
	r := &readiness{
		services: services,
		grpc:     health.NewServer(),
		http:     grpchealth.NewStaticChecker(services...),
		metrics:  m,
		log:      log,
		err:      errNotProbed,
	}
	r.publish()
	return r
}

// needsVerifier says whether a service is of no use without a verifier. The
// empty name is the whole server.
func needsVerifier(service string) bool {
	switch service {
	case plumblinev1.RetrievalService_ServiceDesc.ServiceName,
		plumblinev1.GateService_ServiceDesc.ServiceName,
		plumblinev1.CalibrationService_ServiceDesc.ServiceName,
		plumblinev1.InfoService_ServiceDesc.ServiceName:
		return false
	default:
		return true
	}
}

// set notes the outcome of a probe.
func (r *readiness) set(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := (err == nil) != (r.err == nil)
	r.err = err
	r.metrics.VerifierReady(err == nil)
	if !changed {
		return
	}
	if err == nil {
		r.log.Info("the verifier answers: serving")
	} else {
		r.log.Error("the verifier fails: not serving", "error", err)
	}
	r.publish()
}

// drain turns everything to NOT_SERVING for good.
func (r *readiness) drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
	r.publish()
}

// verifier says why the verifier cannot be asked.
func (r *readiness) verifier() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// check says why the server is not ready.
func (r *readiness) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return errDraining
	}
	return r.err
}

// publish tells both health services. The caller holds mu, or is alone.
func (r *readiness) publish() {
	for _, service := range append([]string{""}, r.services...) {
		if !r.draining && (r.err == nil || !needsVerifier(service)) {
			r.grpc.SetServingStatus(service, healthpb.HealthCheckResponse_SERVING)
			r.http.SetStatus(service, grpchealth.StatusServing)
		} else {
			r.grpc.SetServingStatus(service, healthpb.HealthCheckResponse_NOT_SERVING)
			r.http.SetStatus(service, grpchealth.StatusNotServing)
		}
	}
}

// watch probes the engine until ctx ends.
func (r *readiness) watch(ctx context.Context, probe func(context.Context) error) {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		probing, cancel := context.WithTimeout(ctx, probeTimeout)
		err := probe(probing)
		cancel()
		if ctx.Err() != nil {
			return
		}
		r.set(err)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// readyz answers 200 while the server is ready and 503 with the reason else.
// The reason is one of the server's own sentences; causes stay in the log.
func (r *readiness) readyz(w http.ResponseWriter, _ *http.Request) {
	err := r.check()
	switch {
	case err == nil:
		page(w, http.StatusOK, "ready")
	case errors.Is(err, errDraining), errors.Is(err, errNotProbed):
		page(w, http.StatusServiceUnavailable, err.Error())
	default:
		page(w, http.StatusServiceUnavailable, "the verifier fails; the server's log has the cause")
	}
}

// healthz answers while the process can answer at all.
func healthz(w http.ResponseWriter, _ *http.Request) { page(w, http.StatusOK, "ok") }

func page(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n"))
}
