package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/spf13/cobra"

	"plumbline/cmd/plumbline/internal/progress"
	"plumbline/server"
)

// app is what every command stands on.
type app struct {
	build server.Build
	in    io.Reader
	out   io.Writer
	err   io.Writer
	// force ends when the user no longer wants to wait for a clean end.
	force context.Context
	// drawn is the bar that notices go above, if there is one.
	drawn atomic.Pointer[progress.Bar]
}

// notice tells the user something while a command runs.
func (a *app) notice(text string) {
	if bar := a.drawn.Load(); bar != nil {
		bar.Println(text)
		return
	}
	fmt.Fprintln(a.err, text)
}

// ended is the end of a command that has said on its own what went wrong.
type ended struct{ code int }

func (e *ended) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// quiet is the flag that takes standard error from a command. Why the command could
// not run is written all the same.
const quiet = "quiet"

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "plumbline",
		Short: "Evidence signals for RAG loops: retrieval, grounding, confidence, gates",
		Long: `Plumbline scores what a retriever found, how well evidence supports an answer,
and how sure a generator is, and turns the scores into actions.

Run it as a server (serve), over files and pipes (score, gate, calibrate,
eval), or as a host for the entailment model alone (verifier).

Settings come from flags, PLUMBLINE_… in the environment, and a YAML file
(--config), in this order; "plumbline config" shows what is in force.

Exit codes:
  0    all done
  1    some records failed; their lines say why
  2    wrong usage, or the command could not start or read and write its files
  130  interrupted; what was under way was finished and written`,
		PersistentPreRun: func(command *cobra.Command, _ []string) {
			if silent, err := command.Flags().GetBool(quiet); err == nil && silent {
				a.err = io.Discard
			}
		},
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       a.build.Version,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %q", err, command.CommandPath()+" --help")
	})
	root.AddCommand(
		newServe(a),
		newScore(a),
		newGate(a),
		newCalibrate(a),
		newEval(a),
		newModels(a),
		newVerifier(a),
		newHealth(a),
		newConfig(a),
		newVersion(a),
	)
	return root
}

// group makes a command that only holds others: alone it shows its help, and a
// word that is none of them is an error.
func group(command *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	command.Args = cobra.NoArgs
	command.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
	command.AddCommand(commands...)
	return command
}
