package remote_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"plumbline/internal/testport"
	"plumbline/internal/testwait"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/verifiers/remote"
)

// talk serves every connection by hand.
func talk(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				handle(conn)
			}()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String()
}

// verifyWithin makes a call that must end by itself, before its deadline or soon
// after, and returns the error.
func verifyWithin(t *testing.T, v *remote.Verifier, patience time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { _, err := v.Verify(ctx, questions(3)); done <- err }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("the call is answered")
		}
		return err
	case <-time.After(patience + 10*time.Second):
		t.Fatal("the call hangs")
		return nil
	}
}

// TestWhoIsNoGRPCServerIsUnavailable: what answers at the address speaks some
// other protocol, or nothing at all.
func TestWhoIsNoGRPCServerIsUnavailable(t *testing.T) {
	for name, handle := range map[string]func(net.Conn){
		"garbage":    func(c net.Conn) { _, _ = c.Write([]byte("\x00\xff\x17garbage\r\n\r\n")); _, _ = io.Copy(io.Discard, c) },
		"http/1.1":   func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")) },
		"hangs up":   func(net.Conn) {},
		"half frame": func(c net.Conn) { _, _ = c.Write([]byte{0, 0, 6, 4}) },
	} {
		t.Run(name, func(t *testing.T) {
			v := open(t, remote.Config{Address: "grpc://" + talk(t, handle)})
			if err := verifyWithin(t, v, 10*time.Second); !errors.Is(err, entail.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("silence", func(t *testing.T) {
		v := open(t, remote.Config{Address: "grpc://" + talk(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })})
		if err := verifyWithin(t, v, 300*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// frames speaks HTTP/2 by hand, so that a test decides what the second call on
// the connection, Verify, is answered with; Describe is answered well.
type frames struct {
	framer *http2.Framer
	conn   net.Conn
	verify func(f *frames, stream uint32)
	// paths of the streams whose request has not ended.
	paths map[uint32]string
}

func handcrafted(verify func(f *frames, stream uint32)) func(net.Conn) {
	return func(conn net.Conn) {
		preface := make([]byte, len(http2.ClientPreface))
		reader := bufio.NewReader(conn)
		if _, err := io.ReadFull(reader, preface); err != nil {
			return
		}
		f := &frames{framer: http2.NewFramer(conn, reader), conn: conn, verify: verify, paths: map[uint32]string{}}
		f.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		if f.framer.WriteSettings() != nil {
			return
		}
		for f.step() {
		}
	}
}

// step handles one frame and says whether to go on.
func (f *frames) step() bool {
	frame, err := f.framer.ReadFrame()
	if err != nil {
		return false
	}
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if !frame.IsAck() {
			_ = f.framer.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !frame.IsAck() {
			_ = f.framer.WritePing(true, frame.Data)
		}
	case *http2.MetaHeadersFrame:
		f.paths[frame.StreamID] = frame.PseudoValue("path")
	case *http2.DataFrame:
		if frame.StreamEnded() {
			f.answer(frame.StreamID)
		}
	}
	return true
}

func (f *frames) answer(stream uint32) {
	switch f.paths[stream] {
	case plumblinev1.VerifierService_Describe_FullMethodName:
		f.headers(stream, false, ":status", "200", "content-type", "application/grpc")
		_ = f.framer.WriteData(stream, false, message(threeClass()))
		f.headers(stream, true, "grpc-status", "0")
	case plumblinev1.VerifierService_Verify_FullMethodName:
		f.verify(f, stream)
	default: // health, which this server does not have
		f.headers(stream, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "12")
	}
}

func (f *frames) headers(stream uint32, end bool, fields ...string) {
	var block []byte
	encoder := hpack.NewEncoder((*appender)(&block))
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = f.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block, EndHeaders: true, EndStream: end})
}

type appender []byte

func (a *appender) Write(p []byte) (int, error) { *a = append(*a, p...); return len(p), nil }

// message is a length-prefixed message.
func message(m proto.Message) []byte {
	body, _ := proto.Marshal(m)
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
}

// TestFaultsOnTheWire breaks a reply in the middle, in every layer.
func TestFaultsOnTheWire(t *testing.T) {
	reply := message(good([]*plumblinev1.VerifyPair{{Id: "0", Hypothesis: "x"}, {Id: "1", Hypothesis: "xx"}, {Id: "2", Hypothesis: "xxx"}})[0])
	begin := func(f *frames, stream uint32) {
		f.headers(stream, false, ":status", "200", "content-type", "application/grpc")
	}
	for name, c := range map[string]struct {
		verify func(f *frames, stream uint32)
		want   error
	}{
		"connection cut in the middle of a message": {func(f *frames, stream uint32) {
			begin(f, stream)
			_ = f.framer.WriteData(stream, false, reply[:len(reply)/2])
			_ = f.conn.Close()
		}, entail.ErrUnavailable},
		"connection cut in the middle of a frame": {func(f *frames, stream uint32) {
			begin(f, stream)
			_, _ = f.conn.Write(append([]byte{0, 0, byte(len(reply)), 0, 0, 0, 0, 0, byte(stream)}, reply[:3]...))
			_ = f.conn.Close()
		}, entail.ErrUnavailable},
		"stream ended in the middle of a message": {func(f *frames, stream uint32) {
			begin(f, stream)
			_ = f.framer.WriteData(stream, false, reply[:len(reply)/2])
			f.headers(stream, true, "grpc-status", "0")
		}, entail.ErrBadReply},
		"stream ended without a status": {func(f *frames, stream uint32) {
			begin(f, stream)
			_ = f.framer.WriteData(stream, true, reply)
		}, entail.ErrBadReply},
		"stream reset": {func(f *frames, stream uint32) {
			begin(f, stream)
			_ = f.framer.WriteRSTStream(stream, http2.ErrCodeInternal)
		}, entail.ErrBadReply},
		"message of random bytes": {func(f *frames, stream uint32) {
			begin(f, stream)
			_ = f.framer.WriteData(stream, false, []byte{0, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff})
			f.headers(stream, true, "grpc-status", "0")
		}, entail.ErrBadReply},
		"message of an impossible length": {func(f *frames, stream uint32) {
			begin(f, stream)
			_ = f.framer.WriteData(stream, false, []byte{0, 0xff, 0xff, 0xff, 0xff, 1})
			f.headers(stream, true, "grpc-status", "0")
		}, entail.ErrBusy}, // gRPC calls it RESOURCE_EXHAUSTED
		"an HTTP error": {func(f *frames, stream uint32) {
			f.headers(stream, true, ":status", "502", "content-type", "text/html")
		}, entail.ErrUnavailable},
		"goodbye before the reply": {func(f *frames, _ uint32) {
			_ = f.framer.WriteGoAway(0, http2.ErrCodeNo, nil)
			_ = f.conn.Close()
		}, entail.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			v := open(t, remote.Config{Address: "grpc://" + talk(t, handcrafted(c.verify))})
			if err := verifyWithin(t, v, 20*time.Second); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	t.Run("and a whole reply", func(t *testing.T) {
		whole := func(f *frames, stream uint32) {
			begin(f, stream)
			for i := range reply { // byte by byte
				_ = f.framer.WriteData(stream, false, reply[i:i+1])
			}
			f.headers(stream, true, "grpc-status", "0")
		}
		pairs := questions(3)
		batch, err := open(t, remote.Config{Address: "grpc://" + talk(t, handcrafted(whole))}).Verify(t.Context(), pairs)
		if err != nil {
			t.Fatal(err)
		}
		checkScores(t, pairs, batch)
	})
}

// TestAKillInMidStreamIsUnavailable, and the next call finds the successor.
func TestAKillInMidStreamIsUnavailable(t *testing.T) {
	address := testport.Address(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	half := newSidecar()
	inside := make(chan struct{})
	half.verify = func(stream verifyStream) error {
		pairs, err := readAll(stream)
		if err != nil {
			return err
		}
		if err := stream.Send(good(pairs[:1])[0]); err != nil {
			return err
		}
		close(inside)
		<-stream.Context().Done()
		return nil
	}
	server := serveOn(t, listener, half)
	v := open(t, remote.Config{Address: "grpc://" + address})
	go func() { <-inside; server.Stop() }()
	if err := verifyWithin(t, v, 20*time.Second); !errors.Is(err, entail.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, listener, newSidecar())
	begun := time.Now()
	testwait.For(t, "the successor answers", func() bool { _, err := v.Verify(t.Context(), questions(3)); return err == nil })
	t.Logf("the successor answers %v after it began to listen", time.Since(begun))
}

// TestSlowAnswersAreWaitedFor until the deadline and no longer.
func TestSlowAnswersAreWaitedFor(t *testing.T) {
	s := newSidecar()
	s.verify = func(stream verifyStream) error {
		pairs, err := readAll(stream)
		if err != nil {
			return err
		}
		for _, pair := range pairs {
			select {
			case <-stream.Context().Done():
				return stream.Context().Err()
			case <-time.After(20 * time.Millisecond):
			}
			if err := stream.Send(good([]*plumblinev1.VerifyPair{pair})[0]); err != nil {
				return err
			}
		}
		return nil
	}
	v := client(t, s)
	pairs := questions(3)
	batch, err := v.Verify(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	checkScores(t, pairs, batch)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := v.Verify(ctx, questions(1000)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestASidecarThatReadsNothingBlocksNobody: the call's deadline frees the sender
// that waits for room.
func TestASidecarThatReadsNothingBlocksNobody(t *testing.T) {
	s := newSidecar()
	s.verify = func(stream verifyStream) error { <-stream.Context().Done(); return nil }
	pairs := questions(200)
	for i := range pairs {
		pairs[i].Premise = string(make([]byte, 100_000)) // 20 MB: no window holds it
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := client(t, s).Verify(ctx, pairs); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestASidecarThatEndsEarlyBlocksNobody: it ends the stream well before it has
// read everything.
func TestASidecarThatEndsEarlyBlocksNobody(t *testing.T) {
	s := newSidecar()
	s.verify = func(stream verifyStream) error {
		_, err := stream.Recv()
		return err
	}
	pairs := questions(200)
	for i := range pairs {
		pairs[i].Premise = string(make([]byte, 100_000))
	}
	_, err := client(t, s).Verify(t.Context(), pairs)
	wantViolation(t, err, remote.MissingID)
}

// A sidecar that answers every pair with DEADLINE, just before the caller's own.
func TestPairsWithoutTimeAreTheCallersDeadline(t *testing.T) {
	s := newSidecar()
	s.verify = func(stream verifyStream) error {
		request, err := stream.Recv()
		if err != nil {
			return err
		}
		ours, _ := stream.Context().Deadline()
		time.Sleep(min(time.Until(ours)-30*time.Millisecond, time.Second))
		late := &plumblinev1.VerifyResult{Id: request.GetPairs()[0].GetId(), Status: plumblinev1.Status_STATUS_DEADLINE, Reason: "no time is left"}
		return stream.Send(&plumblinev1.VerifyResponse{Digest: digest, Results: []*plumblinev1.VerifyResult{late}})
	}
	v := client(t, s)
	if _, err := v.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	for left, want := range map[time.Duration]error{200 * time.Millisecond: context.DeadlineExceeded, time.Minute: entail.ErrUnavailable} {
		ctx, cancel := context.WithTimeout(t.Context(), left)
		if _, err := v.Verify(ctx, questions(1)); !errors.Is(err, want) {
			t.Errorf("with %v left: %v, want %v", left, err, want)
		}
		cancel()
	}
}
