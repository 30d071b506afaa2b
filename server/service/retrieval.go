package service

import (
	"context"
	"errors"
	"time"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/retrieval"
	"plumbline/server/fault"
)

// ScoreRetrieval computes the signals of one retrieval result.
func (s *Service) ScoreRetrieval(ctx context.Context, req *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error) {
	if err := s.validate(req); err != nil {
		return nil, err
	}
	return s.scoreRetrieval(ctx, req)
}

// scoreRetrieval takes a request that follows the rules of the schema.
func (s *Service) scoreRetrieval(_ context.Context, req *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error) {
	start := time.Now()
	if err := retrieval.Validate(req); err != nil {
		return nil, fieldFault(err)
	}
	response := retrieval.Score(req)
	response.Timing = withTotal(response.GetTiming(), start)
	return response, nil
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

// fieldFault is the fault of a field that the scorer refuses.
func fieldFault(err error) error {
	var field *retrieval.FieldError
	if errors.As(err, &field) {
		return fault.Field(fault.FieldInvalid, field.Field, "%s", field.Description)
	}
	return fault.From(err)
}
