package calibration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration/stats"
	"plumbline/scorers/gate"
	"plumbline/scorers/retrieval"
	"plumbline/scorers/score"
)

// FromMessage turns a record of the schema into ours.
func FromMessage(m *plumblinev1.CalibrationRecord) Record {
	r := Record{
		ID: m.GetId(), Dataset: m.GetDataset(), Model: m.GetModel(),
		Signals: m.GetSignals(), Label: m.Label,
	}
	switch m.GetSplit() {
	case plumblinev1.Split_SPLIT_CALIBRATION:
		r.Split = Calibration
	case plumblinev1.Split_SPLIT_TEST:
		r.Split = Test
	}
	for name, arm := range m.GetArms() {
		if r.Arms == nil {
			r.Arms = map[string]Outcome{}
		}
		r.Arms[name] = Outcome{
			F1: arm.GetF1(), EM: arm.GetEm(), Failed: arm.GetFailed(),
			Cost: Cost{Passages: arm.GetPassages(), Tokens: arm.GetTokens(), Calls: arm.GetCalls()},
		}
	}
	if p := m.GetProbe(); p != nil {
		r.Probe = Cost{Passages: p.GetPassages(), Tokens: p.GetTokens(), Calls: p.GetCalls()}
	}
	if ranking := m.GetRanking(); ranking != nil {
		r.Ranking = &Ranking{
			Ranked: ranking.GetRankedIds(), Gold: ranking.GetGoldIds(),
			Window: int(ranking.GetWindow()), Unanswerable: ranking.GetUnanswerable(),
		}
	}
	return r
}

// sideOf is the side that options name; every record is on it if they name
// none.
func sideOf(d *Data, split plumblinev1.Split) func(i int) bool {
	switch split {
	case plumblinev1.Split_SPLIT_CALIBRATION:
		return func(i int) bool { return d.Split(i) == Calibration }
	case plumblinev1.Split_SPLIT_TEST:
		return func(i int) bool { return d.Split(i) == Test }
	default:
		return func(int) bool { return true }
	}
}

// InputName returns the policy input of a signal: retrieval signals stand under
// "signals." in the telemetry, everything else under its own name.
func InputName(signal string) string {
	if _, known := expectedHigh()[signal]; known {
		return "signals." + signal
	}
	return signal
}

// expectedHigh tells for each retrieval signal whether weak evidence is
// expected where it is high.
func expectedHigh() map[string]bool {
	expected := map[string]bool{}
	for _, info := range retrieval.Infos() {
		expected[info.GetName()] = info.GetWeakWhen() == plumblinev1.WeakWhen_WEAK_WHEN_HIGH
	}
	return expected
}

// optionsOf reads the schema's options over the defaults.
func optionsOf(m *plumblinev1.FitOptions) (Options, error) {
	o := DefaultOptions()
	o.Signals, o.Expected, o.Seed = m.GetSignals(), expectedHigh(), m.GetSeed()
	set := func(to *float64, from *float64) {
		if from != nil {
			*to = *from
		}
	}
	set(&o.MinSeparation, m.MinSeparation)
	set(&o.MaxCorrelation, m.MaxCorrelation)
	set(&o.Target, m.Target)
	set(&o.Alpha, m.Alpha)
	set(&o.Delta, m.Delta)
	set(&o.Share, m.CalibrationShare)
	if m.GetBootstrap() > 0 {
		o.Draws = int(m.GetBootstrap())
	}
	switch m.GetMethod() {
	case plumblinev1.ThresholdMethod_THRESHOLD_METHOD_UNSPECIFIED, plumblinev1.ThresholdMethod_THRESHOLD_METHOD_YOUDEN:
		o.Method = MethodYouden
	case plumblinev1.ThresholdMethod_THRESHOLD_METHOD_TARGET_RECALL:
		o.Method = MethodTargetRecall
	case plumblinev1.ThresholdMethod_THRESHOLD_METHOD_TARGET_PRECISION:
		o.Method = MethodTargetPrecision
	case plumblinev1.ThresholdMethod_THRESHOLD_METHOD_BUDGET_QUANTILE:
		o.Method = MethodBudget
	case plumblinev1.ThresholdMethod_THRESHOLD_METHOD_RISK_CONTROL:
		o.Method = MethodRiskControl
	case plumblinev1.ThresholdMethod_THRESHOLD_METHOD_VALIDATION_F1:
		o.Method = MethodGain
	case plumblinev1.ThresholdMethod_THRESHOLD_METHOD_COST_SENSITIVE:
		if m.Target == nil || !(m.GetTarget() >= 0) || math.IsInf(m.GetTarget(), 0) {
			return o, score.InvalidInput("options.target: the cost-sensitive method needs λ, the F1 that one unit of cost is worth, at least 0")
		}
		o.Method, o.Price = MethodGain, priceOf(m.GetTarget(), m.GetCostUnit())
	default:
		return o, score.InvalidInput("options.method: unknown method %v", m.GetMethod())
	}
	o.Never, o.Always, o.Grid = arm(m.GetNeverArm(), o.Never), arm(m.GetAlwaysArm(), o.Always), m.GetThresholdGrid()
	return o, nil
}

// priceOf is λ times the cost in the unit.
func priceOf(lambda float64, unit plumblinev1.CostUnit) func(Cost) float64 {
	switch unit {
	case plumblinev1.CostUnit_COST_UNIT_TOKENS:
		return func(c Cost) float64 { return lambda * c.Tokens }
	case plumblinev1.CostUnit_COST_UNIT_CALLS:
		return func(c Cost) float64 { return lambda * c.Calls }
	default:
		return func(c Cost) float64 { return lambda * c.Passages }
	}
}

// Fit chooses signals and thresholds on the calibration split of the data and
// measures the policy on the held-out split. provenance adds what this package
// cannot know: when, and by which version of the program. A policy that is not attainable is an
// answer: the response then has a status and a reason in its place. An error is
// a *score.Missing for options that make no sense, or that of ctx, with which
// the work ends.
func Fit(ctx context.Context, d *Data, m *plumblinev1.FitOptions, provenance *plumblinev1.Provenance) (*plumblinev1.FitResponse, error) {
	o, err := optionsOf(m)
	if err != nil {
		return nil, err
	}
	if m.GetDataName() == "" {
		return nil, score.MissingInput("options.data_name: name the data, so that a policy says what it was fitted on")
	}
	if err := prepare(ctx, d, o); err != nil {
		return nil, err
	}
	calibration, test := d.labelled(Calibration), d.labelled(Test)
	response := &plumblinev1.FitResponse{
		CalibrationSize: uint64(len(calibration)), TestSize: uint64(len(test)),
	}
	naming := namingOf(m, provenance, response)
	if naming.Provenance.DataDigest, err = d.Digest(ctx); err != nil {
		return nil, err
	}
	verdicts, err := Select(ctx, d, o)
	if err != nil {
		return nil, err
	}
	policy, err := fitPolicy(ctx, d, verdicts, m.GetCombination(), o, naming)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	response.Signals = verdictMessages(ctx, d, verdicts, o)
	if err != nil {
		missing := score.Reason(err)
		response.Status, response.Reason = missing.Status, missing.Reason
		return response, nil
	}
	policy.Provenance.Method = describeMethod(m, o, len(policy.GetInputs()))
	response.Policy, response.Status = policy, plumblinev1.Status_STATUS_OK
	g, warnings, err := gate.Compile(policy, gate.Options{})
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		response.Warnings = append(response.Warnings, w.String())
	}
	refusals, err := unread(ctx, d, calibration, g)
	if err != nil {
		return nil, err
	}
	response.Warnings = append(response.Warnings, refusals...)
	e := evaluation{data: d, policy: g, resampling: o.resampling()}
	if figures, n, err := e.counted(ctx, "figures held out", 1).measure(ctx, test); err == nil {
		response.Metrics = estimates(figures, n)
	} else {
		response.Warnings = append(response.Warnings, "no held-out figures: "+score.Reason(err).Reason)
	}
	if figures, n, err := e.counted(ctx, "figures of the calibration split", 1).measure(ctx, calibration); err == nil {
		response.CalibrationMetrics = estimates(figures, n)
	}
	response.Groups = e.groups(ctx, test)
	return response, ctx.Err()
}

// Prepare labels and divides the records as Fit does, for whoever looks at the
// data beside Fit's answer.
func Prepare(ctx context.Context, d *Data, m *plumblinev1.FitOptions) error {
	o, err := optionsOf(m)
	if err != nil {
		return err
	}
	return prepare(ctx, d, o)
}

func prepare(ctx context.Context, d *Data, o Options) error {
	if o.Method == MethodGain {
		d.labelByBenefit(o.Never, o.Always)
	}
	return d.Assign(ctx, o.Share, o.Seed)
}

func namingOf(m *plumblinev1.FitOptions, provenance *plumblinev1.Provenance, r *plumblinev1.FitResponse) Naming {
	p := &plumblinev1.Provenance{}
	if provenance != nil {
		p = proto.CloneOf(provenance)
	}
	p.Calibrated, p.DataName, p.Seed = true, m.GetDataName(), m.GetSeed()
	p.FitSize, p.TestSize, p.VerifierDigest = r.GetCalibrationSize(), r.GetTestSize(), m.GetVerifierDigest()
	n := Naming{
		Name: m.GetPolicyName(), Input: InputName, Provenance: p,
		Then: m.GetThen(), Otherwise: m.GetOtherwise(),
	}
	if n.Name == "" {
		n.Name = "fitted"
	}
	if n.Then == plumblinev1.Action_ACTION_UNSPECIFIED {
		n.Then = plumblinev1.Action_ACTION_ESCALATE
	}
	if n.Otherwise == plumblinev1.Action_ACTION_UNSPECIFIED {
		n.Otherwise = plumblinev1.Action_ACTION_COMMIT
	}
	return n
}

// describeMethod says for people how a policy over so many signals was found, and
// what holds of it where.
func describeMethod(m *plumblinev1.FitOptions, o Options, signals int) string {
	combination := "a floor on one signal"
	switch {
	case m.GetCombination() == plumblinev1.Combination_COMBINATION_LOGISTIC:
		combination = "logistic regression"
	case m.GetCombination() == plumblinev1.Combination_COMBINATION_PLATT:
		combination = "Platt's scaling of one signal"
	case m.GetCombination() == plumblinev1.Combination_COMBINATION_ISOTONIC:
		combination = "isotonic regression of one signal"
	case signals > 1 && o.Method == MethodYouden:
		combination = "a floor on each signal"
	case signals > 1:
		combination = fmt.Sprintf("floors on %d signals, set together at one level", signals)
	}
	method := "Youden's point"
	switch m.GetMethod() {
	case plumblinev1.ThresholdMethod_THRESHOLD_METHOD_TARGET_RECALL:
		method = fmt.Sprintf("recall of at least %g on the calibration records", o.Target)
	case plumblinev1.ThresholdMethod_THRESHOLD_METHOD_TARGET_PRECISION:
		method = fmt.Sprintf("precision of at least %g on the calibration records", o.Target)
	case plumblinev1.ThresholdMethod_THRESHOLD_METHOD_BUDGET_QUANTILE:
		method = fmt.Sprintf("at most %g of the calibration records fire", o.Target)
	case plumblinev1.ThresholdMethod_THRESHOLD_METHOD_VALIDATION_F1:
		method = "best F1 of the routed outcomes"
	case plumblinev1.ThresholdMethod_THRESHOLD_METHOD_COST_SENSITIVE:
		method = fmt.Sprintf("best F1 less %g for each unit of cost", o.Target)
	case plumblinev1.ThresholdMethod_THRESHOLD_METHOD_RISK_CONTROL:
		method = fmt.Sprintf("error among the committed at most %g with confidence %g", o.Alpha, 1-o.Delta)
	}
	return combination + "; " + method
}

// unread warns of signals that the policy takes for missing though records have
// them: an input that is named as a score of the telemetry has that score's
// range.
func unread(ctx context.Context, d *Data, index []int, g *gate.Gate) ([]string, error) {
	inputs := inputsOf(d, InputName)
	refused := map[string]int{}
	var guard sync.Mutex
	err := inBlocks(ctx, len(index), func(from, to int) {
		for _, i := range index[from:to] {
			missing := g.Decide(valuesOf(d, i, inputs)).Missing
			if len(missing) == 0 {
				continue
			}
			guard.Lock()
			for name, input := range inputs {
				if _, has := d.Signal(name, i); has && slices.Contains(missing, input) {
					refused[name]++
				}
			}
			guard.Unlock()
		}
	})
	if err != nil {
		return nil, err
	}
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		warnings = append(warnings, warnf("%s lies outside the range of the score of that name on %d of %d records, "+
			"where the policy takes it for missing: give a signal that means something else another name", name, refused[name], len(index)))
	}
	return warnings, nil
}

// fitPolicy sets thresholds and builds the policy; verdicts are updated.
func fitPolicy(ctx context.Context, d *Data, verdicts []Verdict, combination plumblinev1.Combination, o Options, n Naming) (*plumblinev1.Policy, error) {
	switch combination {
	case plumblinev1.Combination_COMBINATION_UNSPECIFIED, plumblinev1.Combination_COMBINATION_ANY_FLOOR:
		if err := SetFloors(ctx, d, verdicts, o); err != nil {
			return nil, err
		}
		return FloorsPolicy(verdicts, n), nil
	case plumblinev1.Combination_COMBINATION_ISOTONIC:
		if err := FitIsotonic(ctx, d, verdicts, o); err != nil {
			return nil, err
		}
		return FloorsPolicy(verdicts, n), nil
	case plumblinev1.Combination_COMBINATION_LOGISTIC:
		c, err := FitClassifier(ctx, d, verdicts, o)
		if err != nil {
			return nil, err
		}
		return ClassifierPolicy(c, n), nil
	default: // Platt's; the schema admits no other
		c, err := FitCalibrated(ctx, d, verdicts, o)
		if err != nil {
			return nil, err
		}
		return ClassifierPolicy(c, n), nil
	}
}

func (d *Data) labelsOf(index []int) []bool {
	labels := make([]bool, len(index))
	for r, i := range index {
		labels[r] = d.label(i) == 1
	}
	return labels
}

func verdictMessages(ctx context.Context, d *Data, verdicts []Verdict, o Options) []*plumblinev1.SignalVerdict {
	out := make([]*plumblinev1.SignalVerdict, 0, len(verdicts))
	var floors []floorDecisions
	index := d.labelled(Calibration)
	for _, v := range verdicts {
		m := &plumblinev1.SignalVerdict{
			Signal: v.Signal, Separation: estimate(v.Separation, v.N), Direction: direction(v),
			UnexpectedDirection: v.Unexpected, Kept: v.Kept, Reason: v.Reason, RedundantWith: v.RedundantWith,
		}
		if v.RedundantWith != "" {
			m.Correlation = &v.Correlation
		}
		if v.Kept && v.Floor.N > 0 {
			m.Threshold = &v.Floor.Threshold
			floors = append(floors, floorDecisions{m, d.decisionsOf(v, index)})
		}
		out = append(out, m)
	}
	describeFloors(ctx, floors, o)
	return out
}

// floorDecisions is what a signal's floor does on the calibration split.
type floorDecisions struct {
	message *plumblinev1.SignalVerdict
	decisions
}

func (d *Data) decisionsOf(v Verdict, index []int) decisions {
	values, labels, _ := d.column(v.Signal, index)
	fired := make([]bool, len(values))
	for i, value := range values {
		fired[i] = value < v.Floor.Threshold
		if v.PositiveIsHigh {
			fired[i] = value > v.Floor.Threshold
		}
	}
	return decisionsOf(fired, labels)
}

// describeFloors adds to the messages what the floors do. As with separations,
// signals that equally many records have share draws.
func describeFloors(ctx context.Context, floors []floorDecisions, o Options) {
	counted := begin(ctx, "figures of floors", len(floors)*o.Draws)
	bySize := map[int][]floorDecisions{}
	for _, f := range floors {
		bySize[len(f.decisions)] = append(bySize[len(f.decisions)], f)
	}
	width := len(decisionFigures)
	for n, some := range bySize {
		figures, err := stats.Bootstrap(ctx, n, counted.counting(o.resampling(), len(some)), width*len(some), func(weights []int32, out []float64) {
			for i, f := range some {
				f.figures(weights, out[i*width:])
			}
		})
		if err != nil {
			return // of ctx, which the caller looks at
		}
		for i, f := range some {
			f.message.CatchRate = estimate(figures[i*width+catchRate], n)
			f.message.EscalationRate = estimate(figures[i*width+escalationRate], n)
		}
	}
}

func direction(v Verdict) plumblinev1.WeakWhen {
	switch {
	case v.Separation.Err != nil:
		return plumblinev1.WeakWhen_WEAK_WHEN_UNSPECIFIED
	case v.PositiveIsHigh:
		return plumblinev1.WeakWhen_WEAK_WHEN_HIGH
	default:
		return plumblinev1.WeakWhen_WEAK_WHEN_LOW
	}
}

func estimates(figures Figures, n int) map[string]*plumblinev1.Estimate {
	out := map[string]*plumblinev1.Estimate{}
	for name, i := range figures {
		out[name] = estimate(i, n)
	}
	return out
}

func estimate(i stats.Interval, n int) *plumblinev1.Estimate {
	if i.Err != nil {
		missing := score.Reason(i.Err)
		return &plumblinev1.Estimate{Status: missing.Status, Reason: missing.Reason, N: uint64(n)}
	}
	return &plumblinev1.Estimate{
		Value: &i.Value, Lower: &i.Lower, Upper: &i.Upper,
		Status: plumblinev1.Status_STATUS_OK, N: uint64(n),
	}
}

// IsOptionsError says whether an error is the caller's: options or records
// that make no sense.
func IsOptionsError(err error) bool {
	var missing *score.Missing
	return errors.As(err, &missing)
}
