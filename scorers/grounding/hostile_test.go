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
		"open brackets":     "(",
		"close brackets":    ")",
		"quotation marks":   "\"",
		"tabs":              "\t",
		"wide blanks":       "\u00a0",
		"accents":           "\u0301",
		"delimiter rows":    "|-\n",
		"bare delimiters":   "-|-\n",
		"cells":             "a|",
		"fields":            "a | b | c\n",
		"underlines":        "--\n",
		"plus minus":        "1±",
	}
}

// openings are first parts of texts that made a second part expensive, of about a
// size.
func openings(size int) map[string]string {
	return map[string]string{
		"none":          "",
		"latin stop":    "a.",
		"cyrillic stop": "б.",
		"mixed stop":    "a µ.",
		"header":        "|" + times("a|", size) + "\n",
		"bare header":   times("a|", size) + "b\n",
		"named columns": "|" + times(strings.Repeat("c", 90)+"|", size) + "\n|-|\n",
		"line":          times("word ", size) + "\n",
		"title line":    times("x", size) + "\n",
		"fence":         "```\n",
		"quoted":        "> ",
		"item":          "- ",
		"link":          "[" + times("a", size),
		"tick":          "`" + times("a", size),
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
	return map[string]int{"4KB": 1 << 12, "32KB": 1 << 15, "256KB": 1 << 18}
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
		cutFor(b, newEvidence(b.Context(), []passage{{text: text}}, entailtest.Words{}, s.split), window{tokens: 200, stride: 32})
	})
}

func benchmark(b *testing.B, run func(text string)) {
	texts := hostile()
	texts["prose"] = article
	for size, n := range sizes() {
		for first, opening := range openings(n / 2) {
			for name, unit := range texts {
				text := opening + times(unit, n-len(opening))
				b.Run(first+"/"+name+"/"+size, func(b *testing.B) {
					b.SetBytes(int64(len(text)))
					for b.Loop() {
						run(text)
					}
				})
			}
		}
	}
}

// BenchmarkFlags compares a claim with a chunk.
func BenchmarkFlags(b *testing.B) {
	claim, chunk := "Dr. Bradfield built the 1,149 m bridge for 4.2 million pounds in March 1932.", times(article, 1<<10)
	for b.Loop() {
		mismatches(claim, tell(chunk))
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
