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
)

// probeTimeout is when a probe that hangs counts as failed. It is longer than a
// probe waits its turn in an overloaded engine.
const probeTimeout = 5 * time.Second

// verifierHealth begins the name under which gRPC health tells of one verifier.
const verifierHealth = "plumbline.verifier/"

var (
	errNotProbed = errors.New("the verifier has not been probed yet")
	errDraining  = errors.New("the server is shutting down")
)

// readiness is whether the server can score, for gRPC health on both listeners
// and for /readyz: whether the default verifier can be asked, or one of its
// chain. Services that need no verifier serve without it.
type readiness struct {
	services  []string
	verifiers verifierSet
	grpc      *health.Server
	http      *grpchealth.StaticChecker
	log       *slog.Logger

	mu       sync.Mutex
	failures map[string]error // of the last probes, by verifier; nil: it can score
	draining bool
}

func newReadiness(services []string, set verifierSet, log *slog.Logger) *readiness {
	r := &readiness{
		services:  services,
		verifiers: set,
		grpc:      health.NewServer(),
		http:      grpchealth.NewStaticChecker(services...),
		log:       log,
		failures:  make(map[string]error, len(set)),
	}
	for _, m := range set {
		r.failures[m.name] = errNotProbed
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
func (r *readiness) set(m *member, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := (err == nil) != (r.failures[m.name] == nil)
	r.failures[m.name] = err
	m.metrics.Ready(err == nil)
	if !changed {
		return
	}
	if err == nil {
		r.log.Info("a verifier answers", "verifier", m.name)
	} else {
		r.log.Error("a verifier fails", "verifier", m.name, "error", err)
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

// verifier says why a verifier cannot be asked, nor any of its chain.
func (r *readiness) verifier(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.chain(r.verifiers.member(name))
}

// chain is verifier for those who hold mu.
func (r *readiness) chain(m *member) error {
	failure := r.failures[m.name]
	for _, next := range m.fallback {
		if failure == nil || r.failures[next.name] == nil {
			return nil
		}
	}
	return failure
}

// check says why the server is not ready.
func (r *readiness) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return errDraining
	}
	return r.chain(r.verifiers[0])
}

// publish tells both health services. The caller holds mu, or is alone.
func (r *readiness) publish() {
	failure := r.chain(r.verifiers[0])
	for _, service := range append([]string{""}, r.services...) {
		r.tell(service, failure == nil || !needsVerifier(service))
	}
	for _, m := range r.verifiers {
		r.tell(verifierHealth+m.name, r.failures[m.name] == nil)
	}
}

func (r *readiness) tell(service string, serving bool) {
	if serving && !r.draining {
		r.grpc.SetServingStatus(service, healthpb.HealthCheckResponse_SERVING)
		r.http.SetStatus(service, grpchealth.StatusServing)
		return
	}
	r.grpc.SetServingStatus(service, healthpb.HealthCheckResponse_NOT_SERVING)
	r.http.SetStatus(service, grpchealth.StatusNotServing)
}

// watch probes the verifiers until ctx ends.
func (r *readiness) watch(ctx context.Context) {
	var probes sync.WaitGroup
	for _, m := range r.verifiers {
		probes.Go(func() { r.follow(ctx, m) })
	}
	probes.Wait()
}

func (r *readiness) follow(ctx context.Context, m *member) {
	ticker := time.NewTicker(probeEvery(m.scheme))
	defer ticker.Stop()
	for {
		probing, cancel := context.WithTimeout(ctx, probeTimeout)
		err := m.backend.Probe(probing)
		cancel()
		if ctx.Err() != nil {
			return
		}
		r.set(m, err)
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
