package confidence

import (
	"plumbline/scorers/answer"
	"plumbline/scorers/entail"
)

// Input is what a caller knows of one answer. Every part may be absent; a
// score whose part is absent is missing with a reason. Rules have their
// defaults as zero values, except for the three numbers at the end.
type Input struct {
	// Question gives entailment between answers its context.
	Question string
	// MainAnswer is the answer that the scores are about.
	MainAnswer string
	// Samples are further answers, the main answer left out.
	Samples []Sample
	// Alternatives are the other candidates of NVC.
	Alternatives []Alternative
	// PTrue is the generator's P(true) of the main answer; if nil, it is read
	// from FirstToken where Labels is empty.
	PTrue *float64
	// FirstToken has the most probable first tokens of the reply to a question
	// with Labels, or else with yes and no.
	FirstToken []TokenLogProb
	// Labels are the answers to that question.
	Labels []string
	// Drafts are texts with their tokens.
	Drafts []Draft
	// Vectors has one hidden state or embedding for each sample.
	Vectors [][]float64
	// RawOutput is a reply that states a confidence, on ConfidenceScale.
	RawOutput       string
	ConfidenceScale Scale
	// Aliases are sets of equal answers.
	Aliases [][]string
	// Normalization makes short answers comparable.
	Normalization answer.Rule
	// Agreement is the rule of SC, Clustering and Equivalence those of the
	// semantic scores.
	Agreement   Agreement
	Clustering  Clustering
	Equivalence Equivalence
	// SequenceSum adds token log-probabilities up instead of averaging them.
	SequenceSum bool
	// EachOccurrence lets repeated texts count repeatedly in
	// likelihood-weighted scores.
	EachOccurrence bool
	// FailOpen marks values as not checked instead of unavailable when the
	// verifier cannot be asked.
	FailOpen bool
	// MarginBeta is DefaultMarginBeta unless chosen; positive.
	MarginBeta float64
	// GramAlpha is DefaultGramAlpha unless chosen; positive.
	GramAlpha float64
	// DoubtfulThreshold is DefaultDoubtfulThreshold unless chosen; in [0, 1].
	DoubtfulThreshold float64
}

// Sample is one sampled answer.
type Sample struct {
	Text string
	// LogProb is the sequence's log-probability; nil if not known.
	LogProb *float64
	// TokenLogProbs replace LogProb where there are any.
	TokenLogProbs []float64
	// Weight is how often the sample counts; 0, or from 1e-9 to 1e9.
	Weight float64
}

// Alternative is another candidate answer.
type Alternative struct {
	Text string
	// PTrue is the generator's P(true) of it; nil if not known.
	PTrue *float64
	// LogProb is its generation log-likelihood; nil if not known.
	LogProb *float64
}

// AnswerCluster is one group of responses that mean the same.
type AnswerCluster struct {
	// Members are positions: the main answer, if there is one, then the
	// samples.
	Members []int
	// Representative is the text of the first member.
	Representative string
	// Mass is the share of the probability; masses sum to 1.
	Mass float64
}

// Output has every score.
type Output struct {
	SC, SCDinco, NVC, FinalConf                      Value
	PTrue, LabelMass                                 Value
	LabelDistribution                                []LabelProbability
	Majority                                         Majority
	SemanticEntropy, SemanticEntropyNormalized       Value
	SemanticEntropyWeighted, SequenceEntropy         Value
	SemanticSets                                     Value
	Clusters                                         []AnswerCluster
	DegreeMatrix, EigenvaluesLaplacian, Eccentricity Value
	LUQ, LexicalSimilarity                           Value
	Verbalized                                       Value
	MeanTokenEntropy, Margin, PrefixDivergence       Value
	MinTokenProbability, MeanTokenProbability        Value
	Perplexity                                       Value
	DoubtfulTokens                                   []DoubtfulToken
	GramLogDet                                       Value
	// Pairs is how many pairs the verifier was asked, Usage what it cost.
	Pairs int
	Usage entail.Usage
	// Warnings are remarks on the input that do not prevent scoring.
	Warnings []string
}
