package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumbline/cmd/plumbline/internal/progress"
	"plumbline/server/config"
	"plumbline/verifiers/address"
	"plumbline/verifiers/conform"
	"plumbline/verifiers/remote"
)

// checkFlags are the flags of "plumbline verifier check".
type checkFlags struct {
	json, verbose bool
	timeout       time.Duration
	only          []string
	tls           remote.TLS
}

func newVerifierCheck(a *app) *cobra.Command {
	var f checkFlags
	command := &cobra.Command{
		Use:   "check ADDRESS",
		Short: "Check whether a verifier keeps its contract",
		Long: `Check asks a verifier what a server would ask it, and some things more, and says
which rules of the contract it keeps: ids, order, cancellation, limits, error
codes, equal scores in any batch, empty, odd and huge texts, and others. It is
made for authors of verifiers and changes nothing.

ADDRESS is what the setting "verifiers" takes: grpc://HOST:PORT, grpcs://…,
unix:PATH, exec:COMMAND, openai:…, tei:…, kserve:…, or embedded. What does not
speak VerifierService is checked through Plumbline's client of its protocol.

Exit codes: 0 no check failed; 1 one did; 2 wrong usage; 130 interrupted.`,
		Example: `  plumbline verifier check grpc://localhost:50061
  plumbline verifier check 'exec:python3 my_verifier.py' --verbose
  plumbline verifier check embedded --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			at, err := address.Parse(args[0])
			if err != nil {
				return err
			}
			for _, name := range f.only {
				if !slices.Contains(conform.Names(), name) {
					return fmt.Errorf("--only: there is no check %q; the checks are %s", name, strings.Join(conform.Names(), ", "))
				}
			}
			cfg, err := settings(command)
			if err != nil {
				return err
			}
			return a.checkVerifier(command.Context(), at, cfg, f)
		},
	}
	flags := command.Flags()
	flags.BoolVar(&f.json, "json", false, "print one JSON object in place of the table")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show what a spawned verifier prints, on standard error")
	flags.StringSliceVar(&f.only, "only", nil, "`NAMES` of the checks to run, beside that of the description")
	flags.DurationVar(&f.timeout, "timeout", conform.DefaultTimeout, "how long each check may take; slow models need more")
	flags.StringVar(&f.tls.CAFile, "tls-ca", "", "PEM `FILE` of the authorities to trust at a grpcs address, in place of the system's")
	flags.StringVar(&f.tls.CertFile, "tls-cert", "", "PEM `FILE` of the client's certificate")
	flags.StringVar(&f.tls.KeyFile, "tls-key", "", "PEM `FILE` of the client's private key")
	addSettings(flags, "model.", "onnxruntime.", "verifier.workers")
	return command
}

// checkVerifier runs the checks and prints their results as they come.
func (a *app) checkVerifier(ctx context.Context, at address.Address, cfg config.Config, f checkFlags) error {
	results := a.conduct(ctx, at, cfg, f)
	var outcomes checkReport
	if f.json {
		outcomes = collect(at, results)
		if err := json.NewEncoder(a.out).Encode(outcomes); err != nil {
			return err
		}
	} else {
		outcomes = a.tabulate(at, results)
	}
	switch {
	case ctx.Err() != nil:
		return &ended{exitInterrupted}
	case outcomes.Failed > 0:
		return &ended{exitSomeFailed}
	default:
		return nil
	}
}

// conduct opens the verifier and checks it.
func (a *app) conduct(ctx context.Context, at address.Address, cfg config.Config, f checkFlags) iter.Seq[conform.Result] {
	return func(yield func(conform.Result) bool) {
		options := address.Options{ModelDir: cfg.Model.Dir, TLS: f.tls}
		options.Engine.Library, options.Engine.Workers = cfg.ONNXRuntime.Lib, cfg.Verifier.Workers
		if f.verbose {
			options.Log = slog.New(slog.NewTextHandler(a.err, nil))
		}
		begin := time.Now()
		backend, err := at.Open(ctx, options)
		open := conform.Result{Check: "open", Rule: "The verifier can be opened", Outcome: conform.Pass, Seconds: time.Since(begin).Seconds()}
		if err != nil {
			open.Outcome, open.Detail = conform.Fail, err.Error()
			open.Advice = "Mend what the error names; for exec: addresses, docs/verifiers-exec.md has the protocol, and --verbose shows the output."
		}
		if !yield(open) || err != nil {
			return
		}
		defer func() { _ = backend.Close() }() // the process is about to end
		conform.Run(ctx, backend, conform.Options{Timeout: f.timeout, Only: f.only})(yield)
	}
}

// checkReport is the JSON form of all results.
type checkReport struct {
	Address string           `json:"address"`
	Passed  int              `json:"passed"`
	Failed  int              `json:"failed"`
	Skipped int              `json:"skipped"`
	Results []conform.Result `json:"results"`
}

func (r *checkReport) add(result conform.Result) {
	r.Results = append(r.Results, result)
	switch result.Outcome {
	case conform.Pass:
		r.Passed++
	case conform.Fail:
		r.Failed++
	case conform.Skip:
		r.Skipped++
	}
}

func collect(at address.Address, results iter.Seq[conform.Result]) checkReport {
	report := checkReport{Address: at.String()}
	for result := range results {
		report.add(result)
	}
	return report
}

// tabulate prints a row for each result, coloured on a terminal.
func (a *app) tabulate(at address.Address, results iter.Seq[conform.Result]) checkReport {
	report := checkReport{Address: at.String()}
	paint := painter(a.out)
	fmt.Fprintf(a.out, "Checking %s\n", report.Address)
	for result := range results {
		report.add(result)
		fmt.Fprintf(a.out, "%s  %-17s  %s\n", paint(result.Outcome), result.Check, result.Rule)
		switch result.Outcome {
		case conform.Fail:
			fmt.Fprintf(a.out, "      seen: %s\n      do:   %s\n", result.Detail, result.Advice)
		case conform.Skip:
			fmt.Fprintf(a.out, "      because %s\n", result.Detail)
		}
	}
	fmt.Fprintf(a.out, "%d passed, %d failed, %d skipped\n", report.Passed, report.Failed, report.Skipped)
	return report
}

// painter colours outcomes (ECMA-48) if w is a terminal whose user has nothing
// against it (no-color.org).
func painter(w io.Writer) func(conform.Outcome) string {
	if !progress.IsTerminal(w) || os.Getenv("NO_COLOR") != "" {
		return func(outcome conform.Outcome) string { return string(outcome) }
	}
	colours := map[conform.Outcome]int{conform.Pass: 32, conform.Fail: 31, conform.Skip: 33}
	return func(outcome conform.Outcome) string {
		return fmt.Sprintf("\x1b[%dm%s\x1b[0m", colours[outcome], outcome)
	}
}
