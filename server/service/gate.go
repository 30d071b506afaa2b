package service

import (
	"context"
	"errors"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/gate"
	"plumbline/server/fault"
)

// Decide applies one policy.
func (s *Service) Decide(_ context.Context, req *plumblinev1.DecideRequest) (*plumblinev1.DecideResponse, error) {
	if err := s.validate(req); err != nil {
		return nil, err
	}
	response, err := s.deps.Gates().Decide(req)
	if err != nil {
		return nil, gateFault(err, "policy")
	}
	return response, nil
}

// gateFault is the fault of a request that a policy cannot be applied to.
// nameField is the field that names the policy.
func gateFault(err error, nameField string) error {
	var (
		unknown *gate.UnknownPolicyError
		refused *gate.Error
	)
	switch {
	case errors.As(err, &unknown):
		return fault.Field(fault.PolicyNotFound, nameField, "%s", unknown.Error())
	case errors.As(err, &refused):
		return fault.Field(fault.FieldInvalid, refused.Field, "%s", refused.Message)
	default:
		return fault.From(err)
	}
}

// BatchDecide applies policies to many inputs.
func (s *Service) BatchDecide(ctx context.Context, req *plumblinev1.BatchDecideRequest) (*plumblinev1.BatchDecideResponse, error) {
	if err := s.validate(req); err != nil {
		return nil, err
	}
	results, err := batch(ctx, req.GetRequests(), func(item *plumblinev1.DecideRequest) *plumblinev1.DecideResult {
		return s.decideResult(ctx, item)
	})
	if err != nil {
		return nil, err
	}
	return &plumblinev1.BatchDecideResponse{Results: results}, nil
}

// StreamDecide decides as inputs arrive, in their order.
func (s *Service) StreamDecide(ctx context.Context, stream Stream[plumblinev1.StreamDecideRequest, plumblinev1.StreamDecideResponse]) error {
	return each(stream, func(req *plumblinev1.StreamDecideRequest) *plumblinev1.StreamDecideResponse {
		return &plumblinev1.StreamDecideResponse{Result: s.decideResult(ctx, req.GetRequest())}
	})
}

func (s *Service) decideResult(ctx context.Context, req *plumblinev1.DecideRequest) *plumblinev1.DecideResult {
	response, err := alone(ctx, req, s.Decide)
	if err != nil {
		return &plumblinev1.DecideResult{Outcome: &plumblinev1.DecideResult_Error{Error: s.item(ctx, err)}}
	}
	return &plumblinev1.DecideResult{Outcome: &plumblinev1.DecideResult_Response{Response: response}}
}

// ListGates tells which policies there are and what they need.
func (s *Service) ListGates(context.Context, *plumblinev1.ListGatesRequest) (*plumblinev1.ListGatesResponse, error) {
	return s.deps.Gates().List(), nil
}

// GetPolicy returns one policy in full.
func (s *Service) GetPolicy(_ context.Context, req *plumblinev1.GetPolicyRequest) (*plumblinev1.GetPolicyResponse, error) {
	if err := s.validate(req); err != nil {
		return nil, err
	}
	response, err := s.deps.Gates().Policy(req.GetName())
	if err != nil {
		return nil, gateFault(err, "name")
	}
	return response, nil
}
