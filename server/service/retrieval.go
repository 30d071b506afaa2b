package service

import (
	"context"
	"errors"
	"math"
	"time"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/retrieval"
	"plumbline/server/fault"
)

// ScoreRetrieval computes the signals of one retrieval result.
func (s *Service) ScoreRetrieval(ctx context.Context, req *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error) {
	if !plainlyValid(req) {
		if err := s.validate(req); err != nil {
			return nil, err
		}
	}
	return s.scoreRetrieval(ctx, req)
}

// plainlyValid reports whether a request keeps every rule of the schema. It
// exists for its speed: the validator reads messages by reflection, and rules of
// list items and of whole messages in CEL, which would cost more than the
// signals. False only means that the validator has to look, and say what is
// wrong. Lengths are compared in bytes, of which there are never fewer than
// characters.
func plainlyValid(req *plumblinev1.ScoreRetrievalRequest) bool {
	const name, id, many, longText, embedding = 128, 1024, 10_000, 65_536, 65_536
	switch temperature := req.GetSoftmaxTemperature(); {
	case len(req.GetId()) > id, len(req.GetQuestion()) > longText,
		len(req.GetRankings()) < 1, len(req.GetRankings()) > 16,
		req.GetWindow() > many, req.GetK() > many, req.GetRrfK() > 100_000,
		len(req.GetQueryEmbedding()) > embedding, len(req.GetIdf()) > 65_536,
		plumblinev1.Compat_name[int32(req.GetCompat())] == "", len(req.GetSignals()) > 256,
		!(temperature >= 0 && temperature <= math.MaxFloat64):
		return false
	}
	for _, signal := range req.GetSignals() {
		if signal == "" || len(signal) > name {
			return false
		}
	}
	for i, ranking := range req.GetRankings() {
		if ranking.GetName() == "" || len(ranking.GetName()) > name || len(ranking.GetItems()) > many ||
			plumblinev1.ScoreKind_name[int32(ranking.GetScoreKind())] == "" {
			return false
		}
		for _, other := range req.GetRankings()[:i] {
			if other.GetName() == ranking.GetName() {
				return false
			}
		}
		for _, item := range ranking.GetItems() {
			if item.GetId() == "" || len(item.GetId()) > id || len(item.GetEmbedding()) > embedding {
				return false
			}
		}
	}
	return true
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
