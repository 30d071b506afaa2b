// Package pyenv gives tests a Python with pinned packages: a virtual
// environment in the checkout's cache, one for each list of requirements, made
// at first use.
package pyenv

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// Find returns the Python of the environment that a requirements file
// describes. Where there is no python3, or the packages are not to be had, the
// test is skipped with what was missing.
func Find(tb testing.TB, requirements string) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("installs Python packages")
	}
	list, err := os.ReadFile(requirements)
	if err != nil {
		tb.Fatal(err)
	}
	path, err := filepath.Abs(requirements)
	if err != nil {
		tb.Fatal(err)
	}
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "..", "..")
	sum := sha256.Sum256(list)
	name := filepath.Join("python", hex.EncodeToString(sum[:6]))
	venv := filepath.Join(root, ".cache", name)
	if err := os.MkdirAll(filepath.Dir(venv), 0o750); err != nil {
		tb.Fatal(err)
	}
	defer lock(tb, venv+".lock")()
	if output, err := exec.CommandContext(tb.Context(), filepath.Join(root, "scripts", "python-venv"), name, path).CombinedOutput(); err != nil {
		tb.Skipf("no Python with the packages of %s: %v\n%s", requirements, err, output[max(0, len(output)-500):])
	}
	return filepath.Join(venv, "bin", "python")
}

// lock keeps out other test processes, which may want the same environment.
func lock(tb testing.TB, path string) (unlock func()) {
	tb.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		tb.Fatal(err)
	}
	return func() { _ = file.Close() }
}

// Pytest runs the tests of a folder in the environment that a requirements file
// describes, with extra variables of the form NAME=value.
func Pytest(tb testing.TB, requirements, folder string, env ...string) {
	tb.Helper()
	python := Find(tb, requirements)
	command := exec.CommandContext(tb.Context(), python, "-m", "pytest", "--quiet", "--no-header", "-p", "no:cacheprovider", "tests")
	command.Dir = folder
	command.Env = append(os.Environ(), env...)
	output, err := command.CombinedOutput()
	if err != nil {
		tb.Errorf("pytest: %v\n%s", err, output[max(0, len(output)-8000):])
	}
	tb.Logf("%s", output[max(0, len(output)-400):])
}
