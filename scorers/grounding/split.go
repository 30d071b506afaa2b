package grounding

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	uax29 "github.com/clipperhouse/uax29/v2/sentences"
	"github.com/neurosnap/sentences"
	"github.com/neurosnap/sentences/english"

	"plumbline/scorers/entail"
)

// splitter finds the ends of sentences: Punkt (Kiss and Strunk 2006,
// "Unsupervised Multilingual Sentence Boundary Detection") with its English
// parameters after Latin letters, Unicode's UAX #29 after all others. It is
// read-only after newSplitter and safe for concurrent use.
type splitter struct {
	punkt *sentences.DefaultSentenceTokenizer
}

// moreAbbreviations are unambiguous abbreviations of answers and papers that
// the newspaper text behind the parameters did not have.
var moreAbbreviations = []string{
	"al", "approx", "apr", "ca", "capt", "cf", "dept", "e.g", "eds", "eq", "eqs", "etc", "excl", "fig", "figs",
	"hon", "i.e", "incl", "jul", "jun", "mar", "mt", "nos", "pp", "resp", "rev", "univ", "viz",
}

func newSplitter() (*splitter, error) {
	punkt, err := english.NewSentenceTokenizer(nil)
	if err != nil {
		return nil, fmt.Errorf("load Punkt's English parameters: %w", err)
	}
	for _, a := range moreAbbreviations {
		punkt.AbbrevTypes.Add(a)
	}
	// The library's third pass takes every number before a full stop for a
	// list number and so joins "It opened in 1932. The bridge …"; ours replaces
	// it. Passes one and two are the published algorithm.
	words := english.NewWordTokenizer(punkt.PunctStrings)
	punkt.Annotations = append(punkt.Annotations[:2:2], &corrections{
		parser: words,
		ortho: &sentences.OrthoContext{
			Storage: punkt.Storage, PunctStrings: punkt.PunctStrings, TokenType: words, TokenFirst: words,
		},
		abbreviations: punkt.AbbrevTypes,
		starters:      punkt.SentStarters,
	})
	return &splitter{punkt: punkt}, nil
}

// corrections is Punkt's third pass: what the published heuristics get wrong
// in answers and web text.
type corrections struct {
	parser        sentences.TokenParser
	ortho         sentences.Ortho
	abbreviations sentences.SetString
	starters      sentences.SetString
}

var (
	// dotted matches abbreviations with inner full stops, such as "U.S." and
	// "p.m.", not "example.com.".
	dotted = regexp.MustCompile(`^[^\pL]*(?:\pL\.){2,}\)?$`)
	// closed matches the end of a sentence before closing marks that the library does
	// not know: a square bracket, or two, as of a quotation in another.
	closed = regexp.MustCompile(`[^.][.?!](?:\]|["'’”)\]]{2,})$`)
	// gluedBracket matches a bracket without a blank before it, as where the caption
	// of a picture follows: "award.(Photo: AP)".
	gluedBracket = regexp.MustCompile(`[.?!]\(\pL`)
	// listNumber matches the number of a step in running text.
	listNumber = regexp.MustCompile(`^\d{1,2}\.$`)
)

// Annotate implements sentences.AnnotateTokens.
func (c *corrections) Annotate(tokens []*sentences.Token) []*sentences.Token {
	for i, t := range tokens {
		if i+1 == len(tokens) {
			break
		}
		next := tokens[i+1]
		switch {
		case strings.Trim(t.Tok, ".") == "" && strings.Trim(next.Tok, ".") == "":
			t.SentBreak = false // ". . ."
		case strings.HasSuffix(t.Tok, ".'s"), strings.HasSuffix(t.Tok, ".’s"):
			t.SentBreak = false // "Allen & Co.'s"
		case c.parser.IsEllipsis(t) || strings.HasSuffix(t.Tok, "…"):
			t.SentBreak = c.parser.FirstUpper(next)
		case listNumber.MatchString(t.Tok) && (i == 0 || strings.HasSuffix(tokens[i-1].Tok, ":") || tokens[i-1].SentBreak):
			t.SentBreak = false
		case dotted.MatchString(t.Tok), c.bracketed(t.Tok):
			t.SentBreak = c.starts(next)
		case c.parser.HasUnreliableEndChars(t):
			t.SentBreak = !startsLower(next.Tok)
		case closed.MatchString(t.Tok):
			t.SentBreak = t.SentBreak || !startsLower(next.Tok)
		}
	}
	return tokens
}

// bracketed says whether a word is an abbreviation behind an opening mark, such
// as "(St.", which the library looks up with its mark.
func (c *corrections) bracketed(word string) bool {
	bare := strings.TrimLeftFunc(word, func(r rune) bool { return !isWord(r) })
	name, stopped := strings.CutSuffix(bare, ".")
	return stopped && len(bare) < len(word) && c.abbreviations[strings.ToLower(name)] != 0
}

// starts says whether a token after an abbreviation begins a sentence.
func (c *corrections) starts(t *sentences.Token) bool {
	return c.ortho.Heuristic(t) == 1 || c.parser.FirstUpper(t) && c.starters[c.parser.TypeNoSentPeriod(t)] != 0
}

// startsLower says whether the first letter or digit of a word is a lower-case
// letter.
func startsLower(word string) bool {
	i := strings.IndexFunc(word, isWord)
	if i < 0 {
		return false
	}
	r, _ := utf8.DecodeRuneInString(word[i:])
	return unicode.IsLower(r)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// hasWord says whether a text has anything that could be read.
func hasWord(text string) bool { return strings.IndexFunc(text, isWord) >= 0 }

// ends returns where the sentences of one block of plain text end: ascending
// byte offsets, the last of them len(text). A border is decided by the last
// letter before it and by the words after it, never by text further away, so
// that an answer splits in the same places while it is being written. lines are
// the line breaks that end a sentence whatever stands before them.
func (s *splitter) ends(text string, lines []int) []int {
	thin := thinned(text)
	borders := slices.Clone(lines)
	for _, b := range s.borders(thin.text) {
		borders = append(borders, thin.source(b))
	}
	slices.Sort(borders)
	return append(joinWordless(text, slices.Compact(borders)), len(text))
}

// borders returns where the libraries end sentences, in no particular order.
func (s *splitter) borders(text string) []int {
	latin, other := scripts(text)
	var cuts []int
	if other {
		cuts = uaxEnds(text)
	}
	borders := slices.Clone(cuts)
	if latin || !other {
		start := 0
		for _, end := range append(cuts, len(text)) {
			borders = append(borders, s.punktEnds(text, start, end)...)
			start = end
		}
	}
	return borders
}

// maxBetween is how many blanks, brackets, quotation marks and combining marks in a
// row the libraries are given: at each of them they read the others again.
const maxBetween = 32

// thinned is a text without what is beyond maxBetween of such a row.
func thinned(text string) plain {
	var drop []mark
	count := 0
	for i, r := range text {
		if !between(r) {
			count = 0
			continue
		}
		count++
		if count > maxBetween {
			drop = append(drop, mark{Span: entail.Span{Start: i, End: i + utf8.RuneLen(r)}})
		}
	}
	return newPlain(text, entail.Span{End: len(text)}, drop)
}

func between(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune(`"'❛❜❝❞❟❠`, r) ||
		unicode.In(r, unicode.Ps, unicode.Pe, unicode.Pi, unicode.Pf, unicode.M, unicode.Cf)
}

// punktEnds returns Punkt's borders inside text[start:end] that do not follow
// a letter of another script.
func (s *splitter) punktEnds(text string, start, end int) []int {
	var ends []int
	script := scriptTracker{text: text, at: start}
	// The library only sees a last word that is followed by a blank.
	for _, t := range s.punkt.AnnotatedTokens(text[start:end] + " ") {
		if at := start + ending(t); t.SentBreak && at < end && !script.other(at) {
			ends = append(ends, pastClosers(text[:end], at))
		}
	}
	return ends
}

// ending is where the sentence ends whose last token is t: before a bracket that is
// glued to it, whose words are the next sentence's.
func ending(t *sentences.Token) int {
	if m := gluedBracket.FindStringIndex(t.Tok); m != nil {
		return t.Position - len(t.Tok) + m[0] + 1
	}
	return t.Position
}

// looseCloser matches a closing mark that stands alone after the end of a
// sentence, as in tokenised text: "so . ” He".
var looseCloser = regexp.MustCompile(`^\s(?:''|["'”’)\]])\s`)

func pastClosers(text string, at int) int {
	if m := looseCloser.FindString(text[at:min(len(text), at+8)]); m != "" {
		return at + len(m) - 1
	}
	return at
}

// scriptTracker follows the last letter of a text from front to back.
type scriptTracker struct {
	text    string
	at      int
	foreign bool // the last letter so far is not Latin
}

// other says whether the last letter before an offset is not Latin.
func (t *scriptTracker) other(offset int) bool {
	for _, r := range t.text[t.at:offset] {
		if unicode.IsLetter(r) {
			t.foreign = !unicode.Is(unicode.Latin, r)
		}
	}
	t.at = offset
	return t.foreign
}

// scripts says whether a text has letters of the Latin script and of others.
func scripts(text string) (latin, other bool) {
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r):
		case unicode.Is(unicode.Latin, r):
			latin = true
		default:
			other = true
		}
		if latin && other {
			break
		}
	}
	return latin, other
}

// uaxEnds returns the sentence borders of UAX #29 that follow a letter of
// another script than the Latin, less those after a single cased letter, which
// is an initial in every script that has case.
func uaxEnds(text string) []int {
	var ends []int
	script := scriptTracker{text: text}
	for it := uax29.FromString(text); it.Next(); {
		end := it.End()
		if script.other(end) && end < len(text) && !endsWithInitial(text[it.Start():end]) {
			ends = append(ends, end)
			script.foreign = false
		}
	}
	return ends
}

func endsWithInitial(sentence string) bool {
	rest, ok := strings.CutSuffix(strings.TrimRightFunc(sentence, unicode.IsSpace), ".")
	if !ok {
		return false
	}
	r, size := utf8.DecodeLastRuneInString(rest)
	before, _ := utf8.DecodeLastRuneInString(rest[:len(rest)-size])
	return unicode.IsUpper(r) && !isWord(before)
}

// shortLine is the length in bytes below which a line is taken to be ended on
// purpose; longer lines may have been wrapped.
const shortLine = 50

// lineEnds returns the line breaks of a block's plain text that end a sentence
// although no full stop does: after a short line of the source, unless the
// line plainly goes on.
func lineEnds(source string, p plain) []int {
	var ends []int
	for start := 0; ; {
		i := strings.IndexByte(p.text[start:], '\n')
		if i < 0 {
			return ends
		}
		i += start
		at := p.source(i)
		length := at - strings.LastIndexByte(source[:at], '\n') - 1
		line := p.text[start:i]
		if length < shortLine && hasWord(line) && !startsLower(p.text[i:min(i+64, len(p.text))]) && !goesOn(line) {
			ends = append(ends, i)
		}
		start = i + 1
	}
}

// goesOn says whether a line ends with a word or mark after which no sentence
// can end.
func goesOn(line string) bool {
	line = strings.TrimRightFunc(line, unicode.IsSpace)
	if strings.HasSuffix(line, ",") || strings.HasSuffix(line, "(") || strings.HasSuffix(line, "-") {
		return true
	}
	switch strings.ToLower(line[strings.LastIndexFunc(line, unicode.IsSpace)+1:]) {
	case "a", "an", "the", "of", "in", "on", "at", "to", "by", "for", "from", "with", "and", "or", "but", "as", "is", "are", "was", "were", "that", "than":
		return true
	}
	return false
}

// joinWordless drops the borders that would leave a sentence without a letter
// or digit, such as an emoji after a full stop.
func joinWordless(text string, borders []int) []int {
	kept := borders[:0]
	start, readable := 0, false // the sentence being built
	for i, b := range borders {
		end := len(text)
		if i+1 < len(borders) {
			end = borders[i+1]
		}
		readable = readable || hasWord(text[start:b])
		if readable && hasWord(text[b:end]) {
			kept = append(kept, b)
			readable = false
		}
		start = b
	}
	return kept
}
