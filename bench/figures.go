package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"plumbline/scorers/page"
)

// writeGrowth writes the figures as JSON and Markdown, and a plot of each.
func (s *session) writeGrowth(all []growing) error {
	if s.figures == "" {
		return nil
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	err = errors.Join(os.MkdirAll(s.figures, 0o755), s.write("growth.json", append(data, '\n')), s.write("growth.md", growthTable(all)))
	for _, g := range all {
		svg, plotErr := g.plot().SVG()
		err = errors.Join(err, plotErr, s.write("growth-"+g.Name+".svg", svg))
	}
	return err
}

func (s *session) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(s.figures, name), data, 0o644)
}

func growthTable(all []growing) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Growth\n\nMachine: %s\n", machine())
	for _, g := range all {
		fmt.Fprintf(&b, "\n| %s | calls | time, s | processor time, s | line, s |\n|---:|---:|---:|---:|---:|\n", g.Unit)
		for _, p := range g.Points {
			fmt.Fprintf(&b, "| %g | %d | %.3f | %.3f | %.3f |\n", p.Size, p.Calls, p.Seconds, p.CPU, g.predicted(p.Size))
		}
		fmt.Fprintf(&b, "\nExponent of processor time %.3f, of time %.3f; 1 is linear.\n", g.Exponent, g.WallExponent)
	}
	return []byte(b.String())
}

// plot shows the points and the line on logarithmic axes.
func (g *growing) plot() page.Plot {
	p := page.NewPlot(g.Unit, "processor time, s")
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	first, last := g.Points[0].Size, g.Points[len(g.Points)-1].Size
	page.AddLine(p, plotter.XYs{{X: first, Y: g.predicted(first)}, {X: last, Y: g.predicted(last)}}, page.Faint,
		fmt.Sprintf("least squares, exponent %.3f", g.Exponent), true)
	for i, point := range g.Points {
		legend := ""
		if i == 0 {
			legend = "measured"
		}
		page.AddPoint(p, point.Size, point.CPU, page.Good, draw.CircleGlyph{}, legend)
	}
	return page.Plot{Name: "growth-" + g.Name, Title: "Growth: " + g.Name, Drawn: p, Height: page.DefaultHeight}
}
