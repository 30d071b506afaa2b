package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/durationpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/telemetry"
	"plumbline/server/fault"
)

// Observe gathers one turn: its parts are scored side by side, joined with what
// the subgoal keeps, rendered, and put before the policies.
func (s *Service) Observe(ctx context.Context, req *plumblinev1.ObserveRequest) (*plumblinev1.ObserveResponse, error) {
	start := time.Now()
	if err := s.validate(req); err != nil {
		return nil, err
	}
	turn, err := s.turn(ctx, req)
	if err != nil {
		return nil, err
	}
	assembled := telemetry.Assemble(turn)
	block, name, err := telemetry.Render(telemetry.Template{Name: req.GetTemplate(), Text: req.GetTemplateText()}, assembled, turn.Kept)
	if err != nil {
		return nil, templateFault(err, req)
	}
	if kept, ok := telemetry.Keep(assembled); ok && s.keeps(req) {
		s.deps.Subgoals.Put(req.GetSubgoalKey(), kept)
	}
	return &plumblinev1.ObserveResponse{
		Id:          req.GetId(),
		Telemetry:   assembled,
		PromptBlock: block,
		Template:    name,
		Decisions:   s.decisions(ctx, req.GetPolicies(), assembled),
		Timing:      withTotal(sum(turn.Grounding.GetTiming(), turn.Confidence.GetTiming()), start),
	}, nil
}

// turn scores the parts of a request side by side.
func (s *Service) turn(ctx context.Context, req *plumblinev1.ObserveRequest) (telemetry.Turn, error) {
	turn := telemetry.Turn{Answer: currentAnswer(req)}
	if s.keeps(req) {
		if kept, ok := s.deps.Subgoals.Get(req.GetSubgoalKey()); ok {
			turn.Kept = &kept
		}
	}
	parts, ctx := errgroup.WithContext(ctx)
	part(ctx, parts, "retrieval", req.GetRetrieval(), s.scoreRetrieval, &turn.Retrieval)
	part(ctx, parts, "grounding", req.GetGrounding(), s.scoreGrounding, &turn.Grounding)
	part(ctx, parts, "confidence", req.GetConfidence(), s.scoreConfidence, &turn.Confidence)
	err := parts.Wait() // before turn is read
	return turn, err
}

// part starts one part of a turn, if it was asked for.
func part[Req, Res any](
	ctx context.Context, parts *errgroup.Group, field string,
	req *Req, call func(context.Context, *Req) (*Res, error), to **Res,
) {
	if req == nil {
		return
	}
	parts.Go(func() error {
		response, err := alone(ctx, req, call)
		if err != nil {
			return fault.From(err).Under(field)
		}
		*to = response
		return nil
	})
}

// keeps says whether the server remembers the turn's subgoal.
func (s *Service) keeps(req *plumblinev1.ObserveRequest) bool {
	return s.deps.Subgoals != nil && req.GetSubgoalKey() != ""
}

// currentAnswer is the answer that the turn is about; empty if it brings ready
// claims only.
func currentAnswer(req *plumblinev1.ObserveRequest) string {
	if answer := req.GetGrounding().GetAnswer(); answer != "" {
		return answer
	}
	return req.GetConfidence().GetMainAnswer()
}

// decisions applies the policies; one that cannot be applied fails alone.
func (s *Service) decisions(ctx context.Context, policies []string, t *plumblinev1.Telemetry) []*plumblinev1.DecideResult {
	var results []*plumblinev1.DecideResult
	for i, policy := range policies {
		result := s.decideResult(ctx, &plumblinev1.DecideRequest{
			Policy:  policy,
			Subject: &plumblinev1.DecideRequest_Telemetry{Telemetry: t},
		})
		if e := result.GetError(); e != nil {
			e.Field = fmt.Sprintf("policies[%d]", i)
		}
		results = append(results, result)
	}
	return results
}

func templateFault(err error, req *plumblinev1.ObserveRequest) error {
	var invalid *telemetry.TemplateError
	if !errors.As(err, &invalid) {
		return fault.From(err)
	}
	field := "template"
	if req.GetTemplateText() != "" {
		field = "template_text"
	}
	return fault.Field(fault.TemplateInvalid, field, "%s", invalid.Message)
}

// sum adds the verifier's parts of two timings.
func sum(a, b *plumblinev1.Timing) *plumblinev1.Timing {
	add := func(x, y *durationpb.Duration) *durationpb.Duration {
		if x == nil && y == nil {
			return nil
		}
		return durationpb.New(x.AsDuration() + y.AsDuration())
	}
	return &plumblinev1.Timing{
		Queue:        add(a.GetQueue(), b.GetQueue()),
		Tokenization: add(a.GetTokenization(), b.GetTokenization()),
		Inference:    add(a.GetInference(), b.GetInference()),
	}
}
