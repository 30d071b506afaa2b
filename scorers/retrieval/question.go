package retrieval

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"plumbline/scorers/score"
)

// Years are numbers of four digits in this range.
const (
	firstYear = 1000
	lastYear  = 2999
)

// needle is something of the question that coverage looks for in the text.
type needle struct {
	text string // as it stands in the question
	// forms are the word sequences any of which counts as an occurrence, as
	// strings of the words' numbers.
	forms []string
	// rank is the first place in the fused order, from 0, whose passage has
	// it, or notFound.
	rank int
}

const notFound = -1

// token is a word of the question.
type token struct {
	span
	number      rune   // in the vocabulary
	text        string // folded
	capitalised bool
	opens       bool // the first word of a sentence
	digits      bool // starts with a digit
}

// question is the question taken apart.
type question struct {
	text       string
	tokens     []token
	distinct   int // distinct words: they have the first numbers
	vocabulary *vocabulary
}

// vocabulary numbers the words that are looked for, from 1. The numbers are
// characters, so that a sequence of words is a string.
type vocabulary struct {
	numbers map[string]rune
	// lengths has, by first byte, a bit for each length of a word; the last for
	// all that are longer. Most words of a text have no bit, which is faster to
	// see than that the map lacks them.
	lengths [256]uint64
}

func newVocabulary(words int) *vocabulary {
	return &vocabulary{numbers: make(map[string]rune, words)}
}

// bit is the place of a length.
func bit(length int) uint64 { return 1 << min(length, 63) }

// otherWord is the number of every word that is not looked for.
const otherWord = 0

func (v *vocabulary) add(word string) rune {
	number, ok := v.numbers[word]
	if !ok {
		number = rune(len(v.numbers) + 1)
		if number >= firstSurrogate {
			number += surrogates
		}
		v.numbers[word] = number
		if word != "" {
			v.lengths[word[0]] |= bit(len(word))
		}
	}
	return number
}

// number is that of a word, or otherWord.
func (v *vocabulary) number(word []byte) rune {
	if len(word) > 0 && v.lengths[word[0]]&bit(len(word)) == 0 {
		return otherWord
	}
	return v.numbers[string(word)]
}

// Surrogates are no characters.
const (
	firstSurrogate = 0xd800
	surrogates     = 0x800
)

// questionWords returns the words of the question; their number is the |q| of
// WIG.
func (e *evidence) questionWords() ([]span, error) {
	return e.words.get(func() ([]span, error) {
		found := make([]span, 0, len(e.Question)/4+1)
		eachWord(e.Question, func(w span) { found = append(found, w) })
		if len(found) == 0 {
			return nil, score.MissingInput("question was not given, or has no words")
		}
		return found, nil
	})
}

func newQuestion(text string, found []span, f *folder) *question {
	q := &question{text: text, tokens: make([]token, len(found)), vocabulary: newVocabulary(2 * len(found))}
	for i, w := range found {
		folded := string(f.fold(text[w.start:w.end]))
		first := firstRune(text[w.start:w.end])
		q.tokens[i] = token{
			span: w, text: folded, number: q.vocabulary.add(folded),
			capitalised: unicode.IsUpper(first) || unicode.IsTitle(first),
			opens:       i == 0 || q.sentenceEndsBefore(i, w.start),
			digits:      folded != "" && isDigit(folded[0]),
		}
	}
	q.distinct = len(q.vocabulary.numbers)
	return q
}

// gap is what stands between two neighbouring words.
func (q *question) gap(i, j int) string { return q.text[q.tokens[i].end:q.tokens[j].start] }

// sentenceEndsBefore reports whether the sentence ended between token i−1 and
// the place start. A point after an initial or an abbreviated title ends none.
func (q *question) sentenceEndsBefore(i, start int) bool {
	before := &q.tokens[i-1]
	gap := q.text[before.end:start]
	if strings.ContainsAny(gap, "!?…。！？؟\n") {
		return true
	}
	return strings.Contains(gap, ".") && !before.abbreviates()
}

// abbreviates reports whether a point after the word is likely none of a
// sentence's.
func (t *token) abbreviates() bool {
	if utf8.RuneCountInString(t.text) == 1 {
		return true
	}
	switch t.text {
	case "dr", "mr", "mrs", "ms", "st", "jr", "sr", "mt", "ft", "prof", "gen", "sen", "rev", "vs", "no", "nr", "vol":
		return true
	}
	return false
}

// entities are the capitalised spans and the years of the question, each once,
// in the order of their first occurrence.
func (q *question) entities() []needle {
	var found []needle
	names := q.capitalsTell()
	for i := 0; i < len(q.tokens); {
		switch t := &q.tokens[i]; {
		case names && t.names():
			end := q.nameEnd(i)
			if !q.namesNothing(i, end) {
				found = q.addNeedle(found, i, end)
			}
			i = end
			continue
		case t.isYear(q.text):
			found = q.addNeedle(found, i, i+1)
		}
		i++
	}
	return found
}

// names reports whether a word can begin a name: it is capitalised, and not
// just because it begins a sentence as a function word.
func (t *token) names() bool {
	return t.capitalised && (!t.opens || !isFunctionWord(t.text))
}

// nameEnd returns the index after the last token of the name that starts at i.
func (q *question) nameEnd(i int) int {
	end := i + 1
	for j := end; j < len(q.tokens) && !q.tokens[j].opens && q.closeTo(j); j++ {
		switch t := &q.tokens[j]; {
		case t.capitalised:
			end = j + 1
		case !isNameConnector(t.text):
			return end
		}
	}
	return end
}

// closeTo reports whether only what may stand inside a name is between token j
// and the one before: "Jean-Luc", "J. R. R. Tolkien", "Johnson & Johnson".
func (q *question) closeTo(j int) bool {
	gap := q.gap(j-1, j)
	return len(gap) <= 4 && strings.Trim(gap, " \u00a0.-‐‑&'’") == ""
}

// namesNothing reports whether tokens [i, end) are a lone letter or a lone
// function word, such as "I". An acronym like "US" is none.
func (q *question) namesNothing(i, end int) bool {
	if end-i > 1 {
		return false
	}
	t := &q.tokens[i]
	return utf8.RuneCountInString(t.text) < 2 || isFunctionWord(t.text) && !isAcronym(q.word(i))
}

// word is token i as it stands in the question.
func (q *question) word(i int) string { return q.text[q.tokens[i].start:q.tokens[i].end] }

const longestAcronym = 5

// isAcronym reports whether a word is two to five capital letters.
func isAcronym(word string) bool {
	n := utf8.RuneCountInString(word)
	return 2 <= n && n <= longestAcronym && !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsUpper(r) })
}

// capitalsTell reports whether capitals mark names. They do not in a question
// in all capitals, nor in one that capitalises its function words like a
// headline.
func (q *question) capitalsTell() bool {
	cased, shouted, headline := 0, 0, 0
	for i := range q.tokens {
		t := &q.tokens[i]
		word := q.word(i)
		if !strings.ContainsFunc(word, func(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) }) {
			continue
		}
		cased++
		switch {
		case !t.capitalised:
			return true
		case !t.opens && isFunctionWord(t.text) && utf8.RuneCountInString(t.text) > 1 && !isAcronym(word):
			headline++
		}
		if !strings.ContainsFunc(word, unicode.IsLower) {
			shouted++
		}
	}
	return cased < 3 || shouted < cased && headline == 0
}

func (t *token) isYear(question string) bool {
	if len(t.text) != 4 || utf8.RuneCountInString(question[t.start:t.end]) != 4 || !allDigits(t.text) {
		return false
	}
	year := number4(t.text)
	return firstYear <= year && year <= lastYear
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

func number4(s string) int {
	n := 0
	for i := range len(s) {
		n = 10*n + int(s[i]-'0')
	}
	return n
}

// addNeedle adds the span of tokens [i, end) unless it was found before.
func (q *question) addNeedle(needles []needle, i, end int) []needle {
	forms := []string{q.form(i, end)}
	if other := q.otherAcronym(i, end); other != "" {
		forms = append(forms, other)
	}
	return appendNeedle(needles, q.text[q.tokens[i].start:q.tokens[end-1].end], forms...)
}

// otherAcronym returns the other notation of an acronym, with points for one
// without and the reverse ("US", "U.S."), or nothing for what is none.
func (q *question) otherAcronym(i, end int) string {
	if end-i == 1 {
		if !isAcronym(q.word(i)) {
			return ""
		}
		var letters []rune
		for _, letter := range q.tokens[i].text {
			letters = append(letters, q.vocabulary.add(string(letter)))
		}
		return string(letters)
	}
	joined := ""
	for _, t := range q.tokens[i:end] {
		if utf8.RuneCountInString(t.text) != 1 || len(joined) > longestAcronym {
			return ""
		}
		joined += t.text
	}
	return string(q.vocabulary.add(joined))
}

// appendNeedle adds a needle that is none of those before. Beyond one more than
// are looked for, which tells that there are more, it adds none.
func appendNeedle(needles []needle, text string, forms ...string) []needle {
	if len(needles) > mostNeedles {
		return needles
	}
	for i := range needles {
		if needles[i].forms[0] == forms[0] {
			return needles
		}
	}
	return append(needles, needle{text: text, forms: forms, rank: notFound})
}

// form is the words of tokens [i, end) as a string of their numbers.
func (q *question) form(i, end int) string {
	numbers := make([]rune, 0, end-i)
	for _, t := range q.tokens[i:end] {
		numbers = append(numbers, t.number)
	}
	return string(numbers)
}

// longestQuote is the number of bytes in which a quotation must end. It keeps
// the work linear for a text full of marks that none closes.
const longestQuote = 1024

// quotes are the quoted strings of the question. A mark right after a word
// opens none: it closes one, or means inches.
func (q *question) quotes() []needle {
	var found []needle
	before := ' '
	for i := 0; i < len(q.text); {
		r, size := utf8.DecodeRuneInString(q.text[i:])
		i += size
		if marks := closingQuotes(r); marks != "" && !isWordRune(before) {
			if length := strings.IndexAny(q.text[i:min(i+longestQuote, len(q.text))], marks); length >= 0 {
				found = q.addQuote(found, i, i+length)
				r, size = utf8.DecodeRuneInString(q.text[i+length:])
				i += length + size
			}
		}
		before = r
	}
	return found
}

// closingQuotes returns the marks that may end a quotation which r begins;
// none where r begins no quotation. Single straight quotes are apostrophes
// more often than not.
func closingQuotes(r rune) string {
	switch r {
	case '"':
		return "\""
	case '“', '„', '”':
		return "”“\""
	case '«':
		return "»"
	case '»':
		return "«"
	case '「':
		return "」"
	case '『':
		return "』"
	case '《':
		return "》"
	case '〈':
		return "〉"
	}
	return ""
}

// addQuote adds the words that lie in q.text[start:end].
func (q *question) addQuote(found []needle, start, end int) []needle {
	i, _ := slices.BinarySearchFunc(q.tokens, start, func(t token, at int) int { return t.start - at })
	j := i
	for j < len(q.tokens) && q.tokens[j].end <= end {
		j++
	}
	if i == j {
		return found
	}
	return appendNeedle(found, q.text[start:end], q.form(i, j))
}
