package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
)

const (
	// thresholdPrefix is how an expression refers to a threshold.
	thresholdPrefix = "thresholds."
	// missingVariable lists the names of missing optional inputs.
	missingVariable = "missing"
)

// celRule decides by the first case that is true. A case that reads a missing
// optional input is passed over unless its value does not depend on it; any
// other failure of a case makes the policy undecided, since going on to the
// next case would read an error as an answer.
type celRule struct {
	cases     []celCase
	otherwise plumblinev1.Action
}

type celCase struct {
	when    string
	program cel.Program
	then    plumblinev1.Action
}

func (c *compiler) compileCEL(r *plumblinev1.CelRule) rule {
	env, err := c.celEnvironment()
	if err != nil {
		c.fail("cel", "the inputs and thresholds cannot be declared to CEL: %v", err)
		return nil
	}
	compiled := celRule{otherwise: r.GetOtherwise()}
	for i, k := range r.GetCases() {
		field := fmt.Sprintf("cel.cases[%d].when", i)
		program := c.compileExpression(env, field, k.GetWhen())
		compiled.cases = append(compiled.cases, celCase{when: k.GetWhen(), program: program, then: k.GetThen()})
	}
	return compiled
}

func (c *compiler) celEnvironment() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.CrossTypeNumericComparisons(true),
		cel.Variable(missingVariable, cel.ListType(cel.StringType)),
	}
	for i, in := range c.inputs {
		if !celName(in.name) {
			c.fail(fmt.Sprintf("inputs[%d].name", i), "a CEL expression cannot refer to %q: use letters, digits, underscores and dots, and not %q or %q",
				in.name, missingVariable, strings.TrimSuffix(thresholdPrefix, "."))
			continue
		}
		options = append(options, cel.Variable(in.name, celType(in.kind)))
	}
	for _, name := range slices.Sorted(maps.Keys(c.policy.GetThresholds())) {
		options = append(options, cel.Variable(thresholdPrefix+name, cel.DoubleType))
	}
	return cel.NewEnv(options...)
}

// celName tells names that CEL can parse and that the rule has no other use for.
func celName(name string) bool {
	parts := strings.Split(name, ".")
	if parts[0] == missingVariable || parts[0]+"." == thresholdPrefix {
		return false
	}
	return !slices.ContainsFunc(parts, func(p string) bool { return !identifier.MatchString(p) })
}

func celType(kind plumblinev1.InputType) *cel.Type {
	switch kind {
	case plumblinev1.InputType_INPUT_TYPE_NUMBERS:
		return cel.ListType(cel.DoubleType)
	case plumblinev1.InputType_INPUT_TYPE_TEXT:
		return cel.StringType
	case plumblinev1.InputType_INPUT_TYPE_TEXTS:
		return cel.ListType(cel.StringType)
	case plumblinev1.InputType_INPUT_TYPE_DISTRIBUTION:
		return cel.MapType(cel.StringType, cel.DoubleType)
	case plumblinev1.InputType_INPUT_TYPE_BOOL:
		return cel.BoolType
	default:
		return cel.DoubleType
	}
}

// compileExpression type-checks one case and notes what it refers to.
func (c *compiler) compileExpression(env *cel.Env, field, expression string) cel.Program {
	tree, issues := env.Compile(expression)
	if issues.Err() != nil {
		for _, e := range issues.Errors() {
			c.fail(field, "%d:%d: %s", e.Location.Line(), e.Location.Column()+1, e.Message)
		}
		return nil
	}
	if !tree.OutputType().IsExactType(cel.BoolType) {
		c.fail(field, "1:1: the expression gives %s; a case needs a bool", tree.OutputType())
		return nil
	}
	for _, reference := range tree.NativeRep().ReferenceMap() {
		if name, ok := strings.CutPrefix(reference.Name, thresholdPrefix); ok {
			c.usedThresholds[name] = true
		} else {
			c.usedInputs[reference.Name] = true
		}
	}
	program, err := env.Program(tree, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(c.opts.CELCostLimit))
	if err != nil {
		c.fail(field, "the expression cannot be prepared: %v", err)
	}
	return program
}

func (r celRule) actions() []plumblinev1.Action {
	var all []plumblinev1.Action
	for _, k := range r.cases {
		all = append(all, k.then)
	}
	return distinct(append(all, r.otherwise)...)
}

// checkThresholds has nothing to compare with ranges; it warns of heights of
// fused ranks.
func (r celRule) checkThresholds(c *compiler) {
	for i, in := range c.inputs {
		if c.usedInputs[in.name] {
			c.checkRankFused(in, fmt.Sprintf("inputs[%d]", i))
		}
	}
}

func (r celRule) decide(f *facts) outcome {
	out := outcome{noMargin: score.NotApplicable("a CEL rule has no margin")}
	vars := newActivation(f)
	skipped := 0
	for i, k := range r.cases {
		vars.readMissing = false
		result, _, err := k.program.Eval(vars)
		switch {
		case err != nil && vars.readMissing:
			skipped++
			continue
		case err != nil:
			out.undecided = score.InvalidInput("cel.cases[%d] could not be evaluated: a key, an index or a conversion does not exist for this input, or the cost limit was reached", i)
			return out
		}
		passed := result == types.True
		out.trace = append(out.trace, Term{Term: k.when, Passed: passed})
		if passed {
			out.action = k.then
			return out
		}
	}
	if skipped == len(r.cases) {
		out.undecided = score.MissingInput("each case of the rule reads an input that was not given")
		return out
	}
	out.action = r.otherwise
	return out
}

// activation gives CEL the values of one decision.
type activation struct {
	values  map[string]any
	missing map[string]bool
	// readMissing is set when an expression asks for a missing input.
	readMissing bool
}

func newActivation(f *facts) *activation {
	a := &activation{values: make(map[string]any, len(f.inputs)+len(f.thresholds)+1), missing: map[string]bool{}}
	names := []string{}
	for i, in := range f.inputs {
		if f.values[i].missing != nil {
			a.missing[in.name] = true
			names = append(names, in.name)
			continue
		}
		a.values[in.name] = f.values[i].cel()
	}
	for name, threshold := range f.thresholds {
		a.values[thresholdPrefix+name] = threshold
	}
	a.values[missingVariable] = names
	return a
}

// ResolveName implements cel.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	if a.missing[name] {
		a.readMissing = true
		return nil, false
	}
	v, ok := a.values[name]
	return v, ok
}

// Parent implements cel.Activation.
func (a *activation) Parent() cel.Activation { return nil }

// cel is the value in CEL's terms.
func (v Value) cel() any {
	switch v.kind {
	case plumblinev1.InputType_INPUT_TYPE_NUMBERS:
		return v.numbers
	case plumblinev1.InputType_INPUT_TYPE_TEXT:
		return v.text
	case plumblinev1.InputType_INPUT_TYPE_TEXTS:
		return v.texts
	case plumblinev1.InputType_INPUT_TYPE_DISTRIBUTION:
		return sortedMap{
			Mapper: types.DefaultTypeAdapter.NativeToValue(v.distribution).(traits.Mapper),
			keys:   slices.Sorted(maps.Keys(v.distribution)),
		}
	case plumblinev1.InputType_INPUT_TYPE_BOOL:
		return v.flag
	default:
		return v.number
	}
}

// sortedMap is a map that CEL walks in the order of its keys: Go's own order
// is random, and a decision must not be.
type sortedMap struct {
	traits.Mapper
	keys []string
}

// Iterator implements traits.Iterable.
func (m sortedMap) Iterator() traits.Iterator {
	return types.DefaultTypeAdapter.NativeToValue(m.keys).(traits.Lister).Iterator()
}

// Fold implements traits.Foldable, which CEL prefers to Iterator.
func (m sortedMap) Fold(folder traits.Folder) {
	for _, key := range m.keys {
		if !folder.FoldEntry(key, m.Get(types.String(key))) {
			return
		}
	}
}

var _ ref.Val = sortedMap{}
