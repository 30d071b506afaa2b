// Package files opens what --in and --out name: a file, a gzip file by its
// extension, or a standard stream.
package files

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Standard is the name that stands for a standard stream, as does no name.
const Standard = "-"

func isStandard(name string) bool { return name == "" || name == Standard }

// OpenInput opens a file for reading. One that ends in .gz is decompressed.
func OpenInput(name string, stdin io.Reader) (io.ReadCloser, error) {
	if isStandard(name) {
		return io.NopCloser(stdin), nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(name, ".gz") {
		return file, nil
	}
	plain, err := gzip.NewReader(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	return stack{Reader: plain, closers: []io.Closer{plain, file}}, nil
}

// CreateOutput makes a file for writing, or empties it. One that ends in .gz is
// compressed. It refuses the file that is the input, which would be emptied
// before it is read.
func CreateOutput(name, input string, stdout io.Writer) (io.WriteCloser, error) {
	if isStandard(name) {
		return sink{Writer: stdout}, nil
	}
	if Same(name, input) {
		return nil, errInput(name)
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(name, ".gz") {
		return file, nil
	}
	packed := gzip.NewWriter(file)
	return sink{Writer: packed, closers: []io.Closer{packed, file}}, nil
}

func errInput(name string) error {
	return fmt.Errorf("%s is the input: give the output another name", name)
}

// ResumeOutput opens a file for writing after what it has, or makes it. measure
// reads the file and returns the length of what is to stay; the rest is cut.
func ResumeOutput(name, input string, measure func(io.Reader) (int64, error)) (io.WriteCloser, error) {
	switch info, err := os.Stat(name); {
	case isStandard(name):
		return nil, errors.New("standard output cannot be resumed: name a file")
	case strings.HasSuffix(name, ".gz"):
		return nil, fmt.Errorf("%s is compressed and cannot be resumed: give a name without .gz, and compress the file once it is done", name)
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s cannot be resumed: name a regular file", name)
	case Same(name, input):
		return nil, errInput(name)
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666) // as os.Create
	if err != nil {
		return nil, err
	}
	length, err := measure(file)
	if err == nil {
		err = file.Truncate(length)
	}
	if err == nil {
		_, err = file.Seek(length, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// TryOutput says whether CreateOutput could make a file by this name. A file that is
// there stays as it is.
func TryOutput(name string) error {
	if isStandard(name) {
		return nil
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder: name a file in it", name)
	}
	info, before := os.Lstat(name)
	if before == nil && !info.Mode().IsRegular() {
		return nil // a pipe or a link: to open it would not be without effect
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	err = file.Close()
	if errors.Is(before, os.ErrNotExist) {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// Same says whether two names are of one file, which need not be there. Streams and
// devices are none.
func Same(a, b string) bool {
	if isStandard(a) || isStandard(b) {
		return false
	}
	first, errFirst := os.Stat(a)
	if errFirst == nil && !first.Mode().IsRegular() {
		return false
	}
	fullA, errA := filepath.Abs(a)
	fullB, errB := filepath.Abs(b)
	if errA == nil && errB == nil && fullA == fullB {
		return true
	}
	second, errSecond := os.Stat(b)
	return errFirst == nil && errSecond == nil && os.SameFile(first, second)
}

// stack is a reader over others that are closed with it, in order.
type stack struct {
	io.Reader
	closers []io.Closer
}

// Close implements io.Closer.
func (s stack) Close() error { return closeAll(s.closers) }

// sink is a writer over others that are closed with it, in order.
type sink struct {
	io.Writer
	closers []io.Closer
}

// Close implements io.Closer.
func (s sink) Close() error { return closeAll(s.closers) }

func closeAll(closers []io.Closer) error {
	var errs []error
	for _, c := range closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// CountLines counts the records of a plain file, for a bar with an end. It
// reports false for what cannot be read twice or costs much to read.
func CountLines(name string, count func(io.Reader) (int, error)) (int, bool) {
	info, err := os.Stat(name)
	if isStandard(name) || strings.HasSuffix(name, ".gz") || err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	file, err := os.Open(name)
	if err != nil {
		return 0, false
	}
	defer func() { _ = file.Close() }()
	lines, err := count(file)
	return lines, err == nil
}
