// Package answer makes short answers comparable: the normalisation rules of
// the TriviaQA and SQuAD evaluation scripts, token F1 and exact match after
// them, and sets of aliases.
package answer

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// Rule is a way of making short answers comparable. Both rules lower-case,
// treat punctuation, drop the articles a, an and the, and squeeze blanks, in
// this order. On ASCII text they equal the published scripts; beyond ASCII
// they also know Unicode's punctuation and compose accents (NFC), where the
// scripts leave both alone.
type Rule int

const (
	// TriviaQA puts a blank where underscore or punctuation was: rock-and-roll
	// becomes three words (evaluation script of Joshi et al. 2017).
	TriviaQA Rule = iota
	// SQuAD deletes punctuation: rock-and-roll becomes one word (evaluation
	// script of Rajpurkar et al. 2016, also HotpotQA's).
	SQuAD
)

// Normalize returns text under the rule. The result may be empty: "The" and
// "?" have nothing that counts.
func Normalize(rule Rule, text string) string {
	return dropArticles(treatPunctuation(rule, lower(text)))
}

// Key returns what two answers must share to be equal. It is the normalised
// text, except where that would be empty: a multiple-choice answer "A" is an
// article to both rules, and "+" punctuation. Key then keeps the articles, or
// else the punctuation, so that different answers stay different. It is empty
// only for a blank text.
func Key(rule Rule, text string) string {
	lowered := lower(text)
	bare := treatPunctuation(rule, lowered)
	for _, candidate := range []string{dropArticles(bare), squeeze(bare)} {
		if candidate != "" {
			return candidate
		}
	}
	return squeeze(lowered)
}

// Tokens returns the words of the normalised text.
func Tokens(rule Rule, text string) []string {
	return strings.Fields(Normalize(rule, text))
}

// ExactMatch says whether prediction and gold are equal after normalisation.
func ExactMatch(rule Rule, prediction, gold string) bool {
	return Normalize(rule, prediction) == Normalize(rule, gold)
}

// F1 is the harmonic mean of precision and recall over the words that
// prediction and gold share, repeated words counted as often as both have
// them; in [0, 1]. It is 0 where no word is shared, also if both are empty.
func F1(rule Rule, prediction, gold string) float64 {
	predicted, wanted := Tokens(rule, prediction), Tokens(rule, gold)
	left := make(map[string]int, len(wanted))
	for _, w := range wanted {
		left[w]++
	}
	var shared int
	for _, w := range predicted {
		if left[w] > 0 {
			left[w]--
			shared++
		}
	}
	if shared == 0 {
		return 0
	}
	return 2 * float64(shared) / float64(len(predicted)+len(wanted))
}

// lower composes accents and lower-cases by the rules of Unicode, final sigma
// and dotted capital I included.
func lower(text string) string {
	if isASCII(text) {
		return strings.ToLower(text)
	}
	return norm.NFC.String(cases.Lower(language.Und).String(text))
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// treatPunctuation deletes punctuation or puts blanks in its place.
func treatPunctuation(rule Rule, text string) string {
	instead := ' '
	if rule == SQuAD {
		instead = -1
	}
	return strings.Map(func(r rune) rune {
		if isPunctuation(r) {
			return instead
		}
		return r
	}, text)
}

// isPunctuation holds for Unicode's punctuation and for the symbols that the
// published scripts list as punctuation: those of ASCII, and the acute accent
// that stands in for an apostrophe.
func isPunctuation(r rune) bool {
	switch {
	case r < 0x80:
		return r > ' ' && r < 0x7f && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	case r == '´':
		return true
	default:
		return unicode.IsPunct(r)
	}
}

// dropArticles removes a, an and the where they stand as words of their own
// and squeezes blanks. A word is a run of letters, digits, marks and
// underscores, so that a symbol bounds it as a blank does.
func dropArticles(text string) string {
	var kept strings.Builder
	for text != "" {
		end := strings.IndexFunc(text, func(r rune) bool { return !isWord(r) })
		if end < 0 {
			end = len(text)
		}
		if end == 0 {
			end = strings.IndexFunc(text, isWord)
			if end < 0 {
				end = len(text)
			}
		}
		switch piece := text[:end]; piece {
		case "a", "an", "the":
			kept.WriteByte(' ')
		default:
			kept.WriteString(piece)
		}
		text = text[end:]
	}
	return squeeze(kept.String())
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }
