package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"plumbline/cmd/plumbline/internal/files"
	"plumbline/cmd/plumbline/internal/progress"
	"plumbline/cmd/plumbline/internal/records"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/fault"
)

// recordsHelp is the part of the help that commands over records share.
const recordsHelp = `
Input and output are JSON, one record a line, in protobuf-JSON with the field
names of the schema; a name that ends in .gz is (de)compressed, and "-" or no
name is standard input or output. The output has one line for each record, in
the order of the input; blank lines are passed over. A record that fails leaves
  {"error":{"line":3,"code":"INVALID_ARGUMENT","field":"…","message":"…","reason":"…"}}
in its place and is named on standard error; the others are not affected.

An output file that is there already is emptied. With --resume the run goes on
where an earlier one with the same input and flags has ended, in whatever way: an
unfinished last line is cut, as many records are passed over as the file has lines,
and the rest is appended. A record that failed has a line and is not tried again.

With --addr a record that the server is too full for, or away, is sent again until
--timeout, and without one for as long as it takes. Values that are not known within
--timeout say STATUS_DEADLINE; a record that no server has taken by then fails with
the server's last refusal, or with DEADLINE_EXCEEDED if there was none.

Exit codes: 0 all done; 1 some records failed; 2 wrong usage, or the command could
not start or read and write its files; 130 interrupted: what was under way was
finished and written, what waited for a server was not begun (a second interrupt
does not wait).`

// recordFlags are the flags of commands over records.
type recordFlags struct {
	in, out    string
	resume     bool
	parallel   int
	timeout    time.Duration
	noProgress bool
}

func (f *recordFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.in, "in", files.Standard, "`FILE` to read; - is standard input")
	flags.StringVar(&f.out, "out", files.Standard, "`FILE` to write; - is standard output")
	flags.BoolVar(&f.resume, "resume", false, "go on after the lines that the file of --out has; without it the file is emptied")
	// Twice the processors: while some records compute, others are decoded or
	// wait for the model.
	flags.IntVar(&f.parallel, "parallel", 2*runtime.GOMAXPROCS(0), "records that are scored at once")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long one record may take, with the wait for a server that is full or away; 0 means no limit here (a server has one for each call)")
	flags.Bool(quiet, false, "write nothing on standard error but why the command could not run")
	flags.BoolVar(&f.noProgress, "no-progress", false, "draw no progress bar (none is drawn if standard error is no terminal)")
}

// runRecords runs a handler over the records of the flags' files.
func (a *app) runRecords(ctx context.Context, f recordFlags, maxLine int, handle records.Handler) (err error) {
	if f.parallel < 1 {
		return fmt.Errorf("--parallel is %d: it must be at least 1", f.parallel)
	}
	in, err := files.OpenInput(f.in, a.in)
	if err != nil {
		return fmt.Errorf("--in: %w", err)
	}
	defer func() { _ = in.Close() }()
	out, earlier, err := a.output(f)
	if err != nil {
		return err
	}
	// The pipeline waits for records under way; the user may not want to.
	defer context.AfterFunc(a.force, func() { os.Exit(exitInterrupted) })()

	bar := a.bar(f)
	a.drawn.Store(bar)
	defer a.drawn.Store(nil)
	bar.Skip(earlier.Records)
	summary, err := records.Pipeline{
		Handle:  withTimeout(f.timeout, handle),
		Workers: f.parallel,
		MaxLine: maxLine,
		Earlier: earlier,
		Done: func(line int, failure *plumblinev1.ItemError) {
			if failure != nil {
				bar.Println(fmt.Sprintf("line %d: %s", line, failure.GetMessage()))
			}
			bar.Add()
		},
	}.Run(ctx, in, out)
	bar.Close()
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return a.outcome(summary)
}

// output opens the output, with what an earlier run has left in it.
func (a *app) output(f recordFlags) (out io.WriteCloser, earlier records.Summary, err error) {
	if !f.resume {
		if out, err = files.CreateOutput(f.out, f.in, a.out); err != nil {
			return nil, earlier, fmt.Errorf("--out: %w", err)
		}
		return out, earlier, nil
	}
	out, err = files.ResumeOutput(f.out, f.in, func(file io.Reader) (length int64, err error) {
		earlier, length, err = records.Earlier(file)
		return length, err
	})
	if err != nil {
		return nil, earlier, fmt.Errorf("--resume: %w", err)
	}
	return out, earlier, nil
}

func (a *app) bar(f recordFlags) *progress.Bar {
	draw := !f.noProgress && progress.IsTerminal(a.err)
	total := progress.Unknown
	if draw {
		if lines, known := files.CountLines(f.in, records.Count); known {
			total = lines
		}
	}
	return progress.New(a.err, total, draw)
}

// outcome turns what a run did into the command's end.
func (a *app) outcome(summary records.Summary) error {
	say := func(format string, args ...any) {
		fmt.Fprintf(a.err, "plumbline: "+format+"\n", args...)
	}
	switch {
	case summary.Interrupted:
		say("interrupted after %d records, of which %d failed", summary.Records, summary.Failed)
		return &ended{exitInterrupted}
	case summary.Failed > 0:
		say("%d of %d records failed", summary.Failed, summary.Records)
		return &ended{exitSomeFailed}
	default:
		return nil
	}
}

func withTimeout(timeout time.Duration, handle records.Handler) records.Handler {
	if timeout <= 0 {
		return handle
	}
	return func(ctx context.Context, record []byte) (proto.Message, *plumblinev1.ItemError) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return handle(ctx, record)
	}
}

// message is a pointer to a message of type M.
type message[M any] interface {
	*M
	proto.Message
}

// handler makes a handler of an rpc. prepare completes a request from flags.
func handler[M any, Req message[M], Res proto.Message](a *app, call func(context.Context, Req) (Res, error), prepare func(Req)) records.Handler {
	return func(ctx context.Context, record []byte) (proto.Message, *plumblinev1.ItemError) {
		request := Req(new(M))
		if err := records.Decode(record, request); err != nil {
			return nil, a.failure(err)
		}
		prepare(request)
		var response Res
		// A defect that one record brings to light must not cost the others.
		err := fault.Guard(func() (err error) {
			response, err = call(ctx, request)
			return err
		})
		if err != nil {
			return nil, a.failure(err)
		}
		return response, nil
	}
}
