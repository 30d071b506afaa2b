package calibration

import (
	"context"
	"math"

	"plumbline/scorers/calibration/stats"
	"plumbline/scorers/score"
)

// Figures are measured values by name, each with its interval or the reason
// why there is none.
type Figures map[string]stats.Interval

// measure bootstraps several figures of the same draws and names them.
func measure(ctx context.Context, n int, r stats.Resampling, statistic stats.Weighted, names ...string) (Figures, error) {
	intervals, err := stats.Bootstrap(ctx, n, r, len(names), statistic)
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
	"accuracy", "balanced_accuracy", "f1", "prevalence", "commit_error_rate",
}

// The places of some of them.
const (
	catchRate      = 0
	escalationRate = 1
)

// MeasureDecisions measures fired against labels: the share of positives caught
// (recall), of records and of negatives fired on, precision, accuracy, balanced
// accuracy, F1, prevalence, and the share of positives among the records not
// fired on, each with a bootstrap interval.
func MeasureDecisions(ctx context.Context, fired, labels []bool, r stats.Resampling) (Figures, error) {
	if len(fired) != len(labels) {
		return nil, score.InvalidInput("lists of unequal length: %d decisions, %d labels", len(fired), len(labels))
	}
	return measure(ctx, len(labels), r, decisionsOf(fired, labels).figures, decisionFigures[:]...)
}

// decisions are records by outcome: the number of each is twice whether the rule
// fired and once whether the record is positive.
type decisions []uint8

func decisionsOf(fired, labels []bool) decisions {
	d := make(decisions, len(fired))
	for i := range d {
		if fired[i] {
			d[i] += 2
		}
		if labels[i] {
			d[i]++
		}
	}
	return d
}

// figures writes the decisionFigures; a quotient by zero is NaN, no figure.
func (d decisions) figures(weights []int32, out []float64) {
	var sums [4]int64
	for i, w := range weights {
		sums[d[i]%4] += int64(w)
	}
	tn, fn, fp, tp := float64(sums[0]), float64(sums[1]), float64(sums[2]), float64(sums[3])
	n := tp + fp + tn + fn
	out[0] = tp / (tp + fn)
	out[1] = (tp + fp) / n
	out[2] = fp / (fp + tn)
	out[3] = tp / (tp + fp)
	out[4] = (tp + tn) / n
	out[5] = (tp/(tp+fn) + tn/(tn+fp)) / 2
	out[6] = 2 * tp / (2*tp + fp + fn)
	out[7] = (tp + fn) / n
	out[8] = fn / (fn + tn)
}

// MeasureScore measures how a score orders positives above negatives: AUROC,
// average precision, prevalence, and the area under the risk–coverage curve
// where the highest scores are covered first and a negative is an error.
func MeasureScore(ctx context.Context, scores []float64, labels []bool, r stats.Resampling) (Figures, error) {
	ranked, err := stats.NewRanked(scores, labels)
	if err != nil {
		return nil, err
	}
	return measure(ctx, len(labels), r, func(weights []int32, out []float64) {
		out[0], out[1] = ranked.AUROC(weights), ranked.AUPRC(weights)
		out[2], out[3] = prevalence(labels, weights), ranked.AURC(weights)
	}, "auroc", "auprc", "prevalence", "aurc")
}

// MeasureRankCorrelation measures Spearman's ρ of two lists.
func MeasureRankCorrelation(ctx context.Context, x, y []float64, r stats.Resampling) (Figures, error) {
	pair, err := stats.NewRankedPair(x, y)
	if err != nil {
		return nil, err
	}
	return measure(ctx, len(x), r, func(weights []int32, out []float64) {
		out[0] = pair.Spearman(weights)
	}, "spearman")
}

func prevalence(labels []bool, weights []int32) float64 {
	positives, all := int64(0), int64(0)
	for i, w := range weights {
		all += int64(w)
		if labels[i] {
			positives += int64(w)
		}
	}
	return float64(positives) / float64(all)
}

// binning is records in bins, whose calibration errors it names.
type binning struct {
	*stats.Binned
	ece, mce string // names of the figures; empty for none
}

// MeasureProbability measures a probability of the positive class against
// labels: the Brier score with its parts, log loss, and calibration errors: over
// bins of equal width ("ece", "mce") and of equal mass ("ece_equal_mass"), over
// 5, 10 and 15 of equal width ("ece_5" …), and over bins by the confidence of
// the predicted class ("ece_predicted_class"). Bins of equal mass are those of
// the whole data.
func MeasureProbability(ctx context.Context, probabilities []float64, labels []bool, bins int, r stats.Resampling) (Figures, error) {
	if _, err := stats.Brier(probabilities, labels); err != nil {
		return nil, err
	}
	ranked, err := stats.NewRanked(probabilities, labels)
	if err != nil {
		return nil, err
	}
	binnings, err := binningsOf(probabilities, labels, bins)
	if err != nil {
		return nil, err
	}
	names := []string{"log_loss", "brier", "brier_reliability", "brier_resolution", "brier_uncertainty"}
	for _, b := range binnings {
		names = append(names, b.ece)
		if b.mce != "" {
			names = append(names, b.mce)
		}
	}
	return measure(ctx, len(labels), r, func(weights []int32, out []float64) {
		brier := ranked.Brier(probabilities, weights)
		out = append(out[:0], logLoss(probabilities, labels, weights), brier.Brier, brier.Reliability, brier.Resolution, brier.Uncertainty)
		for _, b := range binnings {
			ece, mce := b.Errors(weights)
			out = append(out, ece)
			if b.mce != "" {
				out = append(out, mce)
			}
		}
	}, names...)
}

func binningsOf(probabilities []float64, labels []bool, bins int) ([]binning, error) {
	confidence, right := stats.PredictedClass(probabilities, labels)
	var all []binning
	for _, kind := range []struct {
		values   []float64
		hits     []bool
		bins     int
		assign   func([]float64, int) ([]int, error)
		ece, mce string
	}{
		{probabilities, labels, bins, stats.EqualWidthAssignment, "ece", "mce"},
		{probabilities, labels, 5, stats.EqualWidthAssignment, "ece_5", ""},
		{probabilities, labels, 10, stats.EqualWidthAssignment, "ece_10", ""},
		{probabilities, labels, 15, stats.EqualWidthAssignment, "ece_15", ""},
		{confidence, right, bins, stats.EqualWidthAssignment, "ece_predicted_class", ""},
		{probabilities, labels, bins, stats.EqualMassAssignment, "ece_equal_mass", ""},
	} {
		assigned, err := kind.assign(kind.values, kind.bins)
		if err != nil {
			return nil, err
		}
		binned, err := stats.NewBinned(kind.values, kind.hits, assigned, kind.bins)
		if err != nil {
			return nil, err
		}
		all = append(all, binning{binned, kind.ece, kind.mce})
	}
	return all, nil
}

// logLoss returns the weighted log loss.
func logLoss(probabilities []float64, labels []bool, weights []int32) float64 {
	sum, total := 0.0, 0.0
	for i, w := range weights {
		p := probabilities[i]
		if !labels[i] {
			p = 1 - p
		}
		sum -= float64(w) * math.Log(max(stats.LogLossClip, min(1-stats.LogLossClip, p)))
		total += float64(w)
	}
	return sum / total
}
