package service

import (
	"context"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/fault"
)

// ScoreGrounding scores the claims of one answer, or of several candidates.
func (s *Service) ScoreGrounding(_ context.Context, req *plumblinev1.ScoreGroundingRequest) (*plumblinev1.ScoreGroundingResponse, error) {
	if err := s.validate(req); err != nil {
		return nil, err
	}
	if _, err := s.verifier(req.GetVerifier()); err != nil {
		return nil, err
	}
	return nil, fault.New(fault.NotImplemented, "grounding scores are not wired yet")
}

// BatchScoreGrounding scores many answers.
func (s *Service) BatchScoreGrounding(ctx context.Context, req *plumblinev1.BatchScoreGroundingRequest) (*plumblinev1.BatchScoreGroundingResponse, error) {
	if err := s.validate(req); err != nil {
		return nil, err
	}
	results, err := batch(ctx, req.GetRequests(), func(item *plumblinev1.ScoreGroundingRequest) *plumblinev1.ScoreGroundingResult {
		return s.groundingResult(ctx, item)
	})
	if err != nil {
		return nil, err
	}
	return &plumblinev1.BatchScoreGroundingResponse{Results: results}, nil
}

// StreamScoreGrounding takes an answer while it is being generated.
func (s *Service) StreamScoreGrounding(context.Context, Stream[plumblinev1.StreamScoreGroundingRequest, plumblinev1.StreamScoreGroundingResponse]) error {
	return fault.New(fault.NotImplemented, "grounding streams are not wired yet")
}

func (s *Service) groundingResult(ctx context.Context, req *plumblinev1.ScoreGroundingRequest) *plumblinev1.ScoreGroundingResult {
	response, err := alone(ctx, req, s.ScoreGrounding)
	if err != nil {
		return &plumblinev1.ScoreGroundingResult{Outcome: &plumblinev1.ScoreGroundingResult_Error{Error: s.item(ctx, err)}}
	}
	return &plumblinev1.ScoreGroundingResult{Outcome: &plumblinev1.ScoreGroundingResult_Response{Response: response}}
}
