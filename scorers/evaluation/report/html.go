package report

import (
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"plumbline/scorers/evaluation"
	"plumbline/scorers/page"
)

// WriteHTML writes the page.
func (r *Report) WriteHTML(w io.Writer) error {
	p := page.Page{Title: r.Title, Origin: "plumbline " + r.Program, Summary: r.summary()}
	for _, s := range r.sections() {
		// A caption would make the table as wide as itself.
		section := page.Section{Title: s.title, Paragraphs: []string{s.Caption}, Tables: []page.Table{s.Table}}
		section.Tables[0].Caption = ""
		p.Sections = append(p.Sections, section)
	}
	p.Sections[0].Plots = r.setPlots()
	if r.Against != nil {
		i := slices.IndexFunc(p.Sections, func(s page.Section) bool { return s.Title == "Against "+r.Against.Verifier.Name })
		p.Sections[i].Plots = []page.Plot{r.differencePlot()}
	}
	return page.Write(w, p)
}

// mark is a figure of a set in a plot.
type mark struct {
	name string
	evaluation.Estimate
}

func (r *Report) setPlots() []page.Plot {
	plots := []page.Plot{
		r.figurePlot(evaluation.AUROC, "AUROC by set", "With 95 % intervals. One half is a score that knows nothing."),
		r.figurePlot(evaluation.BalancedAccuracyChosen, "Balanced accuracy by set", "At the chosen threshold, with 95 % intervals."),
	}
	return append(plots, r.reliabilityPlot())
}

func (r *Report) figurePlot(figure evaluation.Name, title, caption string) page.Plot {
	var marks []mark
	for _, s := range r.Sets {
		marks = append(marks, mark{s.Name, s.Figures[figure]})
	}
	marks = append(marks, mark{"mean", r.Mean.Figures[figure]})
	return forest(string(figure), title, caption, headings[figure], 0.5, marks)
}

func (r *Report) differencePlot() page.Plot {
	var marks []mark
	for _, s := range append(slices.Clone(r.Against.Sets), r.Against.Mean) {
		marks = append(marks, mark{s.Name, s.Differences[evaluation.AUROC].Estimate})
	}
	return forest("difference", "Difference of AUROC", "To the right this verifier is the better one. With paired 95 % intervals.", "difference of AUROC", 0, marks)
}

// forest draws marks with their intervals below each other, the last one apart
// in colour, and a line at the value that says nothing.
func forest(name, title, caption, axis string, nothing float64, marks []mark) page.Plot {
	p := page.NewPlot(axis, "")
	slices.Reverse(marks) // the first one at the top
	ticks := make([]plot.Tick, len(marks))
	low, high := nothing, nothing
	for i, m := range marks {
		y := float64(i)
		ticks[i] = plot.Tick{Value: y, Label: m.name}
		if m.Value == nil {
			continue
		}
		color := page.Good
		if i == 0 {
			color = page.Chosen
		}
		low, high = min(low, *m.Lower), max(high, *m.Upper)
		page.AddLine(p, plotter.XYs{{X: *m.Lower, Y: y}, {X: *m.Upper, Y: y}}, color, "", false)
		page.AddPoint(p, *m.Value, y, color, draw.CircleGlyph{}, "")
	}
	page.AddLine(p, plotter.XYs{{X: nothing, Y: -1}, {X: nothing, Y: float64(len(marks))}}, page.Faint, "", true)
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.X.Min, p.X.Max = math.Floor(low*20)/20, math.Ceil(high*20)/20
	p.Y.Min, p.Y.Max = -0.7, float64(len(marks))-0.3
	return page.Plot{
		Name: name, Title: title, Caption: caption, Drawn: p,
		Height: max(page.DefaultHeight, vg.Points(18*float64(len(marks))+50)),
	}
}

func (r *Report) reliabilityPlot() page.Plot {
	p := page.NewPlot("mean support of the bin", "share of supported claims")
	page.AddLine(p, plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, page.Faint, "perfect", true)
	var points plotter.XYs
	for _, b := range r.Reliability {
		if b.Rows > 0 {
			points = append(points, plotter.XY{X: b.Support, Y: b.Supported})
		}
	}
	page.AddLine(p, points, page.Good, "all rows", false)
	for _, at := range points {
		page.AddPoint(p, at.X, at.Y, page.Good, draw.CircleGlyph{}, "")
	}
	page.Unit(p)
	return page.Plot{
		Name: "reliability", Title: "Reliability", Drawn: p, Height: page.DefaultHeight,
		Caption: "How often claims with a support are supported, over the rows of all sets together, in 15 bins.",
	}
}
