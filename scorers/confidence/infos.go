package confidence

import plumblinev1 "plumbline/proto/plumbline/v1"

// Infos returns the metadata of every score of ScoreConfidenceResponse, in the
// order of its fields; each name is that of the field.
func Infos() []*plumblinev1.ScoreInfo {
	const (
		sure   = plumblinev1.Direction_DIRECTION_HIGHER_IS_CONFIDENT
		unsure = plumblinev1.Direction_DIRECTION_HIGHER_IS_UNCERTAIN

		free         = "free"
		verifier     = "verifier"
		maybe        = "verifier, unless the rule is exact"
		probability  = "probability"
		share        = "share"
		nats         = "nats"
		number       = "number"
		consistency  = "consistency"
		entropy      = "entropy"
		graph        = "graph"
		token        = "token"
		verbalized   = "verbalized"
		dincoPaper   = "DiNCo (Wang and Stengel-Eskin 2026)"
		entropyPaper = "semantic entropy (Kuhn et al. 2023; Farquhar et al. 2024)"
		graphPaper   = "Lin et al. 2023, as coded in lm-polygraph"
		targPaper    = "TARG (arXiv 2511.09803)"
		flarePaper   = "FLARE (Jiang et al. 2023)"
	)
	info := func(name, description string, bounds *plumblinev1.Range, unit string, direction plumblinev1.Direction, family, cost, source string, needs ...string) *plumblinev1.ScoreInfo {
		return &plumblinev1.ScoreInfo{
			Name: name, Description: description, Range: bounds, Unit: unit, Direction: direction,
			Family: family, Cost: cost, Source: source, Needs: needs,
		}
	}
	atLeast := func(low float64) *plumblinev1.Range { return &plumblinev1.Range{Min: &low} }
	within := func(low, high float64) *plumblinev1.Range { return &plumblinev1.Range{Min: &low, Max: &high} }

	return []*plumblinev1.ScoreInfo{
		info("sc", "Share of the samples that agree with the main answer by the echoed rule.", within(0, 1), share, sure, consistency, maybe,
			"Self-consistency: agreeing / n; under AGREEMENT_DINCO (agreeing + 1) / (n + 1)", "main_answer", "samples"),
		info("nvc", "P(true) of the main answer, shared with the alternatives that contradict it.", within(0, 1), probability, sure, verbalized, verifier,
			dincoPaper+": p0 / D if D > 1, else p0; D = p0 + Σ p_j·w_j/u_j", "main_answer", "p_true", "alternatives"),
		info("final_conf", "Mean of nvc and sc_dinco.", within(0, 1), probability, sure, consistency, verifier,
			dincoPaper+": (nvc + sc_dinco) / 2", "main_answer", "p_true", "alternatives", "samples"),
		info("sc_dinco", "Share of the answers, the main answer included, whose mean entailment with the main answer is above 0.9.", within(0, 1), share, sure, consistency, verifier,
			dincoPaper+": (agreeing + 1) / (n + 1)", "main_answer", "samples"),
		info("p_true", "The generator's own probability that the main answer is true.", within(0, 1), probability, sure, verbalized, free,
			"P(true) (Kadavath et al. 2022): P(yes) / (P(yes) + P(no))", "p_true or first_token_logprobs"),
		info("label_mass", "Probability that the first token is one of the labels, or yes or no.", within(0, 1), probability, sure, token, free,
			"Sum over all one-token spellings of the labels", "first_token_logprobs"),
		info("semantic_entropy", "Entropy over the clusters of responses.", atLeast(0), nats, unsure, entropy, maybe,
			entropyPaper+": -Σ p·ln p over shares of responses", "samples"),
		info("semantic_entropy_normalized", "semantic_entropy over its greatest value.", within(0, 1), share, unsure, entropy, maybe,
			entropyPaper+"; UQLM: entropy / ln N, main answer included", "samples"),
		info("semantic_entropy_weighted", "Entropy over the clusters, weighted by likelihood.", atLeast(0), nats, unsure, entropy, maybe,
			entropyPaper+": Rao estimator, in logarithms", "samples.logprob or samples.token_logprobs"),
		info("sequence_entropy", "Monte-Carlo estimate of the entropy over sequences.", atLeast(0), nats, unsure, entropy, free,
			"Malinin and Gales 2021: negated mean log-likelihood", "samples.logprob or samples.token_logprobs"),
		info("semantic_sets", "Number of groups of responses that support each other.", atLeast(1), number, unsure, graph, verifier,
			graphPaper+": components of entailment > contradiction both ways", "samples"),
		info("degree_matrix", "One minus the mean entailment between responses.", within(0, 1), share, unsure, graph, verifier,
			graphPaper+": 1 - ΣW/n²", "samples"),
		info("eigenvalues_laplacian", "A continuous count of the groups of responses.", atLeast(0), number, unsure, graph, verifier,
			graphPaper+": Σ max(0, 1 - λ) of I - D^-½·W·D^-½", "samples"),
		info("eccentricity", "Spread of the responses in the leading eigenvectors of their graph.", atLeast(0), number, unsure, graph, verifier,
			graphPaper+": norm of the centred eigenvectors with λ < 0.9", "samples"),
		info("luq", "One minus the mean support between responses, neutral left out.", within(0, 1), share, unsure, graph, verifier,
			"LUQ (Zhang et al. 2024): 1 - mean of E/(E + C)", "samples"),
		info("lexical_similarity", "Mean overlap in words between responses.", within(0, 1), share, sure, consistency, free,
			"Fomicheva et al. 2020: mean pairwise ROUGE-L (Lin 2004), no stemming", "samples"),
		info("verbalized", "The confidence that the generator states.", within(0, 1), probability, sure, verbalized, free,
			"Parsed; words by the midpoints of Intelligence Community Directive 203", "raw_output"),
		info("mean_token_entropy", "Mean entropy of the first draft's token distributions.", atLeast(0), nats, unsure, token, free,
			targPaper+": the top tokens, and what they leave as one outcome", "drafts.tokens.top"),
		info("margin", "Mean closeness of the two best tokens of the first draft.", within(0, 1), number, unsure, token, free,
			targPaper+": mean of exp(-gap/β)", "drafts.tokens.top"),
		info("prefix_divergence", "Mean share of drafts that leave the commonest token; at most (N - 1)/N.", within(0, 1), share, unsure, token, free,
			targPaper+": mean of 1 - share of the commonest token", "drafts (two or more)"),
		info("min_token_probability", "Least token probability of the first draft.", within(0, 1), probability, sure, token, free,
			flarePaper, "drafts.tokens.logprob"),
		info("mean_token_probability", "Mean token probability of the first draft.", within(0, 1), probability, sure, token, free,
			flarePaper, "drafts.tokens.logprob"),
		info("perplexity", "Perplexity of the first draft.", atLeast(1), number, unsure, token, free,
			"exp(-mean log-probability)", "drafts.tokens.logprob"),
		info("gram_logdet", "Volume spanned by the samples' vectors.", &plumblinev1.Range{}, nats, unsure, entropy, free,
			"SeaKR (Yao et al. 2025), EigenScore (Chen et al. 2024): (1/k)·ln det(Z·J·Zᵀ + αI); the published threshold -6 holds for k = 20", "vectors"),
	}
}
