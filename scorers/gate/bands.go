package gate

import (
	"fmt"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// bandRule decides by the interval that one input lies in.
type bandRule struct {
	input int
	bands []band
}

// band ends at a threshold; the last has none.
type band struct {
	below  string
	action plumblinev1.Action
}

func (c *compiler) compileBands(r *plumblinev1.BandRule) rule {
	compiled := bandRule{input: c.number("bands.input", r.GetInput())}
	last := len(r.GetBands()) - 1
	for i, b := range r.GetBands() {
		field := fmt.Sprintf("bands.bands[%d].below", i)
		switch {
		case i == last && b.GetBelow() != "":
			c.fail(field, "the last band has no end: leave below empty")
		case i < last:
			c.threshold(field, b.GetBelow())
		}
		compiled.bands = append(compiled.bands, band{below: b.GetBelow(), action: b.GetAction()})
	}
	return compiled
}

func (r bandRule) actions() []plumblinev1.Action {
	var all []plumblinev1.Action
	for _, b := range r.bands {
		all = append(all, b.action)
	}
	return distinct(all...)
}

func (r bandRule) checkThresholds(c *compiler) {
	thresholds := c.policy.GetThresholds()
	for i, b := range r.bands[:len(r.bands)-1] {
		field := fmt.Sprintf("bands.bands[%d].below", i)
		if i > 0 && thresholds[r.bands[i-1].below] >= thresholds[b.below] {
			c.fail(field, "the bands must have rising thresholds: %s = %g does not lie above %s = %g",
				b.below, thresholds[b.below], r.bands[i-1].below, thresholds[r.bands[i-1].below])
		}
		c.checkComparison(c.inputs[r.input], plumblinev1.Comparison_COMPARISON_LESS, b.below)
		c.checkDirection(field, c.inputs[r.input], true, r.bands[i+1].action, b.action)
	}
}

func (r bandRule) decide(f *facts) outcome {
	var out outcome
	v, name := f.values[r.input], f.inputs[r.input].name
	if v.missing != nil {
		out.undecided = v.missing
		return out
	}
	margin := -1.0
	for i, b := range r.bands {
		if i == len(r.bands)-1 {
			if out.action == plumblinev1.Action_ACTION_UNSPECIFIED {
				out.action = b.action
			}
			break
		}
		threshold := f.thresholds[b.below]
		below := v.number < threshold
		out.trace = append(out.trace, comparisonTerm(name, v.number, plumblinev1.Comparison_COMPARISON_LESS, threshold, below))
		if below && out.action == plumblinev1.Action_ACTION_UNSPECIFIED {
			out.action = b.action
		}
		distance := threshold - v.number
		if !below {
			distance = -distance
		}
		if margin < 0 || distance < margin {
			margin = distance
		}
	}
	out.margin = margin
	return out
}
