package grounding

import (
	"strings"
	"testing"

	"plumbline/scorers/entail/entailtest"
)

// hostile are texts that made one splitter or another quadratic.
func hostile() map[string]string {
	return map[string]string{
		"no blank":          "x",
		"stops":             ".",
		"stops and blanks":  ". ",
		"numbers":           "1.",
		"numbered words":    "1. a ",
		"brackets":          "[",
		"closing brackets":  "]",
		"links":             "](",
		"link targets":      "](aaaa",
		"citations":         "[1] ",
		"stars":             "*a ",
		"double stars":      "**",
		"nested marks":      "*a_b~~",
		"ticks":             "` `` ``` ",
		"tick runs":         "`a``b```c",
		"newlines":          "\n",
		"short lines":       "A\n",
		"quotes":            "> ",
		"rows":              "|a|b|\n",
		"fences":            "```\n",
		"cjk stops":         "。",
		"cjk":               "这是对的。",
		"cjk numbers":       "中1。1。",
		"cyrillic stops":    "а. ",
		"initials":          "J. ",
		"emoji":             "👩‍👩‍👧",
		"closers":           ".\"",
		"mixed":             "a。б. c! ",
		"lenticular":        "【",
		"backslashes":       "\\",
		"commas":            "1,",
		"dates":             "1 May 1 ",
		"spaces":            " ",
		"combining":         "e\u0301",
		"sentences":         "The bridge opened in 1932. ",
		"abbreviations":     "U.S. e.g. ",
		"questions":         "? ",
		"ellipses":          "... ",
		"hyphens":           "a-",
		"colons":            "a: ",
		"escaped":           "\\*",
		"uax ambiguous":     "б.1",
		"uax ambiguous two": "б.)",
	}
}

func times(unit string, size int) string {
	return strings.Repeat(unit, size/len(unit)+1)[:size/len(unit)*len(unit)]
}

func BenchmarkSplit(b *testing.B) {
	s := newScorer(b)
	for name, unit := range hostile() {
		for _, size := range []int{1 << 14, 1 << 17, 1 << 20} {
			text := times(unit, size)
			b.Run(name+"/"+sizeName(size), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					s.split.sentences(text)
				}
			})
		}
	}
}

func sizeName(size int) string {
	return map[int]string{1 << 10: "1KB", 1 << 14: "16KB", 1 << 17: "128KB", 1 << 20: "1MB"}[size]
}

func BenchmarkChunk(b *testing.B) {
	s := newScorer(b)
	for name, unit := range hostile() {
		for _, size := range []int{1 << 14, 1 << 17, 1 << 20} {
			text := times(unit, size)
			b.Run(name+"/"+sizeName(size), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					e := newEvidence([]passage{{text: text}}, entailtest.Words{}, s.split)
					e.cut(window{tokens: 200, stride: 32})
				}
			})
		}
	}
}
