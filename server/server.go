// Package server runs the service on two listeners: grpc-go for native gRPC,
// and net/http with connect-go for Connect, gRPC-Web, JSON, health pages and
// metrics. Both share one service.Service and one policy.Policy, and so give
// equal answers.
//
// A server's life is Complete (everything is opened and both addresses are
// bound, or nothing is left open) and Run (serve until told to stop, then
// drain).
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"

	"google.golang.org/grpc"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/config"
	"plumbline/server/metrics"
	"plumbline/server/policy"
	"plumbline/server/service"
	"plumbline/verifiers"
)

// Build identifies the program.
type Build struct{ Version, Commit string }

// Options are what a program adds to the settings.
type Options struct {
	// Build identifies the program in GetInfo and in the metrics.
	Build Build
	// Log is the server's log; nil makes one from the settings, on standard
	// error.
	Log *slog.Logger
	// Engine is asked in place of the embedded model, as it is: nothing stands in
	// front of it. The server takes it over and closes it.
	Engine verifiers.Backend
	// Reopen opens what Reload puts in the place of a model in this process; nil
	// opens the model's folder again.
	Reopen func(context.Context) (verifiers.Backend, error)
	// VerifierOnly serves VerifierService and InfoService alone: a sidecar that
	// hosts the model for other servers.
	VerifierOnly bool
}

// Server is a server that is ready to run.
type Server struct {
	cfg       config.Config
	log       *slog.Logger
	verifiers verifierSet
	ready     *readiness
	policy    *policy.Policy

	grpc         *grpc.Server
	http         *http.Server
	grpcListener net.Listener // nil: off
	httpListener net.Listener // nil: off

	endWatches context.CancelFunc
	closers    closers
}

// NewLog returns the log that the settings ask for, on standard error.
func NewLog(cfg config.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.Level}
	if cfg.Format == config.LogText {
		return slog.New(slog.NewTextHandler(os.Stderr, options))
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, options))
}

// Complete opens what the settings name and binds both addresses. After an
// error nothing is left open.
func Complete(ctx context.Context, cfg config.Config, opts Options) (*Server, error) {
	s := &Server{cfg: cfg, log: opts.Log}
	if s.log == nil {
		s.log = NewLog(cfg.Log)
	}
	if err := s.open(ctx, opts); err != nil {
		return nil, errors.Join(err, s.closers.close())
	}
	return s, nil
}

func (s *Server) open(ctx context.Context, opts Options) (err error) {
	m := metrics.New(opts.Build.Version, opts.Build.Commit)
	if s.verifiers, err = openVerifiers(ctx, s.cfg, opts, m, s.log); err != nil {
		return err
	}
	s.closers.push("the verifiers", s.verifiers.close)
	s.policy = policy.New(s.limits(), m, s.log)
	s.ready = newReadiness(served(opts.VerifierOnly), s.verifiers, s.log)
	gates, err := s.openPolicies(m)
	if err != nil {
		return err
	}
	implementation, err := newService(s.cfg, opts, service.Deps{
		Verifiers:  s.verifiers.services(s.cfg, s.ready.verifier),
		Gates:      gates.current,
		Services:   s.ready.services,
		MaxRecords: s.cfg.Limits.MaxRecords,
		Log:        s.log,
	})
	if err != nil {
		return err
	}
	limits, err := requestBounds()
	if err != nil {
		return err
	}
	table := slices.DeleteFunc(routes(implementation, builder{s.policy, s.cfg.Limits.MaxDeadline, handlerOptions(s.cfg, limits)}), func(r route) bool {
		return !slices.Contains(s.ready.services, r.service())
	})
	// Watches outlive the context that Complete is given; Run ends them.
	watching, endWatches := context.WithCancel(context.WithoutCancel(ctx))
	s.endWatches = endWatches
	s.closers.push("health watches", func() error { endWatches(); return nil })
	return errors.Join(
		s.openGRPC(ctx, watching, table, limits),
		s.openHTTP(ctx, newHandler(watching, s.cfg, table, s.ready, m)),
	)
}

// Reload opens the models of this process anew, each from its folder, and
// exchanges those that score, without failing a call; a model that does not
// score stays as it was. The settings and the policies are not read again:
// policies follow their folder by themselves.
func (s *Server) Reload(ctx context.Context) error { return s.verifiers.reload(ctx) }

// openPolicies compiles the policies and follows their folder, if there is one.
func (s *Server) openPolicies(m *metrics.Metrics) (*policies, error) {
	gates, err := openPolicies(s.cfg.Policies)
	if err != nil || gates.dir == "" {
		return gates, err
	}
	s.closers.push("policies.dir", gates.watch(m, s.log))
	return gates, nil
}

// served are the services of the server.
func served(verifierOnly bool) []string {
	if verifierOnly {
		return []string{plumblinev1.VerifierService_ServiceDesc.ServiceName, plumblinev1.InfoService_ServiceDesc.ServiceName}
	}
	var names []string
	for _, descriptor := range service.Services() {
		names = append(names, string(descriptor.FullName()))
	}
	return names
}

func (s *Server) limits() policy.Limits {
	const callsPerProcessor = 4
	limits := policy.Limits{
		MaxConcurrentCalls: s.cfg.Limits.MaxConcurrentCalls,
		MaxOpenStreams:     s.cfg.Limits.MaxOpenStreams,
		AdmissionWait:      s.cfg.Limits.AdmissionWait,
		DefaultDeadline:    s.cfg.Limits.DefaultDeadline,
		MaxDeadline:        s.cfg.Limits.MaxDeadline,
	}
	if limits.MaxConcurrentCalls == 0 {
		limits.MaxConcurrentCalls = callsPerProcessor * runtime.GOMAXPROCS(0)
	}
	return limits
}

func (s *Server) openGRPC(ctx, watching context.Context, table []route, limits bounds) (err error) {
	if s.cfg.GRPC.Addr == "" {
		return nil
	}
	credentials, closeFiles, err := grpcCredentials(s.cfg.GRPC.TLS)
	if err != nil {
		return fmt.Errorf("grpc.tls: %w", err)
	}
	s.closers.push("grpc.tls", closeFiles)
	s.grpc = newGRPC(watching, s.cfg, table, limits, s.ready, credentials...)
	s.closers.push("grpc", func() error { s.grpc.Stop(); return nil })
	s.grpcListener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.cfg.GRPC.Addr)
	if err != nil {
		return fmt.Errorf("grpc.addr: %w", err)
	}
	s.closers.push("grpc.addr", ignoreClosed(s.grpcListener.Close))
	return nil
}

func (s *Server) openHTTP(ctx context.Context, handler http.Handler) (err error) {
	if s.cfg.HTTP.Addr == "" {
		return nil
	}
	s.http = newHTTP(s.cfg, handler, s.log)
	if s.cfg.HTTP.TLS.Enabled() {
		cfg, closeFiles, err := newTLS(s.cfg.HTTP.TLS, "h2", "http/1.1")
		if err != nil {
			return fmt.Errorf("http.tls: %w", err)
		}
		s.closers.push("http.tls", closeFiles)
		s.http.TLSConfig = cfg
	}
	s.closers.push("http", s.http.Close)
	s.httpListener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.cfg.HTTP.Addr)
	if err != nil {
		return fmt.Errorf("http.addr: %w", err)
	}
	s.closers.push("http.addr", ignoreClosed(s.httpListener.Close))
	return nil
}

// ignoreClosed drops the error of a listener that its server has closed.
func ignoreClosed(closeListener func() error) func() error {
	return func() error {
		if err := closeListener(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

// GRPCAddr is the bound address of native gRPC; nil if it is off.
func (s *Server) GRPCAddr() net.Addr { return addrOf(s.grpcListener) }

// HTTPAddr is the bound address of HTTP; nil if it is off.
func (s *Server) HTTPAddr() net.Addr { return addrOf(s.httpListener) }

func addrOf(l net.Listener) net.Addr {
	if l == nil {
		return nil
	}
	return l.Addr()
}
