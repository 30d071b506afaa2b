package confidence

import "plumbline/scorers/entail"

// Equivalence is the relation that clustering works on.
type Equivalence int

const (
	// EquivalentExact holds for responses that are equal after normalisation,
	// or by an alias.
	EquivalentExact Equivalence = iota
	// EquivalentStrict holds if the most probable class is entailment in both
	// directions (Kuhn et al. 2023; lm-polygraph).
	EquivalentStrict
	// EquivalentNonStrict holds if the most probable class is contradiction in
	// no direction and neutral in one at most (the relaxed form of the same).
	EquivalentNonStrict
	// EquivalentEither holds if the most probable class is entailment in at
	// least one direction, even if the other contradicts (UQLM).
	EquivalentEither
)

// Class is what a verifier says of a pair.
type Class int

const (
	// Neutral is also the class of a pair whose two best classes tie: nothing
	// is claimed of it.
	Neutral Class = iota
	// Entailment means that the premise supports the hypothesis.
	Entailment
	// Contradiction means that the premise rules the hypothesis out; only
	// three-class verifiers say so.
	Contradiction
)

// MostProbable is the class with strictly the highest probability. A two-class
// verifier says Entailment above ½, else Neutral.
func MostProbable(s entail.Scores) Class {
	if !s.ThreeClass {
		if s.Entailment > 0.5 {
			return Entailment
		}
		return Neutral
	}
	switch {
	case s.Entailment > max(s.Neutral, s.Contradiction):
		return Entailment
	case s.Contradiction > max(s.Neutral, s.Entailment):
		return Contradiction
	default:
		return Neutral
	}
}

// Holds says whether the relation holds for two responses, from the classes of
// both directions. EquivalentExact looks at no classes and does not hold.
func (e Equivalence) Holds(ab, ba Class) bool {
	switch e {
	case EquivalentStrict:
		return ab == Entailment && ba == Entailment
	case EquivalentNonStrict:
		return ab != Contradiction && ba != Contradiction && (ab != Neutral || ba != Neutral)
	case EquivalentEither:
		return ab == Entailment || ba == Entailment
	default:
		return false
	}
}

// Holds says whether a sample agrees with the main answer, from the classes of
// both directions. AgreeExact and AgreeDinco look at no classes and do not
// hold.
func (a Agreement) Holds(ab, ba Class) bool {
	switch a {
	case AgreeEntailBoth:
		return ab == Entailment && ba == Entailment
	case AgreeEntailEither:
		return ab == Entailment || ba == Entailment
	case AgreeNotContradict:
		return ab != Contradiction && ba != Contradiction
	default:
		return false
	}
}
