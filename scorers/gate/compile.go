package gate

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// Options are the limits of compiled policies. The zero value has defaults.
type Options struct {
	// CELCostLimit bounds the work of one CEL expression in CEL's cost units;
	// 0 means DefaultCELCostLimit.
	CELCostLimit uint64
}

// DefaultCELCostLimit is a few milliseconds of work.
const DefaultCELCostLimit = 100_000

// Compile checks a policy and makes it ready to decide. Warnings are remarks
// on a policy that works but may not do what its author meant, such as a
// threshold that never fires. The error joins one *Error for each fault.
func Compile(policy *plumblinev1.Policy, opts Options) (*Gate, []Warning, error) {
	g, errs := compile(policy, opts)
	if len(errs) > 0 {
		return nil, nil, join(errs)
	}
	warnings := g.Warnings()
	return g, warnings, nil
}

func compile(policy *plumblinev1.Policy, opts Options) (*Gate, []*Error) {
	if policy == nil {
		return nil, []*Error{{Message: "there is no policy"}}
	}
	if opts.CELCostLimit == 0 {
		opts.CELCostLimit = DefaultCELCostLimit
	}
	c := &compiler{policy: proto.CloneOf(policy), opts: opts}
	c.checkSchema()
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	c.compileInputs()
	c.checkThresholds()
	c.checkProvenance()
	r := c.compileRule()
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	c.checkRuleThresholds(r)
	c.warnUnused()
	return c.finish(r)
}

// compiler gathers what is wrong with one policy.
type compiler struct {
	policy         *plumblinev1.Policy
	opts           Options
	inputs         []input
	errs           []*Error
	warnings       []Warning
	usedInputs     map[string]bool
	usedThresholds map[string]bool
}

func (c *compiler) fail(field, format string, args ...any) {
	c.errs = append(c.errs, &Error{Policy: c.policy.GetName(), Field: field, Message: fmt.Sprintf(format, args...)})
}

func (c *compiler) warn(field, format string, args ...any) {
	c.warnings = append(c.warnings, Warning{Field: field, Message: fmt.Sprintf(format, args...)})
}

// finish makes the gate, unless something is wrong.
func (c *compiler) finish(r rule) (*Gate, []*Error) {
	sum, err := digest(c.policy)
	if err != nil {
		c.fail("", "the policy cannot be encoded: a text is not valid UTF-8")
	}
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	return &Gate{
		policy:     c.policy,
		digest:     sum,
		inputs:     c.inputs,
		thresholds: c.policy.GetThresholds(),
		rule:       r,
		warnings:   c.warnings,
		remark:     calibrationRemark(c.policy),
	}, nil
}

func calibrationRemark(p *plumblinev1.Policy) string {
	switch {
	case p.GetProvenance().GetCalibrated():
		return ""
	case len(p.GetThresholds()) == 0:
		return "UNCALIBRATED: " + p.GetName() + " has no threshold that was fitted on data"
	default:
		return "UNCALIBRATED: the thresholds of " + p.GetName() + " were not fitted on named data; fit them on yours"
	}
}

// checkSchema applies the rules that the schema states.
func (c *compiler) checkSchema() {
	err := protovalidate.Validate(c.policy)
	var violations *protovalidate.ValidationError
	switch {
	case err == nil:
	case errors.As(err, &violations):
		for _, v := range violations.Violations {
			c.fail(protovalidate.FieldPathString(v.Proto.GetField()), "%s", v.Proto.GetMessage())
		}
	default:
		c.fail("", "the policy cannot be validated: %v", err)
	}
}

func (c *compiler) compileInputs() {
	seen := map[string]bool{}
	for i, in := range c.policy.GetInputs() {
		field := fmt.Sprintf("inputs[%d]", i)
		if seen[in.GetName()] {
			c.fail(field+".name", "the input %q is declared twice", in.GetName())
		}
		seen[in.GetName()] = true
		allowed := intervalOf(in.GetRange())
		if in.GetRange() == nil {
			allowed = knownRange(in.GetName())
		}
		if !(allowed.min <= allowed.max) {
			c.fail(field+".range", "min must be at most max")
		}
		onMissing := in.GetOnMissing()
		if onMissing == plumblinev1.Action_ACTION_UNSPECIFIED {
			onMissing = plumblinev1.Action_ACTION_RETRIEVE
		}
		c.inputs = append(c.inputs, input{
			name:      in.GetName(),
			kind:      in.GetType(),
			allowed:   allowed,
			optional:  in.GetOptional(),
			direction: in.GetDirection(),
			onMissing: onMissing,
		})
	}
}

// identifier is what a threshold's name must be, so that CEL can refer to it.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (c *compiler) checkThresholds() {
	for _, name := range slices.Sorted(maps.Keys(c.policy.GetThresholds())) {
		if !identifier.MatchString(name) {
			c.fail("thresholds."+name, "a threshold's name consists of letters, digits and underscores")
		}
		if !finite(c.policy.GetThresholds()[name]) {
			c.fail("thresholds."+name, "the threshold must be finite")
		}
	}
}

// checkProvenance makes sure that a policy that calls itself calibrated says
// on what.
func (c *compiler) checkProvenance() {
	p := c.policy.GetProvenance()
	if !p.GetCalibrated() {
		return
	}
	for _, must := range []struct{ field, value string }{
		{"data_name", p.GetDataName()},
		{"data_digest", p.GetDataDigest()},
		{"method", p.GetMethod()},
	} {
		if must.value == "" {
			c.fail("provenance."+must.field, "a calibrated policy must name its data, the data's digest and the method")
		}
	}
}

func (c *compiler) compileRule() rule {
	c.usedInputs, c.usedThresholds = map[string]bool{}, map[string]bool{}
	switch r := c.policy.GetRule().(type) {
	case *plumblinev1.Policy_Conditions:
		return c.compileConditions(r.Conditions)
	case *plumblinev1.Policy_Bands:
		return c.compileBands(r.Bands)
	case *plumblinev1.Policy_Logistic:
		return c.compileLogistic(r.Logistic)
	case *plumblinev1.Policy_Cel:
		return c.compileCEL(r.Cel)
	case *plumblinev1.Policy_NativeRule:
		return c.compileNative(r.NativeRule)
	default:
		c.fail("rule", "the policy has no rule")
		return nil
	}
}

// number finds a declared input of numeric type and returns its index.
func (c *compiler) number(field, name string) int {
	for i, in := range c.inputs {
		if in.name != name {
			continue
		}
		c.usedInputs[name] = true
		if in.kind != plumblinev1.InputType_INPUT_TYPE_NUMBER {
			c.fail(field, "the input %q is %s; this rule compares a number", name, typeName(in.kind))
		}
		return i
	}
	c.fail(field, "the input %q is not declared in inputs", name)
	return 0
}

// threshold checks that a named threshold exists.
func (c *compiler) threshold(field, name string) string {
	c.usedThresholds[name] = true
	if _, ok := c.policy.GetThresholds()[name]; !ok {
		c.fail(field, "the threshold %q is not among thresholds: %s", name, listNames(c.policy.GetThresholds()))
	}
	return name
}

func (c *compiler) warnUnused() {
	for i, in := range c.inputs {
		if !c.usedInputs[in.name] {
			c.warn(fmt.Sprintf("inputs[%d]", i), "the rule does not read %s", in.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.policy.GetThresholds())) {
		if !c.usedThresholds[name] {
			c.warn("thresholds."+name, "the rule does not use the threshold %s", name)
		}
	}
}

// thresholded is a rule whose thresholds can be wrong for it.
type thresholded interface{ checkThresholds(c *compiler) }

// checkRuleThresholds lets the rule check its thresholds; it runs again when a
// request brings others.
func (c *compiler) checkRuleThresholds(r rule) {
	if t, ok := r.(thresholded); ok {
		t.checkThresholds(c)
	}
}

// checkComparison warns of a comparison that always or never holds in the
// input's range, and of an absolute threshold on a height of fused ranks that
// no data stands behind.
func (c *compiler) checkComparison(in input, comparison plumblinev1.Comparison, name string) {
	threshold := c.policy.GetThresholds()[name]
	field := "thresholds." + name
	atMin, atMax := compare(in.allowed.min, comparison, threshold), compare(in.allowed.max, comparison, threshold)
	switch {
	case atMin && atMax:
		c.warn(field, "always fires: %g lies outside the range [%g, %g] of %s", threshold, in.allowed.min, in.allowed.max, in.name)
	case !atMin && !atMax:
		c.warn(field, "never fires: %g lies outside the range [%g, %g] of %s", threshold, in.allowed.min, in.allowed.max, in.name)
	}
	c.checkRankFused(in, field)
}

// checkRankFused warns of an uncalibrated rule on a height of fused ranks.
func (c *compiler) checkRankFused(in input, field string) {
	if readsFusedHeight(in.name) && !c.policy.GetProvenance().GetCalibrated() {
		c.warn(field, "%s", rankFusedRemark(in.name))
	}
}

func rankFusedRemark(name string) string {
	return name + " is a height of the fused ranking: where its scores come from rank fusion, they tell ranks and not fit, so that a threshold on it means nothing before it was fitted on your data"
}
