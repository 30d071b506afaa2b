package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// model is a chat model behind an OpenAI-compatible API. It counts what it was
// asked.
type model struct {
	url, name          string
	calls, completions int
}

// chatRequest is the part of a chat completion's parameters that the loop uses.
type chatRequest struct {
	Model       string        `json:"model"`
	Messages    []chatMessage `json:"messages"`
	N           int           `json:"n"`
	Temperature float64       `json:"temperature"`
	MaxTokens   int           `json:"max_tokens"`
	Seed        int           `json:"seed"`
	Logprobs    bool          `json:"logprobs,omitempty"`
	TopLogprobs int           `json:"top_logprobs,omitempty"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// chatResponse is the part of the reply that the loop reads.
type chatResponse struct {
	Choices []struct {
		Message  chatMessage `json:"message"`
		Logprobs struct {
			Content []chatToken `json:"content"`
		} `json:"logprobs"`
	} `json:"choices"`
}

type chatToken struct {
	Token       string      `json:"token"`
	Logprob     float64     `json:"logprob"`
	TopLogprobs []chatToken `json:"top_logprobs"`
}

// completion is one generated text.
type completion struct {
	text        string
	meanLogprob float64                     // over its tokens; 0 if not known
	first       []*plumblinev1.TokenLogprob // the likeliest first tokens
}

// chat asks for completions of a prompt.
func (m *model) chat(ctx context.Context, prompt string, r chatRequest) ([]completion, error) {
	r.Model, r.Messages, r.N = m.name, []chatMessage{{"user", prompt}}, max(r.N, 1)
	m.calls++
	m.completions += r.N
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(m.url, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", request.URL, response.Status, data)
	}
	var reply chatResponse
	if err := json.Unmarshal(data, &reply); err != nil {
		return nil, err
	}
	if len(reply.Choices) == 0 {
		return nil, fmt.Errorf("%s: the reply has no choices", request.URL)
	}
	return reply.completions(), nil
}

func (r chatResponse) completions() []completion {
	var all []completion
	for _, choice := range r.Choices {
		c := completion{text: strings.TrimSpace(choice.Message.Content)}
		tokens := choice.Logprobs.Content
		for _, token := range tokens {
			c.meanLogprob += token.Logprob / float64(len(tokens))
		}
		if len(tokens) > 0 {
			for _, t := range tokens[0].TopLogprobs {
				c.first = append(c.first, &plumblinev1.TokenLogprob{Token: t.Token, Logprob: &t.Logprob})
			}
		}
		all = append(all, c)
	}
	return all
}
