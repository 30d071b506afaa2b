package grounding_test

import (
	"context"
	"io"
	"strings"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/grounding"
)

// broken panics in place of scoring.
type broken struct{}

func (broken) Describe(context.Context) (entail.Description, error) {
	return entail.Description{Name: "broken", MaxTokens: 128}, nil
}

func (broken) Verify(context.Context, []entail.Pair) (entail.Batch, error) { panic("out of order") }

func TestPanicOfAVerifierEndsTheStreamAlone(t *testing.T) {
	scorer, err := grounding.New()
	if err != nil {
		t.Fatal(err)
	}
	frames := []*plumblinev1.StreamScoreGroundingRequest{
		{Frame: &plumblinev1.StreamScoreGroundingRequest_Start{Start: &plumblinev1.ScoreGroundingRequest{
			Evidence: []*plumblinev1.Evidence{{Text: "The bridge opened in 1932."}},
		}}},
		{Frame: &plumblinev1.StreamScoreGroundingRequest_Claim{Claim: &plumblinev1.Claim{Text: "It opened in 1932."}}},
	}
	recv := func() (*plumblinev1.StreamScoreGroundingRequest, error) {
		if len(frames) == 0 {
			return nil, io.EOF
		}
		frame := frames[0]
		frames = frames[1:]
		return frame, nil
	}
	err = scorer.Stream(t.Context(), broken{}, recv, func(*plumblinev1.StreamScoreGroundingResponse) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("got %v", err)
	}
}

// TestADefectIsToldWhileTheCallerWaits for the verdict, and sends nothing.
func TestADefectIsToldWhileTheCallerWaits(t *testing.T) {
	scorer, err := grounding.New()
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan *plumblinev1.StreamScoreGroundingResponse, 1)
	first := true
	recv := func() (*plumblinev1.StreamScoreGroundingRequest, error) {
		if !first {
			if code := (<-told).GetError().GetCode(); code != "INTERNAL" {
				t.Errorf("told of %q", code)
			}
			return nil, io.EOF
		}
		first = false
		return &plumblinev1.StreamScoreGroundingRequest{Frame: &plumblinev1.StreamScoreGroundingRequest_Start{Start: &plumblinev1.ScoreGroundingRequest{
			Evidence: []*plumblinev1.Evidence{{Text: "The bridge opened in 1932."}},
			Claims:   []*plumblinev1.Claim{{Text: "It opened in 1932."}},
		}}}, nil
	}
	send := func(frame *plumblinev1.StreamScoreGroundingResponse) error {
		told <- frame
		return nil
	}
	if err := scorer.Stream(t.Context(), broken{}, recv, send); err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("got %v", err)
	}
}
