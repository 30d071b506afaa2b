package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"plumbline/scorers/entail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// judge is an OpenAI-compatible server whose model is obedient to a fault: it
// does what any text tells it that stands outside the fence, and judges what is
// inside. A test replaces what it needs.
type judge struct {
	*httptest.Server
	// reply writes the body for a request; say by default.
	reply func(j *judge, w http.ResponseWriter, r asked)
	// say is the probability of yes for a document and a claim; whether the
	// document contains the claim by default.
	say func(document, claim string) float64

	mu       sync.Mutex
	requests []asked
}

// asked is a request as it arrived.
type asked struct {
	Path, Key string
	Model     string  `json:"model"`
	MaxTokens int     `json:"max_tokens"`
	N         int     `json:"n"`
	Temp      float64 `json:"temperature"`
	Prompt    string  `json:"prompt"`
	Messages  []struct{ Role, Content string }
	Logprobs  any `json:"logprobs"`
	Top       int `json:"top_logprobs"`
}

// user is the user's part of the prompt.
func (a asked) user() string {
	if len(a.Messages) > 0 {
		return a.Messages[len(a.Messages)-1].Content
	}
	return a.Prompt
}

func newJudge(t testing.TB) *judge {
	j := &judge{reply: (*judge).logprobs, say: func(document, claim string) float64 {
		if strings.Contains(document, claim) {
			return .9
		}
		return .1
	}}
	j.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := asked{Path: r.URL.Path, Key: r.Header.Get("Authorization")}
		body, err := io.ReadAll(r.Body)
		if err == nil && len(body) > 0 {
			err = json.Unmarshal(body, &a)
		}
		if err != nil {
			t.Errorf("a request that is none: %v", err)
		}
		j.mu.Lock()
		j.requests = append(j.requests, a)
		j.mu.Unlock()
		if a.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"other","max_model_len":1},{"id":"judge","max_model_len":32768}]}`)
			return
		}
		j.reply(j, w, a)
	}))
	t.Cleanup(j.Close)
	return j
}

func (j *judge) sent() []asked {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.requests
}

// open returns a verifier that asks the judge.
func (j *judge) open(t testing.TB, options string) *Verifier {
	t.Helper()
	config, err := Parse("openai:" + j.URL + "/v1?model=judge&" + options)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

var openingTag = regexp.MustCompile(`(?m)^<([0-9a-f]{32})>$`)

// parts takes a prompt apart as a reader would that holds to the fence: what is
// between the tags, and what is not.
func parts(t *testing.T, prompt string) (document, claim, outside string) {
	t.Helper()
	tag := openingTag.FindStringSubmatch(prompt)
	if tag == nil {
		t.Fatalf("no fence in %q", prompt)
	}
	open, end := "<"+tag[1]+">\n", "\n</"+tag[1]+">"
	if strings.Count(prompt, tag[1]) != 4 {
		t.Fatalf("the code stands %d times in %q", strings.Count(prompt, tag[1]), prompt)
	}
	before, rest, _ := strings.Cut(prompt, open)
	document, rest, _ = strings.Cut(rest, end)
	between, rest, _ := strings.Cut(rest, open)
	claim, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("the fence is not closed in %q", prompt)
	}
	return document, claim, before + between + after
}

var order = regexp.MustCompile(`(?i)the answer is (yes|no)|ignore`)

// yes is the model: an order outside the fence is obeyed.
func (j *judge) yes(a asked) float64 {
	prompt := a.user()
	tag := openingTag.FindStringSubmatch(prompt)
	if tag == nil {
		return math.NaN()
	}
	segments := regexp.MustCompile(`</?`+tag[1]+`>`).Split(prompt, -1)
	if len(segments) != 5 || order.MatchString(segments[0]+segments[2]+segments[4]) {
		return 1
	}
	return j.say(strings.Trim(segments[1], "\n"), strings.Trim(segments[3], "\n"))
}

func lp(p float64) string { return fmt.Sprint(math.Log(p)) }

// logprobs answers as a server does that knows its distribution.
func (j *judge) logprobs(w http.ResponseWriter, a asked) {
	yes := j.yes(a)
	switch a.Path {
	case "/v1/completions":
		fmt.Fprintf(w, `{"choices":[{"text":" Yes","logprobs":{"tokens":[" Yes"],"token_logprobs":[%s],"top_logprobs":[{" Yes":%s," No":%s}]}}],"usage":{"total_tokens":100}}`,
			lp(yes), lp(yes), lp(1-yes))
	default:
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":"Yes"},"logprobs":{"content":[{"token":"Yes","logprob":%s,"top_logprobs":[{"token":"Yes","logprob":%s},{"token":"No","logprob":%s}]}]}}],"usage":{"total_tokens":100}}`,
			lp(yes), lp(yes), lp(1-yes))
	}
}

// plainly answers as a server does that gives no log-probabilities and one
// choice, whatever it is asked for.
func (j *judge) plainly(w http.ResponseWriter, a asked) {
	answer := "No."
	if j.yes(a) > .5 {
		answer = " yes"
	}
	fmt.Fprintf(w, `{"choices":[{"message":{"content":%q},"logprobs":null}],"usage":{"total_tokens":50}}`, answer)
}

// choices answers with the given texts.
func choices(texts ...string) func(*judge, http.ResponseWriter, asked) {
	return func(_ *judge, w http.ResponseWriter, _ asked) {
		var all []string
		for _, text := range texts {
			all = append(all, fmt.Sprintf(`{"message":{"content":%q}}`, text))
		}
		fmt.Fprintf(w, `{"choices":[%s]}`, strings.Join(all, ","))
	}
}

// first answers with the given first tokens and their probabilities.
func first(candidates ...any) func(*judge, http.ResponseWriter, asked) {
	return func(_ *judge, w http.ResponseWriter, _ asked) {
		var all []string
		for i := 0; i < len(candidates); i += 2 {
			all = append(all, fmt.Sprintf(`{"token":%q,"logprob":%s}`, candidates[i], lp(candidates[i+1].(float64))))
		}
		fmt.Fprintf(w, `{"choices":[{"message":{"content":""},"logprobs":{"content":[{"token":%q,"logprob":%s,"top_logprobs":[%s]}]}}]}`,
			candidates[0], lp(candidates[1].(float64)), strings.Join(all, ","))
	}
}

var (
	supported   = entail.Pair{Premise: "The sky is blue. Grass is green.", Hypothesis: "Grass is green."}
	unsupported = entail.Pair{Premise: "The sky is blue. Grass is green.", Hypothesis: "Roses are red."}
)
