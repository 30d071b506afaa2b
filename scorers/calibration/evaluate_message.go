package calibration

import (
	"cmp"
	"context"
	"maps"
	"slices"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration/stats"
	"plumbline/scorers/score"
)

// evaluation is how one policy or score is measured.
type evaluation struct {
	data *Data
	// policy is nil for a score.
	policy Policy
	// score is the signal's name; below says that its positives are the low
	// ones. Scores at threshold and on the positives' side of it count as
	// predicted positive.
	score      string
	below      bool
	threshold  float64
	resampling stats.Resampling
	bins       int
	folds      int
}

// Policies are those that an evaluation measures and compares; either is nil where
// the options name none.
type Policies struct{ Policy, Against Policy }

// Evaluate measures a score, or the policy if the options name one, on every
// labelled record, in all and by group, and against a second one if they name
// it. A score counts as a probability, with calibration errors, if all its
// values lie in [0, 1]; how well Platt's scaling and isotonic regression would
// calibrate it is measured on folds that they were not fitted on. The work ends
// with ctx, whose error is then returned.
func Evaluate(ctx context.Context, d *Data, m *plumblinev1.EvaluateOptions, p Policies) (*plumblinev1.EvaluateResponse, error) {
	if err := checkEvaluateOptions(m); err != nil {
		return nil, err
	}
	e := evaluation{
		data: d, policy: p.Policy, score: m.GetScore(), below: m.GetBelow(), threshold: 0.5,
		resampling: stats.Resampling{Draws: cmp.Or(int(m.GetBootstrap()), 1000), Seed: m.GetSeed()}, bins: cmp.Or(int(m.GetBins()), 15), folds: cmp.Or(int(m.GetFolds()), 5),
	}
	if m.Threshold != nil {
		e.threshold = m.GetThreshold()
	}
	response := &plumblinev1.EvaluateResponse{}
	index := selectLabelled(d, m.GetSplit(), response)
	figures, n, err := e.counted(ctx, "figures", 1).measure(ctx, index)
	if err != nil {
		return nil, err
	}
	response.Metrics = estimates(figures, n)
	if left := len(index) - n; left > 0 {
		response.Warnings = append(response.Warnings, warnf("%d of %d records lack the score and are left out", left, len(index)))
	}
	response.Groups = e.groups(ctx, index)
	if e.policy == nil {
		response.Reliability = e.reliability(ctx, index)
		response.Curves = e.curves(index)
	}
	if ctx.Err() != nil || m.GetAgainstPolicy() == "" && m.GetAgainstScore() == "" {
		return response, ctx.Err()
	}
	second := e
	second.policy, second.score, second.below = p.Against, m.GetAgainstScore(), m.GetAgainstBelow()
	if figures, n, err := second.counted(ctx, "figures of the second", 1).measure(ctx, index); err == nil {
		response.AgainstMetrics = estimates(figures, n)
	}
	response.Comparisons, err = compare(ctx, e, second, m, index)
	return response, cmp.Or(ctx.Err(), err)
}

func checkEvaluateOptions(m *plumblinev1.EvaluateOptions) error {
	switch {
	case (m.GetPolicy() == "") == (m.GetScore() == ""):
		return score.InvalidInput("options: name either a policy or a score")
	case m.GetAgainstPolicy() != "" && m.GetPolicy() == "":
		return score.InvalidInput("options.against_policy: a policy is compared with a policy; name the first in options.policy")
	case m.GetAgainstScore() != "" && m.GetScore() == "":
		return score.InvalidInput("options.against_score: a score is compared with a score; name the first in options.score")
	default:
		return nil
	}
}

// selectLabelled returns the labelled records of the side.
func selectLabelled(d *Data, split plumblinev1.Split, response *plumblinev1.EvaluateResponse) []int {
	onSide := sideOf(d, split)
	index := make([]int, 0, d.Len())
	without := 0
	for i := range d.Len() {
		if !onSide(i) {
			continue
		}
		if _, ok := d.Label(i); ok {
			index = append(index, i)
		} else {
			without++
		}
	}
	if without > 0 {
		response.Warnings = append(response.Warnings, warnf("%d records have no label and are left out", without))
	}
	return index
}

// column returns the oriented scores and labels of the records that have the
// score.
func (e evaluation) column(index []int) (scores []float64, labels []bool, present []int) {
	scores, labels, present = e.data.column(e.score, index)
	return Orient(scores, !e.below), labels, present
}

// counted is the evaluation with the draws of so many measurements as a stage.
func (e evaluation) counted(ctx context.Context, stage string, measurements int) evaluation {
	bootstraps := 1
	if e.policy == nil {
		bootstraps = 2 // order and decisions
	}
	e.resampling = begin(ctx, stage, measurements*bootstraps*e.resampling.Draws).counting(e.resampling, 1)
	return e
}

// measure returns the figures of the given records and how many of them could
// be measured.
func (e evaluation) measure(ctx context.Context, index []int) (Figures, int, error) {
	if len(index) == 0 {
		return nil, 0, errNoLabels
	}
	var figures Figures
	var err error
	n := len(index)
	if e.policy != nil {
		figures, err = e.measurePolicy(ctx, index)
	} else {
		figures, n, err = e.measureScore(ctx, index)
	}
	if err != nil {
		return nil, 0, err
	}
	if rankings, _, err := MeasureRankings(ctx, e.data, index, e.resampling); err == nil {
		maps.Copy(figures, rankings)
	}
	return figures, n, nil
}

func (e evaluation) measurePolicy(ctx context.Context, index []int) (Figures, error) {
	fired, err := Decide(ctx, e.data, index, e.policy, InputName)
	if err != nil {
		return nil, err
	}
	return MeasureDecisions(ctx, fired, e.data.labelsOf(index), e.resampling)
}

func (e evaluation) measureScore(ctx context.Context, index []int) (Figures, int, error) {
	values, labels, _ := e.column(index)
	if len(values) == 0 {
		return nil, 0, score.MissingInput("no labelled record has the score %q", e.score)
	}
	figures, err := MeasureScore(ctx, values, labels, e.resampling)
	if err != nil {
		return nil, 0, err
	}
	fired := make([]bool, len(values))
	for i, v := range values {
		fired[i] = v >= orient(e.threshold, !e.below)
	}
	decisions, err := MeasureDecisions(ctx, fired, labels, e.resampling)
	if err != nil {
		return nil, 0, err
	}
	maps.Copy(figures, decisions)
	if isProbability(values) {
		losses, err := MeasureProbability(ctx, values, labels, e.bins, e.resampling)
		if err != nil {
			return nil, 0, err
		}
		maps.Copy(figures, losses)
	}
	return figures, len(values), nil
}

func isProbability(values []float64) bool {
	return len(values) > 0 && slices.Min(values) >= 0 && slices.Max(values) <= 1
}

// groups measures every group, if there are several.
func (e evaluation) groups(ctx context.Context, index []int) []*plumblinev1.GroupMetrics {
	byGroup := e.data.byGroup(index)
	if len(byGroup) < 2 {
		return nil
	}
	counted := e.counted(ctx, "figures by group", len(byGroup))
	var out []*plumblinev1.GroupMetrics
	for _, group := range sortedGroups(byGroup) {
		metrics := &plumblinev1.GroupMetrics{Dataset: group.Dataset, Model: group.Model}
		if figures, n, err := counted.measure(ctx, byGroup[group]); err == nil {
			metrics.Metrics = estimates(figures, n)
		}
		out = append(out, metrics)
	}
	return out
}

func (d *Data) byGroup(index []int) map[Group][]int {
	groups := map[Group][]int{}
	for _, i := range index {
		groups[d.Group(i)] = append(groups[d.Group(i)], i)
	}
	return groups
}

// reliability measures the score as it is, if it is a probability, and as
// calibrated on other folds. What cannot be fitted is left out.
func (e evaluation) reliability(ctx context.Context, index []int) []*plumblinev1.Reliability {
	values, labels, present := e.column(index)
	steps := 0
	if isProbability(values) {
		steps += e.resampling.Draws
	}
	if e.folds > 1 { // two calibrations, fitted on each fold's others
		steps += 2 * (e.folds + e.resampling.Draws)
	}
	counted := begin(ctx, "calibration of the score", steps)
	var out []*plumblinev1.Reliability
	add := func(calibration string, probabilities []float64) {
		figures, err := MeasureProbability(ctx, probabilities, labels, e.bins, counted.counting(e.resampling, 1))
		if err != nil {
			return
		}
		bins, err := stats.EqualWidthBins(probabilities, labels, e.bins)
		if err != nil {
			return
		}
		out = append(out, &plumblinev1.Reliability{
			Calibration: calibration, Bins: binMessages(bins), Metrics: estimates(figures, len(labels)),
		})
	}
	if isProbability(values) {
		add("raw", values)
	}
	if e.folds > 1 {
		fold, err := e.data.foldsOf(ctx, present, e.folds, e.resampling.Seed)
		if err != nil {
			return nil
		}
		platt := func(s []float64, l []bool) (predictor, error) {
			defer counted.add(1)
			return stats.FitPlatt(ctx, s, l)
		}
		isotonic := func(s []float64, l []bool) (predictor, error) {
			defer counted.add(1)
			return stats.FitIsotonic(s, l)
		}
		if p, err := crossFitted(ctx, values, labels, fold, e.folds, platt); err == nil {
			add("platt", p)
		}
		if p, err := crossFitted(ctx, values, labels, fold, e.folds, isotonic); err == nil {
			add("isotonic", p)
		}
	}
	return out
}

func binMessages(bins []stats.Bin) []*plumblinev1.ReliabilityBin {
	out := make([]*plumblinev1.ReliabilityBin, 0, len(bins))
	for _, b := range bins {
		out = append(out, &plumblinev1.ReliabilityBin{
			Lower: b.Lower, Upper: b.Upper, Count: uint64(b.Count), Confidence: b.Confidence, Accuracy: b.Accuracy,
		})
	}
	return out
}

// predictor is a fitted calibration of a score.
type predictor interface{ Predict(score float64) float64 }

// crossFitted returns for every record the probability by a calibration that
// was fitted on the other folds.
func crossFitted(ctx context.Context, scores []float64, labels []bool, fold []int, folds int, fit func([]float64, []bool) (predictor, error)) ([]float64, error) {
	out := make([]float64, len(scores))
	for held := range folds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var s []float64
		var l []bool
		for i, f := range fold {
			if f != held {
				s, l = append(s, scores[i]), append(l, labels[i])
			}
		}
		model, err := fit(s, l)
		if err != nil {
			return nil, err
		}
		for i, f := range fold {
			if f == held {
				out[i] = model.Predict(scores[i])
			}
		}
	}
	return out, nil
}

// foldsOf deals records, in rising order, out to folds by SHA-256 over seed and
// id, stratified by group and label.
func (d *Data) foldsOf(ctx context.Context, index []int, folds int, seed uint64) ([]int, error) {
	dealt := slices.Clone(index)
	if err := d.shuffle(ctx, dealt, seed); err != nil {
		return nil, err
	}
	slices.SortStableFunc(dealt, func(a, b int) int {
		x, y := d.Group(a), d.Group(b)
		return cmp.Or(cmp.Compare(x.Dataset, y.Dataset), cmp.Compare(x.Model, y.Model), cmp.Compare(d.label(a), d.label(b)))
	})
	fold := make([]int, len(index))
	for rank, record := range dealt {
		position, _ := slices.BinarySearch(index, record)
		fold[position] = rank % folds
	}
	return fold, nil
}

// maxCurvePoints bounds a curve in a response; more cannot be seen.
const maxCurvePoints = 512

// thinned keeps at most maxCurvePoints of the points, evenly, with both ends.
func thinned[P any](points []P) []P {
	n := len(points)
	if n <= maxCurvePoints {
		return points
	}
	out := make([]P, maxCurvePoints)
	for i := range out {
		out[i] = points[i*(n-1)/(maxCurvePoints-1)]
	}
	return out
}

// curves are the ROC, precision–recall and risk–coverage curves of the score.
func (e evaluation) curves(index []int) []*plumblinev1.Curve {
	values, labels, _ := e.column(index)
	points, err := stats.OperatingPoints(values, labels, maxCurvePoints)
	if err != nil {
		return nil
	}
	roc, pr := &plumblinev1.Curve{Name: "roc"}, &plumblinev1.Curve{Name: "pr"}
	coverage := &plumblinev1.Curve{Name: "risk_coverage"}
	prevalence := float64(countRouted(labels)) / float64(len(labels))
	highest := slices.Max(values)
	for _, p := range points {
		// JSON has no infinity; the point that predicts nothing lies just above
		// the highest score.
		threshold := min(p.Threshold, nextAbove(highest))
		roc.Points = append(roc.Points, &plumblinev1.CurvePoint{X: p.FalseAlarm, Y: p.Recall, Threshold: threshold})
		pr.Points = append(pr.Points, &plumblinev1.CurvePoint{X: p.Recall, Y: p.Precision, Threshold: threshold})
		if covered := p.Recall*prevalence + p.FalseAlarm*(1-prevalence); covered > 0 {
			coverage.Points = append(coverage.Points, &plumblinev1.CurvePoint{X: covered, Y: 1 - p.Precision, Threshold: threshold})
		}
	}
	return []*plumblinev1.Curve{roc, pr, coverage}
}
