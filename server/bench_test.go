package server_test

import (
	"log/slog"
	"sync"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/proto/plumbline/v1/plumblinev1connect"
	"plumbline/server"
)

// BenchmarkUnary measures whole calls with 32 in flight, client and server on
// the same processors, of a request of about 2 KB that takes no model.
func BenchmarkUnary(b *testing.B) {
	const inFlight = 32
	r := run(b, settings(), server.Options{Engine: overlap(), Log: slog.New(slog.DiscardHandler)})
	req := requestOfSize(b, 2000)
	req.Signals = []string{"max_score"}
	for _, c := range everywhere[plumblinev1.ScoreRetrievalRequest, plumblinev1.ScoreRetrievalResponse](r, scoreRetrieval) {
		b.Run(c.name, func(b *testing.B) {
			calls := make(chan struct{}, b.N)
			for range b.N {
				calls <- struct{}{}
			}
			close(calls)
			b.ResetTimer()
			var callers sync.WaitGroup
			for range inFlight {
				callers.Go(func() {
					for range calls {
						if _, err := c.call(b.Context(), req); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			callers.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
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
