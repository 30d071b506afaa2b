package server_test

import (
	"log/slog"
	"sync"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
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
