//go:build unix

package spawn

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"plumbline/verifiers/remote"
	"plumbline/verifiers/spawn/handshake"
)

const (
	// A sidecar is hung if it leaves two checks in a row unanswered: at most
	// 2 × (checkInterval + checkTimeout) = 2.8 s after it last answered.
	checkInterval = 300 * time.Millisecond
	checkTimeout  = 1100 * time.Millisecond
	// readyInterval is how often a sidecar that starts is asked whether it serves.
	readyInterval = 25 * time.Millisecond
	// maxSocketPath is what fits into a socket's address on every system.
	maxSocketPath = 100
)

// sidecar is one start of the command: a process, its folder and the
// connections to it.
type sidecar struct {
	config  Config
	offer   handshake.Offer
	output  *output
	process *process
	health  *grpc.ClientConn
	remote  *remote.Verifier
	hung    atomic.Bool // it was killed for that
}

// start starts the command and returns when it serves.
func start(ctx context.Context, config Config) (_ *sidecar, err error) {
	starting, cancel := context.WithTimeout(ctx, config.StartTimeout)
	defer cancel()
	s := &sidecar{config: config, output: newOutput(config.Log)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.end())
		}
	}()
	if err := s.launch(); err != nil {
		return nil, err
	}
	alive, cancel := s.whileAlive(starting)
	defer cancel()
	for _, step := range []func(context.Context) error{s.shakeHands, s.meet, s.becomeReady, s.connect} {
		if err := step(alive); err != nil {
			// That the caller gave up is no fault of the sidecar.
			return nil, cmp.Or(ctx.Err(), err)
		}
	}
	return s, nil
}

// whileAlive is a context that also ends with the process.
func (s *sidecar) whileAlive(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.process.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// orExited is err, or how the process ended if it has: what fails then is only a
// consequence.
func (s *sidecar) orExited(err error) error {
	select {
	case <-s.process.ended:
		return s.failure()
	default:
		return err
	}
}

// launch starts the process.
func (s *sidecar) launch() error {
	path, err := exec.LookPath(s.config.Command[0])
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStart, err)
	}
	if err := checkSum(path, s.config.SHA256); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "plumbline-") // of mode 0700
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStart, err)
	}
	s.offer = handshake.New(filepath.Join(folder, "s"))
	if len(s.offer.Socket) >= maxSocketPath {
		return fmt.Errorf("%w: the path of temporary files is too long for a socket; set TMPDIR to a shorter one", ErrStart)
	}
	cmd := exec.Command(path, s.config.Command[1:]...) //nolint:noctx // it outlives the context of its start
	cmd.Args[0] = s.config.Command[0]
	cmd.Env = append(s.config.environ(), s.offer.Environ()...)
	cmd.Dir = s.config.Dir
	if s.process, err = startProcess(cmd, s.output); err != nil {
		return fmt.Errorf("%w: %w", ErrStart, err)
	}
	return nil
}

// checkSum compares the file with the digest that it must have, if any.
func checkSum(path, want string) error {
	if want == "" {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrChecksum, err)
	}
	defer func() { _ = file.Close() }() // it was only read
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return fmt.Errorf("%w: %w", ErrChecksum, err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); !strings.EqualFold(got, want) {
		return fmt.Errorf("%w: the SHA-256 of %s is %s", ErrChecksum, path, got)
	}
	return nil
}

// shakeHands waits for the line and checks it.
func (s *sidecar) shakeHands(ctx context.Context) error {
	select {
	case line := <-s.output.handshake:
		err := s.offer.Check(line)
		if errors.Is(err, handshake.ErrMalformed) {
			return fmt.Errorf("%w: %w", ErrGarbage, err)
		}
		return err
	case <-s.output.garbage:
		return fmt.Errorf("%w: more than %d bytes%s", ErrGarbage, maxNoise, s.output.said())
	case <-ctx.Done():
		cause := ErrNoLine
		if s.output.noisy() {
			cause = ErrGarbage
		}
		return s.orExited(fmt.Errorf("%w within %s%s", cause, s.config.StartTimeout, s.output.said()))
	}
}

// failure says how a sidecar that has ended by itself did so.
func (s *sidecar) failure() error {
	if s.hung.Load() {
		return fmt.Errorf("%w: no answer to two health checks; it was killed", ErrHung)
	}
	return fmt.Errorf("%w: %s%s", ErrExited, s.process.outcome(), s.output.said())
}

// meet connects once to see who listens.
func (s *sidecar) meet(ctx context.Context) error {
	conn, err := s.dial(ctx, "")
	if errors.Is(err, errGone) {
		<-ctx.Done() // with the process, whose end is told in a moment
	}
	if err != nil {
		return s.orExited(err)
	}
	return conn.Close()
}

// dial connects to the socket, if our sidecar is what listens on it. gRPC calls
// it for every new connection.
func (s *sidecar) dial(ctx context.Context, _ string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", s.offer.Socket)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotServing, err)
	}
	if err := checkPeer(conn.(*net.UnixConn), s.process.pid()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// becomeReady asks the health service until it says SERVING. Its connection is
// its own, so that large messages on the other do not delay a check.
func (s *sidecar) becomeReady(ctx context.Context) (err error) {
	s.health, err = grpc.NewClient(s.target(), append(s.dialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotServing, err)
	}
	last := errors.New("its health service does not answer")
	for {
		reply, err := healthpb.NewHealthClient(s.health).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
		switch status.Code(err) {
		case codes.OK:
			if reply.GetStatus() == healthpb.HealthCheckResponse_SERVING {
				return nil
			}
			last = fmt.Errorf("its health is %s", reply.GetStatus())
		case codes.Unauthenticated, codes.Unimplemented: // which time does not mend
			return fmt.Errorf("%w: health check: %w", ErrNotServing, err)
		}
		select {
		case <-ctx.Done():
			return s.orExited(fmt.Errorf("%w within %s: %w", ErrNotServing, s.config.StartTimeout, last))
		case <-time.After(readyInterval):
		}
	}
}

// connect makes the connection for pairs, and has the sidecar describe itself.
func (s *sidecar) connect(ctx context.Context) (err error) {
	s.remote, err = remote.Open(remote.Config{
		Address:         s.target(),
		MaxMessageBytes: s.config.MaxMessageBytes,
		Options:         s.dialOptions(),
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotServing, err)
	}
	if _, err := s.remote.Describe(ctx); err != nil {
		return s.orExited(err)
	}
	return nil
}

func (s *sidecar) target() string { return "unix:" + s.offer.Socket }

func (s *sidecar) dialOptions() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithContextDialer(s.dial), grpc.WithPerRPCCredentials(cookie(s.offer.Cookie))}
}

// cookie is shown with every call.
type cookie string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (c cookie) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{handshake.CookieMetadata: string(c)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: dial has
// made sure of who listens.
func (cookie) RequireTransportSecurity() bool { return false }

// watch kills the sidecar if it hangs, and returns when it has ended.
func (s *sidecar) watch() {
	for missed := 0; missed < 2; {
		select {
		case <-s.process.ended:
			return
		case <-time.After(checkInterval):
		}
		if s.answers() {
			missed = 0
		} else {
			missed++
		}
	}
	s.hung.Store(true)
	s.process.signal(syscall.SIGKILL)
	<-s.process.ended
}

// answers says whether a health check is answered, however.
func (s *sidecar) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	_, err := healthpb.NewHealthClient(s.health).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	switch status.Code(err) {
	case codes.DeadlineExceeded, codes.Unavailable, codes.Canceled:
		return false
	default:
		return true
	}
}

// end ends what start began, as far as it came.
func (s *sidecar) end() error {
	if s.process != nil {
		s.process.stop(s.config.Grace)
	}
	var errs []error
	if s.remote != nil {
		errs = append(errs, s.remote.Close())
	}
	if s.health != nil {
		errs = append(errs, s.health.Close())
	}
	if s.offer.Socket != "" {
		errs = append(errs, os.RemoveAll(filepath.Dir(s.offer.Socket)))
	}
	return errors.Join(errs...)
}
