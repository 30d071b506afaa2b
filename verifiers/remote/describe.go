package remote

import (
	"math"
	"slices"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
)

// protocolVersion is the version of VerifierService that this client speaks.
const protocolVersion = 1

var (
	threeClasses = []plumblinev1.EntailmentClass{
		plumblinev1.EntailmentClass_ENTAILMENT_CLASS_ENTAILMENT,
		plumblinev1.EntailmentClass_ENTAILMENT_CLASS_NEUTRAL,
		plumblinev1.EntailmentClass_ENTAILMENT_CLASS_CONTRADICTION,
	}
	twoClasses = []plumblinev1.EntailmentClass{
		plumblinev1.EntailmentClass_ENTAILMENT_CLASS_ENTAILMENT,
		plumblinev1.EntailmentClass_ENTAILMENT_CLASS_NOT_SUPPORTED,
	}
)

// describe reads a description, strictly.
func describe(m *plumblinev1.DescribeResponse) (entail.Description, error) {
	description := entail.Description{
		Name:          m.GetName(),
		Digest:        m.GetDigest(),
		MaxTokens:     int(m.GetMaxTokens()),
		TrainedTokens: int(m.GetTrainedTokens()),
		FineTokens:    int(m.GetFineTokens()),
		PairOverhead:  int(m.GetPairOverhead()),
		Languages:     m.GetLanguages(),
		QATemplate:    m.GetQaTemplate(),
		ScoreKind:     entail.ScoreKind(m.GetScoreKind()),
		Deterministic: m.GetDeterministic(),
		Epsilon:       m.GetEpsilon(),
	}
	// Results carry probabilities by name, so that the order here says nothing.
	classes := slices.Sorted(slices.Values(m.GetClasses()))
	description.ThreeClass = slices.Equal(classes, threeClasses)
	switch {
	case m.GetProtocolVersion() != protocolVersion:
		return entail.Description{}, violation(WrongVersion,
			"protocol_version is %d and this client speaks %d", m.GetProtocolVersion(), protocolVersion)
	case description.Digest == "":
		return entail.Description{}, violation(DigestMissing, "the description has no digest")
	case !description.ThreeClass && !slices.Equal(classes, twoClasses):
		return entail.Description{}, violation(BadDescription,
			"classes are %v: they must be entailment, neutral and contradiction, or entailment and not supported", m.GetClasses())
	case m.GetMaxTokens() > math.MaxInt32 || m.GetMaxTokens() > 0 && m.GetPairOverhead() >= m.GetMaxTokens():
		return entail.Description{}, violation(BadDescription,
			"max_tokens %d with pair_overhead %d leaves no window", m.GetMaxTokens(), m.GetPairOverhead())
	case m.GetMaxTokens() > 0 && m.GetTrainedTokens() > m.GetMaxTokens():
		return entail.Description{}, violation(BadDescription,
			"trained_tokens %d is more than max_tokens %d", m.GetTrainedTokens(), m.GetMaxTokens())
	case !(m.GetEpsilon() >= 0 && m.GetEpsilon() <= 1):
		return entail.Description{}, violation(BadDescription, "epsilon %v is no distance of probabilities", m.GetEpsilon())
	}
	return description, nil
}
