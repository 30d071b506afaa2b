// Package singleflight lets equal pairs that are under way at the same time
// share one run of the model, within a call and across calls.
package singleflight

import (
	"context"
	"errors"
	"slices"
	"sync"

	"plumbline/scorers/entail"
)

// Verifier sends each distinct pair to the verifier behind it once at a time.
// The first call that brings a pair leads its run, calls that bring the same
// pair meanwhile wait for it; a small call that would wait for far more pairs than
// its own runs it again. It implements entail.Verifier.
type Verifier struct {
	next  entail.Verifier
	chunk int

	mu      sync.Mutex
	flights map[entail.Pair]*flight
}

// flight is the run of one pair. Its fields are set before done is closed.
type flight struct {
	done chan struct{}
	// beside is how many pairs land together, this one included.
	beside int
	// landed says that there is an outcome. A flight without one lost its
	// leader, and those who waited must see to the pair themselves.
	landed bool
	result entail.Result
	err    error
	// verifier and digest name the model that answered.
	verifier, digest string
}

// New returns a Verifier in front of next. A long call goes to next in chunks
// of the given number of pairs (at least 1), one after the other: whoever joins
// one of its pairs waits for a chunk, not for the whole call. The chunk should
// be large against the number of pairs that next runs side by side.
func New(next entail.Verifier, chunk int) *Verifier {
	return &Verifier{next: next, chunk: max(chunk, 1), flights: make(map[entail.Pair]*flight)}
}

// Describe implements entail.Verifier.
func (v *Verifier) Describe(ctx context.Context) (entail.Description, error) {
	return v.next.Describe(ctx)
}

// Verify implements entail.Verifier. Usage.Shared counts the pairs that joined
// a run. A call that is cancelled takes nobody with it: one of those who
// waited for its pairs runs them anew. A call whose parts two models have
// answered, because the one behind next was exchanged, is asked anew as a whole.
func (v *Verifier) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	batch, err := v.verify(ctx, pairs)
	if errors.Is(err, errTwoModels) {
		return v.next.Verify(ctx, pairs)
	}
	return batch, err
}

func (v *Verifier) verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	if len(pairs) == 0 {
		return v.next.Verify(ctx, pairs)
	}
	batch := entail.Batch{Results: make([]entail.Result, 0, len(pairs))}
	for chunk := range slices.Chunk(pairs, v.chunk) {
		part, err := v.verifyChunk(ctx, chunk)
		if err != nil {
			return entail.Batch{}, err
		}
		batch.Results = append(batch.Results, part.Results...)
		if err := add(&batch.Usage, part.Usage); err != nil {
			return entail.Batch{}, err
		}
	}
	return batch, nil
}

// errTwoModels ends a call whose parts two models have answered.
var errTwoModels = errors.New("two models answered")

// add accumulates the usage of a part.
func add(total *entail.Usage, part entail.Usage) error {
	if total.Digest != "" && part.Digest != "" && total.Digest != part.Digest {
		return errTwoModels
	}
	total.Add(part)
	return nil
}

func (v *Verifier) verifyChunk(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	batch := entail.Batch{Results: make([]entail.Result, len(pairs))}
	open := make([]int, len(pairs))
	for i := range open {
		open[i] = i
	}
	for len(open) > 0 {
		if err := ctx.Err(); err != nil {
			return entail.Batch{}, err
		}
		led, joined := v.board(pairs, open)
		// Leading comes before waiting: two calls that join each other's pairs
		// then cannot wait for each other.
		if err := v.lead(ctx, led, &batch); err != nil {
			return entail.Batch{}, err
		}
		var err error
		if open, err = wait(ctx, joined, &batch); err != nil {
			return entail.Batch{}, err
		}
	}
	return batch, nil
}

// seat is a pair's place in its chunk and the flight that it takes.
type seat struct {
	index  int
	pair   entail.Pair
	flight *flight
}

// worthwhile says whether a call of some pairs joins a run of others: they land
// together, so that a small call beside a large one is sooner done by itself.
func worthwhile(pairs, beside int) bool { return beside <= 4*pairs+16 }

// board finds the flight of each open pair and starts those that are missing or
// land too late.
func (v *Verifier) board(pairs []entail.Pair, open []int) (led, joined []seat) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, i := range open {
		pair := pairs[i]
		f, ok := v.flights[pair]
		if ok && (f.beside == 0 || worthwhile(len(open), f.beside)) { // 0: it is this call's own
			joined = append(joined, seat{i, pair, f})
			continue
		}
		f = &flight{done: make(chan struct{})}
		v.flights[pair] = f
		led = append(led, seat{i, pair, f})
	}
	for _, s := range led {
		s.flight.beside = len(led)
	}
	return led, joined
}

// lead runs the pairs and lands their flights.
func (v *Verifier) lead(ctx context.Context, led []seat, batch *entail.Batch) error {
	if len(led) == 0 {
		return nil
	}
	// Deferred, so that a panic in next leaves nobody waiting.
	defer v.land(led)
	pairs := make([]entail.Pair, len(led))
	for k, s := range led {
		pairs[k] = s.pair
	}
	run, err := v.next.Verify(ctx, pairs)
	if err != nil && ctx.Err() != nil {
		// This call has ended, not the pairs' usefulness to others.
		return err
	}
	for k, s := range led {
		s.flight.landed = true
		s.flight.err = err
		s.flight.verifier, s.flight.digest = run.Usage.Verifier, run.Usage.Digest
		if err == nil {
			s.flight.result = run.Results[k]
			batch.Results[s.index] = run.Results[k]
		}
	}
	if err != nil {
		return err
	}
	return add(&batch.Usage, run.Usage)
}

func (v *Verifier) land(led []seat) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range led {
		if v.flights[s.pair] == s.flight { // no smaller call has put its own there
			delete(v.flights, s.pair)
		}
		close(s.flight.done)
	}
}

// wait takes over the outcomes of joined flights and returns the indices of
// the pairs whose flights lost their leader.
func wait(ctx context.Context, joined []seat, batch *entail.Batch) (lost []int, err error) {
	for _, s := range joined {
		select {
		case <-s.flight.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		switch {
		case !s.flight.landed:
			lost = append(lost, s.index)
		case s.flight.err != nil:
			return nil, s.flight.err
		default:
			batch.Results[s.index] = s.flight.result
			if err := add(&batch.Usage, entail.Usage{Shared: 1, Verifier: s.flight.verifier, Digest: s.flight.digest}); err != nil {
				return nil, err
			}
		}
	}
	return lost, nil
}
