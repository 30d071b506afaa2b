package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // clients may compress
	protocodec "google.golang.org/grpc/encoding/proto"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"plumbline/server/config"
)

const (
	// handshakeTimeout cuts connections that do not finish their handshake.
	handshakeTimeout = 5 * time.Second
	// maxHeaderBytes bounds the headers of a call on both listeners.
	maxHeaderBytes = 64 << 10
	// streamWorkers are goroutines that are kept for calls. A new goroutine has a
	// small stack, which every call would grow again; beyond these, and while they
	// wait in long streams, calls get new ones all the same.
	streamWorkers = 64
)

// newGRPC returns the native gRPC server. Streams of the health service end
// with watching.
func newGRPC(watching context.Context, cfg config.Config, table []route, b bounds, ready *readiness, opts ...grpc.ServerOption) *grpc.Server {
	server := grpc.NewServer(append([]grpc.ServerOption{
		grpc.ForceServerCodecV2(grpcCodec{encoding.GetCodecV2(protocodec.Name), b}),
		grpc.MaxRecvMsgSize(cfg.Limits.MaxMessageBytes),
		grpc.MaxConcurrentStreams(cfg.Limits.MaxConcurrentStreams),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: cfg.GRPC.Keepalive.Time, Timeout: cfg.GRPC.Keepalive.Timeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: cfg.GRPC.Keepalive.MinTime, PermitWithoutStream: true}),
		// Stop waits for handlers, so that the engine is closed after the last.
		grpc.WaitForHandlers(true),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.InTapHandle(withCut),
		grpc.ChainStreamInterceptor(endWatches(watching)),
	}, opts...)...)
	for name, streams := range byService(table) {
		server.RegisterService(&grpc.ServiceDesc{ServiceName: name, Streams: streams}, nil)
	}
	healthpb.RegisterHealthServer(server, ready.grpc)
	if cfg.Reflection {
		reflection.Register(server)
	}
	return server
}

func byService(table []route) map[string][]grpc.StreamDesc {
	services := make(map[string][]grpc.StreamDesc)
	for _, r := range table {
		services[r.service()] = append(services[r.service()], r.grpc)
	}
	return services
}

// endWatches ends health watches with watching: they would keep a graceful
// stop waiting for as long as the client likes.
func endWatches(watching context.Context) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if info.FullMethod != healthpb.Health_Watch_FullMethodName {
			return handler(srv, stream)
		}
		ctx, cancel := context.WithCancel(stream.Context())
		defer cancel()
		defer context.AfterFunc(watching, cancel)()
		return handler(srv, watchStream{stream, ctx})
	}
}

// watchStream is a stream with another context.
type watchStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // grpc.ServerStream hands its context out.
}

// Context implements grpc.ServerStream.
func (s watchStream) Context() context.Context { return s.ctx }

// grpcCredentials are the server option of TLS, and what to close after use.
func grpcCredentials(t config.TLS) ([]grpc.ServerOption, func() error, error) {
	if !t.Enabled() {
		return nil, func() error { return nil }, nil
	}
	cfg, closeFiles, err := newTLS(t, "h2")
	if err != nil {
		return nil, nil, err
	}
	return []grpc.ServerOption{grpc.Creds(credentials.NewTLS(cfg))}, closeFiles, nil
}
