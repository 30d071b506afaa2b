package hub_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plumbline/models"
	"plumbline/models/hub"
)

// web is a model on a server that may misbehave.
type web struct {
	*httptest.Server
	files map[string][]byte
	// serve, if set, answers requests for the weights; n counts them from 1.
	serve func(w http.ResponseWriter, r *http.Request, n int)

	mu       sync.Mutex
	requests map[string]int
	ranges   []string
}

const weights = "model.onnx"

// newWeb offers a model of 300 KB, whose bytes depend on the seed, at every path.
func newWeb(t *testing.T, seed uint64) *web {
	t.Helper()
	w := &web{files: map[string][]byte{weights: make([]byte, 300_000), "tokenizer.json": []byte(`{"version":"1.0"}`)}, requests: map[string]int{}}
	generator := rand.New(rand.NewPCG(seed, 1))
	for i := range w.files[weights] {
		w.files[weights][i] = byte(generator.Uint32())
	}
	w.setManifest(t, func(*models.Manifest) {})
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

func (w *web) file(name string) models.File {
	sum := sha256.Sum256(w.files[name])
	return models.File{Name: name, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(w.files[name]))}
}

func (w *web) setManifest(t *testing.T, change func(*models.Manifest)) {
	t.Helper()
	m := models.Manifest{
		SchemaVersion: models.SchemaVersion, Name: "made", Version: "1", Architecture: "bert", Task: models.TaskSequenceClassification,
		WeightsFormat: "onnx-fp32", Inputs: []string{models.InputIDs}, Output: "logits",
		Classes: []string{models.ClassEntailment, models.ClassNotEntailment}, MaxTokens: 512, TrainedMaxTokens: 512,
		PairTemplate: "[CLS] premise [SEP] hypothesis [SEP]", License: "MIT",
		Files: models.Files{Weights: w.file(weights), Tokenizer: w.file("tokenizer.json")},
	}
	change(&m)
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	w.files[models.ManifestName] = data
}

// ServeHTTP implements http.Handler.
func (w *web) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	name := filepath.Base(r.URL.Path)
	w.mu.Lock()
	w.requests[name]++
	n := w.requests[name]
	if name == weights {
		w.ranges = append(w.ranges, r.Header.Get("Range"))
	}
	w.mu.Unlock()
	data, known := w.files[name]
	switch {
	case !known:
		http.NotFound(out, r)
	case name == weights && w.serve != nil:
		w.serve(out, r, n)
	default:
		w.send(out, r, data)
	}
}

func (w *web) send(out http.ResponseWriter, r *http.Request, data []byte) {
	http.ServeContent(out, r, "", time.Time{}, bytes.NewReader(data))
}

// breakOff sends the head for all that is asked and only n bytes of it.
func (w *web) breakOff(out http.ResponseWriter, r *http.Request, n int) {
	from := offset(r)
	rest := w.files[weights][from:]
	out.Header().Set("Content-Length", strconv.Itoa(len(rest)))
	if from > 0 {
		out.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(w.files[weights])-1, len(w.files[weights])))
		out.WriteHeader(http.StatusPartialContent)
	}
	_, _ = out.Write(rest[:min(n, len(rest))])
	out.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func offset(r *http.Request) int {
	from, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-"))
	if err != nil {
		return 0
	}
	return from
}

func quick() hub.Puller { return hub.Puller{Pause: time.Millisecond, Stall: 5 * time.Second} }

func (w *web) source(t *testing.T) hub.Source {
	t.Helper()
	s, err := hub.ParseSource(w.URL+"/folder/made", "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *web) pull(t *testing.T, store *hub.Store, p hub.Puller) (hub.Entry, error) {
	t.Helper()
	return store.Pull(t.Context(), p, w.source(t), "owner/made")
}

// whole requires that the store has the server's model, and loads it.
func (w *web) whole(t *testing.T, store *hub.Store, e hub.Entry, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	model, err := models.Load(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(model.Weights, w.files[weights]) || model.Digest != e.Digest {
		t.Error("the model is another one")
	}
	if err := store.Verify(t.Context(), e.Name); err != nil {
		t.Errorf("Verify: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(store.Dir(), ".partial", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// nothing requires that the store has no model.
func nothing(t *testing.T, store *hub.Store) {
	t.Helper()
	if entries, err := store.List(); err != nil || len(entries) > 0 {
		t.Errorf("the store has %v, %v", entries, err)
	}
}

func TestPullBringsAModelAndTellsOfIt(t *testing.T) {
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	p := quick()
	var total, sum int64
	p.Begin, p.Progress = func(n int64) { total = n }, func(n int64) { sum += n }
	e, err := w.pull(t, store, p)
	w.whole(t, store, e, err)
	if want := int64(300_000 + len(w.files["tokenizer.json"])); total != want || sum != want || e.Bytes() != want {
		t.Errorf("%d bytes announced, %d told, the entry has %d, want %d", total, sum, e.Bytes(), want)
	}
	if e.Name != "owner/made" || e.Manifest.License != "MIT" || e.Source != w.URL+"/folder/made" {
		t.Errorf("%+v", e)
	}
	if _, err := w.pull(t, store, quick()); !errors.Is(err, hub.ErrUpToDate) || w.requests[weights] != 1 {
		t.Errorf("pulled again: %v, %d requests", err, w.requests[weights])
	}
}

func TestAHubHasItsFilesUnderResolve(t *testing.T) {
	w := newWeb(t, 1)
	for text, want := range map[string]string{
		"owner/made":            "/owner/made/resolve/main",
		"owner/made@v1.2":       "/owner/made/resolve/v1.2",
		"owner/made@refs/pr/12": "/owner/made/resolve/refs%2Fpr%2F12",
	} {
		s, err := hub.ParseSource(text, w.URL)
		if err != nil || s.URL.String() != w.URL+want || s.Name != "owner/made" {
			t.Errorf("%s: %v, %v", text, s, err)
			continue
		}
		store := hub.NewStore(t.TempDir())
		e, err := store.Pull(t.Context(), quick(), s, s.Name)
		w.whole(t, store, e, err)
	}
	for _, text := range []string{"", "made", "a/b/c", "../made", "a/..", "a/b@../c", "a/b@x/../y", "a b/c", "ftp://host/x", "https:///x", "https://user:secret@host/x", "https://host/x?y=1"} {
		if s, err := hub.ParseSource(text, w.URL); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q became %v, %v", text, s, err)
		}
	}
}

func TestABrokenLineIsTakenUpWhereItBroke(t *testing.T) {
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	w.serve = func(out http.ResponseWriter, r *http.Request, n int) {
		if n < 4 {
			w.breakOff(out, r, 70_000)
		}
		w.send(out, r, w.files[weights])
	}
	e, err := w.pull(t, store, quick())
	w.whole(t, store, e, err)
	if len(w.ranges) != 4 || w.ranges[0] != "" || offset2(w.ranges[3]) <= offset2(w.ranges[1]) {
		t.Errorf("ranges asked: %q", w.ranges)
	}
}

func offset2(header string) int {
	return offset(&http.Request{Header: http.Header{"Range": {header}}})
}

func TestAPullThatFailedIsTakenUpByTheNext(t *testing.T) {
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	w.serve = func(out http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			w.breakOff(out, r, 200_000)
		}
		http.Error(out, "no", http.StatusForbidden)
	}
	if _, err := w.pull(t, store, quick()); err == nil || !strings.Contains(err.Error(), "403") {
		t.Fatalf("%v", err)
	}
	nothing(t, store)
	w.serve = nil
	e, err := w.pull(t, store, quick())
	w.whole(t, store, e, err)
	if last := w.ranges[len(w.ranges)-1]; offset2(last) == 0 {
		t.Errorf("the next pull began anew: %q", w.ranges)
	}
}

func TestAServerWithoutRangesBeginsAnew(t *testing.T) {
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	w.serve = func(out http.ResponseWriter, r *http.Request, n int) {
		r.Header.Del("Range")
		if n < 3 {
			w.breakOff(out, r, 100_000)
		}
		w.send(out, r, w.files[weights])
	}
	p, sum := quick(), int64(0)
	p.Progress = func(n int64) { sum += n }
	e, err := w.pull(t, store, p)
	w.whole(t, store, e, err)
	if sum != e.Bytes() {
		t.Errorf("%d bytes of progress, want %d", sum, e.Bytes())
	}
}

func TestWhatAServerMayNotDo(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(w *web, out http.ResponseWriter, r *http.Request)
		want  string
		tries int
	}{
		"another byte": {func(w *web, out http.ResponseWriter, r *http.Request) {
			data := bytes.Clone(w.files[weights])
			data[123_456] ^= 1
			w.send(out, r, data)
		}, "it was changed", 1},
		"a length that is too small": {func(w *web, out http.ResponseWriter, r *http.Request) {
			w.send(out, r, w.files[weights][:1000])
		}, "the server has 1000 bytes", 1},
		"more bytes than said": {func(w *web, out http.ResponseWriter, _ *http.Request) {
			out.(http.Flusher).Flush() // no length then
			_, _ = out.Write(w.files[weights])
			_, _ = out.Write([]byte("more"))
		}, "more than the 300000 bytes", 1},
		"fewer bytes, unsaid": {func(w *web, out http.ResponseWriter, r *http.Request) {
			if offset(r) > 0 {
				out.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return
			}
			out.(http.Flusher).Flush()
			_, _ = out.Write(w.files[weights][:100_000])
		}, "fewer than the 300000 bytes", 4},
		"another digest in its head": {func(w *web, out http.ResponseWriter, r *http.Request) {
			out.Header().Set("X-Linked-Etag", `"`+strings.Repeat("ab", 32)+`"`)
			w.send(out, r, w.files[weights])
		}, "another version", 1},
		"another size in its head": {func(w *web, out http.ResponseWriter, r *http.Request) {
			out.Header().Set("X-Linked-Size", "5")
			w.send(out, r, w.files[weights])
		}, "another version", 1},
		"a range that was not asked": {func(_ *web, out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Range", "bytes 5-9/300000")
			out.WriteHeader(http.StatusPartialContent)
		}, "from byte 0 on", 1},
		"no token": {func(_ *web, out http.ResponseWriter, _ *http.Request) {
			out.WriteHeader(http.StatusUnauthorized)
		}, "needs a token", 1},
		"no file": {func(_ *web, out http.ResponseWriter, r *http.Request) {
			http.NotFound(out, r)
		}, "404", 1},
		"never ready": {func(_ *web, out http.ResponseWriter, _ *http.Request) {
			out.WriteHeader(http.StatusServiceUnavailable)
		}, "503", 6},
		"always broken": {func(w *web, out http.ResponseWriter, r *http.Request) {
			w.breakOff(out, r, 10)
		}, "EOF", 6},
		"circles": {func(_ *web, out http.ResponseWriter, r *http.Request) {
			http.Redirect(out, r, r.URL.Path, http.StatusFound)
		}, "redirects ten times", 10},
	} {
		t.Run(name, func(t *testing.T) {
			w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
			w.serve = func(out http.ResponseWriter, r *http.Request, _ int) { c.serve(w, out, r) }
			_, err := w.pull(t, store, quick())
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), weights) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if w.requests[weights] != c.tries {
				t.Errorf("%d requests, want %d", w.requests[weights], c.tries)
			}
			nothing(t, store)
			// Nothing of it is in the way of an honest server.
			w.serve = nil
			e, err := w.pull(t, store, quick())
			w.whole(t, store, e, err)
		})
	}
}

func TestABusyServerIsAskedAgainWhenItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := 0
		client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			answers++
			if answers < 3 {
				response := &http.Response{Status: "503 Service Unavailable", StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"40"}}, Body: http.NoBody}
				return response, nil
			}
			return nil, context.Canceled
		})}
		begun := time.Now()
		source, err := hub.ParseSource("https://hub.example/made", "")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 85*time.Second)
		defer cancel()
		_, err = hub.NewStore(t.TempDir()).Pull(ctx, hub.Puller{Client: client}, source, "made")
		if waited := time.Since(begun); err == nil || waited < 80*time.Second {
			t.Errorf("after %v: %v", waited, err)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A real connection would be bounded by the same clock as the server that sends
// nothing, so that a slow machine could fail the honest answers.
func TestAServerThatSendsNothingIsLeft(t *testing.T) {
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		p := quick()
		p.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			out := httptest.NewRecorder()
			w.ServeHTTP(out, r)
			response := out.Result()
			if filepath.Base(r.URL.Path) == weights && w.requests[weights] == 1 {
				response.Body = stalled(r.Context(), w.files[weights][:1000])
			}
			return response, nil
		})}
		begun := time.Now()
		e, err := w.pull(t, store, p)
		w.whole(t, store, e, err)
		if waited := time.Since(begun); waited < p.Stall || waited > 2*p.Stall {
			t.Errorf("it waited for %v, not %v", waited, p.Stall)
		}
	})
	if len(w.ranges) != 2 || offset2(w.ranges[1]) != 1000 {
		t.Errorf("%q", w.ranges)
	}
}

// stalled is a body of some bytes, and then none until the request ends.
func stalled(request context.Context, some []byte) io.ReadCloser {
	body, sender := io.Pipe()
	go func() {
		_, _ = sender.Write(some)
		<-request.Done()
		sender.CloseWithError(request.Err())
	}()
	return body
}

// Storage at another host, and at another port of the hub's.
func TestRedirectsAreFollowedWithoutTheToken(t *testing.T) {
	for _, host := range []string{"localhost", "127.0.0.1"} {
		t.Run(host, func(t *testing.T) { redirectedWithoutToken(t, host) })
	}
}

func redirectedWithoutToken(t *testing.T, host string) {
	t.Helper()
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	var mu sync.Mutex
	var tokens []string
	other := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		mu.Lock()
		tokens = append(tokens, r.Header.Get("Authorization"))
		mu.Unlock()
		w.send(out, r, w.files[weights])
	}))
	t.Cleanup(other.Close)
	asked := ""
	w.serve = func(out http.ResponseWriter, r *http.Request, _ int) {
		asked = r.Header.Get("Authorization")
		http.Redirect(out, r, strings.Replace(other.URL, "127.0.0.1", host, 1)+"/storage", http.StatusFound)
	}
	p := quick()
	p.Token = "secret"
	e, err := w.pull(t, store, p)
	w.whole(t, store, e, err)
	if asked != "Bearer secret" || len(tokens) != 1 || tokens[0] != "" {
		t.Errorf("the hub got %q, the storage %q", asked, tokens)
	}
}

func TestEncryptionIsNotGivenUp(t *testing.T) {
	plain := newWeb(t, 1)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		http.Redirect(out, r, plain.URL+r.URL.Path, http.StatusFound)
	}))
	t.Cleanup(secure.Close)
	source, err := hub.ParseSource(secure.URL+"/made", "")
	if err != nil {
		t.Fatal(err)
	}
	p := quick()
	p.Client = secure.Client()
	store := hub.NewStore(t.TempDir())
	if _, err := store.Pull(t.Context(), p, source, "made"); err == nil || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("%v", err)
	}
	nothing(t, store)
}

func TestManifestsThatMeanHarmAreRefused(t *testing.T) {
	for want, change := range map[string]func(*models.Manifest){
		"must be the name of a file": func(m *models.Manifest) { m.Files.Weights.Name = "../../escape" },
		"cannot be the name":         func(m *models.Manifest) { m.Files.Weights.Name = ".." },
		`".hidden" cannot be`:        func(m *models.Manifest) { m.Files.Weights.Name = ".hidden" },
		`"manifest.json" cannot be`:  func(m *models.Manifest) { m.Files.Weights.Name = models.ManifestName },
		`"source.json" cannot be`:    func(m *models.Manifest) { m.Files.Weights.Name = "source.json" },
		`"tokenizer.json" cannot be`: func(m *models.Manifest) { m.Files.Weights.Name = "tokenizer.json" },
		"MB free":                    func(m *models.Manifest) { m.Files.Weights.Bytes = 1 << 60 },
		"no disk has":                func(m *models.Manifest) { m.Files.Weights.Bytes, m.Files.Tokenizer.Bytes = 1<<63-1, 1<<63-1 },
		"sha256: must be":            func(m *models.Manifest) { m.Files.Weights.SHA256 = "x" },
		"in lower case":              func(m *models.Manifest) { m.Files.Weights.SHA256 = strings.ToUpper(m.Files.Weights.SHA256) },
	} {
		w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
		w.setManifest(t, change)
		if _, err := w.pull(t, store, quick()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		nothing(t, store)
		if w.requests[weights] != 0 {
			t.Errorf("%s: the weights were asked for", want)
		}
	}
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	w.files[models.ManifestName] = bytes.Repeat([]byte(" "), 2<<20)
	if _, err := w.pull(t, store, quick()); err == nil || !strings.Contains(err.Error(), "no manifest") {
		t.Errorf("a manifest of 2 MiB: %v", err)
	}
	delete(w.files, models.ManifestName)
	if _, err := w.pull(t, store, quick()); err == nil || !strings.Contains(err.Error(), "models/export") {
		t.Errorf("a folder without a manifest: %v", err)
	}
}

func TestAnotherDigestThanAskedIsRefused(t *testing.T) {
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	e, err := w.pull(t, hub.NewStore(t.TempDir()), quick())
	if err != nil {
		t.Fatal(err)
	}
	p := quick()
	p.Digest = "sha256:" + strings.Repeat("0", 64)
	if _, err := w.pull(t, store, p); err == nil || !strings.Contains(err.Error(), e.Digest) {
		t.Errorf("%v", err)
	}
	p.Digest = e.Digest
	got, err := w.pull(t, store, p)
	w.whole(t, store, got, err)
}

func TestAnotherVersionTakesTheOldOnesPlace(t *testing.T) {
	first, second, store := newWeb(t, 1), newWeb(t, 2), hub.NewStore(t.TempDir())
	if _, err := first.pull(t, store, quick()); err != nil {
		t.Fatal(err)
	}
	second.serve = func(out http.ResponseWriter, _ *http.Request, _ int) { out.WriteHeader(http.StatusForbidden) }
	if _, err := second.pull(t, store, quick()); err == nil {
		t.Fatal("pulled what is forbidden")
	}
	e, err := store.Get("owner/made")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(e.Path, weights)); err != nil || !bytes.Equal(data, first.files[weights]) {
		t.Errorf("a pull that failed changed the model: %v", err)
	}
	second.serve = nil
	e, err = second.pull(t, store, quick())
	second.whole(t, store, e, err)
}

func TestADamagedModelIsFoundAndPulledAgain(t *testing.T) {
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	e, err := w.pull(t, store, quick())
	if err != nil {
		t.Fatal(err)
	}
	for want, damage := range map[string]func([]byte) []byte{
		"sha256":      func(data []byte) []byte { data[9] ^= 1; return data },
		"has 9 bytes": func(data []byte) []byte { return data[:9] },
	} {
		path := filepath.Join(e.Path, weights)
		if err := os.WriteFile(path, damage(bytes.Clone(w.files[weights])), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := store.Verify(t.Context(), e.Name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		e, err := w.pull(t, store, quick())
		w.whole(t, store, e, err)
	}
	if err := os.Remove(filepath.Join(e.Path, "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	if err := store.Verify(t.Context(), e.Name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is missing: %v", err)
	}
}

func TestTwoPullsOfOneModelDoNotMix(t *testing.T) {
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	asked, answer := make(chan struct{}), make(chan struct{})
	w.serve = func(out http.ResponseWriter, r *http.Request, _ int) {
		close(asked)
		<-answer
		w.send(out, r, w.files[weights])
	}
	source := w.source(t)
	done := make(chan error)
	go func() {
		_, err := store.Pull(t.Context(), quick(), source, "owner/made")
		done <- err
	}()
	<-asked
	for name, second := range map[string]func() error{
		"pull":   func() error { _, err := store.Pull(t.Context(), quick(), source, "owner/made"); return err },
		"remove": func() error { return store.Remove("owner/made") },
	} {
		if err := second(); err == nil || !strings.Contains(err.Error(), "another process") {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(answer)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestACancelledPullKeepsItsBytes(t *testing.T) {
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	w.serve = func(out http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			_, _ = out.Write(w.files[weights][:50_000])
			out.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		w.send(out, r, w.files[weights])
	}
	p, sum := quick(), int64(0)
	p.Progress = func(n int64) {
		if sum += n; sum >= 50_000 {
			cancel()
		}
	}
	if _, err := store.Pull(ctx, p, w.source(t), "owner/made"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	nothing(t, store)
	e, err := w.pull(t, store, quick())
	w.whole(t, store, e, err)
	if last := w.ranges[len(w.ranges)-1]; last != "bytes=50000-" {
		t.Errorf("%q", w.ranges)
	}
}

func TestRemoveDeletesOneModelAndNothingElse(t *testing.T) {
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	for _, name := range []string{"owner/made", "owner/other", "alone"} {
		if _, err := store.Pull(t.Context(), quick(), w.source(t), name); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(filepath.Dir(store.Dir()), "precious")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../precious", "owner", "owner/..", "owner/made/", "/", ".partial", "a/b/c", `owner\made`} {
		if err := store.Remove(name); err == nil {
			t.Errorf("removed %q", name)
		}
	}
	if err := store.Remove("owner/made"); err != nil {
		t.Fatal(err)
	}
	names := func() (names []string) {
		entries, err := store.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name)
		}
		return names
	}
	if got := fmt.Sprint(names()); got != "[alone owner/other]" {
		t.Errorf("left: %s", got)
	}
	if err := errors.Join(store.Remove("owner/other"), store.Remove("alone")); err != nil {
		t.Fatal(err)
	}
	if err := store.Remove("alone"); err == nil || !strings.Contains(err.Error(), "no model alone") {
		t.Errorf("removed twice: %v", err)
	}
	if _, err := os.Stat(filepath.Join(store.Dir(), "owner")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the owner's empty folder is left: %v", err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

// TestAModelTakesNoOthersPlace: a name that is the folder of other models, or that
// lies in a model's folder, is refused before anything is downloaded.
func TestAModelTakesNoOthersPlace(t *testing.T) {
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	for _, name := range []string{"owner/made", "alone"} {
		if _, err := store.Pull(t.Context(), quick(), w.source(t), name); err != nil {
			t.Fatal(err)
		}
	}
	before := w.requests[weights]
	for _, name := range []string{"owner", "alone/made"} {
		if _, err := store.Pull(t.Context(), quick(), w.source(t), name); err == nil || !strings.Contains(err.Error(), "give another name") {
			t.Errorf("pulled as %s: %v", name, err)
		}
	}
	if w.requests[weights] != before {
		t.Error("something was downloaded")
	}
	// What a pull under such a name left is removed, and nothing else.
	if err := os.MkdirAll(filepath.Join(store.Dir(), ".partial", "owner"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := store.Remove("owner"); err != nil {
		t.Fatal(err)
	}
	if entries, err := store.List(); err != nil || len(entries) != 2 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestAFolderThatIsNotThereIsNoEmptyOne(t *testing.T) {
	if _, err := hub.NewStore(filepath.Join(t.TempDir(), "absent")).List(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestAWeakTagDoesNotStopAResume: If-Range takes strong tags only.
func TestAWeakTagDoesNotStopAResume(t *testing.T) {
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	w.serve = func(out http.ResponseWriter, r *http.Request, n int) {
		out.Header().Set("ETag", `W/"weak"`)
		if n < 2 {
			w.breakOff(out, r, 70_000)
		}
		w.send(out, r, w.files[weights])
	}
	e, err := w.pull(t, store, quick())
	w.whole(t, store, e, err)
	if len(w.ranges) != 2 || offset2(w.ranges[1]) == 0 {
		t.Errorf("ranges asked: %q", w.ranges)
	}
}

func TestListShowsAModelThatCannotBeRead(t *testing.T) {
	w, store := newWeb(t, 1), hub.NewStore(t.TempDir())
	e, err := w.pull(t, store, quick())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(e.Path, models.ManifestName), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	entries, err := store.List()
	if err != nil || len(entries) != 1 || entries[0].Err == nil || entries[0].Name != "owner/made" {
		t.Errorf("%+v, %v", entries, err)
	}
	if err := store.Remove("owner/made"); err != nil {
		t.Errorf("it cannot be removed: %v", err)
	}
}

func FuzzParseSource(f *testing.F) {
	for _, text := range []string{"owner/made", "owner/made@refs/pr/1", "https://host/a/b/", "a/..", "x/y@../z", "http://h/%2e%2e"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := hub.ParseSource(text, "https://hub.example/base")
		if err != nil || strings.Contains(text, "://") {
			return
		}
		if path := s.URL.String(); !strings.HasPrefix(path, "https://hub.example/base/"+s.Name+"/resolve/") || slices.Contains(strings.Split(path, "/"), "..") {
			t.Errorf("%q leads to %s", text, path)
		}
	})
}
