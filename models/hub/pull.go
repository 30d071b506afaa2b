package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"plumbline/models"
)

// Puller downloads models. The zero value is ready.
type Puller struct {
	// Client makes the requests; nil means one with sensible limits. Its
	// CheckRedirect is replaced.
	Client *http.Client
	// Token is sent to the source's host, and to no other, as a bearer token.
	Token string
	// Digest is what the model's digest must be; empty accepts what the source
	// has.
	Digest string
	// Pause is the first wait before a request is repeated, which doubles from
	// then on; 0 means half a second.
	Pause time.Duration
	// Stall is how long a server may send nothing; 0 means 30 seconds.
	Stall time.Duration
	// Begin is told how many bytes the model has, and Progress how many more of
	// them are there: fewer than none where a download begins anew. Nil tells
	// nobody.
	Begin    func(total int64)
	Progress func(bytes int64)
}

func (p *Puller) stall() time.Duration {
	if p.Stall > 0 {
		return p.Stall
	}
	return 30 * time.Second
}

func (p *Puller) progress(bytes int64) {
	if p.Progress != nil && bytes != 0 {
		p.Progress(bytes)
	}
}

func (p *Puller) retryOptions() []backoff.RetryOption {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval = 500 * time.Millisecond
	if p.Pause > 0 {
		pause.InitialInterval = p.Pause
	}
	pause.Multiplier = 2
	return []backoff.RetryOption{backoff.WithBackOff(pause), backoff.WithMaxTries(tries), backoff.WithMaxElapsedTime(0)}
}

// maxManifest is far above the size of any manifest.
const maxManifest = 1 << 20

// ErrUpToDate says that the store has the model already.
var ErrUpToDate = errors.New("is up to date")

// Pull downloads a model into the store under a name and returns it. If that
// very model is there and whole, it is returned with ErrUpToDate. A pull that
// fails leaves the store as it was; the next one goes on with what came.
func (s *Store) Pull(ctx context.Context, p Puller, source Source, name string) (Entry, error) {
	if err := checkName(name); err != nil {
		return Entry{}, err
	}
	unlock, err := s.lock(name)
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	if err := s.vacant(name); err != nil {
		return Entry{}, err
	}
	data, manifest, err := p.manifest(ctx, source)
	if err != nil {
		return Entry{}, err
	}
	if s.same(name, data) && s.Verify(ctx, name) == nil {
		e, err := s.Get(name)
		return e, errors.Join(err, ErrUpToDate)
	}
	if err := s.download(ctx, p, source, manifest, name); err != nil {
		return Entry{}, err
	}
	if err := s.finish(data, source, name); err != nil {
		return Entry{}, err
	}
	return s.Get(name)
}

// manifest fetches and checks the manifest.
func (p *Puller) manifest(ctx context.Context, source Source) ([]byte, *models.Manifest, error) {
	url := source.file(models.ManifestName)
	data, err := backoff.Retry(ctx, func() ([]byte, error) { return p.small(ctx, url) }, p.retryOptions()...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no %s at %s: models of Hugging Face are made ready by models/export (%w)", models.ManifestName, source.URL.Redacted(), err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", models.ManifestName, err)
	}
	manifest, err := models.ParseManifest(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", models.ManifestName, err)
	}
	if err := checkFiles(manifest.Files.All()); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", models.ManifestName, err)
	}
	if digest := manifest.Digest(); p.Digest != "" && p.Digest != digest {
		return nil, nil, fmt.Errorf("the model at %s has the digest %s, not %s", source.URL.Redacted(), digest, p.Digest)
	}
	return data, manifest, nil
}

// checkFiles refuses names that would be written elsewhere, or over the store's
// own files.
func checkFiles(files []models.File) error {
	seen := map[string]bool{models.ManifestName: true, sourceName: true}
	for _, f := range files {
		if !part.MatchString(f.Name) || !filepath.IsLocal(f.Name) || seen[f.Name] {
			return fmt.Errorf("%q cannot be the name of a model's file", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

// small fetches a file of at most maxManifest bytes.
func (p *Puller) small(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.stall(), errStalled)
	defer cancel()
	response, err := p.get(ctx, url, 0, "")
	if err != nil {
		return nil, temporary(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := statusError(response); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxManifest+1))
	switch {
	case err != nil:
		return nil, temporary(ctx, err)
	case len(data) > maxManifest:
		return nil, backoff.Permanent(fmt.Errorf("is longer than %d bytes: it is no manifest", maxManifest))
	}
	return data, nil
}

// errInsecure is a redirect that would give up encryption.
var errInsecure = errors.New("the server redirects from https to http")

// get requests a file from an offset on. etag says of which version the bytes
// before it are.
func (p *Puller) get(ctx context.Context, url string, from int64, etag string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	// A file is hashed as it is; a proxy that packs it would hide its length.
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("User-Agent", "plumbline")
	if p.Token != "" {
		request.Header.Set("Authorization", "Bearer "+p.Token)
	}
	if from > 0 {
		request.Header.Set("Range", "bytes="+strconv.FormatInt(from, 10)+"-")
		// A weak tag never matches; the digest tells whether the parts belong together.
		if etag != "" && !strings.HasPrefix(etag, "W/") {
			request.Header.Set("If-Range", etag)
		}
	}
	client := http.Client{}
	if p.Client != nil {
		client = *p.Client
	}
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if next.URL.Scheme != "https" && via[0].URL.Scheme == "https" {
			return errInsecure
		}
		if len(via) >= 10 {
			return backoff.Permanent(errors.New("the server redirects ten times"))
		}
		// net/http takes the token along to other ports and to hosts below the first.
		if next.URL.Host != via[0].URL.Host {
			next.Header.Del("Authorization")
		}
		return nil
	}
	return client.Do(request)
}

// reserve is left free on the disk.
const reserve = 64 << 20

// download brings all files into the folder of the pull.
func (s *Store) download(ctx context.Context, p Puller, source Source, manifest *models.Manifest, name string) error {
	dir := s.partial(name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := s.clear(root, manifest); err != nil {
		return err
	}
	total, missing := int64(0), int64(0)
	for _, file := range manifest.Files.All() {
		total += file.Bytes
		missing += file.Bytes
		if info, err := root.Stat(partName(file)); err == nil {
			missing -= min(info.Size(), file.Bytes)
		}
		if total < 0 || missing < 0 {
			return fmt.Errorf("%s: sizes that no disk has", models.ManifestName)
		}
	}
	if free, known := freeBytes(dir); known && missing > free-reserve {
		return fmt.Errorf("%s has %d MB free, the model needs %d MB more", s.dir, max(0, free)/1e6, missing/1e6)
	}
	if p.Begin != nil {
		p.Begin(total)
	}
	for _, file := range manifest.Files.All() {
		if err := p.fetch(ctx, source.file(file.Name), file, root, partName(file)); err != nil {
			return err
		}
	}
	for _, file := range manifest.Files.All() {
		if err := root.Rename(partName(file), file.Name); err != nil {
			return err
		}
	}
	return nil
}

// partName names an unfinished file by what it is to become, so that bytes of
// another version are never taken for it.
func partName(f models.File) string { return f.SHA256 + ".part" }

// clear removes what other pulls have left but for the parts of these files.
func (s *Store) clear(root *os.Root, manifest *models.Manifest) error {
	keep := map[string]bool{}
	for _, file := range manifest.Files.All() {
		keep[partName(file)] = true
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !keep[e.Name()] {
			if err := root.RemoveAll(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish adds the manifest and gives the model its place.
func (s *Store) finish(manifest []byte, source Source, name string) error {
	dir := s.partial(name)
	from, err := json.Marshal(origin{URL: source.URL.Redacted(), Pulled: time.Now().UTC()})
	if err != nil {
		return err
	}
	for file, data := range map[string][]byte{sourceName: from, models.ManifestName: manifest} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
			return err
		}
	}
	return s.place(name, dir)
}
