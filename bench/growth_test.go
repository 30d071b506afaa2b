package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// power is time that grows as a power of the size.
func power(exponent float64) growing {
	g := growing{Name: "pairs", Unit: "pairs"}
	for _, n := range sizes(10, 10, 10_000) {
		t := 0.02 * math.Pow(float64(n), exponent)
		g.Points = append(g.Points, grown{Size: float64(n), Calls: 3, CPU: t, Seconds: t / 2})
	}
	g.fit()
	return g
}

func TestTheExponentIsThatOfTheGrowth(t *testing.T) {
	for _, want := range []float64{0.5, 1, 2} {
		g := power(want)
		if math.Abs(g.Exponent-want) > 1e-9 || math.Abs(g.WallExponent-want) > 1e-9 {
			t.Errorf("exponents %v and %v, want %v", g.Exponent, g.WallExponent, want)
		}
		if got, want := g.predicted(100), g.Points[1].CPU; math.Abs(got-want) > 1e-9 {
			t.Errorf("the line has %v at 100, want %v", got, want)
		}
	}
}

func TestGrowthIsWrittenAsFiguresAndPlots(t *testing.T) {
	s := &session{settings: settings{figures: filepath.Join(t.TempDir(), "figures")}}
	if err := s.writeGrowth([]growing{power(1)}); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(s.figures, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var back []growing
	if err := json.Unmarshal([]byte(read("growth.json")), &back); err != nil || len(back) != 1 || len(back[0].Points) != 4 {
		t.Errorf("JSON: %v, %v", back, err)
	}
	if text := read("growth.md"); !strings.Contains(text, "| 10000 | 3 |") || !strings.Contains(text, "Exponent of processor time 1.000") {
		t.Errorf("Markdown: %s", text)
	}
	if svg := read("growth-pairs.svg"); !strings.Contains(svg, "<svg") || !strings.Contains(svg, "exponent 1.000") {
		t.Errorf("SVG: %.200s", svg)
	}
}
