package report

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration"
	"plumbline/scorers/gate"
	"plumbline/scorers/page"
)

// metricNames explain figures, in the order in which tables have them.
var metricNames = []struct{ name, text string }{
	{"prevalence", "positive records (prevalence)"},
	{"catch_rate", "positives caught (recall)"},
	{"escalation_rate", "records escalated"},
	{"false_alarm_rate", "negatives escalated (false alarms)"},
	{"precision", "positives among the escalated (precision)"},
	{"commit_error_rate", "positives among the committed"},
	{"accuracy", "accuracy"},
	{"balanced_accuracy", "balanced accuracy"},
	{"f1", "F1"},
	{"auroc", "AUROC"},
	{"auprc", "AUPRC (average precision)"},
	{"aurc", "AURC (risk–coverage)"},
	{"brier", "Brier score"},
	{"brier_reliability", "… its reliability part"},
	{"brier_resolution", "… its resolution part"},
	{"brier_uncertainty", "… its uncertainty part"},
	{"log_loss", "log loss"},
	{"ece", "ECE, equal width"},
	{"ece_equal_mass", "ECE, equal mass"},
	{"ece_5", "ECE-5"},
	{"ece_10", "ECE-10"},
	{"ece_15", "ECE-15"},
	{"ece_predicted_class", "ECE of the predicted class"},
	{"mce", "MCE"},
	{"recall_at_window", "a gold item in the window"},
	{"gold_share_at_window", "share of gold items in the window"},
	{"full_gold_at_window", "all gold items in the window"},
	{"mrr", "MRR of the first gold item"},
	{"em", "exact match"},
	{"passages", "passages"},
	{"tokens", "tokens"},
	{"calls", "model calls"},
	{"route_rate", "questions that retrieve"},
	{"spearman", "Spearman’s ρ"},
}

// plain is a figure without its interval, or a dash.
func plain(e *plumblinev1.Estimate) string {
	if e == nil || e.Value == nil {
		return "–"
	}
	return number(e.GetValue())
}

func number(v float64) string {
	switch {
	case v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}

// interval is a figure with its interval, or why there is none.
func interval(e *plumblinev1.Estimate) string {
	switch {
	case e == nil:
		return "–"
	case e.Value == nil:
		return "– (" + e.GetReason() + ")"
	case e.Lower == nil:
		return number(e.GetValue())
	default:
		return fmt.Sprintf("%s [%s, %s]", number(e.GetValue()), number(e.GetLower()), number(e.GetUpper()))
	}
}

func percent(e *plumblinev1.Estimate) string {
	if e == nil || e.Value == nil {
		return "–"
	}
	return fmt.Sprintf("%.0f %% [%.0f, %.0f]", 100*e.GetValue(), 100*e.GetLower(), 100*e.GetUpper())
}

// summary says what was chosen, why, and what it costs.
func (in Input) summary() []string {
	var out []string
	if in.Fit != nil {
		out = append(out, in.fitSummary()...)
	}
	if in.Evaluate != nil {
		out = append(out, in.evaluateSummary()...)
	}
	if in.Replay != nil {
		out = append(out, in.replaySummary()...)
	}
	return out
}

func (in Input) fitSummary() []string {
	verdicts := in.Fit.GetSignals()
	chosen := kept(verdicts)
	passed, repeats := 0, 0
	for _, v := range verdicts {
		if v.GetRedundantWith() != "" {
			repeats++
		}
		if v.GetKept() || v.GetRedundantWith() != "" {
			passed++
		}
	}
	why := fmt.Sprintf("Of %d signals, %d separate positive from negative records by more than %g; of these %d repeat a stronger one (absolute correlation above %g) and were dropped.",
		len(verdicts), passed, orDefault(in.FitOptions.MinSeparation, 0.65), repeats, orDefault(in.FitOptions.MaxCorrelation, 0.85))
	if in.Fit.GetPolicy() == nil {
		return []string{"No policy: " + in.Fit.GetReason() + ".", why}
	}
	var names []string
	for _, v := range chosen {
		text := v.GetSignal()
		if v.Threshold != nil {
			text += fmt.Sprintf(" %s %.4g", side(v), v.GetThreshold())
		}
		names = append(names, text)
	}
	out := []string{
		fmt.Sprintf("Chosen: %s (%s). The policy %q decides %s where it fires and %s elsewhere.",
			strings.Join(names, ", "), in.Fit.GetPolicy().GetProvenance().GetMethod(), in.Fit.GetPolicy().GetName(),
			action(in.FitOptions.GetThen(), "escalate"), action(in.FitOptions.GetOtherwise(), "commit")),
		"Why: " + why,
	}
	if m := in.Fit.GetMetrics(); m != nil {
		out = append(out, fmt.Sprintf("What it costs: on the %d records held out, of which %s are positive, it escalates %s and catches %s of the positives. Of the records that it commits to, %s are positive.",
			in.Fit.GetTestSize(), percent(m["prevalence"]), percent(m["escalation_rate"]), percent(m["catch_rate"]), percent(m["commit_error_rate"])))
	}
	return out
}

func orDefault(v *float64, fallback float64) float64 {
	if v == nil {
		return fallback
	}
	return *v
}

func action(a plumblinev1.Action, fallback string) string {
	if a == plumblinev1.Action_ACTION_UNSPECIFIED {
		return fallback
	}
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(a.String(), "ACTION_"), "_", " "))
}

func side(v *plumblinev1.SignalVerdict) string {
	switch v.GetDirection() {
	case plumblinev1.WeakWhen_WEAK_WHEN_HIGH:
		return "above"
	case plumblinev1.WeakWhen_WEAK_WHEN_LOW:
		return "below"
	default:
		return "–"
	}
}

func (in Input) evaluateSummary() []string {
	m := in.Evaluate.GetMetrics()
	name := cmp.Or(in.EvaluateOptions.GetPolicy(), in.EvaluateOptions.GetScore())
	out := []string{fmt.Sprintf("%s on %d records: balanced accuracy %s", name, m["accuracy"].GetN(), interval(m["balanced_accuracy"]))}
	if area, ok := m["auroc"]; ok {
		out[0] += fmt.Sprintf(", AUROC %s, average precision %s at a prevalence of %s", interval(area), interval(m["auprc"]), plain(m["prevalence"]))
	}
	out[0] += "."
	for _, c := range in.Evaluate.GetComparisons() {
		if c.GetDataset() == "" && c.GetModel() == "" && (c.GetMetric() == "auroc" || c.GetMetric() == "balanced_accuracy") {
			out = append(out, fmt.Sprintf("%s minus %s: %s %s.", c.GetFirst(), c.GetSecond(), c.GetMetric(), interval(c.GetDifference())))
		}
	}
	return out
}

func (in Input) replaySummary() []string {
	var parts []string
	for _, p := range in.Replay.GetPolicies() {
		parts = append(parts, fmt.Sprintf("%s %s", p.GetName(), interval(p.GetMetrics()["f1"])))
	}
	out := []string{"Mean F1: " + strings.Join(parts, "; ") + "."}
	if b := in.Replay.GetBenefit(); b["auroc"] != nil {
		out = append(out, fmt.Sprintf("The score predicts that retrieval strictly helps with AUROC %s (prevalence %s) and ρ %s with the size of the benefit.",
			interval(b["auroc"]), plain(b["prevalence"]), interval(b["spearman"])))
	}
	return out
}

// choice is how signals were chosen.
func (in Input) choice() (page.Section, []page.Plot, error) {
	rows := make([][]string, 0, len(in.Fit.GetSignals()))
	for _, v := range in.Fit.GetSignals() {
		verdict, threshold, direction := "dropped", "–", side(v)
		if v.GetKept() {
			verdict = "kept"
		}
		if v.Threshold != nil {
			threshold = fmt.Sprintf("%.4g", v.GetThreshold())
		}
		if v.GetUnexpectedDirection() {
			direction += " (unexpected)"
		}
		rows = append(rows, []string{
			v.GetSignal(), interval(v.GetSeparation()), direction, verdict, v.GetReason(), threshold,
			interval(v.GetCatchRate()), interval(v.GetEscalationRate()),
		})
	}
	s := page.Section{
		Title: "How the signals were chosen",
		Paragraphs: []string{fmt.Sprintf("Measured on the calibration split of %d labelled records. Separation is the larger of AUROC and 1 − AUROC, "+
			"with a 95 %% bootstrap interval; one half is a coin flip.", in.Fit.GetCalibrationSize())},
		Tables: []page.Table{{
			Caption: "Every signal, the strongest first",
			Head:    []string{"signal", "separation", "weak when", "verdict", "reason", "floor", "catches", "escalates"},
			Rows:    rows,
		}},
	}
	if in.Data == nil {
		return s, nil, nil
	}
	var plots []page.Plot
	if p, ok := separationPlot(in.Data, in.Fit.GetSignals()); ok {
		plots = append(plots, p)
	}
	for _, v := range first(kept(in.Fit.GetSignals()), mostHistograms) {
		if p, ok := histogramPlot(in.Data, v); ok {
			plots = append(plots, p)
		}
	}
	return s, plots, nil
}

// cost is what the policy does on the held-out split.
func (in Input) cost(ctx context.Context) (page.Section, []page.Plot, error) {
	s := page.Section{Title: "What the policy does"}
	if in.Fit.GetPolicy() == nil {
		s.Paragraphs = []string{"There is no policy: " + in.Fit.GetReason() + "."}
		return s, nil, nil
	}
	s.Paragraphs = []string{fmt.Sprintf("Figures of the %d records held out, which neither signals nor thresholds were chosen on, with 95 %% bootstrap intervals; beside them those of the calibration split.", in.Fit.GetTestSize())}
	s.Tables = append(s.Tables, metricTable("The policy", map[string]map[string]*plumblinev1.Estimate{
		"held out": in.Fit.GetMetrics(), "calibration": in.Fit.GetCalibrationMetrics(),
	}, "held out", "calibration"))
	if groups := in.Fit.GetGroups(); len(groups) > 0 {
		s.Tables = append(s.Tables, groupTable("By group, held out", groups, "prevalence", "catch_rate", "escalation_rate", "balanced_accuracy"))
	}
	if in.Data == nil {
		return s, nil, nil
	}
	plots := signalCurves(in.Data, in.Fit)
	if p, ok := in.strongestReliability(ctx); ok {
		plots = append(plots, p)
	}
	bars, err := in.routingBars(ctx)
	if err != nil {
		return s, nil, err
	}
	if p, ok := distributionPlot(bars, action(in.FitOptions.GetThen(), "escalate"), action(in.FitOptions.GetOtherwise(), "commit")); ok {
		plots = append(plots, p)
	}
	return s, plots, nil
}

// strongestReliability calibrates the strongest kept signal on the held-out
// split; there is none where too few records are held out.
func (in Input) strongestReliability(ctx context.Context) (page.Plot, bool) {
	chosen := kept(in.Fit.GetSignals())
	if len(chosen) == 0 {
		return page.Plot{}, false
	}
	signal := chosen[0]
	response, err := calibration.Evaluate(ctx, in.Data, &plumblinev1.EvaluateOptions{
		Score: signal.GetSignal(), Below: signal.GetDirection() == plumblinev1.WeakWhen_WEAK_WHEN_LOW,
		Split: plumblinev1.Split_SPLIT_TEST, Seed: in.FitOptions.GetSeed(), Bins: 10, Bootstrap: 200,
	}, calibration.Policies{})
	if err != nil {
		return page.Plot{}, false
	}
	return reliabilityPlot(signal.GetSignal(), response.GetReliability())
}

// routingBars are the shares of each group and label that the policy fires on.
func (in Input) routingBars(ctx context.Context) ([]bar, error) {
	g, _, err := gate.Compile(in.Fit.GetPolicy(), gate.Options{})
	if err != nil {
		return nil, err
	}
	var index []int
	for i := range in.Data.Len() {
		if _, labelled := in.Data.Label(i); labelled && in.Data.Split(i) == calibration.Test {
			index = append(index, i)
		}
	}
	fired, err := calibration.Decide(ctx, in.Data, index, g, calibration.InputName)
	if err != nil {
		return nil, err
	}
	all, firing := map[string]float64{}, map[string]float64{}
	for r, i := range index {
		name := groupName(in.Data.Group(i).Dataset, in.Data.Group(i).Model) + ": good"
		if weak, _ := in.Data.Label(i); weak {
			name = groupName(in.Data.Group(i).Dataset, in.Data.Group(i).Model) + ": weak"
		}
		all[name]++
		if fired[r] {
			firing[name]++
		}
	}
	var bars []bar
	for name, n := range all {
		bars = append(bars, bar{name: strings.TrimPrefix(name, "all: "), share: firing[name] / n})
	}
	slices.SortFunc(bars, func(a, b bar) int { return cmp.Compare(a.name, b.name) })
	return bars, nil
}

func groupName(dataset, model string) string {
	return cmp.Or(strings.Trim(dataset+" · "+model, " ·"), "all")
}

// metricTable has a row for each figure and a column for each set of them.
func metricTable(caption string, sets map[string]map[string]*plumblinev1.Estimate, order ...string) page.Table {
	t := page.Table{Caption: caption, Head: append([]string{"figure"}, order...)}
	for _, metric := range metricNames {
		row := []string{metric.text}
		known := false
		for _, name := range order {
			e, ok := sets[name][metric.name]
			known = known || ok
			row = append(row, interval(e))
		}
		if known {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func groupTable(caption string, groups []*plumblinev1.GroupMetrics, metrics ...string) page.Table {
	t := page.Table{Caption: caption, Head: []string{"group", "records"}}
	for _, m := range metrics {
		t.Head = append(t.Head, textOf(m))
	}
	for _, g := range groups {
		row := []string{groupName(g.GetDataset(), g.GetModel()), fmt.Sprint(g.GetMetrics()["accuracy"].GetN())}
		for _, m := range metrics {
			row = append(row, interval(g.GetMetrics()[m]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func textOf(metric string) string {
	for _, m := range metricNames {
		if m.name == metric {
			return m.text
		}
	}
	return metric
}

// evaluation shows the figures of a policy or score.
func (in Input) evaluation() (page.Section, []page.Plot, error) {
	name := cmp.Or(in.EvaluateOptions.GetPolicy(), in.EvaluateOptions.GetScore())
	against := cmp.Or(in.EvaluateOptions.GetAgainstPolicy(), in.EvaluateOptions.GetAgainstScore())
	s := page.Section{Title: "Figures of " + name, Paragraphs: []string{"With 95 % bootstrap intervals."}}
	sets, order := map[string]map[string]*plumblinev1.Estimate{name: in.Evaluate.GetMetrics()}, []string{name}
	if against != "" {
		sets[against] = in.Evaluate.GetAgainstMetrics()
		order = append(order, against)
	}
	all := metricTable("All records", sets, order...)
	if in.EvaluateOptions.GetScore() != "" {
		all = ofAScore(all)
	}
	s.Tables = append(s.Tables, all)
	if r := in.Evaluate.GetReliability(); len(r) > 0 {
		sets, order := map[string]map[string]*plumblinev1.Estimate{}, []string{}
		for _, one := range r {
			sets[one.GetCalibration()] = one.GetMetrics()
			order = append(order, one.GetCalibration())
		}
		s.Tables = append(s.Tables, metricTable("As a probability: as it is, and calibrated on other folds", sets, order...))
	}
	if groups := in.Evaluate.GetGroups(); len(groups) > 0 {
		metrics := []string{"prevalence", "auroc", "balanced_accuracy", "ece"}
		if in.EvaluateOptions.GetPolicy() != "" {
			metrics = []string{"prevalence", "catch_rate", "escalation_rate", "balanced_accuracy"}
		}
		s.Tables = append(s.Tables, groupTable("By group", groups, metrics...))
	}
	if c := in.Evaluate.GetComparisons(); len(c) > 0 {
		s.Tables = append(s.Tables, comparisonTable(c))
	}
	plots := curvePlots(name, in.Evaluate.GetCurves())
	if p, ok := reliabilityPlot(name, in.Evaluate.GetReliability()); ok {
		plots = append([]page.Plot{p}, plots...)
	}
	return s, plots, nil
}

// ofAScore words figures for a score, which predicts and does not act.
func ofAScore(t page.Table) page.Table {
	words := strings.NewReplacer(
		"records escalated", "records predicted positive", "negatives escalated", "negatives predicted positive",
		"among the escalated", "among those predicted positive", "among the committed", "among those predicted negative",
	)
	for _, row := range t.Rows {
		row[0] = words.Replace(row[0])
	}
	return t
}

func comparisonTable(comparisons []*plumblinev1.PairedComparison) page.Table {
	t := page.Table{
		Caption: "Paired differences: first minus second, with paired bootstrap intervals; p by Wilcoxon’s signed-rank test, adjusted by Holm",
		Head:    []string{"group", "first", "second", "figure", "difference", "p", "p adjusted"},
	}
	for _, c := range comparisons {
		t.Rows = append(t.Rows, []string{
			groupName(c.GetDataset(), c.GetModel()), c.GetFirst(), c.GetSecond(), textOf(c.GetMetric()),
			interval(c.GetDifference()), probability(c.PValue), probability(c.PAdjusted),
		})
	}
	return t
}

func probability(p *float64) string {
	if p == nil {
		return "–"
	}
	return fmt.Sprintf("%.3g", *p)
}

// replay shows routings side by side.
func (in Input) replay() (page.Section, []page.Plot, error) {
	name := cmp.Or(in.ReplayOptions.GetPolicy(), in.ReplayOptions.GetScore())
	ties := "retrieves"
	if in.Replay.GetOracleSkipsTies() {
		ties = "does not retrieve"
	}
	s := page.Section{
		Title: "Routing by " + name,
		Paragraphs: []string{"Recorded outcomes of both arms, recombined. Failures count as zero. Random retrieves for as many questions of each group as the policy, " +
			"by a fixed hash. The oracle takes the better arm, which nobody can know beforehand; where both are equally good it " + ties + ". A probe’s cost is added to the policy alone."},
		Tables: []page.Table{routingTable("All questions", in.Replay.GetPolicies())},
	}
	if success := in.Replay.GetSuccessOnly(); len(success) > 0 {
		s.Tables = append(s.Tables, routingTable("Only questions on which neither arm failed", success))
	}
	for _, g := range first(in.Replay.GetGroups(), mostGroups) {
		s.Tables = append(s.Tables, routingTable(groupName(g.GetDataset(), g.GetModel()), g.GetPolicies()))
	}
	if b := in.Replay.GetBenefit(); len(b) > 0 {
		s.Tables = append(s.Tables, metricTable("How the score predicts a strictly positive benefit", map[string]map[string]*plumblinev1.Estimate{"score": b}, "score"))
	}
	s.Tables = append(s.Tables, comparisonTable(in.Replay.GetComparisons()))
	var plots []page.Plot
	if p, ok := replayFrontier(in.Replay); ok {
		plots = append(plots, p)
	}
	var bars []bar
	for _, g := range in.Replay.GetGroups() {
		for _, p := range g.GetPolicies() {
			if p.GetName() == "policy" {
				bars = append(bars, bar{name: groupName(g.GetDataset(), g.GetModel()), share: p.GetMetrics()["route_rate"].GetValue()})
			}
		}
	}
	if p, ok := distributionPlot(bars, "retrieves", "does not"); ok {
		plots = append(plots, p)
	}
	return s, plots, nil
}

func routingTable(caption string, policies []*plumblinev1.RoutedPolicy) page.Table {
	metrics := []string{"f1", "em", "route_rate", "passages", "tokens", "calls"}
	t := page.Table{Caption: caption, Head: []string{"routing"}}
	for _, m := range metrics {
		t.Head = append(t.Head, textOf(m))
	}
	for _, p := range policies {
		row := []string{p.GetName()}
		for _, m := range metrics {
			row = append(row, interval(p.GetMetrics()[m]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// policyText is the policy as JSON for people.
func policyText(p *plumblinev1.Policy) string {
	if p == nil {
		return ""
	}
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(p)
	if err != nil {
		return ""
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		return ""
	}
	return out.String()
}
