// Package shareddata finds the folder of public labelled data, worked cases
// and start weights that some tests read. The folder lies beside the checkout
// and is no part of the product; where it is absent such tests skip.
package shareddata

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Env names the environment variable that points to the folder where it does
// not lie beside the checkout.
const Env = "SHARED_DATA"

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

// Rows yields the objects of a gzip JSONL file below the shared folder; it
// skips the test if the file does not exist.
func Rows[T any](tb testing.TB, parts ...string) iter.Seq[T] {
	tb.Helper()
	path := Path(tb, parts...)
	return func(yield func(T) bool) {
		file, err := os.Open(path)
		if err != nil {
			tb.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		unzipped, err := gzip.NewReader(file)
		if err != nil {
			tb.Fatal(err)
		}
		for decoder := json.NewDecoder(unzipped); ; {
			var row T
			switch err := decoder.Decode(&row); {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				tb.Fatal(err)
			case !yield(row):
				return
			}
		}
	}
}

func dir() string {
	if d := os.Getenv(Env); d != "" {
		return d
	}
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..", "shared")
}
