package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/retrieval"
	"plumbline/server"
)

const (
	echoMethod  = "/bench.Plain/Echo"
	replyMethod = "/bench.Plain/Reply"
)

// besideEcho compares retrieval calls, which need no model, with two calls of a
// plain grpc-go server: an echo of the same message, and one that answers the
// same message with the very reply of the service, ready made. What is left of
// 1 beside the echo is the price of everything the service does; beside the
// ready reply, of limits, validation, metrics and the signals themselves.
func besideEcho(ctx context.Context, s *session) (err error) {
	running, err := serve(ctx, s.config(), server.Options{Engine: noModel{}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	ours, err := dial(running.address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	calls := make([]struct{}, s.scale(1_000, 10_000))
	for _, kind := range []struct {
		name string
		req  *plumblinev1.ScoreRetrievalRequest
	}{
		{"one signal, one ranking of ten with texts", oneSignal()},
		{"the signals made of scores and ranks, two rankings of ten without texts", scoresOnly()},
		{"all signals, two rankings of ten with texts", allSignals()},
	} {
		if err := s.compareCalls(ctx, kind.name, calls, plumblinev1.NewRetrievalServiceClient(ours), kind.req); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) compareCalls(
	ctx context.Context, name string, calls []struct{}, ours plumblinev1.RetrievalServiceClient, req *plumblinev1.ScoreRetrievalRequest,
) (err error) {
	const inFlight = 32
	reply, err := ours.ScoreRetrieval(ctx, req)
	if err != nil {
		return err
	}
	plain, err := startPlain(reply)
	if err != nil {
		return err
	}
	defer plain.Stop()
	theirs, err := dial(plain.address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, theirs.Close()) }()
	by := func(name string, call func(context.Context) error) contender {
		return contender{name: name, work: float64(len(calls)), run: func(ctx context.Context) ([]time.Duration, error) {
			return callers(ctx, inFlight, calls, func(ctx context.Context, _ struct{}) error { return call(ctx) })
		}}
	}
	outcomes, err := alternate(ctx, s.scale(9, 25),
		by("service", func(ctx context.Context) error {
			_, err := ours.ScoreRetrieval(ctx, req)
			return err
		}),
		by("echo", func(ctx context.Context) error {
			return theirs.Invoke(ctx, echoMethod, req, new(plumblinev1.ScoreRetrievalRequest))
		}),
		by("ready reply", func(ctx context.Context) error {
			return theirs.Invoke(ctx, replyMethod, req, new(plumblinev1.ScoreRetrievalResponse))
		}),
	)
	if err != nil {
		return err
	}
	s.printf("  %s: %d bytes, reply %d bytes; the signals alone take %s\n",
		name, proto.Size(req), proto.Size(reply), signalsAlone(req))
	s.report("calls", outcomes)
	return nil
}

// signalsAlone is the least time that the computation takes in process: what
// the service spends even if everything around it were free.
func signalsAlone(req *plumblinev1.ScoreRetrievalRequest) time.Duration {
	const rounds, calls = 10, 200
	least := time.Duration(math.MaxInt64)
	for range rounds {
		begun := time.Now()
		for range calls {
			retrieval.Score(req)
		}
		least = min(least, time.Since(begun)/calls)
	}
	return least
}

// oneSignal asks for the least that a request of about 2 KB can.
func oneSignal() *plumblinev1.ScoreRetrievalRequest {
	return &plumblinev1.ScoreRetrievalRequest{
		Question: asked, Rankings: []*plumblinev1.Ranking{ranking("dense", true)}, Signals: []string{"max_score"},
	}
}

// scoresOnly asks for every signal that needs neither text nor embeddings.
func scoresOnly() *plumblinev1.ScoreRetrievalRequest {
	req := &plumblinev1.ScoreRetrievalRequest{
		Question: asked, Rankings: []*plumblinev1.Ranking{ranking("dense", false), ranking("sparse", false)},
	}
	for _, info := range retrieval.Infos() {
		if slices.Contains([]string{"height", "spread", "agreement"}, info.GetFamily()) {
			req.Signals = append(req.Signals, info.GetName())
		}
	}
	return req
}

func allSignals() *plumblinev1.ScoreRetrievalRequest {
	return &plumblinev1.ScoreRetrievalRequest{
		Question: asked, Rankings: []*plumblinev1.Ranking{ranking("dense", true), ranking("sparse", true)},
	}
}

const asked = "Which bridge over the river was rebuilt first after the flood?"

// ranking is ten passages, of which the sparse ranking shares six with others.
func ranking(name string, texts bool) *plumblinev1.Ranking {
	r := &plumblinev1.Ranking{Name: name, ScoreKind: plumblinev1.ScoreKind_SCORE_KIND_COSINE}
	first := 0
	if name == "sparse" {
		r.ScoreKind, first = plumblinev1.ScoreKind_SCORE_KIND_BM25, 4
	}
	for i := range 10 {
		item := &plumblinev1.RankedItem{Id: fmt.Sprint("passage-", first+i), Score: 0.9 - 0.05*float64(i)}
		if texts {
			item.Text = strings.Repeat(fmt.Sprintf("The bridge number %d was rebuilt after the flood of 19%d5. ", first+i, i), 3)
		}
		r.Items = append(r.Items, item)
	}
	return r
}

// noModel lets a server start that is asked for nothing that takes a model.
type noModel struct{ entail.Verifier }

func (noModel) Describe(context.Context) (entail.Description, error) {
	return entail.Description{Name: "none"}, nil
}
func (noModel) Probe(context.Context) error { return nil }
func (noModel) Close() error                { return nil }

// plain is a plain gRPC server that does nothing but decode and encode.
type plain struct {
	*grpc.Server
	address string
}

// startPlain serves an echo, and a method that gives a ready reply.
func startPlain(reply proto.Message) (*plain, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &plain{Server: grpc.NewServer(), address: listener.Addr().String()}
	b.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bench.Plain",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			{MethodName: "Echo", Handler: plainHandler(func(req *plumblinev1.ScoreRetrievalRequest) proto.Message { return req })},
			{MethodName: "Reply", Handler: plainHandler(func(*plumblinev1.ScoreRetrievalRequest) proto.Message { return reply })},
		},
	}, nil)
	go func() {
		if err := b.Serve(listener); err != nil {
			slog.Error("the plain server ended", "error", err)
		}
	}()
	return b, nil
}

func plainHandler(answer func(*plumblinev1.ScoreRetrievalRequest) proto.Message) grpc.MethodHandler {
	return func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		req := new(plumblinev1.ScoreRetrievalRequest)
		if err := decode(req); err != nil {
			return nil, err
		}
		return answer(req), nil
	}
}
