package confidence_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/confidence"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/scorers/score"
)

var graphScores = []string{"semantic_sets", "degree_matrix", "eigenvalues_laplacian", "eccentricity", "luq"}

func TestInfosNameEveryScore(t *testing.T) {
	scores := scoresOf(&plumblinev1.ScoreConfidenceResponse{})
	for _, info := range confidence.Infos() {
		if _, ok := scores[info.GetName()]; !ok {
			t.Errorf("%s is no field, or named twice", info.GetName())
		}
		delete(scores, info.GetName())
		if info.GetDescription() == "" || info.GetUnit() == "" || info.GetFamily() == "" || info.GetCost() == "" ||
			info.GetSource() == "" || len(info.GetNeeds()) == 0 || info.Range == nil {
			t.Errorf("%s is not described in full", info.GetName())
		}
	}
	for name := range scores {
		t.Errorf("%s has no metadata", name)
	}
}

func TestEmptyRequestHasReasonsOnly(t *testing.T) {
	for _, req := range []*plumblinev1.ScoreConfidenceRequest{nil, {}} {
		resp := run(everything(entailtest.Support(1)), req)
		requireWellFormed(t, resp)
		for name, s := range scoresOf(resp) {
			if s.GetStatus() == statusOK {
				t.Errorf("%s = %v out of nothing", name, s.GetValue())
			}
		}
		if resp.GetMajority().GetStatus() != statusTooFew || resp.GetPairs() != 0 {
			t.Errorf("majority %v, %d pairs", resp.GetMajority(), resp.GetPairs())
		}
	}
}

func TestRulesAreEchoed(t *testing.T) {
	type echo struct {
		agreement     plumblinev1.Agreement
		clustering    plumblinev1.Clustering
		equivalence   plumblinev1.Equivalence
		normalization plumblinev1.Normalization
		failMode      plumblinev1.FailMode
	}
	of := func(r *plumblinev1.ScoreConfidenceResponse) echo {
		return echo{r.GetAgreement(), r.GetClustering(), r.GetEquivalence(), r.GetNormalization(), r.GetFailMode()}
	}
	byDefault := echo{
		plumblinev1.Agreement_AGREEMENT_EXACT, plumblinev1.Clustering_CLUSTERING_UNION_FIND,
		plumblinev1.Equivalence_EQUIVALENCE_EXACT, plumblinev1.Normalization_NORMALIZATION_TRIVIAQA,
		plumblinev1.FailMode_FAIL_MODE_CLOSED,
	}
	resp := run(nil, &plumblinev1.ScoreConfidenceRequest{Id: "7", MainAnswer: "Paris"})
	if of(resp) != byDefault || resp.GetId() != "7" || resp.GetComputedFor() != "Paris" {
		t.Errorf("got %+v, %q, %q", of(resp), resp.GetId(), resp.GetComputedFor())
	}
	resp = run(nil, &plumblinev1.ScoreConfidenceRequest{
		Agreement:     plumblinev1.Agreement_AGREEMENT_NOT_CONTRADICT,
		Clustering:    plumblinev1.Clustering_CLUSTERING_LAST_HEAD,
		Normalization: plumblinev1.Normalization_NORMALIZATION_SQUAD,
		FailMode:      plumblinev1.FailMode_FAIL_MODE_OPEN,
	})
	chosen := echo{
		plumblinev1.Agreement_AGREEMENT_NOT_CONTRADICT, plumblinev1.Clustering_CLUSTERING_LAST_HEAD,
		plumblinev1.Equivalence_EQUIVALENCE_STRICT, plumblinev1.Normalization_NORMALIZATION_SQUAD,
		plumblinev1.FailMode_FAIL_MODE_OPEN,
	}
	if of(resp) != chosen {
		t.Errorf("got %+v", of(resp))
	}
}

// TestPairs says which inputs lead to which pairs: all in one call, each once,
// in the question's context.
func TestPairs(t *testing.T) {
	pair := func(premise, hypothesis string) entail.Pair {
		return entail.Pair{Premise: inContext(premise), Hypothesis: inContext(hypothesis)}
	}
	all := func(diagonal bool, texts ...string) []entail.Pair {
		var pairs []entail.Pair
		for _, a := range texts {
			for _, b := range texts {
				if a != b || diagonal {
					pairs = append(pairs, pair(a, b))
				}
			}
		}
		return pairs
	}
	samples := samplesOf("Lyon", "Paris", "", "Lyon", " paris \n(France)", "Nice")
	distinct := []string{"Paris", "Lyon", "paris \n(France)", "Nice"}
	withMain := []entail.Pair{
		pair("Paris", "Lyon"), pair("Lyon", "Paris"), pair("Paris", "Nice"), pair("Nice", "Paris"),
	}
	alternatives := []*plumblinev1.Alternative{
		{Text: "Rome", PTrue: ptr(0.5)},
		{Text: "Answer: rome.", PTrue: ptr(0.5)},
		{Text: "Lyon", PTrue: ptr(0.2)},
		{Text: "Bonn"},
	}
	exact, strict := plumblinev1.Equivalence_EQUIVALENCE_EXACT, plumblinev1.Equivalence_EQUIVALENCE_STRICT
	for _, c := range []struct {
		name string
		req  *plumblinev1.ScoreConfidenceRequest
		want []entail.Pair
	}{
		{"exact rules ask nothing", &plumblinev1.ScoreConfidenceRequest{MainAnswer: "Paris", Samples: samples}, nil},
		{
			"self-consistency asks for main and sample",
			&plumblinev1.ScoreConfidenceRequest{
				MainAnswer: "Paris", Samples: samples, Equivalence: exact,
				Agreement: plumblinev1.Agreement_AGREEMENT_ENTAIL_BOTH,
			},
			append(slices.Clone(withMain), pair("Paris", "paris \n(France)"), pair("paris \n(France)", "Paris")),
		},
		{
			"DiNCo's asks for cleaned texts",
			&plumblinev1.ScoreConfidenceRequest{
				MainAnswer: "Paris", Samples: samples, Equivalence: exact,
				Agreement: plumblinev1.Agreement_AGREEMENT_DINCO,
			},
			append(slices.Clone(withMain), pair("Paris", "paris"), pair("paris", "Paris")),
		},
		{
			"an entailment rule asks for all responses and their diagonal",
			&plumblinev1.ScoreConfidenceRequest{MainAnswer: "Paris", Samples: samples, Equivalence: strict},
			all(true, distinct...),
		},
		{
			"a single response asks nothing",
			&plumblinev1.ScoreConfidenceRequest{MainAnswer: "Paris", Equivalence: strict},
			nil,
		},
		{
			"NVC asks for its candidates",
			&plumblinev1.ScoreConfidenceRequest{MainAnswer: "Paris", PTrue: ptr(0.9), Alternatives: alternatives},
			all(false, "Paris", "Rome", "Lyon"),
		},
		{
			"without P(true) of the main answer NVC asks nothing",
			&plumblinev1.ScoreConfidenceRequest{MainAnswer: "Paris", Samples: samples, Alternatives: alternatives},
			nil,
		},
		{
			"final_conf asks for both parts, what they share once",
			&plumblinev1.ScoreConfidenceRequest{MainAnswer: "Paris", PTrue: ptr(0.9), Alternatives: alternatives, Samples: samplesOf("Lyon", "Lyon", "Bonn")},
			append(all(false, "Paris", "Rome", "Lyon"), pair("Paris", "Bonn"), pair("Bonn", "Paris")),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			recorder := entailtest.NewRecorder(everything(entailtest.Support(0.95)))
			resp := scoreWith(recorder, c.req)
			requireWellFormed(t, resp)
			calls := recorder.Calls()
			var got []entail.Pair
			if len(calls) == 1 {
				got = calls[0]
			}
			if len(calls) > 1 || !slices.Equal(sorted(got), sorted(c.want)) {
				t.Errorf("asked %d times\n got %v\nwant %v", len(calls), sorted(got), sorted(c.want))
			}
			if int(resp.GetPairs()) != len(c.want) || (resp.GetModel() == nil) != (len(c.want) == 0) || (resp.GetTiming() == nil) != (len(c.want) == 0) {
				t.Errorf("reported %d pairs, model %v, timing %v", resp.GetPairs(), resp.GetModel(), resp.GetTiming())
			}
		})
	}
}

func sorted(pairs []entail.Pair) []entail.Pair {
	return slices.SortedFunc(slices.Values(pairs), func(a, b entail.Pair) int {
		return strings.Compare(a.Premise+"→"+a.Hypothesis, b.Premise+"→"+b.Hypothesis)
	})
}

func TestWithoutQuestionAnswersAreBare(t *testing.T) {
	recorder := entailtest.NewRecorder(everything(entailtest.Support(1)))
	run(recorder, &plumblinev1.ScoreConfidenceRequest{
		MainAnswer: "Paris", Samples: samplesOf("Lyon"), Agreement: plumblinev1.Agreement_AGREEMENT_DINCO,
	})
	if recorder.Count(entail.Pair{Premise: "Paris", Hypothesis: "Lyon"}) != 1 {
		t.Errorf("asked %v", recorder.Calls())
	}
}

// full is a request for which every verifier-based score is wanted.
func full() *plumblinev1.ScoreConfidenceRequest {
	return &plumblinev1.ScoreConfidenceRequest{
		MainAnswer:   "Paris",
		Samples:      samplesOf("Paris", "Lyon"),
		PTrue:        ptr(0.9),
		Alternatives: []*plumblinev1.Alternative{{Text: "Nice", PTrue: ptr(0.3)}},
		Agreement:    plumblinev1.Agreement_AGREEMENT_ENTAIL_BOTH,
	}
}

var verified = append([]string{"sc", "sc_dinco", "nvc", "final_conf", "semantic_entropy", "semantic_entropy_normalized"}, graphScores...)

func TestVerifierThatCannotBeAsked(t *testing.T) {
	open, closed := plumblinev1.FailMode_FAIL_MODE_OPEN, plumblinev1.FailMode_FAIL_MODE_UNSPECIFIED
	secret := errors.New("secret address")
	badNumber := entailtest.Support(0.5)
	badNumber.Entailment = math.NaN()
	for _, c := range []struct {
		name string
		v    entail.Verifier
		mode plumblinev1.FailMode
		want plumblinev1.Status
	}{
		{"none configured", nil, closed, statusUnavailable},
		{"none configured, open", nil, open, statusNotChecked},
		{"failing", entailtest.Failing{Err: secret}, closed, statusUnavailable},
		{"failing, open", entailtest.Failing{Err: secret}, open, statusNotChecked},
		{"deadline", entailtest.Failing{Err: context.DeadlineExceeded}, closed, statusDeadline},
		{"deadline, open", entailtest.Failing{Err: context.DeadlineExceeded}, open, statusDeadline},
		{"too long", entailtest.Failing{Err: score.TooLong("too long")}, open, statusTooLong},
		{"pairs fail", entailtest.Table(nil), closed, statusUnavailable},
		{"pairs fail, open", entailtest.Table(nil), open, statusNotChecked},
		{"answers are lost", losing{}, closed, statusUnavailable},
		{"answers are no numbers", everything(badNumber), closed, statusUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := full()
			req.FailMode = c.mode
			resp := run(c.v, req)
			requireStatus(t, resp, c.want, verified...)
			requireStatus(t, resp, statusOK, "p_true", "lexical_similarity")
			if strings.Contains(resp.String(), "secret") || len(resp.GetClusters()) > 0 {
				t.Errorf("leaks its cause, or has clusters: %v", resp)
			}
		})
	}
}

// losing is a verifier that answers fewer pairs than it was asked.
type losing struct{ entailtest.Failing }

func (losing) Verify(context.Context, []entail.Pair) (entail.Batch, error) {
	return entail.Batch{Results: make([]entail.Result, 1)}, nil
}

// Scores that need no pair are not held back by a missing verifier.
func TestNoVerifierNeeded(t *testing.T) {
	resp := run(nil, &plumblinev1.ScoreConfidenceRequest{
		MainAnswer: "Paris", PTrue: ptr(0.8), Samples: samplesOf("Paris", "Paris\n(France)", ""),
	})
	requireStatus(t, resp, statusOK, "sc", "sc_dinco", "nvc", "final_conf", "semantic_entropy")
	requireValue(t, "sc_dinco", resp.GetScDinco(), 0.75)
	requireValue(t, "final_conf", resp.GetFinalConf(), (0.8+0.75)/2)
	requireReason(t, resp.GetDegreeMatrix(), statusMissing, "equivalence")
}

// A pair that fails takes only the scores with it that need it.
func TestOnePairFails(t *testing.T) {
	v := entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
		if p.Premise == "Lyon" && p.Hypothesis == "Nice" {
			return entail.Scores{}, score.TooLong("the pair is too long")
		}
		return entailtest.Support(1), nil
	})
	resp := run(v, &plumblinev1.ScoreConfidenceRequest{
		MainAnswer: "Paris", Samples: samplesOf("Lyon", "Nice"), Agreement: plumblinev1.Agreement_AGREEMENT_ENTAIL_BOTH,
	})
	requireStatus(t, resp, statusTooLong, append(slices.Clone(graphScores), "semantic_entropy")...)
	requireValue(t, "sc", resp.GetSc(), 1)
}

func TestTwoClassVerifier(t *testing.T) {
	v := everything(entail.Scores{Entailment: 0.95})
	req := full()
	resp := run(v, req)
	requireStatus(t, resp, statusOK, "sc", "sc_dinco", "semantic_entropy", "degree_matrix", "eigenvalues_laplacian", "eccentricity")
	for _, s := range []*plumblinev1.Score{resp.GetNvc(), resp.GetFinalConf(), resp.GetLuq(), resp.GetSemanticSets()} {
		requireReason(t, s, statusMissing, "three classes")
	}
	req.Agreement = plumblinev1.Agreement_AGREEMENT_NOT_CONTRADICT
	req.Equivalence = plumblinev1.Equivalence_EQUIVALENCE_NON_STRICT
	resp = run(v, req)
	requireReason(t, resp.GetSc(), statusMissing, "three classes")
	requireReason(t, resp.GetSemanticEntropy(), statusMissing, "three classes")
}

func TestMalformedNumbersAreNamed(t *testing.T) {
	tokens := func(logprobs ...float64) []*plumblinev1.TokenLogprob {
		list := []*plumblinev1.TokenLogprob{{Token: "yes", Logprob: ptr(-0.1)}}
		for _, l := range logprobs {
			list = append(list, &plumblinev1.TokenLogprob{Token: "no", Logprob: ptr(l)})
		}
		return list
	}
	draft := func(token *plumblinev1.DraftToken) []*plumblinev1.Draft {
		return []*plumblinev1.Draft{{Tokens: []*plumblinev1.DraftToken{{Token: "a", Logprob: ptr(-0.1)}, token}}}
	}
	alternative := func(a *plumblinev1.Alternative) *plumblinev1.ScoreConfidenceRequest {
		return &plumblinev1.ScoreConfidenceRequest{
			MainAnswer: "x", PTrue: ptr(0.5),
			Alternatives: []*plumblinev1.Alternative{{Text: "y", PTrue: ptr(0.5)}, a},
		}
	}
	vector := func(values ...float32) *plumblinev1.Vector { return &plumblinev1.Vector{Values: values} }
	nan := float32(math.NaN())
	for _, c := range []struct {
		score, names string
		req          *plumblinev1.ScoreConfidenceRequest
	}{
		{"sequence_entropy", "samples[1].logprob", &plumblinev1.ScoreConfidenceRequest{Samples: []*plumblinev1.Sample{{Text: "a", Logprob: ptr(-1.0)}, {Text: "b", Logprob: ptr(0.5)}}}},
		{"semantic_entropy_weighted", "samples[0].logprob", &plumblinev1.ScoreConfidenceRequest{Samples: []*plumblinev1.Sample{{Text: "a", Logprob: ptr(math.NaN())}}}},
		{"sequence_entropy", "samples[1].token_logprobs[2]", &plumblinev1.ScoreConfidenceRequest{MainAnswer: "m", Samples: []*plumblinev1.Sample{{Weight: ptr(0.0)}, {Text: "a", TokenLogprobs: []float64{-1, -2, 3}}}}},
		{"sc", "samples[0].weight", &plumblinev1.ScoreConfidenceRequest{MainAnswer: "m", Samples: []*plumblinev1.Sample{{Text: "a", Weight: ptr(-1.0)}}}},
		{"lexical_similarity", "samples[0].weight", &plumblinev1.ScoreConfidenceRequest{MainAnswer: "m", Samples: []*plumblinev1.Sample{{Text: "a", Weight: ptr(math.Inf(1))}}}},
		{"p_true", "p_true", &plumblinev1.ScoreConfidenceRequest{PTrue: ptr(1.5)}},
		{"nvc", "p_true", &plumblinev1.ScoreConfidenceRequest{MainAnswer: "m", PTrue: ptr(math.NaN())}},
		{"p_true", "first_token_logprobs[1]", &plumblinev1.ScoreConfidenceRequest{FirstTokenLogprobs: tokens(0.1)}},
		{"label_mass", "first_token_logprobs[2]", &plumblinev1.ScoreConfidenceRequest{FirstTokenLogprobs: tokens(-3, math.NaN())}},
		{"p_true", "first_token_logprobs", &plumblinev1.ScoreConfidenceRequest{FirstTokenLogprobs: tokens(-0.2, -0.2)}},
		{"label_mass", "labels[1]", &plumblinev1.ScoreConfidenceRequest{FirstTokenLogprobs: tokens(-3), Labels: []string{"a", " A"}}},
		{"label_mass", "labels[0]", &plumblinev1.ScoreConfidenceRequest{FirstTokenLogprobs: tokens(-3), Labels: []string{" "}}},
		{"nvc", "alternatives[1].p_true", alternative(&plumblinev1.Alternative{Text: "z", PTrue: ptr(-0.5)})},
		{"nvc", "alternatives[1].logprob", alternative(&plumblinev1.Alternative{Text: "z", Logprob: ptr(2.0)})},
		{"perplexity", "drafts[0].tokens[1].logprob", &plumblinev1.ScoreConfidenceRequest{Drafts: draft(&plumblinev1.DraftToken{Logprob: ptr(1.0)})}},
		{"margin", "drafts[0].tokens[1].top[1].logprob", &plumblinev1.ScoreConfidenceRequest{Drafts: draft(&plumblinev1.DraftToken{Top: tokens(1)})}},
		{"mean_token_entropy", "drafts[0].tokens[1].top", &plumblinev1.ScoreConfidenceRequest{Drafts: draft(&plumblinev1.DraftToken{Top: tokens(-0.1, -0.1)})}},
		{"gram_logdet", "vectors[1]", &plumblinev1.ScoreConfidenceRequest{Vectors: []*plumblinev1.Vector{vector(1, 2), vector(1)}}},
		{"gram_logdet", "vectors[0]", &plumblinev1.ScoreConfidenceRequest{Vectors: []*plumblinev1.Vector{vector(), vector()}}},
		{"gram_logdet", "vectors[1]", &plumblinev1.ScoreConfidenceRequest{Vectors: []*plumblinev1.Vector{vector(1, 2), vector(1, nan)}}},
		{"gram_logdet", "2 vectors for 1 samples", &plumblinev1.ScoreConfidenceRequest{Samples: samplesOf("a"), Vectors: []*plumblinev1.Vector{vector(1, 2), vector(1, 3)}}},
	} {
		t.Run(c.score+" "+c.names, func(t *testing.T) {
			resp := run(everything(entailtest.Support(1)), c.req)
			requireWellFormed(t, resp)
			requireReason(t, scoresOf(resp)[c.score], statusInvalid, c.names)
		})
	}
}

func TestBlankSamplesStayInTheCount(t *testing.T) {
	v := everything(entail.Scores{Entailment: 1, ThreeClass: true})
	resp := run(v, &plumblinev1.ScoreConfidenceRequest{
		MainAnswer: "Paris", Samples: samplesOf("Paris", " ", "paris", "\n"),
		Equivalence: plumblinev1.Equivalence_EQUIVALENCE_STRICT,
	})
	requireWellFormed(t, resp)
	requireValue(t, "sc", resp.GetSc(), 0.5)
	if got := membersOf(resp.GetClusters()); !slices.EqualFunc(got, [][]int{{0, 1, 3}, {2}, {4}}, slices.Equal) {
		t.Errorf("clusters %v", got)
	}
	requireValue(t, "semantic_sets", resp.GetSemanticSets(), 3)
	requireValue(t, "eigenvalues_laplacian", resp.GetEigenvaluesLaplacian(), 3)
	requireValue(t, "degree_matrix", resp.GetDegreeMatrix(), 1-11.0/25)
	requireValue(t, "luq", resp.GetLuq(), 1-3*2.0/4/5)
	requireValue(t, "lexical_similarity", resp.GetLexicalSimilarity(), 0.3)
	if m := resp.GetMajority(); m.GetText() != "Paris" || m.GetCount() != 2 || m.GetTotal() != 4 {
		t.Errorf("majority %v", m)
	}
	if resp := run(v, &plumblinev1.ScoreConfidenceRequest{Samples: samplesOf("", " ")}); resp.GetMajority().GetStatus() != statusTooFew {
		t.Errorf("a majority of blanks: %v", resp.GetMajority())
	}
}

func TestMajority(t *testing.T) {
	for _, c := range []struct {
		name, main string
		samples    []*plumblinev1.Sample
		text       string
		count      uint32
	}{
		{"most frequent", "Rome", samplesOf("Lyon", "Paris", "paris."), "Paris", 2},
		{"tie: main answer", "the Paris", samplesOf("Lyon", "Paris"), "Paris", 1},
		{"tie without it: first seen", "Rome", samplesOf("Lyon", "Paris"), "Lyon", 1},
		{"main answer does not vote", "Paris", samplesOf("Lyon", "Lyon", "Paris"), "Lyon", 2},
		{"by weight", "", []*plumblinev1.Sample{{Text: "Lyon"}, {Text: "Lyon"}, {Text: "Paris", Weight: ptr(3.0)}}, "Paris", 1},
		{"letters", "B", samplesOf("A", "A.", "B"), "A", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := run(nil, &plumblinev1.ScoreConfidenceRequest{MainAnswer: c.main, Samples: c.samples}).GetMajority()
			if m.GetText() != c.text || m.GetCount() != c.count || int(m.GetTotal()) != len(c.samples) {
				t.Errorf("got %v, want %q × %d", m, c.text, c.count)
			}
		})
	}
}

func TestAliasesAgree(t *testing.T) {
	resp := run(nil, &plumblinev1.ScoreConfidenceRequest{
		MainAnswer: "UK", Samples: samplesOf("the United Kingdom", "Great Britain!", "France", "uk"),
		Aliases: []string{"UK\nUnited Kingdom\nGreat Britain", "France\nFR"},
	})
	requireValue(t, "sc", resp.GetSc(), 0.75)
	if got := membersOf(resp.GetClusters()); !slices.EqualFunc(got, [][]int{{0, 1, 2, 4}, {3}}, slices.Equal) {
		t.Errorf("clusters %v", got)
	}
}

func TestNVCOfRequest(t *testing.T) {
	v := everything(entail.Scores{Contradiction: 1, ThreeClass: true})
	resp := run(v, &plumblinev1.ScoreConfidenceRequest{
		MainAnswer: "Answer: Paris \nin France",
		PTrue:      ptr(0.8),
		Alternatives: []*plumblinev1.Alternative{
			{Text: "paris.", PTrue: ptr(0.7), Logprob: ptr(-0.1)},  // the main answer again
			{Text: "Lyon", PTrue: ptr(0.1), Logprob: ptr(-3.0)},    // the worse of two
			{Text: "LYON.", PTrue: ptr(0.6), Logprob: ptr(-2.0)},   // the better one is kept
			{Text: " \nNice", PTrue: ptr(0.6), Logprob: ptr(-1.0)}, // blank after its first line
			{Text: "Bonn", Logprob: ptr(-4.0)},
		},
	})
	requireValue(t, "nvc", resp.GetNvc(), 0.8/1.4)
	if resp.GetNvc().GetNUsed() != 1 || !strings.Contains(resp.GetNvc().GetReason(), "P(true): 1") || !strings.Contains(resp.GetNvc().GetReason(), "candidate: 3") {
		t.Errorf("nvc %v", resp.GetNvc())
	}
	requireReason(t, resp.GetFinalConf(), statusMissing, "sc_dinco")

	resp = run(v, &plumblinev1.ScoreConfidenceRequest{MainAnswer: "...", PTrue: ptr(0.8)})
	requireValue(t, "nvc of an answer of full stops", resp.GetNvc(), 0.8)

	resp = run(v, &plumblinev1.ScoreConfidenceRequest{
		MainAnswer: "Paris", PTrue: ptr(0.8),
		Alternatives: []*plumblinev1.Alternative{{Text: "Lyon", PTrue: ptr(0.1), Logprob: ptr(-3.0)}, {Text: "LYON", PTrue: ptr(0.6)}},
	})
	requireValue(t, "nvc in the given order", resp.GetNvc(), 0.8) // D = 0.9
	if len(resp.GetWarnings()) != 1 {
		t.Errorf("warnings %v", resp.GetWarnings())
	}
}

func TestPTrueSources(t *testing.T) {
	tokens := []*plumblinev1.TokenLogprob{
		{Token: "ĠYes", Logprob: ptr(math.Log(0.6))}, {Token: "▁no\n", Logprob: ptr(math.Log(0.2))}, {Token: "Yes", Logprob: ptr(-9999.0)}, {Token: "NO"},
	}
	resp := run(nil, &plumblinev1.ScoreConfidenceRequest{FirstTokenLogprobs: tokens})
	requireValue(t, "p_true", resp.GetPTrue(), 0.75)
	if resp.GetPTrue().GetNUsed() != 2 || len(resp.GetLabelDistribution()) != 0 {
		t.Errorf("p_true %v, labels %v", resp.GetPTrue(), resp.GetLabelDistribution())
	}
	resp = run(nil, &plumblinev1.ScoreConfidenceRequest{FirstTokenLogprobs: tokens, PTrue: ptr(0.1)})
	requireValue(t, "p_true", resp.GetPTrue(), 0.1)
	requireValue(t, "label_mass", resp.GetLabelMass(), 0.8)

	resp = run(nil, &plumblinev1.ScoreConfidenceRequest{
		Labels:             []string{"[Retrieval]", "[No Retrieval]"},
		FirstTokenLogprobs: []*plumblinev1.TokenLogprob{{Token: "[No Retrieval]", Logprob: ptr(math.Log(0.98))}},
	})
	requireReason(t, resp.GetPTrue(), statusMissing, "labels")
	if d := resp.GetLabelDistribution(); len(d) != 2 || d[0].GetProbability() != 0 || d[1].GetProbability() != 1 {
		t.Errorf("distribution %v", d)
	}
}

// A label's share rises with its probability: log-probabilities divided by
// each other would fall.
func TestLabelShareRises(t *testing.T) {
	var before float64
	for p := 0.1; p < 0.95; p += 0.1 {
		resp := run(nil, &plumblinev1.ScoreConfidenceRequest{
			Labels:             []string{"A", "B"},
			FirstTokenLogprobs: []*plumblinev1.TokenLogprob{{Token: "A", Logprob: ptr(math.Log(p))}, {Token: "B", Logprob: ptr(math.Log(1 - p))}},
		})
		got := resp.GetLabelDistribution()[0].GetProbability()
		if got <= before || math.Abs(got-p) > tolerance {
			t.Errorf("P(A) = %v gives %v after %v", p, got, before)
		}
		before = got
	}
}

func TestMissingLogProbs(t *testing.T) {
	resp := run(nil, &plumblinev1.ScoreConfidenceRequest{Samples: []*plumblinev1.Sample{
		{Text: "a", Logprob: ptr(-1.0)},
		{Text: "b", TokenLogprobs: []float64{-1, -9999, -3}},
		{Text: "c", TokenLogprobs: []float64{-9999, -10000}, Logprob: ptr(-1.0)},
		{Text: "d"},
	}})
	requireValue(t, "sequence_entropy", resp.GetSequenceEntropy(), 1.5)
	if resp.GetSemanticEntropyWeighted().GetNUsed() != 2 || len(resp.GetWarnings()) != 1 {
		t.Errorf("weighted %v, warnings %v", resp.GetSemanticEntropyWeighted(), resp.GetWarnings())
	}
	// A sum that lacks a token would claim too high a likelihood.
	resp = run(nil, &plumblinev1.ScoreConfidenceRequest{
		SequenceScore: plumblinev1.SequenceScore_SEQUENCE_SCORE_SUM,
		Samples:       []*plumblinev1.Sample{{Text: "a", TokenLogprobs: []float64{-1, -9999}}, {Text: "b", TokenLogprobs: []float64{-1, -2}}},
	})
	requireValue(t, "sequence_entropy", resp.GetSequenceEntropy(), 3)
}

func TestDoubtfulTokensHaveByteOffsets(t *testing.T) {
	draft := &plumblinev1.Draft{}
	for _, token := range []struct {
		text string
		p    float64
	}{{"Zü", 0.9}, {"rich", 0.4}, {" 東京", 0.1}, {"!", 0.41}} {
		draft.Tokens = append(draft.Tokens, &plumblinev1.DraftToken{Token: token.text, Logprob: ptr(math.Log(token.p))})
	}
	resp := run(nil, &plumblinev1.ScoreConfidenceRequest{Drafts: []*plumblinev1.Draft{draft}})
	text := "Zürich 東京!"
	var got []string
	for _, d := range resp.GetDoubtfulTokens() {
		got = append(got, text[d.GetStart():d.GetEnd()])
	}
	if !slices.Equal(got, []string{"rich", " 東京"}) {
		t.Errorf("doubtful %q", got)
	}
	requireValue(t, "min_token_probability", resp.GetMinTokenProbability(), 0.1)
	resp = run(nil, &plumblinev1.ScoreConfidenceRequest{Drafts: []*plumblinev1.Draft{draft}, DoubtfulTokenThreshold: ptr(0.0)})
	if len(resp.GetDoubtfulTokens()) != 0 {
		t.Errorf("doubtful at threshold 0: %v", resp.GetDoubtfulTokens())
	}
}

// One top token of middling probability is not certainty: the entropy counts
// what it leaves.
func TestTokenEntropyOfOneTopToken(t *testing.T) {
	resp := run(nil, &plumblinev1.ScoreConfidenceRequest{Drafts: []*plumblinev1.Draft{draftOf([][]float64{{math.Log(0.6)}, {}})}})
	requireValue(t, "mean_token_entropy", resp.GetMeanTokenEntropy(), -0.6*math.Log(0.6)-0.4*math.Log(0.4))
	if resp.GetMeanTokenEntropy().GetNUsed() != 1 {
		t.Errorf("used %d positions", resp.GetMeanTokenEntropy().GetNUsed())
	}
	requireStatus(t, resp, statusMissing, "margin")
}

func TestPrefixDivergenceEndsWithTheShortest(t *testing.T) {
	draft := func(tokens ...string) *plumblinev1.Draft {
		d := &plumblinev1.Draft{}
		for _, token := range tokens {
			d.Tokens = append(d.Tokens, &plumblinev1.DraftToken{Token: token})
		}
		return d
	}
	resp := run(nil, &plumblinev1.ScoreConfidenceRequest{Drafts: []*plumblinev1.Draft{draft("a", "b"), draft(), draft("a", "c", "d")}})
	requireValue(t, "prefix_divergence", resp.GetPrefixDivergence(), 0.25)
	if resp.GetPrefixDivergence().GetNUsed() != 2 {
		t.Errorf("used %d drafts", resp.GetPrefixDivergence().GetNUsed())
	}
}

func TestCancelledCall(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	resp := confidence.Score(ctx, entailtest.Overlap(), full())
	requireStatus(t, resp, statusDeadline, append(slices.Clone(verified), "lexical_similarity")...)
}

func TestAThousandSamples(t *testing.T) {
	req := &plumblinev1.ScoreConfidenceRequest{MainAnswer: "answer 0"}
	for i := range 1000 {
		req.Samples = append(req.Samples, &plumblinev1.Sample{Text: fmt.Sprintf("answer %d", i%500), Logprob: ptr(-float64(i))})
		req.Vectors = append(req.Vectors, &plumblinev1.Vector{Values: []float32{float32(i % 7), float32(i % 11), 1}})
	}
	resp := run(nil, req)
	requireStatus(t, resp, statusOK, "sc", "semantic_entropy", "semantic_entropy_weighted", "lexical_similarity", "gram_logdet")
	requireValue(t, "sc", resp.GetSc(), 0.002)
	if len(resp.GetClusters()) != 500 {
		t.Errorf("%d clusters", len(resp.GetClusters()))
	}
}

// Repeated texts are verified once, and their likelihoods taken once.
func TestDuplicatedSamples(t *testing.T) {
	recorder := entailtest.NewRecorder(everything(entailtest.Support(0.9)))
	req := &plumblinev1.ScoreConfidenceRequest{Equivalence: plumblinev1.Equivalence_EQUIVALENCE_STRICT}
	for _, s := range []struct {
		text string
		p    float64
	}{{"Paris", 0.6}, {"Paris", 0.6}, {"Paris", 0.6}, {"It's Paris", 0.3}, {"London", 0.1}} {
		req.Samples = append(req.Samples, &plumblinev1.Sample{Text: s.text, Logprob: ptr(math.Log(s.p))})
	}
	resp := run(recorder, req)
	requireStatus(t, resp, statusOK, "semantic_entropy", "semantic_entropy_weighted")
	if n := recorder.Count(entail.Pair{Premise: "Paris", Hypothesis: "London"}); n != 1 || resp.GetPairs() != 9 {
		t.Errorf("one pair asked %d times, %d pairs in all", n, resp.GetPairs())
	}
}

// No request, however malformed, may change under the scorer's hands.
func TestRequestIsNotChanged(t *testing.T) {
	req := full()
	before := proto.Clone(req)
	run(everything(entailtest.Support(0.5)), req)
	if !proto.Equal(before, req) {
		t.Error("the request was changed")
	}
}
