package grounding

import (
	"strings"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
)

// TestMultiHopNamesBothChunks: support that only two passages together give
// names both of them, and support of one names one.
func TestMultiHopNamesBothChunks(t *testing.T) {
	v := entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
		switch born, town := strings.Contains(p.Premise, "Ada was born in Sele"), strings.Contains(p.Premise, "Sele lies in Norway"); {
		case born && town:
			return entailtest.Support(0.9), nil
		case born:
			return entailtest.Support(0.4), nil
		case town:
			return entailtest.Support(0.3), nil
		}
		return entailtest.Support(0.1), nil
	})
	req := evidenceOf("Ada was born in Sele.", "Tomatoes like warm beds.", "Sele lies in Norway.")
	req.MultiHop = 3
	req.Claims = []*plumblinev1.Claim{{Text: "Ada was born in Norway."}}
	claim := newScorer(t).Score(t.Context(), v, req).GetClaims()[0]
	near(t, "support", claim.GetSupport().GetValue(), 0.9)
	if best, joined := claim.GetBest(), claim.GetJoined(); best.GetEvidenceId() != "0" || joined.GetEvidenceId() != "2" || joined.GetQuote() != "Sele lies in Norway." {
		t.Errorf("best %v, joined %v", best, joined)
	}
	req.MultiHop = 0
	if claim := newScorer(t).Score(t.Context(), v, req).GetClaims()[0]; claim.GetJoined() != nil {
		t.Errorf("a single chunk is joined with %v", claim.GetJoined())
	}
}
