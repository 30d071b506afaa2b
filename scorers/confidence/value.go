package confidence

import (
	"plumbline/scorers/score"
)

// Value is a score, or the reason why there is none.
type Value struct {
	// Number is the score; it means nothing if Err is set.
	Number float64
	// Used is how many of the caller's items went into it.
	Used int
	// Note is a remark on how the number was reached; usually empty.
	Note string
	// Err says why there is no number; a *score.Missing.
	Err error
}

func value(number float64, used int) Value { return Value{Number: number, Used: used} }

func missing(used int, err error) Value { return Value{Used: used, Err: err} }

// sentinel is what serving engines report for a token outside of the top-k.
const sentinel = -9999

// known returns a log-probability unless it is absent or a sentinel.
func known(logProb *float64) (float64, bool) {
	if logProb == nil || *logProb <= sentinel {
		return 0, false
	}
	return *logProb, true
}

// malformed says whether the number cannot be a log-probability.
func malformed(logProb *float64) bool {
	// NaN fails every comparison, so the test is for what is well-formed.
	return logProb != nil && !(*logProb <= 0)
}

// checkLogProb names the field of a malformed log-probability.
func checkLogProb(logProb *float64, field string, indices ...any) error {
	if !malformed(logProb) {
		return nil
	}
	return score.InvalidInput(field+" is not a log-probability: give a number of at most 0, or leave it out", indices...)
}

// checkProbability names the field of a malformed probability.
func checkProbability(p *float64, field string, indices ...any) error {
	if p == nil || (*p >= 0 && *p <= 1) {
		return nil
	}
	return score.InvalidInput(field+" is not a probability: give a number from 0 to 1, or leave it out", indices...)
}
