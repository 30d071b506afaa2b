package sidecar_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"plumbline/client/go/sidecar"
	"plumbline/internal/testwait"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/verifiers"
	"plumbline/verifiers/conform"
	"plumbline/verifiers/remote"
	"plumbline/verifiers/spawn"
	"plumbline/verifiers/spawn/handshake"
)

// root is the checkout.
const root = "../../.."

// listenEnv makes the test binary serve on its own, folderEnv is where it leaves
// marks for the test, and graceEnv is its grace period.
const (
	listenEnv = "TEST_LISTEN"
	folderEnv = "TEST_FOLDER"
	graceEnv  = "TEST_GRACE"
)

// patientGrace is more than a loaded machine needs to let a slow pair end.
const patientGrace = time.Minute

// The files of that folder: a slow pair is being scored, and it may end.
const (
	entered = "entered"
	goOn    = "go on"
)

// TestMain lets the test binary be a sidecar.
func TestMain(m *testing.M) {
	listen := os.Getenv(listenEnv)
	if !handshake.Spawned() && listen == "" {
		m.Run()
		return
	}
	grace, err := time.ParseDuration(cmp.Or(os.Getenv(graceEnv), patientGrace.String()))
	if err != nil {
		panic(err)
	}
	config := sidecar.Config{Listen: strings.TrimPrefix(listen, "none"), Grace: grace}
	if err := sidecar.Serve(context.Background(), slow{entailtest.Overlap()}, config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// slow takes until it may go on for a pair that says so, whether or not its
// context ends for a deaf one, and panics for another.
type slow struct{ entail.Verifier }

// Describe names no window, since Overlap has none.
func (s slow) Describe(ctx context.Context) (entail.Description, error) {
	description, err := s.Verifier.Describe(ctx)
	description.MaxTokens, description.PairOverhead = 0, 0
	return description, err
}

func (s slow) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	switch hypothesis := pairs[0].Hypothesis; hypothesis {
	case "slow", "deaf":
		if hypothesis == "deaf" {
			ctx = context.WithoutCancel(ctx)
		}
		folder := os.Getenv(folderEnv)
		if err := os.WriteFile(filepath.Join(folder, entered), nil, 0o600); err != nil {
			return entail.Batch{}, err
		}
		if err := appear(ctx, filepath.Join(folder, goOn)); err != nil {
			return entail.Batch{}, err
		}
	case "panic":
		panic("a defect of the verifier")
	}
	return s.Verifier.Verify(ctx, pairs)
}

// appear waits for a file.
func appear(ctx context.Context, path string) error {
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// process is a sidecar and this test is its host.
type process struct {
	folder string
	offer  handshake.Offer
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *strings.Builder
	conn   *grpc.ClientConn
}

// host starts the test binary as a sidecar and waits for its line.
func host(t *testing.T, grace time.Duration) *process {
	t.Helper()
	folder, err := os.MkdirTemp("", "plumbline-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	p := &process{folder: folder, offer: handshake.New(filepath.Join(folder, "s")), cmd: exec.Command(os.Args[0]), stderr: new(strings.Builder)}
	p.cmd.Env, p.cmd.Stderr = append(p.offer.Environ(), folderEnv+"="+folder, graceEnv+"="+grace.String()), p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := p.offer.Check(strings.TrimSuffix(line, "\n")); err != nil {
		t.Fatal(err)
	}
	p.conn = dial(t, "unix:"+p.offer.Socket)
	return p
}

// begin sends a slow or a deaf pair and returns when it is being scored.
func (p *process) begin(ctx context.Context, t *testing.T, hypothesis string) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { _, err := verify(ctx, p.conn, hypothesis); done <- err }()
	if err := appear(ctx, filepath.Join(p.folder, entered)); err != nil {
		t.Fatalf("the %s pair did not arrive: %v", hypothesis, err)
	}
	return done
}

// wait returns how the process ended.
func (p *process) wait(t *testing.T) (err error) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	testwait.For(t, "the end of the sidecar", func() bool {
		select {
		case err = <-ended:
			return true
		default:
			return false
		}
	})
	return err
}

func dial(t *testing.T, target string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// verify sends one pair and returns its result.
func verify(ctx context.Context, conn *grpc.ClientConn, hypothesis string) (*plumblinev1.VerifyResult, error) {
	stream, err := plumblinev1.NewVerifierServiceClient(conn).Verify(ctx)
	if err != nil {
		return nil, err
	}
	if err := stream.Send(asking(hypothesis)); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	_ = stream.CloseSend() // Recv tells what there is to know
	response, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	return response.GetResults()[0], nil
}

func asking(hypothesis string) *plumblinev1.VerifyRequest {
	return &plumblinev1.VerifyRequest{Pairs: []*plumblinev1.VerifyPair{{Id: "1", Premise: "p", Hypothesis: hypothesis}}}
}

// with adds the cookie to calls.
func with(ctx context.Context, cookies ...string) context.Context {
	for _, cookie := range cookies {
		ctx = metadata.AppendToOutgoingContext(ctx, handshake.CookieMetadata, cookie)
	}
	return ctx
}

func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	p := host(t, patientGrace)
	for name, cookies := range map[string][]string{
		"none":  nil,
		"wrong": {handshake.New(p.offer.Socket).Cookie},
		"two":   {p.offer.Cookie, p.offer.Cookie},
	} {
		ctx := with(t.Context(), cookies...)
		_, describeErr := plumblinev1.NewVerifierServiceClient(p.conn).Describe(ctx, &plumblinev1.DescribeRequest{})
		_, verifyErr := verify(ctx, p.conn, "h")
		_, healthErr := healthpb.NewHealthClient(p.conn).Check(ctx, &healthpb.HealthCheckRequest{})
		for call, err := range map[string]error{"Describe": describeErr, "Verify": verifyErr, "health": healthErr} {
			if status.Code(err) != codes.Unauthenticated {
				t.Errorf("%s with cookie %s: %v", call, name, err)
			}
		}
	}
	if _, err := verify(with(t.Context(), p.offer.Cookie), p.conn, "h"); err != nil {
		t.Errorf("the host: %v", err)
	}
}

func TestStopLetsCallsFinish(t *testing.T) {
	t.Parallel()
	p := host(t, patientGrace)
	ctx, cancel := context.WithTimeout(with(t.Context(), p.offer.Cookie), time.Minute)
	defer cancel()
	if _, err := verify(ctx, p.conn, "h"); err != nil {
		t.Fatal(err)
	}
	watch, err := healthpb.NewHealthClient(p.conn).Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	done := p.begin(ctx, t, "slow")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// It has heard the signal when it ends the watch.
	for err == nil {
		_, err = watch.Recv()
	}
	if ctx.Err() != nil {
		t.Error("the watch goes on after the signal")
	}
	if err := os.WriteFile(filepath.Join(p.folder, goOn), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the call that was under way: %v", err)
	}
	if err := p.wait(t); err != nil {
		t.Errorf("%v: %s", err, p.stderr)
	}
}

func TestStopEndsAfterTheGrace(t *testing.T) {
	t.Parallel()
	for _, hypothesis := range []string{"slow", "deaf"} { // neither ever goes on
		t.Run(hypothesis, func(t *testing.T) {
			t.Parallel()
			p := host(t, 100*time.Millisecond)
			done := p.begin(with(t.Context(), p.offer.Cookie), t, hypothesis)
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := p.wait(t); err != nil {
				t.Errorf("%v: %s", err, p.stderr)
			}
			if err := <-done; err == nil {
				t.Error("the call that was cut off has a result")
			}
		})
	}
}

func TestEndOfTheHostEndsIt(t *testing.T) {
	t.Parallel()
	for _, hypothesis := range []string{"slow", "deaf"} { // neither ever goes on
		t.Run(hypothesis, func(t *testing.T) {
			t.Parallel()
			p := host(t, patientGrace)
			ctx, cancel := context.WithTimeout(with(t.Context(), p.offer.Cookie), time.Minute)
			defer cancel()
			done := p.begin(ctx, t, hypothesis)
			if err := p.stdin.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err == nil || ctx.Err() != nil {
				t.Errorf("it waits for calls that nobody waits for: %v", err)
			}
			if err := p.wait(t); err == nil || !strings.Contains(p.stderr.String(), sidecar.ErrHostGone.Error()) {
				t.Errorf("%v: %s", err, p.stderr)
			}
		})
	}
}

func TestPanicIsTheFailureOfOneCall(t *testing.T) {
	t.Parallel()
	p := host(t, patientGrace)
	ctx, cancel := context.WithTimeout(with(t.Context(), p.offer.Cookie), time.Minute)
	defer cancel()
	stream, err := plumblinev1.NewVerifierServiceClient(p.conn).Verify(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(asking("panic")); err != nil {
		t.Fatal(err)
	}
	// The stream stays open, for pairs that might come.
	if _, err := stream.Recv(); status.Code(err) != codes.Internal || strings.Contains(err.Error(), "defect") {
		t.Errorf("got %v", err)
	}
	if _, err := verify(ctx, p.conn, "h"); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func TestWithoutAHost(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), listenEnv+"=none")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "exec:PROGRAM") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	// A port that was free a moment ago.
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), listenEnv+"="+addr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn := dial(t, addr)
	if _, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	client, err := remote.Open(remote.Config{Address: "grpc://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	conforms(t, client)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// conforms checks the verifier and closes it.
func conforms(t *testing.T, v verifiers.Backend) {
	t.Helper()
	for result := range conform.Run(t.Context(), v, conform.Options{}) {
		if result.Outcome == conform.Fail {
			t.Errorf("%s: %s", result.Check, result.Detail)
		}
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

// TestExample builds the example of docs/write-your-own-verifier.md as it is
// printed there, and checks it.
func TestExample(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join(root, "examples", "own-verifier", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "write-your-own-verifier.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```go\n"+string(source)+"```\n") {
		t.Error("the page prints another program than examples/own-verifier")
	}
	if lines := strings.Count(string(source), "\n"); lines >= 40 {
		t.Errorf("the example has %d lines", lines)
	}
	program := filepath.Join(t.TempDir(), "my-verifier")
	build := exec.Command("go", "build", "-o", program, "./examples/own-verifier")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	v, err := spawn.Open(t.Context(), spawn.Config{Command: []string{program}})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := v.Verify(t.Context(), []entail.Pair{{Premise: "The bridge opened in 1932.", Hypothesis: "bridge opened in 1931."}})
	if err != nil || batch.Results[0].Scores != (entail.Scores{Entailment: 0.75}) || batch.Usage.Digest != "words-1" {
		t.Errorf("%+v, %v", batch, err)
	}
	conforms(t, v)
}
