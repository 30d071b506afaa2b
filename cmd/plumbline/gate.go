package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plumbline/cmd/plumbline/internal/records"
	"plumbline/cmd/plumbline/internal/remote"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/gate"
)

func newGate(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "gate",
		Short: "Turn scores into actions by named policies",
	}, newGateDecide(a), newGateShadow(a), newGateList(a), newGateCheck(a))
}

// gateFlags are the flags of gate commands over records.
type gateFlags struct {
	records recordFlags
	remote  remote.Options
	policy  string
}

func (f *gateFlags) add(command *cobra.Command) {
	f.records.add(command.Flags())
	f.remote.Flags(command.Flags(), connectTimeout)
	command.Flags().StringVar(&f.policy, "policy", "", "`NAME` of the policy for records that name none")
	addSettings(command.Flags(), "policies.", "limits.max_message_bytes")
}

// prepare completes a request from the flags.
func (f *gateFlags) prepare(request *plumblinev1.DecideRequest) {
	if request.GetPolicy() == "" {
		request.Policy = f.policy
	}
}

func newGateDecide(a *app) *cobra.Command {
	var flags gateFlags
	command := &cobra.Command{
		Use:   "decide",
		Short: "Decide on records from a file or pipe",
		Long:  "Decide turns DecideRequest records into DecideResponse records.\n" + recordsHelp,
		Example: `  plumbline gate decide --in turns.jsonl --out decisions.jsonl
  echo '{"inputs":{"final_conf":0.42}}' | plumbline gate decide --policy beyond_uncertainty
  plumbline gate decide --policies-dir ./policies --policy mine --in turns.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			flags.remote.Parallel = flags.records.parallel
			backend, err := a.open(command, flags.remote, false)
			if err != nil {
				return err
			}
			defer backend.Close()
			return a.runRecords(command.Context(), flags.records, backend.maxMessageBytes, handler(a, backend.Decide, flags.prepare))
		},
	}
	flags.add(command)
	return command
}

func newGateShadow(a *app) *cobra.Command {
	var flags gateFlags
	var with []string
	command := &cobra.Command{
		Use:   "shadow",
		Short: "See what other policies would have decided",
		Long: `Shadow decides as "plumbline gate decide" does and runs other policies beside it,
without acting on them. Each response says what they would have decided; at the
end standard error says of this run how often they agree and which actions would
change.
` + recordsHelp,
		Example: `  plumbline gate shadow --policy beyond_uncertainty --with mine --policies-dir ./policies --in turns.jsonl > compared.jsonl`,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			flags.remote.Parallel = flags.records.parallel
			backend, err := a.open(command, flags.remote, false)
			if err != nil {
				return err
			}
			defer backend.Close()
			var seen tally
			decide := func(ctx context.Context, request *plumblinev1.DecideRequest) (*plumblinev1.DecideResponse, error) {
				response, err := backend.Decide(ctx, request)
				seen.add(response)
				return response, err
			}
			prepare := func(request *plumblinev1.DecideRequest) {
				flags.prepare(request)
				request.ShadowPolicies = append(request.ShadowPolicies, with...)
			}
			err = a.runRecords(command.Context(), flags.records, backend.maxMessageBytes, handler(a, decide, prepare))
			fmt.Fprint(a.err, seen.String())
			return err
		},
	}
	flags.add(command)
	command.Flags().StringSliceVar(&with, "with", nil, "`NAME`s of the policies to run beside")
	_ = command.MarkFlagRequired("with") // fails only for a flag that is not there
	return command
}

// tally counts how shadow policies compare. It is safe for concurrent use.
type tally struct {
	mu      sync.Mutex
	byShade map[string]*shade
}

// shade is one shadow policy's count.
type shade struct {
	decided, agreed, failed int
	changes                 map[string]int
}

func (t *tally) add(response *plumblinev1.DecideResponse) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byShade == nil {
		t.byShade = make(map[string]*shade)
	}
	for _, shadow := range response.GetShadow() {
		s := t.byShade[shadow.GetPolicy()]
		if s == nil {
			s = &shade{changes: make(map[string]int)}
			t.byShade[shadow.GetPolicy()] = s
		}
		switch {
		case shadow.GetError() != nil:
			s.failed++
		case shadow.GetAgrees():
			s.decided++
			s.agreed++
		default:
			s.decided++
			s.changes[fmt.Sprintf("%s → %s", response.GetAction(), shadow.GetAction())]++
		}
	}
}

// String is the summary for people, in the order of the policies' names.
func (t *tally) String() string {
	var text strings.Builder
	for _, policy := range slices.Sorted(maps.Keys(t.byShade)) {
		s := t.byShade[policy]
		fmt.Fprintf(&text, "%s: decided %d, agrees on %d, could not decide %d\n", policy, s.decided, s.agreed, s.failed)
		for _, change := range slices.Sorted(maps.Keys(s.changes)) {
			fmt.Fprintf(&text, "  %s: %d\n", change, s.changes[change])
		}
	}
	return text.String()
}

func newGateList(a *app) *cobra.Command {
	var to remote.Options
	var asJSON bool
	command := &cobra.Command{
		Use:   "list",
		Short: "List the policies",
		Long: `List names every policy with the inputs that it reads and the actions that it can
decide. With --json it prints the whole of each, one GateInfo a line.

Exit codes: 0 done; 2 wrong usage, or the policies could not be read.`,
		Example: `  plumbline gate list
  plumbline gate list --policies-dir ./policies --json
  plumbline gate list --addr localhost:50051`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			backend, err := a.open(command, to, false)
			if err != nil {
				return err
			}
			defer backend.Close()
			response, err := backend.ListGates(command.Context(), &plumblinev1.ListGatesRequest{})
			if err != nil {
				return errors.New(a.failure(err).GetMessage())
			}
			if asJSON {
				return a.listJSON(response.GetGates())
			}
			return a.listTable(response.GetGates())
		},
	}
	to.Flags(command.Flags(), connectTimeout)
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON, one policy a line")
	addSettings(command.Flags(), "policies.", "limits.max_message_bytes")
	return command
}

func (a *app) listJSON(gates []*plumblinev1.GateInfo) error {
	for _, info := range gates {
		line, err := records.Encode(info)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.out, "%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) listTable(gates []*plumblinev1.GateInfo) error {
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tFRAMEWORK\tCALIBRATED\tINPUTS\tACTIONS")
	for _, info := range gates {
		var inputs, actions []string
		for _, input := range info.GetInputs() {
			inputs = append(inputs, input.GetName())
		}
		for _, action := range info.GetActions() {
			actions = append(actions, strings.ToLower(strings.TrimPrefix(action.String(), "ACTION_")))
		}
		fmt.Fprintf(table, "%s\t%s\t%t\t%s\t%s\n", info.GetName(), info.GetFramework(), info.GetCalibrated(),
			strings.Join(inputs, ","), strings.Join(actions, ","))
	}
	return table.Flush()
}

func newGateCheck(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE…",
		Short: "Check policy files before a server loads them",
		Long: `Check reads policies as a server would, beside the built-in ones: files in YAML or
JSON, or folders of them. It tells what is wrong with a file and where, and warns
of what can be loaded but is odd, such as a threshold that never fires.

Exit codes: 0 all can be loaded; 1 some cannot; 2 wrong usage.`,
		Example: `  plumbline gate check policies/mine.yaml
  plumbline gate check ./policies`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, paths []string) error {
			set, err := gate.Builtin(gate.Options{})
			if err != nil {
				return err
			}
			sources, err := readPolicies(paths)
			if err == nil {
				set, err = set.With(sources...)
			}
			if err != nil {
				fmt.Fprintln(a.err, err)
				return &ended{exitSomeFailed}
			}
			return a.reportPolicies(set, sources)
		},
	}
}

// readPolicies reads every file and folder and reports every bad one.
func readPolicies(paths []string) ([]gate.Source, error) {
	var sources []gate.Source
	var errs []error
	for _, path := range paths {
		read, err := readPolicy(path)
		sources, errs = append(sources, read...), append(errs, err)
	}
	return sources, errors.Join(errs...)
}

func readPolicy(path string) ([]gate.Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return gate.LoadDir(os.DirFS(path))
	}
	if info.Size() > gate.MaxPolicyBytes {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("a policy has at most %d bytes", gate.MaxPolicyBytes)}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	source, err := gate.Parse(path, data)
	return []gate.Source{source}, err
}

func (a *app) reportPolicies(set *gate.Set, sources []gate.Source) error {
	for _, source := range sources {
		loaded, err := set.Gate(source.Policy.GetName())
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s: policy %s can be loaded, %s\n", source.File, loaded.Name(), loaded.Digest())
		for _, warning := range loaded.Warnings() {
			fmt.Fprintf(a.out, "%s: warning: %s\n", source.File, warning)
		}
	}
	return nil
}
