package calibration

import (
	"math"

	"plumbline/scorers/calibration/stats"
	"plumbline/scorers/score"
)

// Figures are measured values by name, each with its interval or the reason
// why there is none.
type Figures map[string]stats.Interval

// measure bootstraps several figures of the same draws and names them.
func measure(n, draws int, seed uint64, statistic stats.Weighted, names ...string) (Figures, error) {
	intervals, err := stats.Bootstrap(n, draws, seed, len(names), statistic)
	if err != nil {
		return nil, err
	}
	figures := Figures{}
	for i, name := range names {
		figures[name] = intervals[i]
	}
	return figures, nil
}

// decisionFigures are the names that MeasureDecisions gives.
var decisionFigures = [...]string{
	"catch_rate", "escalation_rate", "false_alarm_rate", "precision",
	"accuracy", "balanced_accuracy", "f1", "prevalence",
}

// MeasureDecisions measures fired against labels: the share of positives caught
// (recall), of records and of negatives fired on, precision, accuracy, balanced
// accuracy, F1 and prevalence, each with a bootstrap interval.
func MeasureDecisions(fired, labels []bool, draws int, seed uint64) (Figures, error) {
	if len(fired) != len(labels) {
		return nil, score.InvalidInput("lists of unequal length: %d decisions, %d labels", len(fired), len(labels))
	}
	return measure(len(labels), draws, seed, func(weights []int, out []float64) {
		decisions(fired, labels, weights, out)
	}, decisionFigures[:]...)
}

// decisions writes the decisionFigures; a quotient by zero is NaN, no figure.
func decisions(fired, labels []bool, weights []int, out []float64) {
	var tp, fp, tn, fn float64
	for i, w := range weights {
		switch weight := float64(w); {
		case fired[i] && labels[i]:
			tp += weight
		case fired[i]:
			fp += weight
		case labels[i]:
			fn += weight
		default:
			tn += weight
		}
	}
	n := tp + fp + tn + fn
	out[0] = tp / (tp + fn)
	out[1] = (tp + fp) / n
	out[2] = fp / (fp + tn)
	out[3] = tp / (tp + fp)
	out[4] = (tp + tn) / n
	out[5] = (tp/(tp+fn) + tn/(tn+fp)) / 2
	out[6] = 2 * tp / (2*tp + fp + fn)
	out[7] = (tp + fn) / n
}

// MeasureScore measures how a score orders positives above negatives: AUROC,
// average precision and prevalence.
func MeasureScore(scores []float64, labels []bool, draws int, seed uint64) (Figures, error) {
	ranked, err := stats.NewRanked(scores, labels)
	if err != nil {
		return nil, err
	}
	return measure(len(labels), draws, seed, func(weights []int, out []float64) {
		out[0], out[1] = ranked.AUROC(weights), ranked.AUPRC(weights)
		out[2] = prevalence(labels, weights)
	}, "auroc", "auprc", "prevalence")
}

func prevalence(labels []bool, weights []int) float64 {
	positives, all := 0, 0
	for i, w := range weights {
		all += w
		if labels[i] {
			positives += w
		}
	}
	return float64(positives) / float64(all)
}

// MeasureProbability measures a probability of the positive class against
// labels: Brier score, log loss, and the calibration errors of bins of equal
// width and of equal mass. Bins of equal mass are those of the whole data.
func MeasureProbability(probabilities []float64, labels []bool, bins, draws int, seed uint64) (Figures, error) {
	if _, err := stats.Brier(probabilities, labels); err != nil {
		return nil, err
	}
	width, err := stats.EqualWidthAssignment(probabilities, bins)
	if err != nil {
		return nil, err
	}
	mass, err := stats.EqualMassAssignment(probabilities, bins)
	if err != nil {
		return nil, err
	}
	return measure(len(labels), draws, seed, func(weights []int, out []float64) {
		out[0], out[1] = meanLosses(probabilities, labels, weights)
		out[2], out[3] = calibrationErrors(probabilities, labels, width, bins, weights)
		out[4], _ = calibrationErrors(probabilities, labels, mass, bins, weights)
	}, "brier", "log_loss", "ece", "mce", "ece_equal_mass")
}

// meanLosses returns the weighted Brier score and log loss.
func meanLosses(probabilities []float64, labels []bool, weights []int) (brier, logLoss float64) {
	total := 0.0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		weight, p := float64(w), probabilities[i]
		miss := p
		if labels[i] {
			miss = 1 - p
		}
		brier += weight * miss * miss
		logLoss -= weight * math.Log(max(stats.LogLossClip, min(1-stats.LogLossClip, 1-miss)))
		total += weight
	}
	return brier / total, logLoss / total
}

// calibrationErrors returns the weighted ECE and MCE of records assigned to
// bins.
func calibrationErrors(probabilities []float64, labels []bool, assigned []int, bins int, weights []int) (ece, mce float64) {
	confidence, hits, count := make([]float64, bins), make([]float64, bins), make([]float64, bins)
	total := 0.0
	for i, w := range weights {
		weight, b := float64(w), assigned[i]
		confidence[b] += weight * probabilities[i]
		if labels[i] {
			hits[b] += weight
		}
		count[b] += weight
		total += weight
	}
	for b := range bins {
		if count[b] > 0 {
			gap := math.Abs(hits[b] - confidence[b])
			ece += gap / total
			mce = max(mce, gap/count[b])
		}
	}
	return ece, mce
}
