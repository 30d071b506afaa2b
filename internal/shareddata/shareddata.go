// Package shareddata finds the folder of public labelled data, worked cases
// and start weights that some tests read. The folder lies beside the checkout
// and is no part of the product; where it is absent such tests skip.
package shareddata

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Env names the environment variable that points to the folder where it does
// not lie beside the checkout.
const Env = "PLUMBLINE_SHARED"

// Path returns the path of a file or folder below the shared folder and skips
// the test if it does not exist.
func Path(tb testing.TB, parts ...string) string {
	tb.Helper()
	path := filepath.Join(append([]string{dir()}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("shared test data is absent (%s): set %s to its folder", filepath.Join(parts...), Env)
	}
	return path
}

func dir() string {
	if d := os.Getenv(Env); d != "" {
		return d
	}
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..", "shared")
}
