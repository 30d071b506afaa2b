package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"plumbline/internal/testlog"
	"plumbline/internal/testwait"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/proto/plumbline/v1/plumblinev1connect"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/server"
	"plumbline/server/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engine is an engine made of a fake verifier.
type engine struct {
	entail.Verifier
	mu     sync.Mutex
	broken error
	closed int
}

func (e *engine) Probe(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.broken
}

func (e *engine) breakDown(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.broken = err
}

func (e *engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed++
	return nil
}

func overlap() *engine { return &engine{Verifier: entailtest.Overlap()} }

// settings are the defaults on free ports, with room for many calls.
func settings() config.Config {
	cfg := config.Default()
	cfg.GRPC.Addr, cfg.HTTP.Addr = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Limits.MaxConcurrentCalls = 1000
	cfg.Drain.Grace = 10 * time.Second
	return cfg
}

// running is a server under test.
type running struct {
	*server.Server
	t        testing.TB
	tls      *tls.Config // nil: plain text
	log      *testlog.Buffer
	stop     context.CancelFunc
	force    context.CancelFunc
	finished chan error
}

// run starts a server and waits until it is ready. The test's end stops it.
func run(t testing.TB, cfg config.Config, opts server.Options) *running {
	t.Helper()
	r := &running{t: t, log: new(testlog.Buffer), finished: make(chan error, 1)}
	opts.Build = server.Build{Version: "1.2.3", Commit: "abc"}
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	var err error
	r.Server, err = server.Complete(t.Context(), cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	var stop, force context.Context
	stop, r.stop = context.WithCancel(context.Background())
	force, r.force = context.WithCancel(context.Background())
	go func() { r.finished <- r.Run(stop, force) }()
	t.Cleanup(func() {
		r.stop()
		r.force()
		r.wait()
	})
	return r
}

// wait returns when the server has ended, however often it is asked.
func (r *running) wait() {
	r.t.Helper()
	select {
	case err := <-r.finished:
		if err != nil {
			r.t.Errorf("Run: %v", err)
		}
		r.finished <- nil
	case <-time.After(20 * time.Second):
		r.t.Error("the server does not end")
	}
}

// dial is a grpc-go connection to a listener of the server.
func (r *running) dial(addr net.Addr, opts ...grpc.DialOption) *grpc.ClientConn {
	r.t.Helper()
	transport := insecure.NewCredentials()
	if r.tls != nil {
		transport = credentials.NewTLS(r.tls)
	}
	conn, err := grpc.NewClient(addr.String(), append([]grpc.DialOption{grpc.WithTransportCredentials(transport)}, opts...)...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (r *running) url(path string) string {
	scheme := "http"
	if r.tls != nil {
		scheme = "https"
	}
	return scheme + "://" + r.HTTPAddr().String() + path
}

// client is an HTTP client: HTTP/1.1, or HTTP/2 alone.
func (r *running) client(http2 bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2 && r.tls != nil)
	protocols.SetUnencryptedHTTP2(http2 && r.tls == nil)
	transport := &http.Transport{Protocols: protocols, TLSClientConfig: r.tls.Clone(), MaxIdleConnsPerHost: 100}
	r.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// protocol is one way to call the server, for tests that must hold for all.
type protocol struct {
	name    string
	options []connect.ClientOption // nil: native gRPC
	http2   bool
}

// protocols are all ways but the native one.
func protocols() []protocol {
	return []protocol{
		{"connect", []connect.ClientOption{connect.WithCompressMinBytes(0)}, false},
		{"connect json", []connect.ClientOption{connect.WithProtoJSON()}, false},
		{"connect over http2", []connect.ClientOption{connect.WithSendGzip()}, true},
		{"grpc-web", []connect.ClientOption{connect.WithGRPCWeb()}, false},
		{"grpc over http", []connect.ClientOption{connect.WithGRPC()}, true},
	}
}

// caller makes one unary call of a kind on one protocol.
type caller[Req, Res any] struct {
	name string
	call func(context.Context, *Req) (*Res, error)
}

// everywhere returns one caller for each protocol, the native one first.
func everywhere[Req, Res any](r *running, procedure string) []caller[Req, Res] {
	conn := r.dial(r.GRPCAddr())
	callers := []caller[Req, Res]{{"grpc", func(ctx context.Context, req *Req) (*Res, error) {
		res := new(Res)
		return res, conn.Invoke(ctx, procedure, req, res)
	}}}
	for _, p := range protocols() {
		client := connect.NewClient[Req, Res](r.client(p.http2), r.url(procedure), p.options...)
		callers = append(callers, caller[Req, Res]{p.name, func(ctx context.Context, req *Req) (*Res, error) {
			res, err := client.CallUnary(ctx, connect.NewRequest(req))
			if err != nil {
				return nil, err
			}
			return res.Msg, nil
		}})
	}
	return callers
}

// post sends a body by hand.
func (r *running) post(procedure, contentType string, body []byte) (int, string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url(procedure), bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	return r.do(request)
}

func (r *running) get(path string) (int, string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url(path), http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.do(request)
}

func (r *running) do(request *http.Request) (int, string) {
	r.t.Helper()
	response, err := r.client(false).Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func (r *running) awaitReady() {
	r.t.Helper()
	testwait.For(r.t, "ready", func() bool { code, _ := r.get("/readyz"); return code == http.StatusOK })
}

// awaitServing waits until gRPC health says so of a service, or of the whole server
// where the name is empty.
func (r *running) awaitServing(service string) {
	r.t.Helper()
	health := healthpb.NewHealthClient(r.dial(r.GRPCAddr()))
	testwait.For(r.t, "serving "+service, func() bool {
		res, err := health.Check(r.t.Context(), &healthpb.HealthCheckRequest{Service: service})
		return err == nil && res.GetStatus() == healthpb.HealthCheckResponse_SERVING
	})
}

// awaitVerifier waits until one of the server's verifiers was asked, and answered.
func (r *running) awaitVerifier(name string) {
	r.t.Helper()
	r.awaitServing("plumbline.verifier/" + name)
}

// retrievalRequest is a good request.
func retrievalRequest() *plumblinev1.ScoreRetrievalRequest {
	return &plumblinev1.ScoreRetrievalRequest{
		Id:       "r1",
		Question: "Who wrote Hamlet?",
		Rankings: []*plumblinev1.Ranking{{Name: "dense", Items: []*plumblinev1.RankedItem{
			{Id: "a", Score: 0.9, Text: "Hamlet was written by Shakespeare."},
			{Id: "b", Score: 0.5, Text: "Macbeth is a play."},
			{Id: "c", Score: 0.1, Text: "Rain falls."},
		}}},
	}
}

const scoreRetrieval = plumblinev1connect.RetrievalServiceScoreRetrievalProcedure
