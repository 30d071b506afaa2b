// Package page writes reports as one HTML page that needs nothing else: tables,
// and plots that follow the reader's light or dark scheme. The plots can also be
// had one by one, as SVG or PNG.
package page

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
)

// Page is what a report shows, from top to bottom.
type Page struct {
	// Title heads the page, Origin says in small letters where it comes from.
	Title, Origin string
	// Summary is what a reader should take away, Remarks what to mind.
	Summary, Remarks []string
	Sections         []Section
	// Appendix is shown folded at the end; nil for none.
	Appendix *Appendix
}

// Section is one heading of a page with what stands below it.
type Section struct {
	Title      string
	Paragraphs []string
	Tables     []Table
	Plots      []Plot
}

// Table has its row names in the first column.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// Appendix is a JSON text in full.
type Appendix struct{ Title, JSON string }

//go:embed page.html
var source string

// Write writes the page.
func Write(w io.Writer, p Page) error {
	parsed, err := template.New("page").Funcs(template.FuncMap{"inline": inline}).Parse(source)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, p); err != nil {
		return err
	}
	_, err = w.Write(out.Bytes())
	return err
}

// inline is a plot as part of the page.
func inline(p Plot) (template.HTML, error) {
	svg, err := p.inline()
	// The drawing is ours; what names it holds were escaped by it.
	return template.HTML(svg), err //nolint:gosec // see above
}
