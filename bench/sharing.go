package main

import (
	"context"
	"math/rand/v2"
	"time"

	"plumbline/scorers/entail"
)

// sharing lets 32 callers ask about few documents, so that equal pairs are in
// flight and come again, of three services: the bare model, one that lets equal
// pairs in flight share a run, and one that also remembers. Every round asks
// about other documents: a cache that is warm from the last round would win
// without work.
func sharing(ctx context.Context, s *session) error {
	c, ok, err := s.corpus()
	if err != nil || !ok {
		return err
	}
	const number, perCall = 32, 4
	rounds, distinct, calls := s.scale(2, 7), s.scale(24, 96), s.scale(32, 192)
	s.printf("  %d calls of %d pairs, of %d distinct pairs a round\n", calls, perCall, distinct)
	var contenders []contender
	for _, kind := range []struct {
		name  string
		start func() (*service, error)
	}{
		{"both", func() (*service, error) { return s.start(ctx, 64<<20) }},
		{"shared runs", func() (*service, error) { return s.start(ctx, 0) }},
		{"bare", func() (*service, error) { return s.startBare(ctx) }},
	} {
		v, stop, err := connect(kind.start())
		if err != nil {
			return err
		}
		//nolint:gocritic // three services, all of which run to the end
		defer func() { _ = stop() }()
		seed := uint64(100)
		contenders = append(contenders, contender{name: kind.name, work: float64(calls * perCall), run: func(ctx context.Context) ([]time.Duration, error) {
			seed++
			return callers(ctx, number, c.popular(distinct, calls, perCall, seed), v.ask)
		}})
	}
	outcomes, err := alternate(ctx, rounds, contenders...)
	if err != nil {
		return err
	}
	s.report("pairs", outcomes)
	return nil
}

// popular draws calls from a pool of pairs.
func (c corpus) popular(distinct, calls, perCall int, seed uint64) [][]entail.Pair {
	pool, random := c.mixed(distinct, seed), rand.New(rand.NewPCG(seed, 2))
	out := make([][]entail.Pair, calls)
	for i := range out {
		for range perCall {
			out[i] = append(out[i], pool[random.IntN(len(pool))])
		}
	}
	return out
}
