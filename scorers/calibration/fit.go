package calibration

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plumbline/scorers/calibration/stats"
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
}

// DefaultOptions are the values of "Route Retrieval by Evidence": keep what
// separates by more than 0.65, drop what correlates by more than 0.85, set
// floors at Youden's point.
func DefaultOptions() Options {
	return Options{
		MinSeparation: 0.65, MaxCorrelation: 0.85, Method: MethodYouden,
		Alpha: 0.1, Delta: 0.05, Share: 0.5, Draws: 1000, C: 1,
	}
}

// Verdict says what became of one signal.
type Verdict struct {
	// Signal is its name.
	Signal string
	// Separation is max(AUROC, 1 − AUROC) on the calibration split, with the
	// interval of the AUROC in the direction found.
	Separation stats.Interval
	// N is how many records have the signal.
	N int
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
func Select(d *Data, o Options) ([]Verdict, error) {
	index := d.labelled(Calibration)
	if len(index) == 0 {
		return nil, score.MissingInput("no record of the calibration split has a label")
	}
	names := o.Signals
	if len(names) == 0 {
		names = d.SignalNames()
	}
	if len(names) == 0 {
		return nil, score.MissingInput("no record has a signal")
	}
	verdicts := make([]Verdict, len(names))
	for i, name := range names {
		verdicts[i] = separate(d, name, index, o)
	}
	slices.SortStableFunc(verdicts, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(strength(b), strength(a)), cmp.Compare(a.Signal, b.Signal))
	})
	keep(d, verdicts, index, o)
	return verdicts, nil
}

// strength orders signals; those that could not be measured come last.
func strength(v Verdict) float64 {
	if v.Separation.Err != nil {
		return -1
	}
	return v.Separation.Value
}

func separate(d *Data, name string, index []int, o Options) Verdict {
	v := Verdict{Signal: name}
	values, labels, _ := d.column(name, index)
	v.N = len(values)
	_, high, err := stats.Separation(values, labels)
	if err != nil {
		v.Separation.Err = err
		v.Reason = score.Reason(err).Reason
		return v
	}
	v.PositiveIsHigh = high
	if expected, known := o.Expected[name]; known {
		v.Unexpected = expected != high
	}
	if slices.Min(values) == slices.Max(values) {
		v.Separation.Err = score.NotApplicable("the signal is constant")
		v.Reason = "the signal is constant"
		return v
	}
	ranked, err := stats.NewRanked(Orient(values, high), labels)
	if err != nil {
		v.Separation.Err = err
		return v
	}
	intervals, err := stats.Bootstrap(len(values), o.Draws, o.Seed, 1, func(weights []int, out []float64) {
		out[0] = ranked.AUROC(weights)
	})
	if err != nil {
		v.Separation.Err = err
		return v
	}
	v.Separation = intervals[0]
	return v
}

// keep marks the verdicts, strongest first.
func keep(d *Data, verdicts []Verdict, index []int, o Options) {
	var kept []string
	for i := range verdicts {
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
		v.Reason = "kept"
		kept = append(kept, v.Signal)
	}
}

// mostCorrelated returns the kept signal with the largest absolute correlation,
// over records that have both.
func mostCorrelated(d *Data, name string, kept []string, index []int) (with string, r float64) {
	for _, other := range kept {
		var x, y []float64
		for _, i := range index {
			a, okA := d.Signal(name, i)
			b, okB := d.Signal(other, i)
			if okA && okB {
				x, y = append(x, a), append(y, b)
			}
		}
		if c, err := stats.Pearson(x, y); err == nil && math.Abs(c) > math.Abs(r) {
			with, r = other, c
		}
	}
	return with, r
}

// SetFloors gives every kept signal its threshold by the method. A signal for
// which none is attainable is dropped with the reason.
func SetFloors(d *Data, verdicts []Verdict, o Options) error {
	index := d.labelled(Calibration)
	for i := range verdicts {
		v := &verdicts[i]
		if !v.Kept {
			continue
		}
		values, labels, _ := d.column(v.Signal, index)
		floor, err := o.threshold(Orient(values, v.PositiveIsHigh), labels)
		if err != nil {
			v.Kept, v.Reason = false, score.Reason(err).Reason
			continue
		}
		if !v.PositiveIsHigh {
			floor.Threshold = -floor.Threshold
		}
		v.Floor = floor
	}
	if !slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Kept }) {
		return score.NotApplicable("no signal separates the classes well enough on this data: collect more records, or try other signals")
	}
	return nil
}

// threshold applies the method to oriented scores.
func (o Options) threshold(oriented []float64, labels []bool) (Candidate, error) {
	candidates, err := Candidates(oriented, labels)
	if err != nil {
		return Candidate{}, err
	}
	switch o.Method {
	case MethodYouden:
		return Youden(candidates)
	case MethodTargetRecall:
		return TargetRecall(candidates, o.Target)
	case MethodTargetPrecision:
		return TargetPrecision(candidates, o.Target)
	case MethodBudget:
		tau, err := BudgetQuantile(oriented, o.Target)
		if err != nil {
			return Candidate{}, err
		}
		return at(tau, oriented, labels), nil
	case MethodRiskControl:
		// Committing is not firing: confidence is the negated score, and an
		// answer is right if the record is not positive.
		right := make([]bool, len(labels))
		for i, l := range labels {
			right[i] = !l
		}
		rule, err := ControlRisk(Orient(oriented, false), right, o.Alpha, o.Delta)
		if err != nil {
			return Candidate{}, err
		}
		return at(-rule.Threshold, oriented, labels), nil
	default:
		return Candidate{}, score.InvalidInput("unknown threshold method %d", o.Method)
	}
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
func FitClassifier(d *Data, verdicts []Verdict, o Options) (Classifier, error) {
	index := d.labelled(Calibration)
	var c Classifier
	for _, v := range verdicts {
		if !v.Kept {
			continue
		}
		values, _, _ := d.column(v.Signal, index)
		mean, deviation := moments(values)
		if deviation > 0 {
			c.Terms = append(c.Terms, Standardised{Signal: v.Signal, Mean: mean, Deviation: deviation})
		}
	}
	if len(c.Terms) == 0 {
		return c, score.NotApplicable("no signal was kept")
	}
	rows, targets, labels := make([][]float64, len(index)), make([]float64, len(index)), make([]bool, len(index))
	for r, i := range index {
		rows[r] = c.row(d, i)
		if labels[r], _ = d.Label(i); labels[r] {
			targets[r] = 1
		}
	}
	model, err := stats.FitLogistic(rows, targets, o.C)
	if err != nil {
		return c, err
	}
	for j := range c.Terms {
		c.Terms[j].Weight = model.Weights[j]
	}
	c.Intercept = model.Intercept
	probabilities := make([]float64, len(index))
	for r := range rows {
		probabilities[r] = model.Predict(rows[r])
	}
	c.Floor, err = o.threshold(probabilities, labels)
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

// Probability returns P(positive) of a record, in [0, 1].
func (c Classifier) Probability(d *Data, i int) float64 {
	weights := make([]float64, len(c.Terms))
	for j, t := range c.Terms {
		weights[j] = t.Weight
	}
	return stats.Logistic{Weights: weights, Intercept: c.Intercept}.Predict(c.row(d, i))
}

// moments returns mean and population standard deviation.
func moments(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / float64(len(values))
	}
	return mean, math.Sqrt(deviation)
}

// FitCalibrated fits Platt's scaling of the strongest kept signal and sets its
// threshold by the method: a classifier of one term whose probability is
// calibrated.
func FitCalibrated(d *Data, verdicts []Verdict, o Options) (Classifier, error) {
	for _, v := range verdicts {
		if !v.Kept {
			continue
		}
		values, labels, _ := d.column(v.Signal, d.labelled(Calibration))
		platt, err := stats.FitPlatt(values, labels)
		if err != nil {
			return Classifier{}, err
		}
		probabilities := make([]float64, len(values))
		for i, s := range values {
			probabilities[i] = platt.Predict(s)
		}
		floor, err := o.threshold(probabilities, labels)
		return Classifier{
			Terms:     []Standardised{{Signal: v.Signal, Deviation: 1, Weight: platt.Slope}},
			Intercept: platt.Intercept,
			Floor:     floor,
		}, err
	}
	return Classifier{}, score.NotApplicable("no signal was kept")
}
