package grounding

import (
	"cmp"
	"context"
	"errors"
	"slices"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// hit is a chunk and what it gave a hypothesis.
type hit struct {
	chunk chunk
	with  *chunk // the other chunk of a joined premise, or nil
	value float64
	ok    bool
}

// job is one hypothesis against all chunks of its window.
type job struct {
	hypothesis string
	set        *chunkSet
	// multiHop is how many of the best passages are joined in pairs.
	multiHop int

	left    int // pairs without an answer
	best    hit // highest support
	against hit // highest contradiction in the coarse cut
	// hops is the best chunk of the coarse cut for each group of chunks, so that a text which several passages have does not stand for them all.
	hops map[int]hit
	two  bool // the verifier knows no contradiction
	err  error
}

// pair is one question of a job.
type pair struct {
	job   *job
	chunk chunk
	with  *chunk // the other chunk of a joined premise, or nil
}

// maxPairs is how many pairs one call of the verifier has at most: enough to
// sort them by length, few enough to bound the memory of a request.
const maxPairs = 2048

// verification asks a verifier about jobs, claim after claim.
type verification struct {
	verifier entail.Verifier

	usage entail.Usage
	asked int // pairs
}

// run answers the jobs. Their errors are in them: a job without an error has
// an answer for each of its pairs.
func (v *verification) run(ctx context.Context, jobs []*job) {
	for _, j := range jobs {
		j.left = len(j.set.chunks)
		if j.multiHop > 1 {
			j.hops = map[int]hit{}
		}
	}
	v.askAll(ctx, func(yield func(pair) bool) {
		for _, j := range jobs {
			for _, c := range j.set.chunks {
				if !yield(pair{job: j, chunk: c}) {
					return
				}
			}
		}
	})
	v.askAll(ctx, func(yield func(pair) bool) {
		for _, j := range jobs {
			for _, p := range v.joined(j) {
				j.left++
				if !yield(p) {
					return
				}
			}
		}
	})
	for _, j := range jobs {
		if j.left > 0 && j.err == nil {
			j.err = errIncomplete()
		}
	}
}

func errIncomplete() error {
	return score.Unavailable("the verifier gave no verdict on some of the evidence")
}

// askAll sends pairs in calls of bounded size and asks again about the halves
// of chunks that were too long.
func (v *verification) askAll(ctx context.Context, pairs func(func(pair) bool)) {
	var batch []pair
	var failed error
	flush := func() bool {
		for len(batch) > 0 && failed == nil {
			now := batch[:min(len(batch), maxPairs)] // refused chunks come back as two
			again, err := v.ask(ctx, now)
			batch, failed = append(again, batch[len(now):]...), err
			batch = slices.DeleteFunc(batch, func(p pair) bool { return p.job.err != nil })
		}
		for _, p := range batch {
			p.job.fail(failed)
		}
		batch = batch[:0]
		return failed == nil
	}
	pairs(func(p pair) bool {
		if failed != nil || p.job.err != nil {
			p.job.fail(failed)
			return true
		}
		batch = append(batch, p)
		if len(batch) == maxPairs {
			flush()
		}
		return true
	})
	flush()
}

// ask makes one call and returns the pairs to ask instead of those that were
// refused as too long, or all pairs and the error of the whole call.
func (v *verification) ask(ctx context.Context, batch []pair) ([]pair, error) {
	pairs := make([]entail.Pair, len(batch))
	for i, p := range batch {
		pairs[i] = entail.Pair{Premise: p.chunk.premise, Hypothesis: p.job.hypothesis}
	}
	got, err := v.verifier.Verify(ctx, pairs)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err() // whatever the transport calls it
		}
		return batch, err
	}
	v.usage.Add(got.Usage)
	v.asked += len(batch)
	var again []pair
	for i, p := range batch {
		if i >= len(got.Results) {
			p.job.fail(errIncomplete())
			continue
		}
		r := got.Results[i]
		if first, second, ok := v.halves(p, r.Err); ok {
			p.job.left++
			again = append(again, pair{job: p.job, chunk: first}, pair{job: p.job, chunk: second})
			continue
		}
		p.job.take(p, r)
	}
	return again, nil
}

// halves cuts a chunk again that the verifier found too long: its length was
// estimated without the model's tokenizer, or another model answered than the
// one that was described.
func (v *verification) halves(p pair, err error) (first, second chunk, ok bool) {
	if p.with != nil || !tooLong(err) {
		return chunk{}, chunk{}, false
	}
	return p.chunk.halve()
}

func tooLong(err error) bool {
	m, ok := errors.AsType[*score.Missing](err)
	return ok && m.Status == plumblinev1.Status_STATUS_TOO_LONG
}

func (j *job) fail(err error) {
	if j.err == nil {
		j.err = err
	}
}

// take folds the answer to one pair in.
func (j *job) take(p pair, r entail.Result) {
	j.left--
	s := r.Scores
	switch {
	case p.with != nil && tooLong(r.Err):
		return // each of the two was read alone
	case r.Err != nil:
		j.fail(r.Err)
		return
	case !probability(s.Entailment) || s.ThreeClass && !probability(s.Contradiction):
		j.fail(score.Unavailable("the verifier gave a value that is no probability"))
		return
	}
	support := hit{chunk: p.chunk, with: p.with, value: s.Entailment, ok: true}
	j.best = better(j.best, support)
	if p.with != nil || p.chunk.fine {
		return // joined passages contradict where one of them does, and a sentence out of its context contradicts much
	}
	if j.hops != nil {
		if best := j.hops[p.chunk.group]; !best.ok || rank(support, best) < 0 {
			j.hops[p.chunk.group] = support
		}
	}
	j.two = j.two || !s.ThreeClass
	j.against = better(j.against, hit{chunk: p.chunk, value: s.Contradiction, ok: true})
}

func probability(p float64) bool { return p >= 0 && p <= 1 }

// better returns the higher of two hits, the first of equals.
func better(a, b hit) hit {
	if !a.ok || b.value > a.value {
		return b
	}
	return a
}

// joined returns the pairs of the job's best passages, each as one premise.
// The order of a premise's halves depends on their support and text alone, so
// that the order of passages changes nothing.
func (v *verification) joined(j *job) []pair {
	if j.err != nil || len(j.hops) < 2 {
		return nil
	}
	best := make([]hit, 0, len(j.hops))
	for _, h := range j.hops {
		best = append(best, h)
	}
	slices.SortFunc(best, rank)
	best = spread(best)
	best = best[:min(len(best), j.multiHop)]
	var pairs []pair
	for i, a := range best {
		for _, b := range best[i+1:] {
			c := a.chunk
			c.premise = joinTexts(c.premise, b.chunk.premise)
			pairs = append(pairs, pair{job: j, chunk: c, with: &b.chunk})
		}
	}
	return pairs
}

// rank orders hits by value, the highest first, and of equals by their text, so
// that the order of passages changes nothing.
func rank(a, b hit) int {
	return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.chunk.premise, b.chunk.premise))
}

// spread puts the hits first that have a passage which none before them has.
func spread(ranked []hit) []hit {
	seen := map[int]bool{}
	var fresh, rest []hit
	for _, h := range ranked {
		if slices.ContainsFunc(h.chunk.among, func(p int) bool { return !seen[p] }) {
			fresh = append(fresh, h)
		} else {
			rest = append(rest, h)
		}
		for _, p := range h.chunk.among {
			seen[p] = true
		}
	}
	return append(fresh, rest...)
}
