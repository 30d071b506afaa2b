// Command plumbline scores retrieval results, answers and claims: as a server,
// and over files and pipes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"plumbline/server"
)

// Set by the linker; see the Makefile.
var version, commit = "dev", "unknown"

func main() { os.Exit(run()) }

// run runs the program and returns its exit code.
func run() int {
	// The first signal asks to finish, the second not to wait for that.
	stop, force, release := server.Signals(context.Background())
	defer release()
	app := &app{
		build: server.Build{Version: version, Commit: commit},
		in:    os.Stdin,
		out:   os.Stdout,
		err:   os.Stderr,
		force: force,
	}
	return app.run(stop, os.Args[1:])
}

// The exit codes of every command; the root's help explains them.
const (
	exitDone        = 0
	exitSomeFailed  = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// run runs one command line and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	stderr := a.err // --quiet changes it
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var ended *ended
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &ended):
		return ended.code
	default:
		fmt.Fprintln(stderr, "plumbline:", err)
		return exitUsage
	}
}
