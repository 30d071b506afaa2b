package confidence

import (
	"math"
	"strings"

	"plumbline/scorers/score"
)

const (
	// MinLabelMass is the probability that the labels must have together for
	// their shares to mean anything; exactly this much is enough.
	MinLabelMass = 0.5
	// massRounding forgives what exponentials of log-probabilities lose.
	massRounding = 1e-12
	// massExcess forgives the rounding of half-precision log-probabilities.
	massExcess = 0.01
)

// TokenLogProb is a token with its natural log-probability; nil if not known.
type TokenLogProb struct {
	Token   string
	LogProb *float64
}

// LabelProbability is the probability of one label.
type LabelProbability struct {
	Label       string
	Probability float64
}

// YesNo returns P(true) of a yes/no question, P(yes)/(P(yes)+P(no)), from the
// most probable first tokens of the reply, and the mass of yes and no
// together. All spellings that are one token count ("Yes", " yes", "YES"):
// blanks and the word marks of byte-pair and unigram vocabularies are
// stripped and case is folded. A mass below MinLabelMass leaves P(true)
// missing.
func YesNo(tokens []TokenLogProb) (pTrue, mass Value) {
	distribution, mass := LabelDistribution(tokens, []string{"yes", "no"})
	switch {
	case mass.Err != nil:
		return mass, mass
	case distribution == nil:
		return missing(mass.Used, score.MissingInput("yes and no have a mass of %.3g in the first token's log-probabilities, below %g", mass.Number, MinLabelMass)), mass
	}
	return value(distribution[0].Probability, mass.Used), mass
}

// LabelDistribution returns the probabilities of labels from the most probable
// first tokens of a reply, normalised over the labels, and their mass before
// that. Tokens are matched with labels as in YesNo. The distribution is nil if
// the mass is missing or below MinLabelMass: a ratio of two rests says
// nothing.
func LabelDistribution(tokens []TokenLogProb, labels []string) (distribution []LabelProbability, mass Value) {
	index, err := labelIndex(labels)
	if err != nil {
		return nil, missing(0, err)
	}
	if len(tokens) == 0 {
		return nil, missing(0, score.MissingInput("first_token_logprobs is empty"))
	}
	distribution = make([]LabelProbability, len(labels))
	for l, label := range labels {
		distribution[l].Label = label
	}
	var total float64
	var used int
	for i, token := range tokens {
		if err := checkLogProb(token.LogProb, "first_token_logprobs[%d].logprob", i); err != nil {
			return nil, missing(0, err)
		}
		logProb, ok := known(token.LogProb)
		l, isLabel := index[fold(token.Token)]
		if ok && isLabel {
			p := math.Exp(logProb)
			distribution[l].Probability += p
			total += p
			used++
		}
	}
	if total > 1+massExcess {
		return nil, missing(used, score.InvalidInput("the probabilities in first_token_logprobs sum to %.3g: give each token once", total))
	}
	mass = value(min(total, 1), used)
	if total < MinLabelMass-massRounding {
		mass.Note = "too little for a distribution over the labels"
		return nil, mass
	}
	for l := range distribution {
		distribution[l].Probability /= total
	}
	return distribution, mass
}

// labelIndex maps folded labels to their position.
func labelIndex(labels []string) (map[string]int, error) {
	index := make(map[string]int, len(labels))
	for l, label := range labels {
		key := fold(label)
		if key == "" {
			return nil, score.InvalidInput("labels[%d] is blank", l)
		}
		if first, ok := index[key]; ok {
			return nil, score.InvalidInput("labels[%d] and labels[%d] differ only by case or blanks", first, l)
		}
		index[key] = l
	}
	return index, nil
}

// fold strips blanks and the marks that vocabularies put before a word (Ġ in
// byte-pair, ▁ in unigram ones), and folds case.
func fold(token string) string {
	return strings.ToLower(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(token), "Ġ▁")))
}
