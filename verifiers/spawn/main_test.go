package spawn_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"plumbline/client/go/sidecar"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/verifiers/spawn"
	"plumbline/verifiers/spawn/handshake"
)

// roleEnv makes the test binary play a sidecar, or a host that is killed.
const roleEnv = "TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		goleak.VerifyTestMain(m)
		return
	}
	play, ok := roles()[role]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such role:", role)
		os.Exit(2)
	}
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// roles are what the test binary plays; most break one rule each.
func roles() map[string]func() error {
	return map[string]func() error{
		"good":   func() error { return serve(actor{}) },
		"noisy":  playNoisy,
		"loader": func() error { return serve(&loader{loaded: time.Now().Add(300 * time.Millisecond)}) },

		"crash at start": func() error { return fmt.Errorf("cannot load the model") },
		"no line":        waitForHost,
		"garbage":        say("listening on port 1234", "ready"),
		"binary":         say("\x00\xff\xfe" + strings.Repeat("\x01", 80_000)),
		"flood":          say(strings.Repeat(strings.Repeat("x", 1000)+"\n", 100)),
		"broken line":    say("plumbline-sidecar|"),
		"wrong cookie":   say(handshake.New("/elsewhere").Line()),
		"wrong version":  say(strings.Replace(handshake.New("/elsewhere").Line(), "|1|", "|2|", 1)),

		"nobody listens":     withOffer(func(o handshake.Offer) error { return say(o.Line())() }),
		"stranger":           withOffer(playStranger),
		"listening stranger": playListener,
		"never ready":        withOffer(serveRaw(healthpb.HealthCheckResponse_NOT_SERVING, nil)),
		"refuses its host":   withOffer(serveRaw(healthpb.HealthCheckResponse_SERVING, status.Error(codes.Unauthenticated, "who are you?"))),
		"ends when asked":    withOffer(playBrief),
		"no description":     withOffer(serveRaw(healthpb.HealthCheckResponse_SERVING, nil)),

		"stubborn": func() error { signal.Ignore(syscall.SIGTERM); return serve(actor{}) },
		"deaf":     playDeaf,
		"family":   playFamily,
		"host":     playHost,
	}
}

func serve(v entail.Verifier) error {
	return sidecar.Serve(context.Background(), v, sidecar.Config{})
}

// actor answers as entailtest.Overlap does, except for hypotheses that tell it
// to do something else. Its name tells its process and environment.
type actor struct{}

func (actor) Describe(ctx context.Context) (entail.Description, error) {
	description, err := entailtest.Overlap().Describe(ctx)
	description.Name = strings.Join(append([]string{fmt.Sprint(os.Getpid())}, os.Environ()...), "\n")
	return description, err
}

func (actor) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	for _, pair := range pairs {
		switch pair.Hypothesis {
		case "crash":
			os.Exit(7)
		case "stop":
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			<-ctx.Done() // the signal takes a moment to reach every thread
		case "print":
			fmt.Println("on standard output")
			fmt.Fprintln(os.Stderr, "on standard error")
		case "wait":
			<-ctx.Done()
		}
	}
	return entailtest.Overlap().Verify(ctx, pairs)
}

// loader is not ready at first.
type loader struct {
	actor
	loaded time.Time
}

func (l *loader) Probe(context.Context) error {
	if time.Now().Before(l.loaded) {
		return fmt.Errorf("still loading")
	}
	return nil
}

// waitForHost stays until the host is gone.
func waitForHost() error {
	_, err := bufio.NewReader(os.Stdin).ReadByte()
	return err
}

func say(lines ...string) func() error {
	return func() error {
		fmt.Println(strings.Join(lines, "\n"))
		return waitForHost()
	}
}

func withOffer(play func(handshake.Offer) error) func() error {
	return func() error {
		offer, _ := handshake.Take()
		return play(offer)
	}
}

func playNoisy() error {
	fmt.Println("Some weights of the model were not used.")
	fmt.Print("no end of line on standard error", "\r\n")
	fmt.Fprintln(os.Stderr, strings.Repeat("long ", 10_000))
	return serve(actor{})
}

// playStranger has a process that is not of this group listen.
func playStranger(offer handshake.Offer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(offer.Environ(), roleEnv+"=listening stranger")
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	listening, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(listening).ReadString('\n'); err != nil {
		return err
	}
	return say(offer.Line())()
}

func playListener() error {
	offer, _ := handshake.Take()
	if _, err := net.Listen("unix", offer.Socket); err != nil {
		return err
	}
	fmt.Println("listening")
	return waitForHost()
}

// serveRaw is a sidecar without VerifierService.
func serveRaw(serving healthpb.HealthCheckResponse_ServingStatus, refusal error) func(handshake.Offer) error {
	return func(offer handshake.Offer) error {
		if _, err := listenRaw(offer, serving, refusal); err != nil {
			return err
		}
		fmt.Println(offer.Line())
		return waitForHost()
	}
}

func listenRaw(offer handshake.Offer, serving healthpb.HealthCheckResponse_ServingStatus, refusal error) (*grpc.Server, error) {
	listener, err := net.Listen("unix", offer.Socket)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if refusal != nil {
			return nil, refusal
		}
		return handler(ctx, req)
	}))
	checks := health.NewServer()
	checks.SetServingStatus("", serving)
	healthpb.RegisterHealthServer(server, checks)
	go func() { _ = server.Serve(listener) }()
	return server, nil
}

// playBrief ends at the first question, after its line.
func playBrief(offer handshake.Offer) error {
	listener, err := net.Listen("unix", offer.Socket)
	if err != nil {
		return err
	}
	fmt.Println(offer.Line())
	if _, err := listener.Accept(); err != nil {
		return err
	}
	os.Exit(5)
	return nil
}

// playDeaf serves and takes no notice of the end of its host.
func playDeaf() error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	offer, _ := handshake.Take()
	listener, err := net.Listen("unix", offer.Socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health.NewServer())
	plumblinev1.RegisterVerifierServiceServer(server, described{})
	fmt.Println(offer.Line())
	return server.Serve(listener)
}

// described has a description and no more.
type described struct {
	plumblinev1.UnimplementedVerifierServiceServer
}

func (described) Describe(context.Context, *plumblinev1.DescribeRequest) (*plumblinev1.DescribeResponse, error) {
	return &plumblinev1.DescribeResponse{
		Name: fmt.Sprint(os.Getpid()), Digest: "sha256:0", ProtocolVersion: 1,
		Classes: []plumblinev1.EntailmentClass{
			plumblinev1.EntailmentClass_ENTAILMENT_CLASS_ENTAILMENT, plumblinev1.EntailmentClass_ENTAILMENT_CLASS_NOT_SUPPORTED,
		},
	}, nil
}

// playFamily starts a process that would stay for a long time, and tells its id.
func playFamily() error {
	cmd := exec.Command("/bin/sh", "-c", "exec sleep 1000")
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := os.Setenv("CHILD", fmt.Sprint(cmd.Process.Pid)); err != nil {
		return err
	}
	return serve(actor{})
}

// playHost runs a sidecar, tells what the sidecar calls itself, and waits to be
// killed.
func playHost() error {
	v, err := spawn.Open(context.Background(), spawn.Config{Command: strings.Split(os.Getenv("SIDECAR"), "\n"), InheritEnv: true, Env: []string{roleEnv + "=" + os.Getenv("SIDECAR_ROLE")}})
	if err != nil {
		return err
	}
	description, err := v.Describe(context.Background())
	if err != nil {
		return err
	}
	fmt.Println(description.Name)
	select {}
}
