// Package ortlib knows which build of the ONNX Runtime library the service
// runs on and where a checkout keeps it. The tool that fetches the library and
// the code that loads it agree through this package.
package ortlib

import (
	"fmt"
	"path/filepath"
	"runtime"
)

// Version is the release that is fetched, measured and tested. The Go binding
// asks for C API 24, so that any release from 1.24 on can be loaded instead.
const Version = "1.27.0"

// Env names the environment variable that points to the library file.
const Env = "PLUMBLINE_ONNXRUNTIME_LIB"

// Platform is an operating system and an architecture as Go names them.
type Platform struct{ OS, Arch string }

// Host is the platform of the running program.
func Host() Platform { return Platform{OS: runtime.GOOS, Arch: runtime.GOARCH} }

// String returns "os/arch".
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// FileName is the name of the library file on the platform.
func (p Platform) FileName() string {
	if p.OS == "darwin" {
		return "libonnxruntime.dylib"
	}
	return "libonnxruntime.so"
}

// CachePath is where a checkout whose root is root keeps the library.
func (p Platform) CachePath(root string) string {
	return filepath.Join(root, ".cache", "onnxruntime", Version, p.OS+"-"+p.Arch, p.FileName())
}

// Pinned is one published build: the file inside its package and what its
// bytes must be.
type Pinned struct {
	// Member is the path of the library inside the package.
	Member string
	// SHA256 is the hexadecimal digest of the library.
	SHA256 string
}

// Build is what is pinned for one platform. The packages of the two registries
// carry separately compiled libraries of the same release.
type Build struct {
	// Wheel is the platform tag of the Python wheel.
	Wheel string
	// PyPI is the library inside that wheel.
	PyPI Pinned
	// NPM is the library inside the npm package onnxruntime-node.
	NPM Pinned
}

// BuildFor returns what is pinned for the platform.
func BuildFor(p Platform) (Build, error) {
	switch p {
	case Platform{"linux", "amd64"}:
		return Build{
			Wheel: "manylinux_2_28_x86_64",
			PyPI:  Pinned{"onnxruntime/capi/libonnxruntime.so." + Version, "b5c9d4f124d24707f514dad926dc181820807178855df1c528e3addb2dd0e6f7"},
			NPM:   Pinned{"package/bin/napi-v6/linux/x64/libonnxruntime.so.1", "d8aff4aa8abee8fb2abb2f2f2459ffc94461e781e41b9f7c072829dd0d470221"},
		}, nil
	case Platform{"linux", "arm64"}:
		return Build{
			Wheel: "manylinux_2_28_aarch64",
			PyPI:  Pinned{"onnxruntime/capi/libonnxruntime.so." + Version, "9275ef52956228686ae47b0219f67476a1148505084bdc5571e7bf1bf69b11f2"},
			NPM:   Pinned{"package/bin/napi-v6/linux/arm64/libonnxruntime.so.1", "c36bc200e7e6c093b8abb0b34590fbdd8c52fd3fb5e33795b9523ffdde2fce0f"},
		}, nil
	case Platform{"darwin", "arm64"}:
		return Build{
			Wheel: "macosx_14_0_arm64",
			PyPI:  Pinned{"onnxruntime/capi/libonnxruntime." + Version + ".dylib", "49422a138fff12d7fcbd544373aefbffd510e473e08e18af28a8ecc3581029bf"},
			NPM:   Pinned{"package/bin/napi-v6/darwin/arm64/libonnxruntime." + Version + ".dylib", "89f692a3a1a224e4ad0b796b0e7c0bd81113b0741bfe84211eceef14d05a9e59"},
		}, nil
	default:
		return Build{}, fmt.Errorf(
			"no ONNX Runtime %s build is pinned for %s: install release 1.24 or later by other means and point %s to its library file",
			Version, p, Env)
	}
}
