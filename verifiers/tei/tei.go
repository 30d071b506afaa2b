// Package tei asks a sequence classifier behind Text Embeddings Inference, over
// its HTTP API (/info, /predict) or its gRPC API (tei.v1). Classes are read by
// the model's labels, in whatever order the server lists them; texts are never
// cut by the server.
package tei

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/verifiers/internal/classes"
	"plumbline/verifiers/internal/lazy"
	"plumbline/verifiers/internal/requests"
	"plumbline/verifiers/internal/rpc"
)

// Verifier is a classifier behind a TEI server. It implements entail.Verifier
// and is safe for concurrent use.
type Verifier struct {
	config  Config
	server  server
	limiter *requests.Limiter
	model   *lazy.Value[model]
	closed  atomic.Bool
}

// server is one of TEI's APIs.
type server interface {
	// info says what the server runs.
	info(ctx context.Context) (info, error)
	// predict returns every class of each pair. The error is a *score.Missing if
	// the server refuses a text, and any of those that verifiers share.
	predict(ctx context.Context, pairs []entail.Pair) ([][]prediction, entail.Usage, error)
	close() error
}

// info is what a server says of itself.
type info struct {
	model, revision, dtype string
	classifier             bool
	maxTokens, maxBatch    int
}

// prediction is the probability of one class.
type prediction struct {
	label string
	score float64
}

// model is what is known of the server's model.
type model struct {
	description entail.Description
	labels      []string // sorted
	batch       int
}

// Open prepares the connection. It asks nothing yet: a server that does not
// answer fails the calls, not Open.
func Open(config Config) (*Verifier, error) {
	key, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("tei verifier: %w", err)
	}
	server, err := connect(config, key)
	if err != nil {
		return nil, fmt.Errorf("tei verifier: %w", err)
	}
	return &Verifier{
		config:  config,
		server:  server,
		limiter: requests.NewLimiter(config.Concurrency),
		model:   lazy.New[model](),
	}, nil
}

func connect(config Config, key string) (server, error) {
	if config.URL.Scheme == rpc.Plain || config.URL.Scheme == rpc.TLS {
		return newGRPC(config, key)
	}
	return newHTTP(config, key), nil
}

// Close ends the connections. No call is inside and none will come.
func (v *Verifier) Close() error {
	if v.closed.Swap(true) {
		return nil
	}
	return v.server.close()
}

// known returns the model, and asks the server about it if nobody has yet.
func (v *Verifier) known(ctx context.Context) (model, error) {
	if v.closed.Load() {
		return model{}, entail.ErrClosed
	}
	return v.model.Get(ctx, v.learn)
}

// learn asks for the model's name and limits, and scores a pair to learn its
// labels, which only one of the two APIs would tell.
func (v *Verifier) learn(ctx context.Context) (model, error) {
	i, err := v.server.info(ctx)
	if err != nil {
		return model{}, err
	}
	if !i.classifier {
		return model{}, fmt.Errorf("%w: its model %.100q is no sequence classifier", entail.ErrRejected, i.model)
	}
	predictions, _, err := v.server.predict(ctx, []entail.Pair{requests.Probe()})
	if _, refused := errors.AsType[*score.Missing](err); refused {
		return model{}, fmt.Errorf("%w: it refuses a pair of two short sentences", entail.ErrRejected)
	} else if err != nil {
		return model{}, err
	}
	m := model{batch: v.config.BatchSize, labels: labels(predictions[0])}
	if i.maxBatch > 0 {
		m.batch = min(m.batch, i.maxBatch)
	}
	if _, err := v.read(predictions[0]); err != nil {
		return model{}, err
	}
	found, err := v.classes(m.labels)
	if err != nil {
		return model{}, err
	}
	three, err := classes.ThreeClass(found)
	if err != nil {
		return model{}, fmt.Errorf("%w: %w", entail.ErrRejected, err)
	}
	m.description = entail.Description{
		Name:          i.model,
		Digest:        digest(i, m.labels, found),
		ThreeClass:    three,
		MaxTokens:     i.maxTokens,
		PairOverhead:  pairOverhead,
		Languages:     v.config.Languages,
		ScoreKind:     entail.ScoreKindProbability,
		Deterministic: true,
		Epsilon:       v.config.Epsilon,
	}
	return m, nil
}

// pairOverhead is the most that the layouts of pairs cost: RoBERTa's
// <s> premise </s></s> hypothesis </s>. The server does not say.
const pairOverhead = 4

// digest identifies what decides the answers as far as it is known here: the
// model, its commit on the hub if it came from there, the type of its numbers,
// and what its labels mean.
func digest(i info, labels, meanings []string) string {
	canonical, _ := json.Marshal([]any{i.model, i.revision, i.dtype, labels, meanings}) // strings always marshal
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func labels(predictions []prediction) []string {
	var names []string
	for _, p := range predictions {
		names = append(names, p.label)
	}
	slices.Sort(names)
	return names
}

// classes are those of the labels, in their order.
func (v *Verifier) classes(labels []string) ([]string, error) {
	var found []string
	for _, label := range labels {
		class, err := v.config.Labels.class(label)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", entail.ErrRejected, err)
		}
		found = append(found, class)
	}
	return found, nil
}

// read turns the predictions for a pair into its scores.
func (v *Verifier) read(predictions []prediction) (entail.Scores, error) {
	var names []string
	var p []float64
	for _, prediction := range predictions {
		class, err := v.config.Labels.class(prediction.label)
		if err != nil {
			return entail.Scores{}, fmt.Errorf("%w: %w", entail.ErrRejected, err)
		}
		names, p = append(names, class), append(p, prediction.score)
	}
	return classes.Scores(names, p)
}

// Describe implements entail.Verifier. The server is asked once, and again by
// each Probe.
func (v *Verifier) Describe(ctx context.Context) (entail.Description, error) {
	m, err := v.known(ctx)
	return m.description, err
}

// Verify implements entail.Verifier. A pair that the model does not take has
// score.TooLong or score.InvalidInput. Failures of the
// server are treated as requests.Limiter says.
func (v *Verifier) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	m, err := v.known(ctx)
	if err != nil {
		return entail.Batch{}, err
	}
	batch, err := v.limiter.Verify(ctx, pairs, m.batch, func(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
		return v.score(ctx, m, pairs)
	})
	batch.Usage.Verifier, batch.Usage.Digest = m.description.Name, m.description.Digest
	return batch, err
}

func (v *Verifier) score(ctx context.Context, m model, pairs []entail.Pair) (entail.Batch, error) {
	begun := time.Now()
	predictions, usage, err := v.server.predict(ctx, pairs)
	if err != nil {
		return entail.Batch{}, err
	}
	if usage.Inference == 0 { // not told
		usage.Inference = time.Since(begun) * time.Duration(len(pairs))
	}
	usage.Pairs = len(pairs)
	batch := entail.Batch{Usage: usage}
	for _, p := range predictions {
		if !slices.Equal(labels(p), m.labels) {
			v.model.Forget()
			return entail.Batch{}, fmt.Errorf("%w: it has other labels than the model that was described", entail.ErrBadReply)
		}
		scores, err := v.read(p)
		if err != nil {
			return entail.Batch{}, err
		}
		batch.Results = append(batch.Results, entail.Result{Scores: scores})
	}
	return batch, nil
}

// Probe scores a pair and says whether the server can score at all. It also
// learns what the server runs by now.
func (v *Verifier) Probe(ctx context.Context) error {
	if v.closed.Load() {
		return entail.ErrClosed
	}
	m, err := v.learn(ctx)
	switch {
	case errors.Is(err, entail.ErrBusy):
		return nil // a server that is full works
	case err != nil:
		return err
	}
	v.model.Set(m)
	return nil
}
