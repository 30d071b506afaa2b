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

// Library returns the path of the library: the one that the environment names,
// or the checkout's. Where there is none the test is skipped, except under
// continuous integration (CI=true), where a test that silently does not run
// would pass for one that passed.
func Library(tb testing.TB) string {
	tb.Helper()
	path := os.Getenv(ortlib.Env)
	if path == "" {
		_, file, _, _ := runtime.Caller(0)
		path = ortlib.Host().CachePath(filepath.Join(filepath.Dir(file), "..", ".."))
	}
	if _, err := os.Stat(path); err != nil {
		const hint = "the ONNX Runtime library is absent (%s): run `make setup`"
		if os.Getenv("CI") == "true" {
			tb.Fatalf(hint, path)
		}
		tb.Skipf(hint, path)
	}
	return path
}
