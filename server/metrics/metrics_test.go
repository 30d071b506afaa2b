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
	"plumbline/scorers/score"
	"plumbline/server/metrics"
)

// use counts something of everything.
func use(m *metrics.Metrics) {
	m.Begin("/s/m", "grpc")("OK", time.Second)
	m.Received("/s/m", 10)
	m.Sent("/s/m", 20)
	m.Refused("OVERLOADED")
	v := m.Verifier("embedded")
	v.Ready(true)
	v.Retried()
	v.Breaker(2)
	v.Swapped(true)
	v.Unanswered("open")
	_, _ = v.Measure(entailtest.Overlap()).Verify(context.Background(), []entail.Pair{{Premise: "a b", Hypothesis: "c"}})
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
	batch, err := m.Verifier("judge").Measure(entailtest.Overlap()).Verify(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	for _, failure := range []error{
		errors.New("defect"), entail.ErrBusy, &entail.RetryAfter{Err: entail.ErrBusy}, entail.ErrUnavailable, entail.ErrRejected,
		entail.ErrBadReply, score.InvalidInput("bad"),
	} {
		if _, err := m.Verifier("judge").Measure(entailtest.Failing{Err: failure}).Verify(t.Context(), pairs); !errors.Is(err, failure) {
			t.Errorf("the error does not pass: %v", err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Verifier("judge").Measure(entailtest.Overlap()).Verify(cancelled, pairs); err == nil {
		t.Error("a cancelled call is answered")
	}
	want := `
		# HELP plumbline_verifier_calls_total Calls of a verifier, by outcome: ok, cancelled, deadline, busy, unavailable, rejected, bad_reply, bad_input or failed.
		# TYPE plumbline_verifier_calls_total counter
		plumbline_verifier_calls_total{outcome="bad_input",verifier="judge"} 1
		plumbline_verifier_calls_total{outcome="bad_reply",verifier="judge"} 1
		plumbline_verifier_calls_total{outcome="busy",verifier="judge"} 2
		plumbline_verifier_calls_total{outcome="cancelled",verifier="judge"} 1
		plumbline_verifier_calls_total{outcome="failed",verifier="judge"} 1
		plumbline_verifier_calls_total{outcome="ok",verifier="judge"} 1
		plumbline_verifier_calls_total{outcome="rejected",verifier="judge"} 1
		plumbline_verifier_calls_total{outcome="unavailable",verifier="judge"} 1
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
		plumbline_verifier_pairs_total{source="cache",verifier="judge"} 0
		plumbline_verifier_pairs_total{source="model",verifier="judge"} 2
		plumbline_verifier_pairs_total{source="shared",verifier="judge"} 0
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
