package corpus_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"plumbline/internal/corpus"
)

// goldenTranslations are the worked values of formulas whose inputs a request
// can carry.
func goldenTranslations() map[string]translation {
	confidence := func(translate func(sharedCase) []corpus.Case) translation { return asks("confidence", translate) }
	gate := func(translate func(sharedCase) []corpus.Case) translation { return asks("gate", translate) }
	return map[string]translation{
		"ptrue-variants-summed":                confidence(pTrue),
		"ptrue-too-little-mass":                confidence(pTrue),
		"ptrue-sentinel":                       confidence(pTrue),
		"ptrue-two-logits":                     confidence(twoLogits),
		"nvc-single-candidate":                 confidence(singleCandidate),
		"nvc-main-without-p-true":              confidence(mainWithoutPTrue),
		"sc-no-samples":                        confidence(noSamples),
		"sc-dinco-all-agree":                   confidence(allAgree),
		"sc-dinco-empty-sample-stays-in-n":     confidence(emptySample),
		"final-conf-one-part-missing":          confidence(partMissing),
		"agreement-rate-normalised":            confidence(agreementRate),
		"normalise-the-o-brien_case-vol-2":     confidence(normalised),
		"normalise-rock-and-roll":              confidence(normalised),
		"normalise-a-d-1066":                   confidence(normalised),
		"grounding-no-passages":                asks("grounding", noPassages),
		"grounding-no-claims":                  asks("grounding", noClaims),
		"grounding-duplicate-claims":           asks("grounding", duplicateClaims),
		"minicheck-empty-document":             asks("grounding", emptyDocument),
		"se-discrete":                          confidence(discreteEntropy),
		"se-discrete-one-cluster":              confidence(discreteEntropy),
		"se-discrete-all-different":            confidence(discreteEntropy),
		"se-discrete-single-sample":            confidence(discreteEntropy),
		"se-normalised-uqlm":                   confidence(normalisedWithMain),
		"se-rao-duplicates":                    confidence(raoDuplicates),
		"se-rao-underflow":                     confidence(rao),
		"se-one-sample-without-logprobs":       confidence(rao),
		"se-no-logprobs-at-all":                confidence(rao),
		"se-rao-length-normalised":             confidence(raoByLength),
		"graph-single-answer":                  confidence(singleAnswer),
		"lexical-similarity-rouge-l":           confidence(lexical),
		"gram-two-vectors":                     confidence(gram),
		"gram-identical-vectors":               confidence(gram),
		"gram-constant-vectors":                confidence(gram),
		"gram-one-vector":                      confidence(gram),
		"gram-empty-answers-left-out":          confidence(gram),
		"gram-identical-k5-against-delta":      confidence(gramCopies).and(gate(gramCopiesGate)),
		"gram-identical-k20-against-delta":     confidence(gramCopies).and(gate(gramCopiesGate)),
		"gram-gate-border":                     gate(gramBorder),
		"targ-entropy":                         confidence(tokenEntropy),
		"targ-margin":                          confidence(margin),
		"targ-margin-order":                    confidence(marginOrder),
		"targ-margin-beta":                     confidence(marginBeta),
		"targ-divergence":                      confidence(divergence),
		"targ-divergence-identical":            confidence(divergence),
		"targ-divergence-one-draft":            confidence(divergence),
		"targ-threshold-out-of-range":          gate(thresholdOutOfRange),
		"bu-route":                             gate(route),
		"calvert-budget-exhausted-commit":      gate(budgetExhausted),
		"telemetry-confidence-after-retrieval": asks("observe", afterRetrieval),
	}
}

// absent is an expectation that nothing stands at a path.
var absent = map[string]any{"absent": true}

// valueOrStatus expects what a golden case expects of one score: a number, or
// an object with a status.
func valueOrStatus(want map[string]any, score string, expected any) {
	if object, isObject := expected.(map[string]any); isObject {
		want[score+".status"] = object["status"]
		want[score+".value"] = absent
		return
	}
	want[score+".value"] = expected
}

// expectedScore is valueOrStatus of a case that expects either a number under
// name or a status beside it.
func expectedScore(c sharedCase, want map[string]any, score, name string) {
	if status := c.at("expected.status"); status != nil {
		valueOrStatus(want, score, map[string]any{"status": status})
		return
	}
	valueOrStatus(want, score, c.at("expected."+name))
}

func pTrue(c sharedCase) []corpus.Case {
	want := map[string]any{"label_mass.value": c.at("expected.mass")}
	expectedScore(c, want, "p_true", "p_true")
	return one(map[string]any{"main_answer": "x", "first_token_logprobs": c.at("inputs.top_logprobs")}, want)
}

// twoLogits gives the two logits as the log-probabilities that they make.
func twoLogits(c sharedCase) []corpus.Case {
	yes, no := c.number("inputs.logits.Yes"), c.number("inputs.logits.No")
	total := math.Log(math.Exp(yes) + math.Exp(no))
	return one(map[string]any{"main_answer": "x", "first_token_logprobs": []any{
		map[string]any{"token": "Yes", "logprob": yes - total},
		map[string]any{"token": "No", "logprob": no - total},
	}}, map[string]any{"p_true.value": c.at("expected.p_true")})
}

func singleCandidate(c sharedCase) []corpus.Case {
	return one(map[string]any{"main_answer": "x", "p_true": c.at("inputs.p_true[0]")}, map[string]any{"nvc.value": c.at("expected.nvc")})
}

func mainWithoutPTrue(c sharedCase) []corpus.Case {
	var alternatives []any
	for i := range c.list("inputs.p_true")[1:] {
		alternatives = append(alternatives, map[string]any{"text": fmt.Sprint("rival ", i), "p_true": c.at(fmt.Sprintf("inputs.p_true[%d]", i+1))})
	}
	want := map[string]any{"final_conf.value": absent, "final_conf.status": "STATUS_MISSING_INPUT"}
	expectedScore(c, want, "nvc", "nvc")
	return one(map[string]any{"main_answer": "x", "alternatives": alternatives, "samples": texts("x")}, want)
}

func texts(of ...any) []any {
	var samples []any
	for _, text := range of {
		samples = append(samples, map[string]any{"text": text})
	}
	return samples
}

func noSamples(c sharedCase) []corpus.Case {
	want := map[string]any{}
	expectedScore(c, want, "sc", "sc")
	expectedScore(c, want, "sc_dinco", "sc")
	return one(map[string]any{"main_answer": "x"}, want)
}

// allAgree: answers whose text is the main answer's agree without a verifier.
func allAgree(c sharedCase) []corpus.Case {
	same := slices.Repeat([]any{"Paris"}, len(c.list("inputs.agreement_with_main")))
	return one(map[string]any{"main_answer": "Paris", "samples": texts(same...), "agreement": "AGREEMENT_DINCO"}, map[string]any{
		"sc.value": c.at("expected.sc"), "sc_dinco.value": c.at("expected.sc"),
	})
}

func emptySample(c sharedCase) []corpus.Case {
	return one(map[string]any{
		"question":    "What is the capital of France?",
		"main_answer": "Paris",
		"samples":     texts(c.list("inputs.samples")...),
		"agreement":   "AGREEMENT_DINCO",
	}, map[string]any{"sc.value": c.at("expected.sc"), "sc.n_used": c.at("expected.n_samples")})
}

func partMissing(sharedCase) []corpus.Case {
	return one(map[string]any{"main_answer": "Paris", "samples": texts("Paris", "Paris"), "agreement": "AGREEMENT_DINCO"}, map[string]any{
		"sc.value": 1, "nvc.value": absent, "final_conf.value": absent, "final_conf.status": "STATUS_MISSING_INPUT",
	})
}

func agreementRate(c sharedCase) []corpus.Case {
	return one(map[string]any{
		"main_answer":   c.at("inputs.main"),
		"samples":       texts(c.list("inputs.samples")...),
		"agreement":     "AGREEMENT_EXACT",
		"normalization": "NORMALIZATION_SQUAD",
	}, map[string]any{"sc.value": c.at("expected.rate")})
}

// normalised: a text agrees with its normal form under the rule that makes it,
// and not with that of the other rule.
func normalised(c sharedCase) []corpus.Case {
	var cases []corpus.Case
	for rule, name := range map[string]string{"triviaqa": "NORMALIZATION_TRIVIAQA", "squad": "NORMALIZATION_SQUAD"} {
		other := map[string]string{"triviaqa": "squad", "squad": "triviaqa"}[rule]
		for sample, agrees := range map[string]int{rule: 1, other: 0} {
			cases = append(cases, corpus.Case{
				ID: rule + " against the form of " + sample,
				Request: map[string]any{
					"main_answer":   c.at("inputs.text"),
					"samples":       texts(c.at("expected." + sample)),
					"normalization": name,
				},
				Want: map[string]any{"sc.value": agrees},
			})
		}
	}
	return cases
}

func noPassages(c sharedCase) []corpus.Case {
	return one(map[string]any{"claims": []any{map[string]any{"text": c.at("inputs.claims[0]")}}}, map[string]any{
		"status": c.at("expected.status"), "g_mean.value": absent, "g_min.value": absent,
	})
}

func noClaims(c sharedCase) []corpus.Case {
	return one(map[string]any{"evidence": []any{map[string]any{"text": c.at("inputs.passages[0]")}}}, map[string]any{
		"status": c.at("expected.status"), "g_mean.value": absent, "g_min.value": absent,
	})
}

// duplicateClaims: two wordings of one claim count once.
func duplicateClaims(c sharedCase) []corpus.Case {
	var claims []any
	for _, text := range c.list("inputs.claims") {
		claims = append(claims, map[string]any{"text": text})
	}
	return one(map[string]any{
		"mode":     "MODE_CALVERT",
		"evidence": []any{map[string]any{"text": "Paris is the capital of France."}},
		"claims":   claims,
	}, map[string]any{"scored": c.at("expected.claims_scored"), "g_mean.n_used": c.at("expected.claims_scored")})
}

func emptyDocument(c sharedCase) []corpus.Case {
	return one(map[string]any{
		"evidence": []any{map[string]any{"text": c.at("inputs.document")}},
		"claims":   []any{map[string]any{"text": c.at("inputs.claim")}},
	}, map[string]any{"status": c.at("expected.status"), "g_mean.value": absent})
}

// clustered are answers that are grouped by aliases alone: one wording for
// each, so that none counts as a duplicate.
func clustered(clusters []any) (answers, aliases []any) {
	sets := map[float64][]string{}
	for i, cluster := range clusters {
		text := fmt.Sprint("wording ", i)
		answers = append(answers, text)
		number, _ := cluster.(float64)
		sets[number] = append(sets[number], text)
	}
	for _, number := range slices.Sorted(maps.Keys(sets)) {
		aliases = append(aliases, strings.Join(sets[number], "\n"))
	}
	return answers, aliases
}

func discreteEntropy(c sharedCase) []corpus.Case {
	answers, aliases := clustered(c.list("inputs.clusters"))
	want := map[string]any{"semantic_entropy.value": c.at("expected.entropy")}
	valueOrStatus(want, "semantic_entropy_normalized", c.at("expected.normalized"))
	return one(map[string]any{"samples": texts(answers...), "aliases": aliases}, want)
}

func normalisedWithMain(c sharedCase) []corpus.Case {
	answers, aliases := clustered(c.list("inputs.clusters_main_first"))
	return one(map[string]any{"main_answer": answers[0], "samples": texts(answers[1:]...), "aliases": aliases}, map[string]any{
		"semantic_entropy.value":            c.at("expected.entropy"),
		"semantic_entropy_normalized.value": c.at("expected.normalized"),
	})
}

// withLogprobs puts log-probabilities on answers, none where there is none.
func withLogprobs(answers, logprobs []any) []any {
	var samples []any
	for i, text := range answers {
		sample := map[string]any{"text": text}
		if logprobs[i] != nil {
			sample["logprob"] = logprobs[i]
		}
		samples = append(samples, sample)
	}
	return samples
}

func raoDuplicates(c sharedCase) []corpus.Case {
	request := func(duplicates string) map[string]any {
		return map[string]any{
			"samples":    withLogprobs(c.list("inputs.texts"), c.list("inputs.logprobs")),
			"aliases":    []any{"Paris\nIt's Paris"},
			"duplicates": duplicates,
		}
	}
	return []corpus.Case{
		{ID: "once", Request: request("DUPLICATES_ONCE"), Want: map[string]any{
			"semantic_entropy_weighted.value": c.at("expected.rao_distinct_texts_once"),
			"semantic_entropy.value":          c.at("expected.discrete"),
		}},
		{ID: "each", Request: request("DUPLICATES_EACH"), Want: map[string]any{
			"semantic_entropy_weighted.value": c.at("expected.rao_each_occurrence_jlko"),
		}},
	}
}

func rao(c sharedCase) []corpus.Case {
	answers, aliases := clustered(c.list("inputs.clusters"))
	want := map[string]any{}
	expectedScore(c, want, "semantic_entropy_weighted", "entropy")
	if used := c.at("expected.n_used"); used != nil {
		want["semantic_entropy_weighted.n_used"] = used
	}
	return one(map[string]any{"samples": withLogprobs(answers, c.list("inputs.logprobs")), "aliases": aliases}, want)
}

func raoByLength(c sharedCase) []corpus.Case {
	answers, aliases := clustered(c.list("inputs.clusters"))
	var cases []corpus.Case
	for rule, suffix := range map[string]string{"SEQUENCE_SCORE_MEAN": "length_normalised", "SEQUENCE_SCORE_SUM": "sequence"} {
		var samples []any
		for i, text := range answers {
			samples = append(samples, map[string]any{"text": text, "token_logprobs": c.at(fmt.Sprintf("inputs.token_logprobs[%d]", i))})
		}
		cases = append(cases, corpus.Case{
			ID:      suffix,
			Request: map[string]any{"samples": samples, "aliases": aliases, "sequence_score": rule},
			Want: map[string]any{
				"semantic_entropy_weighted.value": c.at("expected.entropy_" + suffix),
				"sequence_entropy.value":          c.at("expected.mc_entropy_" + suffix),
			},
		})
	}
	return cases
}

func singleAnswer(c sharedCase) []corpus.Case {
	want := map[string]any{}
	for _, score := range []string{"degree_matrix", "eigenvalues_laplacian", "eccentricity", "luq", "lexical_similarity", "semantic_sets"} {
		valueOrStatus(want, score, c.at("expected."+score))
	}
	return one(map[string]any{"samples": texts("an answer"), "agreement": "AGREEMENT_ENTAIL_BOTH"}, want)
}

func lexical(c sharedCase) []corpus.Case {
	return one(map[string]any{"samples": texts(c.list("inputs.texts")...)}, map[string]any{
		"lexical_similarity.value": c.at("expected.mean_pairwise_rouge_l"),
	})
}

// vectorsRequest has a vector for each answer.
func vectorsRequest(c sharedCase, answers, vectors []any) map[string]any {
	request := map[string]any{"samples": texts(answers...), "gram_alpha": c.at("inputs.alpha")}
	var list []any
	for _, vector := range vectors {
		list = append(list, map[string]any{"values": vector})
	}
	request["vectors"] = list
	return request
}

func gram(c sharedCase) []corpus.Case {
	vectors, answers := c.list("inputs.vectors"), c.list("inputs.answers")
	for i := len(answers); i < len(vectors); i++ {
		answers = append(answers, fmt.Sprint("answer ", i))
	}
	want := map[string]any{}
	expectedScore(c, want, "gram_logdet", "gram_logdet")
	if used := c.at("expected.n_used"); used != nil {
		want["gram_logdet.n_used"] = used
	}
	return one(vectorsRequest(c, answers, vectors), want)
}

func gramCopies(c sharedCase) []corpus.Case {
	copies := int(c.number("inputs.copies"))
	return one(vectorsRequest(c, slices.Repeat([]any{"same"}, copies), slices.Repeat([]any{c.at("inputs.vector")}, copies)), map[string]any{
		"gram_logdet.value": map[string]any{"near": c.at("expected.gram_logdet"), "within": 1e-8},
	})
}

func decide(policy string, inputs, thresholds map[string]any) map[string]any {
	return map[string]any{"policy": policy, "inputs": inputs, "thresholds": thresholds}
}

func gramCopiesGate(c sharedCase) []corpus.Case {
	return one(decide("seakr", map[string]any{"gram_logdet": c.at("expected.gram_logdet")}, map[string]any{"delta": c.at("inputs.delta")}),
		map[string]any{"action": c.at("expected.action")})
}

func gramBorder(c sharedCase) []corpus.Case {
	var cases []corpus.Case
	for i, score := range c.list("inputs.scores") {
		cases = append(cases, corpus.Case{
			ID:      fmt.Sprint("score ", i),
			Request: decide("seakr", map[string]any{"gram_logdet": score}, map[string]any{"delta": c.at("inputs.delta")}),
			Want:    map[string]any{"action": c.at(fmt.Sprintf("expected.actions[%d]", i))},
		})
	}
	return cases
}

// draftOf is a draft whose positions have these probabilities.
func draftOf(positions ...[]float64) []any {
	var tokens []any
	for i, probabilities := range positions {
		var top []any
		for j, p := range probabilities {
			if p > 0 {
				top = append(top, map[string]any{"token": fmt.Sprintf(" t%d-%d", i, j), "logprob": math.Log(p)})
			}
		}
		tokens = append(tokens, map[string]any{"token": fmt.Sprintf(" t%d-0", i), "logprob": math.Log(probabilities[0]), "top": top})
	}
	return []any{map[string]any{"tokens": tokens}}
}

func tokenEntropy(c sharedCase) []corpus.Case {
	var positions [][]float64
	for i := range c.list("inputs.distributions") {
		var probabilities []float64
		for j := range c.list(fmt.Sprintf("inputs.distributions[%d]", i)) {
			probabilities = append(probabilities, c.number(fmt.Sprintf("inputs.distributions[%d][%d]", i, j)))
		}
		positions = append(positions, probabilities)
	}
	return one(map[string]any{"drafts": draftOf(positions...)}, map[string]any{"mean_token_entropy.value": c.at("expected.mean_token_entropy")})
}

// gapDraft is a draft whose two best tokens lie these gaps apart.
func gapDraft(c sharedCase, path string) []any {
	var positions [][]float64
	for i := range c.list(path) {
		second := math.Exp(-c.number(fmt.Sprintf("%s[%d]", path, i)))
		positions = append(positions, []float64{1 / (1 + second), second / (1 + second)})
	}
	return draftOf(positions...)
}

func margin(c sharedCase) []corpus.Case {
	return one(map[string]any{"drafts": gapDraft(c, "inputs.gaps"), "margin_beta": c.at("inputs.beta")}, map[string]any{
		"margin.value": c.at("expected.margin"),
	})
}

func marginOrder(c sharedCase) []corpus.Case {
	var cases []corpus.Case
	for _, name := range []string{"a", "b"} {
		cases = append(cases, corpus.Case{
			ID:      name,
			Request: map[string]any{"drafts": gapDraft(c, "inputs.gaps_"+name), "margin_beta": c.at("inputs.beta")},
			Want:    map[string]any{"margin.value": c.at("expected.margin_" + name)},
		})
	}
	return cases
}

func marginBeta(c sharedCase) []corpus.Case {
	var positions [][]float64
	for i := range c.list("inputs.logprobs_top2") {
		at := fmt.Sprintf("inputs.logprobs_top2[%d]", i)
		positions = append(positions, []float64{math.Exp(c.number(at + "[0]")), math.Exp(c.number(at + "[1]"))})
	}
	return one(map[string]any{"drafts": draftOf(positions...), "margin_beta": c.at("inputs.beta")}, map[string]any{
		"margin.value": c.at("expected.margin"),
	})
}

func divergence(c sharedCase) []corpus.Case {
	var drafts []any
	for i := range c.list("inputs.prefixes") {
		var tokens []any
		for _, token := range c.list(fmt.Sprintf("inputs.prefixes[%d]", i)) {
			tokens = append(tokens, map[string]any{"token": token})
		}
		drafts = append(drafts, map[string]any{"tokens": tokens})
	}
	want := map[string]any{}
	expectedScore(c, want, "prefix_divergence", "prefix_divergence")
	return one(map[string]any{"drafts": drafts}, want)
}

func thresholdOutOfRange(c sharedCase) []corpus.Case {
	return one(decide("targ.divergence", map[string]any{"prefix_divergence": 0.5}, map[string]any{"tau": c.at("inputs.tau")}), map[string]any{
		"action":   "ACTION_NO_RETRIEVAL",
		"warnings": map[string]any{"contains": "never fires"},
	})
}

func route(c sharedCase) []corpus.Case {
	var cases []corpus.Case
	for i, confidence := range c.list("inputs.confidence") {
		cases = append(cases, corpus.Case{
			ID:      fmt.Sprint("confidence ", i),
			Request: decide("beyond_uncertainty", map[string]any{"verbalized": confidence}, map[string]any{"tau": c.at(fmt.Sprintf("inputs.tau[%d]", i))}),
			Want:    map[string]any{"action": c.at(fmt.Sprintf("expected.actions[%d]", i))},
		})
	}
	return cases
}

func budgetExhausted(c sharedCase) []corpus.Case {
	var cases []corpus.Case
	for i, inputs := range c.list("inputs.cases") {
		cases = append(cases, corpus.Case{
			ID:      fmt.Sprint("case ", i),
			Request: map[string]any{"policy": "calvert", "inputs": inputs},
			Want:    map[string]any{"action": fmt.Sprint("ACTION_", c.at(fmt.Sprintf("expected.actions[%d]", i)))},
		})
	}
	return cases
}

// afterRetrieval: with P(true) alone nvc is P(true), and one sample that
// disagrees makes DiNCo's self-consistency a half.
func afterRetrieval(c sharedCase) []corpus.Case {
	evidence := []any{map[string]any{"text": "The lake is frozen in January."}}
	want := func(turn string) map[string]any {
		return map[string]any{
			"telemetry.nvc.value":        c.at("expected.turn_2.nvc"),
			"telemetry.sc.value":         c.at("expected.turn_2.sc"),
			"telemetry.final_conf.value": c.at("expected.turn_2.final_conf"),
			"telemetry.computed_for":     c.at("inputs.turn_1.answer"),
			"telemetry.stale":            turn == "second",
			"telemetry.reused":           turn == "second",
		}
	}
	return []corpus.Case{
		{ID: "first turn", Want: want("first"), Request: map[string]any{
			"subgoal_key": "golden",
			"confidence": map[string]any{
				"question":    "What is the letter?",
				"main_answer": c.at("inputs.turn_1.answer"),
				"p_true":      c.at("inputs.turn_1.nvc"),
				"agreement":   "AGREEMENT_DINCO",
				"samples":     texts("a wholly different word"),
			},
		}},
		{ID: "second turn", Want: want("second"), Request: map[string]any{
			"subgoal_key": "golden",
			"grounding":   map[string]any{"evidence": evidence, "answer": c.at("inputs.turn_2_after_retrieve.answer")},
		}},
	}
}
