package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"buf.build/go/protoyaml"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"plumbline/cmd/plumbline/internal/files"
	"plumbline/cmd/plumbline/internal/labelled"
	"plumbline/cmd/plumbline/internal/progress"
	"plumbline/cmd/plumbline/internal/records"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration"
	"plumbline/scorers/calibration/report"
	"plumbline/scorers/gate"
	"plumbline/server/fault"
	"plumbline/server/service"
)

func (a *app) calibrateFit(command *cobra.Command, flags *calibrateFlags, options *plumblinev1.FitOptions, policyOut string) error {
	c, err := a.calibration(command, flags)
	if err != nil {
		return err
	}
	defer c.backend.Close()
	response, err := call(c, &plumblinev1.FitRequest{Frame: &plumblinev1.FitRequest_Options{Options: options}},
		func(r *plumblinev1.CalibrationRecord) *plumblinev1.FitRequest {
			return &plumblinev1.FitRequest{Frame: &plumblinev1.FitRequest_Record{Record: r}}
		}, c.backend.Fit)
	if err != nil {
		return err
	}
	if c.seen != nil {
		if err := calibration.Prepare(c.ctx, c.seen, options); err != nil {
			return err
		}
	}
	if response.GetPolicy() == nil {
		c.say("no policy: %s", response.GetReason())
		c.incomplete = true
	} else if policyOut != "" {
		if err := writePolicy(policyOut, response.GetPolicy()); err != nil {
			return err
		}
	}
	return c.finish(response, report.Input{
		Title: cmp.Or(flags.title, options.GetPolicyName()+": fitted on "+options.GetDataName()),
		Fit:   response, FitOptions: options,
	})
}

func (a *app) calibrateEvaluate(command *cobra.Command, flags *calibrateFlags, options *plumblinev1.EvaluateOptions) error {
	c, err := a.calibration(command, flags)
	if err != nil {
		return err
	}
	defer c.backend.Close()
	response, err := call(c, &plumblinev1.EvaluateRequest{Frame: &plumblinev1.EvaluateRequest_Options{Options: options}},
		func(r *plumblinev1.CalibrationRecord) *plumblinev1.EvaluateRequest {
			return &plumblinev1.EvaluateRequest{Frame: &plumblinev1.EvaluateRequest_Record{Record: r}}
		}, c.backend.Evaluate)
	if err != nil {
		return err
	}
	return c.finish(response, report.Input{
		Title:    cmp.Or(flags.title, "Evaluation of "+options.GetPolicy()+options.GetScore()),
		Evaluate: response, EvaluateOptions: options,
	})
}

func (a *app) calibrateReplay(command *cobra.Command, flags *calibrateFlags, options *plumblinev1.ReplayOptions) error {
	c, err := a.calibration(command, flags)
	if err != nil {
		return err
	}
	defer c.backend.Close()
	response, err := call(c, &plumblinev1.ReplayRequest{Frame: &plumblinev1.ReplayRequest_Options{Options: options}},
		func(r *plumblinev1.CalibrationRecord) *plumblinev1.ReplayRequest {
			return &plumblinev1.ReplayRequest{Frame: &plumblinev1.ReplayRequest_Record{Record: r}}
		}, c.backend.Replay)
	if err != nil {
		return err
	}
	return c.finish(response, report.Input{
		Title:  cmp.Or(flags.title, "Routing by "+options.GetPolicy()+options.GetScore()),
		Replay: response, ReplayOptions: options,
	})
}

// calibrationRun is one calibrate command under way.
type calibrationRun struct {
	app     *app
	ctx     context.Context
	flags   *calibrateFlags
	backend *backend
	// seen are the records that were sent, for the report; nil without one.
	seen *calibration.Data
	// incomplete says that records were left out or that there is no policy.
	incomplete bool
	// stages show how far reading and computing are; nil says nothing.
	stages *progress.Stages
}

func (a *app) calibration(command *cobra.Command, flags *calibrateFlags) (*calibrationRun, error) {
	if err := flags.check(); err != nil {
		return nil, err
	}
	backend, err := a.open(command, flags.remote, false)
	if err != nil {
		return nil, err
	}
	flags.input.MaxLine = backend.maxMessageBytes
	c := &calibrationRun{app: a, ctx: command.Context(), flags: flags, backend: backend}
	if !flags.quiet {
		c.stages = progress.NewStages(a.err, !flags.noProgress && progress.IsTerminal(a.err))
		c.ctx = calibration.WithProgress(c.ctx, c.stages.Show)
	}
	if flags.report != "" || flags.plots != "" {
		c.seen = new(calibration.Data)
	}
	return c, nil
}

func (c *calibrationRun) say(format string, args ...any) {
	if c.stages != nil {
		c.stages.Close()
		c.stages.Println("plumbline: " + fmt.Sprintf(format, args...))
	}
}

// call streams the records of the flags' files to an rpc, after the options.
func call[Req, Res any](
	c *calibrationRun, options *Req, frame func(*plumblinev1.CalibrationRecord) *Req,
	rpc func(context.Context, service.Source[Req]) (*Res, error),
) (*Res, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	frames := make(chan *Req, 64)
	var readErr error
	go func() {
		defer close(frames)
		send := func(f *Req) error {
			select {
			case frames <- f:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if readErr = send(options); readErr != nil {
			return
		}
		readErr = c.read(func(r *plumblinev1.CalibrationRecord) error { return send(frame(r)) })
	}()
	response, err := rpc(ctx, frameSource[Req]{frames, &readErr})
	if c.stages != nil {
		c.stages.Close()
	}
	switch {
	case c.ctx.Err() != nil:
		c.say("interrupted")
		return nil, &ended{exitInterrupted}
	case err == nil:
		return response, nil
	}
	cancel()
	for range frames { // until the reader has ended, whose error is the cause
	}
	if readErr != nil && !errors.Is(readErr, context.Canceled) {
		return nil, readErr
	}
	return nil, errors.New(c.app.failure(err).GetMessage())
}

// frameSource is a stream in this process.
type frameSource[Req any] struct {
	frames <-chan *Req
	failed *error // set before frames is closed
}

func (s frameSource[Req]) Recv() (*Req, error) {
	frame, open := <-s.frames
	switch {
	case open:
		return frame, nil
	case *s.failed != nil:
		return nil, *s.failed
	default:
		return nil, io.EOF
	}
}

// read reads the records, shows how far it is, and keeps what the report needs.
func (c *calibrationRun) read(take func(*plumblinev1.CalibrationRecord) error) error {
	done, left := 0, 0
	total := c.total()
	err := c.flags.input.Read(c.app.in, labelled.Visitor{
		Record: func(r *plumblinev1.CalibrationRecord) error {
			done++
			if c.stages != nil {
				c.stages.Show("records read", done, total)
			}
			if c.seen != nil {
				if err := c.seen.Add(calibration.FromMessage(r)); err != nil {
					return err
				}
			}
			return take(r)
		},
		Failed: func(place string, err error) {
			left++
			if c.stages != nil {
				c.stages.Println(place + ": " + unreadable(err))
			}
		},
	})
	c.incomplete = c.incomplete || left > 0
	return err
}

// unreadable says what is wrong with a record in words for people.
func unreadable(err error) string {
	var known *fault.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return err.Error()
}

// total is how many records the input has, where they can be counted beforehand.
func (c *calibrationRun) total() int {
	name := cmp.Or(c.flags.input.Signals, c.flags.input.In)
	if c.stages == nil || filepath.Ext(name) == ".parquet" {
		return progress.Unknown
	}
	lines, known := files.CountLines(name, records.Count)
	if !known {
		return progress.Unknown
	}
	return lines
}

// finish writes the answer, the report and the plots.
func (c *calibrationRun) finish(response proto.Message, in report.Input) error {
	in.Version, in.Data = c.app.build.Version, c.seen
	if err := writeJSON(c.flags.out, c.app.out, response); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if c.flags.report != "" {
		var page bytes.Buffer
		if err := report.Write(c.ctx, &page, in); err != nil {
			return fmt.Errorf("--report: %w", err)
		}
		if err := os.WriteFile(c.flags.report, page.Bytes(), 0o644); err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	if c.flags.plots != "" {
		if err := writePlots(c.ctx, c.flags.plots, c.flags.plotFormat, in); err != nil {
			return fmt.Errorf("--plots: %w", err)
		}
	}
	if c.incomplete {
		return &ended{exitSomeFailed}
	}
	return nil
}

// writeJSON writes a message for people and programs: indented.
func writeJSON(name string, stdout io.Writer, message proto.Message) error {
	line, err := records.Encode(message)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, line, "", "  "); err != nil {
		return err
	}
	text.WriteByte('\n')
	out, err := files.CreateOutput(name, "", stdout)
	if err != nil {
		return err
	}
	_, err = out.Write(text.Bytes())
	return errors.Join(err, out.Close())
}

// writePolicy writes a policy and makes sure that a server can load it.
func writePolicy(name string, policy *plumblinev1.Policy) error {
	data, err := protoyaml.MarshalOptions{UseProtoNames: true, Indent: 2}.Marshal(policy)
	if err != nil {
		return fmt.Errorf("--policy-out: %w", err)
	}
	source, err := gate.Parse(name, data)
	if err != nil {
		return fmt.Errorf("--policy-out: %w", err)
	}
	if _, _, err := gate.Compile(source.Policy, gate.Options{}); err != nil {
		return fmt.Errorf("--policy-out: %w", err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		return fmt.Errorf("--policy-out: %w", err)
	}
	return nil
}

// unfitForNames are the characters of a plot's name that a file's has not.
var unfitForNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func writePlots(ctx context.Context, dir, format string, in report.Input) error {
	plots, err := report.Plots(ctx, in)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range plots {
		draw := p.SVG
		if format == "png" {
			draw = p.PNG
		}
		data, err := draw()
		if err != nil {
			return err
		}
		name := unfitForNames.ReplaceAllString(p.Name, "_") + "." + format
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
