package main

import (
	"context"
	"errors"
	"time"

	"plumbline/models/tokenizer"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
)

// small is a question of one claim and three passages that are a chunk each.
type small struct {
	request *plumblinev1.ScoreGroundingRequest
	inputs  []tokenizer.PairEncoding // the same pairs for the bare loop
}

// passageTokens is short enough for the finer of the two cuts of evidence.
const passageTokens = 50

func (c corpus) small(n int, seed uint64) []small {
	next := c.draw(seed)
	questions := make([]small, 0, n)
	for len(questions) < n {
		d := next()
		passages := c.cut(d.Text, passageTokens)
		if len(passages) < 3 {
			continue
		}
		var pairs []entail.Pair
		for _, text := range passages[:3] {
			pairs = append(pairs, entail.Pair{Premise: text, Hypothesis: d.Claim})
		}
		questions = append(questions, small{question(d.Claim, passages[:3]...), c.encode(pairs)})
	}
	return questions
}

// latency compares one call after the other with the bare loop over the same
// pairs, and shows what eight callers of equal calls wait for each other.
func latency(ctx context.Context, s *session) (err error) {
	c, ok, err := s.corpus()
	if err != nil || !ok {
		return err
	}
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
	grounding := groundings{plumblinev1.NewGroundingServiceClient(ours.conn)}
	ask := func(ctx context.Context, q small) error {
		_, err := grounding.score(ctx, q.request)
		return err
	}
	questions := c.small(s.scale(10, 100), 5)
	var pairs int
	for _, q := range questions {
		response, err := grounding.score(ctx, q.request)
		if err != nil {
			return err
		}
		pairs += int(response.GetCoverage().GetPairs())
	}
	if pairs != 3*len(questions) {
		return errors.New("the passages are not a chunk each: the loop would do other work")
	}
	outcomes, err := alternate(ctx, s.scale(2, 7),
		contender{name: "service", work: float64(len(questions)), run: func(ctx context.Context) ([]time.Duration, error) {
			return callers(ctx, 1, questions, ask)
		}},
		contender{name: "loop", work: float64(len(questions)), run: func(ctx context.Context) ([]time.Duration, error) {
			return callers(ctx, 1, questions, func(ctx context.Context, q small) error { return loop.run(ctx, q.inputs) })
		}},
		contender{name: "8 callers", work: float64(len(questions)), run: func(ctx context.Context) ([]time.Duration, error) {
			return callers(ctx, 8, questions, ask)
		}},
	)
	if err != nil {
		return err
	}
	s.report("calls", outcomes)
	crowd := outcomes[2]
	s.printf("  8 callers: p99 ÷ p50 %.2f\n", float64(crowd.quantile(0.99))/float64(crowd.quantile(0.5)))
	return nil
}
