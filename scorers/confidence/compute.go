package confidence

import (
	"context"
	"strings"

	"plumbline/scorers/answer"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// Compute returns every score that the input allows. v may be nil: scores that
// need a verifier are then missing. The verifier is called at most once; the
// package's comment says for what.
func Compute(ctx context.Context, v entail.Verifier, in Input) Output {
	var out Output
	out.tokenScores(in)
	out.Verbalized = ParseVerbalized(in.RawOutput, in.ConfidenceScale)
	out.GramLogDet = gramOfSamples(in)

	r, err := newResponses(in.MainAnswer, in.Samples, answer.NewAliases(in.Normalization, in.Aliases))
	if err != nil {
		out.noResponses(err)
		return out
	}
	q := newInquiry(in.Question, in.FailOpen)
	d := newDinco(in, r, out.PTrue)
	d.need(q)
	if in.Agreement != AgreeExact && in.Agreement != AgreeDinco {
		r.needMain(q)
	}
	if in.Equivalence != EquivalentExact && len(r.index) > 1 {
		q.needAll(r.written(), true)
	}
	q.ask(ctx, v)

	out.NVC = d.nvc(q)
	out.SCDinco = d.consistency(q)
	out.FinalConf = FinalConf(out.NVC, out.SCDinco)
	out.SC = r.consistency(q, in.Agreement, out.SCDinco)
	out.Majority = r.majority()
	out.LexicalSimilarity = r.lexicalSimilarity(ctx)
	relation := newRelation(q, r, in.Equivalence)
	out.semanticScores(in, r, relation)
	out.graphScores(r, relation)
	out.Pairs, out.Usage = len(q.pairs), q.usage
	out.Warnings = warnings(in)
	return out
}

// tokenScores are those of first tokens and drafts.
func (out *Output) tokenScores(in Input) {
	switch {
	case len(in.Labels) > 0:
		out.LabelDistribution, out.LabelMass = LabelDistribution(in.FirstToken, in.Labels)
		out.PTrue = missing(0, score.MissingInput("p_true was not given, and first_token_logprobs answers a question with labels"))
	default:
		out.PTrue, out.LabelMass = YesNo(in.FirstToken)
		if len(in.FirstToken) == 0 {
			out.PTrue = missing(0, score.MissingInput("neither p_true nor first_token_logprobs was given"))
		}
	}
	if in.PTrue != nil {
		out.PTrue = value(*in.PTrue, 1)
		if err := checkProbability(in.PTrue, "p_true"); err != nil {
			out.PTrue = missing(0, err)
		}
	}

	var first Draft
	if len(in.Drafts) > 0 {
		first = in.Drafts[0]
	}
	out.MeanTokenEntropy = first.MeanTokenEntropy()
	out.Margin = first.Margin(in.MarginBeta)
	out.PrefixDivergence = PrefixDivergence(in.Drafts)
	tokens := first.TokenProbabilities(in.DoubtfulThreshold)
	out.MinTokenProbability, out.MeanTokenProbability = tokens.Min, tokens.Mean
	out.Perplexity, out.DoubtfulTokens = tokens.Perplexity, tokens.Doubtful
}

// gramOfSamples leaves out the vectors of blank samples. Vectors may come
// without samples.
func gramOfSamples(in Input) Value {
	vectors := in.Vectors
	if len(in.Samples) > 0 && len(vectors) > 0 {
		if len(vectors) != len(in.Samples) {
			return missing(0, score.InvalidInput("there are %d vectors for %d samples: give one for each, or no samples", len(vectors), len(in.Samples)))
		}
		vectors = nil
		for i, s := range in.Samples {
			if strings.TrimSpace(s.Text) != "" {
				vectors = append(vectors, in.Vectors[i])
			}
		}
	}
	return GramLogDet(vectors, in.GramAlpha)
}

// noResponses gives every score of responses the same reason.
func (out *Output) noResponses(err error) {
	none := missing(0, err)
	for _, v := range []*Value{
		&out.SC, &out.SCDinco, &out.NVC, &out.FinalConf,
		&out.SemanticEntropy, &out.SemanticEntropyNormalized, &out.SemanticEntropyWeighted, &out.SequenceEntropy,
		&out.SemanticSets, &out.DegreeMatrix, &out.EigenvaluesLaplacian, &out.Eccentricity,
		&out.LUQ, &out.LexicalSimilarity,
	} {
		*v = none
	}
	out.Majority = Majority{Err: err}
}

// needMain asks for the main answer with every different sample that is not
// blank.
func (r *responses) needMain(q *inquiry) {
	if r.main == "" {
		return
	}
	for _, text := range r.written() {
		if text != r.main {
			q.needBoth(r.main, text)
		}
	}
}

// consistency is SC under the rule.
func (r *responses) consistency(q *inquiry, rule Agreement, dinco Value) Value {
	switch {
	case rule == AgreeDinco:
		return dinco
	case len(r.samples) > 0 && r.main == "":
		return missing(0, score.MissingInput("main_answer is empty: there is nothing to agree with"))
	}
	agrees := make([]bool, len(r.samples))
	for i, n := range r.node[r.first():] {
		var err error
		if rule == AgreeExact {
			agrees[i] = r.keys[n] == r.mainKey()
		} else if agrees[i], err = r.agrees(q, rule, n); err != nil {
			return missing(0, err)
		}
	}
	return Consistency(agrees, r.sampleWeights())
}

// agrees says whether a node agrees with the main answer by entailment. A
// blank one agrees with nothing; the same text agrees without being asked.
func (r *responses) agrees(q *inquiry, rule Agreement, node int) (bool, error) {
	switch text := r.texts[node]; text {
	case "":
		return false, nil
	case r.main:
		return true, nil
	default:
		ab, ba, err := q.both(r.main, text)
		if err != nil {
			return false, err
		}
		if rule == AgreeNotContradict {
			if err := tellsContradiction(ab, ba); err != nil {
				return false, err
			}
		}
		return rule.Holds(MostProbable(ab), MostProbable(ba)), nil
	}
}

// majority is the answer that most samples give.
func (r *responses) majority() Majority {
	texts := make([]string, len(r.samples))
	for i, s := range r.samples {
		texts[i] = s.Text
	}
	return MajorityAnswer(texts, r.sampleKeys(), r.sampleWeights(), r.mainKey())
}

func (r *responses) lexicalSimilarity(ctx context.Context) Value {
	if r.count() < 2 {
		return missing(len(r.index), score.TooFew("lexical similarity needs at least two responses"))
	}
	similarity, err := LexicalSimilarity(ctx, r.texts, r.nodeWeights)
	return Value{Number: similarity, Used: len(r.index), Err: err}
}

// warnings are remarks on mixtures that are scored, but seldom meant.
func warnings(in Input) []string {
	var tokens, sequences, ordered int
	for _, s := range in.Samples {
		if len(s.TokenLogProbs) > 0 {
			tokens++
		} else if s.LogProb != nil {
			sequences++
		}
	}
	for _, a := range in.Alternatives {
		if _, ok := known(a.LogProb); ok {
			ordered++
		}
	}
	var remarks []string
	if tokens > 0 && sequences > 0 {
		remarks = append(remarks, "some samples have token_logprobs and others only logprob: make sure that they are on one scale")
	}
	if ordered > 0 && ordered < len(in.Alternatives) {
		remarks = append(remarks, "not all alternatives have a logprob: they are taken in the order given")
	}
	return remarks
}
