package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcgzip "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"plumbline/internal/testwait"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/proto/plumbline/v1/plumblinev1connect"
	"plumbline/scorers/entail/entailtest"
	"plumbline/server"
)

// requestOfSize is a good request of exactly so many bytes.
func requestOfSize(t testing.TB, size int) *plumblinev1.ScoreRetrievalRequest {
	t.Helper()
	req := retrievalRequest()
	for missing := size - proto.Size(req); missing != 0; missing = size - proto.Size(req) {
		text := &req.Rankings[0].Items[0].Text
		if missing > 0 {
			*text += strings.Repeat("a", missing)
		} else {
			*text = (*text)[:len(*text)+missing]
		}
	}
	return req
}

func TestMessagesUpToTheLimitAreTaken(t *testing.T) {
	cfg := settings()
	cfg.Limits.MaxMessageBytes = 100_000
	r := run(t, cfg, server.Options{Engine: overlap()})
	for _, c := range everywhere[plumblinev1.ScoreRetrievalRequest, plumblinev1.ScoreRetrievalResponse](r, scoreRetrieval) {
		// Protobuf-JSON has another size than the message.
		if c.name == "connect json" {
			continue
		}
		if _, err := c.call(t.Context(), requestOfSize(t, cfg.Limits.MaxMessageBytes)); err != nil {
			t.Errorf("%s: at the limit: %v", c.name, err)
		}
		_, err := c.call(t.Context(), requestOfSize(t, cfg.Limits.MaxMessageBytes+1))
		if f := failureOf(t, err); f.code != codes.ResourceExhausted {
			t.Errorf("%s: beyond the limit: %v", c.name, f)
		}
	}
	code, body := r.post(scoreRetrieval, "application/json", bytes.Repeat([]byte(" "), cfg.Limits.MaxMessageBytes+1))
	if code != http.StatusTooManyRequests || !strings.Contains(body, "resource_exhausted") {
		t.Errorf("JSON beyond the limit: %d %s", code, body)
	}
	// Native gRPC counts its own as a call; HTTP refused four and this one.
	_, text := r.get("/metrics")
	if !strings.Contains(text, `plumbline_rpc_refused_total{reason="UNREADABLE"} 5`) {
		t.Errorf("the refusals are not counted:\n%s", text)
	}
	if !strings.Contains(text, `plumbline_rpc_calls_total{code="RESOURCE_EXHAUSTED",procedure="`+scoreRetrieval+`",protocol="grpc"} 1`) {
		t.Errorf("the refusal of grpc is not counted:\n%s", text)
	}
}

// TestCompressionBombsAreBounded sends a few KB that would become 64 times the
// limit.
func TestCompressionBombsAreBounded(t *testing.T) {
	const limit, inflated, most = 1 << 20, 64 << 20, 16 << 20
	cfg := settings()
	cfg.Limits.MaxMessageBytes = limit
	r := run(t, cfg, server.Options{Engine: overlap()})
	r.awaitReady()
	bomb := gzipped(t, inflated)

	allocated := func(send func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		send()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	t.Run("connect", func(t *testing.T) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url(scoreRetrieval), bytes.NewReader(bomb))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/proto")
		request.Header.Set("Content-Encoding", "gzip")
		var code int
		var body string
		used := allocated(func() { code, body = r.do(request) })
		if code != http.StatusTooManyRequests || !strings.Contains(body, "resource_exhausted") || used > most {
			t.Errorf("got %d %s and %d bytes allocated", code, body, used)
		}
	})
	t.Run("grpc", func(t *testing.T) {
		conn := r.dial(r.GRPCAddr())
		var err error
		used := allocated(func() {
			// Its client compresses, so that the test allocates once itself.
			err = conn.Invoke(t.Context(), scoreRetrieval, &rawMessage{make([]byte, inflated)}, new(plumblinev1.ScoreRetrievalResponse),
				rawCodec(), grpc.UseCompressor(grpcgzip.Name))
		})
		if f := failureOf(t, err); f.code != codes.ResourceExhausted || used > inflated+most {
			t.Errorf("got %v and %d bytes allocated", f, used)
		}
	})
}

func gzipped(t *testing.T, size int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	block := make([]byte, 1<<20)
	for range size / len(block) {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// groundingRequest asks the verifier for one pair; the number keeps pairs of
// different calls apart.
func groundingRequest(text string) *plumblinev1.ScoreGroundingRequest {
	return &plumblinev1.ScoreGroundingRequest{
		Evidence: []*plumblinev1.Evidence{{Id: "e", Text: text}},
		Claims:   []*plumblinev1.Claim{{Text: text}},
	}
}

const scoreGrounding = plumblinev1connect.GroundingServiceScoreGroundingProcedure

func TestOverloadIsRefusedWithADelay(t *testing.T) {
	cfg := settings()
	cfg.Limits.MaxConcurrentCalls = 1
	cfg.Limits.AdmissionWait = 10 * time.Millisecond
	blocking := entailtest.NewBlocking(entailtest.Overlap())
	r := run(t, cfg, server.Options{Engine: &engine{Verifier: blocking}})
	defer blocking.Release()

	client := plumblinev1.NewGroundingServiceClient(r.dial(r.GRPCAddr()))
	held := make(chan error, 1)
	go func() {
		_, err := client.ScoreGrounding(t.Context(), groundingRequest("Paris is in France."))
		held <- err
	}()
	<-blocking.Entered()

	for _, c := range everywhere[plumblinev1.ScoreGroundingRequest, plumblinev1.ScoreGroundingResponse](r, scoreGrounding) {
		_, err := c.call(t.Context(), groundingRequest("Rome is in Italy."))
		f := failureOf(t, err)
		var delay *errdetails.RetryInfo
		for _, d := range f.details {
			if info, ok := d.(*errdetails.RetryInfo); ok {
				delay = info
			}
		}
		if f.code != codes.ResourceExhausted || f.reason() != "OVERLOADED" || delay.GetRetryDelay().AsDuration() <= 0 {
			t.Errorf("%s: got %v", c.name, f)
		}
	}
	var trailer metadata.MD
	_, err := client.ScoreGrounding(t.Context(), groundingRequest("Rome is in Italy."), grpc.Trailer(&trailer))
	if err == nil || len(trailer.Get("grpc-retry-pushback-ms")) != 1 {
		t.Errorf("grpc has no pushback: %v, %v", err, trailer)
	}
	_, err = plumblinev1connect.NewGroundingServiceClient(r.client(false), r.url("")).ScoreGrounding(t.Context(), groundingRequest("Rome is in Italy."))
	var connectErr *connect.Error
	if !errors.As(err, &connectErr) || connectErr.Meta().Get("Retry-After") != "1" {
		t.Errorf("connect has no Retry-After: %v", err)
	}

	t.Run("others are served meanwhile", func(t *testing.T) {
		for _, c := range everywhere[plumblinev1.ScoreRetrievalRequest, plumblinev1.ScoreRetrievalResponse](r, scoreRetrieval) {
			if _, err := c.call(t.Context(), retrievalRequest()); err != nil {
				t.Errorf("another service over %s: %v", c.name, err)
			}
		}
		if code, body := r.get("/readyz"); code != http.StatusOK {
			t.Errorf("/readyz = %d %s", code, body)
		}
	})
	blocking.Release()
	if err := <-held; err != nil {
		t.Errorf("the call that had its place: %v", err)
	}
	if _, err := client.ScoreGrounding(t.Context(), groundingRequest("Rome is in Italy.")); err != nil {
		t.Errorf("after the overload: %v", err)
	}
}

// TestGRPCClientsRetryOverload shows that a refusal is of the form on which
// gRPC clients act.
func TestGRPCClientsRetryOverload(t *testing.T) {
	cfg := settings()
	cfg.Limits.MaxConcurrentCalls = 1
	cfg.Limits.AdmissionWait = 0
	blocking := entailtest.NewBlocking(entailtest.Overlap())
	r := run(t, cfg, server.Options{Engine: &engine{Verifier: blocking}})
	defer blocking.Release()
	conn := r.dial(r.GRPCAddr(), grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {
		"maxAttempts": 4, "initialBackoff": "0.01s", "maxBackoff": "0.01s", "backoffMultiplier": 1, "retryableStatusCodes": ["RESOURCE_EXHAUSTED"]}}]}`))
	client := plumblinev1.NewGroundingServiceClient(conn)
	held := make(chan error, 1)
	go func() {
		_, err := client.ScoreGrounding(t.Context(), groundingRequest("Paris is in France."))
		held <- err
	}()
	<-blocking.Entered()
	_, err := client.ScoreGrounding(t.Context(), groundingRequest("Rome is in Italy."))
	if f := failureOf(t, err); f.code != codes.ResourceExhausted {
		t.Errorf("got %v", f)
	}
	if refused := strings.Count(r.log.String(), `"reason":"OVERLOADED"`); refused != 4 {
		t.Errorf("the client made %d attempts, want 4", refused)
	}
	blocking.Release()
	if err := <-held; err != nil {
		t.Error(err)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	cfg := settings()
	cfg.Limits.MaxOpenStreams = 1
	r := run(t, cfg, server.Options{Engine: overlap()})
	client := plumblinev1.NewRetrievalServiceClient(r.dial(r.GRPCAddr()))
	first, err := client.StreamScoreRetrieval(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Send(&plumblinev1.StreamScoreRetrievalRequest{Request: retrievalRequest()}); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Recv(); err != nil {
		t.Fatal(err)
	}
	second, err := client.StreamScoreRetrieval(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = second.Recv()
	if f := failureOf(t, err); f.code != codes.ResourceExhausted || f.reason() != "OVERLOADED" {
		t.Errorf("got %v", f)
	}
	if err := first.CloseSend(); err != nil {
		t.Fatal(err)
	}
}

func TestACallWithoutADeadlineGetsOne(t *testing.T) {
	cfg := settings()
	cfg.Limits.DefaultDeadline = 50 * time.Millisecond
	blocking := entailtest.NewBlocking(entailtest.Overlap())
	r := run(t, cfg, server.Options{Engine: &engine{Verifier: blocking}})
	defer blocking.Release()
	for _, c := range everywhere[plumblinev1.ScoreGroundingRequest, plumblinev1.ScoreGroundingResponse](r, scoreGrounding) {
		res, err := c.call(t.Context(), groundingRequest("Paris is in France."))
		if err != nil || res.GetClaims()[0].GetStatus() != plumblinev1.Status_STATUS_DEADLINE {
			t.Errorf("%s: got %.500v, %v", c.name, res, err)
		}
	}
}

// TestWhatIsKnownAtTheClientsDeadlineReachesIt: the client hangs up at its deadline.
func TestWhatIsKnownAtTheClientsDeadlineReachesIt(t *testing.T) {
	blocking := entailtest.NewBlocking(entailtest.Overlap())
	r := run(t, settings(), server.Options{Engine: &engine{Verifier: blocking}})
	defer blocking.Release()
	for _, c := range everywhere[plumblinev1.ScoreGroundingRequest, plumblinev1.ScoreGroundingResponse](r, scoreGrounding) {
		patience := 100 * time.Millisecond
		testwait.For(t, c.name+": a reply before the deadline", func() bool {
			patience *= 2 // a tenth of it is for the reply, on a machine that may be busy
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			res, err := c.call(ctx, groundingRequest("Paris is in France."))
			return err == nil && res.GetClaims()[0].GetStatus() == plumblinev1.Status_STATUS_DEADLINE
		})
	}
}

// TestAMessageThatDoesNotArriveHasADeadlineToo begins messages and never ends them.
func TestAMessageThatDoesNotArriveHasADeadlineToo(t *testing.T) {
	cfg := settings()
	cfg.Limits.DefaultDeadline, cfg.Limits.MaxDeadline = 300*time.Millisecond, 300*time.Millisecond
	r := run(t, cfg, server.Options{Engine: overlap()})
	for _, version2 := range []bool{false, true} {
		body, never := io.Pipe()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url(scoreRetrieval), body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		go func() { _, _ = never.Write([]byte(`{"rankings":`)) }()
		response, err := r.client(version2).Do(request)
		if err != nil {
			t.Fatalf("HTTP/2 %v: %v", version2, err)
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		_ = never.Close()
		if response.StatusCode != http.StatusGatewayTimeout || !strings.Contains(string(text), `"deadline_exceeded"`) {
			t.Errorf("HTTP/2 %v: %s, %s", version2, response.Status, text)
		}
	}
	stream, err := r.dial(r.GRPCAddr()).NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, scoreRetrieval)
	if err != nil {
		t.Fatal(err)
	}
	if f := failureOf(t, stream.RecvMsg(new(plumblinev1.ScoreRetrievalResponse))); f.code != codes.DeadlineExceeded {
		t.Errorf("gRPC: %v", f)
	}
}

// TestTheTimeToArriveIsNotThatOfTheCall has an answer that takes longer than the
// message may.
func TestTheTimeToArriveIsNotThatOfTheCall(t *testing.T) {
	cfg := settings()
	cfg.Limits.DefaultDeadline, cfg.Limits.MaxDeadline = 2*time.Second, 2*time.Second // for messages too, on a machine that may be busy
	cfg.Limits.AdmissionWait = 0
	blocking := entailtest.NewBlocking(entailtest.Overlap())
	r := run(t, cfg, server.Options{Engine: &engine{Verifier: blocking}})
	defer blocking.Release()
	for _, c := range everywhere[plumblinev1.ScoreGroundingRequest, plumblinev1.ScoreGroundingResponse](r, scoreGrounding) {
		for range 2 { // on one connection, whose deadline is over
			res, err := c.call(t.Context(), groundingRequest("Paris is in France."))
			if err != nil || res.GetClaims()[0].GetStatus() != plumblinev1.Status_STATUS_DEADLINE {
				t.Errorf("%s: got %.500v, %v", c.name, res, err)
			}
		}
	}
}
