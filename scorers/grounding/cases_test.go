package grounding

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	"plumbline/internal/shareddata"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
)

// sharedCase is an entry of the corpus of inputs that broke systems like this
// one. The corpus says in words what to build; build does.
type sharedCase struct {
	ID       string   `yaml:"id"`
	Evidence []string `yaml:"evidence"`
	Claims   []string `yaml:"claims"`
	Answer   string   `yaml:"answer"`
}

// request builds the request that a case describes.
func (c sharedCase) request() *plumblinev1.ScoreGroundingRequest {
	req := &plumblinev1.ScoreGroundingRequest{Id: c.ID, Answer: build(c.Answer)}
	for _, text := range c.Evidence {
		if strings.HasPrefix(text, "<passage 1..9") {
			for i := range 9 {
				req.Evidence = append(req.Evidence, &plumblinev1.Evidence{Text: fmt.Sprintf("Topic %d is about tea and gardens.", i+1)})
			}
			continue
		}
		req.Evidence = append(req.Evidence, &plumblinev1.Evidence{Text: build(text)})
	}
	for _, text := range c.Claims {
		req.Claims = append(req.Claims, &plumblinev1.Claim{Text: text})
	}
	return req
}

// build replaces the descriptions of long texts by such texts.
func build(text string) string {
	var facts strings.Builder
	for i := range 40 {
		fmt.Fprintf(&facts, "Station %d lies on line %d. ", i+1, i%7+1)
	}
	return strings.NewReplacer(
		"<filler of 3,000 words on gardening>", times("Tomatoes like warm beds and dry feet. ", 3000*5),
		"<forty short true facts>", facts.String(),
		"<the forty facts restated>", facts.String(),
	).Replace(text)
}

// prose matches the lines of the corpus that are for people and not all YAML.
var prose = regexp.MustCompile(`(?m)^ {2}(?:about|expect):.*\n`)

// TestSharedCases runs every entry of the corpus; one that this test does not
// know fails it.
func TestSharedCases(t *testing.T) {
	data, err := os.ReadFile(shareddata.Path(t, "cases", "grounding.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []sharedCase
	if err := yaml.Unmarshal(prose.ReplaceAll(data, nil), &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			check, ok := caseChecks()[c.ID]
			if !ok {
				t.Fatal("no check for this case")
			}
			check(t, newScorer(t), c.request())
		})
	}
}

type caseCheck func(t *testing.T, s *Scorer, req *plumblinev1.ScoreGroundingRequest)

func caseChecks() map[string]caseCheck {
	return map[string]caseCheck{
		"long-context-hides-answer": func(t *testing.T, s *Scorer, req *plumblinev1.ScoreGroundingRequest) {
			r := s.Score(t.Context(), contains(), req)
			wantVerdicts(t, r, plumblinev1.Verdict_VERDICT_SUPPORTED, plumblinev1.Verdict_VERDICT_NOT_SUPPORTED)
			if c := r.GetCoverage(); c.GetTokensScored() != c.GetTokens() || c.GetTokens() < 4000 {
				t.Errorf("coverage %v", c)
			}
		},
		"long-answer-tail": func(t *testing.T, s *Scorer, req *plumblinev1.ScoreGroundingRequest) {
			r := s.Score(t.Context(), contains(), req)
			if len(r.GetClaims()) != 41 || r.GetScored() != 41 {
				t.Fatalf("%d claims, %d scored", len(r.GetClaims()), r.GetScored())
			}
			if last := r.GetClaims()[40]; last.GetVerdict() != plumblinev1.Verdict_VERDICT_NOT_SUPPORTED || r.GetGMinClaim() != last.GetId() {
				t.Errorf("last claim %v, worst %q", last, r.GetGMinClaim())
			}
		},
		"empty-answer":   wantStatus(plumblinev1.Status_STATUS_NO_CLAIMS, neutral()),
		"empty-evidence": wantStatus(plumblinev1.Status_STATUS_NO_EVIDENCE, neutral()),
		"verifier-down": func(t *testing.T, s *Scorer, req *plumblinev1.ScoreGroundingRequest) {
			req.Evidence, req.Answer = []*plumblinev1.Evidence{{Text: "Any text."}}, "Paris is in France."
			down := entailtest.Failing{Err: fmt.Errorf("connection refused")}
			wantStatus(plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE, down)(t, s, req)
			req.FailMode = plumblinev1.FailMode_FAIL_MODE_OPEN
			wantStatus(plumblinev1.Status_STATUS_NOT_CHECKED, down)(t, s, req)
		},
		"support-in-one-chunk": func(t *testing.T, s *Scorer, req *plumblinev1.ScoreGroundingRequest) {
			r := s.Score(t.Context(), neutral(), req)
			wantVerdicts(t, r, plumblinev1.Verdict_VERDICT_SUPPORTED)
			text := req.GetClaims()[0].GetText()
			if b := r.GetClaims()[0].GetBest(); b.GetEvidenceId() != "9" || b.GetStart() != 0 || int(b.GetEnd()) != len(text) || b.GetQuote() != text {
				t.Errorf("best %v", b)
			}
		},
		"markdown-number": func(t *testing.T, s *Scorer, req *plumblinev1.ScoreGroundingRequest) {
			r := s.Score(t.Context(), neutral(), req)
			if f := r.GetClaims()[0].GetFlags(); len(f) != 1 || f[0] != plumblinev1.Flag_FLAG_NUMBER_MISMATCH {
				t.Errorf("888: %v", f)
			}
			if f := r.GetClaims()[1].GetFlags(); len(f) != 0 {
				t.Errorf("999: %v", f)
			}
		},
		"missing-verdicts": func(t *testing.T, s *Scorer, _ *plumblinev1.ScoreGroundingRequest) {
			r := s.Score(t.Context(), short{neutral()}, &plumblinev1.ScoreGroundingRequest{
				Evidence: []*plumblinev1.Evidence{{Text: "Paris is in France."}}, Answer: "Paris is in France. Rome is in Italy. Bonn is in Germany.",
			})
			if r.GetScored() != 1 || r.GetNotScored() != 2 || r.GetGMean().GetNUsed() != 1 || r.GetClaims()[2].GetReason() == "" {
				t.Errorf("%v", r)
			}
		},
		"injected-instruction": func(t *testing.T, s *Scorer, req *plumblinev1.ScoreGroundingRequest) {
			rec := entailtest.NewRecorder(neutral())
			s.Score(t.Context(), rec, req)
			want := entail.Pair{Premise: req.GetEvidence()[0].GetText(), Hypothesis: req.GetClaims()[0].GetText()}
			if rec.Count(want) != 1 {
				t.Errorf("the evidence was not passed on as it is: %v", rec.Calls())
			}
		},
		"control-token-text": func(t *testing.T, s *Scorer, req *plumblinev1.ScoreGroundingRequest) {
			rec := entailtest.NewRecorder(neutral())
			s.Score(t.Context(), rec, req)
			want := entail.Pair{Premise: req.GetEvidence()[0].GetText(), Hypothesis: req.GetClaims()[0].GetText()}
			if rec.Count(want) != 1 {
				t.Errorf("the input was changed: %v", rec.Calls())
			}
		},
		"abbreviations": func(t *testing.T, s *Scorer, req *plumblinev1.ScoreGroundingRequest) {
			if got := (form{}).answerClaims(s.split, req.GetAnswer()); len(got) != 2 {
				t.Errorf("%d claims", len(got))
			}
		},
		"cjk-quotes": func(t *testing.T, s *Scorer, req *plumblinev1.ScoreGroundingRequest) {
			claims := (form{}).answerClaims(s.split, req.GetAnswer())
			checkClaims(t, req.GetAnswer(), claims)
			if len(claims) == 0 {
				t.Error("no claims")
			}
			for _, c := range claims {
				if !strings.HasSuffix(strings.TrimRight(c.text, closers), "。") {
					t.Errorf("%q does not end at 。", c.text)
				}
			}
		},
		"concurrent-batches": concurrentBatches,
		"split-stream": func(t *testing.T, s *Scorer, _ *plumblinev1.ScoreGroundingRequest) {
			got := streamAll(t, s, neutral(), []string{"The fund holds €1,2", "34 million. It gr", "ew."}, "The fund holds €1,234 million.")
			claims := got.GetClaims()
			if len(claims) != 2 || claims[0].GetText() != "The fund holds €1,234 million." || len(claims[0].GetFlags()) != 0 {
				t.Errorf("%v", claims)
			}
			if sp := claims[1].GetSpan(); sp.GetUtf16Start() != uint32(len(utf16.Encode([]rune("The fund holds €1,234 million. ")))) {
				t.Errorf("span %v", sp)
			}
		},
	}
}

func wantVerdicts(t *testing.T, r *plumblinev1.ScoreGroundingResponse, want ...plumblinev1.Verdict) {
	t.Helper()
	for i, v := range want {
		if got := r.GetClaims()[i].GetVerdict(); got != v {
			t.Errorf("claim %d: %v, want %v", i, got, v)
		}
	}
}

// wantStatus wants a reply without a single number.
func wantStatus(want plumblinev1.Status, v entail.Verifier) caseCheck {
	return func(t *testing.T, s *Scorer, req *plumblinev1.ScoreGroundingRequest) {
		t.Helper()
		r := s.Score(t.Context(), v, req)
		if r.GetStatus() != want || r.GetReason() == "" {
			t.Errorf("status %v (%s), want %v", r.GetStatus(), r.GetReason(), want)
		}
		for _, c := range r.GetClaims() {
			if c.GetSupport().Value != nil || c.GetVerdict() != plumblinev1.Verdict_VERDICT_UNSPECIFIED || c.GetStatus() != want {
				t.Errorf("claim %v", c)
			}
		}
		if r.GetGMean().Value != nil || r.GetGMin().Value != nil || r.GetVerdict() != plumblinev1.Verdict_VERDICT_UNSPECIFIED {
			t.Errorf("an invented score or label: %v", r)
		}
		if (r.GetFailMode() == plumblinev1.FailMode_FAIL_MODE_OPEN) != (req.GetFailMode() == plumblinev1.FailMode_FAIL_MODE_OPEN) {
			t.Errorf("fail mode %v", r.GetFailMode())
		}
	}
}

// concurrentBatches scores the same claims from 64 goroutines, each with
// other neighbours, and wants equal scores.
func concurrentBatches(t *testing.T, s *Scorer, _ *plumblinev1.ScoreGroundingRequest) {
	const claims = 50
	var evidence []*plumblinev1.Evidence
	for i := range 5 {
		evidence = append(evidence, &plumblinev1.Evidence{Text: fmt.Sprintf("Station %d lies on line %d. It is old.", i, i)})
	}
	all := make([]*plumblinev1.Claim, claims)
	for i := range all {
		all[i] = &plumblinev1.Claim{Text: fmt.Sprintf("Station %d lies on line %d.", i, i%7)}
	}
	want := map[string]float64{}
	for _, c := range s.Score(t.Context(), hashed(), &plumblinev1.ScoreGroundingRequest{Evidence: evidence, Claims: all}).GetClaims() {
		want[c.GetText()] = c.GetSupport().GetValue()
	}
	var work sync.WaitGroup
	for g := range 64 {
		work.Go(func() {
			from := g % claims
			req := &plumblinev1.ScoreGroundingRequest{Evidence: evidence, Claims: all[from:min(claims, from+1+g%9)]}
			for _, c := range s.Score(t.Context(), hashed(), proto.CloneOf(req)).GetClaims() {
				if got := c.GetSupport().GetValue(); got != want[c.GetText()] {
					t.Errorf("%q: %v, alone %v", c.GetText(), got, want[c.GetText()])
				}
			}
		})
	}
	work.Wait()
}

// streamAll streams an answer in pieces and returns the summary.
func streamAll(t *testing.T, s *Scorer, v entail.Verifier, deltas []string, evidence ...string) *plumblinev1.ScoreGroundingResponse {
	t.Helper()
	start := &plumblinev1.ScoreGroundingRequest{Id: "s"}
	for _, e := range evidence {
		start.Evidence = append(start.Evidence, &plumblinev1.Evidence{Text: e})
	}
	frames := []*plumblinev1.StreamScoreGroundingRequest{startFrame(start)}
	for _, d := range deltas {
		frames = append(frames, deltaFrame(d))
	}
	var summary *plumblinev1.ScoreGroundingResponse
	err := s.Stream(context.Background(), v, replay(frames), func(r *plumblinev1.StreamScoreGroundingResponse) error {
		if r.GetSummary() != nil {
			summary = r.GetSummary()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

func startFrame(req *plumblinev1.ScoreGroundingRequest) *plumblinev1.StreamScoreGroundingRequest {
	return &plumblinev1.StreamScoreGroundingRequest{Frame: &plumblinev1.StreamScoreGroundingRequest_Start{Start: req}}
}

func deltaFrame(text string) *plumblinev1.StreamScoreGroundingRequest {
	return &plumblinev1.StreamScoreGroundingRequest{Frame: &plumblinev1.StreamScoreGroundingRequest_AnswerDelta{AnswerDelta: text}}
}

func claimFrame(id, text string) *plumblinev1.StreamScoreGroundingRequest {
	return &plumblinev1.StreamScoreGroundingRequest{Frame: &plumblinev1.StreamScoreGroundingRequest_Claim{Claim: &plumblinev1.Claim{Id: id, Text: text}}}
}
