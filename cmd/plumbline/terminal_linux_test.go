package main_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo terminal: what is written to the second file can be
// read from the first.
func terminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals here")
	}
	t.Cleanup(func() { _ = screen.Close() })
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return screen, tty
}

// onTerminal runs the program with standard error on a terminal and returns
// what the terminal shows.
func onTerminal(t *testing.T, arguments ...string) string {
	t.Helper()
	screen, tty := terminal(t)
	command := program(t.Context(), arguments...)
	command.Stdout, command.Stderr = io.Discard, tty
	shown := make(chan string, 1)
	go func() {
		var text bytes.Buffer
		_, _ = io.Copy(&text, screen) // ends with an error when the terminal is closed
		shown <- text.String()
	}()
	err := command.Run()
	_ = tty.Close()
	if exitCode(t, err) > 1 {
		t.Fatalf("%v: %s", err, <-shown)
	}
	return <-shown
}

func TestProgressIsForTerminals(t *testing.T) {
	t.Parallel()
	in := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(in, []byte(record(1)+"\n"+record(2)+"\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"score", "retrieval", "--in", in}
	if shown := onTerminal(t, arguments...); !strings.Contains(shown, "3/3") || !strings.Contains(shown, "records") || !strings.Contains(shown, "line 3: ") {
		t.Errorf("shown: %q", shown)
	}
	if shown := onTerminal(t, append(arguments, "--no-progress")...); strings.Contains(shown, "3/3") || !strings.Contains(shown, "line 3: ") {
		t.Errorf("--no-progress shows %q", shown)
	}
	if shown := onTerminal(t, append(arguments, "--quiet")...); shown != "" {
		t.Errorf("--quiet shows %q", shown)
	}
	if got := plumbline(t, "", arguments...); strings.Contains(got.stderr, "3/3") {
		t.Errorf("to a pipe: %q", got.stderr)
	}
}

func TestCheckIsColouredOnTerminals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		variable string
		coloured bool
	}{{"NO_COLOR=", true}, {"NO_COLOR=1", false}} {
		screen, tty := terminal(t)
		command := program(t.Context(), "verifier", "check", "exec:true")
		command.Env = append(command.Env, c.variable)
		command.Stdout = tty
		if code := exitCode(t, command.Run()); code != 1 {
			t.Errorf("exit code %d", code)
		}
		_ = tty.Close()
		shown, _ := io.ReadAll(screen) // ends with an error when the terminal is closed
		if got := bytes.Contains(shown, []byte("\x1b[31mfail\x1b[0m")); got != c.coloured || !bytes.Contains(shown, []byte("fail")) {
			t.Errorf("%s: %q", c.variable, shown)
		}
	}
}
