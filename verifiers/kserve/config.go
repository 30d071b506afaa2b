package kserve

import (
	"cmp"
	"errors"
	"fmt"

	"plumbline/verifiers/internal/classes"
	"plumbline/verifiers/internal/endpoint"
	"plumbline/verifiers/internal/rpc"
)

// Scheme begins the addresses of this backend.
const Scheme = "kserve"

// What the output's numbers are.
const (
	// ValuesLogits are a network's outputs, of which the softmax is taken here.
	ValuesLogits = "logits"
	// ValuesProbabilities sum to 1.
	ValuesProbabilities = "probabilities"
)

// Defaults of Config.
const (
	DefaultPremise    = "premise"
	DefaultHypothesis = "hypothesis"
	DefaultBatchSize  = 32
)

// Config says which model to ask, and how. A field's tag is its name as an
// option of the address.
type Config struct {
	// Settings are those of every such backend. URL has the transport grpc or
	// grpcs.
	endpoint.Settings `option:",squash"`
	// Model is the model's name at the server; required.
	Model string `option:"model"`
	// Version is the model's version; empty leaves the choice to the server.
	Version string `option:"version"`
	// Classes are the classes of the output's columns, in their order, because
	// tensors do not name them; required. They are entailment, neutral and
	// contradiction, or entailment and not_entailment.
	Classes []string `option:"classes"`
	// Premise and Hypothesis are the input tensors for the texts, of type BYTES;
	// empty means DefaultPremise and DefaultHypothesis. They are not used with
	// Tokenizer.
	Premise    string `option:"premise"`
	Hypothesis string `option:"hypothesis"`
	// Tokenizer is the path of a tokenizer.json, for a model that takes token ids:
	// the tensors input_ids, attention_mask and token_type_ids, those of them that
	// it has.
	Tokenizer string `option:"tokenizer"`
	// MaxTokens is the longest pair in tokens; 0 means not stated. With Tokenizer
	// it is required, and a longer pair is not sent.
	MaxTokens int `option:"max_tokens"`
	// Output is the output tensor, of shape [pairs, classes] and type FP32 or
	// FP64; empty means the only one that the model has.
	Output string `option:"output"`
	// Values is ValuesLogits or ValuesProbabilities; empty means ValuesLogits.
	Values string `option:"values"`
	// BatchSize is how many pairs a request has at most; 0 means
	// DefaultBatchSize.
	BatchSize int `option:"batch"`
}

// Parse reads an address: kserve:grpc://host:port?model=NAME&classes=… and any
// options of Config.
func Parse(address string) (Config, error) {
	var config Config
	url, err := endpoint.Parse(Scheme, address, []string{rpc.Plain, rpc.TLS}, &config)
	if err != nil {
		return Config{}, err
	}
	config.URL = url
	return config, nil
}

// complete checks the configuration, sets defaults, and returns the API key.
func (c *Config) complete() (key string, err error) {
	c.Premise = cmp.Or(c.Premise, DefaultPremise)
	c.Hypothesis = cmp.Or(c.Hypothesis, DefaultHypothesis)
	c.Values = cmp.Or(c.Values, ValuesLogits)
	c.BatchSize = cmp.Or(c.BatchSize, DefaultBatchSize)
	normal := make([]string, len(c.Classes))
	for i, name := range c.Classes {
		normal[i], _ = classes.Normal(name) // ThreeClass refuses what is unknown
	}
	c.Classes = normal
	_, classesErr := classes.ThreeClass(c.Classes)
	switch {
	case c.Model == "":
		return "", errors.New("model: name the model to ask, as in kserve:grpc://host:8001?model=NAME&classes=entailment,neutral,contradiction")
	case classesErr != nil:
		return "", fmt.Errorf("classes: %w; write them in the order of the output's columns", classesErr)
	case c.Premise == c.Hypothesis:
		return "", errors.New("premise, hypothesis: must be two tensors")
	case c.Values != ValuesLogits && c.Values != ValuesProbabilities:
		return "", errors.New("values: must be logits or probabilities")
	case c.BatchSize < 0:
		return "", errors.New("batch: must be positive")
	case c.MaxTokens < 0 || c.Tokenizer != "" && c.MaxTokens == 0:
		return "", errors.New("max_tokens: must be positive, and be given with a tokenizer")
	}
	return endpoint.Complete(&c.Settings)
}
