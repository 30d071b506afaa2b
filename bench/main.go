// Bench measures the service beside its peers. Every figure is a ratio of two
// things that ran in turns in the same run, because absolute times on a shared
// machine say little. README.md says how to read them.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// settings are the choices of a run.
type settings struct {
	data    string // folder of labelled documents and claims
	python  string // interpreter with peer/requirements.txt; empty skips the peers
	peer    string // folder of the Python peers
	stubs   string // folder of the Python stubs of our schema
	library string // the ONNX Runtime library; empty finds it
	figures string // folder for figures and plots; empty writes none
	short   bool
	budget  int // padded tokens of a batch of the peer
}

// scale picks the size of a measurement.
func (s settings) scale(short, long int) int {
	if s.short {
		return short
	}
	return long
}

// experiment is one comparison.
type experiment struct {
	name, about string
	run         func(context.Context, *session) error
}

func experiments() []experiment {
	return []experiment{
		{"engine", "pairs through gRPC beside a bare loop over ONNX Runtime", engineBesideLoop},
		{"peer", "callers of the service beside a Python server on the same library", besidePeer},
		{"loop", "documents one by one beside a loop that pads each to its longest chunk", besideLoop},
		{"latency", "one claim and three passages, alone and among eight callers", latency},
		{"sharing", "32 callers with common pairs: sharing of runs, and the cache", sharing},
		{"growth", "time by the number of pairs and the size of a document", growth},
		{"rpc", "retrieval calls beside an echo of the same message", besideEcho},
	}
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var cfg settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&cfg.data, "data", "../shared/data/dev", "folder with "+strings.Join(dataFiles(), " and "))
	flags.StringVar(&cfg.python, "python", "", "Python with bench/peer/requirements.txt; empty skips the Python peers")
	flags.StringVar(&cfg.peer, "peer", "bench/peer", "folder of the Python peers")
	flags.StringVar(&cfg.stubs, "stubs", "", "folder of the Python stubs of proto/")
	flags.StringVar(&cfg.library, "onnxruntime", "", "the ONNX Runtime library; empty finds it")
	flags.StringVar(&cfg.figures, "figures", "", "folder for the figures and plots of growth; empty writes none")
	flags.BoolVar(&cfg.short, "short", false, "a few minutes for all: shows that everything runs, measures coarsely")
	flags.IntVar(&cfg.budget, "token-budget", 1024, "padded tokens of a batch of the Python server; 1 makes it run pair by pair")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: bench [flags] [experiment ...]")
		for _, e := range experiments() {
			fmt.Fprintf(flags.Output(), "  %-8s %s\n", e.name, e.about)
		}
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(flags.Args())
	if err != nil {
		return err
	}
	s := &session{settings: cfg, out: os.Stdout}
	s.printf("machine: %s\n", machine())
	for _, e := range chosen {
		s.printf("\n%s: %s (load %s)\n", e.name, e.about, loadAverage())
		if err := e.run(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	s.printf("\nload at the end: %s\n", loadAverage())
	return nil
}

// choose returns the named experiments, or all.
func choose(names []string) ([]experiment, error) {
	all := experiments()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []experiment
	for _, name := range names {
		i := slices.IndexFunc(all, func(e experiment) bool { return e.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no experiment %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// session is a run: its settings and its output.
type session struct {
	settings
	out io.Writer
}

func (s *session) printf(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

// skip says why an experiment does not run.
func (s *session) skip(reason string) error {
	s.printf("  skipped: %s\n", reason)
	return nil
}
