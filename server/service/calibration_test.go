package service_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/fault"
	"plumbline/server/service"
)

// labelled are records whose signal tells the label nearly always.
func labelled(n int) []*plumblinev1.CalibrationRecord {
	var records []*plumblinev1.CalibrationRecord
	for i := range n {
		label := i%2 == 0
		value := float64(i%10) / 20
		if label != (i%11 == 0) {
			value += 0.5
		}
		records = append(records, &plumblinev1.CalibrationRecord{
			Id: fmt.Sprint(i), Label: &label,
			Signals: map[string]float64{"final_conf": value},
			Arms: map[string]*plumblinev1.ArmOutcome{
				"never":  {F1: new(value)},
				"always": {F1: new(1 - value)},
			},
		})
	}
	return records
}

func fitStream(options *plumblinev1.FitOptions, records ...*plumblinev1.CalibrationRecord) *pipe[plumblinev1.FitRequest, plumblinev1.FitResponse] {
	var frames []*plumblinev1.FitRequest
	if options != nil {
		frames = append(frames, &plumblinev1.FitRequest{Frame: &plumblinev1.FitRequest_Options{Options: options}})
	}
	for _, r := range records {
		frames = append(frames, &plumblinev1.FitRequest{Frame: &plumblinev1.FitRequest_Record{Record: r}})
	}
	p := newPipe[plumblinev1.FitRequest, plumblinev1.FitResponse](frames...)
	close(p.requests)
	return p
}

func TestFitMakesAPolicy(t *testing.T) {
	s := newService(t, service.Deps{Version: "9.9"})
	options := &plumblinev1.FitOptions{PolicyName: "mine", DataName: "made up", Bootstrap: 50}
	res, err := s.Fit(t.Context(), fitStream(options, labelled(200)...))
	if err != nil {
		t.Fatal(err)
	}
	provenance := res.GetPolicy().GetProvenance()
	if res.GetPolicy().GetName() != "mine" || provenance.GetCodeVersion() != "9.9" || provenance.GetFittedAt() == nil || !provenance.GetCalibrated() {
		t.Errorf("got %v", res)
	}
}

func TestCalibrationStreamsNameWhatIsWrong(t *testing.T) {
	s := newService(t, service.Deps{})
	options := &plumblinev1.FitOptions{PolicyName: "mine", DataName: "made up"}
	twice := labelled(2)
	twice[1].Id = twice[0].GetId()
	for name, c := range map[string]struct {
		stream *pipe[plumblinev1.FitRequest, plumblinev1.FitResponse]
		want   fault.Reason
	}{
		"nothing":             {fitStream(nil), fault.OutOfOrder},
		"records first":       {fitStream(nil, labelled(2)...), fault.OutOfOrder},
		"a record without id": {fitStream(options, &plumblinev1.CalibrationRecord{}), fault.FieldInvalid},
		"one id twice":        {fitStream(options, twice...), fault.FieldInvalid},
		"no name of the data": {fitStream(&plumblinev1.FitOptions{}, labelled(20)...), fault.FieldInvalid},
	} {
		if _, err := s.Fit(t.Context(), c.stream); reasonOf(err) != c.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
	third := append(labelled(2), &plumblinev1.CalibrationRecord{})
	if _, err := s.Fit(t.Context(), fitStream(options, third...)); err == nil || !strings.Contains(err.Error(), "record 3") {
		t.Errorf("the third record is bad, got %v", err)
	}
}

func TestCalibrationHoldsABoundedNumberOfRecords(t *testing.T) {
	s := newService(t, service.Deps{MaxRecords: 20})
	options := &plumblinev1.FitOptions{DataName: "made up", Bootstrap: 20}
	if _, err := s.Fit(t.Context(), fitStream(options, labelled(20)...)); err != nil {
		t.Errorf("as many as allowed: %v", err)
	}
	if _, err := s.Fit(t.Context(), fitStream(options, labelled(21)...)); reasonOf(err) != fault.TooManyItems || !strings.Contains(err.Error(), "record 21 ") {
		t.Errorf("one too many: %v", err)
	}
	wide := labelled(20)
	for i, r := range wide {
		for column := range 30 {
			r.Signals[fmt.Sprintf("signal %d of %d", column, i)] = 1
		}
	}
	if _, err := s.Fit(t.Context(), fitStream(options, wide...)); reasonOf(err) != fault.TooManyItems {
		t.Errorf("few records with too many signals: %v", err)
	}
}

func TestEvaluateAndReplay(t *testing.T) {
	s := newService(t, service.Deps{})
	evaluate := func(options *plumblinev1.EvaluateOptions) (*plumblinev1.EvaluateResponse, error) {
		frames := []*plumblinev1.EvaluateRequest{{Frame: &plumblinev1.EvaluateRequest_Options{Options: options}}}
		for _, r := range labelled(100) {
			frames = append(frames, &plumblinev1.EvaluateRequest{Frame: &plumblinev1.EvaluateRequest_Record{Record: r}})
		}
		p := newPipe[plumblinev1.EvaluateRequest, plumblinev1.EvaluateResponse](frames...)
		close(p.requests)
		return s.Evaluate(t.Context(), p)
	}
	res, err := evaluate(&plumblinev1.EvaluateOptions{Score: "final_conf", Bootstrap: 20})
	if err != nil || res.GetMetrics()["auroc"].GetValue() < 0.7 {
		t.Errorf("Evaluate: %v, %v", res, err)
	}
	if _, err := evaluate(&plumblinev1.EvaluateOptions{Policy: "nobody's"}); reasonOf(err) != fault.PolicyNotFound {
		t.Errorf("an unknown policy: %v", err)
	}

	frames := []*plumblinev1.ReplayRequest{{Frame: &plumblinev1.ReplayRequest_Options{Options: &plumblinev1.ReplayOptions{
		Score: "final_conf", Threshold: new(0.5), Below: true, Bootstrap: 20,
	}}}}
	for _, r := range labelled(100) {
		frames = append(frames, &plumblinev1.ReplayRequest{Frame: &plumblinev1.ReplayRequest_Record{Record: r}})
	}
	p := newPipe[plumblinev1.ReplayRequest, plumblinev1.ReplayResponse](frames...)
	close(p.requests)
	replay, err := s.Replay(t.Context(), p)
	if err != nil || len(replay.GetPolicies()) != 5 {
		t.Errorf("Replay: %v, %v", replay, err)
	}
}

// A policy is measured and replayed as it is served: where an input is missing
// its fallbacks decide.
func TestPoliciesAreMeasuredWithTheirFallbacks(t *testing.T) {
	s := newService(t, service.Deps{})
	records := labelled(40)
	want := 0
	for _, r := range records {
		// The policy reads final_conf; what is stated in words is its fallback's.
		r.Signals = map[string]float64{"verbalized": r.GetSignals()["final_conf"]}
		decision, err := s.Decide(t.Context(), &plumblinev1.DecideRequest{
			Policy: "confidence.final_conf",
			Subject: &plumblinev1.DecideRequest_Inputs{Inputs: &structpb.Struct{Fields: map[string]*structpb.Value{
				"verbalized": structpb.NewNumberValue(r.GetSignals()["verbalized"]),
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if decision.GetAction() != plumblinev1.Action_ACTION_NO_RETRIEVAL && decision.GetAction() != plumblinev1.Action_ACTION_COMMIT {
			want++
		}
	}
	if want == 0 || want == len(records) {
		t.Fatalf("the service fires on %d of %d records", want, len(records))
	}
	rate := float64(want) / float64(len(records))

	frames := []*plumblinev1.EvaluateRequest{{Frame: &plumblinev1.EvaluateRequest_Options{Options: &plumblinev1.EvaluateOptions{
		Policy: "confidence.final_conf", AgainstPolicy: "confidence.final_conf", Bootstrap: 2,
	}}}}
	for _, r := range records {
		frames = append(frames, &plumblinev1.EvaluateRequest{Frame: &plumblinev1.EvaluateRequest_Record{Record: r}})
	}
	evaluate := newPipe[plumblinev1.EvaluateRequest, plumblinev1.EvaluateResponse](frames...)
	close(evaluate.requests)
	evaluated, err := s.Evaluate(t.Context(), evaluate)
	if err != nil {
		t.Fatal(err)
	}
	for name, metrics := range map[string]map[string]*plumblinev1.Estimate{"first": evaluated.GetMetrics(), "second": evaluated.GetAgainstMetrics()} {
		if got := metrics["escalation_rate"].GetValue(); got != rate {
			t.Errorf("the %s policy fires on %v, served on %v", name, got, rate)
		}
	}

	replayed := []*plumblinev1.ReplayRequest{{Frame: &plumblinev1.ReplayRequest_Options{Options: &plumblinev1.ReplayOptions{
		Policy: "confidence.final_conf", Bootstrap: 2,
	}}}}
	for _, r := range records {
		replayed = append(replayed, &plumblinev1.ReplayRequest{Frame: &plumblinev1.ReplayRequest_Record{Record: r}})
	}
	replay := newPipe[plumblinev1.ReplayRequest, plumblinev1.ReplayResponse](replayed...)
	close(replay.requests)
	response, err := s.Replay(t.Context(), replay)
	if err != nil {
		t.Fatal(err)
	}
	if got := response.GetPolicies()[0].GetMetrics()["route_rate"].GetValue(); got != rate {
		t.Errorf("the replayed policy routes %v, served %v", got, rate)
	}
}
