package grounding

import (
	"context"
	"fmt"
	"strings"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/scorers/score"
)

// cutFor cuts evidence for a window without an end of time.
func cutFor(t interface{ Fatalf(string, ...any) }, e *evidence, w window) *chunkSet {
	set, err := e.cut(context.Background(), w)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return set
}

func cutText(t *testing.T, text, title string, w window) []string {
	t.Helper()
	e := newEvidence(t.Context(), []passage{{title: title, text: text}}, entailtest.Words{}, newScorer(t).split)
	var out []string
	for _, c := range cutFor(t, e, w).chunks {
		out = append(out, c.premise)
	}
	return out
}

// TestChunks: windows are budgets of tokens with two to spare.
func TestChunks(t *testing.T) {
	const text = "One two three. Four five six. Seven eight nine."
	for _, c := range []struct {
		name  string
		title string
		w     window
		want  string
	}{
		{"all in one", "", window{tokens: 14}, `["One two three. Four five six. Seven eight nine."]`},
		{"packed greedily", "", window{tokens: 10}, `["One two three. Four five six." "Seven eight nine."]`},
		{"one sentence of overlap", "", window{tokens: 10, overlap: 1}, `["One two three. Four five six." "Four five six. Seven eight nine."]`},
		{"overlap without room", "", window{tokens: 8, overlap: 1}, `["One two three." "Four five six." "Seven eight nine."]`},
		{"title on each chunk", "T", window{tokens: 11}, `["T\n\nOne two three. Four five six." "T\n\nSeven eight nine."]`},
		{"long title is cut", "T1 T2 T3 T4 T5", window{tokens: 12}, `["T1 T2 T3\n\nOne two three." "T1 T2 T3\n\nFour five six." "T1 T2 T3\n\nSeven eight nine."]`},
	} {
		if got := fmt.Sprintf("%q", cutText(t, text, c.title, c.w)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestALongTitleIsCutWithAWarning(t *testing.T) {
	for _, c := range []struct {
		words    int
		warnings string
	}{
		{10, "[]"},
		{200, "[titles cut to leave room for evidence and claims: 1]"},
	} {
		req := evidenceOf("One two three.")
		req.Claims = []*plumblinev1.Claim{{Text: "One two three."}, {Text: longClaim(8)}}
		req.Evidence = append(req.Evidence, &plumblinev1.Evidence{Title: strings.Repeat("word ", c.words), Text: "Four five six."})
		r := newScorer(t).Score(t.Context(), entailtest.Overlap(), req)
		if got := fmt.Sprint(r.GetWarnings()); got != c.warnings {
			t.Errorf("a title of %d words: warnings %s, want %s", c.words, got, c.warnings)
		}
	}
}

// TestLongSentenceIsCutWithStride: pieces of a sentence without an end share
// as many tokens as a claim may have.
func TestLongSentenceIsCutWithStride(t *testing.T) {
	got := cutText(t, "a b c d e f g h i j k l m n o p", "", window{tokens: 10, stride: 3})
	if want := `["a b c d e f g h" "f g h i j k l m" "k l m n o p"]`; fmt.Sprintf("%q", got) != want {
		t.Errorf("%q", got)
	}
}

// longClaim has clauses of five words.
func longClaim(clauses int) string {
	parts := make([]string, clauses)
	for i := range parts {
		parts[i] = fmt.Sprintf("clause %d has five words", i)
	}
	return strings.Join(parts, ", ") + "."
}

// TestLongClaimIsSplitAtClauses: the least support of its parts is the
// claim's.
func TestLongClaimIsSplitAtClauses(t *testing.T) {
	v := described{
		Verifier: entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
			if strings.Contains(p.Hypothesis, "clause 17 ") {
				return entailtest.Contradict(0.8), nil
			}
			return entailtest.Support(0.9), nil
		}),
		change: func(d *entail.Description) { d.MaxTokens = 63 },
	}
	rec := entailtest.NewRecorder(v)
	req := evidenceOf("Any text.")
	req.Claims = []*plumblinev1.Claim{{Text: longClaim(30)}}
	r := newScorer(t).Score(t.Context(), rec, req)
	c := r.GetClaims()[0]
	near(t, "support", c.GetSupport().GetValue(), 0.1)
	near(t, "contradiction", c.GetContradiction().GetValue(), 0.8)
	if c.GetHypothesis() != longClaim(30) || !strings.Contains(c.GetSupport().GetReason(), "parts") {
		t.Errorf("hypothesis %q, remark %q", c.GetHypothesis(), c.GetSupport().GetReason())
	}
	var joined []string
	for _, p := range rec.Calls()[0] {
		if n := len(entailtest.Words{}.Spans(p.Hypothesis)); n > 30 {
			t.Errorf("a part of %d tokens", n)
		}
		joined = append(joined, p.Hypothesis)
	}
	if got := strings.Join(joined, " "); got != longClaim(30) {
		t.Errorf("the parts are not the claim: %q", got)
	}
}

// TestClaimWithoutClausesIsTooLong: it is refused, not cut.
func TestClaimWithoutClausesIsTooLong(t *testing.T) {
	v := described{Verifier: neutral(), change: func(d *entail.Description) { d.MaxTokens = 63 }}
	rec := entailtest.NewRecorder(v)
	req := evidenceOf("Any text.")
	req.Claims = []*plumblinev1.Claim{{Text: strings.Repeat("word ", 100)}}
	r := newScorer(t).Score(t.Context(), rec, req)
	if r.GetStatus() != plumblinev1.Status_STATUS_TOO_LONG || len(rec.Calls()) != 0 {
		t.Errorf("status %v, %d calls", r.GetStatus(), len(rec.Calls()))
	}
}

// TestClaimsOfLikeLengthShareChunks, so that their scores can be cached.
func TestClaimsOfLikeLengthShareChunks(t *testing.T) {
	rec := entailtest.NewRecorder(neutral())
	req := evidenceOf(strings.Repeat("Tomatoes like warm beds and dry feet. ", 300))
	req.Claims = []*plumblinev1.Claim{{Text: "Tomatoes like beds."}, {Text: "All tomatoes in this garden like warm and dry beds very much."}}
	newScorer(t).Score(t.Context(), rec, req)
	premises := map[string]int{}
	for _, call := range rec.Calls() {
		for _, p := range call {
			premises[p.Premise]++
		}
	}
	for p, n := range premises {
		if n != 2 {
			t.Fatalf("a chunk of %d bytes was asked %d times", len(p), n)
		}
	}
}

// TestTrainedWindowIsPreferred where a claim leaves room for evidence in it.
func TestTrainedWindowIsPreferred(t *testing.T) {
	v := described{Verifier: neutral(), change: func(d *entail.Description) { d.TrainedTokens = 256 }}
	rec := entailtest.NewRecorder(v)
	req := evidenceOf(strings.Repeat("Tomatoes like warm beds and dry feet. ", 300))
	req.Claims = []*plumblinev1.Claim{{Text: "Tomatoes like beds."}, {Text: longClaim(20)}}
	newScorer(t).Score(t.Context(), rec, req)
	longest := map[bool]int{}
	for _, p := range rec.Calls()[0] {
		short := p.Hypothesis == "Tomatoes like beds."
		n := len(entailtest.Words{}.Spans(p.Premise)) + len(entailtest.Words{}.Spans(p.Hypothesis)) + entailtest.PairOverhead
		longest[short] = max(longest[short], n)
	}
	if longest[true] > 256 || longest[true] < 200 {
		t.Errorf("pairs of the short claim have up to %d tokens", longest[true])
	}
	if longest[false] > 512 || longest[false] < 400 {
		t.Errorf("pairs of the long claim have up to %d tokens", longest[false])
	}
}

// refusing refuses premises above a size, whatever its tokenizer says.
func refusing(bytes int, tokenizer entail.Tokenizer) entail.Verifier {
	return described{
		Verifier: entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
			if len(p.Premise) > bytes {
				return entail.Scores{}, score.TooLong("the pair has too many tokens")
			}
			if strings.Contains(p.Premise, "needle") {
				return entailtest.Support(0.9), nil
			}
			return entailtest.Support(0.1), nil
		}),
		change: func(d *entail.Description) { d.Tokenizer = tokenizer },
	}
}

// TestRefusedPairsAreCutAgain where the verifier's tokenizer is not at hand, and
// where another model answers than the one whose tokenizer it is.
func TestRefusedPairsAreCutAgain(t *testing.T) {
	for _, tokenizer := range []entail.Tokenizer{nil, entailtest.Words{}} {
		findNeedle(t, refusing(200, tokenizer))
	}
}

func findNeedle(t *testing.T, v entail.Verifier) {
	t.Helper()
	text := strings.Repeat("Tomatoes like warm beds. ", 40) + "Here is the needle. " + strings.Repeat("Roses do too. ", 40)
	req := evidenceOf(text)
	req.Claims = []*plumblinev1.Claim{{Text: "There is a needle."}}
	r := newScorer(t).Score(t.Context(), v, req)
	c := r.GetClaims()[0]
	near(t, "support", c.GetSupport().GetValue(), 0.9)
	if part := text[c.GetBest().GetStart():c.GetBest().GetEnd()]; part != c.GetBest().GetQuote() || !strings.Contains(part, "needle") || len(part) > 200 {
		t.Errorf("best %v is %q", c.GetBest(), part)
	}
}

// TestRefusedPairsKeepTheBound: as halves they are twice as many, and go in calls of
// the same size.
func TestRefusedPairsKeepTheBound(t *testing.T) {
	recorder := entailtest.NewRecorder(refusing(200, nil))
	var text strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&text, "Tomato %d likes warm beds. ", i)
	}
	req := evidenceOf(text.String() + "Here is the needle.")
	req.Claims = []*plumblinev1.Claim{{Text: "There is a needle."}}
	near(t, "support", newScorer(t).Score(t.Context(), recorder, req).GetClaims()[0].GetSupport().GetValue(), 0.9)
	asked := 0
	for _, call := range recorder.Calls() {
		asked += len(call)
		if len(call) > maxPairs {
			t.Errorf("a call has %d pairs", len(call))
		}
	}
	if asked < 2*maxPairs {
		t.Errorf("%d pairs were asked, too few to tell", asked)
	}
}

// TestHopelessVerifierIsNotAskedForEver: one that refuses everything ends in a
// status after a bounded number of pairs.
func TestHopelessVerifierIsNotAskedForEver(t *testing.T) {
	req := evidenceOf(strings.Repeat("Tomatoes like warm beds. ", 100))
	req.Claims = []*plumblinev1.Claim{{Text: "There is a needle."}}
	r := newScorer(t).Score(t.Context(), refusing(0, nil), req)
	if r.GetStatus() != plumblinev1.Status_STATUS_TOO_LONG {
		t.Errorf("status %v", r.GetStatus())
	}
	if n := r.GetCoverage().GetPairs(); n > 4000 {
		t.Errorf("%d pairs", n)
	}
}

// TestManyPairsAreAskedInBoundedCalls and none is lost.
func TestManyPairsAreAskedInBoundedCalls(t *testing.T) {
	rec := entailtest.NewRecorder(hashed())
	req := &plumblinev1.ScoreGroundingRequest{}
	for i := range 70 {
		req.Evidence = append(req.Evidence, &plumblinev1.Evidence{Text: fmt.Sprintf("Passage %d.", i)})
		req.Claims = append(req.Claims, &plumblinev1.Claim{Text: fmt.Sprintf("Claim %d.", i)})
	}
	r := newScorer(t).Score(t.Context(), rec, req)
	if r.GetCoverage().GetPairs() != 4900 || r.GetScored() != 70 || len(rec.Calls()) != 3 {
		t.Errorf("%v, scored %d, %d calls", r.GetCoverage(), r.GetScored(), len(rec.Calls()))
	}
	for _, call := range rec.Calls() {
		if len(call) > maxPairs {
			t.Errorf("a call of %d pairs", len(call))
		}
	}
}

// TestEarlierCallsCount: claims whose pairs were all scored before the
// verifier failed keep their scores.
func TestEarlierCallsCount(t *testing.T) {
	calls := 0
	req := &plumblinev1.ScoreGroundingRequest{}
	for i := range 70 {
		req.Evidence = append(req.Evidence, &plumblinev1.Evidence{Text: fmt.Sprintf("Passage %d.", i)})
		req.Claims = append(req.Claims, &plumblinev1.Claim{Text: fmt.Sprintf("Claim %d.", i)})
	}
	r := newScorer(t).Score(t.Context(), failingAfter{Verifier: hashed(), calls: &calls, after: 1}, req)
	whole := uint32(maxPairs / 70)
	if r.GetScored() != whole || r.GetNotScored() != 70-whole || r.GetStatus() != plumblinev1.Status_STATUS_OK {
		t.Errorf("scored %d, not scored %d, %v", r.GetScored(), r.GetNotScored(), r.GetStatus())
	}
	if calls != 2 {
		t.Errorf("%d calls after a failure", calls)
	}
}
