// Package reward computes the reward of an episode, for people who train agents
// on telemetry.
package reward

import (
	"math"

	"plumbline/scorers/score"
)

// Costs are the weights of the reward.
type Costs struct {
	// ExactMatch is what an exactly right answer earns on top of its F1.
	ExactMatch float64
	// Turn is taken off for every turn; Retrieve, Refine and Decompose for
	// every action of that kind. A commit costs its turn only.
	Turn, Retrieve, Refine, Decompose float64
	// Malformed is the whole reward of an episode that could not be read.
	Malformed float64
}

// Paper has the costs of CalVerT (Vinod, Ding, Stengel-Eskin), appendix E.1:
// R = F1 + 0.1·EM − (0.01, 0.02, 0.02, 0.04)·(turns, retrieve, refine,
// decompose), and −0.2 for a malformed episode. The code released with the
// paper trains on 2·F1 − 0.15·min(calls/9, 1) instead.
func Paper() Costs {
	return Costs{ExactMatch: 0.1, Turn: 0.01, Retrieve: 0.02, Refine: 0.02, Decompose: 0.04, Malformed: -0.2}
}

// Episode is what an agent did and got.
type Episode struct {
	// F1 is the token F1 of the answer, in [0, 1].
	F1 float64
	// ExactMatch says that the answer equals a gold answer after
	// normalisation.
	ExactMatch bool
	// Turns counts all turns; the others count actions of their kind.
	Turns, Retrieve, Refine, Decompose int
	// Malformed says that a reply of the agent could not be read; nothing else
	// then counts.
	Malformed bool
}

// Of returns the reward of an episode. The error is a *score.Missing where F1
// is no share or a count is negative.
func (c Costs) Of(e Episode) (float64, error) {
	if e.Malformed {
		return c.Malformed, nil
	}
	if math.IsNaN(e.F1) || e.F1 < 0 || e.F1 > 1 {
		return 0, score.InvalidInput("f1 must lie in [0, 1]")
	}
	if min(e.Turns, e.Retrieve, e.Refine, e.Decompose) < 0 {
		return 0, score.InvalidInput("turns, retrieve, refine and decompose must not be negative")
	}
	outcome := e.F1
	if e.ExactMatch {
		outcome += c.ExactMatch
	}
	spent := c.Turn*float64(e.Turns) + c.Retrieve*float64(e.Retrieve) + c.Refine*float64(e.Refine) + c.Decompose*float64(e.Decompose)
	return outcome - spent, nil
}
