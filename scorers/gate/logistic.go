package gate

import (
	"fmt"
	"math"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
)

// logisticRule decides by the probability of a logistic regression over
// standardised inputs. An optional input that is missing counts as the mean,
// which adds nothing.
type logisticRule struct {
	terms           []logisticTerm
	intercept       float64
	threshold       string
	then, otherwise plumblinev1.Action
}

type logisticTerm struct {
	input                int
	mean, stddev, weight float64
}

// Contribution returns what an input adds to the logit of a logistic rule. With
// Sigmoid it is exported for those who set thresholds on the probability: another
// way to compute it may differ in the last bit, and then all records of one score
// fall on the other side of a threshold.
func Contribution(value, mean, stddev, weight float64) float64 {
	// The conversions forbid fused multiply-add, which some processors have and
	// which would round differently there.
	return float64(weight * float64((value-mean)/stddev))
}

// Sigmoid returns 1 / (1 + e^−z), in [0, 1]; 0 where the power overflows.
func Sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// probabilityTerm is the trace's name for the regression's probability.
const probabilityTerm = "probability"

func (c *compiler) compileLogistic(r *plumblinev1.LogisticRule) rule {
	compiled := logisticRule{
		intercept: r.GetIntercept(),
		threshold: c.threshold("logistic.threshold", r.GetThreshold()),
		then:      r.GetThen(),
		otherwise: r.GetOtherwise(),
	}
	if !finite(r.GetIntercept()) {
		c.fail("logistic.intercept", "must be finite")
	}
	for i, t := range r.GetTerms() {
		field := fmt.Sprintf("logistic.terms[%d]", i)
		if !finite(t.GetMean()) || !finite(t.GetStddev()) || !finite(t.GetWeight()) {
			c.fail(field, "mean, stddev and weight must be finite")
		}
		compiled.terms = append(compiled.terms, logisticTerm{
			input:  c.number(field+".input", t.GetInput()),
			mean:   t.GetMean(),
			stddev: t.GetStddev(),
			weight: t.GetWeight(),
		})
	}
	return compiled
}

func (r logisticRule) actions() []plumblinev1.Action { return distinct(r.then, r.otherwise) }

func (r logisticRule) checkThresholds(c *compiler) {
	probability := input{name: "the probability", allowed: interval{0, 1}}
	c.checkComparison(probability, plumblinev1.Comparison_COMPARISON_GREATER_OR_EQUAL, r.threshold)
	for i, t := range r.terms {
		field := fmt.Sprintf("logistic.terms[%d]", i)
		if t.weight != 0 {
			c.checkDirection(field, c.inputs[t.input], t.weight > 0, r.then, r.otherwise)
		}
		c.checkRankFused(c.inputs[t.input], field)
	}
}

func (r logisticRule) decide(f *facts) outcome {
	var out outcome
	logit := r.intercept
	for _, t := range r.terms {
		v := f.values[t.input]
		if v.missing != nil {
			continue
		}
		logit += Contribution(v.number, t.mean, t.stddev, t.weight)
		out.trace = append(out.trace, Term{Term: f.inputs[t.input].name, Value: v.number, Numeric: true})
	}
	p := Sigmoid(logit)
	switch {
	case len(out.trace) == 0:
		out.undecided = score.MissingInput("no input of the rule was given")
		return out
	case math.IsNaN(p):
		out.undecided = score.InvalidInput("the inputs are too large for the regression")
		return out
	}
	threshold := f.thresholds[r.threshold]
	fires := p >= threshold
	out.trace = append(out.trace, comparisonTerm(probabilityTerm, p, plumblinev1.Comparison_COMPARISON_GREATER_OR_EQUAL, threshold, fires))
	out.action = r.otherwise
	if fires {
		out.action = r.then
	}
	out.margin = math.Abs(p - threshold)
	return out
}
