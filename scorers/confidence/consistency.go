package confidence

import "plumbline/scorers/score"

// Agreement is the rule by which a sample agrees with the main answer.
type Agreement int

const (
	// AgreeExact holds for answers that are equal after normalisation, or by
	// an alias.
	AgreeExact Agreement = iota
	// AgreeEntailBoth holds if each answer entails the other.
	AgreeEntailBoth
	// AgreeEntailEither holds if at least one answer entails the other.
	AgreeEntailEither
	// AgreeNotContradict holds if neither answer contradicts the other.
	AgreeNotContradict
	// AgreeDinco is the rule of DincoConsistency.
	AgreeDinco
)

// Consistency is the share of the samples that agree with the main answer, by
// weight, in [0, 1]. The main answer is not counted. weights is nil if every
// sample counts once.
func Consistency(agrees []bool, weights []float64) Value {
	if len(agrees) == 0 {
		return missing(0, score.TooFew("self-consistency needs at least one sample"))
	}
	var agreeing, total float64
	for i, a := range agrees {
		total += weightAt(weights, i)
		if a {
			agreeing += weightAt(weights, i)
		}
	}
	return value(agreeing/total, len(agrees))
}

// Majority is the answer that most samples give.
type Majority struct {
	// Text is the answer as it was first written.
	Text string
	// Count is how many samples give it, of Total.
	Count, Total int
	// Err says why there is none.
	Err error
}

// MajorityAnswer counts the samples by their keys; an empty key is a blank
// sample, which votes for nothing but counts in Total. Of answers with equal
// weight the main answer wins, by mainKey, and else the one seen first. The
// main answer itself does not vote.
func MajorityAnswer(texts, keys []string, weights []float64, mainKey string) Majority {
	votes := make(map[string]float64, len(keys))
	counts := make(map[string]int, len(keys))
	for i, key := range keys {
		if key != "" {
			votes[key] += weightAt(weights, i)
			counts[key]++
		}
	}
	best := -1
	for i, key := range keys {
		switch {
		case key == "":
		case best < 0, votes[key] > votes[keys[best]]:
			best = i
		case key == mainKey && keys[best] != mainKey && votes[key] == votes[keys[best]]:
			best = i
		}
	}
	if best < 0 {
		return Majority{Total: len(keys), Err: score.TooFew("a majority needs at least one sample that is not blank")}
	}
	return Majority{Text: texts[best], Count: counts[keys[best]], Total: len(keys)}
}
