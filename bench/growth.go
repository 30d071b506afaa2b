package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
)

// growth shows that time grows with the work and no faster: the time of one
// pair in calls of 10 to 10,000, and of one kilobyte in documents of 1 KB to
// 1 MB. Each size is compared with the smallest in the same rounds.
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
	if err := s.growPairs(ctx, c, ours); err != nil {
		return err
	}
	return s.growDocuments(ctx, c, groundings{plumblinev1.NewGroundingServiceClient(ours.conn)})
}

// growPairs asks about as many different pairs as each call has, all cut from
// the same length so that only their number changes.
func (s *session) growPairs(ctx context.Context, c corpus, ours *verifier) error {
	next := c.draw(6)
	var all []entail.Pair
	for most := s.scale(100, 10_000); len(all) < most; {
		d := next()
		for _, text := range c.cut(d.Text, 32) {
			all = append(all, entail.Pair{Premise: text, Hypothesis: d.Claim})
		}
	}
	var contenders []contender
	for n := 10; n <= s.scale(90, 10_000); n *= s.scale(3, 10) {
		pairs := all[:n]
		contenders = append(contenders, contender{name: fmt.Sprint(n, " pairs"), work: float64(n), run: func(ctx context.Context) ([]time.Duration, error) {
			return callers(ctx, 1, [][]entail.Pair{pairs}, ours.ask)
		}})
	}
	outcomes, err := alternate(ctx, s.scale(2, 3), contenders...)
	if err != nil {
		return err
	}
	s.report("pairs", outcomes)
	return nil
}

func (s *session) growDocuments(ctx context.Context, c corpus, ours groundings) error {
	var contenders []contender
	for size := 1 << 10; size <= s.scale(16<<10, 1<<20); size *= s.scale(4, 10) {
		kilobytes := float64(size) / (1 << 10)
		req := question(c.draw(8)().Claim, c.prose(size, 7))
		contenders = append(contenders, contender{name: fmt.Sprint(size>>10, " KB"), work: kilobytes, run: func(ctx context.Context) ([]time.Duration, error) {
			return callers(ctx, 1, []*plumblinev1.ScoreGroundingRequest{req}, func(ctx context.Context, req *plumblinev1.ScoreGroundingRequest) error {
				_, err := ours.score(ctx, req)
				return err
			})
		}})
	}
	outcomes, err := alternate(ctx, s.scale(2, 3), contenders...)
	if err != nil {
		return err
	}
	s.report("KB", outcomes)
	return nil
}
