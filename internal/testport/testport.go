// Package testport gives tests a port on which nothing listens yet, and which stays
// theirs until they listen on it, or do so again.
package testport

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// The kernel takes ports of clients, and those of "any port", from above these. What
// it has given once it may give to somebody else as soon as it is free.
const first, last = 20000, 32000

// Free returns such a port of this host.
func Free(t testing.TB) int {
	t.Helper()
	for range 100 {
		port := first + rand.IntN(last-first)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatalf("no free port from %d to %d", first, last)
	return 0
}

// Address is that of a port of Free.
func Address(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(Free(t)))
}
