package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"plumbline/scorers/entail"
)

// engineBesideLoop compares pairs a second through gRPC, in calls of 32 pairs
// by four callers, with the bare loop over the same pairs, already tokenised.
func engineBesideLoop(ctx context.Context, s *session) (err error) {
	c, ok, err := s.corpus()
	if err != nil || !ok {
		return err
	}
	pairs := c.mixed(s.scale(64, 512), 1)
	inputs := c.encode(pairs)
	var tokens int
	for _, input := range inputs {
		tokens += len(input.IDs)
	}
	s.printf("  %d pairs, mean %d tokens\n", len(pairs), tokens/len(pairs))
	loop, err := s.newRawLoop(c.model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loop.Close()) }()
	ours, stop, err := s.ours(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	calls := slices.Collect(slices.Chunk(pairs, s.scale(16, 32)))
	outcomes, err := alternate(ctx, s.scale(2, 7),
		contender{name: "service", work: float64(len(pairs)), run: func(ctx context.Context) ([]time.Duration, error) {
			return callers(ctx, 4, calls, ours.ask)
		}},
		contender{name: "loop", work: float64(len(pairs)), run: func(ctx context.Context) ([]time.Duration, error) {
			return nil, loop.run(ctx, inputs)
		}},
	)
	if err != nil {
		return err
	}
	s.report("pairs", outcomes)
	return nil
}

// ours starts a service without a cache and connects to it.
func (s *session) ours(ctx context.Context) (*verifier, func() error, error) {
	return connect(s.start(ctx, 0))
}

// connect reaches a service that was started, and hands on why it was not. The
// function that it returns ends both.
func connect(running *service, err error) (*verifier, func() error, error) {
	if err != nil {
		return nil, nil, err
	}
	v, err := newVerifier(running.address)
	if err != nil {
		return nil, nil, errors.Join(err, running.stop())
	}
	return v, func() error { return errors.Join(v.conn.Close(), running.stop()) }, nil
}

// ask is verify for callers that only wait.
func (v *verifier) ask(ctx context.Context, pairs []entail.Pair) error {
	_, err := v.verify(ctx, pairs)
	return err
}

// besidePeer compares calls of eight pairs to our service and to the Python
// server, with one caller and with 32.
func besidePeer(ctx context.Context, s *session) (err error) {
	if s.python == "" || s.stubs == "" {
		return s.skip("needs -python and -stubs; bench/run gives both")
	}
	c, ok, err := s.corpus()
	if err != nil || !ok {
		return err
	}
	peer, address, err := s.startPeer(ctx, c.model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, peer.stop()) }()
	theirs, err := newVerifier(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, theirs.conn.Close()) }()
	ours, stop, err := s.ours(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	s.printf("  the Python server's batches have at most %d padded tokens\n", s.budget)
	if err := s.agree(ctx, ours, theirs, c.mixed(32, 2)); err != nil {
		return err
	}
	perCall := s.scale(3, 8)
	for _, number := range []int{1, 32} {
		pairs := c.mixed(perCall*max(s.scale(1, 2)*number, s.scale(4, 16)), 3)
		calls := slices.Collect(slices.Chunk(pairs, perCall))
		through := func(v *verifier) func(context.Context) ([]time.Duration, error) {
			return func(ctx context.Context) ([]time.Duration, error) { return callers(ctx, number, calls, v.ask) }
		}
		outcomes, err := alternate(ctx, s.scale(2, 7),
			contender{name: "service", work: float64(len(pairs)), run: through(ours)},
			contender{name: "python", work: float64(len(pairs)), run: through(theirs), process: peer.pid()},
		)
		if err != nil {
			return err
		}
		s.printf("  %d callers\n", number)
		s.report("pairs", outcomes)
	}
	return nil
}

// agree prints how far apart the two servers' supports are, which shows that
// they do the same work and what padded batches of an int8 model cost.
func (s *session) agree(ctx context.Context, ours, theirs *verifier, pairs []entail.Pair) error {
	a, err := ours.verify(ctx, pairs)
	if err != nil {
		return err
	}
	b, err := theirs.verify(ctx, pairs)
	if err != nil {
		return err
	}
	var worst float64
	for i := range a {
		worst = max(worst, math.Abs(a[i]-b[i]))
	}
	s.printf("  largest difference of support over %d pairs: %.3f\n", len(pairs), worst)
	return nil
}

// besideLoop compares documents a second, one document after the other, with
// the loop of MiniCheck's reference implementation.
func besideLoop(ctx context.Context, s *session) (err error) {
	if s.python == "" {
		return s.skip("needs -python; bench/run gives it")
	}
	c, ok, err := s.corpus()
	if err != nil || !ok {
		return err
	}
	const chunk = 256
	next := c.draw(4)
	var documents [][]entail.Pair
	var chunks int
	for range s.scale(6, 40) {
		d := next()
		var pairs []entail.Pair
		for _, text := range c.cut(d.Text, chunk) {
			pairs = append(pairs, entail.Pair{Premise: text, Hypothesis: d.Claim})
		}
		chunks += len(pairs)
		documents = append(documents, pairs)
	}
	s.printf("  %d documents, %d chunks of at most %d tokens\n", len(documents), chunks, chunk)
	loop, err := s.startLoop(ctx, c.model, documents)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loop.stop()) }()
	ours, stop, err := s.ours(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	outcomes, err := alternate(ctx, s.scale(2, 7),
		contender{name: "service", work: float64(chunks), run: func(ctx context.Context) ([]time.Duration, error) {
			return callers(ctx, 1, documents, ours.ask)
		}},
		contender{name: "loop", work: float64(chunks), run: func(context.Context) ([]time.Duration, error) {
			_, err := loop.ask("go")
			return nil, err
		}, process: loop.pid()},
	)
	if err != nil {
		return err
	}
	s.report("pairs", outcomes)
	return nil
}
