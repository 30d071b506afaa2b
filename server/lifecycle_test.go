package server_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"plumbline/internal/testport"
	"plumbline/internal/testwait"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail/entailtest"
	"plumbline/server"
	"plumbline/server/config"
)

// TestDrainLosesNothing stops the server with calls in flight on every
// protocol and lets the verifier go on only afterwards.
func TestDrainLosesNothing(t *testing.T) {
	for _, withTLS := range []bool{false, true} {
		name := map[bool]string{false: "plain", true: "tls"}[withTLS]
		t.Run(name, func(t *testing.T) {
			cfg := settings()
			var pki *authority
			if withTLS {
				pki = newAuthority(t)
				cfg.GRPC.TLS, cfg.HTTP.TLS = pki.files(), pki.files()
			}
			blocking := entailtest.NewBlocking(entailtest.Overlap())
			fake := &engine{Verifier: blocking}
			r := run(t, cfg, server.Options{Engine: fake})
			if withTLS {
				r.tls = pki.client()
			}
			const each = 20
			type result struct {
				protocol string
				err      error
			}
			results := make(chan result, 200)
			var total int
			for _, c := range everywhere[plumblinev1.ScoreGroundingRequest, plumblinev1.ScoreGroundingResponse](r, scoreGrounding) {
				for range each {
					total++
					go func() {
						res, err := c.call(context.Background(), groundingRequest("Paris is in France."))
						if err == nil && res.GetClaims()[0].GetStatus() != plumblinev1.Status_STATUS_OK {
							err = errors.New(res.GetClaims()[0].GetReason())
						}
						results <- result{c.name, err}
					}()
				}
			}
			for range total {
				<-blocking.Entered()
			}
			r.stop()
			testwait.For(t, "new connections are refused", func() bool {
				conn, err := net.Dial("tcp", r.HTTPAddr().String())
				if err == nil {
					_ = conn.Close()
				}
				return err != nil
			})
			select {
			case lost := <-results:
				t.Errorf("%s lost a call at once: %v", lost.protocol, lost.err)
				total--
			default:
			}
			blocking.Release()
			for range total {
				if got := <-results; got.err != nil {
					t.Errorf("%s lost a call: %v", got.protocol, got.err)
				}
			}
			r.wait()
			if fake.closed != 1 {
				t.Errorf("the engine was closed %d times", fake.closed)
			}
		})
	}
}

func TestASecondSignalForces(t *testing.T) {
	cfg := settings()
	cfg.Drain.Grace = time.Hour
	blocking := entailtest.NewBlocking(entailtest.Overlap())
	r := run(t, cfg, server.Options{Engine: &engine{Verifier: blocking}})
	results := make(chan error, 10)
	callers := everywhere[plumblinev1.ScoreGroundingRequest, plumblinev1.ScoreGroundingResponse](r, scoreGrounding)
	for _, c := range callers {
		go func() {
			_, err := c.call(context.Background(), groundingRequest("Paris is in France."))
			results <- err
		}()
		<-blocking.Entered()
	}
	r.stop()
	select {
	case err := <-results:
		t.Errorf("a call ended before its grace: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	r.force()
	for range callers {
		if err := <-results; err == nil {
			t.Error("a call was answered though nothing answered it")
		}
	}
	r.wait()
}

func TestTheGracePeriodEnds(t *testing.T) {
	cfg := settings()
	cfg.Drain.Grace = 200 * time.Millisecond
	blocking := entailtest.NewBlocking(entailtest.Overlap())
	r := run(t, cfg, server.Options{Engine: &engine{Verifier: blocking}})
	failed := make(chan error, 1)
	go func() {
		_, err := plumblinev1.NewGroundingServiceClient(r.dial(r.GRPCAddr())).ScoreGrounding(context.Background(), groundingRequest("Paris is in France."))
		failed <- err
	}()
	<-blocking.Entered()
	// A stream that its client keeps open for ever must not keep the server.
	stream, err := plumblinev1.NewRetrievalServiceClient(r.dial(r.GRPCAddr())).StreamScoreRetrieval(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.stop()
	if err := <-failed; status.Code(err) == codes.OK {
		t.Error("a call was answered though nothing answered it")
	}
	r.wait()
	if _, err := stream.Recv(); err == nil {
		t.Error("the stream goes on after the server")
	}
}

// TestWatchersLearnOfEverything follows readiness on both listeners through a
// broken engine to the drain.
func TestWatchersLearnOfEverything(t *testing.T) {
	fake := overlap()
	fake.broken = errors.New("corrupt session")
	r := run(t, settings(), server.Options{Engine: fake})

	native := make(chan string, 100)
	stream, err := healthpb.NewHealthClient(r.dial(r.GRPCAddr())).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(native)
		for {
			response, err := stream.Recv()
			if err != nil {
				return
			}
			native <- strings.ToLower(response.GetStatus().String())
		}
	}()
	overHTTP := make(chan string, 100)
	events := grpchealth.NewClient(r.client(true), r.url(""), connect.WithGRPC()).Watch(t.Context(), &grpchealth.CheckRequest{})
	go func() {
		defer close(overHTTP)
		for event := range events {
			if event.Err != nil {
				return
			}
			overHTTP <- event.Response.Status.String()
		}
	}()
	expect := func(want string) {
		t.Helper()
		for name, watch := range map[string]chan string{"grpc": native, "http": overHTTP} {
			select {
			case got := <-watch:
				if got != want {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s does not learn of %q", name, want)
			}
		}
	}
	expect("not_serving")
	if code, body := r.get("/readyz"); code != http.StatusServiceUnavailable || strings.Contains(body, "corrupt") {
		t.Errorf("/readyz = %d %s", code, body)
	}
	if code, _ := r.get("/healthz"); code != http.StatusOK {
		t.Errorf("/healthz = %d", code)
	}
	fake.breakDown(nil)
	expect("serving")
	fake.breakDown(errors.New("corrupt session"))
	expect("not_serving")
	fake.breakDown(nil)
	expect("serving")
	stopped := time.Now()
	r.stop()
	expect("not_serving")
	t.Logf("both watchers knew of the drain after %v", time.Since(stopped))
	for _, watch := range []chan string{native, overHTTP} {
		if got, open := <-watch; open {
			t.Errorf("after the drain comes %s", got)
		}
	}
	r.wait()
}

func TestHealthIsPerService(t *testing.T) {
	fake := overlap()
	fake.broken = errors.New("corrupt session")
	r := run(t, settings(), server.Options{Engine: fake})
	client := healthpb.NewHealthClient(r.dial(r.GRPCAddr()))
	list, err := client.List(t.Context(), &healthpb.HealthListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]healthpb.HealthCheckResponse_ServingStatus{
		"":                               healthpb.HealthCheckResponse_NOT_SERVING,
		"plumbline.v1.GroundingService":  healthpb.HealthCheckResponse_NOT_SERVING,
		"plumbline.v1.ConfidenceService": healthpb.HealthCheckResponse_NOT_SERVING,
		"plumbline.v1.RetrievalService":  healthpb.HealthCheckResponse_SERVING,
		"plumbline.v1.GateService":       healthpb.HealthCheckResponse_SERVING,
	}
	for service, status := range want {
		if got := list.GetStatuses()[service].GetStatus(); got != status {
			t.Errorf("grpc: %q is %s", service, got)
		}
		got, err := grpchealth.NewClient(r.client(false), r.url("")).Check(t.Context(), &grpchealth.CheckRequest{Service: service})
		if err != nil || strings.ToUpper(got.Status.String()) != status.String() {
			t.Errorf("http: %q is %v, %v", service, got, err)
		}
	}
	if _, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "nobody"}); status.Code(err) != codes.NotFound {
		t.Errorf("an unknown service: %v", err)
	}
}

func TestReflectionIsOffered(t *testing.T) {
	names := func(r *running) (native, overHTTP []string, err error) {
		stream, err := reflectionpb.NewServerReflectionClient(r.dial(r.GRPCAddr())).ServerReflectionInfo(t.Context())
		if err != nil {
			return nil, nil, err
		}
		if err := stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
		response, err := stream.Recv()
		if err != nil {
			return nil, nil, err
		}
		for _, s := range response.GetListServicesResponse().GetService() {
			native = append(native, s.GetName())
		}
		reflection := grpcreflect.NewClient(r.client(true), r.url(""), connect.WithGRPC()).NewStream(t.Context())
		defer func() { _, _ = reflection.Close() }()
		listed, err := reflection.ListServices()
		for _, name := range listed {
			overHTTP = append(overHTTP, string(name))
		}
		return native, overHTTP, err
	}
	t.Run("on", func(t *testing.T) {
		r := run(t, settings(), server.Options{Engine: overlap()})
		native, overHTTP, err := names(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, service := range []string{"plumbline.v1.GroundingService", "plumbline.v1.InfoService"} {
			for name, listed := range map[string][]string{"grpc": native, "http": overHTTP} {
				if !strings.Contains(strings.Join(listed, " "), service) {
					t.Errorf("%s does not list %s: %v", name, service, listed)
				}
			}
		}
	})
	t.Run("off", func(t *testing.T) {
		cfg := settings()
		cfg.Reflection = false
		r := run(t, cfg, server.Options{Engine: overlap()})
		if _, _, err := names(r); status.Code(err) != codes.Unimplemented {
			t.Errorf("got %v", err)
		}
	})
}

func TestVerifierOnlyServesTheVerifier(t *testing.T) {
	cfg := settings()
	cfg.HTTP.Addr = ""
	r := run(t, cfg, server.Options{Engine: overlap(), VerifierOnly: true})
	conn := r.dial(r.GRPCAddr())
	if _, err := plumblinev1.NewVerifierServiceClient(conn).Describe(t.Context(), &plumblinev1.DescribeRequest{}); err != nil {
		t.Error(err)
	}
	if _, err := plumblinev1.NewRetrievalServiceClient(conn).ScoreRetrieval(t.Context(), retrievalRequest()); status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v", err)
	}
	info, err := plumblinev1.NewInfoServiceClient(conn).GetInfo(t.Context(), &plumblinev1.GetInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, rpc := range info.GetRpcs() {
		served := strings.Contains(rpc.GetProcedure(), "VerifierService") || strings.Contains(rpc.GetProcedure(), "InfoService")
		if rpc.GetImplemented() != served || served == (rpc.GetReason() != "") {
			t.Errorf("GetInfo says %v", rpc)
		}
	}
	if r.HTTPAddr() != nil {
		t.Errorf("HTTP listens on %v", r.HTTPAddr())
	}
}

// TestAFailedStartLeavesNothingOpen takes the HTTP address away, so that the
// last step fails.
func TestAFailedStartLeavesNothingOpen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	free := testport.Address(t)
	cfg := settings()
	cfg.GRPC.Addr, cfg.HTTP.Addr = free, taken.Addr().String()
	fake := overlap()
	if _, err = server.Complete(t.Context(), cfg, server.Options{Engine: fake}); err == nil || !strings.Contains(err.Error(), "http.addr") {
		t.Fatalf("got %v", err)
	}
	if fake.closed != 1 {
		t.Errorf("the engine was closed %d times", fake.closed)
	}
	again, err := net.Listen("tcp", free)
	if err != nil {
		t.Fatalf("the gRPC address is still bound: %v", err)
	}
	_ = again.Close()
}

func TestBadPoliciesAndCertificatesStopTheStart(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"policies.dir": func(c *config.Config) { c.Policies.Dir = "no/such/folder" },
		"grpc.tls":     func(c *config.Config) { c.GRPC.TLS = config.TLS{CertFile: "no.pem", KeyFile: "no.key"} },
		"http.tls":     func(c *config.Config) { c.HTTP.TLS = config.TLS{CertFile: "no.pem", KeyFile: "no.key"} },
	} {
		cfg := settings()
		change(&cfg)
		if _, err := server.Complete(t.Context(), cfg, server.Options{Engine: overlap()}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestConcurrentUseOfOneServer(t *testing.T) {
	r := run(t, settings(), server.Options{Engine: overlap()})
	var callers sync.WaitGroup
	for _, c := range everywhere[plumblinev1.ScoreGroundingRequest, plumblinev1.ScoreGroundingResponse](r, scoreGrounding) {
		for range 4 {
			callers.Go(func() {
				for range 10 {
					if _, err := c.call(t.Context(), groundingRequest("Paris is in France.")); err != nil {
						t.Errorf("%s: %v", c.name, err)
					}
				}
			})
		}
	}
	callers.Wait()
}

// TestCancellationReachesTheVerifier goes away while the verifier works.
func TestCancellationReachesTheVerifier(t *testing.T) {
	blocking := entailtest.NewBlocking(entailtest.Overlap())
	r := run(t, settings(), server.Options{Engine: &engine{Verifier: blocking}})
	for _, c := range everywhere[plumblinev1.ScoreGroundingRequest, plumblinev1.ScoreGroundingResponse](r, scoreGrounding) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := c.call(ctx, groundingRequest("Paris is in France."))
			done <- err
		}()
		<-blocking.Entered()
		cancel()
		if err := <-done; err == nil {
			t.Errorf("%s: no error", c.name)
		}
	}
	// Nobody has released the verifier: only the cancellations end its calls.
	testwait.For(t, "all calls have ended", func() bool {
		_, text := r.get("/metrics")
		return strings.Contains(text, `plumbline_verifier_calls_total{outcome="cancelled",verifier="embedded"} 6`)
	})
}
