package conform_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/scorers/score"
	"plumbline/verifiers"
	"plumbline/verifiers/conform"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names are the checks with one of the outcomes, sorted.
func names(results []conform.Result, outcomes ...conform.Outcome) []string {
	var names []string
	for _, r := range results {
		if slices.Contains(outcomes, r.Outcome) {
			names = append(names, r.Check)
		}
	}
	slices.Sort(names)
	return names
}

// patience is what a check may take on a loaded machine.
const patience = 2 * time.Minute

func run(t testing.TB, backend verifiers.Backend, only ...string) []conform.Result {
	t.Helper()
	return within(t, patience, backend, only...)
}

func within(t testing.TB, timeout time.Duration, backend verifiers.Backend, only ...string) []conform.Result {
	t.Helper()
	return slices.Collect(conform.Run(t.Context(), backend, conform.Options{Timeout: timeout, Only: only}))
}

// costly says whether a check takes its time or much memory. Such checks are run
// for faults that are theirs, and the others for all faults.
func costly(check string) bool {
	return slices.Contains([]string{"huge-texts", "too-many-pairs", "too-large-message", "cancellation", "deadline"}, check)
}

func TestOnly(t *testing.T) {
	var ran []string
	for _, r := range run(t, newFake(t).serve(t), "order", "ids") {
		ran = append(ran, r.Check)
	}
	if want := []string{"describe", "ids", "order"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
}

func TestGoodSidecarPasses(t *testing.T) {
	results := run(t, newFake(t).serve(t))
	for _, r := range results {
		if r.Outcome != conform.Pass {
			t.Errorf("%s: %s: %s", r.Check, r.Outcome, r.Detail)
		}
	}
	if len(results) < 20 {
		t.Errorf("only %d checks", len(results))
	}
}

// fault is one way to break the contract, and the checks that must see it.
type fault struct {
	name  string
	fails []string
	spoil func(*fake)
}

// onScore changes the result of each pair.
func onScore(change func(*plumblinev1.VerifyPair, *plumblinev1.VerifyResult)) func(*fake) {
	return func(f *fake) {
		f.score = func(pair *plumblinev1.VerifyPair, _, _ int) *plumblinev1.VerifyResult {
			result := judge(pair)
			if result.GetStatus() == plumblinev1.Status_STATUS_OK {
				change(pair, result)
			}
			return result
		}
	}
}

// refusing fails the call for some pairs, as a defect does.
func refusing(bad func(*plumblinev1.VerifyPair) bool) func(*fake) {
	return func(f *fake) {
		f.check = func(pair *plumblinev1.VerifyPair) error {
			if bad(pair) {
				return status.Error(codes.Internal, "a defect")
			}
			return nil
		}
	}
}

// move moves a little probability from entailment to neutral.
func move(result *plumblinev1.VerifyResult, by float64) *plumblinev1.VerifyResult {
	if p := result.GetProbabilities(); p != nil {
		p.Entailment -= by
		*p.Neutral += by
	}
	return result
}

// withoutRules validates nothing but what keep says.
func withoutRules(keep func(*plumblinev1.VerifyRequest) bool) func(*fake) {
	return func(f *fake) {
		validate := f.validate
		f.validate = func(request *plumblinev1.VerifyRequest) error {
			if keep(request) {
				return validate(request)
			}
			return nil
		}
	}
}

func hasEmptyHypothesis(request *plumblinev1.VerifyRequest) bool {
	return slices.ContainsFunc(request.GetPairs(), func(p *plumblinev1.VerifyPair) bool { return p.GetHypothesis() == "" })
}

// deaf heeds no end of a call whose time left is as told.
func deaf(to func(left time.Duration) bool) func(*fake) {
	return func(f *fake) {
		f.working = func(ctx context.Context) context.Context {
			if deadline, ok := ctx.Deadline(); ok && to(time.Until(deadline)) {
				return context.WithoutCancel(ctx)
			}
			return ctx
		}
	}
}

func faults() []fault {
	anyScores := []string{"empty-texts", "odd-texts", "scores"}
	return []fault{
		{"no name", []string{"describe"}, func(f *fake) { f.description.Name = "" }},
		{"trained beyond its window", []string{"describe"}, func(f *fake) { f.description.TrainedTokens = 1000 }},
		{"a class of no set", []string{"describe"}, func(f *fake) {
			f.description.Classes = append(f.description.Classes, plumblinev1.EntailmentClass_ENTAILMENT_CLASS_NOT_SUPPORTED)
		}},
		{"another version", []string{"protocol-version"}, func(f *fake) { f.description.ProtocolVersion = 2 }},
		{"not serving", []string{"describe"}, func(f *fake) { f.server = healthpb.HealthCheckResponse_NOT_SERVING }},
		{"service not serving", []string{"health"}, func(f *fake) { f.serving = healthpb.HealthCheckResponse_NOT_SERVING }},
		{"reflection of another server", []string{"reflection"}, func(f *fake) { f.listed = grpc.NewServer() }},

		{"sum", anyScores, onScore(func(_ *plumblinev1.VerifyPair, r *plumblinev1.VerifyResult) { *r.Probabilities.Neutral += 0.1 })},
		{"below zero", anyScores, onScore(func(_ *plumblinev1.VerifyPair, r *plumblinev1.VerifyResult) {
			r.Probabilities.Entailment += *r.Probabilities.Contradiction + 0.1
			*r.Probabilities.Contradiction = -0.1
		})},
		{"not a number", nil, onScore(func(_ *plumblinev1.VerifyPair, r *plumblinev1.VerifyResult) { r.Probabilities.Entailment = math.NaN() })},
		{"two classes of three", anyScores, onScore(func(_ *plumblinev1.VerifyPair, r *plumblinev1.VerifyResult) {
			r.Probabilities.Neutral, r.Probabilities.Contradiction = nil, nil
		})},
		{"three classes of two", anyScores, func(f *fake) {
			f.description.Classes = []plumblinev1.EntailmentClass{
				plumblinev1.EntailmentClass_ENTAILMENT_CLASS_ENTAILMENT, plumblinev1.EntailmentClass_ENTAILMENT_CLASS_NOT_SUPPORTED,
			}
		}},
		{"no status", nil, onScore(func(_ *plumblinev1.VerifyPair, r *plumblinev1.VerifyResult) { r.Status = 0 })},
		{"status and scores", nil, onScore(func(_ *plumblinev1.VerifyPair, r *plumblinev1.VerifyResult) {
			r.Status = plumblinev1.Status_STATUS_DEADLINE
		})},
		{"class order swapped", []string{"direction"}, onScore(func(_ *plumblinev1.VerifyPair, r *plumblinev1.VerifyResult) {
			p := r.Probabilities
			p.Entailment, *p.Contradiction = *p.Contradiction, p.Entailment
		})},
		{"premise and hypothesis do not matter", []string{"direction"}, onScore(func(_ *plumblinev1.VerifyPair, r *plumblinev1.VerifyResult) {
			r.Probabilities = scored("", 0.4, 0.3, 0.3).GetProbabilities()
		})},

		{"ids are trimmed", []string{"ids"}, onScore(func(_ *plumblinev1.VerifyPair, r *plumblinev1.VerifyResult) { r.Id = strings.TrimSpace(r.Id) })},
		{"ids are cut", []string{"ids"}, onScore(func(_ *plumblinev1.VerifyPair, r *plumblinev1.VerifyResult) { r.Id = r.Id[:min(len(r.Id), 64)] })},
		{"a result too many", []string{"ids"}, func(f *fake) {
			f.respond = func(r *plumblinev1.VerifyResponse) { r.Results = append(r.Results, scored("unheard of", 1, 0, 0)) }
		}},
		{"a result twice", []string{"ids"}, func(f *fake) {
			f.respond = func(r *plumblinev1.VerifyResponse) { r.Results = append(r.Results, r.Results...) }
		}},
		{"a result too few", []string{"ids"}, func(f *fake) {
			f.respond = func(r *plumblinev1.VerifyResponse) {
				r.Results = slices.DeleteFunc(r.Results, func(r *plumblinev1.VerifyResult) bool { return r.GetId() == "橋" })
			}
		}},
		{"an id twice is taken", []string{"id-rules"}, withoutRules(func(r *plumblinev1.VerifyRequest) bool {
			return len(r.GetPairs()) != 3 || r.GetPairs()[0].GetId() != "a"
		})},
		{"an empty id is taken", []string{"id-rules"}, withoutRules(func(r *plumblinev1.VerifyRequest) bool {
			return len(r.GetPairs()) != 1 || r.GetPairs()[0].GetId() != ""
		})},
		{"no digest with scores", []string{"digest"}, func(f *fake) {
			f.respond = func(r *plumblinev1.VerifyResponse) { r.Digest = "" }
		}},
		{"another digest with scores", []string{"digest"}, func(f *fake) {
			f.respond = func(r *plumblinev1.VerifyResponse) { r.Digest = "sha256:other" }
		}},
		{"answers at the end", []string{"streaming"}, func(f *fake) { f.atEnd = true }},
		{"no pairs are an error", []string{"empty-calls"}, func(f *fake) {
			validate := f.validate
			f.validate = func(r *plumblinev1.VerifyRequest) error {
				if len(r.GetPairs()) == 0 {
					return status.Error(codes.InvalidArgument, "no pairs")
				}
				return validate(r)
			}
		}},

		{"place counts", []string{"batch-invariance", "concurrency", "order"}, func(f *fake) {
			f.score = func(pair *plumblinev1.VerifyPair, index, _ int) *plumblinev1.VerifyResult {
				return move(judge(pair), float64(index)/1000)
			}
		}},
		{"company counts", []string{"batch-invariance"}, func(f *fake) {
			f.score = func(pair *plumblinev1.VerifyPair, _, size int) *plumblinev1.VerifyResult {
				return move(judge(pair), float64(size)/1000)
			}
		}},
		{"chance counts", []string{"batch-invariance", "concurrency", "determinism", "order"}, onScore(func(_ *plumblinev1.VerifyPair, r *plumblinev1.VerifyResult) {
			move(r, rand.Float64()/100)
		})},

		{"an empty hypothesis has scores", []string{"empty-texts"}, withoutRules(func(r *plumblinev1.VerifyRequest) bool { return !hasEmptyHypothesis(r) })},
		{"an empty premise is a defect", []string{"empty-texts"}, refusing(func(p *plumblinev1.VerifyPair) bool { return p.GetPremise() == "" })},
		{"control characters are a defect", []string{"odd-texts"}, refusing(func(p *plumblinev1.VerifyPair) bool { return strings.ContainsRune(p.GetPremise(), '\x1b') })},
		{"long texts are a defect", []string{"huge-texts"}, refusing(func(p *plumblinev1.VerifyPair) bool { return len(p.GetPremise()) > 100_000 })},
		{"long texts are cut", []string{"huge-texts"}, func(f *fake) {
			f.score = func(pair *plumblinev1.VerifyPair, _, _ int) *plumblinev1.VerifyResult {
				return judge(&plumblinev1.VerifyPair{Id: pair.GetId(), Premise: pair.GetPremise()[:min(len(pair.GetPremise()), 2000)], Hypothesis: pair.GetHypothesis()[:min(len(pair.GetHypothesis()), 2000)]})
			}
		}},
		{"a long text spoils its neighbours", []string{"huge-texts"}, func(f *fake) {
			f.respond = func(r *plumblinev1.VerifyResponse) {
				if slices.ContainsFunc(r.GetResults(), func(r *plumblinev1.VerifyResult) bool { return r.GetProbabilities() == nil }) {
					for _, result := range r.GetResults() {
						result.Status, result.Probabilities = plumblinev1.Status_STATUS_TOO_LONG, nil
					}
				}
			}
		}},
		{"any number of pairs", []string{"too-many-pairs"}, withoutRules(func(r *plumblinev1.VerifyRequest) bool { return len(r.GetPairs()) <= 10_000 })},
		{"large messages are a defect", []string{"too-large-message"}, func(f *fake) {
			f.maxMessage = 64 << 20
			refusing(func(p *plumblinev1.VerifyPair) bool { return len(p.GetPremise()) > 4<<20 })(f)
		}},
		{"calls share a buffer", []string{"concurrency"}, func(f *fake) {
			f.respond = func(r *plumblinev1.VerifyResponse) {
				time.Sleep(3 * time.Millisecond)
				if f.active.Load() > 1 {
					for _, result := range r.GetResults() {
						move(result, 0.01)
					}
				}
			}
		}},
		{"works for nobody", []string{"cancellation"}, deaf(func(left time.Duration) bool { return left > time.Second })},
		{"works past the deadline", []string{"deadline"}, deaf(func(left time.Duration) bool { return left < time.Second })},
	}
}

func TestEachFaultIsSeen(t *testing.T) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			sidecar := newFake(t)
			f.spoil(sidecar)
			only := slices.DeleteFunc(conform.Names(), costly)
			if slices.ContainsFunc(f.fails, costly) {
				only = f.fails
			}
			results := examine(t, sidecar, only)
			failed := names(results, conform.Fail)
			if f.fails == nil && !slices.Contains(failed, "scores") || f.fails != nil && !slices.Equal(failed, f.fails) {
				t.Errorf("failed: %q, want %q", failed, f.fails)
			}
			for _, r := range results {
				if (r.Outcome == conform.Fail) != (r.Advice != "") || (r.Outcome == conform.Pass) != (r.Detail == "") {
					t.Errorf("%s: %s with detail %q and advice %q", r.Check, r.Outcome, r.Detail, r.Advice)
				}
			}
		})
	}
}

// examine runs the checks. That of early answers takes all of its time where none
// come, so there it gets less than the others, which a loaded machine slows.
func examine(t *testing.T, sidecar *fake, only []string) []conform.Result {
	t.Helper()
	backend := sidecar.serve(t)
	if !sidecar.atEnd {
		return run(t, backend, only...)
	}
	others := slices.DeleteFunc(only, func(check string) bool { return check == "streaming" })
	return append(run(t, backend, others...), within(t, 10*time.Second, backend, "streaming")...)
}

// TestEveryCheckCanFail: there is a fault for each check.
func TestEveryCheckCanFail(t *testing.T) {
	provoked := map[string]bool{"scores": true}
	for _, f := range faults() {
		for _, name := range f.fails {
			provoked[name] = true
		}
	}
	for _, name := range conform.Names() {
		if !provoked[name] {
			t.Errorf("no fault makes %s fail", name)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	results := run(t, backend{Verifier: entailtest.Failing{Err: errors.New("nobody there")}})
	if got := names(results, conform.Fail); !slices.Equal(got, []string{"describe"}) {
		t.Errorf("failed: %q", got)
	}
	if len(names(results, conform.Skip)) != len(results)-1 {
		t.Errorf("not skipped: %q", names(results, conform.Pass))
	}
}

func TestVaryingVerifierIsNotCompared(t *testing.T) {
	sidecar := newFake(t)
	sidecar.description.Deterministic = false
	onScore(func(_ *plumblinev1.VerifyPair, r *plumblinev1.VerifyResult) { move(r, rand.Float64()/100) })(sidecar)
	results := run(t, sidecar.serve(t), slices.DeleteFunc(conform.Names(), costly)...)
	if failed := names(results, conform.Fail); len(failed) > 0 {
		t.Errorf("failed: %q", failed)
	}
	if skipped := names(results, conform.Skip); !slices.Equal(skipped, []string{"batch-invariance", "determinism", "order"}) {
		t.Errorf("skipped: %q", skipped)
	}
}

func TestEpsilonIsAllowed(t *testing.T) {
	sidecar := newFake(t)
	sidecar.description.Epsilon = 0.011
	onScore(func(_ *plumblinev1.VerifyPair, r *plumblinev1.VerifyResult) { move(r, rand.Float64()/100) })(sidecar)
	if failed := names(run(t, sidecar.serve(t), slices.DeleteFunc(conform.Names(), costly)...), conform.Fail); len(failed) > 0 {
		t.Errorf("failed: %q", failed)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	for range conform.Run(ctx, newFake(t).serve(t), conform.Options{}) {
		seen++
		cancel()
	}
	if seen != 1 {
		t.Errorf("%d checks after the first", seen-1)
	}
}

// backend is a verifier that does not speak VerifierService.
type backend struct {
	entail.Verifier
	probe error
}

func (b backend) Probe(context.Context) error { return b.probe }
func (backend) Close() error                  { return nil }

// overlap refuses what has no meaning.
func overlap(pair entail.Pair) (entail.Scores, error) {
	if pair.Hypothesis == "" {
		return entail.Scores{}, score.MissingInput("the hypothesis is empty")
	}
	if len(pair.Premise)+len(pair.Hypothesis) > 10_000 {
		return entail.Scores{}, score.TooLong("too long")
	}
	batch, err := entailtest.Overlap().Verify(context.Background(), []entail.Pair{pair})
	return batch.Results[0].Scores, err
}

func TestOtherBackends(t *testing.T) {
	onTheWire := []string{"digest", "empty-calls", "id-rules", "ids", "protocol-version", "reflection", "streaming", "too-large-message", "too-many-pairs"}
	results := run(t, backend{Verifier: entailtest.Func(overlap)})
	if failed := names(results, conform.Fail); len(failed) > 0 {
		t.Errorf("failed: %q", failed)
	}
	skipped := slices.DeleteFunc(names(results, conform.Skip), func(name string) bool {
		return name == "cancellation" || name == "deadline" // it may be too quick to be stopped
	})
	if !slices.Equal(skipped, onTheWire) {
		t.Errorf("skipped: %q", skipped)
	}
	for name, c := range map[string]struct {
		fails string
		bad   backend
	}{
		"not ready":          {"health", backend{entailtest.Func(overlap), errors.New("loading")}},
		"scores for nothing": {"empty-texts", backend{Verifier: entailtest.Func(func(p entail.Pair) (entail.Scores, error) { p.Hypothesis += "?"; return overlap(p) })}},
		"no reason for long texts": {"huge-texts", backend{Verifier: entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
			s, err := overlap(p)
			if len(p.Premise) > 10_000 {
				err = errors.New("HTTP 413")
			}
			return s, err
		})}},
		"support turned round": {"direction", backend{Verifier: entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
			s, err := overlap(p)
			s.Entailment = 1 - s.Entailment
			return s, err
		})}},
		"it is noisy": {"determinism", backend{Verifier: entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
			s, err := overlap(p)
			s.Entailment *= rand.Float64()
			return s, err
		})}},
	} {
		if failed := names(run(t, c.bad, c.fails), conform.Fail); !slices.Contains(failed, c.fails) {
			t.Errorf("%s: failed: %q", name, failed)
		}
	}
}

// TestEveryRuleIsDocumented: the page for authors lists the checks.
func TestEveryRuleIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/write-your-own-verifier.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range run(t, newFake(t).serve(t), slices.DeleteFunc(conform.Names(), costly)...) {
		if row := "| `" + r.Check + "` | " + r.Rule + " |\n"; !strings.Contains(string(page), row) {
			t.Errorf("the page lacks %s", row)
		}
	}
}
