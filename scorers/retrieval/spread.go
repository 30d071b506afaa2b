package retrieval

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"plumbline/scorers/score"
)

const familySpread = "spread"

// sigmaShare is the x of sigma_x: the share of the best score down to which
// results count.
const sigmaShare = 0.5

// spreadFormulas ask whether the retriever could pull its results apart: the
// score-based predictors of the literature on query performance prediction
// (QPP). All but score_entropy expect weak evidence when they are low.
func spreadFormulas() []formula {
	return []formula{
		{
			fused: "score_stddev", dense: "dense_stddev", sparse: "sparse_stddev",
			description: "Population standard deviation of the top-k scores", family: familySpread, unit: "score",
			source: "\"Route Retrieval by Evidence\" (Qdrant, 2026), there named score_variance and dense_variance; √(Σ(sᵢ − μ)²/k)",
			min:    0, max: unbounded, shift: invariant, scale: equivariant,
			atLeast: 2, of: ofScores(stddev), zeroInSource: true,
		},
		{
			fused:       "uqc",
			description: "Unnormalised query commitment: score_stddev under the name of the QPP literature", family: familySpread, unit: "score",
			source: "Shtok, Kurland, Carmel, Raiber, Markovits, \"Predicting Query Performance by Query-Drift Estimation\" (TOIS 2012), NQC without its denominator",
			min:    0, max: unbounded, shift: invariant, scale: equivariant,
			atLeast: 2, of: ofScores(stddev),
		},
		{
			fused: "nqc", dense: "dense_nqc", sparse: "sparse_nqc",
			description: "Normalised query commitment: deviation of the top-k scores relative to the corpus score", family: familySpread, unit: "ratio",
			source: "Shtok et al., \"Predicting Query Performance by Query-Drift Estimation\" (TOIS 2012); √(Σ(sᵢ − μ)²/k) / |S(D)|, S(D) the corpus mean or else the mean of the whole list",
			min:    0, max: unbounded, shift: unstated, scale: invariant,
			needs: []string{"rankings.corpus_mean_score (optional)"}, atLeast: 2, absolute: true,
			remark: (*list).corpusRemark, of: nqc,
		},
		{
			fused: "wig", dense: "dense_wig", sparse: "sparse_wig",
			description: "Weighted information gain: how far the mean of the top-k scores stands above the corpus score", family: familySpread, unit: "score",
			source: "Zhou, Croft, \"Query Performance Prediction in Web Search Environments\" (SIGIR 2007); Σ(sᵢ − S(D))/k / √|q|, |q| words in the question, S(D) the corpus mean or else the mean of a list longer than k",
			min:    -unbounded, max: unbounded, shift: invariant, scale: equivariant,
			needs: []string{"question", "rankings.corpus_mean_score"}, atLeast: 2, absolute: true,
			remark: (*list).corpusRemark, of: wig,
		},
		{
			fused: "smv", dense: "dense_smv", sparse: "sparse_smv",
			description: "Score magnitude and variance: mean of the scores weighted by their distance from the mean, in logarithms", family: familySpread, unit: "ratio",
			source: "Tao, Wu, \"Query Performance Prediction By Considering Score Magnitude and Variance Together\" (CIKM 2014); Σ sᵢ·|ln(sᵢ/μ)|/k / |S(D)|",
			min:    0, max: unbounded, shift: unstated, scale: invariant,
			needs: []string{"rankings.corpus_mean_score (optional)"}, atLeast: 2, absolute: true,
			remark: (*list).corpusRemark, of: smv,
		},
		{
			fused:       "sigma_max",
			description: "Greatest standard deviation of the scores from the top down to any rank in the top k", family: familySpread, unit: "score",
			source: "Pérez-Iglesias, Araujo, \"Standard Deviation as a Query Hardness Estimator\" (SPIRE 2010); max over m ≤ k of √(Σᵢ≤m(sᵢ − μₘ)²/m)",
			min:    0, max: unbounded, shift: invariant, scale: equivariant,
			atLeast: 2, of: ofScores(sigmaMax),
		},
		{
			fused:       "sigma_x",
			description: "Standard deviation of the top-k scores that reach half of the best score", family: familySpread, unit: "score",
			source: "Cummins, Jose, O'Riordan, \"Improved Query Performance Prediction Using Standard Deviation\" (SIGIR 2011), σ_x% with x = 50; σ of {sᵢ ≥ s₁/2}",
			min:    0, max: unbounded, shift: unstated, scale: equivariant,
			atLeast: 2, of: ofScores(sigmaX),
		},
		{
			fused:       "coefficient_of_variation",
			description: "Standard deviation of the top-k scores relative to their mean", family: familySpread, unit: "ratio",
			source: "σ/|μ| of the top k",
			min:    0, max: unbounded, shift: unstated, scale: invariant,
			atLeast: 2, of: ofScores(coefficientOfVariation),
		},
		{
			fused:       "score_entropy",
			description: "Entropy of the softmax of the top-k scores, as a share of the greatest possible", family: familySpread, unit: "ratio",
			source: "Shannon, \"A Mathematical Theory of Communication\" (1948); −Σ pᵢ ln pᵢ / ln k, p = softmax(s/T)",
			min:    0, max: 1, weakWhenHigh: true, shift: invariant, scale: unstated,
			needs: []string{"softmax_temperature (optional)"}, atLeast: 2, of: scoreEntropy,
		},
		{
			fused:       "score_skewness",
			description: "Population skewness of the top-k scores: positive when few results stand above the rest", family: familySpread, unit: "ratio",
			source: "Fisher–Pearson coefficient g₁ = m₃/m₂^{3/2}, mᵣ = Σ(sᵢ − μ)ʳ/k",
			min:    -unbounded, max: unbounded, shift: invariant, scale: invariant,
			atLeast: 3, of: ofScores(scoreSkewness),
		},
	}
}

// stddev is the population standard deviation; 0 for equal scores.
func stddev(s []float64) (float64, error) {
	if s[0] == s[len(s)-1] {
		return 0, nil // exactly, whatever the rounding of the mean
	}
	return stat.PopStdDev(s, nil), nil
}

// nqc is the normalised query commitment of Shtok et al.: the deviation of the
// top-k scores, as a measure of query drift, over the corpus score. Scores may
// be negative: the denominator is a magnitude. Where it is 0 the quotient has
// no meaning.
func nqc(_ *evidence, l *list) (float64, error) {
	level, err := l.corpusLevel()
	if err != nil {
		return 0, err
	}
	sigma, err := stddev(l.scores)
	return sigma / level, err
}

// wig is the weighted information gain of Zhou and Croft, in the form of Shtok
// et al. for any retriever: the mean of the top-k scores above the corpus
// score, over the square root of the question's length in words. Any sign of
// scores is legal. The mean of a list that ends at k is no corpus score: the
// gain over it is 0 by construction, so it is refused.
func wig(e *evidence, l *list) (float64, error) {
	words, err := e.questionWords()
	if err != nil {
		return 0, err
	}
	if l.corpusMean == nil && len(l.entries) == len(l.scores) {
		return 0, errNoCorpus
	}
	corpus, err := l.corpusScore()
	if err != nil {
		return 0, err
	}
	return (mean(l.scores) - corpus) / math.Sqrt(float64(len(words))), nil
}

// smv is Tao and Wu's predictor: each score's magnitude times the logarithm of
// its distance from the mean. Logarithms of what is not positive do not exist,
// so one score of 0 or less in the top k rules it out; distances, which are
// read negated, are the wrong kind.
func smv(_ *evidence, l *list) (float64, error) {
	if l.kind == L2Distance {
		return 0, score.WrongKind("distances are read negated and have no logarithm")
	}
	if l.scores[len(l.scores)-1] <= 0 {
		return 0, score.NotApplicable("the formula takes logarithms: all top-k scores must be greater than 0")
	}
	level, err := l.corpusLevel()
	if err != nil {
		return 0, err
	}
	mu, sum := mean(l.scores), 0.0
	for _, s := range l.scores {
		sum += s * math.Abs(math.Log(s/mu))
	}
	return sum / float64(len(l.scores)) / level, nil
}

// sigmaMax is the deviation at the depth where it is greatest (Pérez-Iglesias
// and Araujo), so that a long tail of equal scores does not hide a drop at the
// top. One pass by Welford's recurrence.
func sigmaMax(s []float64) (float64, error) {
	mu, squares, greatest := 0.0, 0.0, 0.0
	for i, x := range s {
		n := float64(i + 1)
		delta := x - mu
		mu += delta / n
		squares += delta * (x - mu)
		greatest = max(greatest, squares/n)
	}
	return math.Sqrt(greatest), nil
}

// sigmaX is the deviation of the scores that reach half of the best (Cummins,
// Jose and O'Riordan). A share of a best score that is not positive means
// nothing, which rules out distances, too.
func sigmaX(s []float64) (float64, error) {
	if s[0] <= 0 {
		return 0, score.NotApplicable("a share of the best score has no meaning where that is not greater than 0")
	}
	n := 0
	for n < len(s) && s[n] >= sigmaShare*s[0] {
		n++
	}
	if n < 2 {
		return 0, score.TooFew("at least 2 results must reach half of the best score")
	}
	return stddev(s[:n])
}

// coefficientOfVariation is σ/|μ|; without meaning where the mean is 0.
func coefficientOfVariation(s []float64) (float64, error) {
	mu := math.Abs(mean(s))
	if mu == 0 {
		return 0, errZeroLevel
	}
	sigma, err := stddev(s)
	return sigma / mu, err
}

// scoreEntropy is 1 for a flat list and near 0 where one score towers over the
// others by many temperatures. At temperature 1 cosines, which differ by
// hundredths, stay near 1.
func scoreEntropy(e *evidence, l *list) (float64, error) {
	best := l.scores[0]
	p := make([]float64, len(l.scores))
	for i, s := range l.scores {
		p[i] = (s - best) / e.Temperature // at most 0: no overflow
	}
	logSum := floats.LogSumExp(p)
	for i := range p {
		p[i] = math.Exp(p[i] - logSum)
	}
	// Rounding may carry a flat list a little beyond 1.
	return min(stat.Entropy(p)/math.Log(float64(len(p))), 1), nil
}

// scoreSkewness has no meaning for scores that do not differ.
func scoreSkewness(s []float64) (float64, error) {
	variance := stat.Moment(2, s, nil)
	if s[0] == s[len(s)-1] || variance == 0 {
		return 0, score.NotApplicable("the top-k scores do not differ, so their distribution has no shape")
	}
	return stat.Moment(3, s, nil) / (variance * math.Sqrt(variance)), nil
}

// corpusScore is the corpus's mean score for the question, or what stands in
// for it: the mean of all the ranking's scores.
func (l *list) corpusScore() (float64, error) {
	if l.corpusMean != nil {
		if !finite(*l.corpusMean) {
			return 0, score.InvalidInput("corpus_mean_score of the ranking %q is not finite", l.name)
		}
		return *l.corpusMean, nil
	}
	sum := 0.0
	for _, e := range l.entries {
		sum += e.score
	}
	return sum / float64(len(l.entries)), nil
}

// corpusLevel is the magnitude of the corpus score, as a denominator.
func (l *list) corpusLevel() (float64, error) {
	corpus, err := l.corpusScore()
	if err == nil && corpus == 0 {
		err = errZeroLevel
	}
	return math.Abs(corpus), err
}

func (l *list) corpusRemark() string {
	if l.corpusMean != nil {
		return ""
	}
	return "corpus_mean_score was not given: the mean of the whole list stands in for it"
}

var errNoCorpus = score.MissingInput("corpus_mean_score was not given, and the ranking has no results below the top k to stand in for it")

var errZeroLevel = score.NotApplicable("the scores' mean is 0, so that nothing is relative to it")
