package retrieval

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

const familyHeight = "height"

// heightFormulas ask how high the scores stand. They follow the unit of the
// ranking's scores; on rank-fused scores they say nothing about fit and are
// marked.
func heightFormulas() []formula {
	return []formula{
		{
			fused: "max_score", dense: "dense_max_score", sparse: "sparse_max_score",
			description: "Best score", family: familyHeight, unit: "score",
			source: "\"Route Retrieval by Evidence\" (Qdrant, 2026); s₁",
			min:    -unbounded, max: unbounded, shift: equivariant, scale: equivariant,
			atLeast: 1, of: ofScores(maxScore), zeroInSource: true,
		},
		{
			fused:       "mean_score",
			description: "Mean of the top-k scores", family: familyHeight, unit: "score",
			source: "Σsᵢ/k over the top k",
			min:    -unbounded, max: unbounded, shift: equivariant, scale: equivariant,
			atLeast: 1, of: ofScores(meanScore),
		},
		{
			fused:       "window_last_score",
			description: "Score of the last result in the answer window", family: familyHeight, unit: "score",
			source: "s_w, w the window or, of a shorter list, its last result",
			min:    -unbounded, max: unbounded, shift: equivariant, scale: equivariant,
			needs: []string{"window"}, atLeast: 1, of: windowLastScore,
		},
		{
			fused:       "score_gap",
			description: "Distance from the best score to the second", family: familyHeight, unit: "score",
			source: "s₁ − s₂",
			min:    0, max: unbounded, shift: invariant, scale: equivariant,
			atLeast: 2, of: ofScores(scoreGap),
		},
		{
			fused: "confidence_gap", dense: "dense_gap", sparse: "sparse_gap",
			description: "Distance from the best score to the last of the top k", family: familyHeight, unit: "score",
			source: "code of \"Route Retrieval by Evidence\" (qdrant-labs/self-correcting-loops-workshop); s₁ − s_k",
			min:    0, max: unbounded, shift: invariant, scale: equivariant,
			atLeast: 2, of: ofScores(confidenceGap), zeroInSource: true,
		},
		{
			fused:       "relative_gap",
			description: "Distance from the best score to the second, relative to the larger of the two magnitudes",
			family:      familyHeight, unit: "ratio",
			source: "(s₁ − s₂) / max(|s₁|, |s₂|), which is (s₁ − s₂)/s₁ for positive scores",
			min:    0, max: 2, shift: unstated, scale: invariant,
			atLeast: 2, of: ofScores(relativeGap),
		},
	}
}

// maxScore is the best score. A distance arrives negated, as in all formulas.
func maxScore(s []float64) (float64, error) { return s[0], nil }

// meanScore is the mean of the top-k scores.
func meanScore(s []float64) (float64, error) { return mean(s), nil }

// mean of sorted scores; exact where all are equal, whatever the rounding of
// their sum.
func mean(s []float64) float64 {
	if s[0] == s[len(s)-1] {
		return s[0]
	}
	return stat.Mean(s, nil)
}

// windowLastScore is the weakest score that the answer is written from.
func windowLastScore(e *evidence, l *list) (float64, error) {
	return l.scores[min(e.Window, len(l.scores))-1], nil
}

// scoreGap is how far the best result stands out.
func scoreGap(s []float64) (float64, error) { return s[0] - s[1], nil }

// confidenceGap is the range of the top-k scores.
func confidenceGap(s []float64) (float64, error) { return s[0] - s[len(s)-1], nil }

// relativeGap divides by the larger magnitude and not by s₁, so that it is
// defined, and bounded, for zero and negative scores too. Two zeros have no
// gap.
func relativeGap(s []float64) (float64, error) {
	larger := max(math.Abs(s[0]), math.Abs(s[1]))
	if larger == 0 {
		return 0, nil
	}
	return s[0]/larger - s[1]/larger, nil
}
