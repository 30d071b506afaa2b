// Package engine scores pairs with an embedded model. It has a fixed number of
// workers, each of which runs one pair at a time at the pair's exact length.
// On a CPU that is as fast as batches, nothing is spent on padding, and a
// score cannot depend on the pairs that happen to run beside it (docs/adr,
// 0003). Requests share the workers, pair by pair.
package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"plumbline/models"
	"plumbline/models/ort"
	"plumbline/models/tokenizer"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// DefaultMaxCalls is how many calls may be inside the engine at once. The
// server admits fewer; this is the engine's own bound on memory.
const DefaultMaxCalls = 256

// slotsPerWorker is how many tokenised pairs of one call may be inside the
// engine for each worker: one that runs and one that waits, so that no worker
// idles while the call prepares its next pair.
const slotsPerWorker = 2

// ErrNotFinite is the error of a pair for which the model returned NaN or an
// infinity.
var ErrNotFinite error = score.Unavailable("the model's answer for this pair is not finite")

// Tokenizer is what the engine needs of models/tokenizer.
type Tokenizer interface {
	entail.Tokenizer
	// EncodePair returns the model's input for the pair. Nothing is cut off.
	EncodePair(premise, hypothesis string) tokenizer.PairEncoding
	// PairOverhead is the number of tokens that a pair has beside those of its
	// texts.
	PairOverhead() int
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

// Engine implements entail.Verifier.
type Engine struct {
	manifest  models.Manifest
	digest    string
	tokenizer Tokenizer
	queue     *queue
	slots     int
	close     func() error
}

// runner is the part of ort.Runner that the workers need; tests of the
// scheduling put a fake in its place.
type runner interface {
	Run(ctx context.Context, ids, types []int64) ([]float32, error)
	Close() error
}

// Open loads the library and the model and starts the workers. It keeps no
// reference to the model's bytes.
func Open(model *models.Model, config Config) (*Engine, error) {
	tokens, err := parseTokenizer(model)
	if err != nil {
		return nil, fmt.Errorf("%s of model %s: %w", model.Manifest.Files.Tokenizer.Name, model.Manifest.Name, err)
	}
	return open(model, tokens, config)
}

// parseTokenizer reads the tokenizer and gives it the model's layout of pairs.
func parseTokenizer(model *models.Model) (*tokenizer.Tokenizer, error) {
	tokens, err := tokenizer.Parse(model.Tokenizer)
	if one := model.Manifest.OneText; err == nil && one != nil {
		return tokens.AsOneText(one.Prefix, one.Separator)
	}
	return tokens, err
}

func open(model *models.Model, tokens Tokenizer, config Config) (*Engine, error) {
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
	e := start(model, tokens, runners, config.MaxCalls, session.Close)
	if err := e.checkEpsilon(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// checkEpsilon scores a few pairs each alone and then side by side, and holds
// the difference to the manifest's epsilon: this build of the library, on this
// processor, must keep what was published with the weights.
func (e *Engine) checkEpsilon() error {
	pairs := []entail.Pair{
		{Premise: "The mill closed in 1889.", Hypothesis: "It closed in May."},
		{Premise: "Snow.", Hypothesis: "Nobody saw it."},
		{Premise: "He sold the mill.", Hypothesis: "He sold it."},
		{Premise: strings.Repeat("The mill on the river was sold to three brothers in 1889. ", 4), Hypothesis: "Two sisters bought the mill."},
	}
	var alone []entail.Result
	for _, pair := range pairs {
		batch, err := e.Verify(context.Background(), []entail.Pair{pair})
		if err != nil {
			return err
		}
		alone = append(alone, batch.Results...)
	}
	together, err := e.Verify(context.Background(), pairs)
	if err != nil {
		return err
	}
	for i, a := range alone {
		b := together.Results[i]
		if m, ok := errors.AsType[*score.Missing](a.Err); ok && m.Status == plumblinev1.Status_STATUS_TOO_LONG {
			continue // a model of a very short window
		}
		if err := errors.Join(a.Err, b.Err); err != nil {
			return fmt.Errorf("model %s scores no pair: %w", e.manifest.Name, err)
		}
		moved := max(math.Abs(a.Scores.Entailment-b.Scores.Entailment), math.Abs(a.Scores.Contradiction-b.Scores.Contradiction))
		if moved > e.manifest.Epsilon {
			return fmt.Errorf("model %s: a pair's probability moves by %.2g with the pairs beside it, more than its manifest's epsilon of %g; "+
				"set epsilon to what its users may expect", e.manifest.Name, moved, e.manifest.Epsilon)
		}
	}
	return nil
}

// start builds an engine over its runners. closeSession is called after the
// last of them is closed.
func start(model *models.Model, tokens Tokenizer, runners []runner, maxCalls int, closeSession func() error) *Engine {
	if maxCalls <= 0 {
		maxCalls = DefaultMaxCalls
	}
	e := &Engine{
		manifest:  model.Manifest,
		digest:    model.Digest,
		tokenizer: tokens,
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

// Describe implements entail.Verifier.
func (e *Engine) Describe(context.Context) (entail.Description, error) {
	return entail.Description{
		Name:          e.manifest.Name,
		Digest:        e.digest,
		ThreeClass:    e.manifest.ThreeClass(),
		MaxTokens:     e.manifest.MaxTokens,
		TrainedTokens: e.manifest.TrainedMaxTokens,
		FineTokens:    e.manifest.FineTokens,
		PairOverhead:  e.tokenizer.PairOverhead(),
		Tokenizer:     e.tokenizer,
		Languages:     slices.Clone(e.manifest.Languages),
		QATemplate:    e.manifest.QATemplate,
		ScoreKind:     entail.ScoreKindProbability,
		Deterministic: true,
		Epsilon:       e.manifest.Epsilon,
	}, nil
}

// Verify implements entail.Verifier. A pair that cannot be scored has its
// error in its Result: score.MissingInput for an empty hypothesis, score.TooLong
// for one that does not fit the model (no pair is ever cut), ErrNotFinite, or a
// failure of the library. An error of the call is entail.ErrClosed, entail.ErrBusy, or the end of ctx, upon which pairs
// that wait never reach the model and those that run are stopped.
func (e *Engine) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	if err := e.queue.enter(); err != nil {
		return entail.Batch{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &tally{call: newCall(ctx, e.slots, len(pairs))}
	defer e.queue.leave(t.call)
	t.call.account.Enter()
	defer t.call.account.Leave()
	t.batch.Results = make([]entail.Result, len(pairs))
	t.batch.Usage = entail.Usage{Verifier: e.manifest.Name, Digest: e.digest}
	for _, i := range longestFirst(pairs) {
		if t.inside == e.slots {
			if err := t.receive(); err != nil {
				return entail.Batch{}, err
			}
		}
		if err := ctx.Err(); err != nil {
			return entail.Batch{}, err
		}
		e.submit(t, i, pairs[i])
	}
	for t.inside > 0 {
		if err := t.receive(); err != nil {
			return entail.Batch{}, err
		}
	}
	return t.batch, nil
}

// longestFirst is the order in which a call's pairs run: the worker that takes
// the last one then keeps the call waiting for a short one (the LPT rule; Graham,
// Bounds on multiprocessing timing anomalies, 1969). Bytes stand for tokens,
// which are not known yet.
func longestFirst(pairs []entail.Pair) []int {
	size := func(i int) int { return len(pairs[i].Premise) + len(pairs[i].Hypothesis) }
	order := make([]int, len(pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return size(b) - size(a) })
	return order
}

// tally is what one Verify call knows: its results and cost so far, and how
// many of its pairs are inside. Only the call's goroutine touches it.
type tally struct {
	call   *call
	batch  entail.Batch
	inside int
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
		t.batch.Results[o.index] = o.result
		t.batch.Usage.Queue += o.queue
		t.batch.Usage.Inference += o.inference
		return nil
	case <-t.call.ctx.Done():
		return t.call.ctx.Err()
	}
}

// submit tokenises a pair, on the call's goroutine so that the workers are
// left to the model, and queues it if it fits.
func (e *Engine) submit(t *tally, index int, pair entail.Pair) {
	if pair.Hypothesis == "" {
		t.batch.Results[index].Err = score.MissingInput("the hypothesis is empty")
		return
	}
	begun := time.Now()
	encoding := e.tokenizer.EncodePair(pair.Premise, pair.Hypothesis)
	queued := time.Now()
	usage := &t.batch.Usage
	usage.Tokenization += queued.Sub(begun)
	if n := len(encoding.IDs); n > e.manifest.MaxTokens {
		t.batch.Results[index].Err = score.TooLong(
			"the pair has %d tokens and the model takes %d; split the premise or the hypothesis", n, e.manifest.MaxTokens)
		return
	}
	usage.Pairs++
	usage.Tokens += len(encoding.IDs)
	t.inside++
	e.queue.push(t.call, job{index: index, encoding: encoding, queued: queued})
}

// Probe scores a fixed pair and says whether the engine can score at all. It
// waits its turn like any call. An engine that is full works.
func (e *Engine) Probe(ctx context.Context) error {
	const text = "The probe works."
	batch, err := e.Verify(ctx, []entail.Pair{{Premise: text, Hypothesis: text}})
	switch {
	case errors.Is(err, entail.ErrBusy):
		return nil
	case err != nil:
		return err
	default:
		return batch.Results[0].Err
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
		logits, err := r.Run(c.ctx, j.encoding.IDs, j.encoding.TypeIDs)
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
func (e *Engine) result(logits []float32, err error) entail.Result {
	if err != nil {
		return entail.Result{Err: err}
	}
	p, err := softmax(logits)
	if err != nil {
		return entail.Result{Err: err}
	}
	of := func(class string) float64 {
		if i := slices.Index(e.manifest.Classes, class); i >= 0 {
			return p[i]
		}
		return 0
	}
	return entail.Result{Scores: entail.Scores{
		Entailment:    of(models.ClassEntailment),
		Neutral:       of(models.ClassNeutral),
		Contradiction: of(models.ClassContradiction),
		ThreeClass:    e.manifest.ThreeClass(),
	}}
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
