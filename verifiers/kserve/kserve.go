// Package kserve asks a classifier behind a server of the Open Inference
// Protocol, version 2, over gRPC: KServe, Triton, MLServer, OpenVINO Model
// Server. The model takes premises and hypotheses as tensors of texts, or the
// token ids of pairs, and gives a tensor with a row for each pair and a column
// for each class.
package kserve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"plumbline/models/tokenizer"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/verifiers/internal/lazy"
	"plumbline/verifiers/internal/requests"
	"plumbline/verifiers/internal/rpc"
	"plumbline/verifiers/protocols/inference"
)

// Verifier is a classifier behind a server. It implements entail.Verifier and
// is safe for concurrent use.
type Verifier struct {
	config    Config
	tokenizer *tokenizer.Tokenizer // nil for a model that takes texts
	tokens    [sha256.Size]byte    // the hash of its file
	conn      *grpc.ClientConn
	client    inference.GRPCInferenceServiceClient
	limiter   *requests.Limiter
	model     *lazy.Value[model]
	requests  atomic.Uint64 // sent, to name them
	closed    atomic.Bool
}

// model is what is known of the server's model.
type model struct {
	description entail.Description
	version     string
	input       input
	output      output
}

// Open reads the tokenizer, if there is one, and prepares the connection. It
// asks nothing yet: a server that does not answer fails the calls, not Open.
func Open(config Config) (*Verifier, error) {
	v, err := open(config)
	if err != nil {
		return nil, fmt.Errorf("kserve verifier: %w", err)
	}
	return v, nil
}

func open(config Config) (*Verifier, error) {
	key, err := config.complete()
	if err != nil {
		return nil, err
	}
	v := &Verifier{config: config, limiter: requests.NewLimiter(config.Concurrency), model: lazy.New[model]()}
	if config.Tokenizer != "" {
		file, err := os.ReadFile(config.Tokenizer)
		if err != nil {
			return nil, fmt.Errorf("tokenizer: %w", err)
		}
		if v.tokenizer, err = tokenizer.Parse(file); err != nil {
			return nil, fmt.Errorf("tokenizer: %w", err)
		}
		v.tokens = sha256.Sum256(file)
	}
	if v.conn, err = rpc.Dial(config.URL, key, config.Timeout); err != nil {
		return nil, err
	}
	v.client = inference.NewGRPCInferenceServiceClient(v.conn)
	return v, nil
}

// Close ends the connection. No call is inside and none will come.
func (v *Verifier) Close() error {
	if v.closed.Swap(true) {
		return nil
	}
	return v.conn.Close()
}

// known returns the model, and asks the server about it if nobody has yet.
func (v *Verifier) known(ctx context.Context) (model, error) {
	if v.closed.Load() {
		return model{}, entail.ErrClosed
	}
	return v.model.Get(ctx, v.learn)
}

// learn asks whether the model is ready and which tensors it has, and scores a
// pair to learn which version answers.
func (v *Verifier) learn(ctx context.Context) (model, error) {
	if err := v.ready(ctx); err != nil {
		return model{}, rpc.Explain(err)
	}
	tensors, err := v.client.ModelMetadata(ctx, &inference.ModelMetadataRequest{Name: v.config.Model, Version: v.config.Version})
	if err != nil {
		return model{}, rpc.Explain(err)
	}
	var m model
	if v.tokenizer == nil {
		m.input, err = newTexts(&v.config, tensors.GetInputs())
	} else {
		m.input, err = newTokens(&v.config, v.tokenizer, tensors.GetInputs())
	}
	if err != nil {
		return model{}, err
	}
	if m.output, err = newOutput(&v.config, tensors.GetOutputs()); err != nil {
		return model{}, err
	}
	reply, _, err := v.infer(ctx, m, []entail.Pair{requests.Probe()})
	if err != nil {
		return model{}, rpc.Explain(err)
	}
	scores, err := m.output.read(reply, 1)
	if err != nil {
		return model{}, err
	}
	m.version = reply.GetModelVersion()
	m.description = v.describe(m.version, scores[0].ThreeClass)
	return m, nil
}

func (v *Verifier) ready(ctx context.Context) error {
	server, err := v.client.ServerReady(ctx, &inference.ServerReadyRequest{})
	if err != nil {
		return err
	}
	model, err := v.client.ModelReady(ctx, &inference.ModelReadyRequest{Name: v.config.Model, Version: v.config.Version})
	if err != nil {
		return err
	}
	if !server.GetReady() || !model.GetReady() {
		return fmt.Errorf("%w: it says that it is not ready", entail.ErrUnavailable)
	}
	return nil
}

func (v *Verifier) describe(version string, threeClass bool) entail.Description {
	d := entail.Description{
		Name:          v.config.Model,
		Digest:        v.digest(version),
		ThreeClass:    threeClass,
		MaxTokens:     v.config.MaxTokens,
		Languages:     v.config.Languages,
		ScoreKind:     entail.ScoreKindProbability,
		Deterministic: true,
		Epsilon:       v.config.Epsilon,
	}
	if v.tokenizer != nil {
		d.Tokenizer, d.PairOverhead = v.tokenizer, v.tokenizer.PairOverhead()
	}
	return d
}

// digest identifies what decides the answers as far as it is known here: the
// model by its name and version at the server, and how it is asked and read.
func (v *Verifier) digest(version string) string {
	c := v.config
	canonical, _ := json.Marshal([]any{ // strings and bytes always marshal
		c.Model, version, c.Classes, c.Premise, c.Hypothesis, v.tokens, c.Output, c.Values,
	})
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Describe implements entail.Verifier. The server is asked once, and again by
// each Probe.
func (v *Verifier) Describe(ctx context.Context) (entail.Description, error) {
	m, err := v.known(ctx)
	return m.description, err
}

// Verify implements entail.Verifier. A pair that the model does not take has
// score.TooLong or score.InvalidInput. Failures of the
// server are treated as requests.Limiter says. A reply of another version of the model than
// the one that was described is entail.ErrUnavailable: the next call describes
// the new one.
func (v *Verifier) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	m, err := v.known(ctx)
	if err != nil {
		return entail.Batch{}, err
	}
	batch, err := v.limiter.Verify(ctx, pairs, v.config.BatchSize, func(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
		return v.score(ctx, m, pairs)
	})
	batch.Usage.Verifier, batch.Usage.Digest = m.description.Name, m.description.Digest
	return batch, err
}

func (v *Verifier) score(ctx context.Context, m model, pairs []entail.Pair) (entail.Batch, error) {
	begun := time.Now()
	reply, tokens, err := v.infer(ctx, m, pairs)
	if err != nil {
		return entail.Batch{}, refused(err)
	}
	if reply.GetModelVersion() != m.version {
		v.model.Forget()
		return entail.Batch{}, fmt.Errorf("%w: it has changed the model's version", entail.ErrUnavailable)
	}
	scores, err := m.output.read(reply, len(pairs))
	if err != nil {
		return entail.Batch{}, err
	}
	batch := entail.Batch{Usage: entail.Usage{
		Inference: time.Since(begun) * time.Duration(len(pairs)), Pairs: len(pairs), Tokens: tokens,
	}}
	for _, s := range scores {
		batch.Results = append(batch.Results, entail.Result{Scores: s})
	}
	return batch, nil
}

// refused turns the statuses by which servers refuse a request's contents into
// what that means, now that the model's tensors are known to fit.
func refused(err error) error {
	status, ok := errors.AsType[*rpc.StatusError](err)
	switch {
	case rpc.TooLarge(err):
		return score.TooLong("the pair does not fit into a message to the model's server; split the premise or the hypothesis")
	case ok && status.Code == codes.InvalidArgument:
		return score.InvalidInput("the model's server refuses the pair")
	default:
		return err
	}
}

// infer runs the model on some pairs and makes sure that the reply is to this
// request and of this model.
func (v *Verifier) infer(ctx context.Context, m model, pairs []entail.Pair) (*inference.ModelInferResponse, int, error) {
	tensors, tokens, err := m.input.tensors(pairs)
	if err != nil {
		return nil, 0, err
	}
	id := strconv.FormatUint(v.requests.Add(1), 10)
	reply, err := v.client.ModelInfer(ctx, &inference.ModelInferRequest{
		ModelName:    v.config.Model,
		ModelVersion: v.config.Version,
		Id:           id,
		Inputs:       tensors,
		Outputs:      []*inference.ModelInferRequest_InferRequestedOutputTensor{{Name: m.output.tensor}},
	})
	switch {
	case err != nil:
		return nil, 0, err
	case reply.GetId() != "" && reply.GetId() != id:
		return nil, 0, fmt.Errorf("%w: it is to another request", entail.ErrBadReply)
	case reply.GetModelName() != "" && reply.GetModelName() != v.config.Model:
		return nil, 0, fmt.Errorf("%w: it is of another model", entail.ErrBadReply)
	}
	return reply, tokens, nil
}

// Probe scores a pair and says whether the model can score at all. It also
// learns which version answers by now.
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
