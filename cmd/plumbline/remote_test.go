package main_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"plumbline/internal/orttest"
	"plumbline/internal/testport"
	"plumbline/internal/testwait"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/fault"
)

// standIn is a server whose one rpc a test writes.
type standIn struct {
	plumblinev1.UnimplementedRetrievalServiceServer
	score func(context.Context, *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error)
}

func (s *standIn) ScoreRetrieval(ctx context.Context, req *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error) {
	return s.score(ctx, req)
}

// serve starts a stand-in and returns its address.
func serve(t *testing.T, score func(context.Context, *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	plumblinev1.RegisterRetrievalServiceServer(server, &standIn{score: score})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func TestScoreOnAServer(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	addr := serve(t, func(_ context.Context, req *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error) {
		switch req.GetId() {
		case "2":
			return nil, refusal(t)
		case "3":
			if attempts.Add(1) < 3 {
				return nil, status.Error(codes.Unavailable, "shutting down")
			}
		}
		return &plumblinev1.ScoreRetrievalResponse{Id: req.GetId()}, nil
	})
	got := plumbline(t, record(1)+"\n"+record(2)+"\n"+record(3)+"\n", "score", "retrieval", "--addr", addr)
	lines := got.lines()
	if got.code != 1 || len(lines) != 3 {
		t.Fatalf("%+v", got)
	}
	if fields(t, lines[0])["id"] != "1" || fields(t, lines[2])["id"] != "3" {
		t.Errorf("%s", got.stdout)
	}
	failure := failed(t, lines[1])
	for name, want := range map[string]any{
		"line": 2.0, "code": "INVALID_ARGUMENT", "field": "rankings[0].name", "reason": "FIELD_INVALID", "message": "rankings[0].name: refused",
	} {
		if failure[name] != want {
			t.Errorf("%s is %v, want %v", name, failure[name], want)
		}
	}
	if attempts.Load() != 3 {
		t.Errorf("%d attempts", attempts.Load())
	}
}

// refusal is an error as the server sends it.
func refusal(t *testing.T) error {
	st, err := status.New(codes.InvalidArgument, "rankings[0].name: refused").WithDetails(
		&errdetails.ErrorInfo{Reason: "FIELD_INVALID", Domain: "plumbline.v1"},
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "rankings[0].name"}}},
	)
	if err != nil {
		t.Error(err)
	}
	return st.Err()
}

// serving starts the server itself and returns where it listens.
func serving(t *testing.T, arguments ...string) (running *conversation, addr string) {
	t.Helper()
	orttest.Library(t)
	running = talk(t, append([]string{"serve", "--http-addr", ""}, arguments...)...)
	addr = running.until(t, grpcAt)
	return running, addr
}

func TestNoRecordFailsWhileTheServerIsFull(t *testing.T) {
	t.Parallel()
	_, addr := serving(t, "--grpc-addr", "127.0.0.1:0", "--limits-max-concurrent-calls", "1", "--limits-admission-wait", "0s")
	const records = 60
	evidence := strings.Repeat("The bridge opened to traffic in 1932. ", 5)
	var input strings.Builder
	for i := range records {
		fmt.Fprintf(&input, `{"evidence":[{"text":"Case %d. %s"}],"answer":"The bridge opened in 1932."}`+"\n", i, evidence)
	}
	got := plumbline(t, input.String(), "score", "grounding", "--addr", addr, "--parallel", "60")
	// Where it takes long, the wait for the server is told.
	if got.code != 0 || strings.Contains(got.stderr, "line ") || len(got.lines()) != records {
		t.Errorf("exit code %d, %d lines, %.1000s", got.code, len(got.lines()), got.stderr)
	}
}

func TestNoRecordFailsWhileTheServerIsRestarted(t *testing.T) {
	t.Parallel()
	running, addr := serving(t, "--grpc-addr", testport.Address(t))
	client := talk(t, "score", "retrieval", "--addr", addr, "--parallel", "8")
	sent, received := 0, 0
	send := func(records int) {
		t.Helper()
		for range records {
			fmt.Fprintln(client.in, record(sent))
			sent++
		}
	}
	receive := func() {
		t.Helper()
		for ; received < sent; received++ {
			line, err := client.out.ReadString('\n')
			if err != nil || fields(t, line)["id"] != fmt.Sprint(received) {
				t.Fatalf("record %d: %q, %v", received, line, err)
			}
		}
	}
	for _, outage := range []struct {
		signal os.Signal
		long   bool
	}{{syscall.SIGTERM, false}, {syscall.SIGKILL, true}} {
		send(20)
		receive()
		send(40) // some of which may be under way
		if err := running.command.Process.Signal(outage.signal); err != nil {
			t.Fatal(err)
		}
		_ = running.command.Wait() // one of the signals is a failure
		send(40)
		if outage.long {
			testwait.For(t, "the client to tell that it waits", func() bool {
				return strings.Contains(client.stderr.String(), "waiting for the server: ")
			})
		}
		running, _ = serving(t, "--grpc-addr", addr)
		receive()
	}
	_ = client.in.Close()
	if got := client.end(t); got.code != 0 {
		t.Errorf("%+v", got)
	}
}

func TestLargeRecordsAreSentAgain(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	addr := serve(t, func(_ context.Context, req *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error) {
		if attempts.Add(1) < 3 {
			return nil, status.Error(codes.Unavailable, "shutting down")
		}
		return &plumblinev1.ScoreRetrievalResponse{Id: req.GetId()}, nil
	})
	got := plumbline(t, fmt.Sprintf(`{"id":"1","question":%q}`, strings.Repeat("x", 1<<20)), "score", "retrieval", "--addr", addr)
	if got.code != 0 || attempts.Load() != 3 {
		t.Errorf("%d attempts, %+v", attempts.Load(), got)
	}
}

func TestARecordThatIsRefusedToTheEndHasTheServersWords(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(context.Context, *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error) {
		return nil, fault.New(fault.Overloaded, "too many calls").Status().Err()
	})
	got := plumbline(t, record(1), "score", "retrieval", "--addr", addr, "--timeout", "5s")
	failure := failed(t, got.stdout)
	if got.code != 1 || failure["code"] != "RESOURCE_EXHAUSTED" || failure["reason"] != "OVERLOADED" || failure["message"] != "too many calls" {
		t.Errorf("%+v", got)
	}
}

func TestTimeoutOfOneRecord(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(ctx context.Context, req *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error) {
		if req.GetId() == "1" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return &plumblinev1.ScoreRetrievalResponse{Id: req.GetId()}, nil
	})
	// It bounds the second record too, which a loaded machine must answer in it.
	got := plumbline(t, record(1)+"\n"+record(2)+"\n", "score", "retrieval", "--addr", addr, "--timeout", "2s")
	lines := got.lines()
	if got.code != 1 || len(lines) != 2 || failed(t, lines[0])["code"] != "DEADLINE_EXCEEDED" || fields(t, lines[1])["id"] != "2" {
		t.Errorf("%+v", got)
	}
}

// TestAnInterruptEndsTheWaitForAServer: the first record is answered, the second is
// refused for as long as the server is asked.
func TestAnInterruptEndsTheWaitForAServer(t *testing.T) {
	t.Parallel()
	refused := make(chan struct{}, 1000)
	addr := serve(t, func(_ context.Context, req *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error) {
		if req.GetId() == "1" {
			return &plumblinev1.ScoreRetrievalResponse{Id: req.GetId()}, nil
		}
		refused <- struct{}{}
		return nil, fault.New(fault.Draining, "shutting down").Status().Err()
	})
	c := talk(t, "score", "retrieval", "--addr", addr)
	if _, err := c.in.Write([]byte(record(1) + "\n" + record(2) + "\n")); err != nil {
		t.Fatal(err)
	}
	<-refused
	if err := c.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	got := c.end(t)
	if got.code != 130 || len(got.lines()) != 1 || fields(t, got.lines()[0])["id"] != "1" || !strings.Contains(got.stderr, "interrupted after 1 records, of which 0 failed") {
		t.Errorf("%+v", got)
	}
}

func TestSecondInterruptDoesNotWait(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 1)
	addr := serve(t, func(ctx context.Context, _ *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error) {
		called <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	c := talk(t, "score", "retrieval", "--addr", addr)
	if _, err := c.in.Write([]byte(record(1) + "\n")); err != nil {
		t.Fatal(err)
	}
	<-called
	ended := make(chan result, 1)
	go func() { ended <- c.end(t) }()
	// The first signal lets the record finish, which it never does. Signals that
	// come together may count as one, so the second is sent until it is heard.
	for {
		if err := c.command.Process.Signal(os.Interrupt); err != nil && !strings.Contains(err.Error(), "finished") {
			t.Fatal(err)
		}
		select {
		case got := <-ended:
			if got.code != 130 || got.stdout != "" {
				t.Errorf("%+v", got)
			}
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// waitFor waits until something holds; the test's own deadline bounds it.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for !holds() {
		select {
		case <-t.Context().Done():
			t.Fatal("it never held")
		case <-time.After(5 * time.Millisecond):
		}
	}
}
