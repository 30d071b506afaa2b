package confidence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"plumbline/scorers/score"
)

// Masses returns each group's share of the weight of all groups; the shares
// sum to 1. An item that is in several groups counts in each. weights is nil
// if every item counts once.
func Masses(groups [][]int, weights []float64) []float64 {
	masses := make([]float64, len(groups))
	for g, group := range groups {
		for _, i := range group {
			masses[g] += weightAt(weights, i)
		}
	}
	floats.Scale(1/floats.Sum(masses), masses)
	return masses
}

// DiscreteEntropy is the entropy of masses that sum to 1, in nats: -Σ p·ln p
// with 0·ln 0 = 0. It is at least 0, and exactly 0 for one group. The terms are
// summed in ascending order of the masses, so that equal splits have equal
// entropies to the last bit, and tie, in whatever order the groups come.
func DiscreteEntropy(masses []float64) float64 {
	var h float64
	for _, p := range slices.Sorted(slices.Values(masses)) {
		if p > 0 {
			h += p * math.Log(1/p)
		}
	}
	return max(h, 0)
}

// NormalizedEntropy divides an entropy over groups of n responses by ln n, its
// greatest value; in [0, 1]. One response cannot be normalised: ln 1 = 0.
func NormalizedEntropy(entropy, n float64) (float64, error) {
	if n <= 1 {
		return 0, score.TooFew("normalised entropy needs at least two responses")
	}
	return min(entropy/math.Log(n), 1), nil
}

// RaoEntropy is the likelihood-weighted semantic entropy, in nats: the mass of
// a group is the sum of its items' likelihoods over the sum of all groups'
// (Farquhar et al. 2024). logLikelihoods has one entry for each item; minus
// infinity leaves the item out. Sums are taken in logarithms, so that no
// likelihood underflows.
func RaoEntropy(groups [][]int, logLikelihoods []float64) (float64, error) {
	logMasses := make([]float64, len(groups))
	for g, group := range groups {
		members := make([]float64, len(group))
		for k, i := range group {
			members[k] = logLikelihoods[i]
		}
		logMasses[g] = floats.LogSumExp(members)
	}
	if len(logMasses) == 0 || math.IsInf(floats.Max(logMasses), -1) {
		return 0, score.MissingInput("no sample has a log-probability")
	}
	total := floats.LogSumExp(logMasses)
	var h float64
	for _, m := range logMasses {
		if p := math.Exp(m - total); p > 0 {
			h += p * (total - m)
		}
	}
	return max(h, 0), nil
}

// SequenceEntropy is the Monte-Carlo estimate of the entropy over sequences,
// in nats: the negated mean log-likelihood of the samples, by weight. Every
// occurrence counts, because the samples themselves are the weights of the
// estimate. Minus infinity leaves a sample out.
func SequenceEntropy(logLikelihoods, weights []float64) (float64, error) {
	var sum, total float64
	for i, l := range logLikelihoods {
		if !math.IsInf(l, -1) {
			sum -= l * weightAt(weights, i)
			total += weightAt(weights, i)
		}
	}
	if total == 0 {
		return 0, score.MissingInput("no sample has a log-probability")
	}
	return sum / total, nil
}
