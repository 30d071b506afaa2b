// Package gate turns scores into actions by named policies: a policy says
// which inputs it reads, by which rule and thresholds, where the thresholds
// come from, and what to do when an input is missing.
//
// Deciding is pure: the same inputs and the same policy give the same
// decision. A policy that was not fitted on named data says so in every
// decision.
package gate

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
)

// Gate is a compiled policy. It is immutable and safe for concurrent use.
type Gate struct {
	policy     *plumblinev1.Policy
	digest     string
	inputs     []input
	thresholds map[string]float64
	rule       rule
	warnings   []Warning
	// remark is what every decision says about the policy's calibration;
	// empty if it is calibrated.
	remark string
}

// input is a compiled PolicyInput.
type input struct {
	name      string
	kind      plumblinev1.InputType
	allowed   interval
	optional  bool
	direction plumblinev1.Direction
	onMissing plumblinev1.Action
}

// rule decides from values that are there, save for optional ones.
type rule interface {
	decide(f *facts) outcome
	// actions are what the rule can decide, each once.
	actions() []plumblinev1.Action
}

// facts are the checked values of one decision, in the order of the policy's
// inputs.
type facts struct {
	inputs     []input
	values     []Value
	thresholds map[string]float64
}

// value finds an input by name; one that the policy does not declare is
// missing.
func (f *facts) value(name string) Value {
	for i := range f.inputs {
		if f.inputs[i].name == name {
			return f.values[i]
		}
	}
	return Missing(score.MissingInput("the policy does not declare it"))
}

// outcome is what a rule made of the facts.
type outcome struct {
	action plumblinev1.Action
	trace  []Term
	margin float64
	// noMargin says why there is no margin; nil if there is one.
	noMargin *score.Missing
	query    string
	// undecided says why the rule could not decide; nil if it could.
	undecided *score.Missing
}

// Term is one term of a rule as it was evaluated.
type Term struct {
	// Term is the input's name, or the expression.
	Term string
	// Value is the input's number, if Missing is nil and Numeric is true.
	Value   float64
	Numeric bool
	// Missing is the reason why the input could not be used.
	Missing *score.Missing
	// Comparison and Threshold are the test; Comparison is unspecified if the
	// term is no comparison.
	Comparison plumblinev1.Comparison
	Threshold  float64
	// Passed says whether the condition holds.
	Passed bool
}

// Decision is the answer of a gate.
type Decision struct {
	// DecidedBy is the policy that gave the action.
	DecidedBy string
	// Action is what to do.
	Action plumblinev1.Action
	// Calibrated says that the thresholds were fitted on named data.
	Calibrated bool
	// Trace has the rule's terms, and one term for each missing input.
	Trace []Term
	// Margin is how far the deciding input is from its threshold, in the
	// input's unit: 0 at the threshold, positive on the side of the action. It
	// is set if NoMargin is nil.
	Margin   float64
	NoMargin *score.Missing
	// Missing names the inputs that were missing.
	Missing []string
	// Digest is the digest of the policy that decided.
	Digest string
	// Warnings are remarks for people.
	Warnings []string
	// Query is what a text rule read from the text.
	Query string
}

// Name is the policy's name.
func (g *Gate) Name() string { return g.policy.GetName() }

// Digest is "sha256:" and the hexadecimal digest of the policy.
func (g *Gate) Digest() string { return g.digest }

// Policy returns a copy of the policy.
func (g *Gate) Policy() *plumblinev1.Policy { return proto.CloneOf(g.policy) }

// Warnings are the remarks of the load.
func (g *Gate) Warnings() []Warning { return slices.Clone(g.warnings) }

// Decide applies the policy. It always decides: where an input that the rule
// needs is missing, the action is the one that the policy declares for that,
// and ACTION_RETRIEVE if it declares none. Fallbacks are the Set's affair.
func (g *Gate) Decide(in Inputs) Decision {
	decision, undecided := g.try(in)
	if undecided != nil {
		g.useDefault(&decision, undecided)
	}
	return decision
}

// undecided is why a rule gave no action, and what the policy declares for
// that.
type undecided struct {
	reason *score.Missing
	action plumblinev1.Action
}

// try evaluates the rule; a non-nil undecided means that it gave no action.
func (g *Gate) try(in Inputs) (Decision, *undecided) {
	d := Decision{
		DecidedBy:  g.Name(),
		Calibrated: g.policy.GetProvenance().GetCalibrated(),
		Digest:     g.digest,
	}
	if g.remark != "" {
		d.Warnings = append(d.Warnings, g.remark)
	}
	f, gaps := g.gather(in, &d)
	if needed := slices.IndexFunc(gaps, func(i int) bool { return !g.inputs[i].optional }); needed >= 0 {
		i := gaps[needed]
		d.NoMargin = score.MissingInput("the rule was not evaluated")
		return d, &undecided{reason: f.values[i].missing, action: g.inputs[i].onMissing}
	}
	out := g.rule.decide(f)
	d.Trace = append(out.trace, d.Trace...)
	if out.undecided != nil {
		d.NoMargin = out.undecided
		return d, &undecided{reason: out.undecided, action: g.defaultFor(gaps)}
	}
	d.Action, d.Margin, d.NoMargin, d.Query = out.action, out.margin, out.noMargin, out.query
	return d, nil
}

// gather reads the inputs. It notes those that are missing in the decision and
// returns their indices.
func (g *Gate) gather(in Inputs, d *Decision) (*facts, []int) {
	f := &facts{inputs: g.inputs, values: make([]Value, len(g.inputs)), thresholds: g.thresholds}
	var gaps []int
	for i := range g.inputs {
		name := g.inputs[i].name
		f.values[i] = g.inputs[i].read(in)
		if reason := f.values[i].missing; reason != nil {
			gaps = append(gaps, i)
			d.Missing = append(d.Missing, name)
			d.Trace = append(d.Trace, Term{Term: name, Missing: reason})
		}
		if f.values[i].rankFused && !d.Calibrated {
			d.Warnings = append(d.Warnings, rankFusedRemark(name))
		}
	}
	return f, gaps
}

// defaultFor is what to do when a rule cannot decide although nothing that it
// requires is missing: the action declared for the first optional input that
// is, else for the first input.
func (g *Gate) defaultFor(gaps []int) plumblinev1.Action {
	switch {
	case len(gaps) > 0:
		return g.inputs[gaps[0]].onMissing
	case len(g.inputs) > 0:
		return g.inputs[0].onMissing
	default:
		return plumblinev1.Action_ACTION_RETRIEVE
	}
}

// useDefault completes a decision by the action for a missing input.
func (g *Gate) useDefault(d *Decision, why *undecided) {
	d.Action = why.action
	d.Warnings = append(d.Warnings, fmt.Sprintf("%s by default, since the rule could not be applied: %s", why.action, why.reason.Reason))
}

// read fetches an input and checks its type and range.
func (i *input) read(in Inputs) Value {
	v, ok := in.Lookup(i.name)
	switch {
	case !ok:
		return Missing(score.MissingInput("%s was not given", i.name))
	case v.missing != nil:
		return v
	case v.kind != i.kind:
		return Missing(score.InvalidInput("%s is %s; the policy needs %s", i.name, typeName(v.kind), typeName(i.kind)))
	}
	outside := func(x float64) bool { return !i.allowed.contains(x) }
	if (v.kind == plumblinev1.InputType_INPUT_TYPE_NUMBER && outside(v.number)) || slices.ContainsFunc(v.numbers, outside) {
		return Missing(score.InvalidInput("%s is outside its range [%g, %g]", i.name, i.allowed.min, i.allowed.max))
	}
	return v
}

// With returns the gate with other thresholds. It has a digest of its own and
// is not calibrated. Thresholds that are not named keep their values; the error
// is an *Error and names the threshold that the policy does not have or that
// does not fit the rule.
func (g *Gate) With(thresholds map[string]float64) (*Gate, error) {
	policy := g.Policy()
	for _, name := range slices.Sorted(maps.Keys(thresholds)) {
		if _, ok := g.thresholds[name]; !ok {
			return nil, &Error{Policy: g.Name(), Field: "thresholds." + name, Message: "the policy has no such threshold; it has " + listNames(g.thresholds)}
		}
		policy.Thresholds[name] = thresholds[name]
	}
	if policy.Provenance == nil {
		policy.Provenance = &plumblinev1.Provenance{}
	}
	policy.Provenance.Calibrated = false
	return g.recompile(policy)
}

// recompile checks changed thresholds; the rule itself is kept.
func (g *Gate) recompile(policy *plumblinev1.Policy) (*Gate, error) {
	c := &compiler{policy: policy, inputs: g.inputs}
	c.checkThresholds()
	c.checkRuleThresholds(g.rule)
	g, errs := c.finish(g.rule)
	return g, join(errs)
}

func listNames[V any](m map[string]V) string {
	if len(m) == 0 {
		return "none"
	}
	return fmt.Sprint(slices.Sorted(maps.Keys(m)))
}
