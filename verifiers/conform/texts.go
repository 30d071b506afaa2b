package conform

import (
	"fmt"
	"slices"
	"strings"

	"plumbline/scorers/entail"
)

// premises are about different things, so that a verifier tells them apart.
var premises = [...]string{
	"The harbour bridge was opened to traffic in March 1932.",
	"A blue whale can weigh more than one hundred and fifty tonnes.",
	"The library lends books for three weeks and films for one.",
	"Copper conducts electricity better than iron does.",
	"The committee rejected the budget by nine votes to four.",
	"Saffron is picked by hand in the early morning.",
}

// identical are pairs whose hypothesis is the premise: it is entailed if
// anything is.
func identical() []entail.Pair {
	var pairs []entail.Pair
	for _, premise := range premises {
		pairs = append(pairs, entail.Pair{Premise: premise, Hypothesis: premise})
	}
	return pairs
}

// unrelated are pairs whose hypothesis is about something else.
func unrelated() []entail.Pair {
	var pairs []entail.Pair
	for i, premise := range premises {
		pairs = append(pairs, entail.Pair{Premise: premise, Hypothesis: premises[(i+1)%len(premises)]})
	}
	return pairs
}

// pairs are easy pairs, entailed and not, of different lengths.
func pairs() []entail.Pair {
	longer := entail.Pair{Premise: strings.Join(premises[:], " "), Hypothesis: premises[3]}
	return slices.Concat(identical()[:3], unrelated()[:3], []entail.Pair{longer})
}

// fresh are pairs that no cache has seen.
func (s *subject) fresh(n int) []entail.Pair {
	pairs := make([]entail.Pair, n)
	for i := range pairs {
		s.serial++
		premise := premises[s.serial%len(premises)]
		pairs[i] = entail.Pair{Premise: fmt.Sprintf("%s This is note %d.", premise, s.serial), Hypothesis: premise}
	}
	return pairs
}

// odd are texts that a careless implementation trips over, by what is odd.
func odd() map[string]entail.Pair {
	pairs := make(map[string]entail.Pair)
	for what, text := range map[string]string{
		"emoji":                        "The bridge 🌉 opened 👩‍👩‍👧‍👦 in 1932.",
		"combining marks":              "Le pont a e\u0301te\u0301 ouvert en 1932.",
		"right-to-left text":           "הגשר נפתח בשנת 1932.",
		"text without spaces":          "这座桥于一九三二年通车。",
		"control characters":           "The bridge\x00 opened\x1b[31m in\x07 1932.",
		"zero-width characters":        "The\u200b bridge\u200d opened\ufeff in 1932.",
		"line ends":                    "The bridge\r\nopened\u2028in\n\n1932.",
		"characters beyond 16 bits":    "\U0001D413he bridge \U00010FFFF opened.",
		"special tokens of models":     "[CLS] The bridge </s> opened <|im_end|> in [SEP] 1932.",
		"nothing but blanks":           " \t ",
		"one character":                "?",
		"a word without an end":        strings.Repeat("bridge", 500),
		"something that looks like it": `{"premise": "x", "label": 1}`,
	} {
		pairs[what] = entail.Pair{Premise: premises[0] + " " + text, Hypothesis: text}
	}
	return pairs
}
