package confidence_test

import (
	"context"
	"fmt"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/confidence"
	"plumbline/scorers/entail"
)

// instant answers at once, so that a benchmark sees the scorer's own cost.
type instant struct{ entail.Verifier }

func (instant) Verify(_ context.Context, pairs []entail.Pair) (entail.Batch, error) {
	results := make([]entail.Result, len(pairs))
	for i := range results {
		e := float64(i%10) / 10
		results[i].Scores = entail.Scores{Entailment: e, Neutral: (1 - e) / 2, Contradiction: (1 - e) / 2, ThreeClass: true}
	}
	return entail.Batch{Results: results}, nil
}

func twenty(distinct int) *plumblinev1.ScoreConfidenceRequest {
	req := &plumblinev1.ScoreConfidenceRequest{Question: question, MainAnswer: "the answer number 0"}
	for i := range 20 {
		req.Samples = append(req.Samples, &plumblinev1.Sample{Text: fmt.Sprintf("The answer, number %d", i%distinct)})
	}
	return req
}

// BenchmarkExact scores 20 short samples by exact rules.
func BenchmarkExact(b *testing.B) {
	req := twenty(8)
	b.ReportAllocs()
	for b.Loop() {
		confidence.Score(context.Background(), nil, req)
	}
}

// BenchmarkEntailment scores 20 different samples by entailment, the
// verifier's own time left out: pairs, clusters, graph scores and LUQ.
func BenchmarkEntailment(b *testing.B) {
	req := twenty(20)
	req.Agreement = plumblinev1.Agreement_AGREEMENT_ENTAIL_BOTH
	b.ReportAllocs()
	for b.Loop() {
		confidence.Score(context.Background(), instant{}, req)
	}
}

// BenchmarkGraph takes the three graph scores of 20 responses from a matrix.
func BenchmarkGraph(b *testing.B) {
	entailment := func(i, j int) float64 { return float64((i*7+j*3)%10+1) / 11 }
	b.ReportAllocs()
	for b.Loop() {
		graph := confidence.NewGraph(20, entailment, nil)
		graph.DegreeMatrix()
		if _, _, err := graph.Spectral(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGram takes the log-determinant of 20 hidden states of 4,096.
func BenchmarkGram(b *testing.B) {
	vectors := make([][]float64, 20)
	for i := range vectors {
		vectors[i] = make([]float64, 4096)
		for d := range vectors[i] {
			vectors[i][d] = float64((i*31+d*17)%101) / 50
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		confidence.GramLogDet(vectors, confidence.DefaultGramAlpha)
	}
}
