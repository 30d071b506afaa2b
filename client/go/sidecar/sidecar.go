// Package sidecar serves a verifier that is written in Go to a Plumbline server:
// implement entail.Verifier, call Serve, and configure the program as
// exec:PROGRAM in the server, which then starts it; or let it listen on an
// address and configure grpc://HOST:PORT.
//
// Serve does all that docs/verifiers-exec.md asks of a sidecar, with health,
// reflection and a graceful stop.
package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/server/service"
	"plumbline/verifiers/spawn/handshake"
)

const (
	// DefaultMaxMessageBytes is what a Plumbline server sends at most unless it
	// was told otherwise.
	DefaultMaxMessageBytes = 4 << 20
	// DefaultGrace is a little less than what a host waits before it kills.
	DefaultGrace = 2500 * time.Millisecond
	// maxStreams bounds the calls of one connection at a time.
	maxStreams = 1000
)

// The errors of Serve.
var (
	// ErrNoHost: nobody spawned the program and it was not told where to listen.
	ErrNoHost = errors.New("no Plumbline server started this program: configure it there as exec:PROGRAM, or let it listen on an address")
	// ErrHostGone: the server that spawned the program is gone.
	ErrHostGone = errors.New("the Plumbline server that started this program is gone")
)

// Config says how to serve. The zero value is a sidecar to be spawned.
type Config struct {
	// Listen is the HOST:PORT to listen on if no server spawned the program.
	// Anyone who reaches it may ask.
	Listen string
	// MaxMessageBytes bounds a message that is received; 0 means
	// DefaultMaxMessageBytes.
	MaxMessageBytes int
	// Grace is how long calls in flight may take when the program is told to
	// end; 0 means DefaultGrace.
	Grace time.Duration
	// Log takes what goes wrong inside the verifier; nil writes it to standard
	// error, which a host puts into its own log.
	Log *slog.Logger
}

// Serve serves the verifier until ctx ends or the program gets SIGTERM or
// SIGINT; calls in flight then may finish within the grace period. It returns
// ErrHostGone at once when the server that spawned the program is gone. In both
// cases calls that are cut off may outlast Serve: it cancels their contexts and
// does not wait for a verifier that ignores them. If the verifier has a method
// Probe(context.Context) error, its health is what that says. A batch whose
// usage names no model is taken for the work of the one that Describe names.
func Serve(ctx context.Context, verifier entail.Verifier, config Config) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	config = config.withDefaults()
	offer, spawned := handshake.Take()
	listener, err := listen(ctx, config, offer, spawned)
	if err != nil {
		return err
	}
	implementation, err := service.New(service.Deps{Log: config.Log, Verifiers: []service.Verifier{{Name: "sidecar", Verifier: identified{verifier}}}})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	var hostGone <-chan struct{}
	var options []grpc.ServerOption
	if spawned {
		hostGone = ended(os.Stdin)
		options = onlyHost(offer)
	}
	health := newHealth(ctx)
	server := grpc.NewServer(append(options,
		grpc.MaxRecvMsgSize(config.MaxMessageBytes),
		grpc.MaxConcurrentStreams(maxStreams),
	)...)
	plumblinev1.RegisterVerifierServiceServer(server, adapter{service: implementation})
	healthpb.RegisterHealthServer(server, health)
	reflection.Register(server)
	go health.follow(ctx, verifier)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if spawned {
		fmt.Println(offer.Line())
	}
	select {
	case err := <-failed:
		return err
	case <-hostGone:
		server.Stop()
		return ErrHostGone
	case <-ctx.Done():
		health.Shutdown()
		stopGracefully(server, config.Grace, hostGone)
		return nil
	}
}

func (c Config) withDefaults() Config {
	if c.MaxMessageBytes == 0 {
		c.MaxMessageBytes = DefaultMaxMessageBytes
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return c
}

// listen listens where the host asks, or else where the program wants to.
func listen(ctx context.Context, config Config, offer handshake.Offer, spawned bool) (net.Listener, error) {
	switch {
	case spawned:
		return new(net.ListenConfig).Listen(ctx, "unix", offer.Socket)
	case config.Listen != "":
		return new(net.ListenConfig).Listen(ctx, "tcp", config.Listen)
	default:
		return nil, ErrNoHost
	}
}

// ended is closed at the end of input.
func ended(input io.Reader) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, input) // an error is an end too
	}()
	return done
}

// onlyHost refuses calls that do not carry the cookie.
func onlyHost(offer handshake.Offer) []grpc.ServerOption {
	check := func(ctx context.Context) error {
		if offer.Admits(metadata.ValueFromIncomingContext(ctx, handshake.CookieMetadata)) {
			return nil
		}
		return status.Error(codes.Unauthenticated, "this sidecar answers only the server that started it: the call does not carry its cookie")
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			if err := check(ctx); err != nil {
				return nil, err
			}
			return handler(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			if err := check(stream.Context()); err != nil {
				return err
			}
			return handler(srv, stream)
		}),
	}
}

// stopGracefully lets calls in flight finish within the grace period, unless
// nobody waits for them.
func stopGracefully(server *grpc.Server, grace time.Duration, hostGone <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		server.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-hostGone:
	case <-time.After(grace):
	}
	server.Stop()
}
