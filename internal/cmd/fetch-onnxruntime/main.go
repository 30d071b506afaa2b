// Command fetch-onnxruntime puts the ONNX Runtime shared library where the
// service finds it, below .cache/onnxruntime of the checkout, and prints its
// path. It takes the library out of the Python wheel (through pip) or, failing
// that, out of the npm package (through npm), so that a machine needs only one
// of the two package clients. Bytes that do not have the pinned digest are
// refused. Where the library is already in place nothing is downloaded.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"plumbline/internal/ortlib"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetch-onnxruntime:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	host := ortlib.Host()
	flags := flag.NewFlagSet("fetch-onnxruntime", flag.ContinueOnError)
	flags.SetOutput(stderr)
	goos := flags.String("os", host.OS, "operating system to fetch for, as Go names it")
	goarch := flags.String("arch", host.Arch, "architecture to fetch for, as Go names it")
	root := flags.String("root", ".", "folder that holds .cache")
	from := flags.String("from", "", "the one package client to use, pip or npm; empty tries both")
	if err := flags.Parse(args); err != nil {
		return err
	}
	sources, err := choose(*from)
	if err != nil {
		return err
	}
	f := fetcher{run: runCommand, sources: sources, log: stderr, pause: pause}
	path, err := f.fetch(ctx, ortlib.Platform{OS: *goos, Arch: *goarch}, *root)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, path)
	return err
}
