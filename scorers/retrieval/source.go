package retrieval

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// This file has the numbers of the code published with "Route Retrieval by
// Evidence" (qdrant-labs/self-correcting-loops-workshop at commit 15a02b0,
// src/signals.py) where they differ from this package's. They are magic numbers
// in places, which is why they must be asked for.

// zeroIfAbsent is 0 where the source returns 0: for an absent ranking and for
// fewer results than the formula needs. Scores that are not finite stay an
// error.
func zeroIfAbsent(compute func(*evidence) (float64, error)) func(*evidence) (float64, error) {
	return func(e *evidence) (float64, error) {
		v, err := compute(e)
		if isAbsence(err) {
			return 0, nil
		}
		return v, err
	}
}

// retrieverDivergenceInSource is 1 where one list is empty and 0 where both
// are.
func retrieverDivergenceInSource(e *evidence) (float64, error) {
	dense, sparse, err := e.denseAndSparse()
	if err != nil {
		return 0, err
	}
	for _, l := range []*list{dense, sparse} {
		if l.notFinite {
			return 0, l.errNotFinite()
		}
	}
	if len(dense.docs) == 0 && len(sparse.docs) == 0 {
		return 0, nil
	}
	return divergence(dense, sparse), nil
}

// rboTruncated is rank-biased overlap down to the end of the shorter list,
// divided by 1 − p^depth, the most that it can reach there.
func rboTruncated(a, b *list) (float64, error) {
	depth := min(len(a.docs), len(b.docs))
	if depth == 0 {
		return 0, nil
	}
	sum, weight, overlap := 0.0, 1.0, 0
	for d := 1; d <= depth; d++ {
		overlap += newlyShared(a, b, d)
		sum += weight * float64(overlap) / float64(d)
		weight *= rboPersistence
	}
	return min((1-rboPersistence)*sum/(1-math.Pow(rboPersistence, float64(depth))), 1), nil // rounding may exceed 1
}

// evidenceCoverageInSource is the share of the entities that occur; a question
// without entities is covered.
func evidenceCoverageInSource(e *evidence, d depth) (float64, error) {
	entities, err := e.sourceFound.get(e.findInSource)
	if err != nil {
		return 0, err
	}
	if len(entities) == 0 {
		return 1, nil
	}
	found := 0
	for _, entity := range entities {
		if d == wholePool && entity.Found || d == windowOnly && entity.FoundInWindow {
			found++
		}
	}
	return float64(found) / float64(len(entities)), nil
}

// findInSource looks for each entity as a substring of the lower-case titles
// and texts.
func (e *evidence) findInSource() ([]Entity, error) {
	items, err := e.pool((*Item).hasText)
	if err != nil && !isAbsence(err) {
		return nil, err
	}
	lower := cases.Lower(language.Und)
	texts := make([]string, len(items))
	for i, item := range items {
		if item != nil {
			texts[i] = lower.String(item.Title + " " + item.Text)
		}
	}
	pool := strings.Join(texts, " ")
	window := strings.Join(texts[:min(e.Window, len(texts))], " ")
	var found []Entity
	for _, entity := range sourceEntities(e.Question) {
		found = append(found, Entity{
			Text: entity, Found: strings.Contains(pool, entity), FoundInWindow: strings.Contains(window, entity),
		})
	}
	return found, nil
}

// sourceEntities are the source's entities, in lower case: runs of capitalised
// words, joined over lower-case connectors that a capitalised word follows,
// without a question word at the start; and four-digit numbers. Each once, in
// the order of first occurrence, and no more than coverage looks for.
func sourceEntities(question string) []string {
	tokens := strings.FieldsFunc(question, isPythonSpace)
	var names []string
	var run []string
	end := func() {
		if len(run) > 0 {
			names = append(names, strings.Join(run, " "))
			run = run[:0]
		}
	}
	for i, token := range tokens {
		word := trimASCIIPunctuation(token)
		lower := strings.ToLower(word)
		next := ""
		if i+1 < len(tokens) {
			next = trimASCIIPunctuation(tokens[i+1])
		}
		switch {
		case startsUpper(word) && (i > 0 || !sourceQuestionWord(lower)):
			run = append(run, word)
		case len(run) > 0 && sourceConnector(lower) && startsUpper(next):
			run = append(run, word)
		default:
			end()
		}
	}
	end()
	lower := cases.Lower(language.Und)
	var entities []string
	for _, name := range append(names, fourDigits(question)...) {
		if name = lower.String(name); utf8.RuneCountInString(name) >= 2 && !slices.Contains(entities, name) {
			entities = append(entities, name)
		}
		if len(entities) == mostNeedles {
			break
		}
	}
	return entities
}

// fourDigits returns the words that are exactly four digits.
func fourDigits(text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	return slices.DeleteFunc(words, func(word string) bool {
		return utf8.RuneCountInString(word) != 4 || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsDigit(r) })
	})
}

// isPythonSpace is the white space at which Python's str.split splits.
func isPythonSpace(r rune) bool { return unicode.IsSpace(r) || '\x1c' <= r && r <= '\x1f' }

func trimASCIIPunctuation(s string) string {
	return strings.Trim(s, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
}

func startsUpper(word string) bool {
	r, size := utf8.DecodeRuneInString(word)
	return size > 0 && (unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r))
}

func sourceQuestionWord(word string) bool {
	switch word {
	case "what", "who", "whom", "whose", "where", "when", "which", "why", "how", "is", "was", "are", "were", "did", "do",
		"does", "the", "a", "an", "name", "in", "of", "on", "at", "to", "for", "by", "as", "that", "this":
		return true
	}
	return false
}

func sourceConnector(word string) bool {
	switch word {
	case "of", "the", "and", "de", "von", "van", "del", "la", "el", "da", "di", "&":
		return true
	}
	return false
}
