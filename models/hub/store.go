// Package hub keeps models that were downloaded: it pulls them from a hub or a
// folder on a web server, lists, verifies and removes them.
//
// A model is pulled by its manifest, which names the files with sizes and
// digests. Whatever a server says or sends, only a model all of whose files are
// as its manifest has them gets its place, and it gets it in one step.
package hub

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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adrg/xdg"
	"github.com/gofrs/flock"

	"plumbline/models"
)

// Store is a folder of models, each in a folder by its name. Names that begin
// with a point are the store's own: downloads under way and locks.
type Store struct {
	dir string
	// named says that a user named the folder, so that it must be there.
	named bool
}

// DefaultDir is the user's folder of models.
func DefaultDir() string { return filepath.Join(xdg.DataHome, "plumbline", "models") }

// NewStore returns the store in a folder, which need not exist yet; empty means
// DefaultDir.
func NewStore(dir string) *Store {
	named := dir != ""
	if !named {
		dir = DefaultDir()
	}
	return &Store{dir: dir, named: named}
}

// Dir is the store's folder.
func (s *Store) Dir() string { return s.dir }

// Entry is a model of the store.
type Entry struct {
	// Name is the model's name in the store and Path its folder.
	Name, Path string
	// Manifest describes it and Digest identifies it; both are empty if Err says
	// why the manifest cannot be read.
	Manifest models.Manifest
	Digest   string
	// Source is where it was pulled from.
	Source string
	Err    error
}

// Bytes is the size of the model's files.
func (e Entry) Bytes() int64 {
	return e.Manifest.Files.Weights.Bytes + e.Manifest.Files.Tokenizer.Bytes
}

const (
	partialDir = ".partial"
	locksDir   = ".locks"
	// sourceName is the file that says where a model was pulled from.
	sourceName = "source.json"
)

// origin is what sourceName holds.
type origin struct {
	URL    string    `json:"url"`
	Pulled time.Time `json:"pulled"`
}

// Find returns the folder of the model that a setting names: a folder, or a
// model of the user's store. Where there is neither, it returns the setting as
// it is, for the error of whoever opens it.
func Find(dir string) string {
	if _, err := os.Stat(dir); err == nil || checkName(dir) != nil {
		return dir
	}
	if store := NewStore(""); store.has(dir) {
		return store.path(dir)
	}
	return dir
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// List returns the models by name.
func (s *Store) List() ([]Entry, error) {
	// A pattern matches nothing in a folder that cannot be read.
	if _, err := os.ReadDir(s.dir); err != nil {
		if !s.named && errors.Is(err, fs.ErrNotExist) {
			return nil, nil // nothing was pulled yet
		}
		return nil, err
	}
	var entries []Entry
	for _, pattern := range []string{"*", "*/*"} {
		found, err := fs.Glob(os.DirFS(s.dir), pattern+"/"+models.ManifestName)
		if err != nil {
			return nil, err
		}
		for _, manifest := range found {
			name := strings.TrimSuffix(manifest, "/"+models.ManifestName)
			if checkName(name) == nil {
				entries = append(entries, s.read(name))
			}
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// read reads what a model says of itself.
func (s *Store) read(name string) Entry {
	e := Entry{Name: name, Path: s.path(name)}
	data, err := os.ReadFile(filepath.Join(e.Path, models.ManifestName))
	if err != nil {
		e.Err = err
		return e
	}
	manifest, err := models.ParseManifest(data)
	if err != nil {
		e.Err = fmt.Errorf("%s: %w", models.ManifestName, err)
		return e
	}
	e.Manifest, e.Digest = *manifest, manifest.Digest()
	var from origin
	if data, err := os.ReadFile(filepath.Join(e.Path, sourceName)); err == nil && json.Unmarshal(data, &from) == nil {
		e.Source = from.URL
	}
	return e
}

// Get returns one model.
func (s *Store) Get(name string) (Entry, error) {
	if err := checkName(name); err != nil {
		return Entry{}, err
	}
	if !s.has(name) {
		return Entry{}, s.absent(name)
	}
	e := s.read(name)
	return e, e.Err
}

// Verify reads every byte of a model again and compares it with the manifest.
func (s *Store) Verify(ctx context.Context, name string) error {
	e, err := s.Get(name)
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range e.Manifest.Files.All() {
		errs = append(errs, verifyFile(ctx, e.Path, file))
	}
	return errors.Join(errs...)
}

func verifyFile(ctx context.Context, dir string, want models.File) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	file, err := root.Open(want.Name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	h := sha256.New()
	n, err := io.Copy(h, reader{ctx, file})
	if err != nil {
		return err
	}
	if n != want.Bytes {
		return fmt.Errorf("%s has %d bytes, the manifest says %d: pull the model again", want.Name, n, want.Bytes)
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != want.SHA256 {
		return fmt.Errorf("%s has sha256 %s, the manifest says %s: pull the model again", want.Name, sum, want.SHA256)
	}
	return nil
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// Remove deletes a model and what is left of an unfinished pull of it. A server
// that has loaded it is not affected.
func (s *Store) Remove(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	unlock, err := s.lock(name)
	if err != nil {
		return err
	}
	defer unlock()
	partial := s.partial(name)
	if !exists(partial) && !s.has(name) {
		return s.absent(name)
	}
	trash, err := s.setAside(name)
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(trash), os.RemoveAll(partial), s.tidy(name))
}

// ErrAbsent is the kind of the error for a model that the store does not have.
var ErrAbsent = errors.New("there is no model")

func (s *Store) absent(name string) error {
	return fmt.Errorf("%w %s in %s", ErrAbsent, name, s.dir)
}

// vacant says whether a model may stand under a name: neither inside another
// model's folder nor in place of a folder that holds something else.
func (s *Store) vacant(name string) error {
	if owner, _, found := strings.Cut(name, "/"); found && s.has(owner) {
		return fmt.Errorf("%s is a model in %s, and %s would stand in its folder: give another name", owner, s.dir, name)
	}
	if left, err := os.ReadDir(s.path(name)); err == nil && len(left) > 0 && !s.has(name) {
		return fmt.Errorf("%s is a folder of something else in %s: give another name", name, s.dir)
	}
	return nil
}

// has says whether the store has a model by this name.
func (s *Store) has(name string) bool {
	return exists(filepath.Join(s.path(name), models.ManifestName))
}

// setAside takes a model out of its place in one step, so that nobody finds half
// of it, and returns the folder that holds it; empty if there was none.
func (s *Store) setAside(name string) (trash string, err error) {
	path := s.path(name)
	if !s.has(name) {
		return "", nil
	}
	if err := os.MkdirAll(filepath.Join(s.dir, partialDir), 0o755); err != nil {
		return "", err
	}
	if trash, err = os.MkdirTemp(filepath.Join(s.dir, partialDir), "removed-"); err != nil {
		return "", err
	}
	if err := os.Rename(path, filepath.Join(trash, "model")); err != nil {
		return "", errors.Join(err, os.Remove(trash))
	}
	return trash, nil
}

// tidy removes the owner's folder if it is empty.
func (s *Store) tidy(name string) error {
	owner, _, found := strings.Cut(name, "/")
	if !found {
		return nil
	}
	err := os.Remove(filepath.Join(s.dir, owner))
	if err != nil && (errors.Is(err, fs.ErrNotExist) || exists(filepath.Join(s.dir, owner))) {
		return nil // other models are in it
	}
	return err
}

// partial is the folder of a pull under way.
func (s *Store) partial(name string) string {
	return filepath.Join(s.dir, partialDir, strings.ReplaceAll(name, "/", "%"))
}

// lock keeps two processes from one model.
func (s *Store) lock(name string) (unlock func(), err error) {
	dir := filepath.Join(s.dir, locksDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, strings.ReplaceAll(name, "/", "%")))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", name, err)
	}
	if !held {
		return nil, fmt.Errorf("another process is pulling or removing %s: wait for it", name)
	}
	return func() { _ = lock.Unlock() }, nil
}

// place puts a whole model in its place. One that was there is set aside just
// before, and comes back if this one cannot take its place.
func (s *Store) place(name, from string) error {
	if err := s.vacant(name); err != nil { // another pull may have ended meanwhile
		return err
	}
	path := s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	trash, err := s.setAside(name)
	if err != nil {
		return err
	}
	if err := os.Rename(from, path); err != nil {
		if trash != "" {
			err = errors.Join(err, os.Rename(filepath.Join(trash, "model"), path))
		}
		return err
	}
	return os.RemoveAll(trash)
}

// same says whether the store has a model with this very manifest.
func (s *Store) same(name string, manifest []byte) bool {
	data, err := os.ReadFile(filepath.Join(s.path(name), models.ManifestName))
	return err == nil && bytes.Equal(data, manifest)
}
