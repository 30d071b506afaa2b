package grounding

import (
	"strings"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
)

// closeReader supports a claim from short premises with the needle and doubts
// it in long ones; short premises without the needle contradict.
func closeReader(fine int) entail.Verifier {
	return described{
		Verifier: entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
			needle := strings.Contains(p.Premise, "needle")
			switch long := len(p.Premise) > 400; {
			case needle && long:
				return entailtest.Support(0.3), nil
			case needle:
				return entailtest.Support(0.9), nil
			case long:
				return entailtest.Support(0.1), nil
			default:
				return entailtest.Contradict(0.8), nil
			}
		}),
		change: func(d *entail.Description) { d.TrainedTokens, d.FineTokens = 256, fine },
	}
}

func TestFineCut(t *testing.T) {
	filler := strings.Repeat("Tomatoes like warm beds and dry feet. ", 60)
	req := evidenceOf(filler + "Here is the needle. " + filler)
	req.Claims = []*plumblinev1.Claim{{Text: "There is a needle."}}
	claim := newScorer(t).Score(t.Context(), closeReader(64), req).GetClaims()[0]
	near(t, "support", claim.GetSupport().GetValue(), 0.9)
	if quote := claim.GetBest().GetQuote(); !strings.Contains(quote, "needle") || len(quote) > 400 {
		t.Errorf("the quote is not of the fine cut: %q", quote)
	}
	if c := claim.GetContradiction().GetValue(); c > 0.5 {
		t.Errorf("contradiction %v is that of the fine cut", c)
	}
	if v := claim.GetVerdict(); v != plumblinev1.Verdict_VERDICT_SUPPORTED {
		t.Errorf("verdict %v", v)
	}

	coarse := newScorer(t).Score(t.Context(), closeReader(0), req).GetClaims()[0]
	near(t, "support in the coarse cut alone", coarse.GetSupport().GetValue(), 0.3)
}

// TestFineCutOfShortEvidence is the coarse one: nothing is asked twice.
func TestFineCutOfShortEvidence(t *testing.T) {
	recorder := entailtest.NewRecorder(closeReader(64))
	req := evidenceOf("Here is the needle.", "Tomatoes like warm beds.")
	req.Claims = []*plumblinev1.Claim{{Text: "There is a needle."}}
	response := newScorer(t).Score(t.Context(), recorder, req)
	near(t, "support", response.GetClaims()[0].GetSupport().GetValue(), 0.9)
	asked := 0
	for _, call := range recorder.Calls() {
		asked += len(call)
	}
	if asked != 2 || response.GetCoverage().GetPairs() != 2 {
		t.Errorf("%d pairs were asked, the reply says %d; want 2", asked, response.GetCoverage().GetPairs())
	}
}

// TestFineCutOfLongClaims leaves room for evidence beside the claim, and there
// is none where it would be as coarse as the other.
func TestFineCutOfLongClaims(t *testing.T) {
	longest := func(claim string) (tokens int) { // of the fine cut
		recorder := entailtest.NewRecorder(closeReader(64))
		req := evidenceOf(strings.Repeat("Tomatoes like warm beds and dry feet. ", 60))
		req.Claims = []*plumblinev1.Claim{{Text: claim}}
		newScorer(t).Score(t.Context(), recorder, req)
		for _, p := range recorder.Calls()[0] {
			if n := len(entailtest.Words{}.Spans(p.Premise)); n < 128 {
				tokens = max(tokens, n)
			}
		}
		return tokens
	}
	short, long := longest("Tomatoes like beds."), longest(longClaim(6))
	if short > 64 || long <= 64 {
		t.Errorf("the fine windows have up to %d tokens for a short claim and %d for a long one", short, long)
	}
}

// TestFineCutHidesNoPassage: a passage that a fine window of another one equals
// is still read in the coarse cut, whichever stands first.
func TestFineCutHidesNoPassage(t *testing.T) {
	const denial = "There is no needle in this haystack, and there never was one."
	against := described{
		Verifier: entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
			if p.Premise == denial {
				return entailtest.Contradict(0.9), nil
			}
			return entailtest.Support(0.1), nil
		}),
		change: func(d *entail.Description) { d.TrainedTokens, d.FineTokens = 256, 16 },
	}
	// The next sentences are too long for the denial's fine window.
	long := denial + strings.Repeat(" Tomatoes"+strings.Repeat(" like warm beds and dry feet", 6)+".", 6)
	for _, passages := range [][]string{{long, denial}, {denial, long}} {
		req := evidenceOf(passages...)
		req.Claims = []*plumblinev1.Claim{{Text: "There is a needle."}}
		near(t, "contradiction", newScorer(t).Score(t.Context(), against, req).GetClaims()[0].GetContradiction().GetValue(), 0.9)
	}
}

// TestFineCutOfOneToken is as fine as makes sense, with a title too.
func TestFineCutOfOneToken(t *testing.T) {
	req := evidenceOf("Here is the needle. " + strings.Repeat("Tomatoes like warm beds. ", 90))
	req.Evidence[0].Title = "Haystack"
	req.Claims = []*plumblinev1.Claim{{Text: "There is a needle."}, {Text: "A needle", Hypothesis: " "}}
	for fine := range 3 * minWindow {
		claim := newScorer(t).Score(t.Context(), closeReader(fine), req).GetClaims()[0]
		if want := map[bool]float64{true: 0.3, false: 0.9}[fine == 0]; claim.GetSupport().GetValue() != want {
			t.Errorf("fine cut of %d tokens: support %v, want %v", fine, claim.GetSupport(), want)
		}
	}
}
