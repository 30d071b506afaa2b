package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/reflect/protoreflect"

	"plumbline/cmd/plumbline/internal/files"
	"plumbline/cmd/plumbline/internal/labelled"
	"plumbline/cmd/plumbline/internal/remote"
	plumblinev1 "plumbline/proto/plumbline/v1"
)

// calibrateHelp is the part of the help that the calibrate commands share.
const calibrateHelp = `
Records come from one of:
  --in FILE          CalibrationRecord messages in protobuf-JSON, one a line (.gz
                     is decompressed), or a Parquet file (.parquet) with columns
                     id, dataset, model, split, label, arm.NAME.f1 (em, passages,
                     tokens, calls, failed), probe.tokens, and signals.NAME or any
                     other column of numbers
  --signals FILE     responses of "plumbline score", one a line, joined by id with
  --labels FILE      JSON objects: id, the label under the name of --label, and as
                     far as known dataset, model, split, arms, ranking, probe

The answer goes to --out as JSON, with every number. --report writes one HTML page
that needs nothing else, --plots its plots as files.

A record that cannot be read is named on standard error and left out. Records are
held in memory: about 20 bytes and the id for each, 8 for each signal, and 50 to 130
bytes more while they are measured, and Go's collector as much again. More draws than
needed cost time: ten million records take seconds a draw.

Exit codes: 0 all done; 1 some records were left out, or no policy is attainable;
2 wrong usage, or the command could not start or read and write its files; 130
interrupted.`

// calibrateFlags are the flags of every calibrate command.
type calibrateFlags struct {
	input             labelled.Input
	remote            remote.Options
	out, report       string
	plots, plotFormat string
	title             string
	quiet, noProgress bool
}

func (f *calibrateFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.input.In, "in", files.Standard, "`FILE` of records; - is standard input")
	flags.StringVar(&f.input.Signals, "signals", "", "`FILE` of score responses to join with --labels")
	flags.StringVar(&f.input.Labels, "labels", "", "`FILE` of labels by id")
	flags.StringVar(&f.input.Label, "label", "label", "`NAME` of the field of --labels that is true for the positive class")
	flags.StringVar(&f.out, "out", files.Standard, "`FILE` for the answer in JSON; - is standard output")
	flags.StringVar(&f.report, "report", "", "`FILE` for the HTML report")
	flags.StringVar(&f.plots, "plots", "", "`DIR` for the plots as files")
	flags.StringVar(&f.plotFormat, "plot-format", "svg", "svg or png")
	flags.StringVar(&f.title, "title", "", "title of the report")
	flags.BoolVar(&f.quiet, quiet, false, "write nothing on standard error but why the command could not run")
	flags.BoolVar(&f.noProgress, "no-progress", false, "draw no progress bar (none is drawn if standard error is no terminal)")
	f.remote.Flags(flags, connectTimeout)
	addSettings(flags, "policies.", "limits.max_message_bytes")
}

func newCalibrate(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "calibrate",
		Short: "Fit policies to labelled records, and measure them",
		Long:  "Calibrate turns labelled records into frozen policies and measures policies and scores.\n" + calibrateHelp,
		Args:  cobra.NoArgs,
	}
	command.AddCommand(newCalibrateFit(a), newCalibrateEvaluate(a), newCalibrateCompare(a), newCalibrateReplay(a))
	return command
}

func newCalibrateFit(a *app) *cobra.Command {
	var flags calibrateFlags
	var policyOut string
	options := &plumblinev1.FitOptions{}
	var set optional
	command := &cobra.Command{
		Use:   "fit",
		Short: "Choose signals and thresholds, and freeze them in a policy",
		Long: `Fit finds the signals that separate positive from negative records on the
calibration split, drops those that repeat a stronger one, sets thresholds, and
measures the policy on the records held out. Records without a split are divided
by --seed, stratified by dataset, model and label.
` + calibrateHelp,
		Example: `  plumbline calibrate fit --in records.jsonl --data-name mine --policy-out mine.yaml --report mine.html
  plumbline score retrieval --in rankings.jsonl --out signals.jsonl
  plumbline calibrate fit --signals signals.jsonl --labels labels.jsonl --label weak --data-name wiki
  plumbline calibrate fit --in records.parquet --data-name mine --combination logistic --method target-recall --target 0.9
  plumbline calibrate fit --in records.jsonl --data-name mine --signal final_conf --combination platt --method risk-control --alpha 0.1 --delta 0.05`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			set.apply(command.Flags())
			return a.calibrateFit(command, &flags, options, policyOut)
		},
	}
	flags.add(command)
	f := command.Flags()
	f.StringVar(&policyOut, "policy-out", "", "`FILE` for the policy in YAML")
	f.StringVar(&options.PolicyName, "name", "fitted", "`NAME` of the policy")
	f.StringVar(&options.DataName, "data-name", "", "`NAME` of the data, for the policy's provenance (needed)")
	f.StringSliceVar(&options.Signals, "signal", nil, "`NAME`s of the signals to consider; all if none is given")
	set.number(f, "min-separation", 0.65, "a signal is kept if its separation is above this", &options.MinSeparation)
	set.number(f, "max-correlation", 0.85, "a signal is dropped if it correlates above this with a stronger one", &options.MaxCorrelation)
	f.Var(enumFlag(&options.Method, "THRESHOLD_METHOD_"), "method", "how thresholds are set: "+enumNames(options.Method, "THRESHOLD_METHOD_"))
	f.Var(enumFlag(&options.Combination, "COMBINATION_"), "combination", "how signals make one decision: "+enumNames(options.Combination, "COMBINATION_"))
	set.number(f, "target", 0, "the method's recall, precision, budget, or λ", &options.Target)
	set.number(f, "alpha", 0.1, "bound of the error rate of risk control", &options.Alpha)
	set.number(f, "delta", 0.05, "how often risk control may fail", &options.Delta)
	set.number(f, "share", 0.5, "share of the records that are calibrated on", &options.CalibrationShare)
	f.Uint64Var(&options.Seed, "seed", 0, "seed of the split and the bootstrap")
	f.Uint32Var(&options.Bootstrap, "bootstrap", 1000, "draws of the bootstrap")
	f.Var(enumFlag(&options.Then, "ACTION_"), "then", "action where the policy fires (escalate): "+enumNames(options.Then, "ACTION_"))
	f.Var(enumFlag(&options.Otherwise, "ACTION_"), "otherwise", "action where it does not (commit)")
	f.StringVar(&options.NeverArm, "never-arm", "never", "`NAME` of the arm where the policy does not fire")
	f.StringVar(&options.AlwaysArm, "always-arm", "always", "`NAME` of the arm where it fires")
	f.Float64SliceVar(&options.ThresholdGrid, "grid", nil, "thresholds to try; midway between all observed values if none is given")
	f.Var(enumFlag(&options.CostUnit, "COST_UNIT_"), "cost-unit", "what the cost-sensitive method counts: "+enumNames(options.CostUnit, "COST_UNIT_"))
	f.StringVar(&options.VerifierDigest, "verifier-digest", "", "digest of the verifier that gave the scores, for the provenance")
	_ = command.MarkFlagRequired("data-name") // fails only for a flag that is not there
	return command
}

// measureFlags adds the flags of commands that measure a policy or a score.
func measureFlags(f *pflag.FlagSet, policy, score *string, split *plumblinev1.Split, seed *uint64, bootstrap *uint32) {
	f.StringVar(policy, "policy", "", "`NAME` of the policy")
	f.StringVar(score, "score", "", "`NAME` of the score, in place of a policy")
	f.Var(enumFlag(split, "SPLIT_"), "split", "side of the records to take: "+enumNames(*split, "SPLIT_")+" (all)")
	f.Uint64Var(seed, "seed", 0, "seed of the bootstrap")
	f.Uint32Var(bootstrap, "bootstrap", 0, "draws of the bootstrap; 0 means 1,000, and 10,000 for differences")
}

// evaluateFlags adds the flags of evaluate and compare.
func evaluateFlags(f *pflag.FlagSet, options *plumblinev1.EvaluateOptions, set *optional) {
	measureFlags(f, &options.Policy, &options.Score, &options.Split, &options.Seed, &options.Bootstrap)
	set.number(f, "threshold", 0.5, "the score's threshold", &options.Threshold)
	f.BoolVar(&options.Below, "below", false, "the positive class has the low scores")
	f.Uint32Var(&options.Bins, "bins", 15, "bins of the calibration errors")
	f.Uint32Var(&options.Folds, "folds", 5, "folds on which Platt's scaling and isotonic regression are measured; 1 measures none")
}

func newCalibrateEvaluate(a *app) *cobra.Command {
	var flags calibrateFlags
	var set optional
	options := &plumblinev1.EvaluateOptions{}
	command := &cobra.Command{
		Use:   "evaluate",
		Short: "Measure a policy or a score on labelled records",
		Long: `Evaluate measures how a policy decides, or how a score separates, how far it is
from a probability, and how well it could be calibrated: in all and by group, with
bootstrap intervals.
` + calibrateHelp,
		Example: `  plumbline calibrate evaluate --in records.jsonl --score final_conf --report conf.html
  plumbline calibrate evaluate --in records.jsonl --policy mine --policies-dir ./policies --split test`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			set.apply(command.Flags())
			return a.calibrateEvaluate(command, &flags, options)
		},
	}
	flags.add(command)
	evaluateFlags(command.Flags(), options, &set)
	return command
}

func newCalibrateCompare(a *app) *cobra.Command {
	var flags calibrateFlags
	var set optional
	var against string
	options := &plumblinev1.EvaluateOptions{}
	command := &cobra.Command{
		Use:   "compare",
		Short: "Compare two policies or two scores on the same records",
		Long: `Compare measures two policies, or two scores, on the records that both can be
measured on: differences with paired bootstrap intervals (10,000 draws of records),
two-sided Wilcoxon signed-rank tests, and Holm's correction over all groups.
` + calibrateHelp,
		Example: `  plumbline calibrate compare --in records.jsonl --score sc --against nvc
  plumbline calibrate compare --in records.jsonl --policies-dir ./policies --policy floors --against logistic --split test`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			set.apply(command.Flags())
			if options.GetPolicy() != "" {
				options.AgainstPolicy = against
			} else {
				options.AgainstScore = against
			}
			return a.calibrateEvaluate(command, &flags, options)
		},
	}
	flags.add(command)
	evaluateFlags(command.Flags(), options, &set)
	command.Flags().StringVar(&against, "against", "", "`NAME` of the second policy or score")
	command.Flags().BoolVar(&options.AgainstBelow, "against-below", false, "the second score's positive class has the low scores")
	_ = command.MarkFlagRequired("against") // fails only for a flag that is not there
	return command
}

func newCalibrateReplay(a *app) *cobra.Command {
	var flags calibrateFlags
	var set optional
	options := &plumblinev1.ReplayOptions{}
	command := &cobra.Command{
		Use:   "replay",
		Short: "Recombine recorded outcomes of two arms by a policy or a score",
		Long: `Replay routes every question by a policy, or by a score and a threshold, to one of
two arms whose outcomes were recorded, and says what that gives and costs: beside
always, never, as many at random, and the oracle, with the frontier over all
thresholds of the score.
` + calibrateHelp,
		Example: `  plumbline calibrate replay --in paired.jsonl --score confidence --below --threshold 0.9 --report routing.html
  plumbline calibrate replay --in paired.jsonl --policy beyond_uncertainty --never-arm answer --always-arm decompose`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			set.apply(command.Flags())
			return a.calibrateReplay(command, &flags, options)
		},
	}
	flags.add(command)
	f := command.Flags()
	measureFlags(f, &options.Policy, &options.Score, &options.Split, &options.Seed, &options.Bootstrap)
	set.number(f, "threshold", 0, "the score's threshold; without it the score is swept only", &options.Threshold)
	f.BoolVar(&options.Below, "below", false, "retrieve below the threshold, not above")
	f.StringVar(&options.NeverArm, "never-arm", "never", "`NAME` of the arm without retrieval")
	f.StringVar(&options.AlwaysArm, "always-arm", "always", "`NAME` of the arm with retrieval")
	f.BoolVar(&options.OracleSkipsTies, "oracle-skips-ties", false, "the oracle does not retrieve where both arms are equally good")
	return command
}

// optional are number flags of fields that may be absent: only a flag that is
// given sets its field.
type optional struct {
	fields []optionalField
}

type optionalField struct {
	name  string
	value *float64
	field **float64
}

func (o *optional) number(flags *pflag.FlagSet, name string, shown float64, usage string, field **float64) {
	o.fields = append(o.fields, optionalField{name, flags.Float64(name, shown, usage), field})
}

func (o *optional) apply(flags *pflag.FlagSet) {
	for _, f := range o.fields {
		if flags.Changed(f.name) {
			*f.field = f.value
		}
	}
}

// enumValue is a flag over the values of a proto enum, in the words of the
// command line: THRESHOLD_METHOD_TARGET_RECALL is target-recall.
type enumValue[E enum] struct {
	to     *E
	prefix string
}

type enum interface {
	~int32
	protoreflect.Enum
}

func enumFlag[E enum](to *E, prefix string) pflag.Value { return enumValue[E]{to, prefix} }

func word(name, prefix string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, prefix), "_", "-"))
}

// enumNames lists the values of an enum but the unspecified one.
func enumNames[E enum](of E, prefix string) string {
	var names []string
	values := of.Descriptor().Values()
	for i := range values.Len() {
		if values.Get(i).Number() != 0 {
			names = append(names, word(string(values.Get(i).Name()), prefix))
		}
	}
	return strings.Join(names, ", ")
}

// String implements pflag.Value; the unspecified value is empty.
func (v enumValue[E]) String() string {
	if v.to == nil || *v.to == 0 {
		return ""
	}
	return word(string((*v.to).Descriptor().Values().ByNumber((*v.to).Number()).Name()), v.prefix)
}

// Set implements pflag.Value.
func (v enumValue[E]) Set(text string) error {
	values := (*v.to).Descriptor().Values()
	for i := range values.Len() {
		if value := values.Get(i); value.Number() != 0 && word(string(value.Name()), v.prefix) == text {
			*v.to = E(value.Number())
			return nil
		}
	}
	return fmt.Errorf("must be one of %s", enumNames(*v.to, v.prefix))
}

// Type implements pflag.Value.
func (v enumValue[E]) Type() string { return "name" }

func (f *calibrateFlags) check() error {
	if !slices.Contains([]string{"svg", "png"}, f.plotFormat) {
		return fmt.Errorf("--plot-format is %q: it must be svg or png", f.plotFormat)
	}
	return nil
}
