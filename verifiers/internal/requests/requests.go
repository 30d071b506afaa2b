// Package requests sends the pairs of a call in requests of a bounded size, and
// gives a server a bounded number of them at once.
package requests

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// Limiter bounds how many requests are under way at a server, over all calls.
type Limiter struct {
	size  int
	slots *semaphore.Weighted
}

// NewLimiter returns a Limiter of n requests.
func NewLimiter(n int) *Limiter { return &Limiter{size: n, slots: semaphore.NewWeighted(int64(n))} }

// Probe is a pair on which a model that works is sure.
func Probe() entail.Pair {
	return entail.Pair{Premise: "The probe works.", Hypothesis: "The probe works."}
}

// Ask sends one request. It returns a result for each of the pairs, or the error
// for which none of them was scored: a *score.Missing if the server refuses a
// text of the request, any other if it fails.
type Ask func(ctx context.Context, pairs []entail.Pair) (entail.Batch, error)

// Verify asks about all pairs, at most size in a request. An empty hypothesis is
// refused here, because no model refuses it and its scores mean nothing; so is a
// text that is not UTF-8, because JSON and protobuf cannot carry it.
//
// A request that fails ends the sending, so that a server in trouble gets no
// more of it. The call goes on with what is left if the failure is one that
// passes and the server has answered most of the call's requests so far, after
// the time that it asked for; otherwise the failure is that of the call, and
// whoever made the call decides about another. A large call to a server with a
// limit on its rate can only end so.
func (l *Limiter) Verify(ctx context.Context, pairs []entail.Pair, size int, ask Ask) (entail.Batch, error) {
	whole := entail.Batch{Results: make([]entail.Result, len(pairs))}
	var places []int // of the pairs that are sent
	var sent []entail.Pair
	for i, pair := range pairs {
		switch {
		case pair.Hypothesis == "":
			whole.Results[i].Err = score.MissingInput("the hypothesis is empty")
		case !utf8.ValidString(pair.Premise) || !utf8.ValidString(pair.Hypothesis):
			whole.Results[i].Err = score.InvalidInput("the text is not UTF-8")
		default:
			places, sent = append(places, i), append(sent, pair)
		}
	}
	c := &call{limiter: l, ask: ask, parts: slices.Collect(slices.Chunk(sent, size)), begun: time.Now()}
	if err := c.run(ctx); err != nil {
		return entail.Batch{}, err
	}
	for _, answer := range c.answers {
		for _, result := range answer.Results {
			whole.Results[places[0]] = result
			places = places[1:]
		}
		whole.Usage.Add(answer.Usage)
	}
	return whole, nil
}

// call is one call of Verify.
type call struct {
	limiter *Limiter
	ask     Ask
	parts   [][]entail.Pair
	begun   time.Time

	// answers has the outcome of each part; nil for one that has none yet.
	answers          []*entail.Batch
	answered, failed int // requests
}

// run sends rounds of requests until every part is answered.
func (c *call) run(ctx context.Context) error {
	c.answers = make([]*entail.Batch, len(c.parts))
	for {
		before := c.answered
		failure := c.round(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case failure == nil:
			return nil
		case c.answered == before || float64(c.failed) > float64(c.limiter.size)+failureShare*float64(c.answered):
			return failure
		case !wait(ctx, failure):
			return failure
		}
	}
}

const (
	// failureShare is how many of a call's requests may fail for each that is
	// answered, beside those of one moment, which are as many as are under way.
	failureShare = 0.2
	// longestWait is the longest pause that a server is granted within a call.
	longestWait = time.Minute
)

// round sends the parts that have no answer, until one of them fails, and waits
// for those under way.
func (c *call) round(ctx context.Context) error {
	group, sending := errgroup.WithContext(ctx)
	var failed atomic.Int64
	for i, part := range c.parts {
		if c.answers[i] != nil {
			continue
		}
		if c.limiter.slots.Acquire(sending, 1) != nil {
			break
		}
		waited := time.Since(c.begun)
		group.Go(func() error {
			defer c.limiter.slots.Release(1)
			answer, err := isolate(ctx, part, c.ask)
			if err != nil {
				failed.Add(1)
				return err
			}
			answer.Usage.Queue += waited * time.Duration(len(part))
			c.answers[i] = &answer
			return nil
		})
	}
	failure := group.Wait()
	c.failed += int(failed.Load())
	c.answered = 0
	for _, answer := range c.answers {
		if answer != nil {
			c.answered++
		}
	}
	return failure
}

// wait says whether another round may come, after the time that the server has
// asked for.
func wait(ctx context.Context, failure error) bool {
	invitation, invited := errors.AsType[*entail.RetryAfter](failure)
	if !invited {
		return errors.Is(failure, entail.ErrUnavailable)
	}
	deadline, bounded := ctx.Deadline()
	if invitation.After > longestWait || bounded && time.Until(deadline) < invitation.After {
		return false
	}
	timer := time.NewTimer(invitation.After)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// isolate asks and, where a text is refused, asks again about halves, until the
// refusal is the result of the pair that it is about and of no other.
func isolate(ctx context.Context, pairs []entail.Pair, ask Ask) (entail.Batch, error) {
	batch, err := ask(ctx, pairs)
	refusal, refused := errors.AsType[*score.Missing](err)
	switch {
	case !refused:
		return batch, err
	case len(pairs) == 1:
		return entail.Batch{Results: []entail.Result{{Err: refusal}}}, nil
	}
	half := len(pairs) / 2
	first, err := isolate(ctx, pairs[:half], ask)
	if err != nil {
		return entail.Batch{}, err
	}
	second, err := isolate(ctx, pairs[half:], ask)
	if err != nil {
		return entail.Batch{}, err
	}
	first.Results = append(first.Results, second.Results...)
	first.Usage.Add(second.Usage)
	return first, nil
}
