package tei

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/verifiers/internal/jsonhttp"
)

// overHTTP is TEI's HTTP API.
type overHTTP struct{ client *jsonhttp.Client }

func newHTTP(config Config, key string) overHTTP {
	return overHTTP{jsonhttp.New(config.URL, key, config.Timeout, config.Concurrency)}
}

func (h overHTTP) close() error {
	h.client.Close()
	return nil
}

func (h overHTTP) info(ctx context.Context) (info, error) {
	var m struct {
		ModelID    string `json:"model_id"`
		ModelSHA   string `json:"model_sha"`
		ModelDType string `json:"model_dtype"`
		ModelType  struct {
			Classifier *struct{} `json:"classifier"`
		} `json:"model_type"`
		MaxInputLength     int `json:"max_input_length"`
		MaxClientBatchSize int `json:"max_client_batch_size"`
	}
	if err := h.client.Get(ctx, "info", &m); err != nil {
		return info{}, err
	}
	if m.ModelID == "" || m.MaxInputLength < 0 || m.MaxClientBatchSize < 0 {
		return info{}, fmt.Errorf("%w: /info is not that of a TEI server", entail.ErrBadReply)
	}
	return info{
		model:      m.ModelID,
		revision:   m.ModelSHA,
		dtype:      m.ModelDType,
		classifier: m.ModelType.Classifier != nil,
		maxTokens:  m.MaxInputLength,
		maxBatch:   m.MaxClientBatchSize,
	}, nil
}

type predictRequest struct {
	Inputs [][2]string `json:"inputs"`
	// Truncate is said, because a server may cut by default.
	Truncate  bool `json:"truncate"`
	RawScores bool `json:"raw_scores"`
}

// predictReply has the classes of each pair, in the order of the pairs. What is
// missing stays nil: a score of 0 would mean something.
type predictReply [][]struct {
	Label *string  `json:"label"`
	Score *float64 `json:"score"`
}

func (h overHTTP) predict(ctx context.Context, pairs []entail.Pair) ([][]prediction, entail.Usage, error) {
	request := predictRequest{}
	for _, pair := range pairs {
		request.Inputs = append(request.Inputs, [2]string{pair.Premise, pair.Hypothesis})
	}
	var reply predictReply
	header, err := h.client.Post(ctx, "predict", request, &reply)
	if err != nil {
		return nil, entail.Usage{}, refused(err)
	}
	predictions, err := reply.read(len(pairs))
	return predictions, cost(header, len(pairs)), err
}

func (r predictReply) read(pairs int) ([][]prediction, error) {
	if len(r) != pairs {
		return nil, fmt.Errorf("%w: it has %d results for %d pairs", entail.ErrBadReply, len(r), pairs)
	}
	all := make([][]prediction, len(r))
	for i, classes := range r {
		for _, class := range classes {
			if class.Label == nil || class.Score == nil {
				return nil, fmt.Errorf("%w: a class has no label or no score", entail.ErrBadReply)
			}
			all[i] = append(all[i], prediction{*class.Label, *class.Score})
		}
	}
	return all, nil
}

// refused turns the statuses by which TEI refuses a text into what that means.
func refused(err error) error {
	status, ok := errors.AsType[*jsonhttp.StatusError](err)
	switch {
	case ok && (status.Code == http.StatusRequestEntityTooLarge || status.Code == http.StatusUnprocessableEntity && aboutLength(status.Body)):
		return errTooLong()
	case ok && status.Code == http.StatusUnprocessableEntity:
		return errInvalid()
	default:
		return err
	}
}

// aboutLength says whether a refusal is for a text's length.
func aboutLength(message []byte) bool {
	return bytes.Contains(message, []byte("must have less than"))
}

func errTooLong() error {
	return score.TooLong("the pair does not fit the model; split the premise or the hypothesis")
}

func errInvalid() error { return score.InvalidInput("the model's server refuses the pair") }

// cost reads the headers in which TEI tells its times, in milliseconds and as
// means over the request's pairs.
func cost(header http.Header, pairs int) entail.Usage {
	number := func(name string) int {
		n, _ := strconv.ParseUint(header.Get(name), 10, 31) // 0 if it is not told
		return int(n)
	}
	sum := func(name string) time.Duration {
		return time.Duration(number(name)*pairs) * time.Millisecond
	}
	return entail.Usage{
		Tokens:       number("x-compute-tokens"),
		Tokenization: sum("x-tokenization-time"),
		Queue:        sum("x-queue-time"),
		Inference:    sum("x-inference-time"),
	}
}
