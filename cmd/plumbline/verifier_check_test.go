package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/kballard/go-shellquote"

	"plumbline/internal/ortlib"
	"plumbline/internal/orttest"
	"plumbline/internal/pyenv"
)

// checked is the JSON of "plumbline verifier check --json".
type checked struct {
	Address                 string
	Passed, Failed, Skipped int
	Results                 []struct{ Check, Rule, Outcome, Detail, Advice string }
}

// check runs the check and reads its JSON.
func check(t *testing.T, address string, flags ...string) (report checked, code int) {
	t.Helper()
	got := plumbline(t, "", append([]string{"verifier", "check", address, "--json"}, flags...)...)
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatalf("%v in %q; %s", err, got.stdout, got.stderr)
	}
	return report, got.code
}

// passes wants no failure, and on the wire nothing skipped either, in as much time
// as a loaded machine needs.
func passes(t *testing.T, address string, onTheWire bool) {
	t.Helper()
	report, code := check(t, address, "--timeout", "5m")
	for _, r := range report.Results {
		if r.Outcome == "fail" || onTheWire && r.Outcome != "pass" {
			t.Errorf("%s: %s: %s: %s", address, r.Check, r.Outcome, r.Detail)
		}
	}
	if code != 0 || report.Failed != 0 || report.Passed+report.Skipped != len(report.Results) || report.Passed < 10 {
		t.Errorf("exit code %d, %+v", code, report)
	}
}

// TestOurOwnVerifierConforms checks the embedded model in the three ways in
// which it is served.
func TestOurOwnVerifierConforms(t *testing.T) {
	library := orttest.Library(t)
	t.Run("embedded", func(t *testing.T) { passes(t, "embedded", false) })
	t.Run("spawned", func(t *testing.T) {
		passes(t, "exec:"+shellquote.Join("--env="+ortlib.Env+"="+library, binary, "verifier"), true)
	})
	t.Run("remote", func(t *testing.T) {
		c := talk(t, "verifier", "--listen", "127.0.0.1:0")
		addr := c.until(t, grpcAt)
		awaitServing(t, addr)
		passes(t, "grpc://"+addr, true)
		if err := c.command.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if got := c.end(t); got.code != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestPythonSidecarConforms(t *testing.T) {
	sdk, err := filepath.Abs(filepath.Join("..", "..", "client", "python"))
	if err != nil {
		t.Fatal(err)
	}
	python := pyenv.Find(t, filepath.Join(sdk, "requirements-test.txt"))
	command := shellquote.Join("--env=PYTHONPATH="+filepath.Join(sdk, "src"), python, filepath.Join(sdk, "examples", "overlap.py"))
	passes(t, "exec:"+command, true)
}

func TestCheckOfWhatIsNoVerifier(t *testing.T) {
	t.Parallel()
	report, code := check(t, "exec:true")
	if code != 1 || report.Failed != 1 || len(report.Results) != 1 || report.Results[0].Check != "open" || report.Results[0].Advice == "" {
		t.Errorf("exit code %d, %+v", code, report)
	}
	got := plumbline(t, "", "verifier", "check", "exec:sh -c 'echo cannot load the model >&2; exit 3'")
	if got.code != 1 || !strings.Contains(got.stdout, "fail  open") || !strings.Contains(got.stdout, "exit status 3; it said: cannot load the model") || strings.Contains(got.stdout, "\x1b") {
		t.Errorf("%+v", got)
	}
	// A server, but of another service.
	if report, code := check(t, "grpc://"+serve(t, nil)); code != 1 || report.Failed != 1 || report.Results[1].Check != "describe" {
		t.Errorf("exit code %d, %+v", code, report)
	}
	for _, wrong := range [][]string{{}, {"nonsense"}, {"exec:"}, {"embedded", "too many"}, {"embedded", "--only", "no-such-check"}} {
		if got := plumbline(t, "", append([]string{"verifier", "check"}, wrong...)...); got.code != 2 || got.stderr == "" {
			t.Errorf("%q: %+v", wrong, got)
		}
	}
}

func TestCheckHidesSecrets(t *testing.T) {
	t.Parallel()
	got := plumbline(t, "", "verifier", "check", "exec:--env=TOKEN=s3cret true")
	if got.code != 1 || strings.Contains(got.stdout+got.stderr, "s3cret") {
		t.Errorf("%+v", got)
	}
}

func TestCheckIsInterrupted(t *testing.T) {
	t.Parallel()
	c := talk(t, "verifier", "check", "exec:sleep 1000")
	c.until(t, regexp.MustCompile(`Checking exec:(.*)`))
	if err := c.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := c.end(t); got.code != 130 {
		t.Errorf("%+v", got)
	}
}
