package gate

import (
	"maps"
	"math"
	"slices"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
)

// Value is one input of a policy, or the reason why it is missing. The zero
// Value is not valid; use a constructor.
type Value struct {
	kind         plumblinev1.InputType
	number       float64
	numbers      []float64
	text         string
	texts        []string
	distribution map[string]float64
	flag         bool
	missing      *score.Missing
	// rankFused marks a height of scores that were made from ranks.
	rankFused bool
}

// Number is one number; one that is not finite is missing.
func Number(v float64) Value {
	if !finite(v) {
		return Missing(score.InvalidInput("the number is not finite"))
	}
	return Value{kind: plumblinev1.InputType_INPUT_TYPE_NUMBER, number: v}
}

// Numbers is a list of numbers; an empty list, or one with a number that is
// not finite, is missing.
func Numbers(vs []float64) Value {
	if len(vs) == 0 {
		return Missing(score.TooFew("the list is empty"))
	}
	for i, v := range vs {
		if !finite(v) {
			return Missing(score.InvalidInput("number %d of the list is not finite", i))
		}
	}
	return Value{kind: plumblinev1.InputType_INPUT_TYPE_NUMBERS, numbers: vs}
}

// Text is one text; an empty one is missing.
func Text(s string) Value {
	if s == "" {
		return Missing(score.MissingInput("the text is empty"))
	}
	return Value{kind: plumblinev1.InputType_INPUT_TYPE_TEXT, text: s}
}

// Texts is a list of texts; an empty list is missing.
func Texts(ss []string) Value {
	if len(ss) == 0 {
		return Missing(score.TooFew("the list is empty"))
	}
	return Value{kind: plumblinev1.InputType_INPUT_TYPE_TEXTS, texts: ss}
}

// Distribution has probabilities by label; a label that is not there has
// probability 0. They need not sum to 1, since an API shows only the most
// probable tokens. A value outside [0, 1] makes it missing: it is most likely
// a log-probability.
func Distribution(p map[string]float64) Value {
	if len(p) == 0 {
		return Missing(score.MissingInput("the distribution has no labels"))
	}
	for _, label := range slices.Sorted(maps.Keys(p)) {
		if v := p[label]; !finite(v) || v < 0 || v > 1+rangeTolerance {
			return Missing(score.InvalidInput("a probability is outside [0, 1]: give probabilities, not log-probabilities"))
		}
	}
	return Value{kind: plumblinev1.InputType_INPUT_TYPE_DISTRIBUTION, distribution: p}
}

// Bool is yes or no.
func Bool(b bool) Value { return Value{kind: plumblinev1.InputType_INPUT_TYPE_BOOL, flag: b} }

// Missing is an input that is not there, with the reason.
func Missing(reason *score.Missing) Value { return Value{missing: reason} }

// Inputs gives the inputs of a decision by name.
type Inputs interface {
	// Lookup returns the input, or false if there is none of that name.
	Lookup(name string) (Value, bool)
}

// Values are inputs by name.
type Values map[string]Value

// Lookup implements Inputs.
func (v Values) Lookup(name string) (Value, bool) {
	value, ok := v[name]
	return value, ok
}

// rangeTolerance forgives what rounding adds to a value at the end of its
// range, such as a mean of probabilities that comes out as 1 + 2⁻⁵².
const rangeTolerance = 1e-9

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// interval is a closed range; its ends may be infinite.
type interval struct{ min, max float64 }

func everything() interval { return interval{math.Inf(-1), math.Inf(1)} }

func intervalOf(r *plumblinev1.Range) interval {
	iv := everything()
	if r != nil && r.Min != nil {
		iv.min = r.GetMin()
	}
	if r != nil && r.Max != nil {
		iv.max = r.GetMax()
	}
	return iv
}

func (iv interval) contains(v float64) bool {
	return v >= iv.min-rangeTolerance && v <= iv.max+rangeTolerance
}

// typeName is the type in words, for messages.
func typeName(t plumblinev1.InputType) string {
	switch t {
	case plumblinev1.InputType_INPUT_TYPE_NUMBER:
		return "a number"
	case plumblinev1.InputType_INPUT_TYPE_NUMBERS:
		return "a list of numbers"
	case plumblinev1.InputType_INPUT_TYPE_TEXT:
		return "a text"
	case plumblinev1.InputType_INPUT_TYPE_TEXTS:
		return "a list of texts"
	case plumblinev1.InputType_INPUT_TYPE_DISTRIBUTION:
		return "an object of probabilities by label"
	case plumblinev1.InputType_INPUT_TYPE_BOOL:
		return "a bool"
	default:
		return "of unknown type"
	}
}
