package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"plumbline/internal/ortlib"
)

// source is a package client and the shape of what it downloads.
type source struct {
	// client is the name for messages and for -from.
	client string
	// command downloads the package into the working folder.
	command func(ortlib.Build) (name string, args []string)
	// open hands the named member of the package to read.
	open func(archive, member string, read func(io.Reader) error) error
	// pinned picks this source's library.
	pinned func(ortlib.Build) ortlib.Pinned
}

// choose returns the sources to try, in order: all for the empty name.
func choose(client string) ([]source, error) {
	all := []source{pip(), npm()}
	if client == "" {
		return all, nil
	}
	for _, s := range all {
		if s.client == client {
			return []source{s}, nil
		}
	}
	return nil, fmt.Errorf("-from: %q is neither pip nor npm", client)
}

// pip downloads a wheel. The tags of interpreter and ABI are fixed so that the
// digest does not depend on the host's Python (on macOS the wheels' libraries
// differ), which may also be one that the release has no wheel for.
func pip() source {
	return source{
		client: "pip",
		command: func(b ortlib.Build) (string, []string) {
			return "python3", []string{
				"-m", "pip", "download", "onnxruntime==" + ortlib.Version,
				"--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
				"--platform", b.Wheel, "--python-version", "3.12", "--implementation", "cp", "--abi", "cp312",
				"--dest", ".",
			}
		},
		open:   openZip,
		pinned: func(b ortlib.Build) ortlib.Pinned { return b.PyPI },
	}
}

func npm() source {
	return source{
		client: "npm",
		command: func(ortlib.Build) (string, []string) {
			return "npm", []string{"pack", "onnxruntime-node@" + ortlib.Version, "--silent"}
		},
		open:   openTarGzip,
		pinned: func(b ortlib.Build) ortlib.Pinned { return b.NPM },
	}
}

func openZip(archive, member string, read func(io.Reader) error) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("reading the wheel: %w", err)
	}
	defer func() { _ = z.Close() }()
	file, err := z.Open(member)
	if err != nil {
		return fmt.Errorf("the wheel has no %s: %w", member, err)
	}
	defer func() { _ = file.Close() }()
	return read(file)
}

func openTarGzip(archive, member string, read func(io.Reader) error) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("reading the npm package: %w", err)
	}
	for t := tar.NewReader(unzipped); ; {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("the npm package has no %s", member)
		}
		if err != nil {
			return fmt.Errorf("reading the npm package: %w", err)
		}
		if header.Name == member {
			return read(t)
		}
	}
}
