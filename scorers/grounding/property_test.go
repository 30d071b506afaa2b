package grounding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
)

// fragments are what generated texts are made of: words, ends of sentences,
// Markdown, other scripts, and blanks.
func fragments() []string {
	return []string{
		"Paris", "the", "bridge", "opened", "in", "1932", "Dr.", "U.S.", "e.g.", "no.", "J.", "et al.", "3.5", "€1,234", "a", "I",
		".", "!", "?", "...", ":", ";", ",", "\"", "”", "(", ")", "'s",
		" ", " ", " ", " ", " ", "\n", "\n\n", "\n- ", "\n1. ", "\n# ", "\n> ", "\n| a | b |\n|---|---|\n", "\n\na | b\n--|--\n", " | ", "| c |", "\n```\n", "\t", "\r\n", "\n---\n",
		"*", "**", "_", "`", "```", "~~", "[", "]", "[1]", "[x](y)", "](", "![", "\\", "【3†s】", "【4:0†a b】", "[2](u)", "[2](u \"a b\")", " \"t\")", "\n● ", "https://a.b/c ", "Sources: ", "[^1]: ",
		"这是对的", "。", "東京", "「", "」", "Москва", "г.", "हिंदी", "।", "é", "e\u0301", "🎉", "👩‍👩‍👧", "\u00a0", "\u200d", "</s>", "[SEP]",
	}
}

func anyText(limit int) *rapid.Generator[string] {
	piece := rapid.OneOf(rapid.SampledFrom(fragments()), rapid.StringN(0, 4, 8))
	return rapid.Custom(func(t *rapid.T) string {
		return strings.ToValidUTF8(strings.Join(rapid.SliceOfN(piece, 0, limit).Draw(t, "pieces"), ""), "?")
	})
}

// checkClaims fails unless the claims are exact, ordered spans of the text in
// both counts.
func checkClaims(t interface{ Fatalf(string, ...any) }, text string, claims []claim) {
	units := utf16.Encode([]rune(text))
	last := 0
	for _, c := range claims {
		b, u := c.span.bytes, c.span.utf16
		if b.Start < last || b.End <= b.Start || b.End > len(text) {
			t.Fatalf("span %v after %d in %q", b, last, text)
		}
		if text[b.Start:b.End] != c.text || !utf8.ValidString(c.text) || strings.TrimSpace(c.text) != c.text {
			t.Fatalf("span %v is %q, text is %q", b, text[b.Start:b.End], c.text)
		}
		if got := string(utf16.Decode(units[u.Start:u.End])); got != c.text {
			t.Fatalf("UTF-16 span %v is %q, text is %q", u, got, c.text)
		}
		last = b.End
	}
}

func TestClaimsAreExactOrderedSpans(t *testing.T) {
	s := newScorer(t)
	rapid.Check(t, func(t *rapid.T) {
		text := anyText(60).Draw(t, "text")
		checkClaims(t, text, form{}.answerClaims(s.split, text))
	})
}

// TestClaimsLoseNoWord: every letter and digit of plain text stands in some
// claim.
func TestClaimsLoseNoWord(t *testing.T) {
	s := newScorer(t)
	words := rapid.SampledFrom([]string{"Paris", "the", "bridge", "opened", "1932", "Dr.", "U.S.", "3.5", "end.", "so?", "no!", "这是。", "Она", "🎉"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(words, 1, 60).Draw(t, "words"), " ")
		var said strings.Builder
		for _, c := range (form{}).answerClaims(s.split, text) {
			said.WriteString(c.hypothesis)
		}
		if got, want := onlyWords(said.String()), onlyWords(text); got != want {
			t.Fatalf("claims say %q of %q", got, want)
		}
	})
}

func onlyWords(text string) string {
	return strings.Map(func(r rune) rune {
		if isWord(r) {
			return r
		}
		return -1
	}, text)
}

func FuzzSplit(f *testing.F) {
	s := newScorer(f)
	for name, unit := range hostile() {
		f.Add(name + unit + unit + unit)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			text = strings.ToValidUTF8(text, "�")
		}
		checkClaims(t, text, form{}.answerClaims(s.split, text))
		for _, st := range s.split.sentences(text) {
			kindOf(st)
			mismatches(st.plain, tell(text))
		}
	})
}

// checkChunks fails unless the chunks are exact spans that fit the window and
// together have every token.
func checkChunks(t interface{ Fatalf(string, ...any) }, e *evidence, w window) {
	set := cutFor(t, e, w)
	if set.covered != e.tokens {
		t.Fatalf("%d of %d tokens are covered", set.covered, e.tokens)
	}
	for _, c := range set.chunks {
		p := e.passages[c.passage]
		body := p.text[c.span.Start:c.span.End]
		if w.minicheck == nil && !strings.HasSuffix(c.premise, body) {
			t.Fatalf("premise %q does not end with the chunk %q", c.premise, body)
		}
		if n := e.count(c.premise); n > w.tokens && len(e.tokenizer.Spans(body)) > 1 {
			t.Fatalf("premise of %d tokens in a window of %d", n, w.tokens)
		}
		if !utf8.ValidString(c.premise) {
			t.Fatalf("premise %q is cut inside a character", c.premise)
		}
	}
}

func TestChunksCoverAllEvidence(t *testing.T) {
	s := newScorer(t)
	rapid.Check(t, func(t *rapid.T) {
		passages := drawPassages(t)
		var tokenizer entail.Tokenizer = entailtest.Words{}
		if rapid.Bool().Draw(t, "estimate") {
			tokenizer = estimate{}
		}
		e := newEvidence(t.Context(), passages, tokenizer, s.split)
		w := window{
			tokens:  rapid.IntRange(minWindow, 60).Draw(t, "tokens"),
			stride:  rapid.IntRange(0, 30).Draw(t, "stride"),
			overlap: rapid.IntRange(0, 3).Draw(t, "overlap"),
		}
		if rapid.Bool().Draw(t, "minicheck") {
			w.minicheck = &miniCheckRules{size: rapid.IntRange(1, 40).Draw(t, "size"), words: rapid.Bool().Draw(t, "words")}
		}
		checkChunks(t, e, w)
	})
}

func drawPassages(t *rapid.T) []passage {
	n := rapid.IntRange(1, 4).Draw(t, "passages")
	out := make([]passage, n)
	for i := range out {
		out[i] = passage{id: fmt.Sprint("p", i), title: anyText(6).Draw(t, "title"), text: anyText(40).Draw(t, "text")}
	}
	return out
}

func FuzzChunk(f *testing.F) {
	s := newScorer(f)
	for name, unit := range hostile() {
		f.Add(name+strings.Repeat(unit, 30), name, 12, 4)
	}
	f.Fuzz(func(t *testing.T, text, title string, tokens, stride int) {
		text, title = strings.ToValidUTF8(text, "�"), strings.ToValidUTF8(title, "�")
		w := window{tokens: minWindow + int(uint(tokens)%500), stride: int(uint(stride) % 500)}
		checkChunks(t, newEvidence(t.Context(), []passage{{title: title, text: text}}, entailtest.Words{}, s.split), w)
	})
}

// TestWordForWordSupport: what the evidence has word for word is supported,
// wherever it stands and however long the rest is, even if it has no full
// stops.
func TestWordForWordSupport(t *testing.T) {
	s := newScorer(t)
	const claimText = "The bridge opened to traffic in 1932"
	for i, filler := range []string{"tomatoes like warm beds ", "Tomatoes like warm beds. ", "- Tomatoes like it warm\n", "Tomaten! 東京は。"} {
		for _, size := range []int{1 << 10, 1 << 14, 1 << 17, 1 << 20} {
			if size > 1<<17 && (i > 0 || testing.Short()) {
				break
			}
			half := times(filler, size/2)
			req := &plumblinev1.ScoreGroundingRequest{
				Evidence: []*plumblinev1.Evidence{{Text: half + claimText + " " + half}},
				Claims:   []*plumblinev1.Claim{{Text: claimText}, {Text: strings.Replace(claimText, "1932", "1947", 1)}},
			}
			got := s.Score(t.Context(), contains(), req)
			if v := got.GetClaims()[0].GetVerdict(); v != plumblinev1.Verdict_VERDICT_SUPPORTED {
				t.Errorf("%q × %d bytes: %v", filler, size, v)
			}
			if v := got.GetClaims()[1].GetVerdict(); v == plumblinev1.Verdict_VERDICT_SUPPORTED {
				t.Errorf("%q × %d bytes: the false claim is supported", filler, size)
			}
			if c := got.GetCoverage(); c.GetTokensScored() != c.GetTokens() {
				t.Errorf("%d of %d tokens scored", c.GetTokensScored(), c.GetTokens())
			}
		}
	}
}

// TestLongClaimsStandWholeInSomeChunk, up to seven eighths of the window, wherever they stand in a sentence without
// end, beside a title as well.
func TestLongClaimsStandWholeInSomeChunk(t *testing.T) {
	s := newScorer(t)
	v := described{Verifier: contains(), change: func(d *entail.Description) { d.MaxTokens, d.TrainedTokens, d.FineTokens = 512, 160, 56 }}
	words := make([]string, 700)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", i)
	}
	for _, title := range []string{"", strings.Repeat("title ", 40)} {
		for _, length := range []int{20, 33, 47, 60, 64, 70, 120, 200, 220} {
			req := &plumblinev1.ScoreGroundingRequest{Evidence: []*plumblinev1.Evidence{{Title: title, Text: strings.Join(words, " ")}}}
			for at := 0; at+length <= len(words); at += 7 {
				req.Claims = append(req.Claims, &plumblinev1.Claim{Text: strings.Join(words[at:at+length], " ")})
			}
			r := s.Score(t.Context(), v, req)
			if got := r.GetSupportRate().GetValue(); got != 1 || int(r.GetScored()) != len(req.GetClaims()) {
				t.Errorf("title of %d bytes, claims of %d words: %.2f of %d are supported", len(title), length, got, len(req.GetClaims()))
			}
		}
	}
}

// contains supports what the premise has word for word, blanks apart.
func contains() entail.Verifier {
	return entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
		if strings.Contains(squeeze(p.Premise), squeeze(p.Hypothesis)) {
			return entail.Scores{Entailment: 0.9, Neutral: 0.1, ThreeClass: true}, nil
		}
		return entail.Scores{Neutral: 1, ThreeClass: true}, nil
	})
}

// hashed gives every pair its own arbitrary scores.
func hashed() entail.Verifier {
	return entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
		h := uint64(14695981039346656037)
		for _, c := range []byte(p.Premise + "\x00" + p.Hypothesis) {
			h = (h ^ uint64(c)) * 1099511628211
		}
		a, b := float64(h>>40)/(1<<24), float64(h>>16&0xffffff)/(1<<24)
		return entail.Scores{Entailment: a * b, Contradiction: (1 - a) * b, Neutral: 1 - b, ThreeClass: true}, nil
	})
}

// drawHashed is hashed with windows of drawn lengths, in one cut or in two.
func drawHashed(t *rapid.T) entail.Verifier {
	trained, fine := rapid.SampledFrom([]int{0, 40, 60}).Draw(t, "trained"), rapid.SampledFrom([]int{0, 8, 20}).Draw(t, "fine")
	return described{Verifier: hashed(), change: func(d *entail.Description) { d.TrainedTokens, d.FineTokens = trained, fine }}
}

func drawRequest(t *rapid.T) *plumblinev1.ScoreGroundingRequest {
	req := &plumblinev1.ScoreGroundingRequest{
		OverlapSentences: uint32(rapid.IntRange(0, 2).Draw(t, "overlap")),
		MultiHop:         uint32(rapid.SampledFrom([]int{0, 2, 3}).Draw(t, "multi-hop")),
		Mode:             plumblinev1.ScoreGroundingRequest_Mode(rapid.IntRange(0, 2).Draw(t, "mode")),
		ClaimForm:        plumblinev1.ClaimForm(rapid.IntRange(0, 2).Draw(t, "form")),
		ScoreAllKinds:    rapid.Bool().Draw(t, "all"),
	}
	if rapid.Bool().Draw(t, "asked") {
		req.Question = "Where is the bridge?"
	}
	for _, p := range drawPassages(t) {
		req.Evidence = append(req.Evidence, &plumblinev1.Evidence{Id: p.id, Title: p.title, Text: p.text})
	}
	switch rapid.IntRange(0, 2).Draw(t, "input") {
	case 0:
		for range rapid.IntRange(1, 4).Draw(t, "claims") {
			req.Claims = append(req.Claims, &plumblinev1.Claim{Text: anyText(20).Draw(t, "claim"), Hypothesis: anyText(3).Draw(t, "hypothesis")})
		}
	case 1:
		req.Answer = anyText(40).Draw(t, "answer")
	case 2:
		req.Answers = rapid.SliceOfN(anyText(10), 1, 3).Draw(t, "answers")
	}
	return req
}

// TestOrderOfPassagesChangesNothing but which of equal chunks is named.
func TestOrderOfPassagesChangesNothing(t *testing.T) {
	s := newScorer(t)
	rapid.Check(t, func(t *rapid.T) {
		req := drawRequest(t)
		v := drawHashed(t)
		want := numbers(s.Score(context.Background(), v, req))
		slices.Reverse(req.Evidence)
		if got := numbers(s.Score(context.Background(), v, req)); got != want {
			t.Fatalf("reversed:\n%s\nbefore:\n%s", got, want)
		}
	})
}

// numbers renders the part of a response that must not depend on order.
func numbers(r *plumblinev1.ScoreGroundingResponse) string {
	var b strings.Builder
	for _, c := range r.GetClaims() {
		fmt.Fprintf(&b, "%s %v %v %v %v\n", c.GetId(), c.GetStatus(), c.GetSupport().GetValue(), c.GetContradiction().GetValue(), c.GetVerdict())
	}
	fmt.Fprintf(&b, "%v %v %v %v", r.GetGMean().GetValue(), r.GetGMin().GetValue(), r.GetCoverage().GetTokensScored(), r.GetVerdict())
	return b.String()
}

// TestMoreEvidenceNeverLowersSupport holds for single passages; the best pairs
// of multi-hop claims are chosen by single support and may change.
func TestMoreEvidenceNeverLowersSupport(t *testing.T) {
	s := newScorer(t)
	rapid.Check(t, func(t *rapid.T) {
		req := drawRequest(t)
		req.MultiHop = 0
		v := drawHashed(t)
		before := s.Score(context.Background(), v, req)
		more := drawPassages(t)[0]
		at := rapid.IntRange(0, len(req.Evidence)).Draw(t, "at")
		req.Evidence = slices.Insert(req.Evidence, at, &plumblinev1.Evidence{Title: more.title, Text: more.text})
		after := s.Score(context.Background(), v, req)
		for i, c := range before.GetClaims() {
			if c.GetStatus() == plumblinev1.Status_STATUS_OK && after.GetClaims()[i].GetSupport().GetValue() < c.GetSupport().GetValue() {
				t.Fatalf("support of %q fell from %v to %v", c.GetText(), c.GetSupport().GetValue(), after.GetClaims()[i].GetSupport())
			}
		}
	})
}

// TestEveryClaimHasAStatus: a value stands exactly where the status is OK,
// numbers are finite, counts add up, and nothing panics.
func TestEveryClaimHasAStatus(t *testing.T) {
	s := newScorer(t)
	rapid.Check(t, func(t *rapid.T) {
		req := drawRequest(t)
		r := s.Score(context.Background(), drawHashed(t), req)
		scored := 0
		for _, c := range r.GetClaims() {
			checkScore(t, c.GetSupport())
			checkScore(t, c.GetContradiction())
			if c.GetStatus() != c.GetSupport().GetStatus() {
				t.Fatalf("claim %v, support %v", c.GetStatus(), c.GetSupport().GetStatus())
			}
			if c.GetStatus() != plumblinev1.Status_STATUS_OK {
				if c.GetReason() == "" || c.GetVerdict() != plumblinev1.Verdict_VERDICT_UNSPECIFIED {
					t.Fatalf("%v without a reason, or with a verdict", c)
				}
				continue
			}
			scored++
			p := req.GetEvidence()[slices.IndexFunc(req.GetEvidence(), func(e *plumblinev1.Evidence) bool { return e.GetId() == c.GetBest().GetEvidenceId() })]
			if part := p.GetText()[c.GetBest().GetStart():c.GetBest().GetEnd()]; !strings.HasPrefix(part, strings.TrimSuffix(c.GetBest().GetQuote(), "…")) {
				t.Fatalf("quote %q of chunk %q", c.GetBest().GetQuote(), part)
			}
		}
		if req.GetMode() != plumblinev1.ScoreGroundingRequest_MODE_CALVERT && int(r.GetScored()) != scored {
			t.Fatalf("scored %d, counted %d", scored, r.GetScored())
		}
		for _, v := range []*plumblinev1.Score{r.GetGMean(), r.GetGMin(), r.GetSupportRate()} {
			checkScore(t, v)
		}
		if r.GetGMean().GetValue() < r.GetGMin().GetValue()-1e-12 {
			t.Fatalf("g_mean %v below g_min %v", r.GetGMean().GetValue(), r.GetGMin().GetValue())
		}
	})
}

func checkScore(t *rapid.T, s *plumblinev1.Score) {
	if (s.GetStatus() == plumblinev1.Status_STATUS_OK) != (s.Value != nil) || math.IsNaN(s.GetValue()) || s.GetValue() < 0 || s.GetValue() > 1 {
		t.Fatalf("bad score %v", s)
	}
}

// strict refuses pairs above its window and counts them; nothing of ours may
// ever be refused.
func strict(maxTokens, trained, fine int) (entail.Verifier, *int) {
	refused := new(int)
	inner := entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
		if len(entailtest.Words{}.Spans(p.Premise))+len(entailtest.Words{}.Spans(p.Hypothesis))+entailtest.PairOverhead > maxTokens {
			*refused++
		}
		return entailtest.Support(0.5), nil
	})
	return described{Verifier: inner, change: func(d *entail.Description) { d.MaxTokens, d.TrainedTokens, d.FineTokens = maxTokens, trained, fine }}, refused
}

// TestNoPairExceedsTheWindow: claims are whole, split at clause borders or
// refused, and chunks leave room for them.
func TestNoPairExceedsTheWindow(t *testing.T) {
	s := newScorer(t)
	rapid.Check(t, func(t *rapid.T) {
		req := drawRequest(t)
		v, refused := strict(rapid.IntRange(4, 80).Draw(t, "window"), rapid.IntRange(0, 80).Draw(t, "trained"), rapid.IntRange(0, 40).Draw(t, "fine"))
		r := s.Score(context.Background(), v, req)
		if *refused > 0 {
			t.Fatalf("%d pairs are too long", *refused)
		}
		for _, c := range r.GetClaims() {
			if c.GetStatus() == plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE {
				t.Fatalf("%v", c.GetReason())
			}
		}
	})
}

// streamed runs an answer through Stream, in pieces of about as many bytes as next
// says.
func streamed(t interface{ Fatalf(string, ...any) }, s *Scorer, v entail.Verifier, req *plumblinev1.ScoreGroundingRequest, next func() int) *plumblinev1.ScoreGroundingResponse {
	start := proto.CloneOf(req)
	answer := start.GetAnswer()
	start.Answer = ""
	frames := []*plumblinev1.StreamScoreGroundingRequest{{Frame: &plumblinev1.StreamScoreGroundingRequest_Start{Start: start}}}
	for answer != "" {
		n := min(next(), len(answer))
		for n < len(answer) && !utf8.RuneStart(answer[n]) {
			n++
		}
		frames = append(frames, &plumblinev1.StreamScoreGroundingRequest{Frame: &plumblinev1.StreamScoreGroundingRequest_AnswerDelta{AnswerDelta: answer[:n]}})
		answer = answer[n:]
	}
	var summary *plumblinev1.ScoreGroundingResponse
	verdicts := 0
	err := s.Stream(context.Background(), v, replay(frames), func(r *plumblinev1.StreamScoreGroundingResponse) error {
		if r.GetClaim() != nil {
			verdicts++
		}
		if r.GetSummary() != nil {
			summary = r.GetSummary()
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if verdicts != len(summary.GetClaims()) {
		t.Fatalf("%d verdicts for %d claims", verdicts, len(summary.GetClaims()))
	}
	return summary
}

func replay(frames []*plumblinev1.StreamScoreGroundingRequest) func() (*plumblinev1.StreamScoreGroundingRequest, error) {
	return func() (*plumblinev1.StreamScoreGroundingRequest, error) {
		if len(frames) == 0 {
			return nil, io.EOF
		}
		f := frames[0]
		frames = frames[1:]
		return f, nil
	}
}

// TestStreamEqualsWhole: wherever an answer is cut, its claims and scores are
// those of the whole answer.
func TestStreamEqualsWhole(t *testing.T) {
	s := newScorer(t)
	rapid.Check(t, func(t *rapid.T) {
		req := drawRequest(t)
		req.Claims, req.Answers = nil, nil
		req.Answer = anyText(60).Draw(t, "answer")
		v := drawHashed(t)
		checkStream(t, s, v, req, func() int { return rapid.IntRange(1, 12).Draw(t, "delta") })
	})
}

// TestStreamEqualsWholeByteByByte, of answers for which it once was not so.
func TestStreamEqualsWholeByteByByte(t *testing.T) {
	s, v := newScorer(t), hashed()
	for _, answer := range []string{
		"Paris\n\na | b\n--|--\nthe", "µ\rParis\n---\n", "µ\u2028Paris | b\n--|--\n", "Paris is big.\n|x| is even. It is not odd.",
		"Paris is big.\n|a|b|\n|-|-|\n|c|d|\nIt is", "- ```sh\n  x\n  ```\n- It is.", "a | b\n--|--\nc | d\n```\nx\n```\nParis.",
		"a | b\n--|--\nc | d\n--|--\nParis is big. It is old.", "Rome is old.\n\na | b\n- | -\nc | d",
		"Rome is old.\n\nParis\n==\nLondon is big. It is old.", "Rome is old.\n\nParis\n--\nLondon is big. It is old.", "Paris is big.\n|x| is even.",
	} {
		req := evidenceOf("Paris is in France.")
		req.Answer = answer
		checkStream(t, s, v, req, func() int { return 1 })
	}
}

func checkStream(t interface{ Fatalf(string, ...any) }, s *Scorer, v entail.Verifier, req *plumblinev1.ScoreGroundingRequest, next func() int) {
	want, got := s.Score(context.Background(), v, req), streamed(t, s, v, req, next)
	// Equal hypotheses are asked once in a whole answer only.
	got.Coverage, want.Coverage = nil, nil
	if !proto.Equal(got, want) {
		t.Fatalf("answer %q\nstreamed\n%s\nwhole\n%s", req.GetAnswer(), render(got), render(want))
	}
}

var errBroken = errors.New("the peer is gone")
