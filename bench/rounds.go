package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

// contender is one of the things that are compared. run does the work once and
// returns how long each of its calls took.
type contender struct {
	name string
	work float64 // units that one run does, such as pairs
	run  func(context.Context) ([]time.Duration, error)
	// process is the peer's, beside this one, in which the work is done; 0 if
	// there is none.
	process int
}

// outcome is what a contender did over all rounds.
type outcome struct {
	contender
	rates []float64       // units a second, one for each round
	cpu   []float64       // units a second of processor time, likewise
	calls []time.Duration // of all rounds, sorted
}

// alternate lets the contenders run in turns, in the opposite order every
// other round, so that what else the machine does falls on all alike. A first
// round warms up and does not count.
func alternate(ctx context.Context, rounds int, contenders ...contender) ([]outcome, error) {
	outcomes := make([]outcome, len(contenders))
	order := make([]int, len(contenders))
	for i, c := range contenders {
		outcomes[i].contender, order[i] = c, i
	}
	for round := range rounds + 1 {
		for _, i := range order {
			begun, before := time.Now(), processorSeconds(contenders[i].process)
			calls, err := contenders[i].run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", contenders[i].name, err)
			}
			if round == 0 {
				continue
			}
			o := &outcomes[i]
			o.rates = append(o.rates, o.work/time.Since(begun).Seconds())
			o.cpu = append(o.cpu, o.work/(processorSeconds(o.process)-before))
			o.calls = append(o.calls, calls...)
		}
		slices.Reverse(order)
	}
	for i := range outcomes {
		slices.Sort(outcomes[i].calls)
	}
	return outcomes, nil
}

// ratios divides round by round.
func ratios(a, b []float64) []float64 {
	ratios := make([]float64, len(a))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}
	return ratios
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// quantile is the nearest-rank quantile of the calls.
func (o outcome) quantile(q float64) time.Duration {
	if len(o.calls) == 0 {
		return 0
	}
	return o.calls[min(int(q*float64(len(o.calls))), len(o.calls)-1)]
}

// report prints each contender and how the first stands to the others.
func (s *session) report(unit string, outcomes []outcome) {
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	defer func() { _ = table.Flush() }()
	fmt.Fprintf(table, "  \t%[1]s/s\t%[1]s/CPU-s\tp50\tp99\tcalls\n", unit)
	for _, o := range outcomes {
		fmt.Fprintf(table, "  %s\t%.1f\t%.1f\t%s\t%s\t%d\n", o.name, median(o.rates), median(o.cpu),
			shown(o.quantile(0.5)), shown(o.quantile(0.99)), len(o.calls))
	}
	first := outcomes[0]
	for _, o := range outcomes[1:] {
		fmt.Fprintf(table, "  %s ÷ %s\t%s\t%s\t%s\t%s\n", first.name, o.name,
			spread(ratios(first.rates, o.rates)), spread(ratios(first.cpu, o.cpu)), first.through(o, 0.5), first.through(o, 0.99))
	}
}

// spread is the median with the least and the greatest.
func spread(values []float64) string {
	return fmt.Sprintf("%.2f (%.2f–%.2f)", median(values), slices.Min(values), slices.Max(values))
}

// through is the ratio of two quantiles, where both contenders make calls.
func (o outcome) through(other outcome, q float64) string {
	if len(o.calls) == 0 || len(other.calls) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", float64(o.quantile(q))/float64(other.quantile(q)))
}

func shown(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d > time.Second:
		return d.Round(10 * time.Millisecond).String()
	default:
		return d.Round(10 * time.Microsecond).String()
	}
}

// callers runs the tasks with a number of callers side by side, each taking
// the next one, and returns how long each took.
func callers[T any](ctx context.Context, number int, tasks []T, do func(context.Context, T) error) ([]time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int, len(tasks))
	for i := range tasks {
		next <- i
	}
	close(next)
	took := make([]time.Duration, len(tasks))
	var group sync.WaitGroup
	for range number {
		group.Go(func() {
			for i := range next {
				begun := time.Now()
				if err := do(ctx, tasks[i]); err != nil {
					cancel(err)
					return
				}
				took[i] = time.Since(begun)
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return took, nil
}
