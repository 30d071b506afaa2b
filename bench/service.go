package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"plumbline/models/engine"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/server"
	"plumbline/server/config"
	"plumbline/verifiers/embedded"
)

// manyCalls is more than any experiment has in flight: admission is not what
// is measured.
const manyCalls = 1000

// service is a server of ours on the loopback interface.
type service struct {
	address string
	stop    func() error
}

// start serves with a cache of the given size.
func (s *session) start(ctx context.Context, cacheBytes int64) (*service, error) {
	cfg := s.config()
	cfg.Verifier.CacheBytes = cacheBytes
	return serve(ctx, cfg, server.Options{})
}

// startBare serves the model without the decorators in front of it.
func (s *session) startBare(ctx context.Context) (*service, error) {
	cfg := s.config()
	model, err := embedded.Open(embedded.Config{Engine: engine.Config{Library: s.library, MaxCalls: cfg.Verifier.MaxCalls}})
	if err != nil {
		return nil, err
	}
	return serve(ctx, cfg, server.Options{Engine: model})
}

func (s *session) config() config.Config {
	cfg := config.Default()
	cfg.GRPC.Addr, cfg.HTTP.Addr = "127.0.0.1:0", ""
	cfg.ONNXRuntime.Lib = s.library
	cfg.Limits.MaxConcurrentCalls, cfg.Limits.MaxOpenStreams = manyCalls, manyCalls
	cfg.Limits.MaxDeadline = time.Hour
	cfg.Limits.DefaultDeadline = time.Hour
	return cfg
}

func serve(ctx context.Context, cfg config.Config, options server.Options) (*service, error) {
	options.Log = slog.New(slog.DiscardHandler)
	built, err := server.Complete(ctx, cfg, options)
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(ctx)
	finished := make(chan error, 1)
	go func() { finished <- built.Run(running, ctx) }()
	return &service{
		address: built.GRPCAddr().String(),
		stop: func() error {
			cancel()
			return <-finished
		},
	}, nil
}

// dial connects without TLS.
func dial(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20), grpc.WaitForReady(true)))
}

// verifier asks a VerifierService, ours or a peer's.
type verifier struct {
	conn   *grpc.ClientConn
	client plumblinev1.VerifierServiceClient
}

func newVerifier(address string) (*verifier, error) {
	conn, err := dial(address)
	if err != nil {
		return nil, err
	}
	return &verifier{conn: conn, client: plumblinev1.NewVerifierServiceClient(conn)}, nil
}

// verify sends the pairs in one message and waits for all results, which it
// returns as P(entailment).
func (v *verifier) verify(ctx context.Context, pairs []entail.Pair) ([]float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := v.client.Verify(ctx)
	if err != nil {
		return nil, err
	}
	req := &plumblinev1.VerifyRequest{}
	for i, pair := range pairs {
		req.Pairs = append(req.Pairs, &plumblinev1.VerifyPair{Id: strconv.Itoa(i), Premise: pair.Premise, Hypothesis: pair.Hypothesis})
	}
	if err := errors.Join(stream.Send(req), stream.CloseSend()); err != nil {
		return nil, err
	}
	return results(stream, len(pairs))
}

func results(stream grpc.BidiStreamingClient[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse], n int) ([]float64, error) {
	support, left := make([]float64, n), n
	for {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			if left > 0 {
				return nil, fmt.Errorf("%d of %d pairs have no result", left, n)
			}
			return support, nil
		}
		if err != nil {
			return nil, err
		}
		for _, r := range response.GetResults() {
			i, err := strconv.Atoi(r.GetId())
			if err != nil || i >= n || r.GetStatus() != plumblinev1.Status_STATUS_OK {
				return nil, fmt.Errorf("result %q: %s %s", r.GetId(), r.GetStatus(), r.GetReason())
			}
			support[i] = r.GetProbabilities().GetEntailment()
			left--
		}
	}
}

// groundings asks our GroundingService and insists on a score.
type groundings struct {
	client plumblinev1.GroundingServiceClient
}

func (g groundings) score(ctx context.Context, req *plumblinev1.ScoreGroundingRequest) (*plumblinev1.ScoreGroundingResponse, error) {
	response, err := g.client.ScoreGrounding(ctx, req)
	if err == nil && response.GetStatus() != plumblinev1.Status_STATUS_OK {
		err = fmt.Errorf("%s: %s", response.GetStatus(), response.GetReason())
	}
	return response, err
}

// question is a claim with passages.
func question(claim string, passages ...string) *plumblinev1.ScoreGroundingRequest {
	req := &plumblinev1.ScoreGroundingRequest{Claims: []*plumblinev1.Claim{{Text: claim}}, ScoreAllKinds: true}
	for i, text := range passages {
		req.Evidence = append(req.Evidence, &plumblinev1.Evidence{Id: strconv.Itoa(i), Text: text})
	}
	return req
}
