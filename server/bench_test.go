package server_test

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/proto/plumbline/v1/plumblinev1connect"
	"plumbline/scorers/retrieval"
	"plumbline/server"
)

// BenchmarkUnary measures whole calls with 32 in flight, client and server on
// the same processors, that take no model: a request of about 2 KB for one
// signal, two rankings of ten for all signals that are made of scores and
// ranks, and the same with texts for all signals.
func BenchmarkUnary(b *testing.B) {
	r := run(b, settings(), server.Options{Engine: overlap(), Log: slog.New(slog.DiscardHandler)})
	one := requestOfSize(b, 2000)
	one.Signals = []string{"max_score"}
	for _, kind := range []struct {
		name string
		req  *plumblinev1.ScoreRetrievalRequest
	}{{"one", one}, {"scores", twoRankings("", signalsOf("height", "spread", "agreement"))}, {"all", twoRankings(passage, nil)}} {
		for _, c := range everywhere[plumblinev1.ScoreRetrievalRequest, plumblinev1.ScoreRetrievalResponse](r, scoreRetrieval) {
			b.Run(kind.name+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				inFlight(b, 32, func() error {
					_, err := c.call(b.Context(), kind.req)
					return err
				})
			})
		}
	}
}

// inFlight makes b.N calls from a number of callers.
func inFlight(b *testing.B, number int, call func() error) {
	calls := make(chan struct{}, b.N)
	for range b.N {
		calls <- struct{}{}
	}
	close(calls)
	b.ResetTimer()
	var callers sync.WaitGroup
	for range number {
		callers.Go(func() {
			for range calls {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

const passage = "The bridge over the river was rebuilt in 1995, after the flood had taken its two piers and the toll house. "

// twoRankings is a request with a dense and a sparse ranking of ten, of which
// six passages are in both.
func twoRankings(text string, signals []string) *plumblinev1.ScoreRetrievalRequest {
	dense := &plumblinev1.Ranking{Name: "dense", ScoreKind: plumblinev1.ScoreKind_SCORE_KIND_COSINE}
	sparse := &plumblinev1.Ranking{Name: "sparse", ScoreKind: plumblinev1.ScoreKind_SCORE_KIND_BM25}
	for i := range 10 {
		dense.Items = append(dense.Items, &plumblinev1.RankedItem{Id: fmt.Sprint("passage-", i), Score: 0.8 - 0.03*float64(i), Text: text})
		sparse.Items = append(sparse.Items, &plumblinev1.RankedItem{Id: fmt.Sprint("passage-", 4+i), Score: 21.5 - 1.3*float64(i), Text: text})
	}
	return &plumblinev1.ScoreRetrievalRequest{
		Question: "Who rebuilt the Bridge of Sighs in 1995?", Rankings: []*plumblinev1.Ranking{dense, sparse}, Signals: signals,
	}
}

func signalsOf(families ...string) []string {
	var names []string
	for _, info := range retrieval.Infos() {
		if slices.Contains(families, info.GetFamily()) {
			names = append(names, info.GetName())
		}
	}
	return names
}

// BenchmarkDecide measures one gate decision with one call in flight: the
// latency that a loop sees between a policy and its answer.
func BenchmarkDecide(b *testing.B) {
	r := run(b, settings(), server.Options{Engine: overlap(), Log: slog.New(slog.DiscardHandler)})
	req := &plumblinev1.DecideRequest{
		Policy: "calvert.plumbline",
		Subject: &plumblinev1.DecideRequest_Inputs{Inputs: &structpb.Struct{Fields: map[string]*structpb.Value{
			"g_mean":     structpb.NewNumberValue(0.8),
			"g_min":      structpb.NewNumberValue(0.6),
			"final_conf": structpb.NewNumberValue(0.7),
		}}},
	}
	for _, c := range everywhere[plumblinev1.DecideRequest, plumblinev1.DecideResponse](r, plumblinev1connect.GateServiceDecideProcedure) {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.call(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
