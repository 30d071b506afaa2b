package calibration

import (
	"context"
	"fmt"
	"math"
	"regexp"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/gate"
)

// Naming says how a fitted policy is called and what it decides.
type Naming struct {
	// Name is the policy's name.
	Name string
	// Input returns the policy's input name of a signal.
	Input func(signal string) string
	// Then and Otherwise are the actions when the policy fires and when not.
	Then, Otherwise plumblinev1.Action
	// Provenance says what the policy was fitted on.
	Provenance *plumblinev1.Provenance
}

// FloorsPolicy is the policy that fires if any kept signal falls past its
// floor. A signal that every record of the calibration split has fires where it
// is missing: something is wrong there. One that some records lacked, such as a
// share of the question's numbers, says nothing where it is missing; if all are,
// the policy fires.
func FloorsPolicy(verdicts []Verdict, n Naming) *plumblinev1.Policy {
	policy := n.policy("Fires if any of the kept signals falls past its floor.")
	rule := &plumblinev1.ConditionRule{Then: n.Then, Otherwise: n.Otherwise}
	for _, v := range verdicts {
		if !v.Kept {
			continue
		}
		comparison := plumblinev1.Comparison_COMPARISON_LESS
		if v.PositiveIsHigh {
			comparison = plumblinev1.Comparison_COMPARISON_GREATER
		}
		input := n.input(v.Signal, n.Then)
		input.Optional = !v.Complete
		policy.Inputs = append(policy.Inputs, input)
		threshold := thresholdName(v.Signal, policy.GetThresholds())
		policy.Thresholds[threshold] = v.Floor.Threshold
		rule.Conditions = append(rule.Conditions, &plumblinev1.Condition{
			Input: n.Input(v.Signal), Comparison: comparison, Threshold: threshold,
		})
	}
	policy.Rule = &plumblinev1.Policy_Conditions{Conditions: rule}
	return policy
}

// unfitForThresholds are the characters of a signal's name that a threshold's
// must not have.
var unfitForThresholds = regexp.MustCompile(`[^A-Za-z0-9_]`)

// thresholdName names a signal's threshold after it, but not as one of those
// taken.
func thresholdName(signal string, taken map[string]float64) string {
	name := unfitForThresholds.ReplaceAllString(signal, "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	for {
		if _, used := taken[name]; !used {
			return name
		}
		name += "_"
	}
}

// probabilityThreshold names the threshold of a classifier's policy.
const probabilityThreshold = "probability"

// ClassifierPolicy is the policy that fires if the classifier's probability is
// above its threshold. Of several signals one that is missing counts as the
// mean; where there is only one, its absence fires.
func ClassifierPolicy(c Classifier, n Naming) *plumblinev1.Policy {
	policy := n.policy("Fires if a logistic regression over the kept signals says so.")
	rule := &plumblinev1.LogisticRule{
		Intercept: c.Intercept, Threshold: probabilityThreshold, Then: n.Then, Otherwise: n.Otherwise,
	}
	for _, t := range c.Terms {
		input := n.input(t.Signal, n.Then)
		input.Optional = len(c.Terms) > 1
		policy.Inputs = append(policy.Inputs, input)
		rule.Terms = append(rule.Terms, &plumblinev1.LogisticTerm{
			Input: input.GetName(), Mean: t.Mean, Stddev: t.Deviation, Weight: t.Weight,
		})
	}
	// The rule of the schema fires at the threshold too; ours only above it.
	policy.Thresholds[probabilityThreshold] = math.Nextafter(c.Floor.Threshold, math.Inf(1))
	policy.Rule = &plumblinev1.Policy_Logistic{Logistic: rule}
	return policy
}

func (n Naming) policy(description string) *plumblinev1.Policy {
	return &plumblinev1.Policy{
		Name:        n.Name,
		Version:     "1",
		Description: description,
		Thresholds:  map[string]float64{},
		Provenance:  n.Provenance,
	}
}

func (n Naming) input(signal string, onMissing plumblinev1.Action) *plumblinev1.PolicyInput {
	return &plumblinev1.PolicyInput{
		Name:        n.Input(signal),
		Type:        plumblinev1.InputType_INPUT_TYPE_NUMBER,
		Description: fmt.Sprintf("The signal %q, as in the records that the policy was fitted on.", signal),
		OnMissing:   onMissing,
	}
}

// Policy decides on a record's signals: a *gate.Gate, or whatever decides as the
// service does, which goes on to a policy's fallbacks where inputs are missing.
type Policy interface {
	Decide(in gate.Inputs) gate.Decision
}

// Decide applies a policy to records and returns where it decides an action that
// retrieves, that is, anything but the quiet ones. Its error is that of ctx.
func Decide(ctx context.Context, d *Data, index []int, p Policy, input func(string) string) ([]bool, error) {
	fired := make([]bool, len(index))
	inputs := inputsOf(d, input)
	err := inBlocks(ctx, len(index), func(from, to int) {
		for r := from; r < to; r++ {
			fired[r] = !quiet(p.Decide(valuesOf(d, index[r], inputs)).Action)
		}
	})
	return fired, err
}

// inputsOf names the policies' inputs of all signals; a policy's fallbacks may
// read others than it does.
func inputsOf(d *Data, input func(string) string) map[string]string {
	inputs := map[string]string{}
	for _, name := range d.SignalNames() {
		inputs[name] = input(name)
	}
	return inputs
}

// valuesOf are a record's signals as inputs of a policy.
func valuesOf(d *Data, i int, inputs map[string]string) gate.Values {
	values := make(gate.Values, len(inputs))
	for name, input := range inputs {
		if v, ok := d.Signal(name, i); ok {
			values[input] = gate.Number(v)
		}
	}
	return values
}

// quiet says whether an action spends nothing more on evidence.
func quiet(a plumblinev1.Action) bool {
	return a == plumblinev1.Action_ACTION_COMMIT || a == plumblinev1.Action_ACTION_NO_RETRIEVAL
}
