package gate

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
)

// Decide answers a request. The error is an *UnknownPolicyError, or an *Error
// that names the field: a subject that is not there, or a threshold that the
// policy does not have. A shadow policy that cannot decide fails alone.
func (s *Set) Decide(req *plumblinev1.DecideRequest) (*plumblinev1.DecideResponse, error) {
	in, err := subject(req)
	if err != nil {
		return nil, err
	}
	d, err := s.Apply(req.GetPolicy(), in, req.GetThresholds())
	if err != nil {
		return nil, err
	}
	response := d.message()
	response.Id, response.Policy = req.GetId(), req.GetPolicy()
	if req.GetTelemetry().GetStale() && s.gates[d.DecidedBy].readsConfidence() {
		response.Warnings = append(response.Warnings, "the confidence was computed for an earlier answer")
	}
	if foreign := s.gates[d.DecidedBy].foreign(req); foreign != "" && d.Calibrated {
		response.Warnings = append(response.Warnings, foreign)
	}
	for _, name := range req.GetShadowPolicies() {
		response.Shadow = append(response.Shadow, s.shadow(name, in, d.Action))
	}
	return response, nil
}

// foreign is the warning that scores are not of the verifier that the policy's
// thresholds were fitted with; empty if they are, or if either is not known.
func (g *Gate) foreign(req *plumblinev1.DecideRequest) string {
	fitted := g.policy.GetProvenance().GetVerifierDigest()
	answered := []string{req.GetVerifierDigest()}
	for _, model := range req.GetTelemetry().GetModels() {
		answered = append(answered, model.GetDigest())
	}
	for _, digest := range answered {
		if fitted != "" && digest != "" && digest != fitted {
			return fmt.Sprintf("the thresholds of %s were fitted on scores of the verifier %s, and these are of %s: fit them anew", g.Name(), fitted, digest)
		}
	}
	return ""
}

func subject(req *plumblinev1.DecideRequest) (Inputs, error) {
	switch subject := req.GetSubject().(type) {
	case *plumblinev1.DecideRequest_Telemetry:
		return telemetryInputs{subject.Telemetry}, nil
	case *plumblinev1.DecideRequest_Inputs:
		return structInputs{subject.Inputs}, nil
	default:
		return nil, &Error{Policy: req.GetPolicy(), Field: "subject", Message: "give telemetry or inputs"}
	}
}

// readsConfidence says whether the policy reads a score that a subgoal keeps
// between turns.
func (g *Gate) readsConfidence() bool {
	return slices.ContainsFunc(g.inputs, func(in input) bool {
		return slices.Contains([]string{"nvc", "sc", "final_conf"}, in.name)
	})
}

func (s *Set) shadow(name string, in Inputs, action plumblinev1.Action) *plumblinev1.ShadowDecision {
	d, err := s.Apply(name, in, nil)
	if err != nil {
		return &plumblinev1.ShadowDecision{Policy: name, Error: &plumblinev1.ItemError{
			Code:    "NOT_FOUND",
			Message: err.Error(),
			Field:   "shadow_policies",
			Reason:  "POLICY_NOT_FOUND",
		}}
	}
	return &plumblinev1.ShadowDecision{
		Policy:       name,
		Action:       d.Action,
		Agrees:       d.Action == action,
		PolicyDigest: d.Digest,
		Missing:      d.Missing,
	}
}

func (d Decision) message() *plumblinev1.DecideResponse {
	response := &plumblinev1.DecideResponse{
		DecidedBy:    d.DecidedBy,
		Action:       d.Action,
		Calibrated:   d.Calibrated,
		Margin:       score.Of(d.Margin, asError(d.NoMargin)),
		Missing:      d.Missing,
		PolicyDigest: d.Digest,
		Warnings:     d.Warnings,
		Query:        d.Query,
	}
	for _, t := range d.Trace {
		response.Trace = append(response.Trace, t.message())
	}
	return response
}

func (t Term) message() *plumblinev1.TraceTerm {
	term := &plumblinev1.TraceTerm{Term: t.Term, Comparison: t.Comparison, Passed: t.Passed}
	if t.Missing != nil || t.Numeric {
		term.Value = score.Of(t.Value, asError(t.Missing))
	}
	if t.Comparison != plumblinev1.Comparison_COMPARISON_UNSPECIFIED {
		term.Threshold = &t.Threshold
	}
	return term
}

// asError avoids a nil *score.Missing in a non-nil error.
func asError(m *score.Missing) error {
	if m == nil {
		return nil
	}
	return m
}

// List describes the policies in alphabetical order.
func (s *Set) List() *plumblinev1.ListGatesResponse {
	response := &plumblinev1.ListGatesResponse{}
	for _, name := range s.Names() {
		g := s.gates[name]
		p := g.Policy()
		response.Gates = append(response.Gates, &plumblinev1.GateInfo{
			Name:         name,
			Version:      p.GetVersion(),
			Description:  p.GetDescription(),
			Framework:    p.GetFramework(),
			Native:       p.GetNative(),
			Inputs:       p.GetInputs(),
			Thresholds:   p.GetThresholds(),
			Calibrated:   p.GetProvenance().GetCalibrated(),
			Actions:      s.actions(g),
			PolicyDigest: g.Digest(),
			Source:       p.GetSource(),
			Warnings:     g.warningLines(),
		})
	}
	return response
}

// Policy returns one policy in full; the error is an *UnknownPolicyError.
func (s *Set) Policy(name string) (*plumblinev1.GetPolicyResponse, error) {
	g, err := s.Gate(name)
	if err != nil {
		return nil, err
	}
	return &plumblinev1.GetPolicyResponse{Policy: g.Policy(), PolicyDigest: g.Digest(), Warnings: g.warningLines()}, nil
}

func (g *Gate) warningLines() []string {
	var lines []string
	for _, w := range g.warnings {
		lines = append(lines, w.String())
	}
	return lines
}

// structInputs are the inputs of a request by name.
type structInputs struct{ fields *structpb.Struct }

// Lookup implements Inputs.
func (s structInputs) Lookup(name string) (Value, bool) {
	v, ok := s.fields.GetFields()[name]
	if !ok {
		return Value{}, false
	}
	switch kind := v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		return Number(kind.NumberValue), true
	case *structpb.Value_StringValue:
		return Text(kind.StringValue), true
	case *structpb.Value_BoolValue:
		return Bool(kind.BoolValue), true
	case *structpb.Value_ListValue:
		return listValue(kind.ListValue.GetValues()), true
	case *structpb.Value_StructValue:
		return distributionValue(kind.StructValue.GetFields()), true
	default:
		return Missing(score.MissingInput("%s is null", name)), true
	}
}

// listValue reads a list whose elements are all numbers or all texts.
func listValue(values []*structpb.Value) Value {
	var numbers []float64
	var texts []string
	for _, v := range values {
		switch kind := v.GetKind().(type) {
		case *structpb.Value_NumberValue:
			numbers = append(numbers, kind.NumberValue)
		case *structpb.Value_StringValue:
			texts = append(texts, kind.StringValue)
		default:
			return Missing(score.InvalidInput("a list holds numbers or texts only"))
		}
	}
	switch {
	case len(texts) == 0:
		return Numbers(numbers)
	case len(numbers) == 0:
		return Texts(texts)
	default:
		return Missing(score.InvalidInput("a list holds numbers or texts, not both"))
	}
}

func distributionValue(fields map[string]*structpb.Value) Value {
	p := make(map[string]float64, len(fields))
	for label, v := range fields {
		number, ok := v.GetKind().(*structpb.Value_NumberValue)
		if !ok {
			return Missing(score.InvalidInput("an object holds probabilities by label; one of its values is not a number"))
		}
		p[label] = number.NumberValue
	}
	return Distribution(p)
}

// telemetryInputs are the scores of a telemetry under their field names, the
// retrieval signals under "signals.", and what gates need besides.
type telemetryInputs struct{ t *plumblinev1.Telemetry }

// Lookup implements Inputs.
func (t telemetryInputs) Lookup(name string) (Value, bool) {
	if signal, ok := strings.CutPrefix(name, signalPrefix); ok {
		s, ok := t.t.GetRetrieval().GetSignals()[signal]
		if !ok {
			return Value{}, false
		}
		v := scoreValue(name, s.Value, s.GetStatus(), s.GetReason())
		v.rankFused = s.GetRankFused()
		return v, true
	}
	if v, ok := t.derived(name); ok {
		return v, true
	}
	for _, part := range []protoreflect.Message{
		t.t.ProtoReflect(), t.t.GetConfidence().ProtoReflect(), t.t.GetGrounding().ProtoReflect(),
	} {
		if s := scoreField(part, name); s != nil {
			return scoreValue(name, s.Value, s.GetStatus(), s.GetReason()), true
		}
	}
	return Value{}, false
}

// derived are inputs that are no score of their own.
func (t telemetryInputs) derived(name string) (Value, bool) {
	confidence := t.t.GetConfidence()
	majority := confidence.GetMajority()
	switch name {
	case "majority_count", "majority_total":
		if majority.GetStatus() != plumblinev1.Status_STATUS_OK {
			return Missing(score.MissingInput("the telemetry has no majority answer")), true
		}
		if name == "majority_count" {
			return Number(float64(majority.GetCount())), true
		}
		return Number(float64(majority.GetTotal())), true
	case labelDistribution:
		p := map[string]float64{}
		for _, l := range confidence.GetLabelDistribution() {
			p[l.GetLabel()] = l.GetProbability()
		}
		return Distribution(p), true
	case "entities":
		if t.t.GetRetrieval() == nil {
			return Value{}, false
		}
		return Number(float64(len(t.t.GetRetrieval().GetEntities()))), true
	default:
		return Value{}, false
	}
}

// scoreField reads a field of type Score by its name.
func scoreField(m protoreflect.Message, name string) *plumblinev1.Score {
	field := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	if field == nil || field.Message() == nil || field.Cardinality() == protoreflect.Repeated || !m.Has(field) {
		return nil
	}
	s, _ := m.Get(field).Message().Interface().(*plumblinev1.Score)
	return s
}

// scoreValue keeps a score's status where it has no value.
func scoreValue(name string, value *float64, status plumblinev1.Status, reason string) Value {
	switch {
	case value != nil && (status == plumblinev1.Status_STATUS_OK || status == plumblinev1.Status_STATUS_UNSPECIFIED):
		return Number(*value)
	case status == plumblinev1.Status_STATUS_OK || status == plumblinev1.Status_STATUS_UNSPECIFIED:
		return Missing(score.InvalidInput("%s has neither a value nor a status", name))
	case reason == "":
		reason = fmt.Sprintf("%s has status %s", name, status)
	}
	return Missing(&score.Missing{Status: status, Reason: reason})
}
