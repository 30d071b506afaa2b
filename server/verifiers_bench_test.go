package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"plumbline/internal/orttest"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/server"
	"plumbline/server/service"
	"plumbline/verifiers/remote"
)

// BenchmarkVerifierOverTheWire scores the same 64 pairs in this process and by
// VerifierService on the same machine, with the bundled model (without its
// cache) and with one that costs nothing.
func BenchmarkVerifierOverTheWire(b *testing.B) {
	cfg := settings()
	cfg.ONNXRuntime.Lib = orttest.Library(b)
	cfg.Verifier.CacheBytes = 0
	bundled, err := server.OpenEngine(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = bundled.Close() })
	for name, local := range map[string]entail.Verifier{"bundled": bundled, "free": entailtest.Overlap()} {
		for _, way := range []struct {
			name     string
			verifier entail.Verifier
		}{
			{"here", local},
			{"unix", over(b, "unix", filepath.Join(b.TempDir(), "s"), local)},
			{"tcp", over(b, "tcp", "127.0.0.1:0", local)},
		} {
			b.Run(name+"/"+way.name, func(b *testing.B) {
				for n := 0; b.Loop(); n++ {
					if _, err := way.verifier.Verify(b.Context(), pairsOf(n, 64)); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(64*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
			})
		}
	}
}

// BenchmarkReplicas asks 1, 2 and 4 replicas that each take 5 ms for a pair, one
// pair at a time, from 16 callers.
func BenchmarkReplicas(b *testing.B) {
	for _, replicas := range []int{1, 2, 4} {
		b.Run(fmt.Sprint(replicas), func(b *testing.B) {
			var hosts []string
			for range replicas {
				hosts = append(hosts, strings.TrimPrefix(listen(b, "tcp", "127.0.0.1:0", &oneAtATime{Verifier: entailtest.Overlap()}), "grpc://"))
			}
			v := dialVerifier(b, "grpc://"+strings.Join(hosts, ","))
			b.SetParallelism((16 + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := v.Verify(b.Context(), pairsOf(0, 1)); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

// oneAtATime is a verifier whose pairs take their time, one after the other.
type oneAtATime struct {
	entail.Verifier
	mu sync.Mutex
}

func (o *oneAtATime) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	time.Sleep(time.Duration(len(pairs)) * 5 * time.Millisecond)
	return o.Verifier.Verify(ctx, pairs)
}

// pairsOf are pairs of some 40 tokens, new in each round.
func pairsOf(round, n int) []entail.Pair {
	pairs := make([]entail.Pair, n)
	for i := range pairs {
		pairs[i] = entail.Pair{
			Premise:    fmt.Sprintf("In round %d the committee of house %d met in the old town hall and agreed on a new plan for the harbour.", round, i),
			Hypothesis: fmt.Sprintf("House %d agreed on a plan.", i),
		}
	}
	return pairs
}

// over serves a verifier and returns the client that asks it.
func over(b *testing.B, network, at string, v entail.Verifier) entail.Verifier {
	return dialVerifier(b, listen(b, network, at, v))
}

func dialVerifier(b *testing.B, address string) *remote.Verifier {
	v, err := remote.Open(remote.Config{Address: address})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = v.Close() })
	return v
}

// listen serves VerifierService alone, without the rest of the server, and
// returns its address.
func listen(b *testing.B, network, at string, v entail.Verifier) string {
	implementation, err := service.New(service.Deps{Verifiers: []service.Verifier{{Name: "bench", Verifier: v}}})
	if err != nil {
		b.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(b.Context(), network, at)
	if err != nil {
		b.Fatal(err)
	}
	host := grpc.NewServer()
	plumblinev1.RegisterVerifierServiceServer(host, verifierHost{service: implementation})
	go func() { _ = host.Serve(listener) }()
	b.Cleanup(host.Stop)
	if network == "unix" {
		return "unix:" + at
	}
	return "grpc://" + listener.Addr().String()
}

type verifierHost struct {
	plumblinev1.UnimplementedVerifierServiceServer
	service *service.Service
}

func (h verifierHost) Describe(ctx context.Context, req *plumblinev1.DescribeRequest) (*plumblinev1.DescribeResponse, error) {
	return h.service.Describe(ctx, req)
}

func (h verifierHost) Verify(stream grpc.BidiStreamingServer[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse]) error {
	return h.service.Verify(stream.Context(), stream)
}
