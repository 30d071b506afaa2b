package tei

import (
	"context"
	"encoding/json"
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

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

var (
	supported   = entail.Pair{Premise: "The sky is blue. Grass is green.", Hypothesis: "Grass is green."}
	unsupported = entail.Pair{Premise: "The sky is blue. Grass is green.", Hypothesis: "Roses are red."}
	long        = entail.Pair{Premise: strings.Repeat("word ", maxWords+1), Hypothesis: "Words."}
	poison      = entail.Pair{Premise: "A poison.", Hypothesis: "It kills."}
)

// both runs a test over either API.
func both(t *testing.T, test func(t *testing.T, f *fake, transport string)) {
	for _, transport := range []string{"http", "grpc"} {
		t.Run(transport, func(t *testing.T) { test(t, newFake(), transport) })
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

func TestScores(t *testing.T) {
	both(t, func(t *testing.T, f *fake, transport string) {
		v := open(t, f.serve(t, transport)+"?languages=en")
		pairs := append(slices.Repeat([]entail.Pair{supported, unsupported}, 5), supported)
		batch, err := v.Verify(t.Context(), pairs)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range batch.Results {
			want := entail.Scores{Entailment: .8, Neutral: .1, Contradiction: .1, ThreeClass: true}
			if pairs[i] == unsupported {
				want = entail.Scores{Entailment: .1, Neutral: .8, Contradiction: .1, ThreeClass: true}
			}
			if r.Err != nil || !r.Scores.ThreeClass || !near(r.Scores.Entailment, want.Entailment) ||
				!near(r.Scores.Neutral, want.Neutral) || !near(r.Scores.Contradiction, want.Contradiction) {
				t.Errorf("pair %d: %+v, want %+v", i, r, want)
			}
		}
		d, err := v.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d.Name != "org/nli" || !strings.HasPrefix(d.Digest, "sha256:") || !d.ThreeClass || d.MaxTokens != 512 ||
			d.ScoreKind != entail.ScoreKindProbability || !slices.Equal(d.Languages, []string{"en"}) {
			t.Errorf("described as %+v", d)
		}
		u := batch.Usage
		if u.Pairs != 11 || u.Tokens != 110 || u.Verifier != d.Name || u.Digest != d.Digest ||
			u.Tokenization != 11*time.Millisecond || u.Inference != 33*time.Millisecond || u.Queue < 22*time.Millisecond {
			t.Errorf("usage %+v", u)
		}
		if err := v.Probe(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Requests over HTTP are as large as the smaller of the two limits, and forbid
// the server to cut.
func TestRequestsOverHTTP(t *testing.T) {
	for options, want := range map[string][]int{"": {4, 4, 2}, "?batch=3": {3, 3, 3, 1}, "?batch=1000": {4, 4, 2}} {
		f := newFake()
		if _, err := open(t, f.serve(t, "http")+options).Verify(t.Context(), slices.Repeat([]entail.Pair{supported}, 10)); err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for _, request := range f.requests[1:] { // the first learns the labels
			sizes = append(sizes, len(request.Inputs))
			if request.Truncate || request.RawScores {
				t.Errorf("asked %+v", request)
			}
		}
		slices.SortFunc(sizes, func(a, b int) int { return b - a })
		if !slices.Equal(sizes, want) {
			t.Errorf("%q: requests of %v pairs, want %v", options, sizes, want)
		}
	}
}

// Classes are found by name, whatever the names' case and order.
func TestLabels(t *testing.T) {
	for name, test := range map[string]struct {
		labels  []string
		options string
		three   bool
	}{
		"in capitals":           {[]string{"ENTAILMENT", "NEUTRAL", "CONTRADICTION"}, "", true},
		"two classes":           {[]string{"entailment", "not_entailment"}, "", false},
		"numbered, and told":    {[]string{"LABEL_1", "LABEL_0"}, "?labels=LABEL_1:entailment,LABEL_0:not_entailment", false},
		"numbered, three":       {[]string{"LABEL_2", "LABEL_0", "LABEL_1"}, "?labels=LABEL_0:neutral,LABEL_1:contradiction,LABEL_2:entailment", true},
		"told against its name": {[]string{"contradiction", "neutral", "entailment"}, "?labels=contradiction:entailment,entailment:contradiction", true},
		"a name with a colon":   {[]string{"a:yes", "a:no"}, "?labels=a:yes:entailment,a:no:not_entailment", false},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, f *fake, transport string) {
				f.labels = test.labels
				batch, err := open(t, f.serve(t, transport)+test.options).Verify(t.Context(), []entail.Pair{supported, unsupported})
				if err != nil {
					t.Fatal(err)
				}
				yes, no := batch.Results[0].Scores, batch.Results[1].Scores
				if !near(yes.Entailment, .8) || no.Entailment > .21 || yes.ThreeClass != test.three {
					t.Errorf("got %+v and %+v", yes, no)
				}
			})
		})
	}
}

func TestModelsThatDoNotFit(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*fake)
		want   string
	}{
		"an embedder":         {func(f *fake) { f.kind = "embedding" }, "no sequence classifier"},
		"numbered labels":     {func(f *fake) { f.labels = []string{"LABEL_0", "LABEL_1"} }, "labels=LABEL_0"},
		"other classes":       {func(f *fake) { f.labels = []string{"joy", "anger", "fear"} }, "labels="},
		"a class twice":       {func(f *fake) { f.labels = []string{"entailment", "Entailment"} }, "entailment"},
		"neutral in two only": {func(f *fake) { f.labels = []string{"entailment", "neutral"} }, "they must be"},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, f *fake, transport string) {
				test.change(f)
				v := open(t, f.serve(t, transport))
				for what, err := range map[string]error{
					"Probe":    v.Probe(t.Context()),
					"Describe": func() error { _, err := v.Describe(t.Context()); return err }(),
				} {
					if err == nil || !strings.Contains(err.Error(), test.want) {
						t.Errorf("%s: %v, want an error with %q", what, err, test.want)
					}
				}
			})
		})
	}
}

func statusOf(result entail.Result) plumblinev1.Status {
	missing, ok := errors.AsType[*score.Missing](result.Err)
	if !ok {
		return plumblinev1.Status_STATUS_UNSPECIFIED
	}
	return missing.Status
}

// A pair that the server refuses fails alone, with a reason that tells nothing
// of it.
func TestRefusedPairs(t *testing.T) {
	both(t, func(t *testing.T, f *fake, transport string) {
		batch, err := open(t, f.serve(t, transport)).Verify(t.Context(), []entail.Pair{supported, long, unsupported, supported, poison, supported})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range map[int]plumblinev1.Status{
			1: plumblinev1.Status_STATUS_TOO_LONG, 4: plumblinev1.Status_STATUS_INVALID_INPUT,
		} {
			if got := statusOf(batch.Results[i]); got != want || strings.Contains(batch.Results[i].Err.Error(), "A poison") {
				t.Errorf("pair %d: %v, want %v", i, batch.Results[i].Err, want)
			}
		}
		for _, i := range []int{0, 2, 3, 5} {
			if batch.Results[i].Err != nil {
				t.Errorf("pair %d: %v", i, batch.Results[i].Err)
			}
		}
		if batch.Usage.Pairs != 4 {
			t.Errorf("%d pairs were scored, want 4", batch.Usage.Pairs)
		}
	})
}

// settled returns a verifier that has described itself.
func settled(t *testing.T, f *fake, transport string) *Verifier {
	t.Helper()
	v := open(t, f.serve(t, transport))
	if _, err := v.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRepliesThatAreNone(t *testing.T) {
	ok := `[{"label":"entailment","score":0.8},{"label":"neutral","score":0.1},{"label":"contradiction","score":0.1}]`
	for name, body := range map[string]string{
		"one result for two pairs":     "[" + ok + "]",
		"three results for two":        "[" + ok + "," + ok + "," + ok + "]",
		"not nested":                   ok,
		"a class is missing":           `[` + ok + `,[{"label":"entailment","score":0.8},{"label":"neutral","score":0.2}]]`,
		"a class twice":                `[` + ok + `,[{"label":"entailment","score":0.8},{"label":"neutral","score":0.1},{"label":"neutral","score":0.1}]]`,
		"another class":                `[` + ok + `,[{"label":"entailment","score":0.8},{"label":"neutral","score":0.1},{"label":"maybe","score":0.1}]]`,
		"no score":                     `[` + ok + `,[{"label":"entailment"},{"label":"neutral","score":0.1},{"label":"contradiction","score":0.1}]]`,
		"a null":                       `[` + ok + `,[{"label":"entailment","score":null},{"label":"neutral","score":0.1},{"label":"contradiction","score":0.9}]]`,
		"no label":                     `[` + ok + `,[{"score":0.8},{"label":"neutral","score":0.1},{"label":"contradiction","score":0.1}]]`,
		"NaN":                          `[` + ok + `,[{"label":"entailment","score":NaN},{"label":"neutral","score":0.1},{"label":"contradiction","score":0.1}]]`,
		"logits":                       `[` + ok + `,[{"label":"entailment","score":3.1},{"label":"neutral","score":-1},{"label":"contradiction","score":-2}]]`,
		"a sum that is not 1":          `[` + ok + `,[{"label":"entailment","score":0.8},{"label":"neutral","score":0.8},{"label":"contradiction","score":0.1}]]`,
		"an empty result":              `[` + ok + `,[]]`,
		"truncated":                    `[` + ok + `,[{"label":"entailm`,
		"an error with the status 200": `{"error":"out of memory","error_type":"backend"}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			v := settled(t, f, "http")
			f.intercept = func(w http.ResponseWriter, _ *http.Request) bool {
				_, _ = io.WriteString(w, body)
				return true
			}
			batch, err := v.Verify(t.Context(), []entail.Pair{supported, unsupported})
			if !errors.Is(err, entail.ErrBadReply) {
				t.Errorf("got %+v, %v, want entail.ErrBadReply", batch, err)
			}
		})
	}
}

// A server that has got another model under our feet is found out by its labels,
// and described anew.
func TestTheModelChanges(t *testing.T) {
	both(t, func(t *testing.T, f *fake, transport string) {
		v := settled(t, f, transport)
		described := func() entail.Description {
			t.Helper()
			d, err := v.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		first := described()
		f.labels, f.model = []string{"entailment", "not_entailment"}, "org/other"
		if _, err := v.Verify(t.Context(), []entail.Pair{supported}); !errors.Is(err, entail.ErrBadReply) {
			t.Errorf("got %v, want entail.ErrBadReply", err)
		}
		batch, err := v.Verify(t.Context(), []entail.Pair{supported})
		second := described()
		if err != nil || batch.Results[0].Scores.ThreeClass || batch.Usage.Digest != second.Digest || second.Digest == first.Digest {
			t.Errorf("then got %+v, %v", batch, err)
		}
		f.sha = "4567"
		if err := v.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if described().Digest == second.Digest {
			t.Error("another commit has the same digest, even after a probe")
		}
	})
}

// The same model read in another way is another verifier.
func TestTheDigestKnowsTheLabels(t *testing.T) {
	address := newFake().serve(t, "http")
	plain, err := open(t, address).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	swapped, err := open(t, address+"?labels=entailment:contradiction,contradiction:entailment").Describe(t.Context())
	if err != nil || swapped.Digest == plain.Digest {
		t.Errorf("labels that are swapped leave the digest as it is (%v)", err)
	}
	same, err := open(t, address+"?concurrency=1&batch=2&languages=en").Describe(t.Context())
	if err != nil || same.Digest != plain.Digest {
		t.Errorf("options that change no answer change the digest (%v)", err)
	}
}

func TestFaultsOverHTTP(t *testing.T) {
	for code, want := range map[int]error{
		424: entail.ErrUnavailable, 429: entail.ErrBusy, 500: entail.ErrUnavailable, 503: entail.ErrUnavailable,
		401: entail.ErrRejected, 404: entail.ErrRejected, 400: entail.ErrRejected,
	} {
		f := newFake()
		v := settled(t, f, "http")
		f.intercept = func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", "120")
			http.Error(w, `{"error":"x","error_type":"y"}`, code)
			return true
		}
		_, err := v.Verify(t.Context(), []entail.Pair{supported})
		if invitation, ok := errors.AsType[*entail.RetryAfter](err); !errors.Is(err, want) || !ok || invitation.After != 2*time.Minute {
			t.Errorf("%d: got %v, want %v and when to retry", code, err, want)
		}
		if err := v.Probe(t.Context()); (err == nil) != (code == 429) {
			t.Errorf("%d: the probe says %v", code, err)
		}
	}
}

func TestFaultsOverGRPC(t *testing.T) {
	for code, want := range map[codes.Code]error{
		codes.FailedPrecondition: entail.ErrUnavailable, codes.Unavailable: entail.ErrUnavailable, codes.ResourceExhausted: entail.ErrBusy,
		codes.Internal: entail.ErrUnavailable, codes.Unauthenticated: entail.ErrRejected, codes.Unimplemented: entail.ErrRejected,
	} {
		f := newFake()
		v := settled(t, f, "grpc")
		f.fail = func() error { return status.Error(code, "about "+supported.Premise) }
		_, err := v.Verify(t.Context(), []entail.Pair{supported})
		if !errors.Is(err, want) || strings.Contains(err.Error(), supported.Premise) {
			t.Errorf("%v: got %v, want %v", code, err, want)
		}
	}
	f := newFake()
	v := settled(t, f, "grpc")
	f.fail = func() error {
		s, err := status.New(codes.ResourceExhausted, "overloaded").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Minute)})
		if err != nil {
			t.Error(err)
		}
		return s.Err()
	}
	_, err := v.Verify(t.Context(), []entail.Pair{supported})
	if invitation, ok := errors.AsType[*entail.RetryAfter](err); !ok || invitation.After != time.Minute || !errors.Is(err, entail.ErrBusy) {
		t.Errorf("got %v, want busy for a minute", err)
	}
}

func TestAMessageTooLargeForTheServer(t *testing.T) {
	v := settled(t, newFake(), "grpc")
	huge := entail.Pair{Premise: strings.Repeat("x", 5<<20), Hypothesis: "y"}
	batch, err := v.Verify(t.Context(), []entail.Pair{supported, huge})
	if err != nil || statusOf(batch.Results[1]) != plumblinev1.Status_STATUS_TOO_LONG || batch.Results[0].Err != nil {
		t.Errorf("got %+v, %v", batch, err)
	}
}

func TestSlowServers(t *testing.T) {
	both(t, func(t *testing.T, f *fake, transport string) {
		address := f.serve(t, transport)
		// The timeout would also bound the questions about the model, which must succeed.
		known, err := open(t, address).known(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		v := open(t, address+"?timeout=100ms")
		v.model.Set(known)
		hang := make(chan struct{})
		defer close(hang)
		f.intercept = func(http.ResponseWriter, *http.Request) bool { <-hang; return true }
		f.fail = func() error { <-hang; return nil }
		if _, err := v.Verify(t.Context(), []entail.Pair{supported}); !errors.Is(err, entail.ErrUnavailable) {
			t.Errorf("got %v, want entail.ErrUnavailable", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := v.Verify(ctx, []entail.Pair{supported}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the caller's deadline", err)
		}
	})
}

func TestTheKey(t *testing.T) {
	both(t, func(t *testing.T, f *fake, transport string) {
		t.Setenv("PLUMBLINE_TEST_KEY", "sesame")
		if _, err := open(t, f.serve(t, transport)+"?key_env=PLUMBLINE_TEST_KEY").Verify(t.Context(), []entail.Pair{supported}); err != nil {
			t.Fatal(err)
		}
		if len(f.keys) == 0 || slices.ContainsFunc(f.keys, func(key string) bool { return key != "Bearer sesame" }) {
			t.Errorf("asked with %q", f.keys)
		}
	})
}

func TestNobodyListens(t *testing.T) {
	for _, address := range []string{"tei:http://127.0.0.1:1", "tei:grpc://127.0.0.1:1"} {
		v := open(t, address)
		if _, err := v.Verify(t.Context(), []entail.Pair{supported}); !errors.Is(err, entail.ErrUnavailable) {
			t.Errorf("%s: %v", address, err)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		if err := v.Probe(t.Context()); !errors.Is(err, entail.ErrClosed) {
			t.Errorf("%s, closed: %v", address, err)
		}
	}
}

// A server that comes up later is found.
func TestTheServerComesUpLater(t *testing.T) {
	f := newFake()
	var up atomic.Bool
	f.intercept = func(w http.ResponseWriter, _ *http.Request) bool {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return !up.Load()
	}
	v := open(t, f.serve(t, "http"))
	if err := v.Probe(t.Context()); !errors.Is(err, entail.ErrUnavailable) {
		t.Errorf("down: %v", err)
	}
	up.Store(true)
	if _, err := v.Verify(t.Context(), []entail.Pair{supported}); err != nil {
		t.Errorf("up: %v", err)
	}
}

func TestConfigurations(t *testing.T) {
	for address, want := range map[string]string{
		"tei:ftp://host":                             "write it as",
		"tei:http://host?labels=entailment":          "labels",
		"tei:http://host?labels=:entailment":         "labels",
		"tei:http://host?labels=A:neutral,A:neutral": "two classes",
		"tei:http://host?model=x":                    "model",
	} {
		if _, err := Parse(address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", address, err, want)
		}
	}
	config, err := Parse("tei:http://host?batch=-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(config); err == nil || !strings.Contains(err.Error(), "batch") {
		t.Errorf("a negative batch: %v", err)
	}
}

// BenchmarkVerify is what a pair costs beside the model: 64 pairs a call, to a
// server on this machine that answers at once.
func BenchmarkVerify(b *testing.B) {
	for _, transport := range []string{"http", "grpc"} {
		b.Run(transport, func(b *testing.B) {
			f := newFake()
			f.batch = DefaultBatchSize
			v := open(b, f.serve(b, transport))
			pairs := slices.Repeat([]entail.Pair{supported, unsupported}, 32)
			for b.Loop() {
				if _, err := v.Verify(b.Context(), pairs); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(pairs)), "µs/pair")
		})
	}
}

// Whatever a server writes, the outcome is scores or entail.ErrBadReply.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`[[{"label":"entailment","score":0.8},{"label":"neutral","score":0.1},{"label":"contradiction","score":0.1}]]`), 1)
	f.Add([]byte(`[[{"label":"entailment","score":0.3},{"label":"not_entailment","score":0.7}],[]]`), 2)
	var v Verifier
	f.Fuzz(func(t *testing.T, body []byte, pairs int) {
		var reply predictReply
		if json.Unmarshal(body, &reply) != nil {
			return
		}
		predictions, err := reply.read(pairs)
		if err != nil {
			if !errors.Is(err, entail.ErrBadReply) {
				t.Errorf("an error of no kind: %v", err)
			}
			return
		}
		if len(predictions) != pairs {
			t.Errorf("%d results for %d pairs", len(predictions), pairs)
		}
		for _, p := range predictions {
			scores, err := v.read(p)
			if err != nil {
				if !errors.Is(err, entail.ErrBadReply) && !errors.Is(err, entail.ErrRejected) {
					t.Errorf("an error of no kind: %v", err)
				}
				continue
			}
			for _, x := range []float64{scores.Entailment, scores.Neutral, scores.Contradiction} {
				if !(x >= 0 && x <= 1) {
					t.Errorf("read as %s", fmt.Sprint(scores))
				}
			}
		}
	})
}
