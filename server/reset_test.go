package server_test

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"plumbline/internal/testwait"
	"plumbline/scorers/entail/entailtest"
	"plumbline/server"
)

// TestRapidResetDoesNotAmplify opens and resets calls on one connection as fast
// as it can. However many it opens, only as many handlers as a connection may
// have streams are ever alive, and all are gone soon after.
func TestRapidResetDoesNotAmplify(t *testing.T) {
	const resets, margin = 5000, 60
	cfg := settings()
	r := run(t, cfg, server.Options{Engine: &engine{Verifier: entailtest.NewBlocking(entailtest.Overlap())}})
	for name, addr := range map[string]net.Addr{"grpc": r.GRPCAddr(), "http": r.HTTPAddr()} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			var most int
			attack(t, addr, resets, func() { most = max(most, runtime.NumGoroutine()-before) })
			// A stream takes a few goroutines at most.
			if limit := 3*int(cfg.Limits.MaxConcurrentStreams) + margin; most > limit {
				t.Errorf("%d goroutines at once, want at most %d", most, limit)
			}
			testwait.For(t, "the goroutines are gone", func() bool { return runtime.NumGoroutine() <= before+5 })
		})
	}
}

// attack sends HEADERS and RST_STREAM, n times, until the server has enough.
func attack(t *testing.T, addr net.Addr, n int, each func()) {
	t.Helper()
	conn, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, nil)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := range n {
		block.Reset()
		for _, field := range [][2]string{
			{":method", "POST"},
			{":scheme", "http"},
			{":path", scoreGrounding},
			{":authority", "x"},
			{"content-type", "application/grpc"},
			{"te", "trailers"},
		} {
			if err := encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
				t.Fatal(err)
			}
		}
		id := uint32(2*i + 1)
		_ = conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
		if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true}); err != nil {
			return // The server has closed the connection, as it may.
		}
		if err := framer.WriteRSTStream(id, http2.ErrCodeCancel); err != nil {
			return
		}
		if i%50 == 0 {
			each()
		}
	}
}
