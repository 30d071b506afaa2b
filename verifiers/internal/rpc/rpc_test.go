package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // for the bomb
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"plumbline/scorers/entail"
	"plumbline/verifiers/protocols/inference"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers ServerReady with a function, and a large message to ModelInfer.
type server struct {
	inference.UnimplementedGRPCInferenceServiceServer
	ready func(context.Context) error
}

func (s server) ServerReady(ctx context.Context, _ *inference.ServerReadyRequest) (*inference.ServerReadyResponse, error) {
	return &inference.ServerReadyResponse{}, s.ready(ctx)
}

func (s server) ModelInfer(ctx context.Context, _ *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	return &inference.ModelInferResponse{RawOutputContents: [][]byte{make([]byte, 2*maxReplyBytes)}}, grpc.SetSendCompressor(ctx, "gzip")
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func dial(t *testing.T, listener net.Listener, timeout time.Duration) inference.GRPCInferenceServiceClient {
	t.Helper()
	conn, err := Dial(&url.URL{Scheme: Plain, Host: listener.Addr().String()}, "sesame", timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return inference.NewGRPCInferenceServiceClient(conn)
}

func serve(t *testing.T, timeout time.Duration, ready func(context.Context) error) inference.GRPCInferenceServiceClient {
	t.Helper()
	listener, s := listen(t), grpc.NewServer()
	inference.RegisterGRPCInferenceServiceServer(s, server{ready: ready})
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return dial(t, listener, timeout)
}

func ask(ctx context.Context, client inference.GRPCInferenceServiceClient) error {
	_, err := client.ServerReady(ctx, &inference.ServerReadyRequest{})
	return err
}

func TestTheKeyIsABearerToken(t *testing.T) {
	client := serve(t, time.Minute, func(ctx context.Context) error {
		md, _ := metadata.FromIncomingContext(ctx)
		if got := strings.Join(md.Get("authorization"), ","); got != "Bearer sesame" {
			t.Errorf("asked with %q", got)
		}
		return nil
	})
	if err := ask(t.Context(), client); err != nil {
		t.Error(err)
	}
}

func TestStatusesAreMapped(t *testing.T) {
	for code, want := range map[codes.Code]error{
		codes.Unavailable: entail.ErrUnavailable, codes.Internal: entail.ErrUnavailable, codes.Unknown: entail.ErrUnavailable,
		codes.Aborted: entail.ErrUnavailable, codes.Canceled: entail.ErrUnavailable, codes.DeadlineExceeded: entail.ErrUnavailable,
		codes.ResourceExhausted: entail.ErrBusy, codes.DataLoss: entail.ErrBadReply,
		codes.InvalidArgument: entail.ErrRejected, codes.NotFound: entail.ErrRejected, codes.Unauthenticated: entail.ErrRejected,
		codes.PermissionDenied: entail.ErrRejected, codes.Unimplemented: entail.ErrRejected, codes.FailedPrecondition: entail.ErrRejected,
	} {
		client := serve(t, time.Minute, func(context.Context) error { return status.Error(code, "about evidence") })
		err := ask(t.Context(), client)
		cause, ok := errors.AsType[*StatusError](err)
		if !errors.Is(err, want) || !ok || cause.Code != code || strings.Contains(err.Error(), "evidence") {
			t.Errorf("%v: got %v, want %v", code, err, want)
		}
		if explained := Explain(err); !errors.Is(explained, want) || !strings.Contains(explained.Error(), "about evidence") {
			t.Errorf("%v: explained as %v", code, explained)
		}
	}
}

func TestExplanationsAreBounded(t *testing.T) {
	client := serve(t, time.Minute, func(context.Context) error { return status.Error(codes.NotFound, strings.Repeat("ß", 1000)) })
	if text := Explain(ask(t.Context(), client)).Error(); len(text) > maxExplanation+100 {
		t.Errorf("an error of %d bytes", len(text))
	}
}

func TestRetryInfo(t *testing.T) {
	client := serve(t, time.Minute, func(context.Context) error {
		s, err := status.New(codes.ResourceExhausted, "full").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(3 * time.Second)})
		if err != nil {
			t.Error(err)
		}
		return s.Err()
	})
	err := ask(t.Context(), client)
	if invitation, ok := errors.AsType[*entail.RetryAfter](err); !ok || invitation.After != 3*time.Second || !errors.Is(err, entail.ErrBusy) {
		t.Errorf("got %v", err)
	}
}

func TestTimeouts(t *testing.T) {
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	client := serve(t, 50*time.Millisecond, hang)
	if err := ask(t.Context(), client); !errors.Is(err, entail.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("our own: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := ask(ctx, client); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the caller's: %v", err)
	}
}

// A reply that is too large is the server's fault, and a request that is too
// large ours, although gRPC gives both the same status.
// The server was told of the caller's deadline, and its clock may be the first to
// see it pass.
func TestTheCallersDeadlineThatTheServerSeesFirst(t *testing.T) {
	for _, code := range []codes.Code{codes.DeadlineExceeded, codes.Canceled} {
		client := serve(t, time.Hour, func(context.Context) error { return status.Error(code, "over") })
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Millisecond)
		if err := ask(ctx, client); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, entail.ErrUnavailable) {
			t.Errorf("%v just before the deadline: %v", code, err)
		}
		cancel()
	}
}

func TestSizes(t *testing.T) {
	client := serve(t, time.Minute, nil)
	_, err := client.ModelInfer(t.Context(), &inference.ModelInferRequest{})
	if !errors.Is(err, entail.ErrBadReply) || TooLarge(err) {
		t.Errorf("the reply: %v", err)
	}
	_, err = client.ModelInfer(t.Context(), &inference.ModelInferRequest{Id: strings.Repeat("x", 5<<20)})
	if !TooLarge(err) {
		t.Errorf("the request: %v", err)
	}
}

// A peer that breaks HTTP/2 or is gone in the middle of a frame is not
// available, and nothing hangs on it.
func TestFaultsOnTheWire(t *testing.T) {
	const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	headers := "\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88" // :status 200 and no more
	for name, answer := range map[string]string{
		"nothing":          "",
		"another protocol": "HTTP/1.1 400 Bad Request\r\n\r\n",
		"garbage":          strings.Repeat("\xff\x00garbage", 100),
		"half a frame":     settings + "\x00\x40\x00\x01\x04\x00\x00\x00\x01half",
		"half a message":   settings + headers + "\x00\x00\x09\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00half",
	} {
		t.Run(name, func(t *testing.T) {
			listener := listen(t)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					// The client's preface first, so that there is a request to fail.
					_, _ = io.ReadFull(conn, make([]byte, 24))
					_, _ = io.WriteString(conn, answer)
					time.Sleep(20 * time.Millisecond)
					_ = conn.Close()
				}
			}()
			defer func() { _ = listener.Close(); <-done }()
			err := ask(t.Context(), dial(t, listener, time.Second))
			if !errors.Is(err, entail.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		})
	}
}
