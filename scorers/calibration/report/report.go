// Package report writes what a calibration found as one HTML page (see package
// page): tables with intervals, the reason of every verdict, and plots.
package report

import (
	"context"
	"io"
	"slices"
	"time"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration"
	"plumbline/scorers/page"
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

// Write writes the page. Some of its plots take bootstraps of their own, which
// end with ctx.
func Write(ctx context.Context, w io.Writer, in Input) error {
	content, err := compose(ctx, in)
	if err != nil {
		return err
	}
	return page.Write(w, content)
}

// Plots returns the plots of the page, in its order. It ends with ctx.
func Plots(ctx context.Context, in Input) ([]page.Plot, error) {
	var all []page.Plot
	for _, part := range parts(ctx, in) {
		_, plots, err := part()
		if err != nil {
			return nil, err
		}
		all = append(all, plots...)
	}
	return all, nil
}

// parts are the parts of the report that the input has.
func parts(ctx context.Context, in Input) []func() (page.Section, []page.Plot, error) {
	var all []func() (page.Section, []page.Plot, error)
	if in.Fit != nil {
		all = append(all, in.choice, func() (page.Section, []page.Plot, error) { return in.cost(ctx) })
	}
	if in.Evaluate != nil {
		all = append(all, in.evaluation)
	}
	if in.Replay != nil {
		all = append(all, in.replay)
	}
	return all
}

func compose(ctx context.Context, in Input) (page.Page, error) {
	p := page.Page{Title: in.Title, Origin: "plumbline " + in.Version, Summary: in.summary()}
	if provenance := in.Fit.GetPolicy().GetProvenance(); provenance.GetFittedAt() != nil {
		p.Origin += ", " + provenance.GetFittedAt().AsTime().Format(time.RFC3339)
	}
	p.Remarks = slices.Concat(in.Fit.GetWarnings(), in.Evaluate.GetWarnings(), in.Replay.GetWarnings())
	for _, part := range parts(ctx, in) {
		s, plots, err := part()
		if err != nil {
			return page.Page{}, err
		}
		s.Plots = plots
		p.Sections = append(p.Sections, s)
	}
	if policy := policyText(in.Fit.GetPolicy()); policy != "" {
		p.Appendix = &page.Appendix{Title: "The policy in full", JSON: policy}
	}
	return p, nil
}
