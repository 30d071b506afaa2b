// Package engine scores pairs with an embedded model. It has a fixed number of
// workers, each of which runs one pair at a time at the pair's exact length.
// On a CPU that is as fast as batches, nothing is spent on padding, and a
// score cannot depend on the pairs that happen to run beside it (docs/adr,
// 0003). Calls share the workers in turn, pair by pair.
package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"plumbline/models"
	"plumbline/models/ort"
)

// DefaultMaxCalls is how many calls may be inside the engine at once. The
// server admits fewer; this is the engine's own bound on memory.
const DefaultMaxCalls = 256

// slotsPerWorker is how many tokenised pairs of one call may be inside the
// engine for each worker: one that runs and one that waits, so that no worker
// idles while the call prepares its next pair.
const slotsPerWorker = 2

var (
	// ErrClosed refuses a call to an engine that is closing.
	ErrClosed = errors.New("the engine is closed")
	// ErrBusy refuses a call when Config.MaxCalls are inside already.
	ErrBusy = errors.New("too many calls are waiting for the model; try again later")
	// ErrNotFinite is the error of a pair for which the model returned NaN or
	// an infinity.
	ErrNotFinite = errors.New("the model returned a logit that is not finite")
)

// TooLongError is the error of a pair that does not fit the model.
type TooLongError struct {
	// Tokens is the pair's length with special tokens, Max what the model takes.
	Tokens, Max int
}

// Error implements error.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("the pair has %d tokens and the model takes %d; split the premise or the hypothesis", e.Tokens, e.Max)
}

// Tokenizer turns a pair into what the model reads.
type Tokenizer interface {
	// EncodePair returns the token ids of the pair with its special tokens, and
	// the segment of each token. Nothing is cut off.
	EncodePair(premise, hypothesis string) (ids, types []uint32)
}

// Config are the engine's settings. The zero value is a good one.
type Config struct {
	// Library is the path of the ONNX Runtime library; empty looks in the
	// places that ort.Find documents.
	Library string
	// Workers is how many pairs run side by side; 0 means GOMAXPROCS.
	Workers int
	// MaxCalls bounds the calls inside the engine; 0 means DefaultMaxCalls.
	MaxCalls int
}

// Pair is a premise and a hypothesis.
type Pair struct{ Premise, Hypothesis string }

// Result is the answer for one pair: probabilities that sum to 1, or an error.
// Neutral and Contradiction are 0 for a two-class model.
type Result struct {
	Entailment, Neutral, Contradiction float64
	Err                                error
}

// Usage is what a call cost. The times are sums over its pairs; Pairs and
// Tokens (special tokens included) count what reached the model.
type Usage struct {
	Queue, Tokenization, Inference time.Duration
	Pairs, Tokens                  int
}

// Engine scores pairs. It is safe for concurrent use.
type Engine struct {
	manifest  models.Manifest
	tokenizer Tokenizer
	queue     *queue
	slots     int
	close     func() error
}

// runner is the part of ort.Runner that the workers need; tests of the
// scheduling put a fake in its place.
type runner interface {
	Run(ctx context.Context, ids, types []uint32) ([]float32, error)
	Close() error
}

// Open loads the library and the model and starts the workers.
func Open(model *models.Model, tokenizer Tokenizer, config Config) (*Engine, error) {
	library, err := ort.Find(config.Library)
	if err != nil {
		return nil, err
	}
	session, err := ort.Open(library, model)
	if err != nil {
		return nil, err
	}
	workers := config.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var runners []runner
	for range workers {
		r, err := session.NewRunner()
		if err != nil {
			return nil, errors.Join(err, closeAll(runners), session.Close())
		}
		runners = append(runners, r)
	}
	return start(model.Manifest, tokenizer, runners, config.MaxCalls, session.Close), nil
}

// start builds an engine over its runners. closeSession is called after the
// last of them is closed.
func start(manifest models.Manifest, tokenizer Tokenizer, runners []runner, maxCalls int, closeSession func() error) *Engine {
	if maxCalls <= 0 {
		maxCalls = DefaultMaxCalls
	}
	e := &Engine{
		manifest:  manifest,
		tokenizer: tokenizer,
		queue:     newQueue(maxCalls),
		slots:     slotsPerWorker * len(runners),
	}
	var workers sync.WaitGroup
	for _, r := range runners {
		workers.Go(func() { e.work(r) })
	}
	e.close = sync.OnceValue(func() error {
		e.queue.close()
		workers.Wait()
		return errors.Join(closeAll(runners), closeSession())
	})
	return e
}

func closeAll(runners []runner) error {
	var errs []error
	for _, r := range runners {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// Close refuses new calls, waits for those inside, and frees the model. Calls
// that must not be waited for are ended through their contexts.
func (e *Engine) Close() error { return e.close() }

// Score scores the pairs and keeps their order. A pair that cannot be scored
// has its error in its Result (*TooLongError, ErrNotFinite, or a failure of
// the library). An error of the call means that nothing was scored: ErrClosed,
// ErrBusy, or the end of ctx, upon which pairs that wait never reach the model
// and those that run are stopped.
func (e *Engine) Score(ctx context.Context, pairs []Pair) ([]Result, Usage, error) {
	if err := e.queue.enter(); err != nil {
		return nil, Usage{}, err
	}
	defer e.queue.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &tally{call: call{ctx: ctx, done: make(chan outcome, e.slots)}, results: make([]Result, len(pairs))}
	for i, pair := range pairs {
		if t.inside == e.slots {
			if err := t.receive(); err != nil {
				return nil, Usage{}, err
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, Usage{}, err
		}
		e.submit(t, i, pair)
	}
	for t.inside > 0 {
		if err := t.receive(); err != nil {
			return nil, Usage{}, err
		}
	}
	return t.results, t.usage, nil
}

// tally is what one Score call knows: its results so far, its cost, and how
// many of its pairs are inside. Only the call's goroutine touches it.
type tally struct {
	call    call
	results []Result
	usage   Usage
	inside  int
}

// receive waits for the next outcome or the end of the call.
func (t *tally) receive() error {
	select {
	case o := <-t.call.done:
		// A run that was stopped for the call's sake is no answer for its pair.
		if err := t.call.ctx.Err(); err != nil && o.result.Err != nil {
			return err
		}
		t.inside--
		t.results[o.index] = o.result
		t.usage.Queue += o.queue
		t.usage.Inference += o.inference
		return nil
	case <-t.call.ctx.Done():
		return t.call.ctx.Err()
	}
}

// submit tokenises a pair, on the call's goroutine so that the workers are
// left to the model, and queues it if it fits.
func (e *Engine) submit(t *tally, index int, pair Pair) {
	begun := time.Now()
	ids, types := e.tokenizer.EncodePair(pair.Premise, pair.Hypothesis)
	queued := time.Now()
	t.usage.Tokenization += queued.Sub(begun)
	if len(ids) > e.manifest.MaxTokens {
		t.results[index].Err = &TooLongError{Tokens: len(ids), Max: e.manifest.MaxTokens}
		return
	}
	t.usage.Pairs++
	t.usage.Tokens += len(ids)
	t.inside++
	e.queue.push(&t.call, job{index: index, ids: ids, types: types, queued: queued})
}

// Probe scores a fixed pair and says whether the engine can score at all. It
// waits its turn like any call. An engine that is full works.
func (e *Engine) Probe(ctx context.Context) error {
	const text = "The probe works."
	results, _, err := e.Score(ctx, []Pair{{Premise: text, Hypothesis: text}})
	switch {
	case errors.Is(err, ErrBusy):
		return nil
	case err != nil:
		return err
	default:
		return results[0].Err
	}
}

// work runs jobs until the queue is closed and empty.
func (e *Engine) work(r runner) {
	for {
		c, j, ok := e.queue.next()
		if !ok {
			return
		}
		begun := time.Now()
		logits, err := r.Run(c.ctx, j.ids, j.types)
		// The channel holds all that a call may have inside: this never blocks.
		c.done <- outcome{
			index:     j.index,
			result:    e.result(logits, err),
			queue:     begun.Sub(j.queued),
			inference: time.Since(begun),
		}
	}
}

// result turns logits into the probabilities of the classes.
func (e *Engine) result(logits []float32, err error) Result {
	if err != nil {
		return Result{Err: err}
	}
	p, err := softmax(logits)
	if err != nil {
		return Result{Err: err}
	}
	of := func(class string) float64 {
		if i := slices.Index(e.manifest.Classes, class); i >= 0 {
			return p[i]
		}
		return 0
	}
	return Result{
		Entailment:    of(models.ClassEntailment),
		Neutral:       of(models.ClassNeutral),
		Contradiction: of(models.ClassContradiction),
	}
}

// softmax returns exp(x) / Σ exp(x), in float64 and shifted by the maximum so
// that nothing overflows.
func softmax(logits []float32) ([]float64, error) {
	highest := float64(slices.Max(logits))
	p := make([]float64, len(logits))
	var sum float64
	for i, x := range logits {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, ErrNotFinite
		}
		p[i] = math.Exp(float64(x) - highest)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p, nil
}
