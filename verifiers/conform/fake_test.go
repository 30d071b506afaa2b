package conform_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/verifiers/remote"
)

// fake is a sidecar that keeps the contract, but for what its hooks change. It
// scores one pair at a time, as a model in one thread does.
type fake struct {
	plumblinev1.UnimplementedVerifierServiceServer

	description *plumblinev1.DescribeResponse
	// server is the health of the whole server, serving that of VerifierService.
	server, serving healthpb.HealthCheckResponse_ServingStatus
	listed          reflection.ServiceInfoProvider // nil: the server itself
	maxMessage      int

	validate func(*plumblinev1.VerifyRequest) error
	// check refuses pairs after validate.
	check func(pair *plumblinev1.VerifyPair) error
	// score is the result of the pair at an index of its message.
	score func(pair *plumblinev1.VerifyPair, index, size int) *plumblinev1.VerifyResult
	// respond is the last touch to a response.
	respond func(*plumblinev1.VerifyResponse)
	// working is the context that the scoring of a call heeds.
	working func(context.Context) context.Context
	// atEnd answers only when the client has sent all.
	atEnd bool

	model  sync.Mutex // held while a message is scored
	active atomic.Int32
}

func newFake(t testing.TB) *fake {
	validator, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	return &fake{
		description: &plumblinev1.DescribeResponse{
			Name: "fake", Digest: "sha256:fake", MaxTokens: 512, TrainedTokens: 256, PairOverhead: 3, Deterministic: true, ProtocolVersion: 1,
			Classes: []plumblinev1.EntailmentClass{
				plumblinev1.EntailmentClass_ENTAILMENT_CLASS_CONTRADICTION,
				plumblinev1.EntailmentClass_ENTAILMENT_CLASS_ENTAILMENT,
				plumblinev1.EntailmentClass_ENTAILMENT_CLASS_NEUTRAL,
			},
		},
		server:     healthpb.HealthCheckResponse_SERVING,
		serving:    healthpb.HealthCheckResponse_SERVING,
		maxMessage: 4 << 20,
		validate: func(request *plumblinev1.VerifyRequest) error {
			if err := validator.Validate(request); err != nil {
				return status.Error(codes.InvalidArgument, "the request breaks a rule")
			}
			ids := make(map[string]bool)
			for _, pair := range request.GetPairs() {
				if ids[pair.GetId()] {
					return status.Error(codes.InvalidArgument, "an id is there twice")
				}
				ids[pair.GetId()] = true
			}
			return nil
		},
		check:   func(*plumblinev1.VerifyPair) error { return nil },
		score:   func(pair *plumblinev1.VerifyPair, _, _ int) *plumblinev1.VerifyResult { return judge(pair) },
		respond: func(*plumblinev1.VerifyResponse) {},
		working: func(ctx context.Context) context.Context { return ctx },
	}
}

// judge is what the fake is to answer.
func judge(pair *plumblinev1.VerifyPair) *plumblinev1.VerifyResult {
	if len(pair.GetPremise())+len(pair.GetHypothesis()) > 100_000 {
		return &plumblinev1.VerifyResult{Id: pair.GetId(), Status: plumblinev1.Status_STATUS_TOO_LONG, Reason: "too long"}
	}
	batch, _ := entailtest.Overlap().Verify(context.Background(), []entail.Pair{{Premise: pair.GetPremise(), Hypothesis: pair.GetHypothesis()}})
	p := 0.05 + 0.9*batch.Results[0].Scores.Entailment
	return scored(pair.GetId(), p, (1-p)*0.75, (1-p)*0.25)
}

func scored(id string, entailment, neutral, contradiction float64) *plumblinev1.VerifyResult {
	return &plumblinev1.VerifyResult{
		Id: id, Status: plumblinev1.Status_STATUS_OK,
		Probabilities: &plumblinev1.ClassProbabilities{Entailment: entailment, Neutral: &neutral, Contradiction: &contradiction},
	}
}

func (f *fake) Describe(context.Context, *plumblinev1.DescribeRequest) (*plumblinev1.DescribeResponse, error) {
	return f.description, nil
}

func (f *fake) Verify(stream grpc.BidiStreamingServer[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse]) error {
	defer f.active.Add(-1)
	f.active.Add(1)
	var waiting []*plumblinev1.VerifyResponse
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := f.validate(request); err != nil {
			return err
		}
		response, err := f.answer(f.working(stream.Context()), request)
		if err != nil {
			return err
		}
		if f.atEnd {
			waiting = append(waiting, response)
		} else if err := stream.Send(response); err != nil {
			return err
		}
	}
	for _, response := range waiting {
		if err := stream.Send(response); err != nil {
			return err
		}
	}
	return nil
}

func (f *fake) answer(ctx context.Context, request *plumblinev1.VerifyRequest) (*plumblinev1.VerifyResponse, error) {
	f.model.Lock()
	defer f.model.Unlock()
	response := &plumblinev1.VerifyResponse{Digest: f.description.GetDigest()}
	for i, pair := range request.GetPairs() {
		if err := f.check(pair); err != nil {
			return nil, err
		}
		if strings.Contains(pair.GetPremise(), "note") {
			time.Sleep(20 * time.Millisecond) // pairs of the long calls cost time
		}
		if ctx.Err() != nil {
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		response.Results = append(response.Results, f.score(pair, i, len(request.GetPairs())))
	}
	f.respond(response)
	return response, nil
}

// serve starts the fake and connects to it.
func (f *fake) serve(t testing.TB) *remote.Verifier {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(f.maxMessage))
	plumblinev1.RegisterVerifierServiceServer(server, f)
	checks := health.NewServer()
	checks.SetServingStatus("", f.server)
	checks.SetServingStatus(plumblinev1.VerifierService_ServiceDesc.ServiceName, f.serving)
	healthpb.RegisterHealthServer(server, checks)
	if f.listed == nil {
		reflection.Register(server)
	} else {
		reflectionpb.RegisterServerReflectionServer(server, reflection.NewServerV1(reflection.ServerOptions{Services: f.listed}))
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	client, err := remote.Open(remote.Config{Address: "grpc://" + listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
