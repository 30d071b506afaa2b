package stats

import (
	"math"

	"plumbline/scorers/score"
)

// AUROC returns the area under the ROC curve, in [0, 1]: the chance that a
// positive record scores above a negative one, ties counting half
// (Mann–Whitney).
func AUROC(scores []float64, labels []bool) (float64, error) {
	positives, negatives, err := checkBinary(scores, labels)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for i, rank := range Ranks(scores) {
		if labels[i] {
			sum += rank
		}
	}
	p, n := float64(positives), float64(negatives)
	return (sum - p*(p+1)/2) / (p * n), nil
}

// Separation returns max(AUROC, 1 − AUROC), in [0.5, 1], and whether positive
// records have the higher scores. An AUROC of exactly one half counts as high.
func Separation(scores []float64, labels []bool) (separation float64, positiveIsHigh bool, err error) {
	area, err := AUROC(scores, labels)
	if err != nil {
		return 0, false, err
	}
	return max(area, 1-area), area >= 0.5, nil
}

// AUPRC returns the average precision, in (0, 1]: the sum over distinct
// thresholds of the gain in recall times the precision, without interpolation.
// Records of equal score form one threshold. Compare it with the prevalence,
// which is what a score without information reaches.
func AUPRC(scores []float64, labels []bool) (float64, error) {
	positives, _, err := checkBinary(scores, labels)
	if err != nil {
		return 0, err
	}
	area, hits, recall := 0.0, 0, 0.0
	for seen, end := range descendingGroups(scores) {
		for _, i := range seen {
			if labels[i] {
				hits++
			}
		}
		next := float64(hits) / float64(positives)
		area += (next - recall) * float64(hits) / float64(end)
		recall = next
	}
	return area, nil
}

// descendingGroups yields the groups of equal score, highest first, with the
// number of records up to and including the group.
func descendingGroups(scores []float64) func(yield func(group []int, end int) bool) {
	index := order(scores)
	reverse(index)
	return func(yield func([]int, int) bool) {
		for start := 0; start < len(index); {
			end := start + 1
			for end < len(index) && scores[index[end]] == scores[index[start]] {
				end++
			}
			if !yield(index[start:end], end) {
				return
			}
			start = end
		}
	}
}

func reverse(index []int) {
	for i, j := 0, len(index)-1; i < j; i, j = i+1, j-1 {
		index[i], index[j] = index[j], index[i]
	}
}

// Confusion counts the outcomes of predicting positive at or above a
// threshold.
type Confusion struct{ TP, FP, TN, FN int }

// At counts the outcomes of predicting positive iff score ≥ threshold.
func At(threshold float64, scores []float64, labels []bool) (Confusion, error) {
	var c Confusion
	if err := checkPaired(len(scores), len(labels), 1); err != nil {
		return c, err
	}
	if err := checkFinite("scores", scores); err != nil {
		return c, err
	}
	for i, s := range scores {
		switch predicted := s >= threshold; {
		case predicted && labels[i]:
			c.TP++
		case predicted:
			c.FP++
		case labels[i]:
			c.FN++
		default:
			c.TN++
		}
	}
	return c, nil
}

// Accuracy returns the share of right predictions, in [0, 1].
func (c Confusion) Accuracy() (float64, error) {
	return ratio(c.TP+c.TN, c.TP+c.FP+c.TN+c.FN, "no records")
}

// Recall returns the share of positives that were predicted, in [0, 1].
func (c Confusion) Recall() (float64, error) {
	return ratio(c.TP, c.TP+c.FN, "no positive records")
}

// Specificity returns the share of negatives that were not predicted, in
// [0, 1].
func (c Confusion) Specificity() (float64, error) {
	return ratio(c.TN, c.TN+c.FP, "no negative records")
}

// Precision returns the share of predictions that were right, in [0, 1].
func (c Confusion) Precision() (float64, error) {
	return ratio(c.TP, c.TP+c.FP, "nothing was predicted positive")
}

// BalancedAccuracy returns the mean of recall and specificity, in [0, 1].
func (c Confusion) BalancedAccuracy() (float64, error) {
	recall, err := c.Recall()
	if err != nil {
		return 0, err
	}
	specificity, err := c.Specificity()
	return (recall + specificity) / 2, err
}

// F1 returns the harmonic mean of precision and recall, in [0, 1].
func (c Confusion) F1() (float64, error) {
	return ratio(2*c.TP, 2*c.TP+c.FP+c.FN, "neither positive records nor positive predictions")
}

// PredictedRate returns the share of records predicted positive, in [0, 1].
func (c Confusion) PredictedRate() (float64, error) {
	return ratio(c.TP+c.FP, c.TP+c.FP+c.TN+c.FN, "no records")
}

func ratio(part, whole int, none string) (float64, error) {
	if whole == 0 {
		return 0, score.NotApplicable("%s", none)
	}
	return float64(part) / float64(whole), nil
}

// CoveragePoint is one point of a risk–coverage curve.
type CoveragePoint struct {
	// Coverage is the share of records answered, in (0, 1].
	Coverage float64
	// Risk is the share of errors among them, in [0, 1].
	Risk float64
}

// RiskCoverage returns the risk among the most confident records for each
// distinct confidence, highest first. correct tells which records are right.
func RiskCoverage(confidence []float64, correct []bool) ([]CoveragePoint, error) {
	if err := checkPaired(len(confidence), len(correct), 1); err != nil {
		return nil, err
	}
	if err := checkFinite("confidence", confidence); err != nil {
		return nil, err
	}
	var points []CoveragePoint
	wrong := 0
	for group, end := range descendingGroups(confidence) {
		for _, i := range group {
			if !correct[i] {
				wrong++
			}
		}
		points = append(points, CoveragePoint{
			Coverage: float64(end) / float64(len(confidence)),
			Risk:     float64(wrong) / float64(end),
		})
	}
	return points, nil
}

// AURC returns the area under the risk–coverage curve, in [0, 1] (Geifman and
// El-Yaniv, 2017): the mean over k = 1 … n of the risk among the k most
// confident records. Among records of equal confidence the errors are spread
// evenly, which is the expectation over their order.
func AURC(confidence []float64, correct []bool) (float64, error) {
	if err := checkPaired(len(confidence), len(correct), 1); err != nil {
		return 0, err
	}
	if err := checkFinite("confidence", confidence); err != nil {
		return 0, err
	}
	area, before := 0.0, 0.0
	for group, end := range descendingGroups(confidence) {
		wrong := 0
		for _, i := range group {
			if !correct[i] {
				wrong++
			}
		}
		start := end - len(group)
		for k := start + 1; k <= end; k++ {
			share := float64(k-start) / float64(len(group))
			area += (before + share*float64(wrong)) / float64(k)
		}
		before += float64(wrong)
	}
	return area / float64(len(confidence)), nil
}

// LogLossClip is how far LogLoss keeps probabilities from 0 and 1: the machine
// precision, as scikit-learn does.
const LogLossClip = 2.220446049250313e-16

// LogLoss returns the mean negative log-likelihood in nats. Probabilities are
// clipped by LogLossClip, so that one certain error is large but finite.
func LogLoss(probabilities []float64, labels []bool) (float64, error) {
	if err := checkProbabilities(probabilities, labels); err != nil {
		return 0, err
	}
	sum := 0.0
	for i, p := range probabilities {
		p = max(LogLossClip, min(1-LogLossClip, p))
		if labels[i] {
			sum -= math.Log(p)
		} else {
			sum -= math.Log1p(-p)
		}
	}
	return sum / float64(len(probabilities)), nil
}
