package grounding

import (
	"strings"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/scorers/score"
)

// twoHops supports what needs two texts, and a little where one of them stands.
func twoHops(first, second string) entail.Verifier {
	return entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
		switch one, two := strings.Contains(p.Premise, first), strings.Contains(p.Premise, second); {
		case one && two:
			return entailtest.Support(0.9), nil
		case one:
			return entailtest.Support(0.4), nil
		case two:
			return entailtest.Support(0.3), nil
		}
		return entailtest.Support(0.1), nil
	})
}

// TestMultiHopNamesBothChunks: support that only two passages together give
// names both of them, and support of one names one.
func TestMultiHopNamesBothChunks(t *testing.T) {
	v := twoHops("Ada was born in Sele", "Sele lies in Norway")
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

// TestHopsOfPassagesThatShareAText: what one passage has twice over does not hide
// what else it has, whichever comes first.
func TestHopsOfPassagesThatShareAText(t *testing.T) {
	const born, town = "Ada was born in Sele.", "Sele lies in Norway."
	v := twoHops(born, town)
	// A window in which the three sentences of one passage stand apart.
	narrow := described{Verifier: v, change: func(d *entail.Description) { d.Tokenizer, d.MaxTokens, d.FineTokens = entailtest.Words{}, 80, 0 }}
	filler := strings.Repeat("tomatoes like warm beds ", 4) + "too. "
	for _, passages := range [][]string{{born, born + " " + filler + town}, {born + " " + filler + town, born}} {
		req := evidenceOf(passages...)
		req.MultiHop = 3
		req.Claims = []*plumblinev1.Claim{{Text: "Ada was born in Norway."}}
		claim := newScorer(t).Score(t.Context(), narrow, req).GetClaims()[0]
		near(t, "support", claim.GetSupport().GetValue(), 0.9)
	}
}

// TestARefusedJoinedPairCostsNothing: each of its halves has been read alone.
func TestARefusedJoinedPairCostsNothing(t *testing.T) {
	req := evidenceOf("Here is the needle, among tomatoes and roses.", "Roses like warm beds and dry feet, as we all know.")
	req.MultiHop = 2
	req.Claims = []*plumblinev1.Claim{{Text: "There is a needle."}}
	claim := newScorer(t).Score(t.Context(), refusing(60, nil), req).GetClaims()[0]
	near(t, "support", claim.GetSupport().GetValue(), 0.9)
}

// TestHopsOfHalvedChunks: passages whose chunks were refused and cut are joined
// like others.
func TestHopsOfHalvedChunks(t *testing.T) {
	long := func(needle string) string {
		return "Here is " + needle + ". " + strings.Repeat("Tomatoes like warm beds. ", 8)
	}
	v := described{Verifier: entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
		switch one, two := strings.Contains(p.Premise, "needle one"), strings.Contains(p.Premise, "needle two"); {
		case len(p.Premise) > 150 && (!one || !two):
			return entail.Scores{}, score.TooLong("the pair has too many tokens")
		case one && two:
			return entailtest.Support(0.9), nil
		case one || two:
			return entailtest.Support(0.4), nil
		}
		return entailtest.Support(0.1), nil
	}), change: func(d *entail.Description) { d.Tokenizer = nil }}
	req := evidenceOf(long("needle one"), long("needle two"))
	req.MultiHop = 2
	req.Claims = []*plumblinev1.Claim{{Text: "There are two needles."}}
	claim := newScorer(t).Score(t.Context(), v, req).GetClaims()[0]
	near(t, "support", claim.GetSupport().GetValue(), 0.9)
}

// TestHopsPreferOtherPassages: two texts of one passage do not keep another
// passage out.
func TestHopsPreferOtherPassages(t *testing.T) {
	got := spread([]hit{
		{value: 0.6, chunk: chunk{among: []int{0, 1}}}, {value: 0.5, chunk: chunk{among: []int{0}}}, {value: 0.4, chunk: chunk{among: []int{2}}},
	})
	if got[1].value != 0.4 || got[2].value != 0.5 {
		t.Errorf("%v", got)
	}
}
