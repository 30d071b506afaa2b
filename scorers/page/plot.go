package page

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Plot is one plot of a report.
type Plot struct {
	// Name is short and fit for a file's name; Title and Caption are for
	// people.
	Name, Title, Caption string

	// Drawn is the plot, made by NewPlot, and Height its height; all are equally
	// wide.
	Drawn  *plot.Plot
	Height vg.Length
}

// The size of a plot; a page shows two beside each other.
const (
	Width         = 6.2 * vg.Inch
	DefaultHeight = 3.6 * vg.Inch
)

// The colours of plots, from Okabe and Ito's palette, which people with colour
// blindness tell apart. Each occurs in a plot for one purpose, so that the page
// can put its own colour in its place, light or dark.
var (
	Ink    = color.NRGBA{0x22, 0x25, 0x2b, 0xff}
	Faint  = color.NRGBA{0x8b, 0x91, 0x9c, 0xff}
	Grid   = color.NRGBA{0xdd, 0xe0, 0xe5, 0xff}
	Good   = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	Weak   = color.NRGBA{0xd5, 0x5e, 0x00, 0xff}
	Chosen = color.NRGBA{0x00, 0x9e, 0x73, 0xff}
	Fourth = color.NRGBA{0xcc, 0x79, 0xa7, 0xff}
	Fifth  = color.NRGBA{0xe6, 0x9f, 0x00, 0xff}
	Sixth  = color.NRGBA{0x56, 0xb4, 0xe9, 0xff}
)

// names are the page's names of the plots' colours.
var names = map[color.NRGBA]string{
	Ink: "ink", Faint: "faint", Grid: "grid", Good: "good", Weak: "weak",
	Chosen: "chosen", Fourth: "fourth", Fifth: "fifth", Sixth: "sixth",
}

// The strengths of areas, for Faded.
const (
	Shade  = 0x22
	Light  = 0x50
	Medium = 0x90
)

// variables puts the page's colours in the place of the plots'.
var variables = func() *strings.Replacer {
	var pairs []string
	for c, name := range names {
		for _, alpha := range []uint8{0xff, Shade, Light, Medium} {
			pairs = append(pairs, hex(Faded(c, alpha)), "var(--"+name+")")
		}
	}
	return strings.NewReplacer(pairs...)
}()

// Series are the colours of lines that are all of one kind.
var Series = []color.NRGBA{Good, Weak, Chosen, Fourth, Fifth, Sixth}

// hex is a colour as vgsvg writes it: by way of its premultiplied form, which
// rounds what is faded.
func hex(c color.NRGBA) string {
	r, g, b, a := c.RGBA()
	part := func(v uint32) uint32 { return v * 0xff / a }
	return fmt.Sprintf("#%02X%02X%02X", part(r), part(g), part(b))
}

// Faded returns a colour at one of the strengths of areas.
func Faded(c color.NRGBA, alpha uint8) color.NRGBA {
	c.A = alpha
	return c
}

// SVG returns the plot as a file of its own, with its own colours on white.
func (p Plot) SVG() ([]byte, error) {
	canvas := vgsvg.New(Width, p.Height)
	c := draw.New(canvas)
	c.SetColor(color.White)
	c.Fill(c.Path())
	p.draw(c)
	var out bytes.Buffer
	_, err := canvas.WriteTo(&out)
	return out.Bytes(), err
}

// PNG returns the plot as a picture on white, at 150 dots per inch.
func (p Plot) PNG() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(Width, p.Height), vgimg.UseDPI(150))
	p.draw(draw.New(canvas))
	var out bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(&out)
	return out.Bytes(), err
}

// inline returns the plot for the page: the page's colours and fonts, nothing
// behind, as wide as there is room.
func (p Plot) inline() (string, error) {
	canvas := vgsvg.New(Width, p.Height)
	p.draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return "", err
	}
	_, svg, _ := strings.Cut(out.String(), "<svg")
	size := fmt.Sprintf("width=\"%.5gpt\" height=\"%.5gpt\"", Width.Points(), p.Height.Points())
	svg = strings.Replace(svg, size, `role="img" aria-label="`+html.EscapeString(p.Title)+`"`, 1)
	return "<svg" + variables.Replace(svg), nil
}

// draw draws with a margin, into which the last labels of the axes reach.
func (p Plot) draw(c draw.Canvas) {
	p.Drawn.Draw(draw.Crop(c, 0, -vg.Points(14), 0, -vg.Points(6)))
}

// NewPlot returns an empty plot in the report's style.
func NewPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color, axis.Tick.Color = Faint, Faint
		axis.Label.TextStyle.Color, axis.Tick.Label.Color = Ink, Ink
		axis.Label.TextStyle.Font, axis.Tick.Label.Font = Sans(10), Sans(9)
		axis.Label.Padding = vg.Points(4)
		axis.Tick.Length = vg.Points(3)
	}
	p.Legend.TextStyle.Color, p.Legend.TextStyle.Font = Ink, Sans(9)
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs = vg.Points(6)
	p.Legend.Padding = vg.Points(2)
	p.Legend.ThumbnailWidth = vg.Points(16)
	lines := plotter.NewGrid()
	lines.Vertical.Color, lines.Horizontal.Color = Grid, Grid
	p.Add(lines)
	return p
}

// Sans is the font of plots in a size in points.
func Sans(size float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
}

// LegendBelow moves the legend to the lower right, where a curve that rises
// early leaves room. Its text still runs to the right, so that a wider font of
// the reader's does not run into the marks.
func LegendBelow(p *plot.Plot) {
	p.Legend.Top = false
	p.Legend.XOffs = Width * 0.52
}

// Unit fixes both axes to [0, 1].
func Unit(p *plot.Plot) {
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
}

// AddLine adds a line with a legend.
func AddLine(p *plot.Plot, points plotter.XYs, c color.NRGBA, legend string, dashed bool) {
	line, err := plotter.NewLine(points)
	if err != nil {
		return // too few points: nothing to show
	}
	line.Color, line.Width = c, vg.Points(1.6)
	if dashed {
		line.Width, line.Dashes = vg.Points(1), []vg.Length{vg.Points(4), vg.Points(3)}
	}
	p.Add(line)
	if legend != "" {
		p.Legend.Add(legend, line)
	}
}

// AddPoint marks one point.
func AddPoint(p *plot.Plot, x, y float64, c color.NRGBA, shape draw.GlyphDrawer, legend string) {
	points, err := plotter.NewScatter(plotter.XYs{{X: x, Y: y}})
	if err != nil {
		return // not finite: nothing to show
	}
	points.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(4), Shape: shape}
	p.Add(points)
	if legend != "" {
		p.Legend.Add(legend, points)
	}
}

// Swatch is a legend's block of colour.
type Swatch struct{ color.NRGBA }

// Thumbnail fills its place.
func (s Swatch) Thumbnail(c *draw.Canvas) {
	box := []vg.Point{
		{X: c.Min.X, Y: c.Min.Y + vg.Points(1)},
		{X: c.Max.X, Y: c.Min.Y + vg.Points(1)},
		{X: c.Max.X, Y: c.Max.Y - vg.Points(1)},
		{X: c.Min.X, Y: c.Max.Y - vg.Points(1)},
	}
	c.FillPolygon(s.NRGBA, box)
}
