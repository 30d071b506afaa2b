package retrieval_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"plumbline/internal/shareddata"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/retrieval"
)

const (
	ok         = plumblinev1.Status_STATUS_OK
	tooFew     = plumblinev1.Status_STATUS_TOO_FEW_ITEMS
	missing    = plumblinev1.Status_STATUS_MISSING_INPUT
	invalid    = plumblinev1.Status_STATUS_INVALID_INPUT
	inapt      = plumblinev1.Status_STATUS_NOT_APPLICABLE
	wrongKind  = plumblinev1.Status_STATUS_WRONG_SCORE_KIND
	cosine     = plumblinev1.ScoreKind_SCORE_KIND_COSINE
	rrf        = plumblinev1.ScoreKind_SCORE_KIND_RRF
	bm25       = plumblinev1.ScoreKind_SCORE_KIND_BM25
	l2Distance = plumblinev1.ScoreKind_SCORE_KIND_L2_DISTANCE
)

// ranked makes a ranking with the ids d0, d1, … in the order of the scores.
func ranked(name string, kind plumblinev1.ScoreKind, scores ...float64) *plumblinev1.Ranking {
	r := &plumblinev1.Ranking{Name: name, ScoreKind: kind}
	for i, s := range scores {
		r.Items = append(r.Items, &plumblinev1.RankedItem{Id: fmt.Sprintf("d%d", i), Score: s})
	}
	return r
}

// ordered makes a ranking of the given ids, best first.
func ordered(name string, ids ...string) *plumblinev1.Ranking {
	r := &plumblinev1.Ranking{Name: name, ScoreKind: cosine}
	for i, id := range ids {
		r.Items = append(r.Items, &plumblinev1.RankedItem{Id: id, Score: 1 - 0.05*float64(i)})
	}
	return r
}

func request(rankings ...*plumblinev1.Ranking) *plumblinev1.ScoreRetrievalRequest {
	return &plumblinev1.ScoreRetrievalRequest{Rankings: rankings}
}

func wantValue(t *testing.T, resp *plumblinev1.ScoreRetrievalResponse, name string, want float64) {
	t.Helper()
	s := resp.GetSignals()[name]
	if s.GetStatus() != ok || math.Abs(s.GetValue()-want) > 1e-12 {
		t.Errorf("%s = %v, want %v", name, s, want)
	}
}

func wantStatus(t *testing.T, resp *plumblinev1.ScoreRetrievalResponse, want plumblinev1.Status, names ...string) {
	t.Helper()
	for _, name := range names {
		if s := resp.GetSignals()[name]; s.GetStatus() != want {
			t.Errorf("%s: %v, want %v", name, s, want)
		}
	}
}

// TestSharedCases runs the shared file's cases: what each expects is written
// here under its id, and a case that is not known here fails.
func TestSharedCases(t *testing.T) {
	data, err := os.ReadFile(shareddata.Path(t, "cases", "retrieval.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		ID       string
		Scores   []float64
		Question string
	}
	if err := yaml.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			check := checks()[c.ID]
			if check == nil {
				t.Fatal("no check for this case")
			}
			check(t, c.Scores, c.Question)
		})
	}
}

// TestCases are the same cases with inputs of this file.
func TestCases(t *testing.T) {
	inputs := map[string][]float64{
		"negative-cosines": {0.12, 0.05, -0.02, -0.2}, "all-equal": {0.7, 0.7, 0.7}, "one-result": {0.9},
	}
	const question = "Who directed The Lord of the Rings in 2001, and was it O'Brien's idea?"
	for id, check := range checks() {
		t.Run(id, func(t *testing.T) { check(t, inputs[id], question) })
	}
}

func checks() map[string]func(t *testing.T, scores []float64, question string) {
	return map[string]func(*testing.T, []float64, string){
		"rrf-height":       checkRRFHeight,
		"rrf-k2-tie":       checkRRFTie,
		"negative-cosines": checkNegativeCosines,
		"all-equal":        checkAllEqual,
		"one-result":       checkOneResult,
		"entity-edge":      checkEntityEdge,
	}
}

// checkRRFHeight: whatever the fit, the service's fusion has 2/61 at the top
// where both retrievers agree. The height is given but marked.
func checkRRFHeight(t *testing.T, _ []float64, _ string) {
	resp := retrieval.Score(request(
		ranked("dense", cosine, 0.31, 0.3, 0.29), ranked("sparse", bm25, 2.2, 2.1, 2),
	))
	if !resp.GetFusedByService() {
		t.Error("the fusion is not reported")
	}
	wantValue(t, resp, "max_score", 2.0/61)
	for _, name := range []string{"max_score", "score_stddev", "confidence_gap"} {
		if s := resp.GetSignals()[name]; !s.GetRankFused() || s.GetStatus() != ok || s.GetReason() == "" {
			t.Errorf("%s is not marked: %v", name, s)
		}
	}
	for _, name := range []string{"dense_max_score", "retriever_divergence", "evidence_coverage"} {
		if resp.GetSignals()[name].GetRankFused() {
			t.Errorf("%s is marked, but reads no fused score", name)
		}
	}
	wantStatus(t, resp, wrongKind, "nqc", "wig", "smv")
	wantStatus(t, resp, ok, "dense_nqc", "dense_smv", "score_stddev", "retriever_divergence")
}

// checkRRFTie: one list's winner ties an item that both lists rank third.
// Fused scores never touch what is read from the lists' own ranks.
func checkRRFTie(t *testing.T, _ []float64, _ string) {
	dense, sparse := ordered("dense", "winner", "p", "both"), ordered("sparse", "q", "r", "both")
	req := request(dense, sparse)
	req.RrfK = 1 // 1/(1+1) = 2/(1+3): with ranks from 1 what k = 2 is with ranks from 0
	resp := retrieval.Score(req)
	order := idsOf(resp.GetFused())
	if want := []string{"both", "q", "winner", "p", "r"}; !slices.Equal(order, want) {
		t.Errorf("fused order = %v, want %v: ties go by id", order, want)
	}
	wantValue(t, resp, "retriever_divergence", 1-1.0/3)
	given := request(dense, sparse, ranked("fused", rrf, 0.5, 0.5, 0.333))
	wantValue(t, retrieval.Score(given), "retriever_divergence", 1-1.0/3)
}

func idsOf(items []*plumblinev1.FusedItem) []string {
	var ids []string
	for _, item := range items {
		ids = append(ids, item.GetId())
	}
	return ids
}

func checkNegativeCosines(t *testing.T, scores []float64, _ string) {
	req := request(ranked("dense", cosine, scores...))
	req.Rankings[0].CorpusMeanScore = new(float64)
	*req.Rankings[0].CorpusMeanScore = -0.4
	req.Question = "four words in all"
	resp := retrieval.Score(req)
	wantValue(t, resp, "max_score", 0.12)
	wantValue(t, resp, "confidence_gap", 0.32)
	wantValue(t, resp, "relative_gap", 0.07/0.12)
	wantValue(t, resp, "wig", (-0.0125+0.4)/2)
	wantStatus(t, resp, ok, "score_stddev", "nqc", "sigma_max", "coefficient_of_variation", "score_entropy", "score_skewness")
	wantStatus(t, resp, inapt, "smv") // it takes logarithms
	for name, s := range resp.GetSignals() {
		if v := s.GetValue(); math.IsNaN(v) || math.IsInf(v, 0) || (s.GetStatus() == ok) != (s.Value != nil) {
			t.Errorf("%s: %v", name, s)
		}
	}
}

func checkAllEqual(t *testing.T, scores []float64, _ string) {
	resp := retrieval.Score(request(ranked("dense", cosine, scores...)))
	for _, name := range []string{"score_stddev", "dense_stddev", "uqc", "nqc", "smv", "sigma_max", "sigma_x", "score_gap", "relative_gap", "confidence_gap", "coefficient_of_variation"} {
		if s := resp.GetSignals()[name]; s.GetStatus() != ok || s.GetValue() != 0 {
			t.Errorf("%s = %v, want 0 exactly", name, s)
		}
	}
	wantValue(t, resp, "score_entropy", 1)
	wantStatus(t, resp, inapt, "score_skewness")
	zeros := retrieval.Score(request(ranked("dense", cosine, 0, 0, 0)))
	wantValue(t, zeros, "relative_gap", 0)
	wantStatus(t, zeros, inapt, "coefficient_of_variation", "nqc", "sigma_x")
}

func checkOneResult(t *testing.T, scores []float64, _ string) {
	for _, rankings := range [][]*plumblinev1.Ranking{
		{ranked("dense", cosine, scores...)},
		{ranked("dense", cosine, scores...), ranked("sparse", bm25, scores...), ranked("fused", cosine, scores...)},
	} {
		resp := retrieval.Score(request(rankings...))
		wantValue(t, resp, "max_score", scores[0])
		wantValue(t, resp, "mean_score", scores[0])
		for _, info := range retrieval.Infos() {
			name := info.GetName()
			absent := len(rankings) == 1 && info.GetFamily() == "spread" && slices.Contains(info.GetNeeds(), "rankings[sparse].items.score")
			switch info.GetFamily() {
			case "spread", "agreement":
				if !absent {
					wantStatus(t, resp, tooFew, name)
				}
			}
		}
	}
}

func checkEntityEdge(t *testing.T, _ []float64, question string) {
	req := request(ranked("dense", cosine, 0.9, 0.8, 0.7, 0.6))
	req.Question = question
	items := req.Rankings[0].Items
	items[0].Text = "Jackson made THE LORD, of the rings."
	items[3].Text = "It was released in (2001)."
	resp := retrieval.Score(req)
	var got []string
	for _, e := range resp.GetEntities() {
		got = append(got, fmt.Sprint(e.GetText(), " ", e.GetFound(), " ", e.GetFoundInWindow()))
	}
	if want := []string{"The Lord of the Rings true true", "2001 true false", "O'Brien false false"}; !slices.Equal(got, want) {
		t.Errorf("entities = %q, want %q", got, want)
	}
	wantValue(t, resp, "evidence_coverage", 2.0/3)
	wantValue(t, resp, "window_evidence_coverage", 1.0/3)
}
