// Package requests sends the pairs of a call in requests of a bounded size, and
// gives a server a bounded number of them at once.
package requests

import (
	"context"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// Limiter bounds how many requests are under way at a server, over all calls.
type Limiter struct{ slots *semaphore.Weighted }

// NewLimiter returns a Limiter of n requests.
func NewLimiter(n int) *Limiter { return &Limiter{slots: semaphore.NewWeighted(int64(n))} }

// Ask sends one request. It returns a result for each of the pairs, or the error
// for which none of them was scored: a *score.Missing if the server refuses a
// text of the request, any other if it fails.
type Ask func(ctx context.Context, pairs []entail.Pair) (entail.Batch, error)

// Verify asks about all pairs, at most size in a request. A request that fails
// ends the call's sending, so that a server in trouble gets no more of it; those
// under way are waited for and their scores kept. Pairs without a score then
// have the failure as their error. If no pair has a score, it is the error of
// the call. A text that is not UTF-8 is refused here, because JSON and protobuf
// cannot carry it.
func (l *Limiter) Verify(ctx context.Context, pairs []entail.Pair, size int, ask Ask) (entail.Batch, error) {
	whole := entail.Batch{Results: make([]entail.Result, len(pairs))}
	var places []int // of the pairs that are sent
	var sent []entail.Pair
	for i, pair := range pairs {
		if !utf8.ValidString(pair.Premise) || !utf8.ValidString(pair.Hypothesis) {
			whole.Results[i].Err = score.InvalidInput("the text is not UTF-8")
			continue
		}
		places, sent = append(places, i), append(sent, pair)
	}
	answered, err := l.send(ctx, sent, size, ask)
	if err != nil {
		return entail.Batch{}, err
	}
	for i, place := range places {
		whole.Results[place] = answered.Results[i]
	}
	whole.Usage = answered.Usage
	return whole, nil
}

func (l *Limiter) send(ctx context.Context, pairs []entail.Pair, size int, ask Ask) (entail.Batch, error) {
	parts := slices.Collect(slices.Chunk(pairs, size))
	answers := make([]entail.Batch, len(parts))
	begun := time.Now()
	group, sending := errgroup.WithContext(ctx)
	for i, part := range parts {
		if l.slots.Acquire(sending, 1) != nil {
			break
		}
		waited := time.Since(begun)
		group.Go(func() (err error) {
			defer l.slots.Release(1)
			answers[i], err = isolate(ctx, part, ask)
			answers[i].Usage.Queue += waited * time.Duration(len(part))
			return err
		})
	}
	failure := group.Wait()
	if err := ctx.Err(); err != nil {
		return entail.Batch{}, err
	}
	return merge(parts, answers, failure)
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

// merge joins the answers to the parts of a call; a part without an answer
// failed or was not sent.
func merge(parts [][]entail.Pair, answers []entail.Batch, failure error) (entail.Batch, error) {
	var whole entail.Batch
	answered := false
	for i, part := range parts {
		results := answers[i].Results
		if results == nil {
			results = slices.Repeat([]entail.Result{{Err: failure}}, len(part))
		} else {
			answered = true
		}
		whole.Results = append(whole.Results, results...)
		whole.Usage.Add(answers[i].Usage)
	}
	if failure != nil && !answered {
		return entail.Batch{}, failure
	}
	return whole, nil
}
