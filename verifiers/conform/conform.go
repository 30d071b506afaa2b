// Package conform checks whether a verifier keeps its contract: that of
// VerifierService in proto/plumbline/v1/verifier.proto and of entail.Verifier.
// It is what "plumbline verifier check ADDRESS" runs, for authors of verifiers.
//
// Each check is about one rule, names it, and where it fails says what was seen
// and what to do. A verifier that speaks VerifierService is asked over its own
// wire, leniently, so that one fault fails the check of its rule and no other.
// What stands behind another protocol (openai, tei, kserve, embedded) is asked
// through its backend; checks of the wire are then skipped.
//
// The checks send English sentences about a bridge, some very long or odd text,
// and more than a thousand short pairs; no check changes anything.
package conform

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"google.golang.org/grpc"

	"plumbline/verifiers"
)

// DefaultTimeout is how long a check may take.
const DefaultTimeout = 30 * time.Second

// Outcome is how a check ended.
type Outcome string

// The outcomes.
const (
	// Pass: the rule is kept, as far as the check can see.
	Pass Outcome = "pass"
	// Fail: the rule is broken.
	Fail Outcome = "fail"
	// Skip: the rule does not apply, or the check could not see.
	Skip Outcome = "skip"
)

// Result is the outcome of one check. Its JSON form is that of
// "plumbline verifier check --json".
type Result struct {
	// Check is the check's name; names do not change.
	Check string `json:"check"`
	// Rule is what the check is about.
	Rule string `json:"rule"`
	// Outcome is how it ended.
	Outcome Outcome `json:"outcome"`
	// Detail is what was seen, where it failed, or why it was skipped.
	Detail string `json:"detail,omitempty"`
	// Advice is what to do where it failed.
	Advice string `json:"advice,omitempty"`
	// Seconds is how long the check took.
	Seconds float64 `json:"seconds"`
}

// Options are the options of Run.
type Options struct {
	// Timeout bounds each check; 0 means DefaultTimeout. Slow verifiers need
	// more: a check scores a few dozen pairs.
	Timeout time.Duration
	// Only names the checks to run; empty means all. The description is always
	// looked at, because all others need it.
	Only []string
}

// Names are the names of all checks.
func Names() []string {
	var names []string
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}

// wired is a backend that speaks VerifierService.
type wired interface {
	// Conn is the connection on which it does.
	Conn() (grpc.ClientConnInterface, error)
}

// Run runs all checks in turn and yields each result as it is known. It ends
// early with ctx.
func Run(ctx context.Context, backend verifiers.Backend, options Options) iter.Seq[Result] {
	if options.Timeout == 0 {
		options.Timeout = DefaultTimeout
	}
	return func(yield func(Result) bool) {
		s := &subject{backend: backend}
		for _, c := range checks() {
			if s.prepared && len(options.Only) > 0 && !slices.Contains(options.Only, c.name) {
				continue
			}
			result := c.conduct(ctx, s, options.Timeout)
			if ctx.Err() != nil || !yield(result) {
				return
			}
		}
	}
}

// check is one rule and how it is checked.
type check struct {
	name, rule, advice string
	// wire says that the check needs VerifierService itself.
	wire bool
	// compares says that the check compares scores, which makes sense only if
	// the verifier is deterministic.
	compares bool
	run      func(context.Context, *subject) error
}

// skipped is the error of a check that could not see; it says why.
type skipped string

// Error implements error.
func (s skipped) Error() string { return string(s) }

// conduct runs the check within its time.
func (c check) conduct(ctx context.Context, s *subject, timeout time.Duration) Result {
	begin := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not done after %s; give slow verifiers more with --timeout", timeout))
	defer cancel()
	err := c.applies(limited, s)
	if err == nil {
		err = c.run(limited, s)
	}
	result := Result{Check: c.name, Rule: c.rule, Outcome: Pass, Seconds: time.Since(begin).Seconds()}
	var skip skipped
	switch {
	case errors.As(err, &skip):
		result.Outcome, result.Detail = Skip, skip.Error()
	case err != nil:
		if limited.Err() != nil {
			err = fmt.Errorf("%w (%w)", context.Cause(limited), err)
		}
		result.Outcome, result.Detail, result.Advice = Fail, err.Error(), c.advice
	}
	return result
}

// applies says why the check cannot be run on the subject. The first check, that
// of the description, prepares the subject for all others.
func (c check) applies(ctx context.Context, s *subject) error {
	if !s.prepared {
		return s.prepare(ctx)
	}
	switch {
	case s.description == nil:
		return skipped("there is no description to check against")
	case c.wire && s.conn == nil:
		return skipped("the address is not one of VerifierService")
	case c.compares && !s.description.GetDeterministic():
		return skipped("it does not say that it is deterministic")
	default:
		return nil
	}
}
