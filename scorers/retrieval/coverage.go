package retrieval

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"plumbline/scorers/score"
)

const familyCoverage = "coverage"

// mostNeedles bounds how many entities, numbers and quotations of a question
// are looked for, each: a question with more is no question.
const mostNeedles = 32

// coverage is what the question names, with the place in the fused order where
// each thing was found first.
type coverage struct {
	entities, numbers, quotes []needle
	terms                     []term
	termsErr                  error // why terms have no weights, if so
	passages                  int   // in the pool
	window                    int   // how many of them are in the answer window
	textInWindow              bool
}

// term is a distinct word of the question; they stand in the order of their
// numbers in the vocabulary.
type term struct {
	rank    int // as in needle
	seenIn  int // passages of the pool that have it
	lastIn  int // the last of them, so that none is counted twice
	weight  float64
	weighed bool
}

// depth is the part of the pool that a coverage signal looks at.
type depth int

const (
	wholePool depth = iota
	windowOnly
)

// coverageSignals ask whether the text mentions what the question names. Each
// comes for the pool and for the answer window.
func coverageSignals() []signal {
	rows := []struct {
		name, description, source string
		needs                     []string
		of                        func(*coverage, depth) (float64, error)
		inSource                  func(*evidence, depth) (float64, error)
	}{
		{
			name:        "evidence_coverage",
			description: "Share of the question's capitalised spans and years that occur in the text",
			source:      "\"Route Retrieval by Evidence\" (Qdrant, 2026), under stricter rules of extraction and matching; |found| / |named|",
			of: func(c *coverage, d depth) (float64, error) {
				return c.share(c.entities, d, "the question names no entity: no capitalised span and no year")
			},
			inSource: evidenceCoverageInSource,
		},
		{
			name:        "term_coverage",
			description: "Share of the question's words that occur in the text, weighted by inverse document frequency",
			source:      "Spärck Jones, \"A Statistical Interpretation of Term Specificity\" (1972); Σ idf(t ∈ text) / Σ idf(t), idf given or ln(1 + (N − n + ½)/(n + ½)) over the pool",
			needs:       []string{"idf (optional)"},
			of:          (*coverage).termShare,
		},
		{
			name:        "number_coverage",
			description: "Share of the question's numbers and dates that occur in the text",
			source:      "|found| / |named|; a date counts as a whole in any notation",
			of: func(c *coverage, d depth) (float64, error) {
				return c.share(c.numbers, d, "the question has no number or date")
			},
		},
		{
			name:        "quote_coverage",
			description: "Share of the question's quoted strings that occur in the text",
			source:      "|found| / |quoted|",
			of: func(c *coverage, d depth) (float64, error) {
				return c.share(c.quotes, d, "the question quotes nothing")
			},
		},
	}
	var signals []signal
	for _, r := range rows {
		for _, d := range []depth{wholePool, windowOnly} {
			s := signal{
				name: r.name, description: r.description + " of the top k", family: familyCoverage, unit: "ratio", cost: "free",
				source: r.source, needs: append([]string{"question", "rankings.items.text"}, r.needs...),
				min: 0, max: 1, shift: invariant, scale: invariant,
				compute: func(e *evidence) (float64, error) {
					c, err := e.coverage()
					if err != nil {
						return 0, err
					}
					return r.of(c, d)
				},
			}
			if d == windowOnly {
				s.name, s.description = "window_"+r.name, r.description+" of the answer window"
			}
			if r.inSource != nil {
				s.compat = func(e *evidence) (float64, error) { return r.inSource(e, d) }
			}
			signals = append(signals, s)
		}
	}
	return signals
}

// coverage looks through the pool once for everything that the question names.
func (e *evidence) coverage() (*coverage, error) {
	return e.text.get(func() (*coverage, error) {
		words, err := e.questionWords()
		if err != nil {
			return nil, err
		}
		items, err := e.pool((*Item).hasText)
		if err != nil {
			return nil, err
		}
		if countNil(items) == len(items) {
			return nil, score.MissingInput("rankings.items.text: no result of the top k has a text")
		}
		f := &folder{}
		q := newQuestion(e.Question, words, f)
		c := &coverage{
			entities: e.first(q.entities()), numbers: e.first(q.numbers()), quotes: e.first(q.quotes()),
			passages: len(items), window: min(e.Window, len(items)),
		}
		c.terms = slices.Repeat([]term{{rank: notFound, lastIn: notFound}}, q.distinct)
		c.look(items, q.vocabulary, f)
		if gaps := countNil(items); gaps > 0 {
			e.warnings = append(e.warnings, "some results of the top k have no text: coverage reads the others")
		}
		c.termsErr = c.weigh(e.IDF, q.vocabulary, f)
		return c, nil
	})
}

// first cuts needles to those that are looked for.
func (e *evidence) first(needles []needle) []needle {
	if len(needles) <= mostNeedles {
		return needles
	}
	e.warnings = append(e.warnings, "the question names more than 32 things of a kind: coverage looks for the first 32")
	return needles[:mostNeedles]
}

func countNil(items []*Item) int {
	n := 0
	for _, item := range items {
		if item == nil {
			n++
		}
	}
	return n
}

// look reads the passages in order and notes what occurs where. A passage is
// read as a string of the numbers of its words, each a character, so that the
// search for a word sequence is one for a substring.
func (c *coverage) look(items []*Item, vocabulary *vocabulary, f *folder) {
	var numbers []byte
	for rank, item := range items {
		if item == nil {
			continue
		}
		c.textInWindow = c.textInWindow || rank < c.window
		read := func(text string) {
			eachWord(text, func(w span) {
				numbers = utf8.AppendRune(numbers, vocabulary.number(f.fold(text[w.start:w.end])))
			})
		}
		numbers = numbers[:0]
		read(item.Title)
		numbers = append(numbers, otherWord) // nothing spans the title and the text
		read(item.Text)
		passage := string(numbers)
		for _, needles := range [][]needle{c.entities, c.numbers, c.quotes} {
			noteNeedles(needles, passage, rank)
		}
		c.noteTerms(passage, rank)
	}
}

func noteNeedles(needles []needle, passage string, rank int) {
	for i := range needles {
		for _, form := range needles[i].forms {
			if needles[i].rank == notFound && strings.Contains(passage, form) {
				needles[i].rank = rank
			}
		}
	}
}

func (c *coverage) noteTerms(passage string, rank int) {
	for _, number := range passage {
		// The question's own words were numbered first: terms are sorted by
		// number, from 1, and without gaps.
		if number == otherWord || int(number) > len(c.terms) {
			continue
		}
		if t := &c.terms[number-1]; t.lastIn != rank {
			t.lastIn = rank
			t.seenIn++
			if t.rank == notFound {
				t.rank = rank
			}
		}
	}
}

// weigh gives the terms their inverse document frequencies: the given ones, or
// those of the pool. A term that the given ones lack is as rare as their
// rarest.
func (c *coverage) weigh(idf map[string]float64, vocabulary *vocabulary, f *folder) error {
	if len(idf) == 0 {
		n := float64(c.passages)
		for i := range c.terms {
			seen := float64(c.terms[i].seenIn)
			c.terms[i].weight = math.Log1p((n - seen + 0.5) / (seen + 0.5))
		}
		return nil
	}
	rarest := 0.0
	for word, weight := range idf {
		if weight < 0 || !finite(weight) {
			return score.InvalidInput("idf has a value that is negative or not finite")
		}
		rarest = max(rarest, weight)
		if number := vocabulary.number(f.fold(word)); number != otherWord && int(number) <= len(c.terms) {
			// Two spellings of a word may both be given; the rarer counts, so
			// that the order of the map does not.
			t := &c.terms[number-1]
			t.weight, t.weighed = max(t.weight, weight), true
		}
	}
	for i := range c.terms {
		if !c.terms[i].weighed {
			c.terms[i].weight = rarest
		}
	}
	return nil
}

// reaches reports whether what was found first at a rank is within the depth.
func (c *coverage) reaches(rank int, d depth) bool {
	return rank != notFound && (d == wholePool || rank < c.window)
}

func (c *coverage) share(needles []needle, d depth, none string) (float64, error) {
	if len(needles) == 0 {
		return 0, score.NotApplicable("%s", none)
	}
	if err := c.hasText(d); err != nil {
		return 0, err
	}
	found := 0
	for i := range needles {
		if c.reaches(needles[i].rank, d) {
			found++
		}
	}
	return float64(found) / float64(len(needles)), nil
}

// hasText says why a depth cannot be looked at, if so. The pool has text, or
// there would be no coverage.
func (c *coverage) hasText(d depth) error {
	if d == windowOnly && !c.textInWindow {
		return score.MissingInput("rankings.items.text: no result of the answer window has a text")
	}
	return nil
}

func (c *coverage) termShare(d depth) (float64, error) {
	if c.termsErr != nil {
		return 0, c.termsErr
	}
	if err := c.hasText(d); err != nil {
		return 0, err
	}
	found, all := 0.0, 0.0
	for _, t := range c.terms {
		all += t.weight
		if c.reaches(t.rank, d) {
			found += t.weight
		}
	}
	if all == 0 {
		return 0, score.NotApplicable("all words of the question have an inverse document frequency of 0")
	}
	return found / all, nil
}
