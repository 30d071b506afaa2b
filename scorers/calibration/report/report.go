// Package report writes what a calibration found as one HTML page that needs
// nothing else: tables with intervals, the reason of every verdict, and plots
// that follow the reader's light or dark scheme. The plots can also be had one
// by one, as SVG or PNG.
package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"time"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration"
)

// Input is what a report shows. Of Fit, Evaluate and Replay, those that are nil
// are left out, with their options.
type Input struct {
	// Title heads the page.
	Title string
	// Version is the program's.
	Version string
	// Data are the records; with Fit, their sides are assigned.
	Data *calibration.Data
	// Fit is the answer to FitOptions.
	Fit        *plumblinev1.FitResponse
	FitOptions *plumblinev1.FitOptions
	// Evaluate is the answer to EvaluateOptions.
	Evaluate        *plumblinev1.EvaluateResponse
	EvaluateOptions *plumblinev1.EvaluateOptions
	// Replay is the answer to ReplayOptions.
	Replay        *plumblinev1.ReplayResponse
	ReplayOptions *plumblinev1.ReplayOptions
}

// section is one heading of a page with what stands below it.
type section struct {
	Title      string
	Paragraphs []string
	Tables     []table
	Figures    []figure
}

type table struct {
	Caption string
	Head    []string
	Rows    [][]string
}

type figure struct {
	Title, Caption string
	SVG            template.HTML
}

// page is what the template shows.
type page struct {
	Title, Version, FittedAt string
	Summary                  []string
	Warnings                 []string
	Sections                 []section
	Policy                   string
}

//go:embed page.html
var source string

// Write writes the page.
func Write(w io.Writer, in Input) error {
	parsed, err := template.New("page").Parse(source)
	if err != nil {
		return err
	}
	content, err := compose(in)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, content); err != nil {
		return err
	}
	_, err = w.Write(out.Bytes())
	return err
}

// Plots returns the plots of the page, in its order.
func Plots(in Input) ([]Plot, error) {
	var all []Plot
	for _, part := range parts(in) {
		_, plots, err := part()
		if err != nil {
			return nil, err
		}
		all = append(all, plots...)
	}
	return all, nil
}

// parts are the parts of the report that the input has.
func parts(in Input) []func() (section, []Plot, error) {
	var all []func() (section, []Plot, error)
	if in.Fit != nil {
		all = append(all, in.choice, in.cost)
	}
	if in.Evaluate != nil {
		all = append(all, in.evaluation)
	}
	if in.Replay != nil {
		all = append(all, in.replay)
	}
	return all
}

func compose(in Input) (page, error) {
	p := page{Title: in.Title, Version: in.Version, Summary: in.summary()}
	if provenance := in.Fit.GetPolicy().GetProvenance(); provenance.GetFittedAt() != nil {
		p.FittedAt = provenance.GetFittedAt().AsTime().Format(time.RFC3339)
	}
	p.Warnings = append(p.Warnings, in.Fit.GetWarnings()...)
	p.Warnings = append(p.Warnings, in.Evaluate.GetWarnings()...)
	p.Warnings = append(p.Warnings, in.Replay.GetWarnings()...)
	for _, part := range parts(in) {
		s, plots, err := part()
		if err != nil {
			return page{}, err
		}
		for _, plot := range plots {
			svg, err := plot.inline()
			if err != nil {
				return page{}, err
			}
			// The drawing is ours; what names it holds were escaped by it.
			s.Figures = append(s.Figures, figure{Title: plot.Title, Caption: plot.Caption, SVG: template.HTML(svg)}) //nolint:gosec // see above
		}
		p.Sections = append(p.Sections, s)
	}
	p.Policy = policyText(in.Fit.GetPolicy())
	return p, nil
}
