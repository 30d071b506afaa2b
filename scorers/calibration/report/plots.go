package report

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration"
	"plumbline/scorers/calibration/stats"
	"plumbline/scorers/page"
)

// How much of many signals and groups a plot shows; tables have all.
const (
	mostBoxes      = 12
	mostHistograms = 4
	mostCurves     = 5
	mostGroups     = 14
)

// labelledValues are a signal's values on one side of the split, by label.
type labelledValues struct {
	values []float64
	labels []bool
}

func valuesOf(d *calibration.Data, signal string, side calibration.Split) labelledValues {
	var out labelledValues
	for i := range d.Len() {
		label, labelled := d.Label(i)
		if v, ok := d.Signal(signal, i); ok && labelled && d.Split(i) == side {
			out.values, out.labels = append(out.values, v), append(out.labels, label)
		}
	}
	return out
}

func (l labelledValues) of(label bool) plotter.Values {
	var out plotter.Values
	for i, v := range l.values {
		if l.labels[i] == label {
			out = append(out, v)
		}
	}
	return out
}

// farthest is where standardised values are cut off, so that a few outliers do
// not press the boxes flat.
const farthest = 4

// standardised shifts and scales values so that signals share an axis.
func (l labelledValues) standardised() labelledValues {
	mean, _ := stats.Mean(l.values)
	sum := 0.0
	for _, v := range l.values {
		sum += (v - mean) * (v - mean)
	}
	deviation := math.Sqrt(sum / float64(len(l.values)))
	out := labelledValues{labels: l.labels, values: make([]float64, len(l.values))}
	for i, v := range l.values {
		out.values[i] = max(-farthest, min(farthest, (v-mean)/cmp.Or(deviation, 1)))
	}
	return out
}

// measured are the verdicts that have a separation, strongest first.
func measured(verdicts []*plumblinev1.SignalVerdict) []*plumblinev1.SignalVerdict {
	return slices.DeleteFunc(slices.Clone(verdicts), func(v *plumblinev1.SignalVerdict) bool { return v.GetSeparation().Value == nil })
}

func kept(verdicts []*plumblinev1.SignalVerdict) []*plumblinev1.SignalVerdict {
	return slices.DeleteFunc(slices.Clone(verdicts), func(v *plumblinev1.SignalVerdict) bool { return !v.GetKept() })
}

// first returns at most n of the list.
func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// separationPlot has two boxes for each signal.
func separationPlot(d *calibration.Data, verdicts []*plumblinev1.SignalVerdict) (page.Plot, bool) {
	shown := first(measured(verdicts), mostBoxes)
	p := page.NewPlot("", "standard deviations from the mean")
	var names []string
	for i, v := range shown {
		values := valuesOf(d, v.GetSignal(), calibration.Calibration).standardised()
		for side, label := range []bool{false, true} {
			box, err := plotter.NewBoxPlot(vg.Points(9), float64(i)+0.36*float64(side)-0.18, values.of(label))
			if err != nil {
				continue // no value of that label
			}
			c := labelColor(label)
			box.FillColor, box.BoxStyle.Color = page.Faded(c, page.Light), c
			box.MedianStyle.Color, box.MedianStyle.Width = c, vg.Points(1.8)
			box.WhiskerStyle.Color, box.GlyphStyle.Color = c, page.Faded(c, page.Medium)
			box.WhiskerStyle.Dashes = nil
			box.GlyphStyle.Radius = vg.Points(1)
			p.Add(box)
		}
		names = append(names, v.GetSignal())
	}
	if len(names) == 0 {
		return page.Plot{}, false
	}
	nominal(p, names)
	addLabelLegend(p)
	roomAbove(p)
	return page.Plot{
		Name: "separation", Title: "Separation of each signal", Drawn: p, Height: 4.4 * vg.Inch,
		Caption: "Each signal on negative and positive records of the calibration split, strongest first. Where the boxes pull apart the signal separates. Values beyond four standard deviations stand at four.",
	}, true
}

// nominal writes names along the horizontal axis, slanted.
func nominal(p *plot.Plot, names []string) {
	p.NominalX(names...)
	p.X.Tick.Label.Rotation = math.Pi / 7
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YTop
	p.X.Tick.Label.Font = page.Sans(8.5)
	p.X.Min, p.X.Max = -0.5, float64(len(names))-0.5
}

func labelColor(label bool) color.NRGBA {
	if label {
		return page.Weak
	}
	return page.Good
}

func addLabelLegend(p *plot.Plot) {
	p.Legend.Add("negative (good)", page.Swatch{NRGBA: page.Good})
	p.Legend.Add("positive (weak)", page.Swatch{NRGBA: page.Weak})
}

// roomAbove leaves the legend a strip above the data.
func roomAbove(p *plot.Plot) {
	p.Y.Max += (p.Y.Max - p.Y.Min) * 0.2
}

// histogramPlot shows a kept signal with its floor.
func histogramPlot(d *calibration.Data, v *plumblinev1.SignalVerdict) (page.Plot, bool) {
	const bins = 40
	values := valuesOf(d, v.GetSignal(), calibration.Calibration)
	if len(values.values) == 0 || v.Threshold == nil {
		return page.Plot{}, false
	}
	sorted := slices.Sorted(slices.Values(values.values))
	low, high := stats.Quantile(sorted, 0.002), stats.Quantile(sorted, 0.998)
	if !(high > low) {
		return page.Plot{}, false
	}
	p := page.NewPlot(v.GetSignal(), "share of its class")
	for _, label := range []bool{false, true} {
		p.Add(outline(values.of(label), low, high, bins, labelColor(label)))
	}
	p.X.Min, p.X.Max = low, high
	roomAbove(p)
	shadeEscalation(p, v)
	addLabelLegend(p)
	if v.GetThreshold() < (low+high)/2 {
		p.Legend.XOffs = page.Width * 0.52
	}
	page.AddLine(p, plotter.XYs{{X: v.GetThreshold(), Y: 0}, {X: v.GetThreshold(), Y: p.Y.Max}}, page.Chosen, fmt.Sprintf("floor %.4g", v.GetThreshold()), false)
	side := "below"
	if v.GetDirection() == plumblinev1.WeakWhen_WEAK_WHEN_HIGH {
		side = "above"
	}
	return page.Plot{
		Name: "gate-" + v.GetSignal(), Title: "Gate on " + v.GetSignal(), Drawn: p, Height: page.DefaultHeight,
		Caption: fmt.Sprintf("%s on the calibration split. The gate fires %s the floor, in the shaded part.", v.GetSignal(), side),
	}, true
}

// shadeEscalation marks the side of the floor that fires.
func shadeEscalation(p *plot.Plot, v *plumblinev1.SignalVerdict) {
	from, to := p.X.Min, min(v.GetThreshold(), p.X.Max)
	if v.GetDirection() == plumblinev1.WeakWhen_WEAK_WHEN_HIGH {
		from, to = max(v.GetThreshold(), p.X.Min), p.X.Max
	}
	if !(to > from) {
		return
	}
	top := p.Y.Max
	area, err := plotter.NewPolygon(plotter.XYs{{X: from, Y: 0}, {X: to, Y: 0}, {X: to, Y: top}, {X: from, Y: top}})
	if err != nil {
		return // not finite: nothing to shade
	}
	area.Color, area.Width = page.Faded(page.Chosen, page.Shade), 0
	p.Add(area)
}

// outline is a histogram of shares; values outside the ends count in the last
// bins.
func outline(values []float64, low, high float64, bins int, c color.NRGBA) plot.Plotter {
	shares := make([]float64, bins)
	for _, v := range values {
		b := int(float64(bins) * (v - low) / (high - low))
		shares[max(0, min(bins-1, b))] += 1 / float64(len(values))
	}
	step := (high - low) / float64(bins)
	points := plotter.XYs{{X: low, Y: 0}}
	for b, share := range shares {
		points = append(points, plotter.XY{X: low + float64(b)*step, Y: share}, plotter.XY{X: low + float64(b+1)*step, Y: share})
	}
	points = append(points, plotter.XY{X: high, Y: 0})
	area, err := plotter.NewPolygon(points)
	if err != nil {
		return plotter.NewGrid() // not finite, which valuesOf excludes
	}
	area.Color, area.LineStyle.Color, area.Width = page.Faded(c, page.Light), c, vg.Points(1.2)
	return area
}

// mostPoints bounds a curve: more cannot be seen.
const mostPoints = 400

// namedPoints are the operating points of a kept signal on the held-out split.
type namedPoints struct {
	name   string
	area   float64
	points []stats.OperatingPoint
	prior  float64
}

func operatingPoints(d *calibration.Data, verdicts []*plumblinev1.SignalVerdict) []namedPoints {
	var out []namedPoints
	for _, v := range first(kept(verdicts), mostCurves) {
		values := valuesOf(d, v.GetSignal(), calibration.Test)
		high := v.GetDirection() == plumblinev1.WeakWhen_WEAK_WHEN_HIGH
		oriented := calibration.Orient(values.values, high)
		points, err := stats.OperatingPoints(oriented, values.labels, mostPoints)
		if err != nil {
			continue // one class only
		}
		area, _ := stats.AUROC(oriented, values.labels) // both classes are there
		out = append(out, namedPoints{
			name: v.GetSignal(), area: area, points: points,
			prior: float64(len(values.of(true))) / float64(len(values.labels)),
		})
	}
	return out
}

func (n namedPoints) line(xy func(stats.OperatingPoint) (x, y float64)) plotter.XYs {
	out := make(plotter.XYs, len(n.points))
	for i, p := range n.points {
		out[i].X, out[i].Y = xy(p)
	}
	return out
}

func (n namedPoints) escalation(p stats.OperatingPoint) float64 {
	return p.Recall*n.prior + p.FalseAlarm*(1-n.prior)
}

// signalCurves are ROC, precision–recall, risk–coverage and cost–quality of the
// kept signals on the held-out split.
func signalCurves(d *calibration.Data, fit *plumblinev1.FitResponse) []page.Plot {
	all := operatingPoints(d, fit.GetSignals())
	if len(all) == 0 {
		return nil
	}
	roc, pr := page.NewPlot("false-alarm rate", "catch rate"), page.NewPlot("catch rate (recall)", "precision")
	coverage, frontier := page.NewPlot("share of records committed", "share of weak among them"), page.NewPlot("escalation rate (cost)", "catch rate (quality)")
	for i, n := range all {
		c := page.Series[i]
		legend := fmt.Sprintf("%s  %.3f", n.name, n.area)
		page.AddLine(roc, n.line(func(p stats.OperatingPoint) (float64, float64) { return p.FalseAlarm, p.Recall }), c, legend, false)
		page.AddLine(pr, n.line(func(p stats.OperatingPoint) (float64, float64) { return p.Recall, p.Precision }), c, n.name, false)
		page.AddLine(frontier, n.line(func(p stats.OperatingPoint) (float64, float64) { return n.escalation(p), p.Recall }), c, n.name, false)
		page.AddLine(coverage, n.riskLine(), c, n.name, false)
	}
	page.AddLine(roc, plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, page.Faint, "", true)
	page.AddLine(frontier, plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, page.Faint, "at random", true)
	prior := all[0].prior
	page.AddLine(pr, plotter.XYs{{X: 0, Y: prior}, {X: 1, Y: prior}}, page.Faint, "prevalence", true)
	page.AddLine(coverage, plotter.XYs{{X: 0, Y: prior}, {X: 1, Y: prior}}, page.Faint, "commit all", true)
	metrics := fit.GetMetrics()
	if caught, escalated := metrics["catch_rate"], metrics["escalation_rate"]; caught.GetStatus() == plumblinev1.Status_STATUS_OK {
		page.AddPoint(frontier, escalated.GetValue(), caught.GetValue(), page.Ink, draw.CircleGlyph{}, "this policy")
	}
	for _, p := range []*plot.Plot{roc, pr, coverage, frontier} {
		page.Unit(p)
	}
	page.LegendBelow(roc)
	page.LegendBelow(frontier)
	if prior > 0.5 {
		page.LegendBelow(pr)
	} else {
		pr.Legend.XOffs = page.Width * 0.52
	}
	coverage.Y.Max = min(1, max(0.05, 1.7*prior))
	return []page.Plot{
		{Name: "roc", Title: "ROC", Drawn: roc, Height: page.DefaultHeight, Caption: "Kept signals on the held-out split, with their AUROC."},
		{Name: "precision-recall", Title: "Precision and recall", Drawn: pr, Height: page.DefaultHeight, Caption: "Kept signals on the held-out split. A signal without information stays at the prevalence."},
		{Name: "risk-coverage", Title: "Risk and coverage", Drawn: coverage, Height: page.DefaultHeight, Caption: "Committing to the retrievals that look strongest first: how many of those committed to are weak."},
		{Name: "frontier", Title: "Cost and quality", Drawn: frontier, Height: page.DefaultHeight, Caption: "What each floor catches for what it escalates, over all floors, on the held-out split."},
	}
}

// riskLine is the share of positives among the records that do not fire, by how
// many these are.
func (n namedPoints) riskLine() plotter.XYs {
	line := n.line(func(p stats.OperatingPoint) (float64, float64) {
		committed := 1 - n.escalation(p)
		if committed <= 0 {
			return 0, 0
		}
		return committed, n.prior * (1 - p.Recall) / committed
	})
	sort.Slice(line, func(i, j int) bool { return line[i].X < line[j].X })
	return line
}

// reliabilityPlot shows one line for each calibration of a score.
func reliabilityPlot(score string, reliability []*plumblinev1.Reliability) (page.Plot, bool) {
	if len(reliability) == 0 {
		return page.Plot{}, false
	}
	p := page.NewPlot("mean probability of the bin", "share of positives")
	page.AddLine(p, plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, page.Faint, "perfect", true)
	for i, r := range reliability {
		var points plotter.XYs
		for _, b := range r.GetBins() {
			if b.GetCount() > 0 {
				points = append(points, plotter.XY{X: b.GetConfidence(), Y: b.GetAccuracy()})
			}
		}
		c := page.Series[i%len(page.Series)]
		page.AddLine(p, points, c, fmt.Sprintf("%s  ECE %s", r.GetCalibration(), plain(r.GetMetrics()["ece"])), false)
		dots, err := plotter.NewScatter(points)
		if err != nil {
			continue // no bin has a record
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
		p.Add(dots)
	}
	page.Unit(p)
	return page.Plot{
		Name: "reliability", Title: "Reliability of " + score, Drawn: p, Height: page.DefaultHeight,
		Caption: "How often the positive class occurs where it is given a probability. Platt's scaling and isotonic regression are measured on folds that they were not fitted on.",
	}, true
}

// curvePlots are the curves of an evaluation.
func curvePlots(score string, curves []*plumblinev1.Curve) []page.Plot {
	axes := map[string][4]string{
		"roc":           {"ROC of ", "false-alarm rate", "catch rate", "All thresholds of the score."},
		"pr":            {"Precision and recall of ", "recall", "precision", "All thresholds of the score."},
		"risk_coverage": {"Risk and coverage of ", "share of records covered, highest scores first", "share of negatives among them", "What is wrong among the records that are accepted."},
	}
	var out []page.Plot
	for _, curve := range curves {
		text, known := axes[curve.GetName()]
		if !known {
			continue
		}
		p := page.NewPlot(text[1], text[2])
		var points plotter.XYs
		for _, point := range curve.GetPoints() {
			points = append(points, plotter.XY{X: point.GetX(), Y: point.GetY()})
		}
		page.AddLine(p, points, page.Good, "", false)
		if curve.GetName() == "roc" {
			page.AddLine(p, plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, page.Faint, "", true)
		}
		page.Unit(p)
		out = append(out, page.Plot{Name: curve.GetName(), Title: text[0] + score, Drawn: p, Height: page.DefaultHeight, Caption: text[3]})
	}
	return out
}

// replayFrontier shows quality against cost over all thresholds, with the fixed
// routings.
func replayFrontier(replay *plumblinev1.ReplayResponse) (page.Plot, bool) {
	p := page.NewPlot("share of questions that retrieve", "mean F1")
	var points plotter.XYs
	for _, point := range replay.GetFrontier() {
		points = append(points, plotter.XY{X: point.GetRouteRate(), Y: point.GetF1()})
	}
	byName := map[string]*plumblinev1.RoutedPolicy{}
	for _, policy := range replay.GetPolicies() {
		byName[policy.GetName()] = policy
	}
	if len(byName) == 0 {
		return page.Plot{}, false
	}
	never, always := byName["never"].GetMetrics()["f1"], byName["always"].GetMetrics()["f1"]
	if len(points) > 0 {
		points = append(points, plotter.XY{X: 1, Y: always.GetValue()})
		page.AddLine(p, points, page.Good, "all thresholds of the score", false)
	}
	page.AddLine(p, plotter.XYs{{X: 0, Y: never.GetValue()}, {X: 1, Y: always.GetValue()}}, page.Faint, "random, on average", true)
	marks := []struct {
		name  string
		color color.NRGBA
		shape draw.GlyphDrawer
	}{
		{"policy", page.Ink, draw.CircleGlyph{}},
		{"random", page.Faint, draw.CrossGlyph{}},
		{"never", page.Fourth, draw.SquareGlyph{}},
		{"always", page.Weak, draw.SquareGlyph{}},
		{"oracle", page.Chosen, draw.PyramidGlyph{}},
	}
	for _, m := range marks {
		if policy, ok := byName[m.name]; ok {
			metrics := policy.GetMetrics()
			page.AddPoint(p, metrics["route_rate"].GetValue(), metrics["f1"].GetValue(), m.color, m.shape, m.name)
		}
	}
	p.X.Min, p.X.Max = -0.02, 1.02
	p.Y.Max += (p.Y.Max - p.Y.Min) * 0.35
	return page.Plot{
		Name: "replay-frontier", Title: "Cost and quality of routing", Drawn: p, Height: 4.2 * vg.Inch,
		Caption: "Mean F1 for the share of questions that retrieve. Above the dashed line the score routes better than chance.",
	}, true
}

// bar is one bar of a stacked chart: how often something happens in a group.
type bar struct {
	name  string
	share float64
}

// distributionPlot stacks, for each group, the shares that fire and that do not.
func distributionPlot(bars []bar, fires, quiet string) (page.Plot, bool) {
	bars = first(bars, mostGroups)
	if len(bars) == 0 {
		return page.Plot{}, false
	}
	p := page.NewPlot("", "share of records")
	firing, rest := make(plotter.Values, len(bars)), make(plotter.Values, len(bars))
	names := make([]string, len(bars))
	for i, b := range bars {
		names[i], firing[i], rest[i] = b.name, b.share, 1-b.share
	}
	size := vg.Points(max(10, min(48, 260/float64(len(bars)))))
	lower, errLower := plotter.NewBarChart(firing, size)
	upper, errUpper := plotter.NewBarChart(rest, size)
	if errLower != nil || errUpper != nil {
		return page.Plot{}, false
	}
	lower.Color, upper.Color = page.Weak, page.Faded(page.Good, page.Medium)
	lower.LineStyle.Width, upper.LineStyle.Width = 0, 0
	upper.StackOn(lower)
	p.Add(lower, upper)
	p.Legend.Add(fires, page.Swatch{NRGBA: page.Weak})
	p.Legend.Add(quiet, page.Swatch{NRGBA: page.Good})
	nominal(p, names)
	p.Y.Min, p.Y.Max = 0, 1.25
	return page.Plot{
		Name: "routing", Title: "Routing by group", Drawn: p, Height: 4 * vg.Inch,
		Caption: "How the policy routes each group of the held-out split.",
	}, true
}
