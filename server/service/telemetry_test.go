package service_test

import (
	"strings"
	"testing"
	"time"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail/entailtest"
	"plumbline/scorers/gate"
	"plumbline/scorers/telemetry"
	"plumbline/server/fault"
	"plumbline/server/service"
)

func retrieval() *plumblinev1.ScoreRetrievalRequest {
	return &plumblinev1.ScoreRetrievalRequest{
		Question: "Where is Paris?",
		Rankings: []*plumblinev1.Ranking{{Name: "dense", Items: []*plumblinev1.RankedItem{{Id: "a", Score: 0.9}, {Id: "b", Score: 0.1}}}},
	}
}

func observe() *plumblinev1.ObserveRequest {
	confidence := &plumblinev1.ScoreConfidenceRequest{
		Question: "Where is Paris?", MainAnswer: "Paris is in France.",
		Samples: []*plumblinev1.Sample{{Text: "Paris is in France."}, {Text: "Paris is in Texas."}},
	}
	answer := grounding()
	answer.Claims, answer.Answer = nil, "Paris is in France."
	return &plumblinev1.ObserveRequest{Id: "turn 1", Retrieval: retrieval(), Grounding: answer, Confidence: confidence}
}

func newObserver(t *testing.T) *service.Service {
	t.Helper()
	store, err := telemetry.NewStore(10, time.Hour, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return newService(t, service.Deps{Verifiers: only(entailtest.Overlap()), Subgoals: store})
}

func TestObserveGathersTheTurn(t *testing.T) {
	s := newObserver(t)
	req := observe()
	gates, err := gate.Builtin(gate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	req.Policies = []string{gates.Names()[0], "nobody's", gates.Names()[1]}
	res, err := s.Observe(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	got := res.GetTelemetry()
	if res.GetId() != "turn 1" || got.GetSc().GetValue() != 0.5 || got.GetGMin().GetValue() != 1 || got.GetRetrieval().GetSignals()["max_score"].GetValue() != 0.9 {
		t.Errorf("telemetry %v", got)
	}
	if res.GetPromptBlock() == "" || res.GetTemplate() != telemetry.Newest {
		t.Errorf("template %q renders %q", res.GetTemplate(), res.GetPromptBlock())
	}
	decisions := res.GetDecisions()
	if len(decisions) != 3 || decisions[0].GetResponse().GetPolicy() != req.GetPolicies()[0] || decisions[2].GetResponse() == nil {
		t.Fatalf("decisions %v", decisions)
	}
	if e := decisions[1].GetError(); e.GetField() != "policies[1]" || e.GetReason() != "POLICY_NOT_FOUND" {
		t.Errorf("the unknown policy: %v", e)
	}
	if res.GetTiming().GetTotal().AsDuration() <= 0 {
		t.Error("no total time")
	}
}

func TestObserveKeepsASubgoalsConfidence(t *testing.T) {
	s := newObserver(t)
	first := observe()
	first.SubgoalKey = "goal"
	if _, err := s.Observe(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key, answer           string
		reused, stale, absent bool
	}{
		{key: "goal", answer: "Paris is in France.", reused: true},
		{key: "goal", answer: "Paris is in Texas.", reused: true, stale: true},
		{key: "another", answer: "Paris is in France.", absent: true},
		{key: "", answer: "Paris is in France.", absent: true},
	} {
		later := observe()
		later.SubgoalKey, later.Confidence, later.Grounding.Answer = c.key, nil, c.answer
		res, err := s.Observe(t.Context(), later)
		if err != nil {
			t.Fatal(err)
		}
		got := res.GetTelemetry()
		if got.GetReused() != c.reused || got.GetStale() != c.stale || (got.GetSc().Value == nil) != c.absent {
			t.Errorf("%+v: reused %v, stale %v, sc %v", c, got.GetReused(), got.GetStale(), got.GetSc())
		}
	}
}

func TestObserveTakesAnyPart(t *testing.T) {
	s := newObserver(t)
	for name, leave := range map[string]func(*plumblinev1.ObserveRequest){
		"nothing":    func(r *plumblinev1.ObserveRequest) { r.Retrieval, r.Grounding, r.Confidence = nil, nil, nil },
		"retrieval":  func(r *plumblinev1.ObserveRequest) { r.Grounding, r.Confidence = nil, nil },
		"grounding":  func(r *plumblinev1.ObserveRequest) { r.Retrieval, r.Confidence = nil, nil },
		"confidence": func(r *plumblinev1.ObserveRequest) { r.Retrieval, r.Grounding = nil, nil },
	} {
		req := observe()
		leave(req)
		res, err := s.Observe(t.Context(), req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := res.GetTelemetry()
		if (got.GetRetrieval() != nil) != (req.GetRetrieval() != nil) || (got.GetGrounding() != nil) != (req.GetGrounding() != nil) ||
			(got.GetConfidence() != nil) != (req.GetConfidence() != nil) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestObserveNamesTheFieldOfThePart(t *testing.T) {
	s := newObserver(t)
	for field, c := range map[string]struct {
		change func(*plumblinev1.ObserveRequest)
		want   fault.Reason
	}{
		"grounding.verifier":           {func(r *plumblinev1.ObserveRequest) { r.Grounding.Verifier = "nobody's" }, fault.VerifierNotFound},
		"retrieval.signals[0]":         {func(r *plumblinev1.ObserveRequest) { r.Retrieval.Signals = []string{"nothing"} }, fault.FieldInvalid},
		"retrieval.rankings[0].name":   {func(r *plumblinev1.ObserveRequest) { r.Retrieval.Rankings[0].Name = "" }, fault.FieldInvalid},
		"confidence.samples[0].weight": {func(r *plumblinev1.ObserveRequest) { r.Confidence.Samples[0].Weight = new(-1.0) }, fault.FieldInvalid},
		"template":                     {func(r *plumblinev1.ObserveRequest) { r.Template = "v0" }, fault.TemplateInvalid},
		"template_text":                {func(r *plumblinev1.ObserveRequest) { r.TemplateText = "{{" }, fault.TemplateInvalid},
	} {
		req := observe()
		c.change(req)
		_, err := s.Observe(t.Context(), req)
		if e := fault.From(err); e == nil || e.Reason != c.want || len(e.Violations) != 1 || e.Violations[0].Field != field || !strings.HasPrefix(e.Message, field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
}
