package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumbline/internal/ortlib"
)

const library = "not really a library"

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// fakeBuild pins the fake library, so that the extraction runs on packages
// that a test can make.
var fakeBuild = ortlib.Build{
	Wheel: "any",
	PyPI:  ortlib.Pinned{Member: "onnxruntime/capi/lib.so", SHA256: sum(library)},
	NPM:   ortlib.Pinned{Member: "package/bin/lib.so", SHA256: sum(library)},
}

func wheel(t *testing.T, members map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, text := range members {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func tarball(t *testing.T, members map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	g := gzip.NewWriter(&buf)
	w := tar.NewWriter(g)
	for name, text := range members {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), g.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// client is a fake package client: for each run of a program it leaves the
// next of the prepared packages, or fails with the next prepared error.
type client struct {
	replies map[string][]any
	runs    []string
}

func (c *client) run(_ context.Context, dir, name string, _ ...string) error {
	c.runs = append(c.runs, name)
	if len(c.replies[name]) == 0 {
		return &exec.Error{Name: name, Err: exec.ErrNotFound}
	}
	reply := c.replies[name][0]
	c.replies[name] = c.replies[name][1:]
	if err, ok := reply.(error); ok {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "package"), reply.([]byte), 0o600)
}

func (c *client) fetcher() fetcher {
	return fetcher{
		run:     c.run,
		sources: []source{pip(), npm()},
		log:     io.Discard,
		pause:   func(ctx context.Context, _ int) error { return ctx.Err() },
	}
}

func TestAttemptTakesTheLibraryOutOfEitherPackage(t *testing.T) {
	for _, c := range []struct {
		src     source
		program string
		pack    []byte
	}{
		{pip(), "python3", wheel(t, map[string]string{fakeBuild.PyPI.Member: library, "onnxruntime/other": "x"})},
		{npm(), "npm", tarball(t, map[string]string{fakeBuild.NPM.Member: library, "package/other": "x"})},
	} {
		t.Run(c.src.client, func(t *testing.T) {
			fake := &client{replies: map[string][]any{c.program: {c.pack}}}
			target := filepath.Join(t.TempDir(), "deep", "lib.so")
			if err := fake.fetcher().attempt(t.Context(), c.src, fakeBuild, target); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(target)
			if err != nil || string(got) != library {
				t.Fatalf("library = %q, %v", got, err)
			}
			entries, err := os.ReadDir(filepath.Dir(target))
			if err != nil || len(entries) != 1 {
				t.Errorf("the folder holds %v (%v), want the library alone", entries, err)
			}
		})
	}
}

func TestBadPackagesLeaveNothingBehind(t *testing.T) {
	for name, c := range map[string]struct {
		src  source
		prog string
		pack []byte
		want string
	}{
		"wheel with other bytes":   {pip(), "python3", wheel(t, map[string]string{fakeBuild.PyPI.Member: "tampered"}), "digest mismatch"},
		"wheel without library":    {pip(), "python3", wheel(t, map[string]string{"x": "y"}), "has no " + fakeBuild.PyPI.Member},
		"wheel cut short":          {pip(), "python3", []byte("PK"), "reading the wheel"},
		"tarball with other bytes": {npm(), "npm", tarball(t, map[string]string{fakeBuild.NPM.Member: "tampered"}), "digest mismatch"},
		"tarball without library":  {npm(), "npm", tarball(t, map[string]string{"x": "y"}), "has no " + fakeBuild.NPM.Member},
		"tarball cut short":        {npm(), "npm", tarball(t, map[string]string{fakeBuild.NPM.Member: library})[:40], "unexpected EOF"},
		"not a tarball":            {npm(), "npm", []byte("<html>"), "reading the npm package"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := &client{replies: map[string][]any{c.prog: {c.pack}}}
			target := filepath.Join(t.TempDir(), "lib.so")
			err := fake.fetcher().attempt(t.Context(), c.src, fakeBuild, target)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want one that names %q", err, c.want)
			}
			entries, readErr := os.ReadDir(filepath.Dir(target))
			if readErr != nil || len(entries) != 0 {
				t.Errorf("left behind: %v (%v)", entries, readErr)
			}
		})
	}
}

func TestFromRetriesWhatMayPassAndNothingElse(t *testing.T) {
	good := wheel(t, map[string]string{fakeBuild.PyPI.Member: library})
	tampered := wheel(t, map[string]string{fakeBuild.PyPI.Member: "tampered"})
	network := errors.New("connection reset")
	for name, c := range map[string]struct {
		replies  []any
		wantRuns int
		wantErr  error
	}{
		"second attempt succeeds":  {[]any{network, good}, 2, nil},
		"attempts are bounded":     {[]any{network, network, network, good}, attempts, network},
		"missing client":           {nil, 1, exec.ErrNotFound},
		"wrong bytes stay refused": {[]any{tampered, good}, 1, errDigest},
	} {
		t.Run(name, func(t *testing.T) {
			fake := &client{replies: map[string][]any{"python3": c.replies}}
			err := fake.fetcher().from(t.Context(), pip(), fakeBuild, filepath.Join(t.TempDir(), "lib.so"))
			if !errors.Is(err, c.wantErr) || (c.wantErr == nil) != (err == nil) {
				t.Errorf("error = %v, want %v", err, c.wantErr)
			}
			if len(fake.runs) != c.wantRuns {
				t.Errorf("%d runs, want %d", len(fake.runs), c.wantRuns)
			}
		})
	}
}

func TestFetchSaysWhatToDoWhenNobodyDelivers(t *testing.T) {
	fake := &client{}
	_, err := fake.fetcher().fetch(t.Context(), ortlib.Platform{OS: "linux", Arch: "amd64"}, t.TempDir())
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"pip", "npm", ortlib.Env, "linux/amd64", ortlib.Version} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %q", err, want)
		}
	}
	if want := []string{"python3", "npm"}; fmt.Sprint(fake.runs) != fmt.Sprint(want) {
		t.Errorf("runs = %v, want %v", fake.runs, want)
	}
}

func TestFetchRejectsUnknownPlatformAndClient(t *testing.T) {
	_, err := (&client{}).fetcher().fetch(t.Context(), ortlib.Platform{OS: "plan9", Arch: "amd64"}, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "plan9/amd64") || !strings.Contains(err.Error(), ortlib.Env) {
		t.Errorf("unknown platform: %v", err)
	}
	if _, err := choose("cargo"); err == nil || !strings.Contains(err.Error(), "cargo") {
		t.Errorf("unknown client: %v", err)
	}
}

func TestPresentLibraryNeedsNoClient(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lib.so")
	for _, c := range []struct {
		text string
		want bool
	}{{library, true}, {"something else", false}} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := isPinned(path, fakeBuild); err != nil || got != c.want {
			t.Errorf("isPinned of %q = %v, %v; want %v", c.text, got, err, c.want)
		}
	}
	if got, err := isPinned(path+".absent", fakeBuild); err != nil || got {
		t.Errorf("isPinned of an absent file = %v, %v", got, err)
	}
}

func TestCancelledFetchReturnsTheContextError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fake := &client{replies: map[string][]any{"python3": {errors.New("killed")}}}
	_, err := fake.fetcher().fetch(ctx, ortlib.Platform{OS: "linux", Arch: "amd64"}, t.TempDir())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
}
