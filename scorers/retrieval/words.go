package retrieval

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/cases"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// span is a word's place in a text, in bytes.
type span struct{ start, end int }

// eachWord yields the words of a text in order: runs of letters, marks and
// numbers. Apostrophes inside a word and separators inside a number belong to
// it; a possessive ending does not, and an elided article (l'Opéra) is a word
// of its own. All other punctuation separates. Where a script writes no
// spaces, the segmentation of Unicode Annex 29 decides.
func eachWord(text string, yield func(span)) {
	for at := 0; at < len(text); {
		w := nextWord(text, at)
		switch at = w.end; {
		case w.start == w.end:
			return
		case w.spaceless:
			eachSegment(text, w.span, yield)
		case w.apostrophe:
			eachPart(text, w.span, yield)
		default:
			yield(w.span)
		}
	}
}

// run is a word as it was found, with what it needs.
type run struct {
	span
	spaceless  bool // has letters of a script that writes no spaces
	apostrophe bool // has one inside
}

// nextWord finds the first word that starts at or after a place; it is empty
// at the end of the text.
func nextWord(text string, at int) run {
	start := wordStart(text, at)
	w := run{span: span{start, start}}
	previous := rune(0)
	for {
		if end := asciiEnd(text, w.end); end > w.end {
			w.end, previous = end, rune(text[end-1])
			if end < len(text) && separates(text[end]) {
				return w
			}
		}
		r, size := runeAt(text, w.end)
		if size == 0 {
			return w
		}
		if !isWordRune(r) {
			if next, _ := runeAt(text, w.end+size); !joins(previous, r, next) {
				return w
			}
			w.apostrophe = w.apostrophe || isApostrophe(r)
		}
		w.spaceless = w.spaceless || isSpaceless(r)
		w.end, previous = w.end+size, r
	}
}

// wordStart returns the place of the first letter or number at or after a
// place, or the length of the text.
func wordStart(text string, at int) int {
	for at < len(text) {
		if b := text[at]; b < utf8.RuneSelf {
			if isASCIIWord(b) {
				break
			}
			at++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		if isWordRune(r) && !unicode.IsMark(r) {
			break
		}
		at += size
	}
	return at
}

// separates reports whether an ASCII character ends a word whatever follows:
// none that joins knows does.
func separates(b byte) bool {
	return b < utf8.RuneSelf && b != '\'' && b != '.' && b != ',' && !isASCIIWord(b)
}

// asciiEnd returns the end of the ASCII letters and digits from a place on:
// the short way through most words.
func asciiEnd(text string, at int) int {
	for at < len(text) && isASCIIWord(text[at]) {
		at++
	}
	return at
}

func isASCIIWord(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}

// runeAt is DecodeRuneInString with a short way for ASCII; beyond the end it
// returns 0.
func runeAt(text string, at int) (r rune, size int) {
	if at >= len(text) {
		return 0, 0
	}
	if b := text[at]; b < utf8.RuneSelf {
		return rune(b), 1
	}
	return utf8.DecodeRuneInString(text[at:])
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isASCIIWord(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r)
}

// joins reports whether a rune that is no letter or number stands inside a
// word: an apostrophe before a letter, a point or comma between digits, or an
// invisible character such as a soft hyphen.
func joins(previous, r, next rune) bool {
	switch {
	case isApostrophe(r):
		return isWordRune(previous) && isLetter(next)
	case r == '.' || r == ',':
		return unicode.IsDigit(previous) && unicode.IsDigit(next)
	default:
		return r >= utf8.RuneSelf && unicode.Is(unicode.Cf, r) && isWordRune(next)
	}
}

// isLetter includes marks, so that a decomposed letter is one.
func isLetter(r rune) bool { return isWordRune(r) && !unicode.IsDigit(r) }

func isApostrophe(r rune) bool { return r == '\'' || r == '’' || r == '‘' || r == '＇' }

// isSpaceless names the scripts whose words are not separated by spaces. The
// first of them is Thai: most letters need no look into the tables.
func isSpaceless(r rune) bool {
	const firstThai = '\u0e00'
	return r >= firstThai && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// eachSegment yields the segments of Unicode Annex 29 that have letters or
// numbers.
func eachSegment(text string, w span, yield func(span)) {
	segments := words.FromString(text[w.start:w.end])
	for segments.Next() {
		if strings.ContainsFunc(segments.Value(), isWordRune) {
			yield(span{w.start + segments.Start(), w.start + segments.End()})
		}
	}
}

// eachPart sets elided articles apart and takes off a possessive ending.
func eachPart(text string, w span, yield func(span)) {
	for {
		apostrophe := strings.IndexFunc(text[w.start:w.end], isApostrophe)
		if apostrophe < 0 {
			break
		}
		head := span{w.start, w.start + apostrophe}
		if !isElision(text[head.start:head.end]) {
			w.end = withoutPossessive(text, w)
			break
		}
		yield(head)
		_, size := runeAt(text, head.end)
		w.start = head.end + size
	}
	yield(w)
}

// withoutPossessive returns the end of a word without an ending 's.
func withoutPossessive(text string, w span) int {
	if last := text[w.end-1]; last != 's' && last != 'S' {
		return w.end
	}
	if r, size := utf8.DecodeLastRuneInString(text[w.start : w.end-1]); isApostrophe(r) {
		return w.end - 1 - size
	}
	return w.end
}

// isElision knows the elided articles and particles of French and Italian.
func isElision(word string) bool {
	switch strings.ToLower(word) {
	case "c", "d", "j", "l", "m", "n", "s", "t", "qu", "all", "dall", "dell", "nell", "sull", "un":
		return true
	}
	return false
}

// folder brings words into the form in which they are compared: NFKC, full
// case folding, no apostrophes; numbers in one notation. The four Turkish forms
// of i become one, because upper case does not tell them apart outside Turkish.
// Its buffers are reused, and it is not safe for concurrent use.
type folder struct {
	out, scratch, folded []byte
	// caser and known are made for the first word that is not all ASCII. known
	// has such words with their forms: folding them costs, and texts repeat
	// themselves.
	caser cases.Caser
	known map[string]string
}

// fold returns the comparable form of a word, valid until the next call.
func (f *folder) fold(word string) []byte {
	f.out = append(f.out[:0], word...)
	apostrophe := false
	for i, b := range f.out {
		switch {
		case b >= utf8.RuneSelf:
			f.foldUnicode(word)
			return f.number()
		case 'A' <= b && b <= 'Z':
			f.out[i] = b + 'a' - 'A'
		case b == '\'':
			apostrophe = true
		}
	}
	if apostrophe {
		f.out = slices.DeleteFunc(f.out, func(b byte) bool { return b == '\'' })
	}
	return f.number()
}

// foldUnicode folds a word that is not all ASCII.
func (f *folder) foldUnicode(word string) {
	if f.known == nil {
		f.caser, f.known = cases.Fold(), map[string]string{}
	}
	if known, ok := f.known[word]; ok {
		f.out = append(f.out[:0], known...)
		return
	}
	f.scratch = norm.NFKC.AppendString(f.scratch[:0], word)
	f.folded, _, _ = transform.Append(f.caser, f.folded[:0], f.scratch) // a Caser does not fail
	f.scratch = norm.NFKC.Append(f.scratch[:0], f.folded...)
	f.out = f.out[:0]
	number := unicode.IsDigit(firstRune(word))
	for rest := f.scratch; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		rest = rest[size:]
		switch {
		case r == '.' && number:
		case r == '.' || isApostrophe(r):
			continue
		case r == dotAbove && len(f.out) > 0 && f.out[len(f.out)-1] == 'i':
			continue // the dot that is left of a Turkish İ
		case r == 'ı':
			r = 'i'
		case r == softHyphen || r >= firstArabic && unicode.Is(unicode.Cf, r):
			continue
		case r >= firstArabic:
			r = foldRare(r)
		}
		f.out = utf8.AppendRune(f.out, r)
	}
	f.known[word] = string(f.out)
}

const (
	dotAbove   = '\u0307'
	softHyphen = '\u00ad'
	// Before the Arabic block there are no invisible characters but the soft
	// hyphen, and no digits but those of ASCII.
	firstArabic = '\u0600'
)

// foldRare does what case folding and NFKC leave undone: digits of all scripts
// become ASCII, and Cherokee, whose two cases cases.Fold swaps, one case.
func foldRare(r rune) rune {
	if unicode.IsDigit(r) {
		return '0' + digitValue(r)
	}
	if unicode.Is(unicode.Cherokee, r) {
		return unicode.ToLower(r)
	}
	return r
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// digitValue is the value of a decimal digit of any script: the digits of a
// script are ten code points in a row, and ranges of the table of digits hold
// whole such rows.
func digitValue(r rune) rune {
	for _, in := range unicode.Nd.R16 {
		if rune(in.Lo) <= r && r <= rune(in.Hi) {
			return (r - rune(in.Lo)) % 10
		}
	}
	for _, in := range unicode.Nd.R32 {
		if rune(in.Lo) <= r && r <= rune(in.Hi) {
			return (r - rune(in.Lo)) % 10
		}
	}
	return 0
}

// number brings the folded word, if it is a number, into one notation: without
// the separators of thousands, with a decimal point, without zeros that say
// nothing ("1,000.50" is 1000.5, "05" is 5), and without the ending of an
// English ordinal.
func (f *folder) number() []byte {
	const longest = 64 // keeps the work linear; a longer one stays as it is
	if len(f.out) == 0 || len(f.out) > longest || !isDigit(f.out[0]) {
		return f.out
	}
	digits := 0
	for digits < len(f.out) && (isDigit(f.out[digits]) || f.out[digits] == '.' || f.out[digits] == ',') {
		digits++
	}
	switch string(f.out[digits:]) {
	case "":
	case "st", "nd", "rd", "th":
		f.out = f.out[:digits]
	default:
		return f.out // "5km", "1990s": a word that starts with a digit
	}
	f.out = trimZeros(dropThousands(f.out))
	return f.out
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// dropThousands removes commas before groups of three digits; any other comma
// is a decimal one. Several points before groups of three separate thousands,
// too; a single point is decimal.
func dropThousands(number []byte) []byte {
	for i := 0; i < len(number); i++ {
		if number[i] != ',' {
			continue
		}
		if groupOfThree(number[i+1:]) {
			number = slices.Delete(number, i, i+1)
		} else {
			number[i] = '.'
		}
	}
	if bytes.Count(number, []byte{'.'}) < 2 {
		return number
	}
	for i, b := range number {
		if b == '.' && !groupOfThree(number[i+1:]) {
			return number // 12.05.2001, or a version
		}
	}
	return bytes.ReplaceAll(number, []byte{'.'}, nil)
}

// groupOfThree reports whether exactly three digits come first.
func groupOfThree(rest []byte) bool {
	n := 0
	for n < len(rest) && isDigit(rest[n]) {
		n++
	}
	return n == 3
}

// trimZeros removes zeros before a whole part and after a single decimal
// point.
func trimZeros(number []byte) []byte {
	if bytes.Count(number, []byte{'.'}) == 1 {
		number = bytes.TrimRight(bytes.TrimRight(number, "0"), ".")
	}
	for len(number) > 1 && number[0] == '0' && isDigit(number[1]) {
		number = number[1:]
	}
	return number
}
