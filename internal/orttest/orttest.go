// Package orttest finds the ONNX Runtime library for tests that run the real
// model.
package orttest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"plumbline/internal/ortlib"
)

// Find returns the path of the library: the one that the environment names, or
// the checkout's; found tells whether it is there.
func Find() (path string, found bool) {
	path = os.Getenv(ortlib.Env)
	if path == "" {
		_, file, _, _ := runtime.Caller(0)
		path = ortlib.Host().CachePath(filepath.Join(filepath.Dir(file), "..", ".."))
	}
	_, err := os.Stat(path)
	return path, err == nil
}

// Library returns the path of the library. Where there is none the test is
// skipped, except under continuous integration (CI=true), where a test that
// silently does not run would pass for one that passed.
func Library(tb testing.TB) string {
	tb.Helper()
	path, found := Find()
	if !found {
		const hint = "the ONNX Runtime library is absent (%s): run `make setup`"
		if os.Getenv("CI") == "true" {
			tb.Fatalf(hint, path)
		}
		tb.Skipf(hint, path)
	}
	return path
}
