package grounding

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
)

// TestScoreSurvivesAnything that validation would refuse.
func TestScoreSurvivesAnything(t *testing.T) {
	s := newScorer(t)
	for name, req := range map[string]*plumblinev1.ScoreGroundingRequest{
		"nil":          nil,
		"empty":        {},
		"nil elements": {Evidence: []*plumblinev1.Evidence{nil}, Claims: []*plumblinev1.Claim{nil}},
		"both forms":   {Evidence: []*plumblinev1.Evidence{{Text: "x"}}, Claims: []*plumblinev1.Claim{{Text: "a"}}, Answer: "b", Answers: []string{"c", ""}},
		"odd options": {
			Evidence: []*plumblinev1.Evidence{{Text: "x"}}, Answer: "a b", Threshold: proto.Float64(7), ContradictionThreshold: proto.Float64(-1),
			MultiHop: 1 << 31, OverlapSentences: 1 << 31, Mode: 99, ClaimForm: 99, FailMode: 99,
		},
		"bad UTF-8": {Evidence: []*plumblinev1.Evidence{{Text: "\xff\xfe x. \xc3"}}, Answer: "\xff. \xe4\xb8 b. \xf0"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range []entail.Verifier{nil, neutral(), described{neutral(), func(d *entail.Description) { *d = entail.Description{} }}} {
				if r := s.Score(t.Context(), v, req); r.GetStatus() == plumblinev1.Status_STATUS_UNSPECIFIED {
					t.Errorf("no status: %v", r)
				}
			}
		})
	}
}

// TestThresholdsAreInclusive, and 0 is a threshold like any other.
func TestThresholdsAreInclusive(t *testing.T) {
	s := newScorer(t)
	v := entailtest.Func(func(entail.Pair) (entail.Scores, error) { return entailtest.Contradict(0.4), nil })
	for _, c := range []struct {
		support, contradiction *float64
		want                   plumblinev1.Verdict
	}{
		{nil, nil, plumblinev1.Verdict_VERDICT_NOT_SUPPORTED},
		{proto.Float64(0.3), nil, plumblinev1.Verdict_VERDICT_SUPPORTED},
		{proto.Float64(0), nil, plumblinev1.Verdict_VERDICT_SUPPORTED},
		{nil, proto.Float64(0.4), plumblinev1.Verdict_VERDICT_CONTRADICTED},
		{proto.Float64(0.3), proto.Float64(0.4), plumblinev1.Verdict_VERDICT_CONFLICTING},
	} {
		req := evidenceOf("Any text.")
		req.Claims = []*plumblinev1.Claim{{Text: "A claim."}}
		req.Threshold, req.ContradictionThreshold = c.support, c.contradiction
		if got := s.Score(t.Context(), v, req).GetVerdict(); got != c.want {
			t.Errorf("%v, %v: %v, want %v", c.support, c.contradiction, got, c.want)
		}
	}
}

// TestQuotesAreBounded and end at a character.
func TestQuotesAreBounded(t *testing.T) {
	req := evidenceOf(strings.Repeat("ä", 2000) + " Paris.")
	req.Claims = []*plumblinev1.Claim{{Text: "Paris."}}
	v := described{neutral(), func(d *entail.Description) { d.MaxTokens = 4000 }}
	b := newScorer(t).Score(t.Context(), v, req).GetClaims()[0].GetBest()
	if len(b.GetQuote()) > maxQuote+len("…") || !strings.HasSuffix(b.GetQuote(), "ä…") {
		t.Errorf("a quote of %d bytes ends %q", len(b.GetQuote()), b.GetQuote()[len(b.GetQuote())-8:])
	}
}

// TestUsageIsReported: times, cache hits and the model that answered.
func TestUsageIsReported(t *testing.T) {
	v := billed{neutral()}
	req := evidenceOf("Any text.")
	req.Claims = []*plumblinev1.Claim{{Text: "A claim."}, {Text: "Another claim."}}
	r := newScorer(t).Score(t.Context(), v, req)
	if r.GetTiming().GetInference().AsDuration() != 3*time.Second || r.GetTiming().GetQueue().AsDuration() != 2*time.Second ||
		r.GetTiming().GetTokenization().AsDuration() != time.Second || r.GetTiming().GetTotal() != nil {
		t.Errorf("timing %v", r.GetTiming())
	}
	if r.GetCoverage().GetCacheHits() != 1 || r.GetModel().GetName() != "configured" || r.GetModel().GetDigest() != "sha256:1" {
		t.Errorf("%v, %v", r.GetCoverage(), r.GetModel())
	}
}

// billed reports what its calls cost.
type billed struct{ entail.Verifier }

func (b billed) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	batch, err := b.Verifier.Verify(ctx, pairs)
	batch.Usage = entail.Usage{
		Queue: 2 * time.Second, Tokenization: time.Second, Inference: 3 * time.Second,
		Pairs: 1, CacheHits: 1, Verifier: "configured", Digest: "sha256:1",
	}
	return batch, err
}

// TestCancelledCall: what was not scored in time says so.
func TestCancelledCall(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	req := evidenceOf("Any text.")
	req.Claims = []*plumblinev1.Claim{{Text: "A claim."}}
	r := newScorer(t).Score(ctx, entailtest.NewBlocking(neutral()), req)
	if r.GetStatus() != plumblinev1.Status_STATUS_DEADLINE {
		t.Errorf("status %v", r.GetStatus())
	}
}

// TestInfosNameFieldsOfTheResponse, so that a renamed field cannot leave its
// description behind.
func TestInfosNameFieldsOfTheResponse(t *testing.T) {
	claim, response := (&plumblinev1.GroundedClaim{}).ProtoReflect().Descriptor(), (&plumblinev1.ScoreGroundingResponse{}).ProtoReflect().Descriptor()
	for _, info := range Infos() {
		name := info.GetName()
		isScore := func(f protoreflect.FieldDescriptor) bool {
			return f != nil && f.Message() != nil && f.Message().Name() == "Score"
		}
		if !isScore(claim.Fields().ByTextName(name)) && !isScore(response.Fields().ByTextName(name)) {
			t.Errorf("%q is no score of the response", name)
		}
		if info.GetDescription() == "" || info.GetSource() == "" || info.GetUnit() == "" || info.GetRange().GetMax() != 1 {
			t.Errorf("%q is described incompletely: %v", name, info)
		}
	}
}
