package retrieval_test

import (
	"fmt"
	"strings"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/retrieval"
)

// twoRankings is a request with a dense and a sparse ranking of ten, of which
// six passages are in both, without text or embeddings.
func twoRankings() *plumblinev1.ScoreRetrievalRequest {
	dense := &plumblinev1.Ranking{Name: "dense", ScoreKind: plumblinev1.ScoreKind_SCORE_KIND_COSINE}
	sparse := &plumblinev1.Ranking{Name: "sparse", ScoreKind: plumblinev1.ScoreKind_SCORE_KIND_BM25}
	for i := range 10 {
		dense.Items = append(dense.Items, &plumblinev1.RankedItem{Id: fmt.Sprintf("passage-%d", i), Score: 0.8 - 0.03*float64(i)})
		sparse.Items = append(sparse.Items, &plumblinev1.RankedItem{Id: fmt.Sprintf("passage-%d", 13-i), Score: 21.5 - 1.3*float64(i)})
	}
	return &plumblinev1.ScoreRetrievalRequest{
		Question: "Who directed The Lord of the Rings in 2001?",
		Rankings: []*plumblinev1.Ranking{dense, sparse},
	}
}

// passage is a hundred words of running text.
func passage(i int) string {
	const sentence = "The committee of the city's oldest library met in %d to hear that Peter Jackson would film in New Zealand; "
	return strings.Repeat(fmt.Sprintf(sentence, 1990+i), 5)
}

func namesOf(families ...string) []string {
	var names []string
	for _, info := range retrieval.Infos() {
		for _, family := range families {
			if info.GetFamily() == family {
				names = append(names, info.GetName())
			}
		}
	}
	return names
}

func BenchmarkScoresOnly(b *testing.B) {
	req := twoRankings()
	req.Signals = namesOf("height", "spread", "agreement")
	b.ReportAllocs()
	for b.Loop() {
		retrieval.Score(req)
	}
}

// BenchmarkAllSignalsWithoutText is what a request costs that names no signals
// and has neither text nor embeddings: the rest is typed reasons.
func BenchmarkAllSignalsWithoutText(b *testing.B) {
	req := twoRankings()
	b.ReportAllocs()
	for b.Loop() {
		retrieval.Score(req)
	}
}

func BenchmarkCoverage(b *testing.B) {
	for _, c := range []struct{ name, extra string }{
		{"ascii", ""},
		{"curly", "the film’s “premiere” – of course – was there"},
		{"cyrillic", strings.Repeat("Комитет старейшей библиотеки собрался в Москве ", 10)},
		{"han", strings.Repeat("中国最古老的图书馆委员会在北京召开会议", 5)},
	} {
		b.Run(c.name, func(b *testing.B) {
			req := &plumblinev1.ScoreRetrievalRequest{
				Question: `Who directed The Lord of the Rings in 2001, and was it O'Brien's own idea?`,
				Rankings: []*plumblinev1.Ranking{{Name: "fused"}},
				Signals:  namesOf("coverage"),
			}
			for i := range 10 {
				text := passage(i) + c.extra
				if c.name == "cyrillic" || c.name == "han" {
					text = c.extra
				}
				req.Rankings[0].Items = append(req.Rankings[0].Items, &plumblinev1.RankedItem{
					Id: fmt.Sprint(i), Score: float64(-i), Text: text,
				})
			}
			b.ReportAllocs()
			for b.Loop() {
				retrieval.Score(req)
			}
		})
	}
}

func BenchmarkCoherence(b *testing.B) {
	req := &plumblinev1.ScoreRetrievalRequest{
		Rankings: []*plumblinev1.Ranking{{Name: "dense"}}, Signals: namesOf("coherence"),
		QueryEmbedding: make([]float32, 384),
	}
	req.QueryEmbedding[0] = 1
	for i := range 10 {
		embedding := make([]float32, 384)
		for j := range embedding {
			embedding[j] = 1 + float32((i+1)*(j+3)%17)
		}
		req.Rankings[0].Items = append(req.Rankings[0].Items, &plumblinev1.RankedItem{
			Id: fmt.Sprint(i), Score: float64(-i), Embedding: embedding,
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		retrieval.Score(req)
	}
}

// BenchmarkDeep is the largest request that validation lets pass: sixteen
// rankings of ten thousand, all of them read.
func BenchmarkDeep(b *testing.B) {
	req := &plumblinev1.ScoreRetrievalRequest{K: 10000}
	for r := range 16 {
		ranking := &plumblinev1.Ranking{Name: fmt.Sprint("dense-", r)}
		for i := range 10000 {
			ranking.Items = append(ranking.Items, &plumblinev1.RankedItem{Id: fmt.Sprint((i + r*700) % 12000), Score: -float64(i)})
		}
		req.Rankings = append(req.Rankings, ranking)
	}
	b.ReportAllocs()
	for b.Loop() {
		retrieval.Score(req)
	}
}
