package service

import (
	"context"
	"time"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/confidence"
)

// ScoreConfidence computes every confidence score that the inputs allow.
func (s *Service) ScoreConfidence(ctx context.Context, req *plumblinev1.ScoreConfidenceRequest) (*plumblinev1.ScoreConfidenceResponse, error) {
	if err := s.validate(req); err != nil {
		return nil, err
	}
	return s.scoreConfidence(ctx, req)
}

// scoreConfidence takes a request that follows the rules of the schema.
func (s *Service) scoreConfidence(ctx context.Context, req *plumblinev1.ScoreConfidenceRequest) (*plumblinev1.ScoreConfidenceResponse, error) {
	start := time.Now()
	verifier, err := s.verifier(req.GetVerifier())
	if err != nil {
		return nil, err
	}
	req = shallow(req)
	req.FailMode = s.failMode(req.GetFailMode(), verifier)
	pinned, release := verifier.pin(req.GetFailMode())
	defer release()
	response := confidence.Score(ctx, pinned, req)
	response.Timing = withTotal(response.GetTiming(), start)
	return response, nil
}

// BatchScoreConfidence scores many answers.
func (s *Service) BatchScoreConfidence(ctx context.Context, req *plumblinev1.BatchScoreConfidenceRequest) (*plumblinev1.BatchScoreConfidenceResponse, error) {
	if err := s.validate(req); err != nil {
		return nil, err
	}
	results, err := batch(ctx, req.GetRequests(), func(item *plumblinev1.ScoreConfidenceRequest) *plumblinev1.ScoreConfidenceResult {
		return s.confidenceResult(ctx, item)
	})
	if err != nil {
		return nil, err
	}
	return &plumblinev1.BatchScoreConfidenceResponse{Results: results}, nil
}

// StreamScoreConfidence scores answers as they arrive, in their order.
func (s *Service) StreamScoreConfidence(ctx context.Context, stream Stream[plumblinev1.StreamScoreConfidenceRequest, plumblinev1.StreamScoreConfidenceResponse]) error {
	return each(stream, func(req *plumblinev1.StreamScoreConfidenceRequest) *plumblinev1.StreamScoreConfidenceResponse {
		return &plumblinev1.StreamScoreConfidenceResponse{Result: s.confidenceResult(ctx, req.GetRequest())}
	})
}

func (s *Service) confidenceResult(ctx context.Context, req *plumblinev1.ScoreConfidenceRequest) *plumblinev1.ScoreConfidenceResult {
	response, err := alone(ctx, req, s.ScoreConfidence)
	if err != nil {
		return &plumblinev1.ScoreConfidenceResult{Outcome: &plumblinev1.ScoreConfidenceResult_Error{Error: s.item(ctx, err)}}
	}
	return &plumblinev1.ScoreConfidenceResult{Outcome: &plumblinev1.ScoreConfidenceResult_Response{Response: response}}
}
