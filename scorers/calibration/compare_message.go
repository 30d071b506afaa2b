package calibration

import (
	"cmp"
	"context"
	"math"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration/stats"
	"plumbline/scorers/score"
)

// differenceDraws is how often a difference is drawn where nothing else is
// asked for.
const differenceDraws = 10_000

func nextAbove(v float64) float64 { return math.Nextafter(v, math.Inf(1)) }

// compare measures the second evaluation against the first on the records that
// both can measure: over all of them, then by group. The tests of the groups,
// or the one of all records where there are no groups, are one family.
func compare(ctx context.Context, first, second evaluation, m *plumblinev1.EvaluateOptions, index []int) ([]*plumblinev1.PairedComparison, error) {
	c := comparison{
		first: first, second: second,
		resampling: stats.Resampling{Draws: cmp.Or(int(m.GetBootstrap()), differenceDraws), Seed: first.resampling.Seed},
		names:      [2]string{cmp.Or(m.GetPolicy(), m.GetScore()), cmp.Or(m.GetAgainstPolicy(), m.GetAgainstScore())},
	}
	if first.policy == nil {
		_, _, index = first.column(index)
		_, _, index = second.column(index)
		if len(index) == 0 {
			return nil, score.MissingInput("no labelled record has both scores")
		}
	}
	byGroup := first.data.byGroup(index)
	sets := 1 // of records: all, and the groups if there are several
	if len(byGroup) > 1 {
		sets += len(byGroup)
	}
	c.resampling = begin(ctx, "differences", sets*c.resampling.Draws).counting(c.resampling, 1)
	all := c.measure(ctx, index, Group{})
	if len(byGroup) < 2 {
		return all, adjust(all)
	}
	var groups []*plumblinev1.PairedComparison
	for _, group := range sortedGroups(byGroup) {
		groups = append(groups, c.measure(ctx, byGroup[group], group)...)
	}
	return append(all, groups...), adjust(groups)
}

// adjust corrects the tests of one family.
func adjust(family []*plumblinev1.PairedComparison) error {
	var p []float64
	var tested []*plumblinev1.PairedComparison
	for _, c := range family {
		if c.PValue != nil {
			p, tested = append(p, c.GetPValue()), append(tested, c)
		}
	}
	adjusted, err := stats.Holm(p)
	if err != nil {
		return err
	}
	for i, c := range tested {
		c.PAdjusted = &adjusted[i]
	}
	return nil
}

// comparison is one compare call.
type comparison struct {
	first, second evaluation
	resampling    stats.Resampling
	names         [2]string
}

// measure returns the differences on the given records.
func (c comparison) measure(ctx context.Context, index []int, group Group) []*plumblinev1.PairedComparison {
	if c.first.policy != nil {
		return c.policies(ctx, index, group)
	}
	return c.scores(ctx, index, group)
}

func (c comparison) message(group Group, metric string) *plumblinev1.PairedComparison {
	return &plumblinev1.PairedComparison{
		First: c.names[0], Second: c.names[1], Dataset: group.Dataset, Model: group.Model, Metric: metric,
	}
}

// policies compares decisions: differences of all figures, and a test of which
// records are decided rightly.
func (c comparison) policies(ctx context.Context, index []int, group Group) []*plumblinev1.PairedComparison {
	labels := c.first.data.labelsOf(index)
	a, errA := Decide(ctx, c.first.data, index, c.first.policy, InputName)
	b, errB := Decide(ctx, c.first.data, index, c.second.policy, InputName)
	if errA != nil || errB != nil {
		return nil
	}
	first, other := decisionsOf(a, labels), decisionsOf(b, labels)
	figures, err := stats.Bootstrap(ctx, len(index), c.resampling, len(decisionFigures), func(weights []int32, out []float64) {
		second := make([]float64, len(decisionFigures))
		first.figures(weights, out)
		other.figures(weights, second)
		for f := range out {
			out[f] -= second[f]
		}
	})
	if err != nil {
		return nil
	}
	var all []*plumblinev1.PairedComparison
	for f, name := range decisionFigures {
		if name == "prevalence" { // the same for both
			continue
		}
		m := c.message(group, name)
		m.Difference = estimate(figures[f], len(index))
		if name == "accuracy" {
			m.PValue = signedRank(rightness(a, labels), rightness(b, labels))
		}
		all = append(all, m)
	}
	return all
}

func rightness(fired, labels []bool) []float64 {
	out := make([]float64, len(fired))
	for i := range fired {
		if fired[i] == labels[i] {
			out[i] = 1
		}
	}
	return out
}

// scores compares the orders that two scores give, and their squared errors
// where both are probabilities.
func (c comparison) scores(ctx context.Context, index []int, group Group) []*plumblinev1.PairedComparison {
	a, labels, _ := c.first.column(index)
	b, _, _ := c.second.column(index)
	first, errA := stats.NewRanked(a, labels)
	second, errB := stats.NewRanked(b, labels)
	if errA != nil || errB != nil {
		return nil
	}
	names := []string{"auroc", "auprc", "aurc"}
	probabilities := isProbability(a) && isProbability(b)
	if probabilities {
		names = append(names, "brier")
	}
	lossA, lossB := squaredErrors(a, labels), squaredErrors(b, labels)
	figures, err := stats.Bootstrap(ctx, len(index), c.resampling, len(names), func(weights []int32, out []float64) {
		out[0] = first.AUROC(weights) - second.AUROC(weights)
		out[1] = first.AUPRC(weights) - second.AUPRC(weights)
		out[2] = first.AURC(weights) - second.AURC(weights)
		if probabilities {
			out[3] = weightedMean(lossA, weights) - weightedMean(lossB, weights)
		}
	})
	if err != nil {
		return nil
	}
	var all []*plumblinev1.PairedComparison
	for f, name := range names {
		m := c.message(group, name)
		m.Difference = estimate(figures[f], len(index))
		if name == "brier" {
			m.PValue = signedRank(lossA, lossB)
		}
		all = append(all, m)
	}
	return all
}

func squaredErrors(probabilities []float64, labels []bool) []float64 {
	out := make([]float64, len(probabilities))
	for i, p := range probabilities {
		miss := p
		if labels[i] {
			miss = 1 - p
		}
		out[i] = miss * miss
	}
	return out
}

// signedRank is the two-sided probability of the paired test, if there is one:
// without a difference there is none.
func signedRank(x, y []float64) *float64 {
	test, err := stats.Wilcoxon(x, y)
	if err != nil {
		return nil
	}
	return &test.P
}
