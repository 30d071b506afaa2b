package metrics_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/server/metrics"
)

// use counts something of everything.
func use(m *metrics.Metrics) {
	m.Begin("/s/m", "grpc")("OK", time.Second)
	m.Received("/s/m", 10)
	m.Sent("/s/m", 20)
	m.Refused("OVERLOADED")
	m.VerifierReady(true)
	_, _ = m.Verifier(entailtest.Overlap()).Verify(context.Background(), []entail.Pair{{Premise: "a b", Hypothesis: "c"}})
}

func TestTheMetricsAreWellFormed(t *testing.T) {
	m := metrics.New("1", "abc")
	use(m)
	problems, err := testutil.GatherAndLint(m.Registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestTheVerifierIsCounted(t *testing.T) {
	m := metrics.New("1", "abc")
	pairs := []entail.Pair{{Premise: "a b", Hypothesis: "c"}, {Premise: "a", Hypothesis: "b"}}
	batch, err := m.Verifier(entailtest.Overlap()).Verify(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	failing := entailtest.Failing{Err: errors.New("down")}
	if _, err := m.Verifier(failing).Verify(t.Context(), pairs); !errors.Is(err, failing.Err) {
		t.Errorf("the error does not pass: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Verifier(entailtest.Overlap()).Verify(cancelled, pairs); err == nil {
		t.Error("a cancelled call is answered")
	}
	want := `
		# HELP plumbline_verifier_calls_total Calls of the verifier, by outcome: ok, failed or cancelled.
		# TYPE plumbline_verifier_calls_total counter
		plumbline_verifier_calls_total{outcome="cancelled"} 1
		plumbline_verifier_calls_total{outcome="failed"} 1
		plumbline_verifier_calls_total{outcome="ok"} 1
	`
	if err := testutil.GatherAndCompare(m.Registry, strings.NewReader(want), "plumbline_verifier_calls_total"); err != nil {
		t.Error(err)
	}
	if batch.Usage.Pairs != 2 {
		t.Fatalf("usage %+v", batch.Usage)
	}
	want = `
		# HELP plumbline_verifier_pairs_total Pairs answered, by source: model, cache, or shared with a run under way.
		# TYPE plumbline_verifier_pairs_total counter
		plumbline_verifier_pairs_total{source="cache"} 0
		plumbline_verifier_pairs_total{source="model"} 2
		plumbline_verifier_pairs_total{source="shared"} 0
	`
	if err := testutil.GatherAndCompare(m.Registry, strings.NewReader(want), "plumbline_verifier_pairs_total"); err != nil {
		t.Error(err)
	}
}

func TestTheHandlerServesThem(t *testing.T) {
	m := metrics.New("1.2.3", "abc")
	use(m)
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	for _, line := range []string{
		`plumbline_build_info{commit="abc",version="1.2.3"} 1`,
		`plumbline_rpc_calls_total{code="OK",procedure="/s/m",protocol="grpc"} 1`,
		`plumbline_rpc_in_flight{procedure="/s/m",protocol="grpc"} 0`,
		`plumbline_verifier_ready 1`,
		`go_goroutines`,
	} {
		if !strings.Contains(recorder.Body.String(), line) {
			t.Errorf("no %s", line)
		}
	}
}
