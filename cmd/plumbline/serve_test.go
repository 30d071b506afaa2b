package main_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"plumbline/internal/orttest"
	plumblinev1 "plumbline/proto/plumbline/v1"
)

var (
	grpcAt = regexp.MustCompile(`(?:gRPC|VerifierService) at (\S+)\. Try it:`)
	httpAt = regexp.MustCompile(`at (http://\S+)\. Try it:`)
)

// until reads lines until one matches, and returns its first group.
func (c *conversation) until(t *testing.T, pattern *regexp.Regexp) string {
	t.Helper()
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%v; stderr: %s", err, c.stderr)
		}
		if found := pattern.FindStringSubmatch(strings.TrimSuffix(line, "\n")); found != nil {
			return found[1]
		}
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	orttest.Library(t)
	c := talk(t, "serve", "--grpc-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0")
	addr := c.until(t, grpcAt)
	// What the server says to try must work as it stands.
	tried := c.until(t, regexp.MustCompile(`^ {2}(echo .* plumbline score retrieval .*)$`))
	url := c.until(t, httpAt)
	posted := c.until(t, regexp.MustCompile(`^ {2}(curl .*ScoreRetrieval)$`))
	ready := c.until(t, regexp.MustCompile(`^ {2}curl (\S+/readyz)$`))
	awaitServing(t, addr)

	for _, line := range []string{strings.Replace(tried, "| plumbline", "| "+binary, 1), strings.Replace(posted, "curl", "curl -sS", 1)} {
		if _, err := exec.LookPath("curl"); strings.HasPrefix(line, "curl") && err != nil {
			continue
		}
		output, err := exec.CommandContext(t.Context(), "sh", "-c", line).Output()
		if err != nil || fields(t, string(output))["signals"] == nil {
			t.Errorf("%s: %s, %v", line, output, err)
		}
	}
	if !strings.HasPrefix(ready, url) || statusOf(t, ready) != http.StatusOK {
		t.Errorf("%s is not ready", ready)
	}
	if got := health(t, "--addr", addr); got.code != 0 || got.stdout != "SERVING\n" {
		t.Errorf("health: %+v", got)
	}
	if got := health(t, "--addr", addr, "--service", "no.such.Service"); got.code != 1 {
		t.Errorf("health of an unknown service: %+v", got)
	}
	if got := health(t, "--grpc-addr", addr); got.code != 0 {
		t.Errorf("health by setting: %+v", got)
	}

	if err := c.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := c.end(t); got.code != 0 || strings.Contains(got.stderr, "panic") {
		t.Errorf("%+v", got)
	}
	if got := plumbline(t, "", "health", "--addr", addr, "--connect-timeout", "300ms"); got.code != 1 || got.stdout != "" {
		t.Errorf("health of a server that is gone: %+v", got)
	}
}

// health asks for the health of a server that has as long as a loaded machine needs.
func health(t *testing.T, arguments ...string) result {
	t.Helper()
	return plumbline(t, "", append([]string{"health", "--connect-timeout", "1m"}, arguments...)...)
}

// awaitServing waits for the first probe of the model, which the address does not
// wait for.
func awaitServing(t *testing.T, addr string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for health(t, "--addr", addr).code != 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not serve in a minute", addr)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestServeExchangesTheModelOnHangup: SIGHUP is no end of the process.
func TestServeExchangesTheModelOnHangup(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("SIGHUP is ignored here, as nohup does, and so in every program that is started here")
	}
	orttest.Library(t)
	c := talk(t, "serve", "--grpc-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0")
	url := c.until(t, httpAt)
	const swapped = `plumbline_verifier_swaps_total{outcome="ok",verifier="embedded"} 1`
	if err := c.command.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(textOf(t, url+"/metrics"), swapped); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no exchange; stderr: %s", c.stderr)
		}
	}
	if err := c.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := c.end(t); got.code != 0 || !strings.Contains(got.stderr, "the model was exchanged") {
		t.Errorf("%+v", got)
	}
}

func textOf(t *testing.T, url string) string {
	t.Helper()
	_, text := get(t, url)
	return text
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	code, _ := get(t, url)
	return code
}

func get(t *testing.T, url string) (code int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestVerifierServesTheModelAlone(t *testing.T) {
	t.Parallel()
	orttest.Library(t)
	c := talk(t, "verifier", "--listen", "127.0.0.1:0")
	addr := c.until(t, grpcAt)
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	described, err := plumblinev1.NewVerifierServiceClient(conn).Describe(t.Context(), &plumblinev1.DescribeRequest{})
	if err != nil || !strings.HasPrefix(described.GetDigest(), "sha256:") {
		t.Errorf("%v, %v", described, err)
	}
	_, err = plumblinev1.NewRetrievalServiceClient(conn).ScoreRetrieval(t.Context(), &plumblinev1.ScoreRetrievalRequest{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("retrieval: %v", err)
	}
	awaitServing(t, addr)
	if got := health(t, "--addr", addr, "--service", "plumbline.v1.VerifierService"); got.code != 0 {
		t.Errorf("health: %+v", got)
	}
	if err := c.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := c.end(t); got.code != 0 {
		t.Errorf("%+v", got)
	}
}

func TestServeSaysWhyItCannotStart(t *testing.T) {
	t.Parallel()
	orttest.Library(t)
	addr := serve(t, func(context.Context, *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error) {
		return nil, nil
	})
	if got := plumbline(t, "", "serve", "--grpc-addr", addr, "--http-addr", ""); got.code != 2 || !strings.Contains(got.stderr, addr) || got.stdout != "" {
		t.Errorf("address in use: %+v", got)
	}
}
