package confidence

import (
	"cmp"
	"math"
	"slices"

	"plumbline/scorers/score"
)

const (
	// DefaultMarginBeta is the temperature β of the margin score.
	DefaultMarginBeta = 1
	// DefaultDoubtfulThreshold is the probability at or below which FLARE
	// masks a token from its query (Jiang et al. 2023).
	DefaultDoubtfulThreshold = 0.4
)

// DraftToken is one position of a draft: the generated token and the most
// probable tokens there, in any order.
type DraftToken struct {
	TokenLogProb
	Top []TokenLogProb
}

// Draft is one generated text, token by token.
type Draft []DraftToken

// DoubtfulToken is a token of low probability.
type DoubtfulToken struct {
	// Index is its position in the draft.
	Index int
	// Token is its text.
	Token string
	// Probability is what the generator gave it, in [0, 1].
	Probability float64
	// Start and End are its bytes in the concatenated draft.
	Start, End int
}

// topLogProbs returns the known log-probabilities of position i of a draft,
// highest first.
func (d Draft) topLogProbs(i int) ([]float64, error) {
	var tops []float64
	var total float64
	for k, top := range d[i].Top {
		if err := checkLogProb(top.LogProb, "drafts[0].tokens[%d].top[%d].logprob", i, k); err != nil {
			return nil, err
		}
		if l, ok := known(top.LogProb); ok {
			tops = append(tops, l)
			total += math.Exp(l)
		}
	}
	if total > 1+massExcess {
		return nil, score.InvalidInput("the probabilities in drafts[0].tokens[%d].top sum to %.3g: give each token once", i, total)
	}
	slices.SortFunc(tops, func(a, b float64) int { return cmp.Compare(b, a) })
	return tops, nil
}

// meanOverTops is the mean of f over the positions with at least least known
// top log-probabilities.
func (d Draft) meanOverTops(least int, f func(tops []float64) float64) Value {
	var sum float64
	var used int
	for i := range d {
		tops, err := d.topLogProbs(i)
		if err != nil {
			return missing(0, err)
		}
		if len(tops) >= least {
			sum += f(tops)
			used++
		}
	}
	if used == 0 {
		return missing(0, score.MissingInput("no position of the first draft has %d or more top log-probabilities", least))
	}
	return value(sum/float64(used), used)
}

// MeanTokenEntropy is the mean over positions of the entropy of the token
// distribution, in nats (TARG, arXiv 2511.09803). What the top tokens leave of
// the probability counts as one further outcome, so that a top-k list gives a
// lower bound of the full entropy instead of an artefact of k; a single top
// token is not read as certainty.
func (d Draft) MeanTokenEntropy() Value {
	return d.meanOverTops(1, func(tops []float64) float64 {
		var h float64
		rest := 1.0
		for _, l := range tops {
			p := math.Exp(l)
			h -= p * l
			rest -= p
		}
		// Below the rounding of single-precision log-probabilities the rest is
		// noise.
		if rest > 1e-6 {
			h -= rest * math.Log(rest)
		}
		return h
	})
}

// Margin is the mean over positions of exp(-gap/β), where gap is the distance
// of the two highest log-probabilities, which is that of the logits (TARG). It
// is in (0, 1]; a tie gives 1. Positions with fewer than two known tokens are
// left out. β must be positive and finite.
func (d Draft) Margin(beta float64) Value {
	if !(beta > 0) || math.IsInf(beta, 1) {
		return missing(0, score.InvalidInput("margin_beta is not a positive finite number"))
	}
	return d.meanOverTops(2, func(tops []float64) float64 { return math.Exp((tops[1] - tops[0]) / beta) })
}

// PrefixDivergence is the mean over positions of 1 - the share of the
// commonest token among N drafts, in [0, (N-1)/N] (TARG). Positions run to the
// end of the shortest draft; drafts without tokens are left out. One draft
// cannot diverge: too few.
func PrefixDivergence(drafts []Draft) Value {
	drafts = slices.DeleteFunc(slices.Clone(drafts), func(d Draft) bool { return len(d) == 0 })
	if len(drafts) < 2 {
		return missing(len(drafts), score.TooFew("prefix divergence needs at least two drafts with tokens"))
	}
	positions := len(slices.MinFunc(drafts, func(a, b Draft) int { return cmp.Compare(len(a), len(b)) }))
	var sum float64
	for i := range positions {
		counts := make(map[string]int)
		var commonest int
		for _, d := range drafts {
			counts[d[i].Token]++
			commonest = max(commonest, counts[d[i].Token])
		}
		sum += 1 - float64(commonest)/float64(len(drafts))
	}
	return value(sum/float64(positions), len(drafts))
}

// TokenProbabilities are the scores of the tokens that were generated.
type TokenProbabilities struct {
	// Min and Mean are over the tokens' probabilities, in [0, 1] (FLARE).
	Min, Mean Value
	// Perplexity is exp(-mean log-probability), at least 1.
	Perplexity Value
	// Doubtful lists the tokens at or below the threshold, for masking them
	// from a query.
	Doubtful []DoubtfulToken
}

// TokenProbabilities scores the tokens whose log-probability is known.
func (d Draft) TokenProbabilities(threshold float64) TokenProbabilities {
	least, sum, sumLog := 1.0, 0.0, 0.0
	var used, start int
	var doubtful []DoubtfulToken
	for i, token := range d {
		if err := checkLogProb(token.LogProb, "drafts[0].tokens[%d].logprob", i); err != nil {
			return noTokenProbabilities(err)
		}
		end := start + len(token.Token)
		if l, ok := known(token.LogProb); ok {
			p := math.Exp(l)
			least, sum, sumLog = min(least, p), sum+p, sumLog+l
			used++
			if p <= threshold {
				doubtful = append(doubtful, DoubtfulToken{Index: i, Token: token.Token, Probability: p, Start: start, End: end})
			}
		}
		start = end
	}
	if used == 0 {
		return noTokenProbabilities(score.MissingInput("no token of the first draft has a log-probability"))
	}
	n := float64(used)
	return TokenProbabilities{
		Min:        value(least, used),
		Mean:       value(sum/n, used),
		Perplexity: value(math.Exp(-sumLog/n), used),
		Doubtful:   doubtful,
	}
}

func noTokenProbabilities(err error) TokenProbabilities {
	v := missing(0, err)
	return TokenProbabilities{Min: v, Mean: v, Perplexity: v}
}
