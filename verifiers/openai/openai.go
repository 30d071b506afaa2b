// Package openai asks a language model behind an OpenAI-compatible server (vLLM,
// llama.cpp, Ollama, SGLang, TGI, OpenAI) to judge whether evidence supports a
// claim, as Bespoke-MiniCheck does (Tang et al. 2024): the model is to say yes or
// no, and the score is
//
//	P(support) = p(yes) / (p(yes) + p(no))
//
// over the distribution of its first token, where p sums over the spellings of
// the word. A server without log-probabilities is asked for samples instead, and
// the score is the share of those that say yes; the description says which.
package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync/atomic"
	"time"

	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/verifiers/internal/jsonhttp"
	"plumbline/verifiers/internal/lazy"
	"plumbline/verifiers/internal/requests"
)

// Verifier is a judge behind a server. It implements entail.Verifier and is
// safe for concurrent use.
type Verifier struct {
	config    Config
	client    *jsonhttp.Client
	limiter   *requests.Limiter
	closed    atomic.Bool
	described *lazy.Value[entail.Description]
}

// Open prepares the client. It asks nothing yet: a server that does not answer
// fails the calls, not Open.
func Open(config Config) (*Verifier, error) {
	key, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("openai verifier: %w", err)
	}
	return &Verifier{
		config:    config,
		client:    jsonhttp.New(config.URL, key, config.Timeout, config.Concurrency),
		limiter:   requests.NewLimiter(config.Concurrency),
		described: lazy.New[entail.Description](),
	}, nil
}

// Close ends the connections. No call is inside and none will come.
func (v *Verifier) Close() error {
	v.closed.Store(true)
	v.client.Close()
	return nil
}

// Describe implements entail.Verifier. The first call asks the server, to learn
// whether it gives log-probabilities.
func (v *Verifier) Describe(ctx context.Context) (entail.Description, error) {
	if v.closed.Load() {
		return entail.Description{}, entail.ErrClosed
	}
	return v.described.Get(ctx, func(ctx context.Context) (entail.Description, error) {
		kind, err := v.settle(ctx)
		if err != nil {
			return entail.Description{}, err
		}
		return v.describe(kind, v.window(ctx)), ctx.Err()
	})
}

// settle finds out how the server answers, unless the configuration says it.
func (v *Verifier) settle(ctx context.Context) (entail.ScoreKind, error) {
	switch v.config.Answer {
	case AnswerLogprobs:
		return entail.ScoreKindTokenProbability, nil
	case AnswerVotes:
		return entail.ScoreKindVoteShare, nil
	}
	reply, err := v.ask(ctx, v.config.request(requests.Probe(), v.config.logprobs()))
	switch {
	case err == nil && len(reply.choices[0].first) > 0:
		return entail.ScoreKindTokenProbability, nil
	case err != nil && !dislikes(err):
		return 0, err
	}
	// Without log-probabilities, or refused, as some servers refuse a parameter
	// that they do not know. If it was something else, this is refused as well.
	if _, err := v.ask(ctx, v.config.request(requests.Probe(), v.config.sampling(1))); err != nil {
		return 0, err
	}
	return entail.ScoreKindVoteShare, nil
}

// dislikes says whether the request, and not its sender, was refused.
func dislikes(err error) bool {
	status, ok := errors.AsType[*jsonhttp.StatusError](err)
	return ok && (status.Code == http.StatusBadRequest || status.Code == http.StatusUnprocessableEntity ||
		status.Code == http.StatusNotImplemented)
}

// window returns the longest prompt in tokens, or 0 if nobody says it. vLLM does
// in its list of models.
func (v *Verifier) window(ctx context.Context) int {
	if v.config.MaxTokens > 0 {
		return v.config.MaxTokens
	}
	var list struct {
		Data []struct {
			ID          string `json:"id"`
			MaxModelLen int    `json:"max_model_len"`
		} `json:"data"`
	}
	if v.client.Get(ctx, "models", &list) != nil {
		return 0 // the list is a courtesy of the server
	}
	for _, model := range list.Data {
		if model.ID == v.config.Model {
			return max(model.MaxModelLen, 0)
		}
	}
	return 0
}

func (v *Verifier) describe(kind entail.ScoreKind, window int) entail.Description {
	return entail.Description{
		Name:         v.config.Model,
		Digest:       v.config.digest(kind),
		MaxTokens:    window,
		PairOverhead: v.config.overhead(),
		Languages:    v.config.Languages,
		ScoreKind:    kind,
		// Equal prompts have equal distributions; samples differ.
		Deterministic: kind == entail.ScoreKindTokenProbability,
		Epsilon:       v.config.Epsilon,
	}
}

// digest identifies what decides the answers as far as it is known here: the
// server's model by its name, how it is asked, and how its answer is read.
func (c *Config) digest(kind entail.ScoreKind) string {
	decisive := []any{c.Model, c.API, c.System, question, kind, c.MinMass}
	if kind == entail.ScoreKindVoteShare {
		decisive = append(decisive, c.Samples, c.Temperature)
	} else {
		decisive = append(decisive, c.TopLogprobs)
	}
	canonical, _ := json.Marshal(decisive) // strings and numbers always marshal
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Verify implements entail.Verifier. Each pair is a request of its own. A pair
// whose answer decides nothing has score.Inconclusive, one that does not fit the
// model score.TooLong. Failures of the server are treated as
// requests.Limiter says.
func (v *Verifier) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	description, err := v.Describe(ctx)
	if err != nil {
		return entail.Batch{}, err
	}
	batch, err := v.limiter.Verify(ctx, pairs, 1, func(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
		return v.judge(ctx, description.ScoreKind, pairs[0])
	})
	batch.Usage.Verifier, batch.Usage.Digest = description.Name, description.Digest
	return batch, err
}

// Probe says whether the judge can judge.
func (v *Verifier) Probe(ctx context.Context) error {
	batch, err := v.Verify(ctx, []entail.Pair{requests.Probe()})
	switch {
	case errors.Is(err, entail.ErrBusy):
		return nil // a server that is full works
	case err != nil:
		return err
	default:
		return batch.Results[0].Err
	}
}

// judge scores one pair.
func (v *Verifier) judge(ctx context.Context, kind entail.ScoreKind, pair entail.Pair) (entail.Batch, error) {
	read := v.distribution
	if kind == entail.ScoreKindVoteShare {
		read = v.votes
	}
	begun := time.Now()
	tally, tokens, err := read(ctx, pair)
	switch {
	case err != nil && tooLong(err):
		return entail.Batch{}, score.TooLong("the pair does not fit the judge's window; split the premise or the hypothesis")
	case err != nil:
		return entail.Batch{}, err
	}
	var result entail.Result
	result.Scores.Entailment, result.Err = tally.support(v.config.MinMass)
	return entail.Batch{
		Results: []entail.Result{result},
		Usage:   entail.Usage{Inference: time.Since(begun), Pairs: 1, Tokens: tokens},
	}, nil
}

// windowExceeded is what servers say of a prompt that is too long: OpenAI's
// code, llama.cpp's type, and vLLM's and others' sentences.
var windowExceeded = regexp.MustCompile(`(?i)context_length_exceeded|exceed_context_size|maximum (context|model|input) length|context (length|window|size)|prompt is too long`)

func tooLong(err error) bool {
	status, ok := errors.AsType[*jsonhttp.StatusError](err)
	return ok && (status.Code == http.StatusRequestEntityTooLarge ||
		status.Code == http.StatusBadRequest && windowExceeded.Match(status.Body))
}

// distribution reads the answer from the probabilities of its first token.
func (v *Verifier) distribution(ctx context.Context, pair entail.Pair) (tally, int, error) {
	reply, err := v.ask(ctx, v.config.request(pair, v.config.logprobs()))
	if err != nil {
		return tally{}, 0, err
	}
	if len(reply.choices) != 1 || len(reply.choices[0].first) == 0 {
		return tally{}, 0, fmt.Errorf("%w: it has %d choices, and not one with log-probabilities", entail.ErrBadReply, len(reply.choices))
	}
	t, err := weigh(reply.choices[0].first)
	return t, reply.tokens, err
}

// votes samples answers. Servers may give fewer than they were asked for (many
// give one, whatever n says), so that the rest is asked for again.
func (v *Verifier) votes(ctx context.Context, pair entail.Pair) (tally, int, error) {
	var t tally
	tokens := 0
	for left := v.config.Samples; left > 0; {
		reply, err := v.ask(ctx, v.config.request(pair, v.config.sampling(left)))
		if err != nil {
			return tally{}, 0, err
		}
		if len(reply.choices) > left {
			return tally{}, 0, fmt.Errorf("%w: %d choices for %d that were asked for", entail.ErrBadReply, len(reply.choices), left)
		}
		left -= len(reply.choices)
		tokens += reply.tokens
		for _, choice := range reply.choices {
			t.count(choice.text, 1/float64(v.config.Samples))
		}
	}
	return t, tokens, nil
}

// ask sends a request and returns a reply with at least one choice.
func (v *Verifier) ask(ctx context.Context, r request) (reply, error) {
	if v.config.API == APICompletions {
		var m completionReply
		if _, err := v.client.Post(ctx, "completions", r, &m); err != nil {
			return reply{}, err
		}
		return m.read()
	}
	var m chatReply
	if _, err := v.client.Post(ctx, "chat/completions", r, &m); err != nil {
		return reply{}, err
	}
	return m.read()
}
