package openai

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// reply is what both APIs answer.
type reply struct {
	choices []choice // at least one
	tokens  int      // of prompt and answers
}

// choice is one answer.
type choice struct {
	text string
	// first is the distribution of the first token; empty if the server gave
	// none.
	first []candidate
}

// candidate is a token that the answer might have begun with. What is missing
// stays nil: a log-probability of 0 would mean certainty.
type candidate struct {
	Token   *string  `json:"token"`
	Logprob *float64 `json:"logprob"`
}

type usage struct {
	TotalTokens int `json:"total_tokens"`
}

// chatReply is the body of a reply of /chat/completions.
type chatReply struct {
	Choices []struct {
		Message struct {
			Content *string `json:"content"`
		} `json:"message"`
		Logprobs struct {
			Content []struct {
				candidate
				TopLogprobs []candidate `json:"top_logprobs"`
			} `json:"content"`
		} `json:"logprobs"`
	} `json:"choices"`
	Usage usage `json:"usage"`
}

func (m *chatReply) read() (reply, error) {
	r := reply{tokens: max(m.Usage.TotalTokens, 0)}
	for _, c := range m.Choices {
		if c.Message.Content == nil && len(c.Logprobs.Content) == 0 {
			return reply{}, fmt.Errorf("%w: a choice has no content", entail.ErrBadReply)
		}
		var answer choice
		if c.Message.Content != nil {
			answer.text = *c.Message.Content
		}
		if tokens := c.Logprobs.Content; len(tokens) > 0 {
			answer.first = with(tokens[0].TopLogprobs, tokens[0].candidate)
		}
		r.choices = append(r.choices, answer)
	}
	return r.check()
}

// completionReply is the body of a reply of /completions.
type completionReply struct {
	Choices []struct {
		Text     *string `json:"text"`
		Logprobs struct {
			Tokens        []string              `json:"tokens"`
			TokenLogprobs []*float64            `json:"token_logprobs"`
			TopLogprobs   []map[string]*float64 `json:"top_logprobs"`
		} `json:"logprobs"`
	} `json:"choices"`
	Usage usage `json:"usage"`
}

func (m *completionReply) read() (reply, error) {
	r := reply{tokens: max(m.Usage.TotalTokens, 0)}
	for _, c := range m.Choices {
		if c.Text == nil {
			return reply{}, fmt.Errorf("%w: a choice has no text", entail.ErrBadReply)
		}
		answer := choice{text: *c.Text}
		if len(c.Logprobs.TopLogprobs) > 0 {
			for token, logprob := range c.Logprobs.TopLogprobs[0] {
				answer.first = append(answer.first, candidate{&token, logprob})
			}
		}
		if tokens, values := c.Logprobs.Tokens, c.Logprobs.TokenLogprobs; len(tokens) > 0 && len(values) > 0 {
			answer.first = with(answer.first, candidate{&tokens[0], values[0]})
		}
		r.choices = append(r.choices, answer)
	}
	return r.check()
}

// with adds the token that was said, if it is not among the likeliest.
func with(top []candidate, said candidate) []candidate {
	for _, c := range top {
		if c.Token != nil && said.Token != nil && *c.Token == *said.Token {
			return top
		}
	}
	return append(top, said)
}

func (r reply) check() (reply, error) {
	if len(r.choices) == 0 {
		return reply{}, fmt.Errorf("%w: it has no choices", entail.ErrBadReply)
	}
	return r, nil
}

// tally is how much the judge is for yes, and how much for no.
type tally struct{ yes, no float64 }

// support is the score, if yes and no have enough together.
func (t tally) support(minMass float64) (float64, error) {
	mass := t.yes + t.no
	if mass < minMass {
		return 0, score.Inconclusive("the judge gave yes and no %.3f together, less than the floor of %.3f", mass, minMass)
	}
	return t.yes / mass, nil
}

// count adds to the side that a text is on, if it is on one.
func (t *tally) count(text string, amount float64) {
	switch verdict(text) {
	case "yes":
		t.yes += amount
	case "no":
		t.no += amount
	}
}

// sumTolerance is how far the candidates' probabilities may sum above 1.
const sumTolerance = 1e-2

// weigh sums the probabilities of the spellings of yes and of no.
func weigh(candidates []candidate) (tally, error) {
	var t tally
	var sum float64
	for _, c := range candidates {
		// Rounding leaves some certain tokens above 0.
		if c.Token == nil || c.Logprob == nil || *c.Logprob > sumTolerance {
			return tally{}, fmt.Errorf("%w: a token has no log-probability", entail.ErrBadReply)
		}
		p := math.Exp(min(*c.Logprob, 0))
		sum += p
		t.count(*c.Token, p)
	}
	if sum > 1+sumTolerance {
		return tally{}, fmt.Errorf("%w: the probabilities of the first token sum to %v", entail.ErrBadReply, sum)
	}
	return t, nil
}

// marks are how vocabularies write a blank or a new line at a token's edge:
// byte-level BPE and SentencePiece.
var marks = strings.NewReplacer("Ġ", " ", "Ċ", " ", "▁", " ")

// verdict returns the first word of an answer in lower case, without what
// decorates it: " Yes", "ĠYES", "▁yes", "**No.**" and "No, because" are words.
func verdict(text string) string {
	text = strings.TrimLeftFunc(marks.Replace(text), func(r rune) bool { return !unicode.IsLetter(r) })
	if end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }); end >= 0 {
		text = text[:end]
	}
	return strings.ToLower(text)
}
