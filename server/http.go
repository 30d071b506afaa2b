package server

import (
	"context"
	"log/slog"
	"net/http"

	"connectrpc.com/connect"
	connectcors "connectrpc.com/cors"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"
	"github.com/rs/cors"

	"plumbline/server/config"
	"plumbline/server/metrics"
)

// minCompressBytes is the least response that is compressed; below it the
// headers weigh more than is saved.
const minCompressBytes = 1024

// handlerOptions are the options of every connect-go handler.
func handlerOptions(cfg config.Config, b bounds) []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithReadMaxBytes(cfg.Limits.MaxMessageBytes),
		withBoundedGzip(cfg.Limits.MaxMessageBytes),
		connect.WithCompressMinBytes(minCompressBytes),
		connect.WithCodec(binaryCodec{b}),
		connect.WithCodec(jsonCodec{"json", b}),
		connect.WithCodec(jsonCodec{"json; charset=utf-8", b}),
	}
}

// newHandler returns the HTTP listener's handler.
func newHandler(watching context.Context, cfg config.Config, table []route, ready *readiness, m *metrics.Metrics) http.Handler {
	mux := http.NewServeMux()
	services := make([]string, 0, len(table))
	for _, r := range table {
		mux.Handle(r.procedure, r.http)
		services = append(services, r.service())
	}
	// Health and reflection have messages of their own, for which connect-go's
	// codecs are right.
	bounded := connect.WithReadMaxBytes(cfg.Limits.MaxMessageBytes)
	path, handler := grpchealth.NewHandler(ready.http, bounded)
	mux.Handle(path, endWith(watching, handler))
	if cfg.Reflection {
		reflector := grpcreflect.NewStaticReflector(unique(services)...)
		mux.Handle(grpcreflect.NewHandlerV1(reflector, bounded))
		mux.Handle(grpcreflect.NewHandlerV1Alpha(reflector, bounded))
	}
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", ready.readyz)
	if cfg.Metrics {
		mux.Handle("GET /metrics", m.Handler())
	}
	return withCORS(cfg.HTTP.CORSOrigins, mux)
}

// unique drops repetitions of neighbours.
func unique(names []string) []string {
	var kept []string
	for _, name := range names {
		if len(kept) == 0 || kept[len(kept)-1] != name {
			kept = append(kept, name)
		}
	}
	return kept
}

// endWith ends the handler's requests with ctx.
func endWith(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requestCtx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		next.ServeHTTP(w, r.WithContext(requestCtx))
	})
}

// withCORS lets web pages of the origins call from a browser.
func withCORS(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: connectcors.AllowedMethods(),
		AllowedHeaders: connectcors.AllowedHeaders(),
		ExposedHeaders: connectcors.ExposedHeaders(),
		MaxAge:         7200,
	}).Handler(next)
}

// newHTTP returns the HTTP server: HTTP/1.1, and HTTP/2 with TLS or without.
// The standard library's own HTTP/2 without TLS is used because, unlike
// x/net's h2c handler, it takes part in a graceful shutdown.
func newHTTP(cfg config.Config, handler http.Handler, log *slog.Logger) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           handler,
		Protocols:         protocols,
		ReadHeaderTimeout: cfg.HTTP.ReadHeaderTimeout,
		IdleTimeout:       cfg.HTTP.IdleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: int(cfg.Limits.MaxConcurrentStreams)},
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
