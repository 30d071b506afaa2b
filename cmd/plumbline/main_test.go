package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"plumbline/internal/ortlib"
	"plumbline/internal/orttest"
)

// binary is the program under test, built once by TestMain.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	folder, err := os.MkdirTemp("", "plumbline")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	binary = filepath.Join(folder, "plumbline")
	build := exec.Command("go", "build", "-ldflags", "-X main.version=v1.2.3 -X main.commit=abc", "-o", binary, ".")
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, output)
		return 1
	}
	return m.Run()
}

// result is what a run of the program left.
type result struct {
	code           int
	stdout, stderr string
}

// lines are the lines of standard output.
func (r result) lines() []string {
	if r.stdout == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
}

// plumbline runs the program on input to its end.
func plumbline(t *testing.T, input string, arguments ...string) result {
	t.Helper()
	command := program(t.Context(), arguments...)
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &stdout, &stderr
	return result{code: exitCode(t, command.Run()), stdout: stdout.String(), stderr: stderr.String()}
}

// program is the program in an environment that holds no settings but where
// the ONNX Runtime library is.
func program(ctx context.Context, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, binary, arguments...)
	command.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "PLUMBLINE_") })
	if path, found := orttest.Find(); found {
		command.Env = append(command.Env, ortlib.Env+"="+path)
	}
	return command
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	default:
		t.Fatal(err)
		return -1
	}
}

// fields reads a line of output.
func fields(t *testing.T, line string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(line), &object); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	return object
}

// failed reads a line of output that must be an error.
func failed(t *testing.T, line string) map[string]any {
	t.Helper()
	failure, ok := fields(t, line)["error"].(map[string]any)
	if !ok {
		t.Fatalf("no error: %s", line)
	}
	return failure
}

func TestVersion(t *testing.T) {
	t.Parallel()
	text := plumbline(t, "", "version")
	for _, part := range []string{"plumbline v1.2.3\n", "commit abc\n", runtime.Version(), ortlib.Version} {
		if !strings.Contains(text.stdout, part) {
			t.Errorf("%q lacks %q", text.stdout, part)
		}
	}
	object := fields(t, plumbline(t, "", "version", "--json").stdout)
	for name, want := range map[string]string{"version": "v1.2.3", "commit": "abc", "go": runtime.Version(), "onnxruntime": ortlib.Version} {
		if object[name] != want {
			t.Errorf("%s is %v, want %s", name, object[name], want)
		}
	}
}

func TestHelpTellsExitCodesAndExamples(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"serve", "score retrieval", "score grounding", "score confidence", "verifier", "health", "config",
		"gate decide", "gate shadow", "gate list", "gate check",
	} {
		help := plumbline(t, "", append(strings.Fields(command), "--help")...)
		if help.code != 0 || !strings.Contains(help.stdout, "Exit codes:") || !strings.Contains(help.stdout, "Examples:\n  plumbline "+command) {
			t.Errorf("%s: exit code %d, help:\n%s", command, help.code, help.stdout)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ arguments, says string }{
		"unknown command":     {"scroe", "scroe"},
		"unknown subcommand":  {"score groundnig", "groundnig"},
		"unknown flag":        {"score retrieval --inn x", "--inn"},
		"stray argument":      {"score retrieval file.jsonl", "file.jsonl"},
		"input is absent":     {"score retrieval --in nowhere.jsonl", "nowhere.jsonl"},
		"output is the input": {"score retrieval --in " + file + " --out " + file, "is the input"},
		"no folder to write":  {"score retrieval --out nowhere/out.jsonl", "nowhere/out.jsonl"},
		"no parallelism":      {"score retrieval --parallel 0", "--parallel"},
		"wrong setting":       {"score retrieval --limits-max-message-bytes 1", "limits.max_message_bytes"},
		"wrong format":        {"config --format toml", "toml"},
		"no server":           {"score retrieval --addr 127.0.0.1:1 --connect-timeout 300ms", "127.0.0.1:1"},
		"no authorities":      {"score retrieval --addr 127.0.0.1:1 --tls-ca nowhere.pem", "nowhere.pem"},
		"wrong library":       {"score grounding --onnxruntime-lib nowhere.so", "nowhere.so"},
		"wrong address":       {"verifier --listen nonsense", "nonsense"},
		"no address":          {"verifier", "listen"},
		"no policy files":     {"gate check", "requires"},
	} {
		got := plumbline(t, "", strings.Fields(test.arguments)...)
		if got.code != 2 || !strings.Contains(got.stderr, test.says) || got.stdout != "" {
			t.Errorf("%s: exit code %d, stderr %q, stdout %q", name, got.code, got.stderr, got.stdout)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "{}\n" {
		t.Errorf("the input was touched: %q, %v", data, err)
	}
}

func TestConfigIsAFileForItself(t *testing.T) {
	t.Parallel()
	first := plumbline(t, "", "config", "--log-level", "debug", "--http-addr", ":81")
	if first.code != 0 || !strings.Contains(first.stdout, "debug") {
		t.Fatalf("%+v", first)
	}
	file := filepath.Join(t.TempDir(), "plumbline.yaml")
	if err := os.WriteFile(file, []byte(first.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	if second := plumbline(t, "", "config", "--config", file); second.stdout != first.stdout {
		t.Errorf("read back it is %q %s", second.stdout, second.stderr)
	}
	object := fields(t, plumbline(t, "", "config", "--config", file, "--format", "json").stdout)
	if http, _ := object["http"].(map[string]any); http["addr"] != ":81" {
		t.Errorf("JSON has %v", object["http"])
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	if got := plumbline(t, "", "__complete", "score", ""); !strings.Contains(got.stdout, "grounding") {
		t.Errorf("%+v", got)
	}
}
