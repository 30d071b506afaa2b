package service

import (
	"context"
	"sync"
	"time"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/server/fault"
)

// ScoreGrounding scores the claims of one answer, or of several candidates.
func (s *Service) ScoreGrounding(ctx context.Context, req *plumblinev1.ScoreGroundingRequest) (*plumblinev1.ScoreGroundingResponse, error) {
	if err := s.validate(req); err != nil {
		return nil, err
	}
	return s.scoreGrounding(ctx, req)
}

// scoreGrounding takes a request that follows the rules of the schema.
func (s *Service) scoreGrounding(ctx context.Context, req *plumblinev1.ScoreGroundingRequest) (*plumblinev1.ScoreGroundingResponse, error) {
	start := time.Now()
	verifier, err := s.verifier(req.GetVerifier())
	if err != nil {
		return nil, err
	}
	req = shallow(req)
	req.FailMode = s.failMode(req.GetFailMode(), verifier)
	pinned, release := verifier.pin(req.GetFailMode())
	defer release()
	response := s.grounding.Score(ctx, pinned, req)
	response.Timing = withTotal(response.GetTiming(), start)
	return response, nil
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

// StreamScoreGrounding takes an answer while it is being generated and returns
// verdicts as they are known.
func (s *Service) StreamScoreGrounding(ctx context.Context, stream Stream[plumblinev1.StreamScoreGroundingRequest, plumblinev1.StreamScoreGroundingResponse]) error {
	frames := &groundingFrames{service: s, stream: stream, start: time.Now()}
	defer frames.end()
	var verifier entail.Verifier // nil if there is none, for the scorer to see
	if len(s.deps.Verifiers) > 0 {
		verifier = frames
	}
	if err := s.grounding.Stream(ctx, verifier, frames.receive, frames.send); err != nil {
		return fault.From(err)
	}
	return nil
}

// groundingFrames are the frames of one stream on their way between transport
// and scorer. It is also the stream's verifier: the one that its start names,
// pinned when the scorer first asks it.
type groundingFrames struct {
	service *Service
	stream  Stream[plumblinev1.StreamScoreGroundingRequest, plumblinev1.StreamScoreGroundingResponse]
	start   time.Time
	sending sync.Mutex // the scorer sends, and so does receive when it refuses

	verifier *Verifier // of the last good start
	mode     plumblinev1.FailMode
	pin      sync.Once
	pinned   entail.Verifier // nil before
	release  func()
}

// asked pins the verifier. The scorer asks it for its description when it takes
// the start, before it receives the next frame.
func (f *groundingFrames) asked() entail.Verifier {
	f.pin.Do(func() { f.pinned, f.release = f.verifier.pin(f.mode) })
	return f.pinned
}

// Describe implements entail.Verifier.
func (f *groundingFrames) Describe(ctx context.Context) (entail.Description, error) {
	return f.asked().Describe(ctx)
}

// Verify implements entail.Verifier.
func (f *groundingFrames) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	return f.asked().Verify(ctx, pairs)
}

// end lets the verifier go.
func (f *groundingFrames) end() {
	if f.release != nil {
		f.release()
	}
}

// receive returns the next frame that can be used. One that cannot is answered
// by an error frame, and the stream goes on.
func (f *groundingFrames) receive() (*plumblinev1.StreamScoreGroundingRequest, error) {
	for {
		frame, err := f.stream.Recv()
		if err != nil {
			return nil, err
		}
		refused := f.prepare(frame)
		if refused == nil {
			return frame, nil
		}
		if err := f.send(&plumblinev1.StreamScoreGroundingResponse{
			Frame: &plumblinev1.StreamScoreGroundingResponse_Error{Error: fault.Item(refused)},
		}); err != nil {
			return nil, err
		}
	}
}

// prepare validates a frame and puts the server's defaults into a start.
func (f *groundingFrames) prepare(frame *plumblinev1.StreamScoreGroundingRequest) error {
	if err := f.service.validate(frame); err != nil {
		return err
	}
	start := frame.GetStart()
	if start == nil {
		return nil
	}
	verifier, err := f.service.verifier(start.GetVerifier())
	if err != nil {
		return err
	}
	start.FailMode = f.service.failMode(start.GetFailMode(), verifier)
	f.verifier, f.mode = verifier, start.GetFailMode()
	return nil
}

func (f *groundingFrames) send(frame *plumblinev1.StreamScoreGroundingResponse) error {
	if summary := frame.GetSummary(); summary != nil {
		summary.Timing = withTotal(summary.GetTiming(), f.start)
	}
	f.sending.Lock()
	defer f.sending.Unlock()
	return f.stream.Send(frame)
}

func (s *Service) groundingResult(ctx context.Context, req *plumblinev1.ScoreGroundingRequest) *plumblinev1.ScoreGroundingResult {
	response, err := alone(ctx, req, s.ScoreGrounding)
	if err != nil {
		return &plumblinev1.ScoreGroundingResult{Outcome: &plumblinev1.ScoreGroundingResult_Error{Error: s.item(ctx, err)}}
	}
	return &plumblinev1.ScoreGroundingResult{Outcome: &plumblinev1.ScoreGroundingResult_Response{Response: response}}
}
