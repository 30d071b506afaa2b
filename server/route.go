package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/policy"
	"plumbline/server/service"
)

// route is one rpc on both transports. The two handlers differ in how they
// receive and send, and in nothing else.
type route struct {
	procedure string
	grpc      grpc.StreamDesc
	http      http.Handler
}

// service is the full name of the route's service.
func (r route) service() string {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.procedure, "/"), "/")
	return name
}

// routes is the one table of rpcs.
func routes(s *service.Service, b builder) []route {
	return []route{
		unary(b, plumblinev1.RetrievalService_ScoreRetrieval_FullMethodName, s.ScoreRetrieval),
		unary(b, plumblinev1.RetrievalService_BatchScoreRetrieval_FullMethodName, s.BatchScoreRetrieval),
		bidi(b, plumblinev1.RetrievalService_StreamScoreRetrieval_FullMethodName, s.StreamScoreRetrieval),

		unary(b, plumblinev1.GroundingService_ScoreGrounding_FullMethodName, s.ScoreGrounding),
		unary(b, plumblinev1.GroundingService_BatchScoreGrounding_FullMethodName, s.BatchScoreGrounding),
		bidi(b, plumblinev1.GroundingService_StreamScoreGrounding_FullMethodName, s.StreamScoreGrounding),

		unary(b, plumblinev1.ConfidenceService_ScoreConfidence_FullMethodName, s.ScoreConfidence),
		unary(b, plumblinev1.ConfidenceService_BatchScoreConfidence_FullMethodName, s.BatchScoreConfidence),
		bidi(b, plumblinev1.ConfidenceService_StreamScoreConfidence_FullMethodName, s.StreamScoreConfidence),

		unary(b, plumblinev1.TelemetryService_Observe_FullMethodName, s.Observe),

		unary(b, plumblinev1.GateService_Decide_FullMethodName, s.Decide),
		unary(b, plumblinev1.GateService_BatchDecide_FullMethodName, s.BatchDecide),
		bidi(b, plumblinev1.GateService_StreamDecide_FullMethodName, s.StreamDecide),
		unary(b, plumblinev1.GateService_ListGates_FullMethodName, s.ListGates),
		unary(b, plumblinev1.GateService_GetPolicy_FullMethodName, s.GetPolicy),

		collect(b, plumblinev1.CalibrationService_Fit_FullMethodName, s.Fit),
		collect(b, plumblinev1.CalibrationService_Evaluate_FullMethodName, s.Evaluate),
		collect(b, plumblinev1.CalibrationService_Replay_FullMethodName, s.Replay),

		unary(b, plumblinev1.VerifierService_Describe_FullMethodName, s.Describe),
		bidi(b, plumblinev1.VerifierService_Verify_FullMethodName, s.Verify),

		unary(b, plumblinev1.InfoService_GetInfo_FullMethodName, s.GetInfo),
	}
}

// builder has what every route is made with.
type builder struct {
	policy    *policy.Policy
	receiving time.Duration // how long the message of a unary call may take to arrive
	options   []connect.HandlerOption
}

// unary is the route of an rpc with one request and one response.
func unary[Req, Res any](b builder, procedure string, handle func(context.Context, *Req) (*Res, error)) route {
	free := isFree(procedure)
	options := b.options
	if free {
		options = append([]connect.HandlerOption{connect.WithIdempotency(connect.IdempotencyNoSideEffects)}, options...)
	}
	return route{
		procedure: procedure,
		grpc: grpc.StreamDesc{StreamName: methodName(procedure), Handler: func(_ any, stream grpc.ServerStream) error {
			call := grpcCall(stream, procedure)
			call.Free = free
			receive := func(ctx context.Context) (*Req, error) { return receiveWithin[Req](ctx, stream) }
			response, err := policy.Unary(stream.Context(), b.policy, call, receive, handle)
			if err != nil {
				return grpcError(stream, err)
			}
			return stream.SendMsg(response)
		}},
		http: arriving(b.policy, procedure, b.receiving, connect.NewUnaryHandler(procedure, func(ctx context.Context, req *connect.Request[inbound[Req]]) (*connect.Response[Res], error) {
			arrive(ctx)
			call := connectCall(req.Peer(), procedure)
			call.Free = free
			received := func(context.Context) (*Req, error) { return req.Msg.take() }
			response, err := policy.Unary(ctx, b.policy, call, received, handle)
			if err != nil {
				return nil, connectError(err)
			}
			return connect.NewResponse(response), nil
		}, options...)),
	}
}

// bidi is the route of an rpc with streams both ways.
func bidi[Req, Res any](b builder, procedure string, handle func(context.Context, service.Stream[Req, Res]) error) route {
	return route{
		procedure: procedure,
		grpc: grpc.StreamDesc{StreamName: methodName(procedure), ClientStreams: true, ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			err := b.policy.Open(stream.Context(), grpcCall(stream, procedure), func(ctx context.Context, meter policy.Meter) error {
				return handle(ctx, metered[Req, Res]{grpcStream[Req, Res]{stream}, meter})
			})
			return grpcError(stream, err)
		}},
		http: arriving(b.policy, procedure, 0, connect.NewBidiStreamHandler(procedure, func(ctx context.Context, stream *connect.BidiStream[inbound[Req], Res]) error {
			arrive(ctx)
			err := b.policy.Open(ctx, connectCall(stream.Peer(), procedure), func(ctx context.Context, meter policy.Meter) error {
				return handle(ctx, metered[Req, Res]{connectStream[Req, Res]{stream}, meter})
			})
			return connectError(err)
		}, b.options...)),
	}
}

// collect is the route of an rpc with a stream of requests and one response.
func collect[Req, Res any](b builder, procedure string, handle func(context.Context, service.Source[Req]) (*Res, error)) route {
	return route{
		procedure: procedure,
		grpc: grpc.StreamDesc{StreamName: methodName(procedure), ClientStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			err := b.policy.Collect(stream.Context(), grpcCall(stream, procedure), func(ctx context.Context, meter policy.Meter, begin func() error) error {
				messages := metered[Req, Res]{grpcStream[Req, Res]{stream}, meter}
				response, err := handle(ctx, &begun[Req]{messages, begin})
				if err != nil {
					return err
				}
				return messages.Send(response)
			})
			return grpcError(stream, err)
		}},
		http: arriving(b.policy, procedure, 0, connect.NewClientStreamHandler(procedure, func(ctx context.Context, stream *connect.ClientStream[inbound[Req]]) (*connect.Response[Res], error) {
			arrive(ctx)
			var response *Res
			err := b.policy.Collect(ctx, connectCall(stream.Peer(), procedure), func(ctx context.Context, meter policy.Meter, begin func() error) (err error) {
				response, err = handle(ctx, &begun[Req]{meteredSource[Req]{connectSource[Req]{stream}, meter}, begin})
				if err == nil {
					meter.Sent(response)
				}
				return err
			})
			if err != nil {
				return nil, connectError(err)
			}
			return connect.NewResponse(response), nil
		}, b.options...)),
	}
}

func methodName(procedure string) string {
	return procedure[strings.LastIndexByte(procedure, '/')+1:]
}

// isFree says whether the schema declares the rpc free of side effects, which
// here also means that it takes no user text and costs next to nothing.
func isFree(procedure string) bool {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(procedure, "/"), "/", "."))
	descriptor, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return false
	}
	options, ok := descriptor.Options().(*descriptorpb.MethodOptions)
	return ok && options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}
