package jsonhttp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"plumbline/scorers/entail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "sk-very-secret"

// ask posts to a server that answers so.
func ask(ctx context.Context, t *testing.T, timeout time.Duration, answer http.HandlerFunc) (map[string]any, error) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	client := New(base, secret, timeout, 2)
	t.Cleanup(client.Close)
	var out map[string]any
	_, err = client.Post(ctx, "ask", map[string]string{"text": "evidence text"}, &out)
	return out, err
}

func TestARequestIsWhatTheServerExpects(t *testing.T) {
	out, err := ask(t.Context(), t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"path":%q,"key":%q,"type":%q,"body":%q}`, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), body)
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"path": "/v1/ask", "key": "Bearer " + secret, "type": "application/json", "body": `{"text":"evidence text"}`,
	} {
		if out[key] != want {
			t.Errorf("%s is %q, want %q", key, out[key], want)
		}
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.Copy(w, r.Body) // servers repeat what they were asked
	}
}

func write(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

// hijack answers with raw bytes and cuts the connection.
func hijack(raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, raw)
		_ = conn.Close()
	}
}

func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"500":                   {status(500), entail.ErrUnavailable},
		"502":                   {status(502), entail.ErrUnavailable},
		"503":                   {status(503), entail.ErrUnavailable},
		"408":                   {status(408), entail.ErrUnavailable},
		"424":                   {status(424), entail.ErrUnavailable},
		"429":                   {status(429), entail.ErrBusy},
		"400":                   {status(400), entail.ErrRejected},
		"401":                   {status(401), entail.ErrRejected},
		"404":                   {status(404), entail.ErrRejected},
		"501":                   {status(501), entail.ErrRejected},
		"no JSON":               {write("<html>Welcome</html>"), entail.ErrBadReply},
		"truncated JSON":        {write(`{"a":[1,`), entail.ErrBadReply},
		"two documents":         {write(`{"a":1}{"a":2}`), entail.ErrBadReply},
		"NaN":                   {write(`{"a":NaN}`), entail.ErrBadReply},
		"another type":          {write(`[1]`), entail.ErrBadReply},
		"nothing":               {write(""), entail.ErrBadReply},
		"huge":                  {write(`"` + strings.Repeat("x", MaxReplyBytes) + `"`), entail.ErrBadReply},
		"cut in the body":       {hijack("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\""), entail.ErrUnavailable},
		"cut in a chunk":        {hijack("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{\"a\""), entail.ErrUnavailable},
		"cut in the header":     {hijack("HTTP/1.1 200 OK\r\nContent-Le"), entail.ErrUnavailable},
		"cut at once":           {hijack(""), entail.ErrUnavailable},
		"garbage":               {hijack("\x00\x01\x02SSH-2.0\r\n\r\n"), entail.ErrUnavailable},
		"an endless header":     {hijack("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20)), entail.ErrUnavailable},
		"gzip that is none":     {hijack("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd"), entail.ErrUnavailable},
		"a redirect":            {status(307, "Location", "/v1/other"), entail.ErrRejected},
		"a redirect that is no": {status(302), entail.ErrRejected},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ask(t.Context(), t, time.Minute, test.answer)
			if !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "evidence text") {
				t.Errorf("the error tells too much: %v", err)
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Store(true)
		_, _ = io.WriteString(w, "{}")
	}))
	defer elsewhere.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		if _, err := ask(t.Context(), t, time.Minute, status(code, "Location", elsewhere.URL)); !errors.Is(err, entail.ErrRejected) {
			t.Errorf("%d: %v, want entail.ErrRejected", code, err)
		}
	}
	if reached.Load() {
		t.Error("evidence went to another host")
	}
}

func TestAGzipBombIsBounded(t *testing.T) {
	// A gzip file may have many members, one after another.
	var member bytes.Buffer
	zip := gzip.NewWriter(&member)
	_, _ = zip.Write(make([]byte, 1<<20))
	_ = zip.Close() // a buffer takes all
	bomb := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		for range 1024 {
			if _, err := w.Write(member.Bytes()); err != nil {
				return
			}
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ask(t.Context(), t, time.Minute, bomb)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, entail.ErrBadReply) {
		t.Errorf("got %v, want entail.ErrBadReply", err)
	}
	// io.ReadAll grows its buffer step by step, so that all steps together are a
	// few times what is kept.
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 10*MaxReplyBytes {
		t.Errorf("a reply of 1 GiB allocated %d MiB", allocated>>20)
	}
}

func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"7":                             7 * time.Second,
		"0":                             0,
		"Mon, 01 Jan 2001 00:00:00 GMT": 0,
	} {
		_, err := ask(t.Context(), t, time.Minute, status(429, "Retry-After", header))
		invitation, ok := errors.AsType[*entail.RetryAfter](err)
		if !ok || invitation.After != want || !errors.Is(err, entail.ErrBusy) {
			t.Errorf("%q: %v, want busy and %v", header, err, want)
		}
	}
	in := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	_, err := ask(t.Context(), t, time.Minute, status(503, "Retry-After", in))
	if invitation, ok := errors.AsType[*entail.RetryAfter](err); !ok || invitation.After < 50*time.Minute || invitation.After > time.Hour {
		t.Errorf("%q: %v, want about an hour", in, err)
	}
	for _, header := range []string{"", "soon", "-1", "1.5", "99999999999999999999"} {
		_, err := ask(t.Context(), t, time.Minute, status(429, "Retry-After", header))
		if _, ok := errors.AsType[*entail.RetryAfter](err); ok || !errors.Is(err, entail.ErrBusy) {
			t.Errorf("%q: %v, want busy alone", header, err)
		}
	}
}

// trickle writes a byte now and then until the client is gone.
func trickle(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, " "); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		time.Sleep(5 * time.Millisecond)
	}
}

func TestASlowServerIsCutAtTheTimeout(t *testing.T) {
	_, err := ask(t.Context(), t, 50*time.Millisecond, trickle)
	if !errors.Is(err, entail.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want entail.ErrUnavailable and not the caller's deadline", err)
	}
}

func TestTheCallersContextIsItsOwn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := ask(ctx, t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		trickle(w, r)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := ask(ctx, t, time.Minute, trickle); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want context.DeadlineExceeded", err)
	}
}

func TestNobodyListens(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	base, _ := url.Parse(server.URL)
	server.Close()
	client := New(base, secret, time.Minute, 1)
	defer client.Close()
	if err := client.Get(t.Context(), "info", nil); !errors.Is(err, entail.ErrUnavailable) {
		t.Errorf("got %v, want entail.ErrUnavailable", err)
	}
}
