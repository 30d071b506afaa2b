package calibration

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"

	"plumbline/scorers/calibration/stats"
	"plumbline/scorers/gate"
	"plumbline/scorers/score"
)

// Method is a way to set a threshold.
type Method int

// The methods; see the functions of the same names.
const (
	MethodYouden Method = iota
	MethodTargetRecall
	MethodTargetPrecision
	MethodBudget
	MethodRiskControl
	// MethodGain is BestGain over the recorded outcomes of two arms; Options.Price
	// makes it cost-sensitive.
	MethodGain
)

// Options of a fit. DefaultOptions has the source's values.
type Options struct {
	// Signals to consider; empty means all.
	Signals []string
	// Expected tells, by signal, whether positives are expected high; a signal
	// that is not in it has no expectation.
	Expected map[string]bool
	// MinSeparation is the bar that a signal must pass, MaxCorrelation the
	// absolute correlation above which the weaker of two is dropped.
	MinSeparation, MaxCorrelation float64
	// Method sets thresholds; Target is its recall, precision or budget.
	Method Method
	Target float64
	// Alpha and Delta bound the risk: error at most Alpha with confidence
	// 1 − Delta.
	Alpha, Delta float64
	// Share is the part of the records that signals and thresholds are chosen
	// on.
	Share float64
	// Seed fixes split and bootstrap.
	Seed uint64
	// Draws of the bootstrap.
	Draws int
	// C is the inverse strength of the logistic regression's L2 penalty.
	C float64
	// Never and Always name the arms of MethodGain, Price what one unit of their
	// cost is worth in F1, and Grid the thresholds to try, in the unit of the
	// score; empty means all.
	Never, Always string
	Price         func(Cost) float64
	Grid          []float64
}

// DefaultOptions are the values of "Route Retrieval by Evidence": keep what
// separates by more than 0.65, drop what correlates by more than 0.85, set
// floors at Youden's point.
func DefaultOptions() Options {
	return Options{
		MinSeparation: 0.65, MaxCorrelation: 0.85, Method: MethodYouden,
		Alpha: 0.1, Delta: 0.05, Share: 0.5, Draws: 1000, C: 1,
		Never: "never", Always: "always",
	}
}

func (o Options) resampling() stats.Resampling { return stats.Resampling{Draws: o.Draws, Seed: o.Seed} }

// choosing returns the records that signals, directions and weights are chosen
// on, and bounding those that thresholds are set on: the calibration split for
// both, but for risk control its two halves. A guarantee holds for a rule that
// was fixed before the records that bound its risk were seen.
func (o Options) choosing(ctx context.Context, d *Data) (index []int, err error) {
	index = d.labelled(Calibration)
	if o.Method == MethodRiskControl {
		index, _, err = d.halves(ctx, index, o.Seed)
	}
	return index, err
}

func (o Options) bounding(ctx context.Context, d *Data) (index []int, err error) {
	index = d.labelled(Calibration)
	if o.Method == MethodRiskControl {
		_, index, err = d.halves(ctx, index, o.Seed)
	}
	return index, err
}

// Verdict says what became of one signal.
type Verdict struct {
	// Signal is its name.
	Signal string
	// Separation is max(AUROC, 1 − AUROC) on the calibration split, with the
	// interval of the AUROC in the direction found.
	Separation stats.Interval
	// N is how many records have the signal; Complete says that all have.
	N        int
	Complete bool
	// PositiveIsHigh is the direction found; Unexpected says that it is not the
	// expected one.
	PositiveIsHigh, Unexpected bool
	// Kept says that the signal is part of the policy, Reason why or why not.
	Kept   bool
	Reason string
	// RedundantWith is the stronger signal that made it redundant, Correlation
	// the correlation of the two.
	RedundantWith string
	Correlation   float64
	// Floor is its threshold, oriented back: it fires above it if
	// PositiveIsHigh, else below. Set if Kept.
	Floor Candidate
}

// Select measures every signal on the calibration split, keeps those that pass
// the bar, and drops of these what repeats a stronger one. Verdicts come with
// the strongest signal first.
func Select(ctx context.Context, d *Data, o Options) ([]Verdict, error) {
	index, err := o.choosing(ctx, d)
	if err != nil {
		return nil, err
	}
	if len(index) == 0 {
		return nil, errNoLabels
	}
	names := o.Signals
	if len(names) == 0 {
		names = d.SignalNames()
	}
	if len(names) == 0 {
		return nil, score.MissingInput("no record has a signal")
	}
	counted := begin(ctx, "separation of signals", len(names)*o.Draws)
	verdicts := make([]Verdict, len(names))
	for i, name := range names {
		verdicts[i].Signal = name
	}
	for some := range slices.Chunk(verdicts, rankedTogether(len(index))) {
		if err := separate(ctx, d, some, index, o, counted); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(verdicts, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(strength(b), strength(a)), cmp.Compare(a.Signal, b.Signal))
	})
	return verdicts, keep(ctx, d, verdicts, index, o)
}

// strength orders signals; those that could not be measured come last.
func strength(v Verdict) float64 {
	if v.Separation.Err != nil {
		return -1
	}
	return v.Separation.Value
}

// leastOfEachClass is how many records of either class a signal needs to be
// judged. A handful of records separates by chance: two positives that happen to
// be lowest have an AUROC of 1 and an interval without width.
const leastOfEachClass = 5

// rankedTogether is how many signals of so many records are ranked at a time:
// all but of millions of records, so that memory stays bounded.
func rankedTogether(records int) int {
	const most = 1 << 24
	return max(1, most/records)
}

// separate measures signals. Those that equally many records have share draws:
// drawing takes longer than a pass over what was drawn.
func separate(ctx context.Context, d *Data, verdicts []Verdict, index []int, o Options, counted *stage) error {
	ranked := make([]*stats.Ranked, len(verdicts))
	err := onCores(ctx, len(verdicts), 1, func(i, _ int) {
		v := &verdicts[i]
		values, labels, _ := d.column(v.Signal, index)
		v.N, v.Complete = len(values), len(values) == len(index)
		ranked[i], v.PositiveIsHigh, v.Separation.Err = rankable(values, labels)
	})
	if err != nil {
		return err
	}
	bySize := map[int][]int{} // places in verdicts
	for i := range verdicts {
		v := &verdicts[i]
		if v.Separation.Err != nil {
			v.Reason = score.Reason(v.Separation.Err).Reason
			counted.add(o.Draws)
			continue
		}
		if expected, known := o.Expected[v.Signal]; known {
			v.Unexpected = expected != v.PositiveIsHigh
		}
		bySize[v.N] = append(bySize[v.N], i)
	}
	for n, places := range bySize {
		intervals, err := stats.Bootstrap(ctx, n, counted.counting(o.resampling(), len(places)), len(places), func(weights []int32, out []float64) {
			for f, i := range places {
				out[f] = ranked[i].AUROC(weights)
			}
		})
		if err != nil {
			return err
		}
		for f, i := range places {
			verdicts[i].Separation = intervals[f]
		}
	}
	return nil
}

// rankable ranks a signal in the direction in which it separates, or says why it
// cannot be judged.
func rankable(values []float64, labels []bool) (ranked *stats.Ranked, positiveIsHigh bool, err error) {
	positives := countRouted(labels)
	switch fewest := min(positives, len(labels)-positives); {
	case fewest == 0:
		_, err := stats.AUROC(values, labels) // says which class there is
		return nil, false, err
	case fewest < leastOfEachClass:
		return nil, false, score.TooFew("needs %d records of each class that have the signal, got %d positive and %d negative",
			leastOfEachClass, positives, len(labels)-positives)
	case slices.Min(values) == slices.Max(values):
		return nil, false, score.NotApplicable("the signal is constant")
	}
	if ranked, err = stats.NewRanked(values, labels); err != nil {
		return nil, false, err
	}
	once := slices.Repeat([]int32{1}, len(values))
	if ranked.AUROC(once) < 0.5 {
		return ranked.Reversed(), false, nil
	}
	return ranked, true, nil
}

// keep marks the verdicts, strongest first.
func keep(ctx context.Context, d *Data, verdicts []Verdict, index []int, o Options) error {
	var kept []string
	for i := range verdicts {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := &verdicts[i]
		switch {
		case v.Separation.Err != nil:
			continue
		case v.Separation.Value <= o.MinSeparation:
			v.Reason = fmt.Sprintf("separation %.3f does not exceed the bar of %g", v.Separation.Value, o.MinSeparation)
			continue
		}
		if with, r := mostCorrelated(d, v.Signal, kept, index); math.Abs(r) > o.MaxCorrelation {
			v.RedundantWith, v.Correlation = with, r
			v.Reason = fmt.Sprintf("correlates %.2f with %s, which separates better", r, with)
			continue
		}
		v.Kept = true
		v.Reason = fmt.Sprintf("separation %.3f exceeds the bar of %g and repeats no stronger signal", v.Separation.Value, o.MinSeparation)
		kept = append(kept, v.Signal)
	}
	return nil
}

// mostCorrelated returns the kept signal with the largest absolute correlation,
// over records that have both.
func mostCorrelated(d *Data, name string, kept []string, index []int) (with string, r float64) {
	mine := d.signals[name]
	for _, other := range kept {
		theirs := d.signals[other]
		x, y := make([]float64, 0, len(index)), make([]float64, 0, len(index))
		for _, i := range index {
			if a, b := mine.at(i, notComputed), theirs.at(i, notComputed); !math.IsNaN(a) && !math.IsNaN(b) {
				x, y = append(x, a), append(y, b)
			}
		}
		if c, err := stats.Pearson(x, y); err == nil && math.Abs(c) > math.Abs(r) {
			with, r = other, c
		}
	}
	return with, r
}

// SetFloors gives the kept signals their thresholds by the method. Youden's point
// is each signal's own. What other methods promise is promised of the policy,
// which fires if any signal does, so that they set all floors together. Risk
// control, which bounds one score, and a grid, which is in the unit of one, keep
// the strongest signal alone.
func SetFloors(ctx context.Context, d *Data, verdicts []Verdict, o Options) error {
	index, err := o.bounding(ctx, d)
	if err != nil {
		return err
	}
	first, err := strongest(verdicts)
	if err != nil {
		return err
	}
	switch {
	case o.Method == MethodRiskControl:
		keepAlone(verdicts, first, "risk control bounds one score; combine several by a logistic regression")
	case o.Method == MethodGain && len(o.Grid) > 0:
		keepAlone(verdicts, first, "a grid is in the unit of one signal")
	case o.Method != MethodYouden:
		return o.setTogether(ctx, d, verdicts, index)
	}
	var unattainable error
	for i := range verdicts {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := &verdicts[i]
		if !v.Kept {
			continue
		}
		_, _, present := d.column(v.Signal, index) // where it is missing its floor says nothing
		v.Floor, err = o.threshold(d, present, func(i int) (float64, bool) {
			value, ok := d.Signal(v.Signal, i)
			return orient(value, v.PositiveIsHigh), ok
		}, o.orientedGrid(v.PositiveIsHigh))
		if err != nil {
			v.drop(score.Reason(err).Reason)
			unattainable = err
			continue
		}
		v.Floor.Threshold = orient(v.Floor.Threshold, v.PositiveIsHigh)
	}
	if _, err := strongest(verdicts); err != nil {
		return unattainable
	}
	return nil
}

func (v *Verdict) drop(reason string) { v.Kept, v.Reason = false, reason }

// keepAlone drops all kept signals but one.
func keepAlone(verdicts []Verdict, alone *Verdict, reason string) {
	for i := range verdicts {
		if v := &verdicts[i]; v.Kept && v != alone {
			v.drop("passes the bar, but " + reason)
		}
	}
}

// setTogether sets the floors of all kept signals by one level. A precision that
// is not attainable with all of them may be without the weakest.
func (o Options) setTogether(ctx context.Context, d *Data, verdicts []Verdict, index []int) error {
	var kept []*Verdict // strongest first
	for i := range verdicts {
		if verdicts[i].Kept {
			kept = append(kept, &verdicts[i])
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := o.setByLevel(d, kept, index)
		if err == nil {
			return nil
		}
		if o.Method != MethodTargetPrecision || len(kept) == 1 {
			for _, v := range kept {
				v.drop(score.Reason(err).Reason)
			}
			return err
		}
		weakest := kept[len(kept)-1]
		weakest.drop("passes the bar, but with it " + score.Reason(err).Reason)
		kept = kept[:len(kept)-1]
	}
}

// setByLevel sets the floors where the same share of the records lies past each,
// of those that have the signal: the level. The least level at which one of a
// record's signals fires is then a score of the record, and the policy's decision
// a threshold on that: the method applies to the policy as it does to one signal,
// and what it promises holds for it on these records.
func (o Options) setByLevel(d *Data, kept []*Verdict, index []int) error {
	none := math.Inf(1)
	levels := slices.Repeat([]float64{none}, d.Len())
	for _, v := range kept {
		values, labels, present := d.column(v.Signal, index)
		oriented := Orient(values, v.PositiveIsHigh)
		floors, err := Candidates(oriented, labels)
		if err != nil {
			return err
		}
		for r, i := range present {
			firing := sort.Search(len(floors), func(c int) bool { return floors[c].Threshold < oriented[r] })
			levels[i] = min(levels[i], floors[firing].EscalationRate())
		}
	}
	chosen, err := o.threshold(d, index, func(i int) (float64, bool) { return -levels[i], levels[i] < none }, nil)
	if err != nil {
		return err
	}
	for _, v := range kept {
		// Anew: those of several signals and millions of records are too much to keep.
		values, labels, _ := d.column(v.Signal, index)
		floors, err := Candidates(Orient(values, v.PositiveIsHigh), labels)
		if err != nil {
			return err
		}
		beyond := sort.Search(len(floors), func(c int) bool { return -floors[c].EscalationRate() <= chosen.Threshold })
		v.Floor = floors[beyond-1] // the first, which never fires, is within every level
		v.Floor.Threshold = orient(v.Floor.Threshold, v.PositiveIsHigh)
	}
	return nil
}

var errNoLabels = score.MissingInput("label: no record has one on this side of the split; " +
	"a record needs a label, a ranking with gold_ids, or for methods over outcomes both arms")

// noneKept says why no signal was kept: what is wrong with each, if that is the
// same, such as records of one class only.
func noneKept(verdicts []Verdict) error {
	first := verdicts[0].Separation.Err
	for _, v := range verdicts {
		if v.Separation.Err == nil || v.Separation.Err.Error() != first.Error() {
			return score.NotApplicable("no signal separates the classes well enough on this data: collect more records, or try other signals")
		}
	}
	return first
}

func (o Options) orientedGrid(positiveIsHigh bool) []float64 { return Orient(o.Grid, positiveIsHigh) }

// threshold applies the method to the oriented score of the given records. A
// record that lacks the score fires whatever the threshold, as it does by the
// policy.
func (o Options) threshold(d *Data, index []int, oriented func(int) (float64, bool), grid []float64) (Candidate, error) {
	var scores, gains []float64
	var labels, lacking []bool // lacking are the labels of those that lack the score
	for _, i := range index {
		s, ok := oriented(i)
		positive, _ := d.Label(i)
		if !ok {
			lacking = append(lacking, positive)
			continue
		}
		if o.Method == MethodGain {
			gain, ok := o.gain(d, i)
			if !ok {
				continue
			}
			gains = append(gains, gain)
		}
		scores, labels = append(scores, s), append(labels, positive)
	}
	switch o.Method {
	case MethodGain:
		if len(gains) == 0 {
			return Candidate{}, score.MissingInput("no record has the outcomes of both arms %q and %q", o.Never, o.Always)
		}
		return BestGain(scores, gains, labels, grid)
	case MethodRiskControl:
		return o.controlled(scores, labels)
	}
	candidates, err := Candidates(scores, labels)
	if err != nil {
		return Candidate{}, err
	}
	for i := range candidates {
		candidates[i].alsoFiring(lacking)
	}
	switch o.Method {
	case MethodYouden:
		return Youden(candidates)
	case MethodTargetRecall:
		return TargetRecall(candidates, o.Target)
	case MethodTargetPrecision:
		return TargetPrecision(candidates, o.Target)
	case MethodBudget:
		return Budget(candidates, o.Target)
	default:
		return Candidate{}, score.InvalidInput("unknown threshold method %d", o.Method)
	}
}

// gain is what retrieving for a question brings, if both arms were recorded.
func (o Options) gain(d *Data, i int) (float64, bool) {
	never, okNever := d.Arm(o.Never, i)
	always, okAlways := d.Arm(o.Always, i)
	gain := Paired{Never: never, Always: always}.Benefit()
	if o.Price != nil {
		gain -= o.Price(always.Cost) - o.Price(never.Cost)
	}
	return gain, okNever && okAlways
}

// controlled bounds the risk of not firing: committing is not firing,
// confidence is the negated score, and an answer is right if the record is not
// positive.
func (o Options) controlled(oriented []float64, labels []bool) (Candidate, error) {
	right := make([]bool, len(labels))
	for i, l := range labels {
		right[i] = !l
	}
	rule, err := ControlRisk(Orient(oriented, false), right, o.Alpha, o.Delta)
	if err != nil {
		return Candidate{}, err
	}
	// ControlRisk commits strictly above its threshold, so that here a score at
	// the negated threshold must fire.
	return at(math.Nextafter(-rule.Threshold, math.Inf(-1)), oriented, labels), nil
}

// at describes what a threshold does on the data.
func at(threshold float64, oriented []float64, labels []bool) Candidate {
	c := Candidate{Threshold: threshold, N: len(oriented)}
	for i, s := range oriented {
		if labels[i] {
			c.Positives++
		}
		if s > threshold {
			c.Fired++
			if labels[i] {
				c.Caught++
			}
		}
	}
	return c
}

// Standardised is one term of a classifier over signals.
type Standardised struct {
	// Signal is its name; Mean and Deviation standardise it, Weight weighs it.
	Signal                  string
	Mean, Deviation, Weight float64
}

// Classifier is an L2-regularised logistic regression over kept signals.
type Classifier struct {
	// Terms are its signals.
	Terms []Standardised
	// Intercept is its constant.
	Intercept float64
	// Floor fires iff the probability is above its threshold.
	Floor Candidate
}

// FitClassifier fits a logistic regression over the kept signals on the
// calibration split and sets its threshold by the method. A signal that a
// record lacks counts as the mean.
func FitClassifier(ctx context.Context, d *Data, verdicts []Verdict, o Options) (Classifier, error) {
	var c Classifier
	index, err := o.choosing(ctx, d)
	if err != nil {
		return c, err
	}
	bounding, err := o.bounding(ctx, d)
	if err != nil {
		return c, err
	}
	for _, v := range verdicts {
		if !v.Kept {
			continue
		}
		values, _, _ := d.column(v.Signal, index)
		mean, deviation := stats.Moments(values)
		if deviation > 0 {
			c.Terms = append(c.Terms, Standardised{Signal: v.Signal, Mean: mean, Deviation: deviation})
		}
	}
	if len(c.Terms) == 0 {
		return c, noneKept(verdicts)
	}
	x, targets := mat.NewDense(len(index), len(c.Terms), nil), make([]float64, len(index))
	for r, i := range index {
		x.SetRow(r, c.row(d, i))
		if positive, _ := d.Label(i); positive {
			targets[r] = 1
		}
	}
	model, err := stats.FitLogistic(ctx, x, targets, o.C)
	if err != nil {
		return c, err
	}
	for j := range c.Terms {
		c.Terms[j].Weight = model.Weights[j]
	}
	c.Intercept = model.Intercept
	c.Floor, err = o.threshold(d, bounding, func(i int) (float64, bool) { return c.Probability(d, i) }, o.Grid)
	return c, err
}

// row returns a record's standardised signals.
func (c Classifier) row(d *Data, i int) []float64 {
	x := make([]float64, len(c.Terms))
	for j, t := range c.Terms {
		if v, ok := d.Signal(t.Signal, i); ok {
			x[j] = (v - t.Mean) / t.Deviation
		}
	}
	return x
}

// Probability returns P(positive) of a record, in [0, 1], to the last bit as the
// policy computes it. A record that has none of the signals has none.
func (c Classifier) Probability(d *Data, i int) (p float64, ok bool) {
	logit := c.Intercept
	for _, t := range c.Terms {
		if v, has := d.Signal(t.Signal, i); has {
			logit += gate.Contribution(v, t.Mean, t.Deviation, t.Weight)
			ok = true
		}
	}
	return gate.Sigmoid(logit), ok
}

// strongest returns the kept signal that separates best; verdicts come with the
// strongest first.
func strongest(verdicts []Verdict) (*Verdict, error) {
	for i := range verdicts {
		if verdicts[i].Kept {
			return &verdicts[i], nil
		}
	}
	return nil, noneKept(verdicts)
}

// FitCalibrated fits Platt's scaling of the strongest kept signal and sets its
// threshold by the method: a classifier of one term whose probability is
// calibrated.
func FitCalibrated(ctx context.Context, d *Data, verdicts []Verdict, o Options) (Classifier, error) {
	v, err := strongest(verdicts)
	if err != nil {
		return Classifier{}, err
	}
	choosing, err := o.choosing(ctx, d)
	if err != nil {
		return Classifier{}, err
	}
	bounding, err := o.bounding(ctx, d)
	if err != nil {
		return Classifier{}, err
	}
	values, labels, _ := d.column(v.Signal, choosing)
	platt, err := stats.FitPlatt(ctx, values, labels)
	if err != nil {
		return Classifier{}, err
	}
	c := Classifier{
		Terms:     []Standardised{{Signal: v.Signal, Deviation: 1, Weight: platt.Slope}},
		Intercept: platt.Intercept,
	}
	c.Floor, err = o.threshold(d, bounding, func(i int) (float64, bool) { return c.Probability(d, i) }, o.Grid)
	return c, err
}

// FitIsotonic sets the floor of the strongest kept signal on its isotonic
// probability and drops the other signals. The probability rises with the
// oriented score, so that a threshold on it is one on the score, at a border of
// the fitted steps: the policy needs no table.
func FitIsotonic(ctx context.Context, d *Data, verdicts []Verdict, o Options) error {
	v, err := strongest(verdicts)
	if err != nil {
		return err
	}
	choosing, err := o.choosing(ctx, d)
	if err != nil {
		return err
	}
	bounding, err := o.bounding(ctx, d)
	if err != nil {
		return err
	}
	values, labels, _ := d.column(v.Signal, choosing)
	isotonic, err := stats.FitIsotonic(Orient(values, v.PositiveIsHigh), labels)
	if err != nil {
		return err
	}
	oriented := func(i int) (float64, bool) {
		value, ok := d.Signal(v.Signal, i)
		return orient(value, v.PositiveIsHigh), ok
	}
	floor, err := o.threshold(d, bounding, func(i int) (float64, bool) {
		s, ok := oriented(i)
		return isotonic.Predict(s), ok
	}, o.Grid)
	if err != nil {
		return err
	}
	quiet, firing := math.Inf(-1), math.Inf(1)
	for _, i := range bounding {
		if s, ok := oriented(i); !ok {
			continue
		} else if isotonic.Predict(s) > floor.Threshold {
			firing = min(firing, s)
		} else {
			quiet = max(quiet, s)
		}
	}
	floor.Threshold = orient(between(quiet, firing), v.PositiveIsHigh)
	v.Floor = floor
	keepAlone(verdicts, v, "isotonic regression calibrates one score")
	return nil
}

// between returns a threshold that does not fire on the one score and does on
// the other; either may be missing, and infinite.
func between(quiet, firing float64) float64 {
	switch {
	case math.IsInf(firing, 1):
		return quiet
	case math.IsInf(quiet, -1):
		return math.Nextafter(firing, math.Inf(-1))
	default:
		return midway(firing, quiet)
	}
}
