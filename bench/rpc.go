package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/server"
)

const echoMethod = "/bench.Echo/Echo"

// besideEcho compares retrieval calls, which need no model, with an echo of the
// same message by a server that does nothing else: what is left of 1 is the
// price of limits, validation, metrics and the signals themselves.
func besideEcho(ctx context.Context, s *session) (err error) {
	echo, err := startEcho()
	if err != nil {
		return err
	}
	defer echo.Stop()
	cfg := s.config()
	running, err := serve(ctx, cfg, server.Options{Engine: noModel{}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	ours, err := dial(running.address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	theirs, err := dial(echo.address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, theirs.Close()) }()
	const inFlight = 32
	retrieval := plumblinev1.NewRetrievalServiceClient(ours)
	calls := make([]struct{}, s.scale(5_000, 50_000))
	for _, kind := range []struct {
		name string
		req  *plumblinev1.ScoreRetrievalRequest
	}{
		{"one signal", retrieved("max_score")},
		{"all signals", retrieved()},
	} {
		outcomes, err := alternate(ctx, s.scale(3, 7),
			contender{name: "service", work: float64(len(calls)), run: func(ctx context.Context) ([]time.Duration, error) {
				return callers(ctx, inFlight, calls, func(ctx context.Context, _ struct{}) error {
					_, err := retrieval.ScoreRetrieval(ctx, kind.req)
					return err
				})
			}},
			contender{name: "echo", work: float64(len(calls)), run: func(ctx context.Context) ([]time.Duration, error) {
				return callers(ctx, inFlight, calls, func(ctx context.Context, _ struct{}) error {
					return theirs.Invoke(ctx, echoMethod, kind.req, new(plumblinev1.ScoreRetrievalRequest))
				})
			}},
		)
		if err != nil {
			return err
		}
		s.printf("  %s, %d bytes\n", kind.name, proto.Size(kind.req))
		s.report("calls", outcomes)
	}
	return nil
}

// retrieved is a result of ten passages, about 2 KB.
func retrieved(signals ...string) *plumblinev1.ScoreRetrievalRequest {
	ranking := &plumblinev1.Ranking{Name: "dense"}
	for i := range 10 {
		ranking.Items = append(ranking.Items, &plumblinev1.RankedItem{
			Id:    fmt.Sprint("passage-", i),
			Score: 0.9 - 0.05*float64(i),
			Text:  strings.Repeat(fmt.Sprintf("The bridge number %d was rebuilt after the flood of 19%d5. ", i, i), 3),
		})
	}
	return &plumblinev1.ScoreRetrievalRequest{
		Question: "Which bridge over the river was rebuilt first after the flood?",
		Rankings: []*plumblinev1.Ranking{ranking},
		Signals:  signals,
	}
}

// noModel lets a server start that is asked for nothing that takes a model.
type noModel struct{ entail.Verifier }

func (noModel) Describe(context.Context) (entail.Description, error) {
	return entail.Description{Name: "none"}, nil
}
func (noModel) Probe(context.Context) error { return nil }
func (noModel) Close() error                { return nil }

// echo is a gRPC server that returns the message it is sent.
type echo struct {
	*grpc.Server
	address string
}

func startEcho() (*echo, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &echo{Server: grpc.NewServer(), address: listener.Addr().String()}
	e.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bench.Echo",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Echo", Handler: answer}},
	}, nil)
	go func() {
		if err := e.Serve(listener); err != nil {
			slog.Error("the echo server ended", "error", err)
		}
	}()
	return e, nil
}

//nolint:revive // grpc.MethodDesc puts the context second
func answer(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	message := new(plumblinev1.ScoreRetrievalRequest)
	return message, decode(message)
}
