// Package testwait lets a test wait for what other goroutines or processes bring about.
package testwait

import (
	"testing"
	"time"
)

const (
	patience = time.Minute // for machines that do much else
	interval = 5 * time.Millisecond
)

// For waits until ok holds, and ends the test with what it waited for if it never does.
func For(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(interval) {
		if time.Now().After(end) {
			t.Fatalf("not in %v: %s", patience, what)
		}
	}
}
