package retrieval_test

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/retrieval"
)

func TestValidateNamesTheField(t *testing.T) {
	req := &plumblinev1.ScoreRetrievalRequest{Signals: []string{"max_score", "rbo", "max_scores"}}
	var field *retrieval.FieldError
	if err := retrieval.Validate(req); !errors.As(err, &field) || field.Field != "signals[2]" {
		t.Errorf("Validate = %v, want an error for signals[2]", err)
	} else if !strings.HasPrefix(err.Error(), "signals[2]: ") {
		t.Errorf("message = %q, want it to begin with the field", err)
	}
	req.Signals = req.Signals[:2]
	if err := retrieval.Validate(req); err != nil {
		t.Errorf("Validate = %v", err)
	}
	if err := retrieval.Validate(nil); err != nil {
		t.Errorf("Validate(nil) = %v", err)
	}
}

func TestInfosAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, info := range retrieval.Infos() {
		if seen[info.GetName()] {
			t.Errorf("%s: twice in the table", info.GetName())
		}
		seen[info.GetName()] = true
		if info.GetDescription() == "" || info.GetUnit() == "" || info.GetCost() == "" || info.GetSource() == "" ||
			len(info.GetNeeds()) == 0 || info.GetWeakWhen() == plumblinev1.WeakWhen_WEAK_WHEN_UNSPECIFIED || info.GetRange() == nil {
			t.Errorf("incomplete: %v", info)
		}
		if !slices.Contains([]string{"height", "spread", "agreement", "coverage", "coherence"}, info.GetFamily()) {
			t.Errorf("%s: unknown family %q", info.GetName(), info.GetFamily())
		}
	}
	for _, name := range []string{"max_score", "score_stddev", "dense_stddev", "evidence_coverage", "retriever_divergence"} {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestInfosAreCopies: a caller that changes what it got changes nothing.
func TestInfosAreCopies(t *testing.T) {
	infos := retrieval.Infos()
	infos[0].Needs[0], infos[0].Name = "changed", "changed"
	if again := retrieval.Infos()[0]; again.GetName() == "changed" || again.GetNeeds()[0] == "changed" {
		t.Error("Infos shares its data")
	}
}

func TestEmptyMessages(t *testing.T) {
	for _, req := range []*plumblinev1.ScoreRetrievalRequest{
		nil, {}, request(nil, nil), request(&plumblinev1.Ranking{Name: "dense", Items: []*plumblinev1.RankedItem{nil}}),
	} {
		if got := len(retrieval.Score(req).GetSignals()); got != len(retrieval.Infos()) {
			t.Errorf("%v: %d signals", req, got)
		}
	}
	wantStatus(t, retrieval.Score(nil), missing, "max_score", "retriever_divergence", "term_coverage", "pair_ratio")
	wantStatus(t, retrieval.Score(request(ranked("dense", cosine))), tooFew, "max_score", "dense_stddev", "jaccard")
}

func TestRequestedSignalsOnly(t *testing.T) {
	req := request(ranked("dense", cosine, 0.9, 0.5))
	req.Id, req.Signals = "q7", []string{"score_gap", "max_score", "max_score", "nonesuch"}
	resp := retrieval.Score(req)
	if len(resp.GetSignals()) != 2 || resp.GetId() != "q7" {
		t.Errorf("response = %v", resp)
	}
	if len(resp.GetWarnings()) != 1 {
		t.Errorf("warnings = %q, want one for the unknown name", resp.GetWarnings())
	}
}

func TestDuplicatesKeepTheBetterScore(t *testing.T) {
	for _, c := range []struct {
		kind plumblinev1.ScoreKind
		want float64 // height of the top, oriented
		top  float64 // score of "a" in the fused order, as given
	}{
		{cosine, 0.9, 0.9},
		{l2Distance, -0.2, 0.2},
	} {
		r := &plumblinev1.Ranking{Name: "dense", ScoreKind: c.kind, Items: []*plumblinev1.RankedItem{
			{Id: "a", Score: 0.2}, {Id: "b", Score: 0.5}, {Id: "a", Score: 0.9}, {Id: "a", Score: 0.4},
		}}
		resp := retrieval.Score(request(r))
		wantValue(t, resp, "max_score", c.want)
		if d := resp.GetDuplicates(); len(d) != 1 || d[0].GetRanking() != "dense" || d[0].GetId() != "a" || d[0].GetCount() != 3 {
			t.Errorf("duplicates = %v", d)
		}
		if f := resp.GetFused(); len(f) != 2 || f[0].GetId() != "a" || f[0].GetScore() != c.top {
			t.Errorf("fused = %v", f)
		}
	}
}

func TestDefaultsOfWindowAndK(t *testing.T) {
	scores := make([]float64, 15)
	for i := range scores {
		scores[i] = float64(100 - i)
	}
	req := request(ranked("dense", cosine, scores...))
	resp := retrieval.Score(req)
	wantValue(t, resp, "window_last_score", 98)
	wantValue(t, resp, "confidence_gap", 9)
	if len(resp.GetFused()) != 10 {
		t.Errorf("%d fused items, want k = 10", len(resp.GetFused()))
	}
	req.Window, req.K = 8, 4
	resp = retrieval.Score(req)
	wantValue(t, resp, "window_last_score", 97)
	if !slices.ContainsFunc(resp.GetWarnings(), func(w string) bool { return strings.Contains(w, "window") }) {
		t.Errorf("warnings = %q, want one for the window", resp.GetWarnings())
	}
}

func TestNotFiniteScores(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		resp := retrieval.Score(request(ranked("dense", cosine, 0.9, bad, 0.5), ranked("fused", cosine, 3, 2, 1), ranked("sparse", bm25, 3, 2, 1)))
		wantStatus(t, resp, invalid, "dense_max_score", "dense_stddev", "retriever_divergence", "kendall_tau")
		wantStatus(t, resp, ok, "max_score", "score_stddev", "sparse_stddev")
		fusedHere := retrieval.Score(request(ranked("dense", cosine, 0.9, bad), ranked("sparse", bm25, 3, 2)))
		wantStatus(t, fusedHere, invalid, "max_score", "score_stddev")
		if len(fusedHere.GetFused()) != 0 {
			t.Errorf("a fusion of a list without order: %v", fusedHere.GetFused())
		}
	}
	overflow := retrieval.Score(request(ranked("dense", cosine, math.MaxFloat64, -math.MaxFloat64)))
	wantStatus(t, overflow, invalid, "confidence_gap", "score_stddev")
	wantStatus(t, overflow, ok, "max_score", "relative_gap")
}

func TestScoreKinds(t *testing.T) {
	for kind, wants := range map[plumblinev1.ScoreKind]struct {
		level, smv plumblinev1.Status
		marked     bool
	}{
		plumblinev1.ScoreKind_SCORE_KIND_UNSPECIFIED: {ok, ok, false},
		cosine:                                {ok, ok, false},
		bm25:                                  {ok, ok, false},
		l2Distance:                            {ok, wrongKind, false},
		rrf:                                   {wrongKind, wrongKind, true},
		plumblinev1.ScoreKind_SCORE_KIND_DBSF: {wrongKind, wrongKind, true},
		plumblinev1.ScoreKind_SCORE_KIND_RELATIVE: {wrongKind, wrongKind, true},
	} {
		resp := retrieval.Score(request(ranked("fused", kind, 0.9, 0.5, 0.4)))
		wantStatus(t, resp, wants.level, "nqc")
		wantStatus(t, resp, wants.smv, "smv")
		if got := resp.GetSignals()["max_score"].GetRankFused(); got != wants.marked {
			t.Errorf("%v: marked %t", kind, got)
		}
	}
}

func TestWIGNeedsACorpusScore(t *testing.T) {
	req := request(ranked("dense", bm25, 9, 7, 2, 1))
	req.Question = "four words of text"
	wantStatus(t, retrieval.Score(req), missing, "wig", "dense_wig")
	req.K = 2 // the results below the top k stand in
	resp := retrieval.Score(req)
	wantValue(t, resp, "wig", (8-4.75)/2)
	if resp.GetSignals()["wig"].GetReason() == "" {
		t.Error("the stand-in is not remarked upon")
	}
	req.Rankings[0].CorpusMeanScore = proto.Float64(1)
	wantValue(t, retrieval.Score(req), "wig", (8-1)/2.0)
	req.Rankings[0].CorpusMeanScore = proto.Float64(math.Inf(1))
	wantStatus(t, retrieval.Score(req), invalid, "wig", "nqc")
}

func TestAgreementOfManyRetrievers(t *testing.T) {
	resp := retrieval.Score(request(
		ordered("dense", "a", "b", "c", "d"), ordered("dense_bge", "a", "b", "c", "e"), ordered("sparse", "x", "y", "b", "z"),
	))
	pairs := []float64{3.0 / 5, 1.0 / 7, 1.0 / 7}
	wantValue(t, resp, "jaccard", (pairs[0]+pairs[1]+pairs[2])/3)
	wantValue(t, resp, "jaccard_worst", 1.0/7)
	wantValue(t, resp, "dense_agreement", 3.0/5)
	wantValue(t, resp, "top1_agreement", 1.0/3)
	wantValue(t, resp, "top1_agreement_worst", 0)
	wantValue(t, resp, "retriever_divergence", 1-1.0/4)
	if mean, worst := resp.GetSignals()["footrule"].GetValue(), resp.GetSignals()["footrule_worst"].GetValue(); worst <= mean {
		t.Errorf("footrule: mean %v, worst %v: it is a distance", mean, worst)
	}
}

func TestAgreementAtTheEnds(t *testing.T) {
	same := retrieval.Score(request(ordered("dense", "a", "b", "c"), ordered("sparse", "a", "b", "c")))
	apart := retrieval.Score(request(ordered("dense", "a", "b", "c"), ordered("sparse", "x", "y", "z")))
	reversed := retrieval.Score(request(ordered("dense", "a", "b", "c"), ordered("sparse", "c", "b", "a")))
	for name, ends := range map[string][2]float64{
		"jaccard": {1, 0}, "window_overlap": {1, 0}, "rbo": {1, 0}, "footrule": {0, 1}, "top1_agreement": {1, 0}, "retriever_divergence": {0, 1},
	} {
		wantValue(t, same, name, ends[0])
		wantValue(t, apart, name, ends[1])
	}
	wantValue(t, same, "kendall_tau", 1)
	wantValue(t, reversed, "kendall_tau", -1)

	silent := retrieval.Score(request(ordered("dense", "a", "b"), ordered("sparse")))
	wantValue(t, silent, "retriever_divergence", 1)
	wantValue(t, silent, "rbo", 0)
	wantValue(t, silent, "footrule", 1)
	wantStatus(t, silent, inapt, "kendall_tau")
}

// TestPassagesOfEqualRanksTie has two passages with the same ranks in other lists,
// under every assignment of names to the lists.
func TestPassagesOfEqualRanksTie(t *testing.T) {
	at := func(x, w int) []string { // eight passages, of which two are x and w
		ids := []string{"1", "2", "3", "4", "5", "6", "7", "8"}
		ids[x-1], ids[w-1] = "x", "w"
		return ids
	}
	lists := [][]string{at(1, 7), at(2, 1), at(7, 2)}
	for _, names := range [][]string{{"a", "b", "c"}, {"a", "c", "b"}, {"b", "a", "c"}, {"b", "c", "a"}, {"c", "a", "b"}, {"c", "b", "a"}} {
		resp := retrieval.Score(request(ordered(names[0], lists[0]...), ordered(names[1], lists[1]...), ordered(names[2], lists[2]...)))
		var order []string
		for _, item := range resp.GetFused() {
			if id := item.GetId(); id == "x" || id == "w" {
				order = append(order, id)
			}
		}
		if !slices.Equal(order, []string{"w", "x"}) {
			t.Errorf("lists %q: order %q", names, order)
		}
	}
}

func TestOverlapOfEqualListsIsOne(t *testing.T) {
	for _, compat := range []plumblinev1.Compat{plumblinev1.Compat_COMPAT_UNSPECIFIED, plumblinev1.Compat_COMPAT_SOURCE} {
		for depth := 2; depth <= 30; depth++ {
			var ids []string
			for i := range depth {
				ids = append(ids, strconv.Itoa(i))
			}
			req := request(ordered("dense", ids...), ordered("sparse", ids...))
			req.K, req.Compat = uint32(depth), compat
			if got := retrieval.Score(req).GetSignals()["rbo"].GetValue(); got > 1 || got < 1-1e-12 {
				t.Errorf("%v, depth %d: %v", compat, depth, got)
			}
		}
	}
}

// TestTextIsLookedUpInOtherRankings: fused results often come as bare ids.
func TestTextIsLookedUpInOtherRankings(t *testing.T) {
	dense := ordered("dense", "a", "b")
	dense.Items[0].Title, dense.Items[1].Text = "Paris", "nothing"
	req := request(ordered("fused", "a", "c"), dense)
	req.Question = "Where is Paris?"
	resp := retrieval.Score(req)
	wantValue(t, resp, "evidence_coverage", 1)
	if len(resp.GetWarnings()) == 0 {
		t.Error("no warning that a result has no text")
	}
	req.Rankings = req.Rankings[:1]
	wantStatus(t, retrieval.Score(req), missing, "evidence_coverage", "term_coverage")
	req.Window, req.Rankings[0].Items[1].Text = 1, "Paris" // below the window
	wantValue(t, retrieval.Score(req), "evidence_coverage", 1)
	wantStatus(t, retrieval.Score(req), missing, "window_evidence_coverage", "window_term_coverage")
}

func TestCoverageMatching(t *testing.T) {
	for _, c := range []struct {
		name, question, text, signal string
		want                         float64
	}{
		{"case, punctuation and possessive", "Was it Jean-Luc O’Brien’s?", "JEAN LUC O'BRIEN.", "evidence_coverage", 1},
		{"word boundaries", "Where is Paris?", "Parisian", "evidence_coverage", 0},
		{"no match across passages' fields", "Where is New York?", "York", "evidence_coverage", 0},
		{"full case folding", "Wo ist die Straße?", "DIE STRASSE", "evidence_coverage", 1},
		{"Turkish i", "Where is İstanbul?", "ISTANBUL", "evidence_coverage", 1},
		{"normal forms", "Where is München?", "Mu\u0308nchen", "evidence_coverage", 1},
		{"Latin name in Chinese text", "谁是Einstein?", "爱因斯坦Einstein是", "evidence_coverage", 1},
		{"Cyrillic", "Где находится Москва?", "МОСКВА", "evidence_coverage", 1},
		{"acronym with points", "Who led the US?", "the U.S. president", "evidence_coverage", 1},
		{"acronym without points", "Who led the U.S.?", "the US president", "evidence_coverage", 1},
		{"thousands", "Did 1,000 come?", "1000 came", "number_coverage", 1},
		{"number within a number", "Did 100 come?", "1000 came", "number_coverage", 0},
		{"dates in other notations", "What was on 12 May 2001 and on 2001-06-03?", "May 12th, 2001 and 3 June 2001", "number_coverage", 1},
		{"another date", "What was on 12 May 2001?", "on 13 May 2001 and 12 June 2001", "number_coverage", 0},
		{"quotes", `Who said "to be, or not"?`, "To be or not to be", "quote_coverage", 1},
		{"quotes are whole", `Who said "be to"?`, "To be or not to be", "quote_coverage", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := request(ordered("dense", "a"))
			req.Question = c.question
			req.Rankings[0].Items[0].Title, req.Rankings[0].Items[0].Text = "New", c.text
			wantValue(t, retrieval.Score(req), c.signal, c.want)
		})
	}
}

func TestCoverageWithoutThings(t *testing.T) {
	req := request(ordered("dense", "a"))
	req.Rankings[0].Items[0].Text = "some text"
	req.Question = "what is it about?"
	resp := retrieval.Score(req)
	wantStatus(t, resp, inapt, "evidence_coverage", "window_evidence_coverage", "number_coverage", "quote_coverage")
	wantStatus(t, resp, ok, "term_coverage")
	req.Question = " ?"
	wantStatus(t, retrieval.Score(req), missing, "evidence_coverage", "term_coverage")
}

func TestTermCoverageWithGivenIDF(t *testing.T) {
	req := request(ordered("dense", "a", "b", "c", "d"))
	req.Question = "alpha STRASSE gamma"
	req.Rankings[0].Items[0].Text = "alpha"
	req.Rankings[0].Items[3].Text = "die Straße"
	req.Idf = map[string]float64{"alpha": 1, "straße": 3, "unrelated": 4}
	resp := retrieval.Score(req) // gamma is as rare as the rarest: 4
	wantValue(t, resp, "term_coverage", (1.0+3)/(1+3+4))
	wantValue(t, resp, "window_term_coverage", 1.0/(1+3+4))
	req.Idf["beta"] = math.NaN()
	wantStatus(t, retrieval.Score(req), invalid, "term_coverage")
	req.Idf = map[string]float64{"alpha": 0}
	wantStatus(t, retrieval.Score(req), inapt, "term_coverage")
}

func TestCoherenceInputs(t *testing.T) {
	embedded := func(vectors ...[]float32) *plumblinev1.ScoreRetrievalRequest {
		req := request(ordered("dense", "a", "b", "c", "d")) // ids beyond the vectors are cut
		req.Rankings[0].Items = req.Rankings[0].Items[:len(vectors)]
		for i, v := range vectors {
			req.Rankings[0].Items[i].Embedding = v
		}
		return req
	}
	nan := float32(math.NaN())
	x, y := []float32{2, 0}, []float32{0, 3}
	all := []string{"mean_pairwise_cosine", "spatial_autocorrelation", "pair_ratio", "near_duplicate_share"}
	wantStatus(t, retrieval.Score(embedded(x, nil, y)), missing, all...)
	wantStatus(t, retrieval.Score(embedded(x, []float32{1}, y)), invalid, all...)
	wantStatus(t, retrieval.Score(embedded(x, []float32{0, 0}, y)), invalid, all...)
	wantStatus(t, retrieval.Score(embedded(x, []float32{nan, 0}, y)), invalid, all...)
	wantStatus(t, retrieval.Score(embedded(x)), tooFew, all...)

	resp := retrieval.Score(embedded(x, x, y))
	wantValue(t, resp, "mean_pairwise_cosine", 1.0/3)
	wantValue(t, resp, "near_duplicate_share", 1.0/3)
	wantValue(t, resp, "pair_ratio", 1)
	wantStatus(t, resp, missing, "query_centroid_cosine")
	apart := embedded(x, []float32{-1, 0})
	apart.QueryEmbedding = x
	wantStatus(t, retrieval.Score(apart), inapt, "query_centroid_cosine", "pair_ratio")
	// 1/3 and its triple are rounded: what is left of them points anywhere.
	almost := embedded([]float32{0.1, 0.7, 1.0 / 3}, []float32{-0.3, -2.1, -1})
	almost.QueryEmbedding = []float32{1, 0, 0}
	wantStatus(t, retrieval.Score(almost), inapt, "query_centroid_cosine")
	apart.QueryEmbedding = []float32{1, 2, 3}
	wantStatus(t, retrieval.Score(apart), invalid, "query_centroid_cosine")
	apart.QueryEmbedding = []float32{nan, 1}
	wantStatus(t, retrieval.Score(apart), invalid, "query_centroid_cosine")
}

func TestCoherenceDepth(t *testing.T) {
	req := request(&plumblinev1.Ranking{Name: "dense"})
	req.K = 150
	for i := range 150 {
		// Beyond the hundredth all are copies of one another.
		embedding := make([]float32, 101)
		embedding[min(i, 100)] = 1
		req.Rankings[0].Items = append(req.Rankings[0].Items, &plumblinev1.RankedItem{
			Id: strconv.Itoa(i), Score: -float64(i), Embedding: embedding,
		})
	}
	resp := retrieval.Score(req)
	wantValue(t, resp, "near_duplicate_share", 0)
	if len(resp.GetWarnings()) != 1 {
		t.Errorf("warnings = %q, want one for the depth", resp.GetWarnings())
	}
}

func TestWarnings(t *testing.T) {
	for name, req := range map[string]*plumblinev1.ScoreRetrievalRequest{
		"kind":      request(ranked("fused", plumblinev1.ScoreKind_SCORE_KIND_UNSPECIFIED, 1, 0.5)),
		"outside":   request(ranked("dense", cosine, 12, 0.5)),
		"distances": request(ranked("dense", l2Distance, 1, -0.5)),
	} {
		if w := retrieval.Score(req).GetWarnings(); len(w) != 1 {
			t.Errorf("%s: warnings = %q, want one", name, w)
		}
	}
	if w := retrieval.Score(request(ranked("dense", cosine, 1.0000001, 0.5))).GetWarnings(); len(w) != 0 {
		t.Errorf("warnings = %q for a rounded cosine", w)
	}
}

// TestReasonsLeakNoText: what a caller reads or a server logs has no evidence
// in it.
func TestReasonsLeakNoText(t *testing.T) {
	req := request(ordered("dense", "secret-id", "b"), ranked("sparse", bm25, math.NaN()))
	req.Question = "Who knows Secretville?"
	req.Rankings[0].Items[0].Text = "secret text"
	req.Rankings[0].Items[0].Embedding = []float32{1}
	for name, s := range retrieval.Score(req).GetSignals() {
		if strings.Contains(strings.ToLower(s.GetReason()), "secret") {
			t.Errorf("%s: %q", name, s.GetReason())
		}
	}
}

// TestHostileText: requests within the limits of validation whose cost would
// explode if any step were worse than linear. They end, or the test times out.
func TestHostileText(t *testing.T) {
	many := func(s string) string { return strings.Repeat(s, 60_000/len(s)) }
	var names strings.Builder
	for i := range 9000 {
		names.WriteString("the A" + strconv.Itoa(i) + ", ")
	}
	for name, question := range map[string]string{
		"names": names.String(), "open quotes": many("« "), "straight quotes": many(`" `), "elisions": many("l'"),
		"thousands": "1" + many(",000"), "connectors": "A " + many("of "), "points": many("A."), "dates": many("12 May "), "near miss": `B` + many(" A"),
	} {
		t.Run(name, func(t *testing.T) {
			req := request(ordered("dense", "a", "b"))
			req.Question = question
			for _, item := range req.Rankings[0].Items {
				item.Text = strings.Repeat(question, 5)
			}
			for _, req.Compat = range []plumblinev1.Compat{plumblinev1.Compat_COMPAT_UNSPECIFIED, plumblinev1.Compat_COMPAT_SOURCE} {
				if got := len(retrieval.Score(req).GetSignals()); got != len(retrieval.Infos()) {
					t.Errorf("%d signals", got)
				}
			}
		})
	}
}

func TestMostNeedles(t *testing.T) {
	var question strings.Builder
	for i := range 150 {
		question.WriteString("in the A" + strconv.Itoa(i) + ", ")
	}
	req := request(ordered("dense", "a"))
	req.Question, req.Rankings[0].Items[0].Text = question.String(), "A1 and A149"
	resp := retrieval.Score(req)
	wantValue(t, resp, "evidence_coverage", 1.0/32)
	if len(resp.GetEntities()) != 32 || len(resp.GetWarnings()) == 0 {
		t.Errorf("%d entities, warnings %q", len(resp.GetEntities()), resp.GetWarnings())
	}
}
