package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"text/tabwriter"
	"time"

	"gonum.org/v1/gonum/stat"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
)

// growing is how the time of a call grows with its work.
type growing struct {
	// Name is fit for a file's name; Unit is that of the points' sizes.
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Points are the sizes that were measured, from the least.
	Points []grown `json:"points"`
	// Exponent is the slope of the least-squares line through the logarithms of
	// size and processor time, and WallExponent the same of the time that passed:
	// 1 is linear, 2 quadratic.
	Exponent     float64 `json:"exponent"`
	WallExponent float64 `json:"wall_exponent"`
	// Intercept is the logarithm of the processor seconds of size 1 on the line.
	Intercept float64 `json:"intercept"`
}

// grown is one size: the medians of its calls.
type grown struct {
	Size    float64 `json:"size"`
	Calls   int     `json:"calls"`
	CPU     float64 `json:"cpu_seconds"`
	Seconds float64 `json:"seconds"`
}

// growth shows that time grows with the work and no faster: calls of 10 to
// 10,000 pairs, and documents of 1 KB to 1 MB.
func growth(ctx context.Context, s *session) (err error) {
	c, ok, err := s.corpus()
	if err != nil || !ok {
		return err
	}
	ours, stop, err := s.ours(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	pairs, err := s.growPairs(ctx, c, ours)
	if err != nil {
		return err
	}
	documents, err := s.growDocuments(ctx, c, groundings{plumblinev1.NewGroundingServiceClient(ours.conn)})
	if err != nil {
		return err
	}
	for _, g := range []growing{pairs, documents} {
		s.reportGrowth(g)
	}
	return s.writeGrowth([]growing{pairs, documents})
}

// growPairs asks about as many different pairs as each call has, all cut from
// the same length so that only their number changes.
func (s *session) growPairs(ctx context.Context, c corpus, ours *verifier) (growing, error) {
	next, most := c.draw(6), s.scale(90, 10_000)
	var all []entail.Pair
	for len(all) < most {
		d := next()
		for _, text := range c.cut(d.Text, 32) {
			all = append(all, entail.Pair{Premise: text, Hypothesis: d.Claim})
		}
	}
	return s.grow(ctx, "pairs", "pairs", sizes(10, s.scale(3, 10), most), func(n int) (float64, func(context.Context) error) {
		return float64(n), func(ctx context.Context) error { return ours.ask(ctx, all[:n]) }
	})
}

func (s *session) growDocuments(ctx context.Context, c corpus, ours groundings) (growing, error) {
	claim := c.draw(8)().Claim
	return s.grow(ctx, "documents", "KB", sizes(1<<10, s.scale(4, 10), s.scale(16<<10, 1<<20)), func(n int) (float64, func(context.Context) error) {
		req := question(claim, c.prose(n, 7))
		return float64(n) / (1 << 10), func(ctx context.Context) error {
			_, err := ours.score(ctx, req)
			return err
		}
	})
}

// sizes are from least, each factor times the one before, up to most.
func sizes(least, factor, most int) (out []int) {
	for n := least; n <= most; n *= factor {
		out = append(out, n)
	}
	return out
}

// grow measures calls of each size, from the least, after one that warms up.
// The more a call does the less chance weighs in its time, so that the largest
// is made once and those before it three times.
func (s *session) grow(ctx context.Context, name, unit string, sizes []int, of func(n int) (float64, func(context.Context) error)) (growing, error) {
	g := growing{Name: name, Unit: unit}
	_, warm := of(sizes[0])
	if err := warm(ctx); err != nil {
		return g, err
	}
	for i, n := range sizes {
		calls := 3
		if i == len(sizes)-1 {
			calls = 1
		}
		size, call := of(n)
		var cpu, wall []float64
		for range calls {
			begun, before := time.Now(), processorSeconds(0)
			if err := call(ctx); err != nil {
				return g, fmt.Errorf("%g %s: %w", size, unit, err)
			}
			cpu, wall = append(cpu, processorSeconds(0)-before), append(wall, time.Since(begun).Seconds())
		}
		g.Points = append(g.Points, grown{Size: size, Calls: calls, CPU: median(cpu), Seconds: median(wall)})
	}
	g.fit()
	return g, nil
}

// fit sets the exponents.
func (g *growing) fit() {
	var size, cpu, wall []float64
	for _, p := range g.Points {
		size, cpu, wall = append(size, math.Log(p.Size)), append(cpu, math.Log(p.CPU)), append(wall, math.Log(p.Seconds))
	}
	g.Intercept, g.Exponent = stat.LinearRegression(size, cpu, nil, false)
	_, g.WallExponent = stat.LinearRegression(size, wall, nil, false)
}

// predicted is the line's processor time of a size.
func (g *growing) predicted(size float64) float64 {
	return math.Exp(g.Intercept + g.Exponent*math.Log(size))
}

func (s *session) reportGrowth(g growing) {
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "  %s\tcalls\ttime\tCPU s\tCPU ms/%s\n", g.Unit, g.Unit)
	for _, p := range g.Points {
		fmt.Fprintf(table, "  %g\t%d\t%.3f s\t%.3f\t%.2f\n", p.Size, p.Calls, p.Seconds, p.CPU, 1000*p.CPU/p.Size)
	}
	_ = table.Flush()
	s.printf("  exponent of processor time %.3f, of time %.3f; 1 is linear\n", g.Exponent, g.WallExponent)
}
