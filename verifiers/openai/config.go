package openai

import (
	"cmp"
	"errors"

	"plumbline/verifiers/internal/endpoint"
)

// Scheme begins the addresses of this backend.
const Scheme = "openai"

// Ways to ask.
const (
	// APIChat is /chat/completions.
	APIChat = "chat"
	// APICompletions is /completions, for models without a chat template.
	APICompletions = "completions"
)

// Ways to be answered.
const (
	// AnswerAuto takes log-probabilities if the server has them and votes
	// otherwise; the first request finds out.
	AnswerAuto = "auto"
	// AnswerLogprobs insists on log-probabilities.
	AnswerLogprobs = "logprobs"
	// AnswerVotes samples answers.
	AnswerVotes = "votes"
)

// Defaults of Config.
const (
	DefaultSamples     = 5
	DefaultTemperature = 1
	DefaultMinMass     = 0.5
	// DefaultTopLogprobs is the most that OpenAI and, unless told otherwise, vLLM
	// give for chat.
	DefaultTopLogprobs = 20
	// DefaultTopLogprobsCompletions is the most that OpenAI gives for completions.
	DefaultTopLogprobsCompletions = 5
)

// maxSamples and maxTopLogprobs bound what one pair may cost.
const (
	maxSamples     = 100
	maxTopLogprobs = 100
)

// Config says which judge to ask, and how. A field's tag is its name as an
// option of the address.
type Config struct {
	// Settings are those of every such backend. URL is the base of the API, such
	// as http://host:8000/v1.
	endpoint.Settings `option:",squash"`
	// Model is the model's name at the server; required.
	Model string `option:"model"`
	// API is APIChat or APICompletions; empty means APIChat.
	API string `option:"api"`
	// Answer is AnswerAuto, AnswerLogprobs or AnswerVotes; empty means
	// AnswerAuto.
	Answer string `option:"answer"`
	// System is the instruction to the judge, for a model that was tuned with one
	// of its own; empty means ours.
	System string `option:"system"`
	// MinMass is the least probability of yes and no together, or share of votes
	// for either, from which a score is read: a judge that would rather say
	// something else has not judged. 0 means DefaultMinMass.
	MinMass float64 `option:"min_mass"`
	// TopLogprobs is how many of the likeliest first tokens are asked for; 0 means
	// the default of the API. Some servers give fewer: Text Generation Inference
	// gives 5.
	TopLogprobs int `option:"top_logprobs"`
	// Samples is the number of votes; 0 means DefaultSamples.
	Samples int `option:"samples"`
	// Temperature is that of the samples; 0 means DefaultTemperature.
	Temperature float64 `option:"temperature"`
	// MaxTokens is the longest prompt in tokens; 0 leaves it to the server to
	// say.
	MaxTokens int `option:"max_tokens"`
}

// Parse reads an address: openai:http://host:port/v1?model=NAME and any options
// of Config.
func Parse(address string) (Config, error) {
	var config Config
	url, err := endpoint.Parse(Scheme, address, []string{"http", "https"}, &config)
	if err != nil {
		return Config{}, err
	}
	config.URL = url
	return config, nil
}

// complete checks the configuration, sets defaults, and returns the API key.
func (c *Config) complete() (key string, err error) {
	c.API = cmp.Or(c.API, APIChat)
	c.Answer = cmp.Or(c.Answer, AnswerAuto)
	c.System = cmp.Or(c.System, instruction)
	top := DefaultTopLogprobs
	if c.API == APICompletions {
		top = DefaultTopLogprobsCompletions
	}
	c.TopLogprobs = cmp.Or(c.TopLogprobs, top)
	c.Samples = cmp.Or(c.Samples, DefaultSamples)
	c.Temperature = cmp.Or(c.Temperature, DefaultTemperature)
	c.MinMass = cmp.Or(c.MinMass, DefaultMinMass)
	switch {
	case c.Model == "":
		return "", errors.New("model: name the model to ask, as in openai:http://host:8000/v1?model=NAME")
	case c.API != APIChat && c.API != APICompletions:
		return "", errors.New("api: must be chat or completions")
	case c.Answer != AnswerAuto && c.Answer != AnswerLogprobs && c.Answer != AnswerVotes:
		return "", errors.New("answer: must be auto, logprobs or votes")
	case !(c.MinMass > 0 && c.MinMass <= 1):
		return "", errors.New("min_mass: must be above 0 and at most 1")
	case c.TopLogprobs < 1 || c.TopLogprobs > maxTopLogprobs:
		return "", errors.New("top_logprobs: must be between 1 and 100")
	case c.Samples < 1 || c.Samples > maxSamples:
		return "", errors.New("samples: must be between 1 and 100")
	case !(c.Temperature > 0 && c.Temperature <= 2):
		return "", errors.New("temperature: must be above 0 and at most 2")
	case c.MaxTokens < 0 || c.MaxTokens > 0 && c.MaxTokens <= c.overhead():
		return "", errors.New("max_tokens: must leave room for the instruction")
	}
	return endpoint.Complete(&c.Settings)
}
