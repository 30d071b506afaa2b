package gate

import (
	"fmt"
	"math"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
)

// conditionRule joins comparisons by "or" or by "and". A condition on an
// optional input that is missing is left out.
type conditionRule struct {
	conditions      []condition
	all             bool
	then, otherwise plumblinev1.Action
}

type condition struct {
	input      int
	comparison plumblinev1.Comparison
	threshold  string
}

func (c *compiler) compileConditions(r *plumblinev1.ConditionRule) rule {
	compiled := conditionRule{all: r.GetAll(), then: r.GetThen(), otherwise: r.GetOtherwise()}
	for i, cond := range r.GetConditions() {
		field := fmt.Sprintf("conditions.conditions[%d]", i)
		compiled.conditions = append(compiled.conditions, condition{
			input:      c.number(field+".input", cond.GetInput()),
			comparison: cond.GetComparison(),
			threshold:  c.threshold(field+".threshold", cond.GetThreshold()),
		})
	}
	return compiled
}

func (r conditionRule) actions() []plumblinev1.Action { return distinct(r.then, r.otherwise) }

func (r conditionRule) checkThresholds(c *compiler) {
	for i, cond := range r.conditions {
		in := c.inputs[cond.input]
		c.checkComparison(in, cond.comparison, cond.threshold)
		c.checkDirection(fmt.Sprintf("conditions.conditions[%d]", i), in, risesWithInput(cond.comparison), r.then, r.otherwise)
	}
}

func (r conditionRule) decide(f *facts) outcome {
	var out outcome
	fires := r.all
	used := 0
	for _, cond := range r.conditions {
		v := f.values[cond.input]
		if v.missing != nil {
			continue
		}
		used++
		threshold := f.thresholds[cond.threshold]
		passed := compare(v.number, cond.comparison, threshold)
		out.trace = append(out.trace, comparisonTerm(f.inputs[cond.input].name, v.number, cond.comparison, threshold, passed))
		if passed != r.all {
			fires = passed
		}
	}
	if used == 0 {
		out.undecided = score.MissingInput("no input of the rule was given")
		return out
	}
	out.action = r.otherwise
	if fires {
		out.action = r.then
	}
	out.margin = r.margin(out.trace, fires)
	return out
}

// margin is how much would have to change for the other action. Where one
// condition is enough to keep the action (an "or" that fires, an "and" that
// does not), that is the farthest of those which keep it; else the nearest.
func (r conditionRule) margin(trace []Term, fires bool) float64 {
	oneKeeps := fires != r.all
	margin := math.Inf(1)
	if oneKeeps {
		margin = 0
	}
	for _, t := range trace {
		distance := math.Abs(t.Value - t.Threshold)
		switch {
		case !oneKeeps:
			margin = min(margin, distance)
		case t.Passed == fires:
			margin = max(margin, distance)
		}
	}
	return margin
}

func compare(v float64, comparison plumblinev1.Comparison, threshold float64) bool {
	switch comparison {
	case plumblinev1.Comparison_COMPARISON_LESS:
		return v < threshold
	case plumblinev1.Comparison_COMPARISON_LESS_OR_EQUAL:
		return v <= threshold
	case plumblinev1.Comparison_COMPARISON_GREATER:
		return v > threshold
	case plumblinev1.Comparison_COMPARISON_GREATER_OR_EQUAL:
		return v >= threshold
	default:
		return false
	}
}

// risesWithInput says whether the comparison becomes true as the input grows.
func risesWithInput(comparison plumblinev1.Comparison) bool {
	return comparison == plumblinev1.Comparison_COMPARISON_GREATER ||
		comparison == plumblinev1.Comparison_COMPARISON_GREATER_OR_EQUAL
}

func comparisonTerm(name string, v float64, comparison plumblinev1.Comparison, threshold float64, passed bool) Term {
	return Term{Term: name, Value: v, Numeric: true, Comparison: comparison, Threshold: threshold, Passed: passed}
}
