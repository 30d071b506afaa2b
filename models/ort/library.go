package ort

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plumbline/internal/ortlib"
)

// Library says where the shared library of ONNX Runtime is, and where it was
// looked for, so that a failure can tell.
type Library struct {
	// Path is a file, or the bare name that the dynamic loader resolves.
	Path string
	// Looked are the places that were passed over, in order.
	Looked []string
}

// Find locates the library: the explicit path, then the one in the environment
// variable PLUMBLINE_ONNXRUNTIME_LIB, then lib/ beside the program, then
// .cache/onnxruntime of the working directory or of the folders above the
// program, then the system's library path. A path that somebody set must
// exist; falling back from it would hide the mistake.
func Find(explicit string) (Library, error) {
	if explicit != "" {
		return set(explicit, "the configured path")
	}
	if path := os.Getenv(ortlib.Env); path != "" {
		return set(path, ortlib.Env)
	}
	executable, err := os.Executable()
	if err != nil {
		executable = ""
	}
	return search(candidates(executable)), nil
}

func set(path, origin string) (Library, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Library{}, fmt.Errorf("ONNX Runtime library (%s): %w", origin, err)
	}
	if info.IsDir() {
		return Library{}, fmt.Errorf("ONNX Runtime library (%s): %s is a folder; name the library file in it", origin, path)
	}
	return Library{Path: path}, nil
}

// candidates lists the default places, best first.
func candidates(executable string) []string {
	host := ortlib.Host()
	var paths []string
	folder := filepath.Dir(executable)
	if executable != "" {
		paths = append(paths, filepath.Join(folder, "lib", host.FileName()))
	}
	paths = append(paths, host.CachePath("."))
	if executable != "" {
		paths = append(paths, host.CachePath(folder), host.CachePath(filepath.Dir(folder)))
	}
	return paths
}

func search(paths []string) Library {
	for i, path := range paths {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return Library{Path: path, Looked: paths[:i]}
		}
	}
	return Library{Path: ortlib.Host().FileName(), Looked: paths}
}

// failure explains why the library could not be used and what to do about it.
func (l Library) failure(cause error) error {
	where := l.Path
	if len(l.Looked) > 0 {
		where += " (not found: " + strings.Join(l.Looked, ", ") + ")"
	}
	return fmt.Errorf("ONNX Runtime could not be loaded from %s: %w; run `make setup` to fetch release %s, "+
		"or point %s to the library file of release 1.24 or later", where, cause, ortlib.Version, ortlib.Env)
}
