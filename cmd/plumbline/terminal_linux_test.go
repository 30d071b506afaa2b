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

func TestCalibrationShowsItsStages(t *testing.T) {
	t.Parallel()
	in := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(in, []byte(calibrationLines(400)+"nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		arguments []string
		stages    []string
	}{
		{[]string{"fit", "--data-name", "made"}, []string{"records read", "401", "line 401: ", "digest of the records", "separation of signals", "60/60", "figures held out"}},
		{[]string{"evaluate", "--score", "final_conf"}, []string{"records read", "figures by group", "calibration of the score"}},
		{[]string{"compare", "--score", "final_conf", "--against", "noise"}, []string{"differences", "90/90"}},
		{[]string{"replay", "--score", "final_conf", "--below"}, []string{"figures of routings", "benefit of retrieval"}},
	} {
		arguments := append([]string{"calibrate", c.arguments[0], "--in", in, "--bootstrap", "30"}, c.arguments[1:]...)
		shown := onTerminal(t, arguments...)
		for _, stage := range c.stages {
			if !strings.Contains(shown, stage) {
				t.Errorf("%v: %q is not among %q", c.arguments, stage, shown)
			}
		}
		if shown := onTerminal(t, append(arguments, "--quiet")...); shown != "" {
			t.Errorf("--quiet shows %q", shown)
		}
		if shown := onTerminal(t, append(arguments, "--no-progress")...); strings.Contains(shown, "figures") || !strings.Contains(shown, "line 401: ") {
			t.Errorf("--no-progress shows %q", shown)
		}
		if got := plumbline(t, "", arguments...); strings.Contains(got.stderr, "figures") {
			t.Errorf("to a pipe: %q", got.stderr)
		}
	}
}

// TestAnInterruptEndsAFit whose bootstrap would take minutes.
func TestAnInterruptEndsAFit(t *testing.T) {
	t.Parallel()
	in := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(in, []byte(calibrationLines(2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	screen, tty := terminal(t)
	command := program(t.Context(), "calibrate", "fit", "--data-name", "made", "--in", in, "--bootstrap", "1000000")
	command.Stdout, command.Stderr = io.Discard, tty
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close() // the program has its own
	var shown bytes.Buffer
	for part := make([]byte, 1024); !strings.Contains(shown.String(), "separation of signals"); {
		n, err := screen.Read(part)
		if err != nil {
			t.Fatalf("%v after %q", err, shown.String())
		}
		shown.Write(part[:n])
	}
	rest := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(screen)
		rest <- string(text)
	}()
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, command.Wait()); code != 130 {
		t.Errorf("exit code %d", code)
	}
	if text := <-rest; !strings.Contains(text, "interrupted") {
		t.Errorf("shown: %q", text)
	}
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
	out := filepath.Join(t.TempDir(), "out.jsonl")
	if err := os.WriteFile(out, []byte("{}\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if shown := onTerminal(t, append(arguments, "--out", out, "--resume")...); !strings.Contains(shown, "3/3") {
		t.Errorf("--resume shows %q", shown)
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
