package server

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"plumbline/server/fault"
	"plumbline/server/policy"
	"plumbline/server/service"
)

// metered is a stream whose messages are counted.
type metered[Req, Res any] struct {
	service.Stream[Req, Res]
	meter policy.Meter
}

// Recv implements service.Source.
func (s metered[Req, Res]) Recv() (*Req, error) {
	return meteredSource[Req]{s.Stream, s.meter}.Recv()
}

// Send implements service.Stream.
func (s metered[Req, Res]) Send(message *Res) error {
	if err := s.Stream.Send(message); err != nil {
		return err
	}
	s.meter.Sent(message)
	return nil
}

// meteredSource is the receiving half of metered.
type meteredSource[Req any] struct {
	service.Source[Req]
	meter policy.Meter
}

// Recv implements service.Source.
func (s meteredSource[Req]) Recv() (*Req, error) {
	message, err := s.Source.Recv()
	if err == nil {
		s.meter.Received(message)
	}
	return message, err
}

// begun is a source that begins its call with the first message.
type begun[Req any] struct {
	service.Source[Req]
	begin func() error // nil once it has
}

// Recv implements service.Source.
func (s *begun[Req]) Recv() (*Req, error) {
	message, err := s.Source.Recv()
	if err != nil || s.begin == nil {
		return message, err
	}
	err = s.begin()
	s.begin = nil
	return message, err
}

// grpcStream is a stream of grpc-go.
type grpcStream[Req, Res any] struct{ stream grpc.ServerStream }

// Recv implements service.Source.
func (s grpcStream[Req, Res]) Recv() (*Req, error) { return receiveGRPC[Req](s.stream) }

// Send implements service.Stream.
func (s grpcStream[Req, Res]) Send(message *Res) error {
	return transportError(s.stream.SendMsg(message))
}

func receiveGRPC[Req any](stream grpc.ServerStream) (*Req, error) {
	var in inbound[Req]
	if err := stream.RecvMsg(&in); err != nil {
		return nil, transportError(err)
	}
	return in.take()
}

// receiveWithin receives a message until the deadline of ctx, which the stream's own
// context need not have.
func receiveWithin[Req any](ctx context.Context, stream grpc.ServerStream) (*Req, error) {
	c, cuttable := stream.Context().Value(cuttableKey{}).(*cuttable)
	if deadline, ok := ctx.Deadline(); ok && cuttable {
		defer time.AfterFunc(time.Until(deadline), c.cut).Stop()
	}
	return receiveGRPC[Req](stream)
}

// cuttable is the context of a stream that can be ended from here, for which grpc-go
// has nothing else: a client that never ends its message would keep its call for as
// long as it likes.
type cuttable struct {
	context.Context //nolint:containedctx // it is one

	end  context.CancelFunc
	late atomic.Bool
}

type cuttableKey struct{}

// cut ends the stream as its deadline would.
func (c *cuttable) cut() {
	c.late.Store(true)
	c.end()
}

// Err implements context.Context; grpc-go tells it the client.
func (c *cuttable) Err() error {
	if c.late.Load() {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

// Value implements context.Context.
func (c *cuttable) Value(key any) any {
	if key == (cuttableKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// withCut makes the context of every stream cuttable.
func withCut(ctx context.Context, _ *tap.Info) (context.Context, error) {
	ctx, end := context.WithCancel(ctx) // ends with the stream
	return &cuttable{Context: ctx, end: end}, nil
}

// connectStream is a bidirectional stream of connect-go.
type connectStream[Req, Res any] struct {
	stream *connect.BidiStream[inbound[Req], Res]
}

// Recv implements service.Source.
func (s connectStream[Req, Res]) Recv() (*Req, error) {
	in, err := s.stream.Receive()
	if err != nil {
		return nil, transportError(err)
	}
	return in.take()
}

// Send implements service.Stream.
func (s connectStream[Req, Res]) Send(message *Res) error {
	return transportError(s.stream.Send(message))
}

// connectSource is a client stream of connect-go.
type connectSource[Req any] struct {
	stream *connect.ClientStream[inbound[Req]]
}

// Recv implements service.Source.
func (s connectSource[Req]) Recv() (*Req, error) {
	if s.stream.Receive() {
		return s.stream.Msg().take()
	}
	if err := s.stream.Err(); err != nil {
		return nil, transportError(err)
	}
	return nil, io.EOF
}

// transportError makes a failure of a transport's send or receive a fault. The
// transport has then told the client in its own words; the fault is for the
// log and the metrics.
func transportError(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	switch codeOf(err) {
	case codes.ResourceExhausted:
		return fault.New(fault.MessageTooLarge, "the message is larger than the server receives").Because(err)
	case codes.DeadlineExceeded:
		return fault.New(fault.DeadlineExceeded, "the deadline passed before the call was done").Because(err)
	case codes.InvalidArgument, codes.Internal, codes.Unimplemented:
		return fault.New(fault.MessageMalformed, "the message cannot be read").Because(err)
	default:
		return fault.New(fault.Cancelled, "the connection to the client ended").Because(err)
	}
}

func codeOf(err error) codes.Code {
	var connectErr *connect.Error
	if errors.As(err, &connectErr) {
		return codes.Code(connectErr.Code())
	}
	return status.Code(err)
}

func grpcCall(stream grpc.ServerStream, procedure string) *policy.Call {
	call := &policy.Call{Procedure: procedure, Protocol: connect.ProtocolGRPC}
	if p, ok := peer.FromContext(stream.Context()); ok {
		call.Peer = p.Addr.String()
	}
	return call
}

func connectCall(p connect.Peer, procedure string) *policy.Call {
	return &policy.Call{Procedure: procedure, Protocol: p.Protocol, Peer: p.Addr}
}

// pushback is the metadata key by which gRPC clients learn when to retry.
const pushback = "grpc-retry-pushback-ms"

// grpcError is a fault as grpc-go sends it.
func grpcError(stream grpc.ServerStream, err error) error {
	if err == nil {
		return nil
	}
	e := fault.From(err)
	if e.RetryAfter > 0 {
		stream.SetTrailer(metadata.Pairs(pushback, milliseconds(e.RetryAfter)))
	}
	return e.Status().Err()
}

// connectError is a fault as connect-go sends it.
func connectError(err error) error {
	if err == nil {
		return nil
	}
	e := fault.From(err)
	sent := connect.NewError(connect.Code(e.Reason.Code()), errors.New(e.Message))
	if e.RetryAfter > 0 {
		sent.Meta().Set(pushback, milliseconds(e.RetryAfter))
		sent.Meta().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	for _, d := range e.Details() {
		if detail, err := connect.NewErrorDetail(d); err == nil {
			sent.AddDetail(detail)
		}
	}
	return sent
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
