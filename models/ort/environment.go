package ort

import (
	"fmt"
	"sync"

	onnx "github.com/yalue/onnxruntime_go"
)

// environment is the process's hold on the library. It is the one piece of
// package-level state here, and it is forced: ONNX Runtime has one environment
// for a process, and the binding keeps it, the library's path and its function
// table in variables of its own without a lock. Everything that touches those
// variables goes through acquire and release.
var environment struct {
	sync.Mutex
	path  string
	users int
}

// acquire loads the library for the first user and counts the others. One
// process cannot hold two libraries at once.
func acquire(library Library) error {
	environment.Lock()
	defer environment.Unlock()
	if environment.users > 0 && environment.path != library.Path {
		return fmt.Errorf("ONNX Runtime is already loaded from %s; one process cannot also load %s", environment.path, library.Path)
	}
	if environment.users == 0 {
		onnx.SetSharedLibraryPath(library.Path)
		if err := onnx.InitializeEnvironment(); err != nil {
			return library.failure(err)
		}
		environment.path = library.Path
	}
	environment.users++
	return nil
}

// release gives the hold back; the last user unloads the library.
func release() error {
	environment.Lock()
	defer environment.Unlock()
	environment.users--
	if environment.users > 0 {
		return nil
	}
	environment.path = ""
	if err := onnx.DestroyEnvironment(); err != nil {
		return fmt.Errorf("unloading ONNX Runtime: %w", err)
	}
	return nil
}
