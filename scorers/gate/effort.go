package gate

import (
	"slices"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// Effort orders actions by what they spend before the question counts as
// answered: 0 accepts what is there, higher searches more. A gate is monotone
// if surer inputs never raise it.
func Effort(a plumblinev1.Action) int {
	switch a {
	case plumblinev1.Action_ACTION_COMMIT, plumblinev1.Action_ACTION_NO_RETRIEVAL:
		return 0
	case plumblinev1.Action_ACTION_REFINE:
		return 1
	case plumblinev1.Action_ACTION_RETRIEVE, plumblinev1.Action_ACTION_SINGLE_STEP:
		return 2
	case plumblinev1.Action_ACTION_ESCALATE:
		return 3
	case plumblinev1.Action_ACTION_DECOMPOSE, plumblinev1.Action_ACTION_MULTI_STEP:
		return 4
	default:
		return 5
	}
}

// checkDirection warns where a rule contradicts the direction that the input
// declares. high is the action on the input's high side if rises, else low is.
func (c *compiler) checkDirection(field string, in input, rises bool, then, otherwise plumblinev1.Action) {
	high, low := then, otherwise
	if !rises {
		high, low = otherwise, then
	}
	confident := in.direction == plumblinev1.Direction_DIRECTION_HIGHER_IS_CONFIDENT && Effort(high) > Effort(low)
	uncertain := in.direction == plumblinev1.Direction_DIRECTION_HIGHER_IS_UNCERTAIN && Effort(high) < Effort(low)
	if confident || uncertain {
		c.warn(field, "the rule spends more when %s is surer: its declared direction is %s", in.name, in.direction)
	}
}

// distinct keeps the first of equal actions.
func distinct(actions ...plumblinev1.Action) []plumblinev1.Action {
	var out []plumblinev1.Action
	for _, a := range actions {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}
