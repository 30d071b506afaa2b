// Package readme has the test that the README's lines work as they are
// printed.
package readme

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumbline/internal/orttest"
)

// root is the checkout.
const root = "../.."

// block is one fenced block of the README.
type block struct {
	language, text string
	line           int
}

func blocks(t *testing.T) []block {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found []block
	var open *block
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case open == nil && strings.HasPrefix(line, "```"):
			open = &block{language: strings.TrimPrefix(line, "```"), line: i + 1}
		case open != nil && line == "```":
			found = append(found, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	return found
}

// TestReadme runs every block against a server that was built and started as
// `make run` does it, on free ports. A JSON block says what the command before
// it must have printed: it is a part of the output, numbers within 0.05, since
// int8 arithmetic differs a little between kinds of processors.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts the server")
	}
	orttest.Library(t)
	binary := build(t)
	grpcAddr, httpAddr := serve(t, binary)
	words := strings.NewReplacer(
		"localhost:50051", grpcAddr,
		"localhost:8080", httpAddr,
		"bin/plumbline", binary,
	)
	var output []byte
	for _, b := range blocks(t) {
		t.Run(fmt.Sprintf("line %d", b.line), func(t *testing.T) {
			if b.language == "json" {
				requirePart(t, b.text, output)
				return
			}
			output = execute(t, b.language, words.Replace(b.text))
			if len(bytes.TrimSpace(output)) == 0 {
				t.Error("it printed nothing")
			}
		})
	}
}

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "plumbline")
	command := exec.Command("go", "build", "-o", binary, "./cmd/plumbline")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// serve starts the server, waits until it is ready, and stops it as a user
// would when the test ends. It returns the addresses that the server announces.
func serve(t *testing.T, binary string) (grpcAddr, httpAddr string) {
	t.Helper()
	command := exec.Command(binary, "serve", "--grpc-addr", ":0", "--http-addr", ":0")
	command.Dir = root
	var log bytes.Buffer
	command.Stderr = &log
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			t.Errorf("the server ended with %v:\n%s", err, log.String())
		}
	})
	lines := bufio.NewReader(stdout)
	grpcAddr = announced(t, lines, "gRPC at ")
	httpAddr = announced(t, lines, " at http://")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !ready(ctx, "http://"+httpAddr+"/readyz") {
		if ctx.Err() != nil {
			t.Fatal("the server was not ready in a minute")
		}
		time.Sleep(50 * time.Millisecond)
	}
	return grpcAddr, httpAddr
}

// announced is the address that a line of the server gives after some words.
func announced(t *testing.T, lines *bufio.Reader, words string) string {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the server announces no address: %v", err)
		}
		if _, after, found := strings.Cut(line, words); found {
			addr, _, _ := strings.Cut(after, ". Try it:")
			return addr
		}
	}
}

func ready(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = reply.Body.Close() }()
	_, _ = io.Copy(io.Discard, reply.Body)
	return reply.StatusCode == http.StatusOK
}

// execute runs one block from the checkout's root and returns what it printed.
func execute(t *testing.T, language, text string) []byte {
	t.Helper()
	var command *exec.Cmd
	switch language {
	case "sh":
		command = exec.Command("bash", "-euo", "pipefail", "-c", text)
	case "python":
		command = interpreter(t, "python3", "-c", text)
	case "javascript":
		command = interpreter(t, "node", "--input-type=module", "-e", text)
	case "go":
		// Inside the module, so that the generated client can be imported.
		file := filepath.Join(root, ".cache", "readme", "main.go")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		command = exec.Command("go", "run", ".cache/readme/main.go")
	default:
		t.Fatalf("no way to run a block of %q", language)
	}
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%v\n%s%s", err, out, exit.Stderr)
		}
		t.Fatal(err)
	}
	t.Logf("%s", out)
	return out
}

func interpreter(t *testing.T, name string, arguments ...string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
	return exec.Command(name, arguments...)
}

func requirePart(t *testing.T, part string, output []byte) {
	t.Helper()
	var want, got any
	if err := json.Unmarshal([]byte(part), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(output, &got); err != nil {
		t.Fatalf("%v in %s", err, output)
	}
	if problem := differs(want, got, "$"); problem != "" {
		t.Errorf("%s\nprinted %s", problem, output)
	}
}

// differs says where want is not a part of got.
func differs(want, got any, path string) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return path + " is no object"
		}
		for key, value := range w {
			if problem := differs(value, g[key], path+"."+key); problem != "" {
				return problem
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s has not %d items", path, len(w))
		}
		for i := range w {
			if problem := differs(w[i], g[i], fmt.Sprintf("%s[%d]", path, i)); problem != "" {
				return problem
			}
		}
		return ""
	case float64:
		if g, ok := got.(float64); ok && math.Abs(g-w) <= 0.05 {
			return ""
		}
	default:
		if want == got {
			return ""
		}
	}
	return fmt.Sprintf("%s = %v, the README says %v", path, got, want)
}
