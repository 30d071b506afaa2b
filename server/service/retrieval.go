package service

import (
	"context"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/fault"
)

// ScoreRetrieval computes the signals of one retrieval result.
func (s *Service) ScoreRetrieval(_ context.Context, req *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error) {
	if err := s.validate(req); err != nil {
		return nil, err
	}
	return nil, fault.New(fault.NotImplemented, "retrieval signals are not wired yet")
}

// BatchScoreRetrieval computes the signals of many results.
func (s *Service) BatchScoreRetrieval(ctx context.Context, req *plumblinev1.BatchScoreRetrievalRequest) (*plumblinev1.BatchScoreRetrievalResponse, error) {
	if err := s.validate(req); err != nil {
		return nil, err
	}
	results, err := batch(ctx, req.GetRequests(), func(item *plumblinev1.ScoreRetrievalRequest) *plumblinev1.ScoreRetrievalResult {
		return s.retrievalResult(ctx, item)
	})
	if err != nil {
		return nil, err
	}
	return &plumblinev1.BatchScoreRetrievalResponse{Results: results}, nil
}

// StreamScoreRetrieval computes signals as results arrive, in their order.
func (s *Service) StreamScoreRetrieval(ctx context.Context, stream Stream[plumblinev1.StreamScoreRetrievalRequest, plumblinev1.StreamScoreRetrievalResponse]) error {
	return each(stream, func(req *plumblinev1.StreamScoreRetrievalRequest) *plumblinev1.StreamScoreRetrievalResponse {
		return &plumblinev1.StreamScoreRetrievalResponse{Result: s.retrievalResult(ctx, req.GetRequest())}
	})
}

func (s *Service) retrievalResult(ctx context.Context, req *plumblinev1.ScoreRetrievalRequest) *plumblinev1.ScoreRetrievalResult {
	response, err := alone(ctx, req, s.ScoreRetrieval)
	if err != nil {
		return &plumblinev1.ScoreRetrievalResult{Outcome: &plumblinev1.ScoreRetrievalResult_Error{Error: s.item(ctx, err)}}
	}
	return &plumblinev1.ScoreRetrievalResult{Outcome: &plumblinev1.ScoreRetrievalResult_Response{Response: response}}
}
