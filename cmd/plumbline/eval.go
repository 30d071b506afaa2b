package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"plumbline/cmd/plumbline/internal/evaluate"
	"plumbline/cmd/plumbline/internal/files"
	"plumbline/cmd/plumbline/internal/progress"
	"plumbline/cmd/plumbline/internal/remote"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/evaluation"
	"plumbline/scorers/evaluation/report"
	"plumbline/server/config"
	"plumbline/verifiers/address"
)

// evalFlags are the flags of "plumbline eval".
type evalFlags struct {
	selection             evaluate.Selection
	options               evaluation.Options
	mode                  plumblinev1.ScoreGroundingRequest_Mode
	claims, verifier      string
	scores, against       string
	out, markdown, report string
	title                 string
	parallel              int
	noProgress            bool
	remote                remote.Options
}

func newEval(a *app) *cobra.Command {
	var f evalFlags
	command := &cobra.Command{
		Use:   "eval [FILE|DIR …]",
		Short: "Measure a verifier on labelled claims",
		Long: `Eval scores labelled claims as "plumbline score grounding" would, in this process
or with --addr on a running server, and measures how well the support tells
supported from unsupported ones.

A file is one set, JSON lines (.gz is decompressed): id, doc, claim, label (1
supported, 0 not), and for short answers question; other fields are passed over.
A row that cannot be read ends the command: figures over the others would be
those of another set. A folder stands for the .jsonl and .jsonl.gz files in it.

--scores keeps every score in a file. A run that was interrupted goes on from it,
and without a FILE the figures are computed from it alone, without the model. It
holds no text. Give it as --against to measure another verifier's difference.

Balanced accuracy is given at --threshold and at a threshold chosen by
cross-fitting over documents. Intervals draw documents, not rows.

The answer goes to --out as JSON; --markdown writes tables, --report one HTML page
that needs nothing else.

Exit codes: 0 all done; 2 wrong usage, data that cannot be read, or a verifier
that fails; 130 interrupted: what was scored is in --scores.`,
		Example: `  plumbline eval sets/ --limit 100 --markdown -
  plumbline eval sets/wice.jsonl.gz --model-dir my-model --scores mine.scores --out mine.json --report mine.html
  plumbline eval sets/ --verifier 'exec:python3 my_verifier.py' --markdown -
  plumbline eval --scores mine.scores --against bundled.scores --markdown -`,
		RunE: func(command *cobra.Command, paths []string) error { return a.eval(command, &f, paths) },
	}
	flags := command.Flags()
	flags.StringSliceVar(&f.selection.Sets, "sets", nil, "`NAME`s of the sets to measure, with or without what follows their first dot; all if none is given")
	flags.IntVar(&f.selection.Limit, "limit", 0, "most rows of a set: a sample by --seed, of which a smaller one is a part; 0 means all")
	flags.Uint64Var(&f.options.Seed, "seed", 0, "seed of the sample and the bootstrap")
	flags.Float64Var(&f.options.Threshold, "threshold", 0.5, "support at or above it counts as supported")
	flags.IntVar(&f.options.Draws, "bootstrap", 1000, "draws of the bootstrap")
	flags.Var(enumFlag(&f.mode, "MODE_"), "mode", "rules of chunking and aggregation: "+enumNames(f.mode, "MODE_"))
	flags.StringVar(&f.claims, "claims", evaluate.Whole, "whole: each claim is scored as it is; split: it is split into sentences as an answer is, and the least support counts")
	flags.StringVar(&f.verifier, "verifier", "", "`ADDRESS` of the verifier to ask, as in the setting verifiers, or the name of a configured one; with --addr a name on that server")
	flags.StringVar(&f.scores, "scores", "", "`FILE` of scores to go on with, or to make")
	flags.StringVar(&f.against, "against", "", "`FILE` of scores of another run, to measure the difference to")
	flags.StringVar(&f.out, "out", files.Standard, "`FILE` for the figures in JSON; - is standard output")
	flags.StringVar(&f.markdown, "markdown", "", "`FILE` for the tables in Markdown; - is standard output, in place of the JSON unless --out is given")
	flags.StringVar(&f.report, "report", "", "`FILE` for the HTML report")
	flags.StringVar(&f.title, "title", "", "title of the tables and the report")
	// Twice the processors: while some rows compute, others are cut into chunks.
	flags.IntVar(&f.parallel, "parallel", 2*runtime.GOMAXPROCS(0), "rows that are scored at once")
	flags.Bool(quiet, false, "write nothing on standard error but why the command could not run")
	flags.BoolVar(&f.noProgress, "no-progress", false, "draw no progress bar (none is drawn if standard error is no terminal)")
	f.remote.Flags(flags, connectTimeout)
	addSettings(flags, "model.", "onnxruntime.", "verifier.", "verifiers", "limits.max_message_bytes")
	return command
}

// check finds what cannot be meant, before anything is computed.
func (f *evalFlags) check(command *cobra.Command, paths []string) error {
	switch {
	case f.claims != evaluate.Whole && f.claims != evaluate.Split:
		return fmt.Errorf("--claims is %q: it must be %s or %s", f.claims, evaluate.Whole, evaluate.Split)
	case f.parallel < 1:
		return fmt.Errorf("--parallel is %d: it must be at least 1", f.parallel)
	case f.selection.Limit < 0:
		return fmt.Errorf("--limit is %d: it must not be negative", f.selection.Limit)
	case f.options.Draws < 1:
		return fmt.Errorf("--bootstrap is %d: it must be at least 1", f.options.Draws)
	case !(f.options.Threshold >= 0 && f.options.Threshold <= 1):
		return fmt.Errorf("--threshold is %g: it must be between 0 and 1", f.options.Threshold)
	case len(paths) == 0 && f.scores == "":
		return errors.New("name files of labelled claims, or --scores of an earlier run")
	}
	if f.markdown == files.Standard && !command.Flags().Changed("out") {
		f.out = ""
	}
	if f.markdown == files.Standard && f.out == files.Standard {
		return errors.New("--out and --markdown are both standard output: name a file for one of them")
	}
	return nil
}

// output is a file that a flag names.
type output struct{ flag, name string }

// tryOutputs finds an output that cannot be made, or would take the place of what
// the command reads or writes elsewhere.
func (f *evalFlags) tryOutputs(paths []string) error {
	inputs, err := evaluate.Files(paths)
	if err != nil {
		return err
	}
	taken := []output{{"--scores", f.scores}, {"--against", f.against}}
	for _, input := range inputs {
		taken = append(taken, output{"an input", input})
	}
	for _, o := range []output{{"--out", f.out}, {"--markdown", f.markdown}, {"--report", f.report}} {
		for _, t := range taken {
			if files.Same(o.name, t.name) {
				return fmt.Errorf("%s: %s is %s, too: give it another name", o.flag, o.name, t.flag)
			}
		}
		if err := files.TryOutput(o.name); err != nil {
			return fmt.Errorf("%s: %w", o.flag, err)
		}
		taken = append(taken, o)
	}
	return nil
}

func (a *app) eval(command *cobra.Command, f *evalFlags, paths []string) error {
	if err := f.check(command, paths); err != nil {
		return err
	}
	cfg, err := settings(command)
	if err != nil {
		return err
	}
	// The comparison is read first, and the outputs tried: a wrong file is known
	// before hours of scoring.
	against, err := f.readAgainst()
	if err != nil {
		return err
	}
	if err := f.tryOutputs(paths); err != nil {
		return err
	}
	log, rows, err := a.evalRows(command, f, cfg, paths)
	if err != nil {
		return err
	}
	result, err := evaluation.Evaluate(rows, f.options)
	if err != nil {
		return err
	}
	r, err := a.evalReport(f, log, result)
	if err != nil {
		return err
	}
	if against != nil {
		others, err := against.Select(evaluate.Selection{})
		if err != nil {
			return fmt.Errorf("--against: %w", err)
		}
		comparison, err := evaluation.Compare(rows, others, f.options)
		if err != nil {
			return fmt.Errorf("--against: %w", err)
		}
		r.Against = &report.Against{Verifier: verifierOf(against.Run()), Comparison: comparison}
	}
	return a.writeEval(f, r)
}

func (f *evalFlags) readAgainst() (*evaluate.Log, error) {
	if f.against == "" {
		return nil, nil
	}
	log, err := evaluate.ReadLog(f.against)
	if err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	return log, nil
}

// evalRows returns the scored rows of the files, or without files those of
// --scores.
func (a *app) evalRows(command *cobra.Command, f *evalFlags, cfg config.Config, paths []string) (*evaluate.Log, []evaluation.Row, error) {
	if len(paths) == 0 {
		log, err := evaluate.ReadLog(f.scores)
		if err != nil {
			return nil, nil, fmt.Errorf("--scores: %w", err)
		}
		rows, err := log.Select(f.selection)
		return log, rows, err
	}
	f.selection.MaxLine = cfg.Limits.MaxMessageBytes
	pairs, err := evaluate.Read(paths, f.selection)
	if err != nil {
		return nil, nil, err
	}
	log, err := evaluate.OpenLog(f.scores)
	if err != nil {
		return nil, nil, fmt.Errorf("--scores: %w", err)
	}
	err = a.evalScore(command, f, cfg, log, pairs)
	if err := errors.Join(err, log.Close()); err != nil {
		return nil, nil, err
	}
	rows := log.Rows(pairs)
	return log, rows, nil
}

// evalScore scores the pairs that the log does not have. If it has all, one is asked
// for again to see that the scores are this verifier's.
func (a *app) evalScore(command *cobra.Command, f *evalFlags, cfg config.Config, log *evaluate.Log, pairs []evaluate.Pair) error {
	pending, err := evaluate.Pending(log, pairs)
	if err != nil {
		return err
	}
	backend, name, err := a.evalBackend(command, f, cfg)
	if err != nil {
		return err
	}
	defer backend.Close()
	// Rows under way are finished at the first interrupt; the user may not
	// want to wait.
	defer context.AfterFunc(a.force, func() { os.Exit(exitInterrupted) })()
	bar := progress.New(a.err, len(pending), !f.noProgress && progress.IsTerminal(a.err))
	a.drawn.Store(bar)
	defer a.drawn.Store(nil)
	job := evaluate.Job{Scorer: backend, Log: log, Mode: f.mode, Claims: f.claims, Verifier: name, Parallel: f.parallel, Done: bar.Add}
	if len(pending) == 0 {
		err = job.Agree(command.Context(), pairs)
	} else {
		err = job.Run(command.Context(), pending)
	}
	bar.Close()
	if command.Context().Err() != nil {
		fmt.Fprintln(a.err, "plumbline: interrupted; the same command with --scores goes on from there")
		return &ended{exitInterrupted}
	}
	return err
}

// evalBackend opens what is asked, and names the verifier for the requests. A
// verifier at an address takes the place of the configured ones.
func (a *app) evalBackend(command *cobra.Command, f *evalFlags, cfg config.Config) (*backend, string, error) {
	if f.remote.Addr != "" {
		f.remote.Parallel = f.parallel
		backend, err := a.open(command, f.remote, true)
		return backend, f.verifier, err
	}
	if _, err := address.Parse(f.verifier); err == nil {
		cfg.Verifier.Default = evaluated
		cfg.Verifiers = map[string]config.NamedVerifier{evaluated: config.DefaultVerifier(evaluated, f.verifier)}
		backend, err := a.openHere(command.Context(), cfg, true)
		return backend, "", err
	}
	if _, known := cfg.AllVerifiers()[f.verifier]; f.verifier != "" && !known {
		return nil, "", fmt.Errorf("--verifier: %q is neither an address nor the name of a configured verifier", f.verifier)
	}
	backend, err := a.openHere(command.Context(), cfg, true)
	return backend, f.verifier, err
}

// evaluated is the name of a verifier that was given by its address.
const evaluated = "evaluated"

func (a *app) evalReport(f *evalFlags, log *evaluate.Log, result *evaluation.Result) (*report.Report, error) {
	session := log.Session()
	r := &report.Report{
		Title: cmp.Or(f.title, "Evaluation of "+log.Run().Verifier), Program: a.build.Version, Verifier: verifierOf(log.Run()), Result: result,
		Throughput: report.Throughput{Rows: session.Rows, Pairs: session.Pairs, Seconds: session.Seconds},
	}
	if f.remote.Addr == "" {
		r.Throughput.ProcessorSeconds = session.ProcessorSeconds
	}
	var err error
	r.Published, err = report.PublishedFor(result.Sets)
	return r, err
}

func verifierOf(run evaluate.Run) report.Verifier {
	return report.Verifier{Name: run.Verifier, Digest: run.Digest, Mode: run.Mode, Claims: run.Claims}
}

// writeEval writes what the flags ask for.
func (a *app) writeEval(f *evalFlags, r *report.Report) error {
	for _, output := range []struct {
		flag, name string
		write      func(io.Writer) error
	}{
		{"--out", f.out, r.WriteJSON},
		{"--markdown", f.markdown, r.WriteMarkdown},
		{"--report", f.report, r.WriteHTML},
	} {
		if output.name == "" {
			continue
		}
		if err := writeTo(output.name, a.out, output.write); err != nil {
			return fmt.Errorf("%s: %w", output.flag, err)
		}
	}
	return nil
}

// writeTo writes a file, or standard output.
func writeTo(name string, stdout io.Writer, write func(io.Writer) error) error {
	out, err := files.CreateOutput(name, "", stdout)
	if err != nil {
		return err
	}
	return errors.Join(write(out), out.Close())
}
