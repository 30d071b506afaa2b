// Package policy is what the server does around every call, whatever the
// transport: it recovers from panics, logs, counts, sets deadlines, admits or
// refuses, and drains. It knows no transport; package server has one thin
// adapter for grpc-go and one for connect-go.
package policy

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"plumbline/scorers/entail"
	"plumbline/server/fault"
	"plumbline/server/metrics"
)

// Limits are the bounds that a Policy enforces.
type Limits struct {
	// MaxConcurrentCalls bounds the calls with one response that one service works on.
	MaxConcurrentCalls int
	// MaxOpenStreams bounds the streaming calls of the process.
	MaxOpenStreams int
	// AdmissionWait is how long such a call waits for a place.
	AdmissionWait time.Duration
	// DefaultDeadline is the deadline of a unary call that has none, and
	// MaxDeadline the longest that one may have.
	DefaultDeadline, MaxDeadline time.Duration
}

// Policy treats all calls of a server. It is safe for concurrent use.
type Policy struct {
	limits    Limits
	metrics   *metrics.Metrics
	log       *slog.Logger
	admission *admission
	calls     tracker
}

// New returns a Policy.
func New(limits Limits, m *metrics.Metrics, log *slog.Logger) *Policy {
	return &Policy{limits: limits, metrics: m, log: log, admission: newAdmission(limits)}
}

// Call is one call as a transport announces it.
type Call struct {
	// Procedure is the path of the rpc, such as
	// "/plumbline.v1.GateService/Decide".
	Procedure string
	// Free says that the rpc costs next to nothing and takes no user text: it
	// is answered during overload.
	Free bool
	// Protocol is "grpc", "grpcweb" or "connect".
	Protocol string
	// Peer is the client's network address.
	Peer string

	// A stream's last Recv may outlast its call.
	received, sent           atomic.Int64
	receivedBytes, sentBytes atomic.Int64
}

// Unary runs a unary call: receive, admit, handle. The place that admission
// gives is held while the call is handled, not while a slow client sends. The
// deadline counts from the call's beginning: receive ends with its context.
func Unary[Req, Res any](
	ctx context.Context, p *Policy, call *Call,
	receive func(context.Context) (*Req, error), handle func(context.Context, *Req) (*Res, error),
) (response *Res, err error) {
	err = p.run(ctx, call, func(ctx context.Context) error {
		ctx, cancel := p.deadline(ctx)
		defer cancel()
		request, err := receive(ctx)
		if err != nil {
			return err
		}
		p.received(call, request)
		release, err := p.admission.admitCall(ctx, call)
		if err != nil {
			return err
		}
		defer release()
		response, err = handle(ctx, request)
		if err != nil {
			return err
		}
		p.sent(call, response)
		return nil
	})
	return response, err
}

// Open runs a streaming call. The messages are those of the handler's stream,
// which reports them by Received and Sent.
func (p *Policy) Open(ctx context.Context, call *Call, handle func(context.Context, Meter) error) error {
	return p.run(ctx, call, func(ctx context.Context) error {
		release, err := p.admission.admitStream()
		if err != nil {
			return err
		}
		defer release()
		return handle(ctx, Meter{policy: p, call: call})
	})
}

// Collect runs a call with a stream of requests and one response: a stream that, from
// its first request on, holds a place of its service, for which handle asks by begin:
// what it collects takes memory, and then a processor.
func (p *Policy) Collect(ctx context.Context, call *Call, handle func(ctx context.Context, m Meter, begin func() error) error) error {
	return p.Open(ctx, call, func(ctx context.Context, m Meter) error {
		var release func() // once there is a place
		defer func() {
			if release != nil {
				release()
			}
		}()
		return handle(ctx, m, func() (err error) {
			release, err = p.admission.admitCall(ctx, call)
			return err
		})
	})
}

// Meter counts the messages of a stream.
type Meter struct {
	policy *Policy
	call   *Call
}

// Received counts a message from the client.
func (m Meter) Received(message any) { m.policy.received(m.call, message) }

// Sent counts a message to the client.
func (m Meter) Sent(message any) { m.policy.sent(m.call, message) }

func (p *Policy) received(call *Call, message any) {
	size := sizeOf(message)
	call.received.Add(1)
	call.receivedBytes.Add(int64(size))
	p.metrics.Received(call.Procedure, size)
}

func (p *Policy) sent(call *Call, message any) {
	size := sizeOf(message)
	call.sent.Add(1)
	call.sentBytes.Add(int64(size))
	p.metrics.Sent(call.Procedure, size)
}

func sizeOf(message any) int {
	switch m := message.(type) {
	case interface{ SizeVT() int }: // generated code, several times as fast
		return m.SizeVT()
	case proto.Message:
		return proto.Size(m)
	default:
		return 0
	}
}

// run is what unary and streaming calls have in common. Its error is nil or a
// *fault.Error.
func (p *Policy) run(ctx context.Context, call *Call, handle func(context.Context) error) error {
	start := time.Now()
	end := p.metrics.Begin(call.Procedure, call.Protocol)
	err := fault.From(p.tracked(entail.WithAccount(ctx), handle))
	took := time.Since(start)
	code := "OK"
	if err != nil {
		code = err.CodeName()
		if err.Reason == fault.Overloaded || err.Reason == fault.Draining {
			p.metrics.Refused(string(err.Reason))
		}
	}
	end(code, took)
	p.record(ctx, call, code, err, took)
	if err == nil {
		return nil
	}
	return err
}

func (p *Policy) tracked(ctx context.Context, handle func(context.Context) error) error {
	if !p.calls.begin() {
		return fault.New(fault.Draining, "the server is shutting down; retry on another connection")
	}
	defer p.calls.end()
	return fault.Guard(func() error { return handle(ctx) })
}

// toReply is the part of the client's time that is kept for the reply, up to mostToReply.
const (
	toReply     = 0.1
	mostToReply = 100 * time.Millisecond
)

// deadline gives a unary call its deadline. It comes a little before the client's own:
// what is known by then, and that the rest is not, must still reach the client, which
// hangs up at its deadline.
func (p *Policy) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := p.limits.DefaultDeadline
	if clients, ok := ctx.Deadline(); ok {
		left := time.Until(clients)
		limit = min(left-min(time.Duration(toReply*float64(left)), mostToReply), p.limits.MaxDeadline)
	}
	return context.WithTimeout(ctx, limit)
}

// record writes the access log: one line a call, without user text. The
// messages of errors stay out too, because they may quote field names that a
// client made up; what a defect says goes in, at level error.
func (p *Policy) record(ctx context.Context, call *Call, code string, err *fault.Error, took time.Duration) {
	level := slog.LevelInfo
	attributes := []slog.Attr{
		slog.String("procedure", call.Procedure),
		slog.String("protocol", call.Protocol),
		slog.String("peer", call.Peer),
		slog.String("code", code),
		slog.Float64("took_ms", float64(took.Microseconds())/1000),
		slog.Int64("received", call.received.Load()),
		slog.Int64("received_bytes", call.receivedBytes.Load()),
		slog.Int64("sent", call.sent.Load()),
		slog.Int64("sent_bytes", call.sentBytes.Load()),
	}
	if err != nil {
		attributes = append(attributes, slog.String("reason", string(err.Reason)))
		if err.Reason == fault.Internal {
			level = slog.LevelError
			attributes = append(attributes, slog.String("error", err.Error()))
		}
	}
	p.log.LogAttrs(ctx, level, "call", attributes...)
}

// Unreadable records a request that the transport has refused before it became
// a call, and answered by itself.
func (p *Policy) Unreadable(ctx context.Context, procedure, peer string) {
	p.metrics.Refused("UNREADABLE")
	p.log.LogAttrs(ctx, slog.LevelInfo, "unreadable request", slog.String("procedure", procedure), slog.String("peer", peer))
}

// Drain refuses new calls from now on and returns a channel that is closed
// when the last call in flight has ended.
func (p *Policy) Drain() <-chan struct{} { return p.calls.drain() }

// retryAfter is what an overloaded server asks for: long enough for a place to
// come free, and spread so that the refused do not come back together.
func retryAfter() time.Duration {
	const least = 100 * time.Millisecond
	return least + rand.N(least)
}
