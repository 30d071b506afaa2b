package grounding

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// mismatch is something that a claim names and the winning evidence does not.
type mismatch struct {
	flag plumblinev1.Flag
	text string
}

// maxFacts is how many dates, quantities and names of a claim are compared, of
// each: more than a sentence has.
const maxFacts = 128

// maxMismatches bounds the details of one claim, of each of these kinds.
const maxMismatches = 32

// told is what a text tells, for comparison with claims.
type told struct {
	dates      []date // each once
	quantities map[string][]measure
	words      folded
}

// measure is how a text has a number.
type measure struct {
	unit    string
	ordinal bool
}

// reading keeps what was read of texts.
type reading map[string]told

func (r reading) of(text string) told {
	t, ok := r[text]
	if !ok {
		t = tell(text)
		r[text] = t
	}
	return t
}

// tell reads a text of evidence.
func tell(text string) told {
	f := readFacts(text)
	t := told{quantities: map[string][]measure{}, words: foldedWords(text)}
	seen := map[date]bool{}
	for _, d := range f.dates {
		if d.text = ""; !seen[d] {
			seen[d] = true
			t.dates = append(t.dates, d)
		}
	}
	for _, q := range f.quantities {
		t.add(q)
		for _, part := range q.parts {
			t.add(part)
		}
	}
	return t
}

func (t told) add(q quantity) {
	m := measure{q.unit, q.ordinal}
	for _, v := range append(q.values, q.hour) {
		if v != "" && !slices.Contains(t.quantities[v], m) {
			t.quantities[v] = append(t.quantities[v], m)
		}
	}
}

// has says whether a text has the date of a claim. What may be two years is had as
// two numbers as well.
func (t told) has(d date) bool {
	years := d.years && t.quantities[strconv.Itoa(d.year)] != nil && t.quantities[strconv.Itoa(d.month)] != nil
	return years || slices.ContainsFunc(t.dates, d.within)
}

// mismatches compares a claim with the evidence that decided it. It reads
// numbers, dates, units and names by rules; what it cannot read it lets pass.
func mismatches(claim string, evidence told) []mismatch {
	c := readFacts(claim)
	var dates, quantities, called []mismatch
	for _, d := range c.dates[:min(len(c.dates), maxFacts)] {
		if !d.loose && !evidence.has(d) {
			dates = append(dates, mismatch{plumblinev1.Flag_FLAG_DATE_MISMATCH, d.text})
		}
	}
	for _, q := range c.quantities[:min(len(c.quantities), maxFacts)] {
		if flag := q.compare(evidence.quantities); flag != plumblinev1.Flag_FLAG_UNSPECIFIED && !q.loose {
			quantities = append(quantities, mismatch{flag, q.text})
		}
	}
	all := names(claim)
	for _, name := range all[:min(len(all), maxFacts)] {
		if !evidence.words.haveAll(name) {
			called = append(called, mismatch{plumblinev1.Flag_FLAG_NAME_MISMATCH, name})
		}
	}
	var out []mismatch
	for _, of := range [][]mismatch{dates, quantities, called} {
		out = append(out, of[:min(len(of), maxMismatches)]...)
	}
	return out
}

// compare returns which flag a quantity of a claim raises against those of the
// evidence, by their values: none if one of them has its value and no other unit,
// or if they have all its parts.
func (q quantity) compare(evidence map[string][]measure) plumblinev1.Flag {
	differs := func(part quantity) bool { return part.compare(evidence) != plumblinev1.Flag_FLAG_UNSPECIFIED }
	if q.saidByHour(evidence) || len(q.parts) > 0 && !slices.ContainsFunc(q.parts, differs) {
		return plumblinev1.Flag_FLAG_UNSPECIFIED
	}
	flag := plumblinev1.Flag_FLAG_NUMBER_MISMATCH
	for _, v := range q.values {
		for _, e := range evidence[v] {
			switch {
			case e.ordinal && !q.ordinal:
			case q.unit == "" || e.unit == "" || q.unit == e.unit:
				return plumblinev1.Flag_FLAG_UNSPECIFIED
			default:
				flag = plumblinev1.Flag_FLAG_UNIT_MISMATCH
			}
		}
	}
	return flag
}

// saidByHour says whether a quantity is the ":00" that "9 a.m." leaves unsaid, and
// the evidence has no other minutes of that hour.
func (q quantity) saidByHour(evidence map[string][]measure) bool {
	return q.hour != "" && q.text == "00" && evidence[q.hour] == nil
}

// connectors may stand inside a name without being part of what is compared.
var connectors = wordSet(`of de la le van von der den di da del bin al el the and`)

// nameless are capitalised words that are no names, beside titled: those that
// begin sentences, and the parts of dates, which are compared as dates.
var nameless = wordSet(`the a an in on at by for from to of and or but if as it its he she they we you i his her their our my
	this that these those there here when while after before since during although though because however moreover
	furthermore additionally also thus therefore finally first second third then next later overall both each some many
	most all no not yes one two three according despite unlike like with without under over between among about
	sir january february march april may june july august september october november december
	jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday`)

// names returns the capitalised names of a claim. A single capitalised word at
// the beginning of a sentence or a label is not counted: it may be any word; nor
// is a name that is a whole label ("Release Date: 2020"). A claim in which most
// words are capitalised is a headline and has no telling names.
func names(claim string) []string {
	words := strings.Fields(claim)
	upper := 0
	for _, w := range words {
		if r, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(w, notWord)); unicode.IsUpper(r) {
			upper++
		}
	}
	if len(words) > 4 && 10*upper > 7*len(words) {
		return nil
	}
	var out, name []string
	labels := labelled(words)
	initial := true // the name under way began a sentence
	label := false  // it began a label
	begins := true  // the next word begins a sentence
	flush := func() {
		for len(name) > 0 && connectors[name[len(name)-1]] {
			name = name[:len(name)-1]
		}
		if len(name) > 1 || len(name) == 1 && !initial {
			out = append(out, strings.Join(name, " "))
		}
		name = nil
	}
	for i, w := range words {
		bare := strings.TrimFunc(w, notWord)
		isNumber := strings.Trim(bare, "0123456789.") == ""
		if len(name) == 0 {
			initial, label = begins || labels[i], labels[i]
		}
		switch {
		case isName(w):
			name = append(name, uncontracted(bare))
		case len(name) > 0 && connectors[bare] && bare == w:
			name = append(name, bare)
		case !label || !isNumber || !endsLabel(w): // not the number of "Project Phase 2:"
			flush()
		}
		if label && endsLabel(w) {
			name = nil
		}
		begins = endsClause(w)
		if begins || strings.HasSuffix(w, ",") || strings.HasSuffix(w, ";") {
			flush()
		}
	}
	flush()
	return out
}

// labelled says of each word whether it begins a label of what follows, which ends
// with a colon. A semicolon before it is the border of a table's cells.
func labelled(words []string) []bool {
	begins := make([]bool, len(words))
	first := 0
	for i, w := range words {
		if endsLabel(w) {
			begins[first] = true
		}
		if endsClause(w) || strings.HasSuffix(w, ";") {
			first = i + 1
		}
	}
	return begins
}

func endsLabel(word string) bool { return strings.HasSuffix(strings.TrimRight(word, closers), ":") }

// titled are abbreviations before names.
var titled = wordSet(`mr mrs ms dr prof st rev gen col lt sgt capt sen rep gov pres hon jr sr`)

// endsClause says whether a capitalised word after this one may be any word, not
// so after "Dr." and "J.".
func endsClause(word string) bool {
	word = strings.TrimRight(word, closers)
	bare, stopped := strings.CutSuffix(word, ".")
	bare = strings.TrimLeftFunc(bare, notWord)
	initial, size := utf8.DecodeRuneInString(bare)
	if stopped && (titled[strings.ToLower(bare)] || size == len(bare) && unicode.IsUpper(initial)) {
		return false
	}
	return stopped || strings.HasSuffix(word, "!") || strings.HasSuffix(word, "?") || endsLabel(word)
}

// isName says whether a word is capitalised and may be part of a name.
func isName(word string) bool {
	bare := uncontracted(strings.TrimFunc(word, notWord))
	r, size := utf8.DecodeRuneInString(bare)
	return unicode.IsUpper(r) && size < len(bare) && !nameless[strings.ToLower(bare)] && !titled[strings.ToLower(bare)]
}

// uncontracted returns a word without what is joined to it by an apostrophe: the
// "I" of "I've" and the "Ann" of "Ann's", but "O'Brien" whole. Of "Don't" it returns
// nothing: the verb in it is no name.
func uncontracted(word string) string {
	i := strings.LastIndexAny(word, "'’")
	if i < 0 {
		return word
	}
	_, size := utf8.DecodeRuneInString(word[i:])
	switch word[i+size:] {
	case "s", "d", "ll", "m", "re", "ve":
		return word[:i]
	case "t":
		return ""
	}
	return word
}

func notWord(r rune) bool { return !isWord(r) }

// folded is the set of words of a text, without case and accents. An acronym with
// stops ("U.K.") is there without them too.
type folded map[string]bool

func foldedWords(text string) folded {
	set := folded{}
	for _, w := range strings.FieldsFunc(fold(text), func(r rune) bool { return r != '.' && notWord(r) }) {
		parts := strings.FieldsFunc(w, notWord)
		for _, part := range parts {
			set[part] = true
		}
		if joined := strings.Join(parts, ""); utf8.RuneCountInString(joined) == len(parts) {
			set[joined] = true
		}
	}
	return set
}

// haveAll says whether all words of a name occur, in singular or plural.
func (f folded) haveAll(name string) bool {
	for _, w := range strings.FieldsFunc(fold(name), notWord) {
		singular := strings.TrimSuffix(w, "s")
		had := f[w] || f[w+"s"] || len(singular) > 1 && f[singular] // a "U" of "U.K." is no "US"
		if len(w) > 1 && !connectors[w] && !had {
			return false
		}
	}
	return true
}

func fold(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(text))
}
