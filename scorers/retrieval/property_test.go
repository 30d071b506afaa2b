package retrieval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// anyFloat draws all that a client can send, with a bent for what breaks
// formulas.
func anyFloat() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Float64(),
		rapid.Float64Range(-1, 1),
		rapid.SampledFrom([]float64{
			0, math.Copysign(0, -1), 1, 0.5, math.NaN(), math.Inf(1), math.Inf(-1),
			math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 1e-300, 1e154,
		}),
	)
}

// finiteFloat draws the same without NaN and infinities.
func finiteFloat() *rapid.Generator[float64] {
	return anyFloat().Filter(finite)
}

func anyVector() *rapid.Generator[[]float32] {
	return rapid.SliceOfN(rapid.OneOf(rapid.Float32Range(-1, 1), rapid.Float32()), 0, 3)
}

// anyRequest draws a request with scores from a generator; names, ids and texts
// are few, so that they meet.
func anyRequest(scores *rapid.Generator[float64]) *rapid.Generator[*plumblinev1.ScoreRetrievalRequest] {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"Paris", "the", "2001", "O'Brien", "Straße", "巴黎", "\"", "12", "May", "\xff", "."}), 0, 8)
	text := rapid.Map(words, func(w []string) string { return fmt.Sprint(w) })
	item := rapid.Custom(func(t *rapid.T) *plumblinev1.RankedItem {
		return &plumblinev1.RankedItem{
			Id: rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h"}).Draw(t, "id"), Score: scores.Draw(t, "score"),
			Text: text.Draw(t, "text"), Title: text.Draw(t, "title"), Embedding: anyVector().Draw(t, "embedding"),
		}
	})
	ranking := rapid.Custom(func(t *rapid.T) *plumblinev1.Ranking {
		r := &plumblinev1.Ranking{
			Name:      rapid.SampledFrom([]string{"fused", "dense", "sparse", "dense_b", "bm25"}).Draw(t, "name"),
			ScoreKind: plumblinev1.ScoreKind(rapid.Int32Range(0, 9).Draw(t, "kind")),
			Items:     rapid.SliceOfN(item, 0, 9).Draw(t, "items"),
		}
		if rapid.Bool().Draw(t, "with corpus mean") {
			r.CorpusMeanScore = proto.Float64(scores.Draw(t, "corpus mean"))
		}
		return r
	})
	return rapid.Custom(func(t *rapid.T) *plumblinev1.ScoreRetrievalRequest {
		return &plumblinev1.ScoreRetrievalRequest{
			Question: text.Draw(t, "question"),
			Rankings: rapid.SliceOfNDistinct(ranking, 0, 5, (*plumblinev1.Ranking).GetName).Draw(t, "rankings"),
			Window:   rapid.Uint32Range(0, 6).Draw(t, "window"),
			K:        rapid.Uint32Range(0, 6).Draw(t, "k"),
			RrfK:     rapid.Uint32Range(0, 3).Draw(t, "rrf_k"),
			// Validation lets only finite ones pass, but none must do harm.
			SoftmaxTemperature: anyFloat().Draw(t, "temperature"),
			QueryEmbedding:     anyVector().Draw(t, "query embedding"),
			Idf:                rapid.MapOfN(rapid.SampledFrom([]string{"paris", "the", "2001"}), scores, 0, 3).Draw(t, "idf"),
			Compat:             plumblinev1.Compat(rapid.Int32Range(0, 1).Draw(t, "compat")),
		}
	})
}

// checkResponse holds for every response: a value is finite and in its range,
// or there is a typed reason in words.
func checkResponse(t interface{ Errorf(string, ...any) }, resp *plumblinev1.ScoreRetrievalResponse) {
	const rounding = 1e-9
	for _, info := range Infos() {
		s, selected := resp.GetSignals()[info.GetName()]
		switch v := s.GetValue(); {
		case !selected:
		case s.Value == nil:
			if s.GetStatus() == plumblinev1.Status_STATUS_OK || s.GetStatus() == plumblinev1.Status_STATUS_UNSPECIFIED || s.GetReason() == "" {
				t.Errorf("%s has no value: %v %q", info.GetName(), s.GetStatus(), s.GetReason())
			}
		case s.GetStatus() != plumblinev1.Status_STATUS_OK:
			t.Errorf("%s = %v beside %v", info.GetName(), v, s.GetStatus())
		case !finite(v),
			info.GetRange().Min != nil && v < info.GetRange().GetMin()-rounding,
			info.GetRange().Max != nil && v > info.GetRange().GetMax()+rounding:
			t.Errorf("%s = %v is outside its range %v", info.GetName(), v, info.GetRange())
		}
	}
	for _, item := range resp.GetFused() {
		if !finite(item.GetScore()) {
			t.Errorf("fused score %v", item.GetScore())
		}
	}
}

func TestEverySignalIsAValueOrAReason(t *testing.T) {
	for name, scores := range map[string]*rapid.Generator[float64]{"any": anyFloat(), "finite": finiteFloat(), "usual": rapid.Float64Range(-1, 1)} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				resp := Score(anyRequest(scores).Draw(t, "request"))
				if len(resp.GetSignals()) != len(Infos()) {
					t.Fatalf("%d signals of %d", len(resp.GetSignals()), len(Infos()))
				}
				checkResponse(t, resp)
			})
		})
	}
}

// TestOrderOfInput: neither the order of the items nor that of the rankings
// matters, duplicates and ties included.
func TestOrderOfInput(t *testing.T) {
	coarse := rapid.Map(rapid.IntRange(-3, 3), func(i int) float64 { return float64(i) / 4 })
	for name, scores := range map[string]*rapid.Generator[float64]{"any": anyFloat(), "ties": coarse} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				req := anyRequest(scores).Draw(t, "request")
				want := Score(req)
				shuffled := proto.CloneOf(req)
				source := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
				source.Shuffle(len(shuffled.Rankings), func(i, j int) {
					shuffled.Rankings[i], shuffled.Rankings[j] = shuffled.Rankings[j], shuffled.Rankings[i]
				})
				for _, r := range shuffled.Rankings {
					source.Shuffle(len(r.Items), func(i, j int) { r.Items[i], r.Items[j] = r.Items[j], r.Items[i] })
				}
				got := Score(shuffled)
				for name, s := range want.GetSignals() {
					if !proto.Equal(got.GetSignals()[name], s) {
						t.Errorf("%s: %v, before shuffling %v", name, got.GetSignals()[name], s)
					}
				}
				if got.Signals, want.Signals = nil, nil; !proto.Equal(got, want) {
					t.Errorf("%v, before shuffling %v", got, want)
				}
			})
		})
	}
}

// scored draws a request whose signals of all families have values, with
// scores on a coarse grid so that shifts and factors are exact.
func scored(t *rapid.T) Request {
	r := Request{
		Question: `Who met O'Brien in Paris on 12 May 2001 "at last"?`, K: 6, Window: 3,
		QueryEmbedding: []float32{1, 1, 0},
	}
	for _, name := range []string{fusedName, denseName, "dense_b", sparseName} {
		ranking := Ranking{Name: name}
		for i := range 9 {
			ranking.Items = append(ranking.Items, Item{
				ID:    fmt.Sprint((i*len(name) + len(name)) % 11),
				Score: float64(rapid.IntRange(-4096, 4096).Draw(t, "score")) / 256,
				Text:  rapid.SampledFrom([]string{"Paris in May", "12 May 2001", "O'Brien at last"}).Draw(t, "text"),
				Embedding: []float32{
					1, rapid.Float32Range(-2, 2).Draw(t, "x"), rapid.Float32Range(-2, 2).Draw(t, "y"),
				},
			})
		}
		r.Rankings = append(r.Rankings, ranking)
	}
	return r
}

func (r Request) withScores(change func(float64) float64) Request {
	r.Rankings = slices.Clone(r.Rankings)
	for i := range r.Rankings {
		r.Rankings[i].Items = slices.Clone(r.Rankings[i].Items)
		for j := range r.Rankings[i].Items {
			item := &r.Rankings[i].Items[j]
			item.Score = change(item.Score)
		}
	}
	return r
}

// values are all signals of a request, in the order of the table.
func values(r Request) []Value {
	var all []Value
	Compute(r, func(v Value) { all = append(all, v) })
	return all
}

// TestInvariance checks what the table declares: how each signal follows a
// shift and a positive factor of all scores.
func TestInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := scored(t)
		shift := float64(rapid.IntRange(-4096, 4096).Draw(t, "shift")) / 256
		factor := math.Ldexp(1, rapid.IntRange(-6, 6).Draw(t, "factor"))
		before := values(r)
		shifted := values(r.withScores(func(s float64) float64 { return s + shift }))
		scaled := values(r.withScores(func(s float64) float64 { return s * factor }))
		for i, s := range registry().rows {
			checkEffect(t, s.name+" shifted", s.shift, before[i], shifted[i], before[i].Number+shift)
			checkEffect(t, s.name+" scaled", s.scale, before[i], scaled[i], before[i].Number*factor)
		}
	})
}

func checkEffect(t *rapid.T, what string, e effect, before, after Value, followed float64) {
	want := before.Number
	switch e {
	case unstated:
		return
	case equivariant:
		want = followed
	case invariant:
	}
	if (before.Err == nil) != (after.Err == nil) {
		t.Fatalf("%s: %v became %v", what, before.Err, after.Err)
	}
	if before.Err == nil && math.Abs(after.Number-want) > 1e-9*max(1, math.Abs(want)) {
		t.Fatalf("%s: %v became %v, want %v", what, before.Number, after.Number, want)
	}
}

// TestUnstatedEffects: where the table declares no law, none of the simple ones
// holds, so that no invariance goes untold.
func TestUnstatedEffects(t *testing.T) {
	r := Request{Question: "two words", K: 4, Rankings: []Ranking{
		{Name: fusedName, Items: []Item{{ID: "a", Score: 9}, {ID: "b", Score: 7}, {ID: "c", Score: 6}, {ID: "d", Score: 4}, {ID: "e", Score: 1}}},
	}}
	for _, name := range []string{denseName, sparseName} {
		r.Rankings = append(r.Rankings, Ranking{Name: name, Items: r.Rankings[0].Items})
	}
	const shift, factor = 3, 2
	before := values(r)
	shifted := values(r.withScores(func(s float64) float64 { return s + shift }))
	scaled := values(r.withScores(func(s float64) float64 { return s * factor }))
	for i, s := range registry().rows {
		if s.shift == unstated && (near(before[i], shifted[i], 0, 1) || near(before[i], shifted[i], shift, 1)) {
			t.Errorf("%s: %v became %v under a shift of %d", s.name, before[i].Number, shifted[i].Number, shift)
		}
		if s.scale == unstated && (near(before[i], scaled[i], 0, 1) || near(before[i], scaled[i], 0, factor)) {
			t.Errorf("%s: %v became %v under a factor of %d", s.name, before[i].Number, scaled[i].Number, factor)
		}
	}
}

func near(before, after Value, shift, factor float64) bool {
	return before.Err != nil || after.Err != nil || math.Abs(before.Number*factor+shift-after.Number) < 1e-9
}

// TestDistancesAreNegated: an L2 ranking is read as its negation.
func TestDistancesAreNegated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := scored(t).withScores(math.Abs)
		negated := r.withScores(func(s float64) float64 { return 0 - s })
		distances := r
		distances.Rankings = slices.Clone(r.Rankings)
		for i := range distances.Rankings {
			distances.Rankings[i].Kind = L2Distance
		}
		got, want := values(distances), values(negated)
		for i := range want {
			if (got[i].Err == nil) != (want[i].Err == nil) || got[i].Err == nil && got[i].Number != want[i].Number {
				t.Fatalf("%s: %v %v, of negated scores %v %v", want[i].Name, got[i].Number, got[i].Err, want[i].Number, want[i].Err)
			}
		}
	})
}

func FuzzScore(f *testing.F) {
	for _, req := range []*plumblinev1.ScoreRetrievalRequest{
		{},
		{Question: "Who is in Paris?", Rankings: []*plumblinev1.Ranking{nil, {Items: []*plumblinev1.RankedItem{nil, {Id: "a", Text: "Paris"}}}}},
		{Rankings: []*plumblinev1.Ranking{{Name: "dense"}, {Name: "dense"}, {Name: "sparse", Items: []*plumblinev1.RankedItem{{Score: math.NaN(), Embedding: []float32{1}}}}}},
	} {
		data, err := proto.Marshal(req)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		req := &plumblinev1.ScoreRetrievalRequest{}
		if proto.Unmarshal(data, req) == nil {
			checkResponse(t, Score(req))
		}
	})
}
