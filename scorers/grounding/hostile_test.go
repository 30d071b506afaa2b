package grounding

import (
	"strings"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
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
		"bare rows":         "a|b\n-|-\n",
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

// article is ordinary prose.
const article = "The bridge opened to traffic on 19 March 1932, after eight years of work. It carries rail, road and foot traffic " +
	"between the city and the north shore, and locals call it \"the Coathanger\". Its design was led by Dr. J. J. Bradfield of the " +
	"Department of Public Works, while Dorman Long & Co. Ltd. of Middlesbrough built it [3]. "

func sizes() map[string]int {
	return map[string]int{"1KB": 1 << 10, "32KB": 1 << 15, "1MB": 1 << 20}
}

// BenchmarkSplit reads texts of growing size: time for each byte must not
// grow.
func BenchmarkSplit(b *testing.B) {
	s := newScorer(b)
	benchmark(b, func(text string) { s.split.sentences(text) })
}

// BenchmarkChunk cuts texts of growing size.
func BenchmarkChunk(b *testing.B) {
	s := newScorer(b)
	benchmark(b, func(text string) {
		newEvidence([]passage{{text: text}}, entailtest.Words{}, s.split).cut(window{tokens: 200, stride: 32})
	})
}

func benchmark(b *testing.B, run func(text string)) {
	texts := hostile()
	texts["prose"] = article
	for name, unit := range texts {
		for size, n := range sizes() {
			text := times(unit, n)
			b.Run(name+"/"+size, func(b *testing.B) {
				b.SetBytes(int64(n))
				for b.Loop() {
					run(text)
				}
			})
		}
	}
}

// BenchmarkFlags compares a claim with a chunk.
func BenchmarkFlags(b *testing.B) {
	claim, chunk := "Dr. Bradfield built the 1,149 m bridge for 4.2 million pounds in March 1932.", times(article, 1<<10)
	for b.Loop() {
		mismatches(claim, chunk)
	}
}

// BenchmarkScore is a whole request of ten passages and five sentences with a
// verifier that costs next to nothing.
func BenchmarkScore(b *testing.B) {
	s, v := newScorer(b), hashed()
	req := &plumblinev1.ScoreGroundingRequest{Answer: times(article, 1<<10)}
	for range 10 {
		req.Evidence = append(req.Evidence, &plumblinev1.Evidence{Text: times(article, 1<<10)})
	}
	for b.Loop() {
		s.Score(b.Context(), v, req)
	}
}
