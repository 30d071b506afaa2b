package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

func TestBothAPIs(t *testing.T) {
	for _, api := range []string{APIChat, APICompletions} {
		t.Run(api, func(t *testing.T) {
			j := newJudge(t)
			v := j.open(t, "api="+api+"&languages=en&epsilon=0.001")
			batch, err := v.Verify(t.Context(), []entail.Pair{supported, unsupported, supported})
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []float64{.9, .1, .9} {
				r := batch.Results[i]
				if r.Err != nil || r.Scores.ThreeClass || math.Abs(r.Scores.Entailment-want) > 1e-9 {
					t.Errorf("pair %d: %+v, want %v", i, r, want)
				}
			}
			d, err := v.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d.ScoreKind != entail.ScoreKindTokenProbability || d.Name != "judge" || d.MaxTokens != 32768 || d.PairOverhead <= 0 ||
				!slices.Equal(d.Languages, []string{"en"}) || d.Epsilon != .001 || !d.Deterministic {
				t.Errorf("described as %+v", d)
			}
			u := batch.Usage
			if u.Verifier != d.Name || u.Digest != d.Digest || !strings.HasPrefix(d.Digest, "sha256:") || u.Pairs != 3 || u.Tokens != 300 || u.Inference <= 0 {
				t.Errorf("usage %+v", u)
			}
			for _, a := range j.sent()[2:] {
				if a.Model != "judge" || a.MaxTokens != 1 || a.Temp != 0 {
					t.Errorf("asked %+v", a)
				}
			}
			if err := v.Probe(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// The score is read from every spelling of yes and no, and from nothing else.
func TestSpellings(t *testing.T) {
	for name, test := range map[string]struct {
		reply func(*judge, http.ResponseWriter, asked)
		want  float64
	}{
		"case and blanks":    {first("Yes", .3, " yes", .2, "\nYES", .1, "No", .2), .75},
		"byte-level BPE":     {first("ĠYes", .4, "ĊYes", .2, "Ġno", .2), .75},
		"SentencePiece":      {first("▁Yes", .6, "▁No", .2), .75},
		"what decorates":     {first("**Yes", .3, `"Yes"`, .3, "no.", .2), .75},
		"other words do not": {first("Yes", .6, "No", .2, "Yesterday", .1, "None", .05, "Not", .04), .75},
		"yes alone":          {first("Yes", .8, "Maybe", .1), 1},
		"no alone":           {first("No", .8, "Maybe", .1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudge(t)
			j.reply = test.reply
			batch, err := j.open(t, "").Verify(t.Context(), []entail.Pair{supported})
			if err != nil || batch.Results[0].Err != nil || math.Abs(batch.Results[0].Scores.Entailment-test.want) > 1e-9 {
				t.Errorf("got %+v, %v, want %v", batch.Results, err, test.want)
			}
		})
	}
}

// The token that was said counts although the server does not list it among the
// likeliest.
func TestTheTokenThatWasSaidCounts(t *testing.T) {
	j := newJudge(t)
	j.reply = func(_ *judge, w http.ResponseWriter, _ asked) {
		fmt.Fprintf(w, `{"choices":[{"message":{"content":"No"},"logprobs":{"content":[{"token":"No","logprob":%s,"top_logprobs":[]}]}}]}`, lp(.8))
	}
	batch, err := j.open(t, "").Verify(t.Context(), []entail.Pair{supported})
	if err != nil || batch.Results[0].Err != nil || batch.Results[0].Scores.Entailment != 0 {
		t.Errorf("got %+v, %v, want 0", batch, err)
	}
}

func statusOf(t *testing.T, result entail.Result) plumblinev1.Status {
	t.Helper()
	missing, ok := errors.AsType[*score.Missing](result.Err)
	if !ok {
		t.Fatalf("%+v is no typed reason", result)
	}
	return missing.Status
}

func TestTooLittleMassIsNoScore(t *testing.T) {
	for name, test := range map[string]struct {
		options string
		reply   func(*judge, http.ResponseWriter, asked)
	}{
		"the model thinks first":     {"", first("<think>", .9, "Yes", .05, "No", .01)},
		"below the configured floor": {"min_mass=0.9", first("Yes", .8, "Maybe", .2)},
		"votes for neither":          {"answer=votes&samples=3", choices("Yes", "I cannot say", "It depends")},
		"no words at all":            {"answer=votes&samples=1", choices("")},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudge(t)
			j.reply = test.reply
			v := j.open(t, test.options)
			batch, err := v.Verify(t.Context(), []entail.Pair{supported})
			if err != nil {
				t.Fatal(err)
			}
			if got := statusOf(t, batch.Results[0]); got != plumblinev1.Status_STATUS_INCONCLUSIVE {
				t.Errorf("got %v", got)
			}
			if err := v.Probe(t.Context()); err == nil {
				t.Error("a judge that cannot answer passes the probe")
			}
		})
	}
}

// A server without log-probabilities is asked for votes, and it is said.
func TestVotes(t *testing.T) {
	j := newJudge(t)
	j.reply = (*judge).plainly
	v := j.open(t, "samples=4&temperature=0.7")
	d, err := v.Describe(t.Context())
	if err != nil || d.ScoreKind != entail.ScoreKindVoteShare || d.Deterministic {
		t.Fatalf("described as %+v, %v", d, err)
	}
	asked := len(j.sent())
	batch, err := v.Verify(t.Context(), []entail.Pair{supported})
	if err != nil || batch.Results[0].Scores.Entailment != 1 || batch.Usage.Tokens != 200 {
		t.Errorf("got %+v, %v", batch, err)
	}
	var n []int
	for _, a := range j.sent()[asked:] {
		n = append(n, a.N)
		if a.Temp != .7 || a.Logprobs != nil {
			t.Errorf("asked %+v", a)
		}
	}
	if !slices.Equal(n, []int{4, 3, 2, 1}) {
		t.Errorf("asked for %v samples of a server that gives one at a time", n)
	}
}

func TestVotesAreShares(t *testing.T) {
	j := newJudge(t)
	j.reply = choices("Yes", "no", "yes.", "Yes, it is", "perhaps")
	batch, err := j.open(t, "answer=votes").Verify(t.Context(), []entail.Pair{supported})
	if err != nil || math.Abs(batch.Results[0].Scores.Entailment-.75) > 1e-9 {
		t.Errorf("got %+v, %v, want 3 of the 4 that say yes or no", batch, err)
	}
}

// Some servers refuse log-probabilities.
func TestLogprobsRefused(t *testing.T) {
	j := newJudge(t)
	j.reply = func(j *judge, w http.ResponseWriter, a asked) {
		if a.Logprobs != nil {
			http.Error(w, `{"error":{"message":"logprobs are not supported with this model"}}`, http.StatusBadRequest)
			return
		}
		j.plainly(w, a)
	}
	d, err := j.open(t, "").Describe(t.Context())
	if err != nil || d.ScoreKind != entail.ScoreKindVoteShare {
		t.Errorf("described as %+v, %v", d, err)
	}
}

// A server that refuses everything is not taken for one without
// log-probabilities.
func TestEverythingRefused(t *testing.T) {
	j := newJudge(t)
	j.reply = func(_ *judge, w http.ResponseWriter, _ asked) { http.Error(w, "no", http.StatusBadRequest) }
	v := j.open(t, "")
	if _, err := v.Describe(t.Context()); !errors.Is(err, entail.ErrRejected) {
		t.Errorf("got %v", err)
	}
	j.reply = (*judge).logprobs
	if d, err := v.Describe(t.Context()); err != nil || d.ScoreKind != entail.ScoreKindTokenProbability {
		t.Errorf("after it recovered: %+v, %v", d, err)
	}
}

func answer(body string) func(*judge, http.ResponseWriter, asked) {
	return func(_ *judge, w http.ResponseWriter, _ asked) { _, _ = io.WriteString(w, body) }
}

func TestRepliesThatAreNone(t *testing.T) {
	chat := func(logprobs string) string {
		return `{"choices":[{"message":{"content":"Yes"},"logprobs":` + logprobs + `}]}`
	}
	for name, test := range map[string]struct{ options, body string }{
		"log-probabilities got lost":    {"answer=logprobs", chat(`null`)},
		"empty log-probabilities":       {"answer=logprobs", chat(`{"content":[]}`)},
		"a token without a probability": {"", chat(`{"content":[{"token":"Yes","logprob":-1,"top_logprobs":[{"token":"No"}]}]}`)},
		"a probability without a token": {"", chat(`{"content":[{"token":"Yes","logprob":-1,"top_logprobs":[{"logprob":-2}]}]}`)},
		"a null":                        {"", chat(`{"content":[{"token":"Yes","logprob":null,"top_logprobs":[]}]}`)},
		"a positive log-probability":    {"", chat(`{"content":[{"token":"Yes","logprob":0.7,"top_logprobs":[]}]}`)},
		"a sum above 1":                 {"", chat(`{"content":[{"token":"Yes","logprob":-0.1,"top_logprobs":[{"token":"No","logprob":-0.1},{"token":"Yes","logprob":-0.1}]}]}`)},
		"NaN":                           {"", chat(`{"content":[{"token":"Yes","logprob":NaN,"top_logprobs":[]}]}`)},
		"minus infinity":                {"", chat(`{"content":[{"token":"Yes","logprob":-Infinity,"top_logprobs":[]}]}`)},
		"two choices for one":           {"answer=logprobs", `{"choices":[{"message":{"content":"Yes"}},{"message":{"content":"No"}}]}`},
		"no choice":                     {"", `{"choices":[]}`},
		"an error with status 200":      {"", `{"error":{"message":"out of memory"}}`},
		"no content":                    {"answer=votes", `{"choices":[{"message":{"content":null}}]}`},
		"more choices than asked for":   {"answer=votes&samples=1", `{"choices":[{"message":{"content":"Yes"}},{"message":{"content":"Yes"}}]}`},
		"truncated":                     {"", `{"choices":[{"message":{"conte`},
		"completions: a null":           {"api=completions", `{"choices":[{"text":"Yes","logprobs":{"tokens":["Yes"],"token_logprobs":[-1],"top_logprobs":[{"No":null}]}}]}`},
		"completions: no text":          {"api=completions", `{"choices":[{"logprobs":null}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudge(t)
			j.reply = answer(test.body)
			batch, err := j.open(t, test.options).Verify(t.Context(), []entail.Pair{supported})
			if !errors.Is(err, entail.ErrBadReply) {
				t.Errorf("got %+v, %v, want entail.ErrBadReply", batch, err)
			}
		})
	}
}

// Once a server is known to give log-probabilities, a reply without them is a
// fault and no vote.
func TestTheKindOfScoreDoesNotChange(t *testing.T) {
	j := newJudge(t)
	v := j.open(t, "")
	if _, err := v.Verify(t.Context(), []entail.Pair{supported}); err != nil {
		t.Fatal(err)
	}
	j.reply = (*judge).plainly
	if _, err := v.Verify(t.Context(), []entail.Pair{supported}); !errors.Is(err, entail.ErrBadReply) {
		t.Errorf("got %v", err)
	}
	if d, err := v.Describe(t.Context()); err != nil || d.ScoreKind != entail.ScoreKindTokenProbability {
		t.Errorf("described as %+v, %v", d, err)
	}
}

func TestAPairThatDoesNotFit(t *testing.T) {
	for _, refusal := range []struct {
		code int
		body string
	}{
		{400, `{"error":{"message":"This model's maximum context length is 4096 tokens","code":"context_length_exceeded"}}`},
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 9000","code":400}`},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`},
		{413, `too large`},
	} {
		j := newJudge(t)
		j.reply = func(j *judge, w http.ResponseWriter, a asked) {
			if strings.Contains(a.user(), "endless") {
				http.Error(w, refusal.body, refusal.code)
				return
			}
			j.logprobs(w, a)
		}
		long := entail.Pair{Premise: "An endless tale.", Hypothesis: "It ends."}
		batch, err := j.open(t, "").Verify(t.Context(), []entail.Pair{supported, long, unsupported})
		if err != nil {
			t.Fatal(err)
		}
		if got := statusOf(t, batch.Results[1]); got != plumblinev1.Status_STATUS_TOO_LONG {
			t.Errorf("%s: got %v", refusal.body, got)
		}
		if batch.Results[0].Err != nil || batch.Results[2].Err != nil || batch.Usage.Pairs != 2 {
			t.Errorf("%s: the others have %+v", refusal.body, batch)
		}
	}
}

func TestBusyServers(t *testing.T) {
	j := newJudge(t)
	j.reply = func(_ *judge, w http.ResponseWriter, _ asked) {
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	v := j.open(t, "answer=logprobs")
	_, err := v.Verify(t.Context(), []entail.Pair{supported})
	if invitation, ok := errors.AsType[*entail.RetryAfter](err); !ok || invitation.After != 3*time.Second || !errors.Is(err, entail.ErrBusy) {
		t.Errorf("got %v, want busy for 3s", err)
	}
	if err := v.Probe(t.Context()); err != nil {
		t.Errorf("a server that is full does not pass the probe: %v", err)
	}
}

// Within a call, a server that asks for a pause gets it, and the call succeeds.
func TestRetryAfterWithinACall(t *testing.T) {
	j := newJudge(t)
	var requests atomic.Int64
	j.reply = func(j *judge, w http.ResponseWriter, a asked) {
		if n := requests.Add(1); n == 5 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		j.logprobs(w, a)
	}
	batch, err := j.open(t, "answer=logprobs&concurrency=2").Verify(t.Context(), slices.Repeat([]entail.Pair{supported}, 8))
	if err != nil || len(batch.Results) != 8 || slices.ContainsFunc(batch.Results, func(r entail.Result) bool { return r.Err != nil }) {
		t.Errorf("got %+v, %v", batch, err)
	}
	if requests.Load() != 9 {
		t.Errorf("%d requests for 8 pairs and one refusal", requests.Load())
	}
}

func TestCancelling(t *testing.T) {
	j := newJudge(t)
	v := j.open(t, "answer=logprobs&concurrency=2")
	ctx, cancel := context.WithCancel(t.Context())
	reached := make(chan struct{}, 2)
	release := make(chan struct{})
	j.reply = func(_ *judge, _ http.ResponseWriter, _ asked) {
		reached <- struct{}{}
		<-release
	}
	defer close(release)
	go func() {
		<-reached
		<-reached
		cancel()
	}()
	if _, err := v.Verify(ctx, slices.Repeat([]entail.Pair{supported}, 100)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := len(j.sent()); n > 3 { // two, and the list of models
		t.Errorf("%d requests were sent", n)
	}
}

func TestTheKey(t *testing.T) {
	const secret = "sk-0123456789"
	t.Setenv("PLUMBLINE_TEST_KEY", secret)
	j := newJudge(t)
	v := j.open(t, "key_env=PLUMBLINE_TEST_KEY")
	if _, err := v.Verify(t.Context(), []entail.Pair{supported}); err != nil {
		t.Fatal(err)
	}
	for _, a := range j.sent() {
		if a.Key != "Bearer "+secret {
			t.Errorf("%s was asked with %q", a.Path, a.Key)
		}
	}
	j.reply = func(_ *judge, w http.ResponseWriter, a asked) {
		http.Error(w, "wrong key "+a.Key, http.StatusUnauthorized)
	}
	_, err := v.Verify(t.Context(), []entail.Pair{supported})
	if !errors.Is(err, entail.ErrRejected) || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
	if d, _ := v.Describe(t.Context()); strings.Contains(fmt.Sprintf("%+v %+v", d, v.config), secret) {
		t.Error("the key is in the description or the configuration")
	}
}

func TestClosed(t *testing.T) {
	v := newJudge(t).open(t, "")
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(t.Context(), []entail.Pair{supported}); !errors.Is(err, entail.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestConfigurations(t *testing.T) {
	for options, want := range map[string]string{
		"":                              "model",
		"?model=m&api=assistants":       "api",
		"?model=m&answer=guess":         "answer",
		"?model=m&samples=-1":           "samples",
		"?model=m&samples=1000":         "samples",
		"?model=m&temperature=3":        "temperature",
		"?model=m&temperature=NaN":      "temperature",
		"?model=m&min_mass=1.5":         "min_mass",
		"?model=m&min_mass=NaN":         "min_mass",
		"?model=m&top_logprobs=1000":    "top_logprobs",
		"?model=m&max_tokens=10":        "max_tokens",
		"?model=m&key_env=PLUMBLINE_NO": "PLUMBLINE_NO",
	} {
		config, err := Parse("openai:http://127.0.0.1/v1" + options)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", options, err, want)
		}
	}
	if _, err := Parse("openai:grpc://127.0.0.1?model=m"); err == nil {
		t.Error("gRPC is taken for a transport")
	}
}

// What decides the answers is in the digest, and nothing else.
func TestDigest(t *testing.T) {
	digest := func(options string) string {
		t.Helper()
		d, err := newJudge(t).open(t, options).Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d.Digest
	}
	logprobs, votes := digest("answer=logprobs"), digest("answer=votes")
	if logprobs == votes {
		t.Error("votes have the digest of log-probabilities")
	}
	for _, same := range []string{"timeout=1s", "concurrency=1", "languages=en", "samples=3"} {
		if digest("answer=logprobs&"+same) != logprobs {
			t.Errorf("%s changes the digest", same)
		}
	}
	for _, other := range []string{"system=Judge.", "api=completions", "min_mass=0.1", "top_logprobs=5"} {
		if digest("answer=logprobs&"+other) == logprobs {
			t.Errorf("%s does not change the digest", other)
		}
	}
	for _, other := range []string{"samples=3", "temperature=0.5"} {
		if digest("answer=votes&"+other) == votes {
			t.Errorf("%s does not change the digest of votes", other)
		}
	}
}

// BenchmarkVerify is what a pair costs beside the model: 64 pairs a call, to a
// server on this machine that answers at once.
func BenchmarkVerify(b *testing.B) {
	v := newJudge(b).open(b, "answer=logprobs")
	pairs := slices.Repeat([]entail.Pair{supported, unsupported}, 32)
	for b.Loop() {
		if _, err := v.Verify(b.Context(), pairs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(pairs)), "µs/pair")
}
