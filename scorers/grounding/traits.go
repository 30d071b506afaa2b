package grounding

import (
	"slices"
	"strings"
)

// Types of claims that Traits tells apart.
const (
	// TraitNumber is a claim with a number or a date.
	TraitNumber = "number"
	// TraitName is a claim with a name.
	TraitName = "name"
	// TraitNegation is a claim with a word of negation.
	TraitNegation = "negation"
	// TraitNone is a claim with none of these.
	TraitNone = "none of these"
)

// Traits returns the types of a claim, by the rules that raise flags: what
// could be mismatched is a number, a date or a name. At least one is returned.
func Traits(claim string) []string {
	var traits []string
	f := readFacts(claim)
	if len(f.dates) > 0 || slices.ContainsFunc(f.quantities, func(q quantity) bool { return !q.loose }) {
		traits = append(traits, TraitNumber)
	}
	if len(names(claim)) > 0 {
		traits = append(traits, TraitName)
	}
	if negated(claim) {
		traits = append(traits, TraitNegation)
	}
	if traits == nil {
		traits = append(traits, TraitNone)
	}
	return traits
}

// negations are the English words that negate.
var negations = wordSet(`no not never none nobody nothing nowhere neither nor without cannot`)

// negated says whether a claim has a word of negation, "n't" included.
func negated(claim string) bool {
	words := strings.FieldsFunc(strings.ToLower(claim), func(r rune) bool { return !isWord(r) && r != '\'' && r != '’' })
	return slices.ContainsFunc(words, func(w string) bool {
		return negations[w] || strings.HasSuffix(w, "n't") || strings.HasSuffix(w, "n’t")
	})
}
