package confidence

import (
	"context"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/answer"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// Score computes every confidence score that the request's inputs allow. v may
// be nil if no verifier is configured; it is called at most once. The request
// is expected to have passed its validation rules, but no message makes Score
// panic. Score never fails as a whole: what cannot be computed carries its
// reason.
func Score(ctx context.Context, v entail.Verifier, req *plumblinev1.ScoreConfidenceRequest) *plumblinev1.ScoreConfidenceResponse {
	rules := effectiveRules(req)
	out := Compute(ctx, v, readRequest(req, rules))
	resp := writeScores(out)
	resp.Id = req.GetId()
	resp.ComputedFor = req.GetMainAnswer()
	resp.Agreement, resp.Clustering, resp.Equivalence = rules.agreement, rules.clustering, rules.equivalence
	resp.Normalization, resp.FailMode = rules.normalization, rules.failMode
	return resp
}

// rules are the rules in force, which the response echoes.
type rules struct {
	agreement     plumblinev1.Agreement
	clustering    plumblinev1.Clustering
	equivalence   plumblinev1.Equivalence
	normalization plumblinev1.Normalization
	failMode      plumblinev1.FailMode
}

// effectiveRules puts the defaults in place of what was not specified.
func effectiveRules(req *plumblinev1.ScoreConfidenceRequest) rules {
	r := rules{
		agreement:     orDefault(req.GetAgreement(), plumblinev1.Agreement_AGREEMENT_EXACT),
		clustering:    orDefault(req.GetClustering(), plumblinev1.Clustering_CLUSTERING_UNION_FIND),
		normalization: orDefault(req.GetNormalization(), plumblinev1.Normalization_NORMALIZATION_TRIVIAQA),
		failMode:      orDefault(req.GetFailMode(), plumblinev1.FailMode_FAIL_MODE_CLOSED),
	}
	equivalence := plumblinev1.Equivalence_EQUIVALENCE_EXACT
	if r.agreement != plumblinev1.Agreement_AGREEMENT_EXACT {
		equivalence = plumblinev1.Equivalence_EQUIVALENCE_STRICT
	}
	r.equivalence = orDefault(req.GetEquivalence(), equivalence)
	return r
}

func orDefault[E ~int32](given, otherwise E) E {
	if given == 0 {
		return otherwise
	}
	return given
}

func valueOr(given *float64, otherwise float64) float64 {
	if given == nil {
		return otherwise
	}
	return *given
}

// readRequest turns the message into plain values.
func readRequest(req *plumblinev1.ScoreConfidenceRequest, r rules) Input {
	if req == nil {
		req = &plumblinev1.ScoreConfidenceRequest{}
	}
	return Input{
		Question:          req.GetQuestion(),
		MainAnswer:        req.GetMainAnswer(),
		Samples:           readSamples(req.GetSamples()),
		Alternatives:      readAlternatives(req.GetAlternatives()),
		PTrue:             req.PTrue,
		FirstToken:        readTokens(req.GetFirstTokenLogprobs()),
		Labels:            req.GetLabels(),
		Drafts:            readDrafts(req.GetDrafts()),
		Vectors:           readVectors(req.GetVectors()),
		RawOutput:         req.GetRawOutput(),
		ConfidenceScale:   readScale(req.GetConfidenceScale()),
		Aliases:           readAliases(req.GetAliases()),
		Normalization:     readNormalization(r.normalization),
		Agreement:         readAgreement(r.agreement),
		Clustering:        readClustering(r.clustering),
		Equivalence:       readEquivalence(r.equivalence),
		SequenceSum:       req.GetSequenceScore() == plumblinev1.SequenceScore_SEQUENCE_SCORE_SUM,
		EachOccurrence:    req.GetDuplicates() == plumblinev1.Duplicates_DUPLICATES_EACH,
		FailOpen:          r.failMode == plumblinev1.FailMode_FAIL_MODE_OPEN,
		MarginBeta:        valueOr(req.MarginBeta, DefaultMarginBeta),
		GramAlpha:         valueOr(req.GramAlpha, DefaultGramAlpha),
		DoubtfulThreshold: valueOr(req.DoubtfulTokenThreshold, DefaultDoubtfulThreshold),
	}
}

func readSamples(messages []*plumblinev1.Sample) []Sample {
	samples := make([]Sample, len(messages))
	for i, m := range messages {
		samples[i] = Sample{Text: m.GetText(), TokenLogProbs: m.GetTokenLogprobs(), Weight: 1}
		if m != nil {
			samples[i].LogProb = m.Logprob
			samples[i].Weight = valueOr(m.Weight, 1)
		}
	}
	return samples
}

func readAlternatives(messages []*plumblinev1.Alternative) []Alternative {
	alternatives := make([]Alternative, len(messages))
	for i, m := range messages {
		if m != nil {
			alternatives[i] = Alternative{Text: m.GetText(), PTrue: m.PTrue, LogProb: m.Logprob}
		}
	}
	return alternatives
}

func readTokens(messages []*plumblinev1.TokenLogprob) []TokenLogProb {
	tokens := make([]TokenLogProb, len(messages))
	for i, m := range messages {
		if m != nil {
			tokens[i] = TokenLogProb{Token: m.GetToken(), LogProb: m.Logprob}
		}
	}
	return tokens
}

func readDrafts(messages []*plumblinev1.Draft) []Draft {
	drafts := make([]Draft, len(messages))
	for i, m := range messages {
		drafts[i] = make(Draft, len(m.GetTokens()))
		for t, token := range m.GetTokens() {
			drafts[i][t] = DraftToken{Top: readTokens(token.GetTop())}
			if token != nil {
				drafts[i][t].TokenLogProb = TokenLogProb{Token: token.GetToken(), LogProb: token.Logprob}
			}
		}
	}
	return drafts
}

func readVectors(messages []*plumblinev1.Vector) [][]float64 {
	vectors := make([][]float64, len(messages))
	for i, m := range messages {
		vectors[i] = make([]float64, len(m.GetValues()))
		for d, x := range m.GetValues() {
			vectors[i][d] = float64(x)
		}
	}
	return vectors
}

// readAliases splits every set at its line feeds.
func readAliases(messages []string) [][]string {
	sets := make([][]string, len(messages))
	for i, set := range messages {
		sets[i] = strings.Split(set, "\n")
	}
	return sets
}

func readScale(s plumblinev1.ConfidenceScale) Scale {
	switch s {
	case plumblinev1.ConfidenceScale_CONFIDENCE_SCALE_UNIT:
		return ScaleUnit
	case plumblinev1.ConfidenceScale_CONFIDENCE_SCALE_PERCENT:
		return ScalePercent
	case plumblinev1.ConfidenceScale_CONFIDENCE_SCALE_TEN:
		return ScaleTen
	default:
		return ScaleFromText
	}
}

func readNormalization(n plumblinev1.Normalization) answer.Rule {
	if n == plumblinev1.Normalization_NORMALIZATION_SQUAD {
		return answer.SQuAD
	}
	return answer.TriviaQA
}

func readAgreement(a plumblinev1.Agreement) Agreement {
	switch a {
	case plumblinev1.Agreement_AGREEMENT_ENTAIL_BOTH:
		return AgreeEntailBoth
	case plumblinev1.Agreement_AGREEMENT_ENTAIL_EITHER:
		return AgreeEntailEither
	case plumblinev1.Agreement_AGREEMENT_NOT_CONTRADICT:
		return AgreeNotContradict
	case plumblinev1.Agreement_AGREEMENT_DINCO:
		return AgreeDinco
	default:
		return AgreeExact
	}
}

func readClustering(c plumblinev1.Clustering) Clustering {
	switch c {
	case plumblinev1.Clustering_CLUSTERING_FIRST_HEAD:
		return ClusterFirstHead
	case plumblinev1.Clustering_CLUSTERING_LAST_HEAD:
		return ClusterLastHead
	case plumblinev1.Clustering_CLUSTERING_EVERY_HEAD:
		return ClusterEveryHead
	default:
		return ClusterUnionFind
	}
}

func readEquivalence(e plumblinev1.Equivalence) Equivalence {
	switch e {
	case plumblinev1.Equivalence_EQUIVALENCE_STRICT:
		return EquivalentStrict
	case plumblinev1.Equivalence_EQUIVALENCE_NON_STRICT:
		return EquivalentNonStrict
	case plumblinev1.Equivalence_EQUIVALENCE_EITHER:
		return EquivalentEither
	default:
		return EquivalentExact
	}
}

// writeScores turns the values into their messages.
func writeScores(out Output) *plumblinev1.ScoreConfidenceResponse {
	resp := &plumblinev1.ScoreConfidenceResponse{
		Sc:                        confident(out.SC),
		ScDinco:                   confident(out.SCDinco),
		Nvc:                       confident(out.NVC),
		FinalConf:                 confident(out.FinalConf),
		PTrue:                     confident(out.PTrue),
		LabelMass:                 confident(out.LabelMass),
		SemanticEntropy:           uncertain(out.SemanticEntropy),
		SemanticEntropyNormalized: uncertain(out.SemanticEntropyNormalized),
		SemanticEntropyWeighted:   uncertain(out.SemanticEntropyWeighted),
		SequenceEntropy:           uncertain(out.SequenceEntropy),
		SemanticSets:              uncertain(out.SemanticSets),
		DegreeMatrix:              uncertain(out.DegreeMatrix),
		EigenvaluesLaplacian:      uncertain(out.EigenvaluesLaplacian),
		Eccentricity:              uncertain(out.Eccentricity),
		Luq:                       uncertain(out.LUQ),
		LexicalSimilarity:         confident(out.LexicalSimilarity),
		Verbalized:                confident(out.Verbalized),
		MeanTokenEntropy:          uncertain(out.MeanTokenEntropy),
		Margin:                    uncertain(out.Margin),
		PrefixDivergence:          uncertain(out.PrefixDivergence),
		MinTokenProbability:       confident(out.MinTokenProbability),
		MeanTokenProbability:      confident(out.MeanTokenProbability),
		Perplexity:                uncertain(out.Perplexity),
		GramLogdet:                uncertain(out.GramLogDet),
		Majority:                  writeMajority(out.Majority),
		Pairs:                     uint32(out.Pairs),
		CacheHits:                 uint32(out.Usage.CacheHits),
		Warnings:                  out.Warnings,
	}
	for _, l := range out.LabelDistribution {
		resp.LabelDistribution = append(resp.LabelDistribution,
			&plumblinev1.LabelProbability{Label: l.Label, Probability: l.Probability})
	}
	for _, c := range out.Clusters {
		resp.Clusters = append(resp.Clusters, writeCluster(c))
	}
	for _, t := range out.DoubtfulTokens {
		resp.DoubtfulTokens = append(resp.DoubtfulTokens, &plumblinev1.DoubtfulToken{
			Index:       uint32(t.Index),
			Token:       t.Token,
			Probability: t.Probability,
			Start:       uint32(t.Start),
			End:         uint32(t.End),
		})
	}
	if out.Usage.Verifier != "" {
		resp.Model = &plumblinev1.ModelInfo{Name: out.Usage.Verifier, Digest: out.Usage.Digest, Verifier: out.Usage.Configured}
	}
	if out.Pairs > 0 {
		resp.Timing = &plumblinev1.Timing{
			Queue:        durationpb.New(out.Usage.Queue),
			Tokenization: durationpb.New(out.Usage.Tokenization),
			Inference:    durationpb.New(out.Usage.Inference),
		}
	}
	return resp
}

// confident writes a score of which more means surer.
func confident(v Value) *plumblinev1.Score {
	return writeValue(v, plumblinev1.Direction_DIRECTION_HIGHER_IS_CONFIDENT)
}

// uncertain writes a score of which more means less sure.
func uncertain(v Value) *plumblinev1.Score {
	return writeValue(v, plumblinev1.Direction_DIRECTION_HIGHER_IS_UNCERTAIN)
}

func writeValue(v Value, direction plumblinev1.Direction) *plumblinev1.Score {
	s := score.Of(v.Number+0, v.Err) // adding 0 turns a caller's -0 into 0
	if s.GetStatus() == plumblinev1.Status_STATUS_OK {
		s.Reason = v.Note
	}
	used := uint32(v.Used)
	s.NUsed = &used
	s.Direction = direction
	return s
}

func writeMajority(m Majority) *plumblinev1.MajorityAnswer {
	message := &plumblinev1.MajorityAnswer{Text: m.Text, Count: uint32(m.Count), Total: uint32(m.Total)}
	if m.Err == nil {
		message.Status = plumblinev1.Status_STATUS_OK
		return message
	}
	reason := score.Reason(m.Err)
	message.Status, message.Reason = reason.Status, reason.Reason
	return message
}

func writeCluster(c AnswerCluster) *plumblinev1.AnswerCluster {
	members := make([]uint32, len(c.Members))
	for i, m := range c.Members {
		members[i] = uint32(m)
	}
	return &plumblinev1.AnswerCluster{Members: members, Representative: c.Representative, Mass: c.Mass}
}
