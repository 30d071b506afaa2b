package corpus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"plumbline/internal/corpus"
	"plumbline/internal/orttest"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server"
	"plumbline/server/config"
)

// notSupported is below every threshold of a request that states none.
var notSupported = map[string]any{"at_least": 0, "at_most": 0.4999}

func groundingTranslations() map[string]translation {
	return map[string]translation{
		"long-context-hides-answer": asks("grounding", longContext).and(everyTokenScored(longContext)),
		"long-answer-tail":          asks("grounding", longAnswer),
		"empty-answer": asks("grounding", func(c sharedCase) []corpus.Case {
			return one(map[string]any{"evidence": passages(c), "answer": c["answer"]}, map[string]any{
				"status": "STATUS_NO_CLAIMS", "g_mean.value": map[string]any{"absent": true}, "g_min.value": map[string]any{"absent": true}, "claims": []any{},
			})
		}),
		"empty-evidence": asks("grounding", func(c sharedCase) []corpus.Case {
			return one(map[string]any{"evidence": passages(c), "answer": c["answer"]}, map[string]any{
				"status": "STATUS_NO_EVIDENCE", "g_mean.value": map[string]any{"absent": true},
				"claims[0].support.value": map[string]any{"absent": true}, "verdict": "VERDICT_UNSPECIFIED",
			})
		}),
		"verifier-down":        needs(verifierDown),
		"support-in-one-chunk": asks("grounding", oneOfManyPassages),
		"markdown-number": asks("grounding", func(c sharedCase) []corpus.Case {
			return one(map[string]any{"evidence": passages(c), "claims": claims(c)}, map[string]any{
				"claims[0].flags": []any{"FLAG_NUMBER_MISMATCH"}, "claims[1].flags": []any{},
			})
		}),
		"injected-instruction": asks("grounding", func(c sharedCase) []corpus.Case {
			return one(map[string]any{"evidence": passages(c), "claims": claims(c)}, map[string]any{
				"claims[0].support.value": notSupported,
			})
		}),
		"control-token-text": asks("grounding", controlTokens).and(everyTokenScored(controlTokens)),
		"abbreviations": asks("grounding", func(c sharedCase) []corpus.Case {
			return one(map[string]any{"evidence": []any{map[string]any{"text": "The value was 3.5 mg."}}, "answer": c["answer"]}, map[string]any{
				"claims": map[string]any{"length": 2},
			})
		}),
		"cjk-quotes":         needs(cjkQuotes),
		"concurrent-batches": needs(concurrentBatches),
		"split-stream":       needs(splitStream),
	}
}

func passages(c sharedCase) []any {
	evidence := []any{}
	for _, text := range c.list("evidence") {
		evidence = append(evidence, map[string]any{"text": text})
	}
	return evidence
}

func claims(c sharedCase) []any {
	var list []any
	for _, text := range c.list("claims") {
		list = append(list, map[string]any{"text": text})
	}
	return list
}

// gardening is filler of at least so many words.
func gardening(words int) string {
	var text strings.Builder
	for i := 0; len(strings.Fields(text.String())) < words; i++ {
		plant := []string{"Tomatoes", "Roses", "Carrots", "Apple trees", "Beans", "Tulips", "Lettuces"}[i%7]
		advice := []string{
			"need water in the morning and again when the soil is dry",
			"grow well beside herbs that keep the insects away",
			"are planted a hand's breadth apart in loose earth",
			"should be cut back before the first frost",
			"like compost that has rested for a whole winter",
		}[i%5]
		text.WriteString(plant + " " + advice + ". ")
	}
	return text.String()
}

func longContext(c sharedCase) []corpus.Case {
	const fact = "The bridge opened to traffic in 1932. "
	before := gardening(3000)
	return one(map[string]any{
		"evidence": []any{map[string]any{"text": before + fact + gardening(3000)}},
		"claims":   claims(c),
	}, map[string]any{
		"claims[0].verdict":       "VERDICT_SUPPORTED",
		"claims[0].best.start":    map[string]any{"at_most": len(before)},
		"claims[0].best.end":      map[string]any{"at_least": len(before) + len(strings.TrimSpace(fact))},
		"claims[1].support.value": notSupported,
	})
}

// everyTokenScored asks in process whether all of the evidence was scored.
func everyTokenScored(translate func(sharedCase) []corpus.Case) translation {
	return needs(func(t *testing.T, s *stage, c sharedCase) []string {
		t.Helper()
		answer := s.here(t, "grounding", translate(c)[0].Request)
		tokens, _ := corpus.At(answer, "coverage.tokens")
		scored, _ := corpus.At(answer, "coverage.tokens_scored")
		if tokens != scored || tokens == "0" {
			return []string{fmt.Sprintf("%v of %v tokens scored", scored, tokens)}
		}
		return nil
	})
}

// facts are forty short sentences that differ in what they say.
func facts() []string {
	var list []string
	for i, town := range []string{"Aarhus", "Bergen", "Cork", "Delft", "Essen", "Faro", "Ghent", "Hull"} {
		list = append(list,
			fmt.Sprintf("The depot in %s has %d vans.", town, 11+3*i),
			fmt.Sprintf("The office in %s opened in %d.", town, 1950+7*i),
			fmt.Sprintf("The shop in %s sells bread.", town),
			fmt.Sprintf("The garage in %s is closed on Mondays.", town),
			fmt.Sprintf("The warehouse in %s is made of brick.", town),
		)
	}
	return list
}

func longAnswer(sharedCase) []corpus.Case {
	evidence := strings.Join(facts(), " ")
	want := map[string]any{
		"claims":                   map[string]any{"length": 41},
		"claims[40].text":          "The company was sold in 2015.",
		"claims[40].status":        "STATUS_OK",
		"claims[40].support.value": notSupported,
	}
	return one(map[string]any{
		"evidence": []any{map[string]any{"text": evidence}},
		"answer":   evidence + " The company was sold in 2015.",
	}, want)
}

func oneOfManyPassages(c sharedCase) []corpus.Case {
	var evidence []any
	for i := range 9 {
		evidence = append(evidence, map[string]any{"id": fmt.Sprint("other", i), "text": strings.Join(facts()[4*i:4*i+4], " ")})
	}
	last := c.list("evidence")[len(c.list("evidence"))-1]
	evidence = append(evidence, map[string]any{"id": "last", "text": last})
	return one(map[string]any{"evidence": evidence, "claims": claims(c)}, map[string]any{
		"claims[0].verdict":          "VERDICT_SUPPORTED",
		"claims[0].best.evidence_id": "last",
		"claims[0].best.start":       0,
		"claims[0].best.end":         len(last.(string)),
		"claims[0].best.quote":       last,
	})
}

func controlTokens(c sharedCase) []corpus.Case {
	plain := func(text any) any { return strings.NewReplacer("[SEP]", "SEP", "</s>", "s").Replace(text.(string)) }
	return []corpus.Case{
		{
			ID:      "as written",
			Request: map[string]any{"evidence": passages(c), "claims": claims(c)},
			Want:    map[string]any{"claims[0].verdict": "VERDICT_SUPPORTED"},
		},
		{
			ID: "in plain words",
			Request: map[string]any{
				"evidence": []any{map[string]any{"text": plain(c.at("evidence[0]"))}},
				"claims":   []any{map[string]any{"text": plain(c.at("claims[0]"))}},
			},
			Want: map[string]any{"claims[0].verdict": "VERDICT_SUPPORTED"},
		},
	}
}

// verifierDown scores without a verifier: a status, never a number.
func verifierDown(t *testing.T, _ *stage, _ sharedCase) []string {
	t.Helper()
	down, err := server.NewService(config.Default(), server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	for mode, want := range map[plumblinev1.FailMode]plumblinev1.Status{
		plumblinev1.FailMode_FAIL_MODE_CLOSED: plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE,
		plumblinev1.FailMode_FAIL_MODE_OPEN:   plumblinev1.Status_STATUS_NOT_CHECKED,
	} {
		response, err := down.ScoreGrounding(t.Context(), &plumblinev1.ScoreGroundingRequest{
			Evidence: []*plumblinev1.Evidence{{Text: "The bridge opened in 1932."}},
			Answer:   "The bridge opened in 1932.",
			FailMode: mode,
		})
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("%s: %v", mode, err))
		case response.GetStatus() != want || response.GetReason() == "" || response.GetFailMode() != mode:
			problems = append(problems, fmt.Sprintf("%s: status %s (%s), fail mode %s", mode, response.GetStatus(), response.GetReason(), response.GetFailMode()))
		case response.GetGMean().Value != nil || response.GetVerdict() != plumblinev1.Verdict_VERDICT_UNSPECIFIED:
			problems = append(problems, fmt.Sprintf("%s: a label or a number without a verifier", mode))
		}
	}
	return problems
}

// cjkQuotes: claims end at ideographic full stops, and both kinds of offsets
// lead back to them.
func cjkQuotes(t *testing.T, s *stage, c sharedCase) []string {
	t.Helper()
	text, _ := c["answer"].(string)
	units := utf16.Encode([]rune(text))
	response, err := s.service.ScoreGrounding(t.Context(), &plumblinev1.ScoreGroundingRequest{
		Evidence: []*plumblinev1.Evidence{{Text: text}}, Answer: text,
	})
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	if len(response.GetClaims()) == 0 {
		problems = append(problems, "no claims")
	}
	for _, claim := range response.GetClaims() {
		span := claim.GetSpan()
		if claim.GetText() == "" || text[span.GetStart():span.GetEnd()] != claim.GetText() {
			problems = append(problems, fmt.Sprintf("bytes %d to %d are not %q", span.GetStart(), span.GetEnd(), claim.GetText()))
		}
		if string(utf16.Decode(units[span.GetUtf16Start():span.GetUtf16End()])) != claim.GetText() {
			problems = append(problems, fmt.Sprintf("UTF-16 units %d to %d are not %q", span.GetUtf16Start(), span.GetUtf16End(), claim.GetText()))
		}
		if !strings.HasSuffix(strings.TrimRight(claim.GetText(), "”\""), "。") {
			problems = append(problems, fmt.Sprintf("%q does not end at a full stop", claim.GetText()))
		}
	}
	return problems
}

// concurrentBatches scores the same pairs from many goroutines in batches of
// different sizes, without a cache.
func concurrentBatches(t *testing.T, _ *stage, _ sharedCase) []string {
	t.Helper()
	cfg := config.Default()
	cfg.ONNXRuntime.Lib = orttest.Library(t)
	cfg.Verifier.CacheBytes = 0
	cfg.Verifier.MaxCalls = 64 * 50
	uncached := newService(t, cfg)
	var asked []*plumblinev1.ScoreGroundingRequest
	for i := range 50 {
		asked = append(asked, &plumblinev1.ScoreGroundingRequest{
			Evidence: []*plumblinev1.Evidence{{Text: facts()[i%40]}},
			Claims:   []*plumblinev1.Claim{{Text: facts()[(i*7)%40]}},
		})
	}
	supports := make([][]float64, 64)
	failures := make([]error, 64)
	var goroutines sync.WaitGroup
	for i := range supports {
		goroutines.Go(func() {
			for batch := range slices.Chunk(asked, 1+i%50) {
				response, err := uncached.BatchScoreGrounding(context.Background(), &plumblinev1.BatchScoreGroundingRequest{Requests: batch})
				if err != nil {
					failures[i] = err
					return
				}
				for _, result := range response.GetResults() {
					supports[i] = append(supports[i], result.GetResponse().GetGMean().GetValue())
				}
			}
		})
	}
	goroutines.Wait()
	if err := errors.Join(failures...); err != nil {
		return []string{err.Error()}
	}
	var problems []string
	for i := range supports {
		if !slices.Equal(supports[i], supports[0]) { // the bundled model's epsilon is 0
			problems = append(problems, fmt.Sprintf("in batches of %d other numbers than alone", 1+i%50))
		}
	}
	return problems
}

// splitStream sends a number in two pieces.
func splitStream(t *testing.T, s *stage, _ sharedCase) []string {
	t.Helper()
	stream, err := plumblinev1.NewGroundingServiceClient(s.conn).StreamScoreGrounding(t.Context())
	if err != nil {
		return []string{err.Error()}
	}
	for _, message := range []*plumblinev1.StreamScoreGroundingRequest{
		{Frame: &plumblinev1.StreamScoreGroundingRequest_Start{Start: &plumblinev1.ScoreGroundingRequest{
			Evidence: []*plumblinev1.Evidence{{Text: "The fund raised €1,234 million in May."}},
		}}},
		{Frame: &plumblinev1.StreamScoreGroundingRequest_AnswerDelta{AnswerDelta: "The fund raised €1,2"}},
		{Frame: &plumblinev1.StreamScoreGroundingRequest_AnswerDelta{AnswerDelta: "34 million in May."}},
		{Frame: &plumblinev1.StreamScoreGroundingRequest_Finish{Finish: &plumblinev1.StreamFinish{}}},
	} {
		if err := stream.Send(message); err != nil {
			return []string{err.Error()}
		}
	}
	if err := stream.CloseSend(); err != nil {
		return []string{err.Error()}
	}
	var texts []string
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return []string{err.Error()}
		}
		if claim := message.GetClaim(); claim != nil {
			texts = append(texts, claim.GetText())
		}
	}
	if !slices.Equal(texts, []string{"The fund raised €1,234 million in May."}) {
		return []string{fmt.Sprintf("claims %q", texts)}
	}
	return nil
}
