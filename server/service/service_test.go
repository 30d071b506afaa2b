package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"plumbline/internal/testwait"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/scorers/gate"
	"plumbline/server/fault"
	"plumbline/server/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newService(t testing.TB, deps service.Deps) *service.Service {
	t.Helper()
	gates, err := gate.Builtin(gate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	deps.Gates = func() *gate.Set { return gates }
	s, err := service.New(deps)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pipe is a stream in memory.
type pipe[Req, Res any] struct {
	requests  chan *Req
	responses chan *Res
}

func newPipe[Req, Res any](requests ...*Req) *pipe[Req, Res] {
	p := &pipe[Req, Res]{requests: make(chan *Req, len(requests)), responses: make(chan *Res, 10_000)}
	for _, req := range requests {
		p.requests <- req
	}
	return p
}

func (p *pipe[Req, Res]) Recv() (*Req, error) {
	req, ok := <-p.requests
	if !ok {
		return nil, io.EOF
	}
	return req, nil
}

func (p *pipe[Req, Res]) Send(res *Res) error {
	p.responses <- res
	return nil
}

// finish ends the requests and returns the responses that are there.
func (p *pipe[Req, Res]) finish() []*Res {
	close(p.responses)
	var all []*Res
	for res := range p.responses {
		all = append(all, res)
	}
	return all
}

// only is a service's one verifier.
func only(v entail.Verifier) []service.Verifier {
	return []service.Verifier{{Name: "embedded", Verifier: v}}
}

func reasonOf(err error) fault.Reason {
	if err == nil {
		return ""
	}
	return fault.From(err).Reason
}

func pairs(ids ...string) *plumblinev1.VerifyRequest {
	req := &plumblinev1.VerifyRequest{}
	for _, id := range ids {
		req.Pairs = append(req.Pairs, &plumblinev1.VerifyPair{Id: id, Premise: "Paris is in France.", Hypothesis: "Paris is in " + id})
	}
	return req
}

func TestVerifyAnswersEveryPairOnce(t *testing.T) {
	s := newService(t, service.Deps{Verifiers: only(entailtest.Overlap())})
	var ids []string
	for i := range 100 {
		ids = append(ids, strings.Repeat("x", i+1))
	}
	p := newPipe[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse](pairs(ids[:40]...), pairs(), pairs(ids[40:]...))
	close(p.requests)
	if err := s.Verify(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	var asked uint32
	for _, response := range p.finish() {
		asked += response.GetUsage().GetPairs()
		if response.GetDigest() != "sha256:fake" {
			t.Errorf("digest %q", response.GetDigest())
		}
		for _, result := range response.GetResults() {
			seen[result.GetId()]++
			probabilities := result.GetProbabilities()
			sum := probabilities.GetEntailment() + probabilities.GetNeutral() + probabilities.GetContradiction()
			if result.GetStatus() != plumblinev1.Status_STATUS_OK || sum < 0.999 || sum > 1.001 {
				t.Errorf("result %v", result)
			}
		}
	}
	for _, id := range ids {
		if seen[id] != 1 {
			t.Errorf("pair of %d letters answered %d times", len(id), seen[id])
		}
	}
	if len(seen) != len(ids) || asked != uint32(len(ids)) {
		t.Errorf("%d ids answered, %d pairs asked", len(seen), asked)
	}
}

// TestVerifyAnswersAsKnown holds one message back and reads the answer to a
// later one meanwhile.
func TestVerifyAnswersAsKnown(t *testing.T) {
	released := make(chan struct{})
	slow := entailtest.Func(func(pair entail.Pair) (entail.Scores, error) {
		if strings.HasSuffix(pair.Hypothesis, "slow") {
			<-released
		}
		return entailtest.Support(0.5), nil
	})
	s := newService(t, service.Deps{Verifiers: only(slow)})
	p := newPipe[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse](pairs("slow"), pairs("fast"))
	done := make(chan error, 1)
	go func() { done <- s.Verify(t.Context(), p) }()
	if first := <-p.responses; first.GetResults()[0].GetId() != "fast" {
		t.Errorf("first comes %v", first)
	}
	close(released)
	if second := <-p.responses; second.GetResults()[0].GetId() != "slow" {
		t.Errorf("then comes %v", second)
	}
	close(p.requests)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestVerifyRefusesIDsThatArePending(t *testing.T) {
	blocking := entailtest.NewBlocking(entailtest.Overlap())
	s := newService(t, service.Deps{Verifiers: only(blocking)})
	p := newPipe[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse](pairs("a", "b"), pairs("c", "a"))
	defer close(p.requests)
	err := s.Verify(t.Context(), p)
	if e := fault.From(err); e == nil || e.Reason != fault.FieldInvalid || e.Violations[0].Field != "pairs[1].id" {
		t.Errorf("got %v", err)
	}
}

func TestVerifyStopsWithItsCall(t *testing.T) {
	blocking := entailtest.NewBlocking(entailtest.Overlap())
	s := newService(t, service.Deps{Verifiers: only(blocking)})
	ctx, cancel := context.WithCancel(t.Context())
	p := newPipe[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse](pairs("a"))
	done := make(chan error, 1)
	go func() { done <- s.Verify(ctx, p) }()
	<-blocking.Entered()
	cancel()
	close(p.requests)
	if err := <-done; reasonOf(err) != fault.Cancelled {
		t.Errorf("got %v", err)
	}
}

func TestVerifyReportsFailuresAsStatuses(t *testing.T) {
	secret := errors.New("secret cause")
	s := newService(t, service.Deps{Verifiers: only(entailtest.Failing{Err: secret})})
	p := newPipe[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse](pairs("a"))
	close(p.requests)
	if err := s.Verify(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	result := p.finish()[0].GetResults()[0]
	if result.GetStatus() != plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE || strings.Contains(result.GetReason(), "secret") || result.GetProbabilities() != nil {
		t.Errorf("got %v", result)
	}
	_, err := s.Describe(t.Context(), &plumblinev1.DescribeRequest{})
	if e := fault.From(err); e.Reason != fault.VerifierUnavailable || strings.Contains(e.Message, "secret") {
		t.Errorf("Describe: %v", err)
	}
}

// miscounting answers other than as many results as it was given pairs.
type miscounting struct {
	entail.Verifier
	results int
}

func (m miscounting) Verify(context.Context, []entail.Pair) (entail.Batch, error) {
	return entail.Batch{Results: make([]entail.Result, m.results)}, nil
}

func TestVerifyTakesNoOtherNumberOfResults(t *testing.T) {
	for _, results := range []int{0, 1, 3} {
		s := newService(t, service.Deps{Verifiers: only(miscounting{entailtest.Overlap(), results})})
		p := newPipe[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse](pairs("a", "b"))
		close(p.requests)
		if err := endOfVerify(t, s, p); err != nil {
			t.Fatalf("%d results: %v", results, err)
		}
		got := p.finish()[0].GetResults()
		if len(got) != 2 {
			t.Fatalf("%d results: got %v", results, got)
		}
		for i, id := range []string{"a", "b"} {
			counts := fmt.Sprintf("%d results for 2 pairs", results)
			if got[i].GetId() != id || got[i].GetStatus() != plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE || !strings.Contains(got[i].GetReason(), counts) {
				t.Errorf("%d results: got %v", results, got[i])
			}
		}
	}
}

// TestVerifyEndsWithItsFirstFailure is about a client that keeps its stream
// open for pairs to come.
func TestVerifyEndsWithItsFirstFailure(t *testing.T) {
	defective := entailtest.Func(func(entail.Pair) (entail.Scores, error) { panic("a defect") })
	s := newService(t, service.Deps{Verifiers: only(defective)})
	p := newPipe[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse](pairs("a"))
	defer close(p.requests)
	if err := endOfVerify(t, s, p); reasonOf(err) != fault.Internal {
		t.Errorf("got %v", err)
	}
}

// endOfVerify is the outcome of a call that is not to wait for its client.
func endOfVerify(t *testing.T, s *service.Service, p *pipe[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse]) (err error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.Verify(t.Context(), p) }()
	testwait.For(t, "the end of the call", func() bool {
		select {
		case err = <-done:
			return true
		default:
			return false
		}
	})
	return err
}

func TestWithoutAVerifier(t *testing.T) {
	s := newService(t, service.Deps{})
	if _, err := s.Describe(t.Context(), &plumblinev1.DescribeRequest{}); reasonOf(err) != fault.VerifierUnavailable {
		t.Errorf("Describe: %v", err)
	}
	if err := s.Verify(t.Context(), newPipe[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse]()); reasonOf(err) != fault.VerifierUnavailable {
		t.Errorf("Verify: %v", err)
	}
	for mode, want := range map[plumblinev1.FailMode]plumblinev1.Status{
		plumblinev1.FailMode_FAIL_MODE_UNSPECIFIED: plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE,
		plumblinev1.FailMode_FAIL_MODE_OPEN:        plumblinev1.Status_STATUS_NOT_CHECKED,
	} {
		req := grounding()
		req.FailMode = mode
		res, err := s.ScoreGrounding(t.Context(), req)
		if err != nil || res.GetClaims()[0].GetStatus() != want {
			t.Errorf("ScoreGrounding, %s: %v, %v", mode, res, err)
		}
	}
	info, err := s.GetInfo(t.Context(), &plumblinev1.GetInfoRequest{})
	if err != nil || len(info.GetVerifiers()) != 0 {
		t.Errorf("GetInfo: %v, %v", info.GetVerifiers(), err)
	}
}

func TestTheServersFailModeIsTheDefault(t *testing.T) {
	s := newService(t, service.Deps{
		Verifiers: only(entailtest.Failing{Err: errors.New("down")}),
		FailMode:  plumblinev1.FailMode_FAIL_MODE_OPEN,
	})
	res, err := s.ScoreGrounding(t.Context(), grounding())
	if err != nil || res.GetClaims()[0].GetStatus() != plumblinev1.Status_STATUS_NOT_CHECKED || res.GetFailMode() != plumblinev1.FailMode_FAIL_MODE_OPEN {
		t.Errorf("got %v, %v", res, err)
	}
}

func grounding() *plumblinev1.ScoreGroundingRequest {
	return &plumblinev1.ScoreGroundingRequest{
		Id:       "g",
		Evidence: []*plumblinev1.Evidence{{Id: "e", Text: "Paris is in France."}},
		Claims:   []*plumblinev1.Claim{{Id: "c", Text: "Paris is in France."}},
	}
}

func TestAGroundingStreamSkipsWhatItCannotUse(t *testing.T) {
	s := newService(t, service.Deps{Verifiers: only(entailtest.Overlap())})
	frame := func(r *plumblinev1.StreamScoreGroundingRequest) *plumblinev1.StreamScoreGroundingRequest { return r }
	start := grounding()
	start.Claims = nil
	wrong := grounding()
	wrong.Verifier = "nobody's"
	p := newPipe[plumblinev1.StreamScoreGroundingRequest, plumblinev1.StreamScoreGroundingResponse](
		frame(&plumblinev1.StreamScoreGroundingRequest{Frame: &plumblinev1.StreamScoreGroundingRequest_Start{Start: wrong}}),
		frame(&plumblinev1.StreamScoreGroundingRequest{Frame: &plumblinev1.StreamScoreGroundingRequest_Start{Start: start}}),
		frame(&plumblinev1.StreamScoreGroundingRequest{Frame: &plumblinev1.StreamScoreGroundingRequest_Claim{Claim: &plumblinev1.Claim{Id: "empty"}}}),
		frame(&plumblinev1.StreamScoreGroundingRequest{Frame: &plumblinev1.StreamScoreGroundingRequest_Claim{Claim: &plumblinev1.Claim{Id: "c", Text: "Paris is in France."}}}),
		frame(&plumblinev1.StreamScoreGroundingRequest{Frame: &plumblinev1.StreamScoreGroundingRequest_Finish{Finish: &plumblinev1.StreamFinish{}}}),
	)
	if err := s.StreamScoreGrounding(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	var refused []string
	var claims int
	var summary *plumblinev1.ScoreGroundingResponse
	for _, response := range p.finish() {
		switch {
		case response.GetError() != nil:
			refused = append(refused, response.GetError().GetField())
		case response.GetClaim() != nil:
			claims++
		case response.GetSummary() != nil:
			summary = response.GetSummary()
		}
	}
	if strings.Join(refused, " ") != "verifier claim.text" || claims != 1 || summary.GetScored() != 1 {
		t.Errorf("refused %v, %d claims, summary %v", refused, claims, summary)
	}
	if summary.GetTiming().GetTotal().AsDuration() <= 0 {
		t.Error("the summary has no total time")
	}
}

func TestABatchIsAnsweredInOrderAndItemByItem(t *testing.T) {
	s := newService(t, service.Deps{Verifiers: only(entailtest.Overlap())})
	req := &plumblinev1.BatchScoreGroundingRequest{}
	for i := range 200 {
		item := grounding()
		item.Id = strings.Repeat("i", i)
		if i%3 == 0 {
			item.Claims[0].Text = ""
		}
		req.Requests = append(req.Requests, item)
	}
	res, err := s.BatchScoreGrounding(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for i, result := range res.GetResults() {
		if i%3 == 0 {
			if e := result.GetError(); e.GetField() != "claims[0].text" || e.GetCode() != "INVALID_ARGUMENT" {
				t.Errorf("item %d: %v", i, result)
			}
			continue
		}
		if len(result.GetResponse().GetId()) != i || result.GetResponse().GetScored() != 1 {
			t.Errorf("item %d: %v", i, result)
		}
	}
}

// panicking is a verifier with a defect.
type panicking struct{ entail.Verifier }

func (panicking) Verify(context.Context, []entail.Pair) (entail.Batch, error) { panic("a defect") }

func TestADefectFailsOneItem(t *testing.T) {
	s := newService(t, service.Deps{Verifiers: only(panicking{entailtest.Overlap()})})
	res, err := s.BatchScoreConfidence(t.Context(), &plumblinev1.BatchScoreConfidenceRequest{Requests: []*plumblinev1.ScoreConfidenceRequest{
		{
			MainAnswer: "a", Agreement: plumblinev1.Agreement_AGREEMENT_ENTAIL_BOTH,
			Samples: []*plumblinev1.Sample{{Text: "b"}, {Text: "c"}},
		},
		{RawOutput: "Confidence: 90%"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if e := res.GetResults()[0].GetError(); e.GetCode() != "INTERNAL" || strings.Contains(e.GetMessage(), "defect") {
		t.Errorf("the item with the defect: %v", res.GetResults()[0])
	}
	if res.GetResults()[1].GetResponse() == nil {
		t.Errorf("its neighbour: %v", res.GetResults()[1])
	}
	p := newPipe[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse](pairs("a"))
	close(p.requests)
	if err := s.Verify(t.Context(), p); reasonOf(err) != fault.Internal {
		t.Errorf("Verify: %v", err)
	}
}

func TestACancelledBatchAsksNoMore(t *testing.T) {
	blocking := entailtest.NewBlocking(entailtest.Overlap())
	recorder := entailtest.NewRecorder(blocking)
	s := newService(t, service.Deps{Verifiers: only(recorder)})
	req := &plumblinev1.BatchScoreGroundingRequest{}
	for range 1000 {
		req.Requests = append(req.Requests, grounding())
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.BatchScoreGrounding(ctx, req)
		done <- err
	}()
	<-blocking.Entered()
	cancel()
	if err := <-done; reasonOf(err) != fault.Cancelled {
		t.Errorf("got %v", err)
	}
	if asked := len(recorder.Calls()); asked > 100 {
		t.Errorf("%d of 1000 items reached the verifier", asked)
	}
}

func TestGatesAnswer(t *testing.T) {
	s := newService(t, service.Deps{})
	list, err := s.ListGates(t.Context(), &plumblinev1.ListGatesRequest{})
	if err != nil || len(list.GetGates()) == 0 {
		t.Fatalf("got %v, %v", list, err)
	}
	name := list.GetGates()[0].GetName()
	if policy, err := s.GetPolicy(t.Context(), &plumblinev1.GetPolicyRequest{Name: name}); err != nil || policy.GetPolicy().GetName() != name {
		t.Errorf("GetPolicy: %v, %v", policy, err)
	}
	if _, err := s.GetPolicy(t.Context(), &plumblinev1.GetPolicyRequest{Name: "nobody's"}); reasonOf(err) != fault.PolicyNotFound {
		t.Errorf("GetPolicy of an unknown one: %v", err)
	}
	inputs := &plumblinev1.DecideRequest_Inputs{Inputs: &structpb.Struct{}}
	if d, err := s.Decide(t.Context(), &plumblinev1.DecideRequest{Policy: name, Subject: inputs}); err != nil || d.GetAction() == plumblinev1.Action_ACTION_UNSPECIFIED {
		t.Errorf("Decide: %v, %v", d, err)
	}
	_, err = s.Decide(t.Context(), &plumblinev1.DecideRequest{Policy: name})
	if e := fault.From(err); e.Reason != fault.FieldInvalid || e.Violations[0].Field != "subject" {
		t.Errorf("Decide without a subject: %v", err)
	}
	_, err = s.Decide(t.Context(), &plumblinev1.DecideRequest{Policy: name, Subject: inputs, Thresholds: map[string]float64{"nobody's": 1}})
	if e := fault.From(err); e.Reason != fault.FieldInvalid || !strings.HasPrefix(e.Violations[0].Field, "thresholds") {
		t.Errorf("Decide with an unknown threshold: %v", err)
	}
}

func TestGetInfoListsEveryRPCAndScore(t *testing.T) {
	s := newService(t, service.Deps{Version: "1", Verifiers: []service.Verifier{{
		Name: "embedded", Verifier: entailtest.Overlap(), Ready: func() error { return errors.New("down") },
	}}})
	info, err := s.GetInfo(t.Context(), &plumblinev1.GetInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	implemented := make(map[string]bool)
	for _, rpc := range info.GetRpcs() {
		implemented[rpc.GetProcedure()] = rpc.GetImplemented()
		if rpc.GetImplemented() == (rpc.GetReason() != "") {
			t.Errorf("%v", rpc)
		}
	}
	for _, descriptor := range service.Services() {
		for i := range descriptor.Methods().Len() {
			procedure := service.Procedure(descriptor.Methods().Get(i))
			if ok, listed := implemented[procedure]; !listed || !ok {
				t.Errorf("%s: listed %v, implemented %v", procedure, listed, ok)
			}
		}
	}
	names := make(map[string]bool)
	for _, score := range info.GetScores() {
		names[score.GetName()] = true
	}
	for _, name := range []string{"max_score", "final_conf", "g_min"} {
		if !names[name] {
			t.Errorf("no score %s", name)
		}
	}
	if v := info.GetVerifiers(); len(v) != 1 || v[0].GetReady() || !v[0].GetDefault() || v[0].GetDescription().GetMaxTokens() != entailtest.MaxTokens {
		t.Errorf("verifiers %v", v)
	}
}

func TestOneServiceForManyAtOnce(t *testing.T) {
	s := newService(t, service.Deps{Verifiers: only(entailtest.Overlap())})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for deadline := time.Now().Add(50 * time.Millisecond); time.Now().Before(deadline); {
				if res, err := s.ScoreGrounding(t.Context(), grounding()); err != nil || res.GetScored() != 1 {
					t.Errorf("got %v, %v", res, err)
				}
			}
		})
	}
	group.Wait()
}

func TestUnaryRequestsAreOnlyRead(t *testing.T) {
	s := newService(t, service.Deps{Verifiers: only(entailtest.Overlap()), FailMode: plumblinev1.FailMode_FAIL_MODE_OPEN})
	grounding := &plumblinev1.ScoreGroundingRequest{
		Evidence: []*plumblinev1.Evidence{{Text: "The bridge opened in 1932."}}, Answer: "It opened in 1932.",
	}
	confidence := &plumblinev1.ScoreConfidenceRequest{
		MainAnswer: "Paris", Samples: []*plumblinev1.Sample{{Text: "Paris"}, {Text: "Rome"}},
	}
	before, beforeConfidence := proto.CloneOf(grounding), proto.CloneOf(confidence)
	var calls sync.WaitGroup
	for range 8 { // the race detector sees a write to a shared request
		calls.Go(func() {
			if reply, err := s.ScoreGrounding(t.Context(), grounding); err != nil || reply.GetFailMode() != plumblinev1.FailMode_FAIL_MODE_OPEN {
				t.Errorf("%v, %v", reply.GetFailMode(), err)
			}
			if _, err := s.ScoreConfidence(t.Context(), confidence); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if !proto.Equal(grounding, before) || !proto.Equal(confidence, beforeConfidence) {
		t.Error("a request was changed")
	}
}
