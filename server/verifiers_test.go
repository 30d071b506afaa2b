package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"plumbline/internal/testwait"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/server"
	"plumbline/server/config"
	"plumbline/verifiers"
)

// model is an engine with a name, a digest and one answer, whose failure a test
// sets.
type model struct {
	name    string
	support float64
	mu      sync.Mutex
	failing error
	calls   atomic.Int64
	closed  atomic.Int64
}

func (m *model) digest() string { return "sha256:" + m.name }

func (m *model) Describe(ctx context.Context) (entail.Description, error) {
	d, err := entailtest.Overlap().Describe(ctx)
	d.Name, d.Digest = m.name, m.digest()
	return d, err
}

func (m *model) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	m.calls.Add(1)
	if m.closed.Load() > 0 {
		return entail.Batch{}, errors.New("asked after Close")
	}
	if err := m.failure(); err != nil {
		return entail.Batch{}, err
	}
	batch, err := entailtest.Func(func(entail.Pair) (entail.Scores, error) { return entailtest.Support(m.support), nil }).Verify(ctx, pairs)
	batch.Usage.Verifier, batch.Usage.Digest = m.name, m.digest()
	return batch, err
}

func (m *model) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failing
}

func (m *model) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failing = err
}

func (m *model) Probe(context.Context) error { return m.failure() }
func (m *model) Close() error                { m.closed.Add(1); return nil }

// host serves a model as a verifier of its own, and returns its address when it
// serves: a client does not ask one that says it does not.
func host(t *testing.T, m *model) string {
	t.Helper()
	cfg := settings()
	cfg.HTTP.Addr = ""
	r := run(t, cfg, server.Options{Engine: m, VerifierOnly: true})
	r.awaitServing("")
	return "grpc://" + r.GRPCAddr().String()
}

// ask adds a verifier to the settings.
func ask(cfg *config.Config, name, at string, change func(*config.NamedVerifier)) {
	v := config.DefaultVerifier(name, at)
	if change != nil {
		change(&v)
	}
	if cfg.Verifiers == nil {
		cfg.Verifiers = make(map[string]config.NamedVerifier)
	}
	cfg.Verifiers[name] = v
}

// grounded asks one claim of a verifier.
func grounded(verifier, claim string) *plumblinev1.ScoreGroundingRequest {
	req := groundingRequest("Paris is in France.")
	req.Verifier = verifier
	req.Claims = []*plumblinev1.Claim{{Id: "c", Text: claim}}
	return req
}

// checkAnswer says what is wrong with a reply that the model should have given.
func checkAnswer(t *testing.T, what string, res *plumblinev1.ScoreGroundingResponse, name string, m *model) {
	t.Helper()
	info := res.GetModel()
	if info.GetVerifier() != name || info.GetName() != m.name || info.GetDigest() != m.digest() {
		t.Errorf("%s: answered by %v, want %s", what, info, name)
	}
	if got := res.GetClaims()[0].GetSupport().GetValue(); got != m.support {
		t.Errorf("%s: support %v, want %v", what, got, m.support)
	}
}

// TestRequestsChooseTheirVerifier over every kind of rpc.
func TestRequestsChooseTheirVerifier(t *testing.T) {
	local, judge := &model{name: "local", support: 0.25}, &model{name: "judge-7b", support: 0.75}
	cfg := settings()
	ask(&cfg, "judge", host(t, judge), nil)
	r := run(t, cfg, server.Options{Engine: local})
	r.awaitReady()
	r.awaitVerifier("judge")
	conn := r.dial(r.GRPCAddr())
	client := plumblinev1.NewGroundingServiceClient(conn)
	for asked, want := range map[string]struct {
		name  string
		model *model
	}{"": {"embedded", local}, "embedded": {"embedded", local}, "judge": {"judge", judge}} {
		res, err := client.ScoreGrounding(t.Context(), grounded(asked, "Unary."))
		if err != nil {
			t.Fatal(err)
		}
		checkAnswer(t, "unary, asking "+asked, res, want.name, want.model)

		batch, err := client.BatchScoreGrounding(t.Context(), &plumblinev1.BatchScoreGroundingRequest{
			Requests: []*plumblinev1.ScoreGroundingRequest{grounded(asked, "Batch.")},
		})
		if err != nil {
			t.Fatal(err)
		}
		checkAnswer(t, "batch, asking "+asked, batch.GetResults()[0].GetResponse(), want.name, want.model)
		checkAnswer(t, "stream, asking "+asked, streamed(t, client, grounded(asked, "Stream.")), want.name, want.model)
	}
	// The parts of one request may ask different verifiers.
	observed, err := plumblinev1.NewTelemetryServiceClient(conn).Observe(t.Context(), &plumblinev1.ObserveRequest{
		Grounding: grounded("judge", "Observe."),
		Confidence: &plumblinev1.ScoreConfidenceRequest{
			MainAnswer: "Paris", Agreement: plumblinev1.Agreement_AGREEMENT_ENTAIL_BOTH,
			Samples: []*plumblinev1.Sample{{Text: "Rome"}, {Text: "Oslo"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, info := range observed.GetTelemetry().GetModels() {
		names = append(names, info.GetVerifier())
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"embedded", "judge"}) {
		t.Errorf("Observe was answered by %v", names)
	}
}

// streamed sends one start and returns the summary.
func streamed(t *testing.T, client plumblinev1.GroundingServiceClient, start *plumblinev1.ScoreGroundingRequest) *plumblinev1.ScoreGroundingResponse {
	t.Helper()
	stream, err := client.StreamScoreGrounding(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&plumblinev1.StreamScoreGroundingRequest{Frame: &plumblinev1.StreamScoreGroundingRequest_Start{Start: start}}); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := stream.Recv()
		if err != nil {
			t.Fatalf("the stream ended without a summary: %v", err)
		}
		if e := frame.GetError(); e != nil {
			t.Fatalf("error frame %v", e)
		}
		if summary := frame.GetSummary(); summary != nil {
			return summary
		}
	}
}

func TestAVerifierThatNobodyConfiguredIsNotFound(t *testing.T) {
	cfg := settings()
	ask(&cfg, "judge", "grpc://127.0.0.1:1", nil)
	r := run(t, cfg, server.Options{Engine: overlap()})
	client := plumblinev1.NewGroundingServiceClient(r.dial(r.GRPCAddr()))
	_, err := client.ScoreGrounding(t.Context(), grounded("oracle", "Who knows."))
	if status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), "embedded, judge") {
		t.Errorf("got %v", err)
	}
}

// TestAChainAnswersWhereItsFirstCannot, says who did, and keeps the server ready.
func TestAChainAnswersWhereItsFirstCannot(t *testing.T) {
	local, judge := &model{name: "local", support: 0.25}, &model{name: "judge-7b", support: 0.75}
	cfg := settings()
	cfg.Verifier.Default = "judge"
	ask(&cfg, "judge", host(t, judge), func(v *config.NamedVerifier) {
		v.Fallback, v.Retries = []string{"embedded"}, 0
	})
	r := run(t, cfg, server.Options{Engine: local})
	r.awaitVerifier("judge")
	r.awaitVerifier("embedded")
	client := plumblinev1.NewGroundingServiceClient(r.dial(r.GRPCAddr()))
	res, err := client.ScoreGrounding(t.Context(), grounded("", "First."))
	if err != nil {
		t.Fatal(err)
	}
	checkAnswer(t, "while it works", res, "judge", judge)
	judge.fail(errors.New("corrupt session"))
	res, err = client.ScoreGrounding(t.Context(), grounded("", "Second."))
	if err != nil {
		t.Fatal(err)
	}
	checkAnswer(t, "after it broke", res, "embedded", local)
	health := healthpb.NewHealthClient(r.dial(r.GRPCAddr()))
	testwait.For(t, "its probe failed", func() bool {
		res, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "plumbline.verifier/judge"})
		return err == nil && res.GetStatus() == healthpb.HealthCheckResponse_NOT_SERVING
	})
	if code, text := r.get("/readyz"); code != http.StatusOK {
		t.Errorf("the server is not ready: %s", text)
	}
}

// TestFailModesAreEachVerifiersOwn: two verifiers are down; the values say so
// each in its way, the reply says which mode was in force, and so do metrics.
func TestFailModesAreEachVerifiersOwn(t *testing.T) {
	cfg := settings()
	ask(&cfg, "strict", "grpc://127.0.0.1:1", nil)
	ask(&cfg, "lenient", "grpc://127.0.0.1:1", func(v *config.NamedVerifier) { v.FailMode = config.FailOpen })
	r := run(t, cfg, server.Options{Engine: overlap()})
	r.awaitReady() // the default verifier works
	client := plumblinev1.NewGroundingServiceClient(r.dial(r.GRPCAddr()))
	for name, want := range map[string]struct {
		status plumblinev1.Status
		mode   plumblinev1.FailMode
	}{
		"strict":  {plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE, plumblinev1.FailMode_FAIL_MODE_CLOSED},
		"lenient": {plumblinev1.Status_STATUS_NOT_CHECKED, plumblinev1.FailMode_FAIL_MODE_OPEN},
	} {
		for i := range 3 {
			res, err := client.ScoreGrounding(t.Context(), grounded(name, fmt.Sprint("Claim ", i)))
			if err != nil {
				t.Fatal(err)
			}
			if res.GetStatus() != want.status || res.GetFailMode() != want.mode || res.GetModel().GetVerifier() != "" {
				t.Errorf("%s: status %v, mode %v, model %v", name, res.GetStatus(), res.GetFailMode(), res.GetModel())
			}
		}
	}
	_, text := r.get("/metrics")
	for _, line := range []string{
		`plumbline_verifier_unanswered_total{fail_mode="closed",verifier="strict"} 3`,
		`plumbline_verifier_unanswered_total{fail_mode="open",verifier="lenient"} 3`,
		`plumbline_verifier_ready{verifier="embedded"} 1`,
		`plumbline_verifier_breaker_state{verifier="embedded"} 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	testwait.For(t, "all probes are told", func() bool {
		_, text := r.get("/metrics")
		return strings.Contains(text, `plumbline_verifier_ready{verifier="strict"} 0`)
	})
}

// TestABreakerIsSeenInMetrics and spares the verifier.
func TestABreakerIsSeenInMetrics(t *testing.T) {
	judge := &model{name: "judge-7b", support: 0.75}
	cfg := settings()
	ask(&cfg, "judge", host(t, judge), func(v *config.NamedVerifier) {
		v.Retries, v.Breaker.Failures, v.Breaker.Pause = 0, 3, time.Minute
	})
	r := run(t, cfg, server.Options{Engine: overlap()})
	r.awaitVerifier("judge")
	client := plumblinev1.NewGroundingServiceClient(r.dial(r.GRPCAddr()))
	if _, err := client.ScoreGrounding(t.Context(), grounded("judge", "Good.")); err != nil {
		t.Fatal(err)
	}
	before := judge.calls.Load()
	judge.fail(errors.New("corrupt session"))
	for i := range 10 {
		res, err := client.ScoreGrounding(t.Context(), grounded("judge", fmt.Sprint("Claim ", i)))
		if err != nil || res.GetStatus() != plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE {
			t.Errorf("got %v, %v", res.GetStatus(), err)
		}
	}
	if calls := judge.calls.Load() - before; calls > 3 {
		t.Errorf("%d calls reached the verifier", calls)
	}
	if _, text := r.get("/metrics"); !strings.Contains(text, `plumbline_verifier_breaker_state{verifier="judge"} 2`) {
		t.Error("the metrics do not show an open breaker")
	}
}

// failsCalls is a model that looks well and fails every call.
type failsCalls struct{ *model }

func (f failsCalls) Verify(context.Context, []entail.Pair) (entail.Batch, error) {
	f.calls.Add(1)
	return entail.Batch{}, errors.New("corrupt session")
}

// TestRetriesOfRequestsAreBounded through everything that stands in front of a
// verifier: one that fails all calls gets at most 1.2 attempts a request.
func TestRetriesOfRequestsAreBounded(t *testing.T) {
	const requests = 100
	sick := &model{name: "sick"}
	hosting := settings()
	hosting.HTTP.Addr = ""
	hosted := run(t, hosting, server.Options{Engine: failsCalls{sick}, VerifierOnly: true})
	hosted.awaitServing("")
	cfg := settings()
	ask(&cfg, "sick", "grpc://"+hosted.GRPCAddr().String(), func(v *config.NamedVerifier) {
		v.Retries, v.Breaker.Failures = 3, 0
	})
	r := run(t, cfg, server.Options{Engine: overlap()})
	client := plumblinev1.NewGroundingServiceClient(r.dial(r.GRPCAddr()))
	for i := range requests {
		res, err := client.ScoreGrounding(t.Context(), grounded("sick", fmt.Sprint("Claim ", i)))
		if err != nil || res.GetStatus() != plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE {
			t.Fatalf("got %v, %v", res.GetStatus(), err)
		}
	}
	if attempts := sick.calls.Load(); attempts <= requests || attempts > requests*12/10 {
		t.Errorf("%d attempts for %d requests", attempts, requests)
	}
}

func TestInfoAndHealthTellOfEachVerifier(t *testing.T) {
	judge := &model{name: "judge-7b", support: 0.75}
	cfg := settings()
	ask(&cfg, "judge", host(t, judge), func(v *config.NamedVerifier) { v.Fallback, v.FailMode = []string{"embedded"}, config.FailOpen })
	ask(&cfg, "nowhere", "grpc://127.0.0.1:1", nil)
	r := run(t, cfg, server.Options{Engine: overlap()})
	r.awaitReady()
	conn := r.dial(r.GRPCAddr())
	var info *plumblinev1.GetInfoResponse
	testwait.For(t, "the judge was probed", func() bool {
		var err error
		if info, err = plumblinev1.NewInfoServiceClient(conn).GetInfo(t.Context(), &plumblinev1.GetInfoRequest{}); err != nil {
			t.Fatal(err)
		}
		return info.GetVerifiers()[1].GetReady()
	})
	var lines []string
	for _, v := range info.GetVerifiers() {
		lines = append(lines, fmt.Sprint(v.GetName(), " default=", v.GetDefault(), " ready=", v.GetReady(), " fallback=", v.GetFallback(),
			" ", v.GetFailMode(), " described=", v.GetDescription().GetName()))
	}
	want := []string{
		"embedded default=true ready=true fallback=[] FAIL_MODE_CLOSED described=fake",
		"judge default=false ready=true fallback=[embedded] FAIL_MODE_OPEN described=judge-7b",
		"nowhere default=false ready=false fallback=[] FAIL_MODE_CLOSED described=",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("GetInfo:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	health := healthpb.NewHealthClient(conn)
	for name, want := range map[string]healthpb.HealthCheckResponse_ServingStatus{
		"plumbline.verifier/embedded": healthpb.HealthCheckResponse_SERVING,
		"plumbline.verifier/judge":    healthpb.HealthCheckResponse_SERVING,
		"plumbline.verifier/nowhere":  healthpb.HealthCheckResponse_NOT_SERVING,
		"":                            healthpb.HealthCheckResponse_SERVING,
	} {
		got, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: name})
		if err != nil || got.GetStatus() != want {
			t.Errorf("%q: %v, %v", name, got.GetStatus(), err)
		}
	}
}

// TestAServerOfRemoteVerifiersLoadsNoModel: the library of the embedded model is
// not even there.
func TestAServerOfRemoteVerifiersLoadsNoModel(t *testing.T) {
	cfg := settings()
	cfg.ONNXRuntime.Lib = "no/such/library.so"
	cfg.Verifier.Default = "judge"
	judge := &model{name: "judge-7b", support: 0.75}
	ask(&cfg, "judge", host(t, judge), nil)
	r := run(t, cfg, server.Options{})
	r.awaitReady()
	res, err := plumblinev1.NewGroundingServiceClient(r.dial(r.GRPCAddr())).ScoreGrounding(t.Context(), grounded("", "Remote."))
	if err != nil {
		t.Fatal(err)
	}
	checkAnswer(t, "remote alone", res, "judge", judge)
}

// TestAVerifierThatCannotBeOpenedStopsTheStart and leaves nothing open.
func TestAVerifierThatCannotBeOpenedStopsTheStart(t *testing.T) {
	cfg := settings()
	ask(&cfg, "zeta", "embedded:no/such/folder", nil)
	given := &model{name: "given"}
	_, err := server.Complete(t.Context(), cfg, server.Options{Engine: given})
	if err == nil || !strings.Contains(err.Error(), "verifier zeta") {
		t.Errorf("got %v", err)
	}
	if given.closed.Load() != 1 {
		t.Errorf("what was open was closed %d times", given.closed.Load())
	}
}

// TestSwapsUnderLoadFailNoCall exchanges the model 200 times while requests of
// every kind go on. Each reply is of one model: its digest, and every number in
// it.
func TestSwapsUnderLoadFailNoCall(t *testing.T) {
	const swaps, callers = 200, 6
	models := make([]*model, swaps+1)
	byDigest := make(map[string]*model, len(models))
	for i := range models {
		models[i] = &model{name: fmt.Sprint("model-", i), support: float64(i+1) / (swaps + 2)}
		byDigest[models[i].digest()] = models[i]
	}
	next := 0
	cfg := settings()
	r := run(t, cfg, server.Options{
		Engine: models[0],
		Reopen: func(context.Context) (verifiers.Backend, error) { next++; return models[next], nil },
	})
	r.awaitReady()
	client := plumblinev1.NewGroundingServiceClient(r.dial(r.GRPCAddr()))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var load sync.WaitGroup
	var replies atomic.Int64
	digests := make([]map[string]bool, callers)
	for i := range callers {
		digests[i] = make(map[string]bool)
		load.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				req := grounded("", "One claim.")
				req.Claims = append(req.Claims, &plumblinev1.Claim{Id: "d", Text: "Another claim."})
				var res *plumblinev1.ScoreGroundingResponse
				if n%2 == 0 {
					var err error
					if res, err = client.ScoreGrounding(t.Context(), req); err != nil {
						t.Error(err)
						return
					}
				} else {
					res = streamed(t, client, req)
				}
				m := byDigest[res.GetModel().GetDigest()]
				if m == nil || res.GetStatus() != plumblinev1.Status_STATUS_OK {
					t.Errorf("a reply of %v has the status %v: %s", res.GetModel(), res.GetStatus(), res.GetReason())
					return
				}
				for _, claim := range res.GetClaims() {
					if claim.GetSupport().GetValue() != m.support {
						t.Errorf("a reply of %s has the support %v", m.name, claim.GetSupport().GetValue())
					}
				}
				digests[i][m.digest()] = true
				replies.Add(1)
			}
		})
	}
	for range swaps {
		seen := replies.Load()
		testwait.For(t, "requests go on", func() bool { return replies.Load() > seen || ctx.Err() != nil })
		if err := r.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	load.Wait()
	answering := make(map[string]bool)
	for _, seen := range digests {
		for digest := range seen {
			answering[digest] = true
		}
	}
	if len(answering) < swaps/2 {
		t.Errorf("only %d models answered", len(answering))
	}
	for i, m := range models[:swaps] {
		testwait.For(t, fmt.Sprint("model ", i, " is closed"), func() bool { return m.closed.Load() == 1 })
	}
	if models[swaps].closed.Load() != 0 {
		t.Error("the model at work is closed")
	}
	if _, text := r.get("/metrics"); !strings.Contains(text, fmt.Sprintf(`plumbline_verifier_swaps_total{outcome="ok",verifier="embedded"} %d`, swaps)) {
		t.Error("the metrics do not count the swaps")
	}
}

// TestAModelThatDoesNotScoreIsNotPutToWork, nor one that cannot be opened.
func TestAModelThatDoesNotScoreIsNotPutToWork(t *testing.T) {
	first, broken := &model{name: "first", support: 0.5}, &model{name: "broken", failing: errors.New("corrupt session")}
	cause := errors.New("no such folder")
	next := func() (verifiers.Backend, error) { return broken, nil }
	r := run(t, settings(), server.Options{Engine: first, Reopen: func(context.Context) (verifiers.Backend, error) { return next() }})
	if err := r.Reload(t.Context()); err == nil || broken.closed.Load() != 1 {
		t.Errorf("Reload: %v; the broken model was closed %d times", err, broken.closed.Load())
	}
	next = func() (verifiers.Backend, error) { return nil, cause }
	if err := r.Reload(t.Context()); !errors.Is(err, cause) {
		t.Errorf("Reload: %v", err)
	}
	res, err := plumblinev1.NewGroundingServiceClient(r.dial(r.GRPCAddr())).ScoreGrounding(t.Context(), grounded("", "Still there."))
	if err != nil {
		t.Fatal(err)
	}
	checkAnswer(t, "after two failures", res, "embedded", first)
}

// TestVerifiersOverMutualTLS: both sides prove who they are, each host of a list
// for itself; whoever cannot is not asked.
func TestVerifiersOverMutualTLS(t *testing.T) {
	trusted, stranger := newAuthority(t), newAuthority(t)
	front := trusted.issue("front", 3)
	file := func(a *authority, name string) string { return filepath.Join(a.dir, name) }
	judge := &model{name: "judge-7b", support: 0.75}
	var hosts []string
	for range 2 {
		hosting := settings()
		hosting.HTTP.Addr = ""
		hosting.GRPC.TLS = trusted.files()
		hosting.GRPC.TLS.ClientCAFile = file(trusted, "ca.pem")
		h := run(t, hosting, server.Options{Engine: judge, VerifierOnly: true})
		h.tls = trusted.client(front)
		h.awaitServing("")
		hosts = append(hosts, h.GRPCAddr().String())
	}
	at := "grpcs://" + strings.Join(hosts, ",")
	good := config.ClientTLS{CAFile: file(trusted, "ca.pem"), CertFile: file(trusted, "front.pem"), KeyFile: file(trusted, "front.key")}
	cfg := settings()
	for name, files := range map[string]config.ClientTLS{
		"good":      good,
		"no-proof":  {CAFile: good.CAFile},
		"no-trust":  {CertFile: good.CertFile, KeyFile: good.KeyFile},
		"deceived":  {CAFile: file(stranger, "ca.pem"), CertFile: good.CertFile, KeyFile: good.KeyFile},
		"pretender": {CAFile: good.CAFile, CertFile: file(stranger, "server.pem"), KeyFile: file(stranger, "server.key")},
	} {
		ask(&cfg, name, at, func(v *config.NamedVerifier) { v.TLS, v.Retries = files, 0 })
	}
	r := run(t, cfg, server.Options{Engine: overlap()})
	r.awaitVerifier("good")
	client := plumblinev1.NewGroundingServiceClient(r.dial(r.GRPCAddr()))
	for name := range cfg.Verifiers {
		res, err := client.ScoreGrounding(t.Context(), grounded(name, "Somebody is there."))
		if err != nil {
			t.Fatal(err)
		}
		if name == "good" {
			checkAnswer(t, name, res, name, judge)
		} else if res.GetStatus() != plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE {
			t.Errorf("%s: status %v", name, res.GetStatus())
		}
	}
}
