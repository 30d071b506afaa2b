package confidence_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/confidence"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
)

// anyFloat draws numbers that no validation would let through, too.
func anyFloat() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Float64Range(-20, 0),
		rapid.Float64Range(0, 1),
		rapid.SampledFrom([]float64{0, 1, -1, -9999, -10000, math.NaN(), math.Inf(1), math.Inf(-1), 1e308, -1e308, 5e-324}),
	)
}

func optionalOf(g *rapid.Generator[float64]) *rapid.Generator[*float64] {
	return rapid.Ptr(g, true)
}

// answerText draws from few texts, so that they repeat.
func answerText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"Paris", "paris.", "The Paris", "Lyon", "", " \n", "a", "東京", "Answer: Paris", "İ", "?"}),
		rapid.StringN(0, 12, -1),
	)
}

func anyTokens(t *rapid.T, label string) []*plumblinev1.TokenLogprob {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *plumblinev1.TokenLogprob {
		if rapid.IntRange(0, 20).Draw(t, "nil") == 0 {
			return nil
		}
		return &plumblinev1.TokenLogprob{
			Token:   rapid.SampledFrom([]string{"yes", " No", "A", "b", "", "é"}).Draw(t, "token"),
			Logprob: optionalOf(anyFloat()).Draw(t, "logprob"),
		}
	}), 0, 4).Draw(t, label)
}

// anyRequest draws requests of any kind, malformed ones included.
func anyRequest(t *rapid.T) *plumblinev1.ScoreConfidenceRequest {
	enum := func(label string) int32 { return rapid.Int32Range(-1, 6).Draw(t, label) }
	req := &plumblinev1.ScoreConfidenceRequest{
		Question:               answerText().Draw(t, "question"),
		MainAnswer:             answerText().Draw(t, "main"),
		PTrue:                  optionalOf(anyFloat()).Draw(t, "p_true"),
		FirstTokenLogprobs:     anyTokens(t, "first"),
		Labels:                 rapid.SliceOfN(rapid.SampledFrom([]string{"A", "b", "C", " a", ""}), 0, 3).Draw(t, "labels"),
		RawOutput:              rapid.OneOf(answerText(), rapid.StringMatching(`(\{"confidence": ?)?[-0-9.%/e]*\}?`)).Draw(t, "raw"),
		ConfidenceScale:        plumblinev1.ConfidenceScale(enum("scale")),
		Aliases:                rapid.SliceOfN(rapid.StringMatching(`(Paris|Lyon|\n| )*`), 0, 3).Draw(t, "aliases"),
		Agreement:              plumblinev1.Agreement(enum("agreement")),
		Clustering:             plumblinev1.Clustering(enum("clustering")),
		Equivalence:            plumblinev1.Equivalence(enum("equivalence")),
		Normalization:          plumblinev1.Normalization(enum("normalization")),
		SequenceScore:          plumblinev1.SequenceScore(enum("sequence")),
		Duplicates:             plumblinev1.Duplicates(enum("duplicates")),
		MarginBeta:             optionalOf(anyFloat()).Draw(t, "beta"),
		GramAlpha:              optionalOf(anyFloat()).Draw(t, "alpha"),
		FailMode:               plumblinev1.FailMode(enum("fail")),
		DoubtfulTokenThreshold: optionalOf(anyFloat()).Draw(t, "threshold"),
	}
	weight := rapid.OneOf(rapid.Just(1.0), rapid.Float64Range(0, 3), anyFloat())
	for range rapid.IntRange(0, 6).Draw(t, "samples") {
		req.Samples = append(req.Samples, &plumblinev1.Sample{
			Text:          answerText().Draw(t, "text"),
			Logprob:       optionalOf(anyFloat()).Draw(t, "logprob"),
			Weight:        optionalOf(weight).Draw(t, "weight"),
			TokenLogprobs: rapid.SliceOfN(anyFloat(), 0, 3).Draw(t, "tokens"),
		})
	}
	for range rapid.IntRange(0, 4).Draw(t, "alternatives") {
		req.Alternatives = append(req.Alternatives, &plumblinev1.Alternative{
			Text:    answerText().Draw(t, "text"),
			PTrue:   optionalOf(rapid.OneOf(rapid.Float64Range(0, 1), anyFloat())).Draw(t, "p_true"),
			Logprob: optionalOf(anyFloat()).Draw(t, "logprob"),
		})
	}
	for range rapid.IntRange(0, 3).Draw(t, "drafts") {
		draft := &plumblinev1.Draft{}
		for range rapid.IntRange(0, 4).Draw(t, "positions") {
			draft.Tokens = append(draft.Tokens, &plumblinev1.DraftToken{
				Token:   answerText().Draw(t, "token"),
				Logprob: optionalOf(anyFloat()).Draw(t, "logprob"),
				Top:     anyTokens(t, "top"),
			})
		}
		req.Drafts = append(req.Drafts, draft)
	}
	for range rapid.IntRange(0, 7).Draw(t, "vectors") {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Float32Range(-3, 3), rapid.Float32()), 0, 3).Draw(t, "values")
		req.Vectors = append(req.Vectors, &plumblinev1.Vector{Values: values})
	}
	if rapid.IntRange(0, 10).Draw(t, "nils") == 0 {
		req.Samples = append(req.Samples, nil)
		req.Alternatives = append(req.Alternatives, nil)
		req.Drafts = append(req.Drafts, nil, &plumblinev1.Draft{Tokens: []*plumblinev1.DraftToken{nil}})
		req.Vectors = append(req.Vectors, nil)
	}
	return req
}

// hashed is a verifier whose answers depend on the pair alone, without any
// order in them; some are extreme.
func hashed(p entail.Pair) entail.Scores {
	h := uint64(14695981039346656037)
	for _, b := range []byte(p.Premise + "\x00" + p.Hypothesis) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	e, c := float64(h>>11&0xff)/255, float64(h>>23&0xff)/255
	switch h >> 40 % 5 {
	case 0:
		return entail.Scores{Entailment: 1, ThreeClass: true}
	case 1:
		return entail.Scores{Neutral: 1, ThreeClass: true}
	default:
		total := e + c + 0.5
		return entail.Scores{Entailment: e / total, Contradiction: c / total, Neutral: 0.5 / total, ThreeClass: true}
	}
}

func hashedVerifier() entail.Verifier {
	return entailtest.Func(func(p entail.Pair) (entail.Scores, error) { return hashed(p), nil })
}

func TestAnyRequestGivesWellFormedScores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest(t)
		v := rapid.SampledFrom([]entail.Verifier{
			nil, hashedVerifier(), everything(entail.Scores{Entailment: 0.7}), everything(entail.Scores{ThreeClass: true}),
			entailtest.Table(nil),
		}).Draw(t, "verifier")
		resp := run(v, req)
		requireWellFormed(t, resp)
		if s := resp.GetScDinco(); s.GetStatus() == statusOK && s.GetValue() <= 0 {
			t.Fatalf("the main answer does not count itself: %v", s)
		}
	})
}

// sampleRequest draws a valid request of samples with verifier-based rules.
func sampleRequest(t *rapid.T) *plumblinev1.ScoreConfidenceRequest {
	req := &plumblinev1.ScoreConfidenceRequest{
		MainAnswer:  "Paris",
		Agreement:   plumblinev1.Agreement(rapid.Int32Range(1, 5).Draw(t, "agreement")),
		Equivalence: plumblinev1.Equivalence(rapid.Int32Range(1, 4).Draw(t, "equivalence")),
		Duplicates:  plumblinev1.Duplicates(rapid.Int32Range(1, 2).Draw(t, "duplicates")),
	}
	for range rapid.IntRange(1, 6).Draw(t, "samples") {
		req.Samples = append(req.Samples, &plumblinev1.Sample{
			Text:    rapid.SampledFrom([]string{"Paris", "paris.", "Lyon", "Nice", "Bonn", "b"}).Draw(t, "text"),
			Logprob: optionalOf(rapid.Float64Range(-5, 0)).Draw(t, "logprob"),
		})
	}
	return req
}

// requireSame compares all scores of two responses.
func requireSame(t *rapid.T, a, b *plumblinev1.ScoreConfidenceResponse) {
	t.Helper()
	other := scoresOf(b)
	for name, s := range scoresOf(a) {
		o := other[name]
		if s.GetStatus() != o.GetStatus() || math.Abs(s.GetValue()-o.GetValue()) > tolerance {
			t.Errorf("%s: %v and %v", name, s, o)
		}
	}
}

func TestOrderOfSamplesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := sampleRequest(t)
		before := run(hashedVerifier(), req)
		shuffled := sampleRequest(t)
		shuffled.Agreement, shuffled.Equivalence, shuffled.Duplicates = req.Agreement, req.Equivalence, req.Duplicates
		shuffled.Samples = rapid.Permutation(req.Samples).Draw(t, "order")
		requireSame(t, before, run(hashedVerifier(), shuffled))
	})
}

func TestWeightIsThatManyCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weighted, copied := sampleRequest(t), &plumblinev1.ScoreConfidenceRequest{}
		copied.MainAnswer, copied.Agreement = weighted.MainAnswer, weighted.Agreement
		copied.Equivalence, copied.Duplicates = weighted.Equivalence, weighted.Duplicates
		for _, s := range weighted.Samples {
			n := rapid.IntRange(0, 3).Draw(t, "weight")
			for range n {
				copied.Samples = append(copied.Samples, &plumblinev1.Sample{Text: s.Text, Logprob: s.Logprob})
			}
			s.Weight = ptr(float64(n))
		}
		requireSame(t, run(hashedVerifier(), weighted), run(hashedVerifier(), copied))
	})
}

func TestClusterProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		edges := rapid.SliceOfN(rapid.Bool(), n*n, n*n).Draw(t, "edges")
		same := func(i, j int) bool { return edges[min(i, j)*n+max(i, j)] }
		for _, rule := range []confidence.Clustering{
			confidence.ClusterUnionFind, confidence.ClusterFirstHead, confidence.ClusterLastHead, confidence.ClusterEveryHead,
		} {
			groups := confidence.Cluster(rule, n, same)
			seen := make([]int, n)
			for g, group := range groups {
				if len(group) == 0 || !slices.IsSorted(group) || (g > 0 && groups[g-1][0] >= group[0]) {
					t.Fatalf("rule %d: %v", rule, groups)
				}
				for _, i := range group {
					seen[i]++
				}
			}
			for i, times := range seen {
				if times == 0 || (times > 1 && rule != confidence.ClusterEveryHead) {
					t.Fatalf("rule %d: item %d is in %d groups", rule, i, times)
				}
			}
		}

		// Renaming the items renames the components, and nothing else.
		order := rapid.Permutation(slices.Collect(upTo(n))).Draw(t, "order")
		renamed := confidence.Cluster(confidence.ClusterUnionFind, n, func(i, j int) bool { return same(order[i], order[j]) })
		for _, group := range renamed {
			for k, i := range group {
				group[k] = order[i]
			}
			slices.Sort(group)
		}
		slices.SortFunc(renamed, slices.Compare)
		if want := confidence.Cluster(confidence.ClusterUnionFind, n, same); !slices.EqualFunc(renamed, want, slices.Equal) {
			t.Fatalf("%v, want %v", renamed, want)
		}
	})
}

func upTo(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func TestNVCProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "n")
		unit := rapid.Float64Range(0, 1)
		pTrue := make([]*float64, n)
		for i := range pTrue {
			pTrue[i] = ptr(unit.Draw(t, "p"))
		}
		entailments := rapid.SliceOfN(unit, n*n, n*n).Draw(t, "entailments")
		contradictions := rapid.SliceOfN(unit, n*n, n*n).Draw(t, "contradictions")
		entailment := func(i, j int) float64 { return entailments[i*n+j] }
		contradiction := func(i, j int) float64 { return contradictions[i*n+j] }
		b := confidence.NVC(pTrue, entailment, contradiction)
		if !(b.NVC >= 0 && b.NVC <= *pTrue[0]) {
			t.Fatalf("NVC = %v of %v", b.NVC, *pTrue[0])
		}
		if n == 1 {
			return
		}
		// A likelier rival never makes the main answer surer.
		j := rapid.IntRange(1, n-1).Draw(t, "rival")
		pTrue[j] = ptr(min(*pTrue[j]+unit.Draw(t, "more"), 1))
		if after := confidence.NVC(pTrue, entailment, contradiction); after.NVC > b.NVC+1e-15 {
			t.Fatalf("NVC rose from %v to %v", b.NVC, after.NVC)
		}
	})
}

// A sample that comes to agree raises self-consistency and never the entropy
// of a two-way split beyond its top.
func TestConsistencyRisesWithAgreement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "n")
		agreeing := rapid.IntRange(0, n-1).Draw(t, "agreeing")
		sc := func(k int) (exact, dinco float64) {
			samples := append(slices.Repeat([]string{"Paris"}, k), slices.Repeat([]string{"Lyon"}, n-k)...)
			req := &plumblinev1.ScoreConfidenceRequest{MainAnswer: "Paris", PTrue: ptr(0.5), Samples: samplesOf(samples...)}
			resp := run(everything(entailtest.Contradict(1)), req)
			return resp.GetSc().GetValue(), resp.GetScDinco().GetValue()
		}
		exact, dinco := sc(agreeing)
		exactMore, dincoMore := sc(agreeing + 1)
		if exactMore <= exact || dincoMore <= dinco || dinco < 1/float64(n+1) {
			t.Fatalf("%v → %v, %v → %v", exact, exactMore, dinco, dincoMore)
		}
	})
}

// The bits-at-a-time subsequence must agree with the textbook's table, also
// across the borders of its words.
func TestRougeLProperties(t *testing.T) {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "é", "1"}), 0, 150)
	rapid.Check(t, func(t *rapid.T) {
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		table := make([][]int, len(a)+1)
		for i := range table {
			table[i] = make([]int, len(b)+1)
		}
		for i, x := range a {
			for j, y := range b {
				table[i+1][j+1] = max(table[i][j+1], table[i+1][j])
				if x == y {
					table[i+1][j+1] = table[i][j] + 1
				}
			}
		}
		var want float64
		if len(a) > 0 && len(b) > 0 {
			want = 2 * float64(table[len(a)][len(b)]) / float64(len(a)+len(b))
		}
		if got := confidence.RougeL(strings.Join(a, " "), strings.Join(b, ", ")); math.Abs(got-want) > tolerance {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// The log-determinant does not depend on the order of the vectors, nor on a
// constant added to all features of one, and never falls below ln α.
func TestGramProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, d := rapid.IntRange(2, 6).Draw(t, "k"), rapid.IntRange(1, 8).Draw(t, "d")
		component := rapid.Float64Range(-10, 10)
		vectors := make([][]float64, k)
		for i := range vectors {
			vectors[i] = rapid.SliceOfN(component, d, d).Draw(t, "vector")
		}
		before := confidence.GramLogDet(vectors, confidence.DefaultGramAlpha)
		if before.Err != nil || before.Number < math.Log(confidence.DefaultGramAlpha)-tolerance {
			t.Fatalf("%+v", before)
		}
		shifted := rapid.Permutation(vectors).Draw(t, "order")
		shift := component.Draw(t, "shift")
		first := slices.Clone(shifted[0])
		for i := range first {
			first[i] += shift
		}
		shifted[0] = first
		if after := confidence.GramLogDet(shifted, confidence.DefaultGramAlpha); math.Abs(after.Number-before.Number) > 1e-9 {
			t.Fatalf("%v, then %v", before.Number, after.Number)
		}
	})
}
