package spawn_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumbline/internal/testlog"
	"plumbline/internal/testwait"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/verifiers/spawn"
)

var _ entail.Verifier = (*spawn.Verifier)(nil)

// as has the test binary play a role.
func as(t testing.TB, role string) spawn.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return spawn.Config{Command: []string{self}, Env: []string{roleEnv + "=" + role}, StartTimeout: 20 * time.Second}
}

func open(t testing.TB, config spawn.Config) *spawn.Verifier {
	t.Helper()
	v, err := spawn.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return v
}

// self is what an actor tells of itself.
func self(t testing.TB, v *spawn.Verifier) (pid int, environ []string) {
	t.Helper()
	description, err := v.Describe(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return parseSelf(t, description.Name)
}

func parseSelf(t testing.TB, name string) (pid int, environ []string) {
	t.Helper()
	lines := strings.Split(name, "\n")
	pid, err := strconv.Atoi(lines[0])
	if err != nil {
		t.Fatal(err)
	}
	return pid, lines[1:]
}

func pair(hypothesis string) []entail.Pair {
	return []entail.Pair{{Premise: "The bridge opened in 1932.", Hypothesis: hypothesis}}
}

// alive says whether a process is there and no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(after, []byte("Z"))
}

func TestScoresAreThoseOfTheVerifier(t *testing.T) {
	v := open(t, as(t, "good"))
	pairs := slices.Concat(pair("The bridge opened in 1932."), pair("Cats bark."))
	got, err := v.Verify(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	want, err := entailtest.Overlap().Verify(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Results, want.Results) {
		t.Errorf("got %+v, want %+v", got.Results, want.Results)
	}
	if err := v.Probe(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRefusals has one case for each way in which a start fails, and its error.
func TestRefusals(t *testing.T) {
	for role, c := range map[string]struct {
		want     error
		says     string
		patience time.Duration // 0 where the failure is known at once
	}{
		"crash at start":   {want: spawn.ErrExited, says: "exit status 1; it said: cannot load the model"},
		"no line":          {want: spawn.ErrNoLine, patience: 300 * time.Millisecond},
		"garbage":          {want: spawn.ErrGarbage, says: "listening on port 1234", patience: 2 * time.Second},
		"binary":           {want: spawn.ErrGarbage},
		"flood":            {want: spawn.ErrGarbage},
		"broken line":      {want: spawn.ErrGarbage},
		"wrong cookie":     {want: spawn.ErrCookie},
		"wrong version":    {want: spawn.ErrVersion, says: "speaks 2 and the host 1"},
		"stranger":         {want: spawn.ErrStranger},
		"nobody listens":   {want: spawn.ErrNotServing},
		"never ready":      {want: spawn.ErrNotServing, says: "NOT_SERVING", patience: 2 * time.Second},
		"refuses its host": {want: spawn.ErrNotServing, says: "who are you?"},
		"ends when asked":  {want: spawn.ErrExited, says: "exit status 5"},
		"no description":   {want: entail.ErrRejected, says: "Unimplemented"},
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			config := as(t, role)
			config.Env = append(config.Env, "MARK="+folder)
			if c.patience > 0 {
				config.StartTimeout = c.patience
			}
			err := refusal(t, config)
			// A loaded machine may not have come to the fault in this time.
			for c.patience > 0 && tooEarly(err, c.want, c.says) && config.StartTimeout < time.Minute {
				config.StartTimeout *= 2
				err = refusal(t, config)
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v\nwant %v with %q", err, c.want, c.says)
			}
			for _, other := range []error{spawn.ErrExited, spawn.ErrNoLine, spawn.ErrGarbage, spawn.ErrCookie, spawn.ErrVersion, spawn.ErrStranger, spawn.ErrNotServing} {
				if !errors.Is(c.want, other) && errors.Is(err, other) {
					t.Errorf("%v is also %v", err, other)
				}
			}
			testwait.For(t, "nothing is left running", func() bool { return len(marked(t, "MARK="+folder)) == 0 })
		})
	}
}

// refusal is why a start fails.
func refusal(t *testing.T, config spawn.Config) error {
	t.Helper()
	v, err := spawn.Open(t.Context(), config)
	if err == nil {
		t.Fatal(errors.Join(errors.New("it was let in"), v.Close()))
	}
	return err
}

// tooEarly says whether a start ran out of time before the sidecar printed, or
// said, what is wanted of it.
func tooEarly(err, want error, says string) bool {
	silent := errors.Is(err, spawn.ErrNoLine) && !errors.Is(want, spawn.ErrNoLine)
	return silent || errors.Is(err, want) && !strings.Contains(err.Error(), says)
}

// marked are the processes with a variable in their environment.
func marked(t testing.TB, variable string) []int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err == nil && slices.Contains(strings.Split(string(environ), "\x00"), variable) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestCommandThatIsNotThere(t *testing.T) {
	if _, err := spawn.Open(t.Context(), spawn.Config{Command: []string{"./no such program"}}); !errors.Is(err, spawn.ErrStart) {
		t.Errorf("got %v", err)
	}
	if _, err := spawn.Open(t.Context(), spawn.Config{Command: []string{"/"}}); !errors.Is(err, spawn.ErrStart) {
		t.Errorf("got %v", err)
	}
}

func TestChecksum(t *testing.T) {
	config := as(t, "good")
	config.SHA256 = strings.Repeat("0", 64)
	_, err := spawn.Open(t.Context(), config)
	if !errors.Is(err, spawn.ErrChecksum) {
		t.Fatalf("got %v", err)
	}
	out, err := exec.Command("sha256sum", config.Command[0]).Output()
	if err != nil {
		t.Skipf("sha256sum: %v", err)
	}
	config.SHA256 = strings.ToUpper(strings.Fields(string(out))[0])
	open(t, config)
}

func TestPatienceWithALoadingModel(t *testing.T) {
	t.Parallel()
	v := open(t, as(t, "loader"))
	if _, err := v.Verify(t.Context(), pair("x")); err != nil {
		t.Error(err)
	}
}

// names of variables without their values, and without those that the dynamic
// linker or the race detector may bring.
func names(environ []string) []string {
	var names []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestEnvironmentIsNotInherited(t *testing.T) {
	t.Setenv("SECRET", "of the host")
	t.Setenv("ASKED", "for")
	config := as(t, "good")
	config.Env = append(config.Env, "ASKED", "SET=to this", "NOT_THERE")
	_, environ := self(t, open(t, config))
	if got, want := names(environ), []string{"ASKED", "SET", roleEnv}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.Contains(environ, "ASKED=for") || !slices.Contains(environ, "SET=to this") {
		t.Errorf("wrong values: %q", environ)
	}
	config.InheritEnv = true
	if _, environ = self(t, open(t, config)); !slices.Contains(environ, "SECRET=of the host") {
		t.Errorf("asked to inherit, and there is only %q", names(environ))
	}
}

func TestSocketIsPrivate(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	v, err := spawn.Open(t.Context(), as(t, "good"))
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(filepath.Join(temporary, "plumbline-*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("folders %q, %v", folders, err)
	}
	if info, err := os.Stat(folders[0]); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(temporary); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestPathTooLongForASocket(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	if _, err := spawn.Open(t.Context(), as(t, "good")); !errors.Is(err, spawn.ErrStart) || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("got %v", err)
	}
}

func TestOutputIsLogged(t *testing.T) {
	t.Parallel()
	var log testlog.Buffer
	config := as(t, "noisy")
	config.Log = slog.New(slog.NewTextHandler(&log, nil))
	v := open(t, config)
	if _, err := v.Verify(t.Context(), pair("print")); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`stream=stdout line="Some weights of the model were not used."`,
		`stream=stdout line="no end of line on standard error"`,
		`stream=stderr line="long long`,
		`stream=stdout line="on standard output"`,
		`stream=stderr line="on standard error"`,
	} {
		testwait.For(t, "logged: "+line, func() bool { return strings.Contains(log.String(), line) })
	}
	if strings.Contains(log.String(), "plumbline-sidecar|") {
		t.Error("the handshake is logged")
	}
}

func TestCrashInACall(t *testing.T) {
	t.Parallel()
	var log testlog.Buffer
	config := as(t, "good")
	config.Log = slog.New(slog.NewTextHandler(&log, nil))
	v := open(t, config)
	first, _ := self(t, v)
	if _, err := v.Verify(t.Context(), pair("crash")); !errors.Is(err, entail.ErrUnavailable) {
		t.Errorf("the call that crashed it: %v", err)
	}
	testwait.For(t, "it answers again", func() bool {
		_, err := v.Verify(t.Context(), pair("x"))
		if err != nil && !errors.Is(err, entail.ErrUnavailable) {
			t.Fatalf("while it is down: %v", err)
		}
		return err == nil
	})
	if second, _ := self(t, v); second == first || alive(first) {
		t.Errorf("process %d was not replaced but by %d", first, second)
	}
	if !strings.Contains(log.String(), "exit status 7") {
		t.Error("the log does not say how it ended")
	}
}

func TestHangIsEnded(t *testing.T) {
	t.Parallel()
	var log testlog.Buffer
	config := as(t, "good")
	config.Log = slog.New(slog.NewTextHandler(&log, nil))
	v := open(t, config)
	first, _ := self(t, v)
	if _, err := v.Verify(t.Context(), pair("stop")); !errors.Is(err, entail.ErrUnavailable) {
		t.Errorf("the call that stopped it: %v", err)
	}
	testwait.For(t, "it answers again", func() bool { _, err := v.Verify(t.Context(), pair("x")); return err == nil })
	if alive(first) || !strings.Contains(log.String(), "the sidecar hung") {
		t.Error("the hung process lives, or the log does not tell")
	}
}

// TestSlowIsNotHung: a call that takes its time does not keep health checks from
// being answered.
func TestSlowIsNotHung(t *testing.T) {
	t.Parallel()
	v := open(t, as(t, "good"))
	before, _ := self(t, v)
	ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
	defer cancel()
	if _, err := v.Verify(ctx, pair("wait")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if after, _ := self(t, v); after != before {
		t.Error("it was restarted")
	}
}

func TestDownSaysWhenToRetry(t *testing.T) {
	t.Parallel()
	v := open(t, as(t, "good"))
	var retry *entail.RetryAfter
	testwait.For(t, "the third crash in a row delays the start", func() bool {
		_, err := v.Verify(t.Context(), pair("crash"))
		return errors.As(err, &retry)
	})
	if retry.After <= 0 || retry.After > time.Minute || !errors.Is(retry, entail.ErrUnavailable) {
		t.Errorf("got %v after %v", retry.Err, retry.After)
	}
}

func TestClose(t *testing.T) {
	for role, how := range map[string]string{"good": "asked", "stubborn": "killed", "family": "with its family"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			config := as(t, role)
			config.Grace = 300 * time.Millisecond
			v, err := spawn.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			pid, environ := self(t, v)
			pids := []int{pid}
			for _, variable := range environ {
				if child, ok := strings.CutPrefix(variable, "CHILD="); ok {
					childPID, _ := strconv.Atoi(child)
					pids = append(pids, childPID)
				}
			}
			for range 2 {
				if err := v.Close(); err != nil {
					t.Error(err)
				}
			}
			for _, pid := range pids {
				testwait.For(t, fmt.Sprint(pid, " is gone"), func() bool { return !alive(pid) })
			}
			if _, err := v.Verify(t.Context(), pair("x")); !errors.Is(err, entail.ErrClosed) {
				t.Errorf("Verify after Close: %v", err)
			}
		})
	}
}

// TestFamilyOfACrash: what a crashed sidecar leaves in its group is ended too.
func TestFamilyOfACrash(t *testing.T) {
	t.Parallel()
	v := open(t, as(t, "family"))
	pid, environ := self(t, v)
	child := 0
	for _, variable := range environ {
		if value, ok := strings.CutPrefix(variable, "CHILD="); ok {
			child, _ = strconv.Atoi(value)
		}
	}
	if !alive(child) {
		t.Fatal("there is no child")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testwait.For(t, "the child is gone", func() bool { return !alive(child) })
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := spawn.Open(ctx, as(t, "no line")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestNoOrphan kills a host, which has no chance to clean up: a sidecar that
// takes no notice of anything is ended by the kernel, and one behind a shell
// sees its standard input end.
func TestNoOrphan(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ role, command string }{
		"deaf sidecar":          {"deaf", binary},
		"sidecar behind shell":  {"good", "sh\n-c\n" + binary + "; true"},
		"stubborn, and a shell": {"stubborn", "sh\n-c\n" + binary + "; true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := exec.Command(binary)
			host.Env = append(os.Environ(), roleEnv+"=host", "SIDECAR="+c.command, "SIDECAR_ROLE="+c.role, "TMPDIR="+t.TempDir())
			out, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			pid, _ := parseSelf(t, strings.TrimSpace(line))
			if !alive(pid) {
				t.Fatal("there is no sidecar")
			}
			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = host.Wait() // it was killed
			testwait.For(t, "the sidecar is gone", func() bool { return !alive(pid) })
		})
	}
}
