package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration"
	"plumbline/scorers/calibration/report"
)

// hostile is a signal's name that would be markup where it is not escaped.
const hostile = `<script src="http://x">"&'`

// records have two signals, one of which separates, and outcomes of two arms.
func records(t *testing.T, n int) *calibration.Data {
	t.Helper()
	generator := rand.New(rand.NewPCG(5, 6))
	d := new(calibration.Data)
	for i := range n {
		weak := generator.Float64() < 0.4
		value := generator.NormFloat64()
		if weak {
			value -= 1.5
		}
		err := d.Add(calibration.Record{
			ID: fmt.Sprint(i), Dataset: []string{"wiki", hostile}[i%2], Label: &weak,
			Signals: map[string]float64{hostile: value, "noise": generator.Float64()},
			Arms: map[string]calibration.Outcome{
				"never":  {F1: generator.Float64(), Failed: i%17 == 0},
				"always": {F1: generator.Float64(), Cost: calibration.Cost{Passages: 5}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// everything is a report with all parts.
func everything(t *testing.T) report.Input {
	t.Helper()
	d := records(t, 400)
	in := report.Input{
		Title: "A report of " + hostile, Version: "1.2.3", Data: d,
		FitOptions:      &plumblinev1.FitOptions{DataName: "made", Bootstrap: 50, Seed: 3},
		EvaluateOptions: &plumblinev1.EvaluateOptions{Score: hostile, AgainstScore: "noise", Bootstrap: 50, Below: true},
		ReplayOptions:   &plumblinev1.ReplayOptions{Score: hostile, Below: true, Threshold: new(float64), Bootstrap: 50},
	}
	var err error
	if in.Fit, err = calibration.Fit(t.Context(), d, in.FitOptions, nil); err != nil {
		t.Fatal(err)
	}
	if in.Evaluate, err = calibration.Evaluate(t.Context(), d, in.EvaluateOptions, calibration.Policies{}); err != nil {
		t.Fatal(err)
	}
	if in.Replay, err = calibration.ReplayRecords(t.Context(), d, in.ReplayOptions, nil); err != nil {
		t.Fatal(err)
	}
	return in
}

func page(t *testing.T, in report.Input) string {
	t.Helper()
	var out bytes.Buffer
	if err := report.Write(t.Context(), &out, in); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestThePageNeedsNothingElseAndEscapesNames(t *testing.T) {
	html := page(t, everything(t))
	if strings.Contains(html, "<script") {
		t.Error("a name became markup")
	}
	bare := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(html, `""`)
	if outside := regexp.MustCompile(`(?i)<[a-z][^>]*\s(src|href|srcset|action)\s*=|url\(|@import`).FindString(bare); outside != "" {
		t.Errorf("the page refers to something outside: %q", outside)
	}
	for _, want := range []string{"prefers-color-scheme: dark", "var(--weak)", "What it costs", "exceeds the bar", "does not exceed the bar", "oracle", "Holm"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if hex := regexp.MustCompile(`<path[^>]*#[0-9A-F]{6}`).FindString(html); hex != "" {
		t.Errorf("a plot has a colour of its own, which would not follow the scheme: %q", hex)
	}
}

func TestPlotsAreWholeFiles(t *testing.T) {
	plots, err := report.Plots(t.Context(), everything(t))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, p := range plots {
		names[p.Name] = true
		svg, err := p.SVG()
		if err != nil {
			t.Fatal(err)
		}
		if err := wellFormed(svg); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	for _, want := range []string{"separation", "gate-" + hostile, "roc", "precision-recall", "risk-coverage", "frontier", "reliability", "routing", "replay-frontier"} {
		if !names[want] {
			t.Errorf("no plot %q among %v", want, names)
		}
	}
	data, err := plots[0].PNG()
	if err != nil {
		t.Fatal(err)
	}
	if picture, err := png.Decode(bytes.NewReader(data)); err != nil || picture.Bounds().Dx() < 800 {
		t.Errorf("the PNG: %v", err)
	}
}

func wellFormed(document []byte) error {
	decoder := xml.NewDecoder(bytes.NewReader(document))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestAReportWithoutAPolicySaysWhy(t *testing.T) {
	d := records(t, 60)
	in := report.Input{Title: "none", Data: d, FitOptions: &plumblinev1.FitOptions{DataName: "made", Bootstrap: 20, Signals: []string{"noise"}}}
	var err error
	if in.Fit, err = calibration.Fit(t.Context(), d, in.FitOptions, nil); err != nil {
		t.Fatal(err)
	}
	if html := page(t, in); !strings.Contains(html, "No policy") || !strings.Contains(html, "no signal separates") {
		t.Errorf("got %.2000s", html)
	}
}
