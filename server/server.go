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
	"log/slog"
	"net"

	"plumbline/server/config"
	"plumbline/server/service"
)

// Build identifies the program.
type Build struct{ Version, Commit string }

// Options are what a program adds to the settings.
type Options struct {
	// Build identifies the program in GetInfo and in the log.
	Build Build
	// Log is the server's log; nil makes one from the settings, on standard
	// error.
	Log *slog.Logger
	// Engine replaces the engine that OpenEngine would build. Complete takes it
	// over and closes it.
	Engine Engine
	// VerifierOnly serves VerifierService and InfoService alone: a sidecar that
	// hosts the model for other servers.
	VerifierOnly bool
}

// Server is a server that is ready to run.
type Server struct{}

// Complete opens what the settings name and binds both addresses. After an
// error nothing is left open.
func Complete(ctx context.Context, cfg config.Config, opts Options) (*Server, error) {
	return nil, errors.New("not written yet")
}

// Run serves until stop ends, then drains: health turns NOT_SERVING, no new
// calls are taken, and calls in flight may finish within the grace period. The
// end of force, such as a second signal, cuts the rest at once. Run closes
// everything that Complete opened; a Server runs once.
func (s *Server) Run(stop, force context.Context) error { return errors.New("not written yet") }

// GRPCAddr is the bound address of native gRPC; nil if it is off.
func (s *Server) GRPCAddr() net.Addr { return nil }

// HTTPAddr is the bound address of HTTP; nil if it is off.
func (s *Server) HTTPAddr() net.Addr { return nil }

// Signals returns the two contexts that Run takes: the first SIGINT or SIGTERM
// ends stop, the second ends force. release gives the signals back.
func Signals(parent context.Context) (stop, force context.Context, release func()) {
	return parent, parent, func() {}
}

// NewService builds the service without a server, for use in process. engine
// may be nil: then values that need a verifier say that there is none.
func NewService(cfg config.Config, opts Options) (*service.Service, error) {
	return service.New(service.Deps{Version: opts.Build.Version, Commit: opts.Build.Commit, Verifier: opts.Engine, Log: opts.Log})
}
