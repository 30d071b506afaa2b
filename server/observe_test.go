package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/descriptorpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail/entailtest"
	"plumbline/server"
	"plumbline/server/service"
)

// TestMetricsEqualTheLedger makes a known number of calls and reads the
// counters.
func TestMetricsEqualTheLedger(t *testing.T) {
	r := run(t, settings(), server.Options{Engine: overlap()})
	bad := retrievalRequest()
	bad.K = 1_000_000
	want := make(map[string]int)
	for i, c := range everywhere[plumblinev1.ScoreRetrievalRequest, plumblinev1.ScoreRetrievalResponse](r, scoreRetrieval) {
		label := "connect"
		if strings.HasPrefix(c.name, "grpc") {
			label = "grpc"
		}
		if c.name == "grpc-web" {
			label = "grpcweb"
		}
		for range i + 1 {
			if _, err := c.call(t.Context(), retrievalRequest()); err != nil {
				t.Fatal(err)
			}
			if _, err := c.call(t.Context(), bad); err == nil {
				t.Fatal("the bad request is answered")
			}
			for _, code := range []string{"OK", "INVALID_ARGUMENT"} {
				want[fmt.Sprintf(`plumbline_rpc_calls_total{code=%q,procedure=%q,protocol=%q}`, code, scoreRetrieval, label)]++
			}
		}
	}
	// A message that no protobuf is counts as any other failure.
	if code, _ := r.post(scoreRetrieval, "application/json", []byte("{")); code != http.StatusBadRequest {
		t.Errorf("got %d", code)
	}
	want[fmt.Sprintf(`plumbline_rpc_calls_total{code="INVALID_ARGUMENT",procedure=%q,protocol="connect"}`, scoreRetrieval)]++
	_, text := r.get("/metrics")
	for series, n := range want {
		if line := fmt.Sprintf("%s %d\n", series, n); !strings.Contains(text, line) {
			t.Errorf("no %s", line)
		}
	}
}

// TestTheLogHasNoUserText sends a marker in every place that takes text.
func TestTheLogHasNoUserText(t *testing.T) {
	const marker = "zebra"
	r := run(t, settings(), server.Options{Engine: &engine{Verifier: entailtest.Failing{Err: errors.New("the cause")}}})
	req := retrievalRequest()
	req.Id, req.Question, req.Rankings[0].Name, req.Rankings[0].Items[0].Text = marker, marker, marker, marker
	wrong := retrievalRequest()
	wrong.Signals = []string{marker}
	for _, c := range everywhere[plumblinev1.ScoreRetrievalRequest, plumblinev1.ScoreRetrievalResponse](r, scoreRetrieval) {
		if _, err := c.call(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if _, err := c.call(t.Context(), wrong); err == nil {
			t.Fatal("the wrong signal is taken")
		}
	}
	for _, c := range everywhere[plumblinev1.ScoreGroundingRequest, plumblinev1.ScoreGroundingResponse](r, scoreGrounding) {
		if _, err := c.call(t.Context(), groundingRequest(marker)); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = r.post(scoreRetrieval, "application/json", []byte(`{"`+marker+`": 1}`))
	_, _ = r.post(scoreRetrieval, "application/json", []byte(`{"k": "`+marker+`"}`))
	log := r.log.String()
	if strings.Contains(log, marker) {
		t.Errorf("the log has user text:\n%.2000s", log)
	}
	if !strings.Contains(log, "the cause") || !strings.Contains(log, scoreGrounding) {
		t.Errorf("the log lacks the verifier's failure:\n%.2000s", log)
	}
}

func TestWebPagesOfNamedOriginsMayCall(t *testing.T) {
	const friend = "https://app.example"
	cfg := settings()
	cfg.HTTP.CORSOrigins = []string{friend}
	r := run(t, cfg, server.Options{Engine: overlap()})
	for origin, allowed := range map[string]string{friend: friend, "https://evil.example": ""} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, r.url(scoreRetrieval), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Origin", origin)
		request.Header.Set("Access-Control-Request-Method", http.MethodPost)
		request.Header.Set("Access-Control-Request-Headers", "connect-protocol-version,content-type")
		response, err := r.client(false).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if got := response.Header.Get("Access-Control-Allow-Origin"); got != allowed {
			t.Errorf("%s: allowed origin %q", origin, got)
		}
	}
}

// TestSlowHeadersAreCut opens connections that never finish their headers.
func TestSlowHeadersAreCut(t *testing.T) {
	cfg := settings()
	cfg.HTTP.ReadHeaderTimeout = 2 * time.Second // which must be enough for the honest call
	r := run(t, cfg, server.Options{Engine: overlap()})
	closed := make(chan error, 50)
	for range cap(closed) {
		conn, err := net.Dial("tcp", r.HTTPAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		go func() {
			if _, err := conn.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ")); err != nil {
				closed <- err
				return
			}
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			_, err := bufio.NewReader(conn).ReadByte()
			closed <- err
		}()
	}
	for range cap(closed) {
		var timeout net.Error
		if err := <-closed; errors.As(err, &timeout) && timeout.Timeout() {
			t.Error("a connection without headers stays open")
		}
	}
	if code, _ := r.get("/healthz"); code != http.StatusOK {
		t.Errorf("/healthz = %d", code)
	}
}

// TestOnlyRPCsWithoutUserTextAnswerGET keeps evidence out of URLs, which
// proxies log.
func TestOnlyRPCsWithoutUserTextAnswerGET(t *testing.T) {
	r := run(t, settings(), server.Options{Engine: overlap()})
	for _, descriptor := range service.Services() {
		for i := range descriptor.Methods().Len() {
			method := descriptor.Methods().Get(i)
			options, ok := method.Options().(*descriptorpb.MethodOptions)
			free := ok && options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
			if method.IsStreamingClient() {
				continue
			}
			code, body := r.get(service.Procedure(method) + "?connect=v1&encoding=json&message=%7B%7D")
			if taken := code != http.StatusMethodNotAllowed; taken != free {
				t.Errorf("%s answers GET with %d %.100s", method.FullName(), code, body)
			}
		}
	}
	if code, body := r.get("/plumbline.v1.InfoService/GetInfo?connect=v1&encoding=json&message=%7B%7D"); code != http.StatusOK || !strings.Contains(body, "1.2.3") {
		t.Errorf("GetInfo answers GET with %d %.100s", code, body)
	}
}

func TestPagesThatAreOff(t *testing.T) {
	cfg := settings()
	cfg.Metrics = false
	r := run(t, cfg, server.Options{Engine: overlap()})
	if code, _ := r.get("/metrics"); code != http.StatusNotFound {
		t.Errorf("/metrics = %d", code)
	}
	if code, _ := r.get("/no/such/page"); code != http.StatusNotFound {
		t.Errorf("an unknown page = %d", code)
	}
}
