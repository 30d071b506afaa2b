package openai

import (
	"encoding/json"
	"errors"
	"testing"

	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// Whatever a server writes, the outcome is a probability, a typed reason or
// entail.ErrBadReply.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"choices":[{"message":{"content":"Yes"},"logprobs":{"content":[{"token":"Yes","logprob":-0.1,"top_logprobs":[{"token":"No","logprob":-2.4}]}]}}],"usage":{"total_tokens":9}}`))
	f.Add([]byte(`{"choices":[{"text":" No","logprobs":{"tokens":[" No"],"token_logprobs":[-0.1],"top_logprobs":[{" No":-0.1," Yes":-2.4}]}}]}`))
	f.Add([]byte(`{"choices":[{"text":"","message":{"content":""},"logprobs":{"tokens":["a"],"token_logprobs":[null],"top_logprobs":[null]}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var chat chatReply
		if json.Unmarshal(body, &chat) == nil {
			checkReply(t, &chat)
		}
		var completion completionReply
		if json.Unmarshal(body, &completion) == nil {
			checkReply(t, &completion)
		}
	})
}

func checkReply(t *testing.T, m interface{ read() (reply, error) }) {
	r, err := m.read()
	if err != nil {
		if !errors.Is(err, entail.ErrBadReply) {
			t.Errorf("an error of no kind: %v", err)
		}
		return
	}
	if len(r.choices) == 0 || r.tokens < 0 {
		t.Errorf("read as %+v", r)
	}
	for _, c := range r.choices {
		tally, err := weigh(c.first)
		if err != nil {
			if !errors.Is(err, entail.ErrBadReply) {
				t.Errorf("an error of no kind: %v", err)
			}
			continue
		}
		p, err := tally.support(DefaultMinMass)
		if _, missing := errors.AsType[*score.Missing](err); err != nil && !missing || err == nil && !(p >= 0 && p <= 1) {
			t.Errorf("%+v has the support %v, %v", tally, p, err)
		}
	}
}
