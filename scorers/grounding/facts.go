package grounding

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// facts are the dates and quantities of a text.
type facts struct {
	dates      []date
	quantities []quantity
}

// quantity is a number with its unit.
type quantity struct {
	text   string
	values []string // its possible readings, as canonical decimals
	unit   string   // canonical, or empty
	// loose says that the number is part of a date, an address or a label, or the
	// word "one", which is an article as often as a number: it can answer a claim's
	// number and raises no flag itself.
	loose bool
	// ordinal says that the number is one of an order. Those in words answer such
	// numbers only: "the second attack" has no two of anything.
	ordinal bool
	// hour is the key of the hour that minutes belong to, as "9:", and else empty.
	hour string
	// parts are the numbers that a number in groups may be as well: "12 345".
	parts []quantity
}

// date is a day or a month, with or without its year.
type date struct {
	text             string
	year, month, day int  // 0 if not given
	swapped          bool // day and month may be the other way round
	years            bool // year and month may be two years: "2003-04"
	loose            bool // part of an address: it can answer and raises no flag
}

// within says whether another date has everything that this one says.
func (d date) within(e date) bool {
	same := func(month, day int) bool {
		return d.month == month && (d.day == 0 || d.day == day) && (d.year == 0 || d.year == e.year)
	}
	if same(e.month, e.day) || e.swapped && same(e.day, e.month) {
		return true
	}
	return d.swapped && d.month == e.day && d.day == e.month && d.year == e.year
}

const monthNames = `jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?`

var (
	isoDate    = regexp.MustCompile(`\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:T|\b)`)
	isoMonth   = regexp.MustCompile(`\b([12]\d{3})-(\d{2})\b`)
	dayFirst   = regexp.MustCompile(`(?i)\b(\d{1,2})(?:st|nd|rd|th)?(?: of)? (` + monthNames + `)\b\.?(?:,? (\d{4})\b)?`)
	monthFirst = regexp.MustCompile(`(?i)\b(` + monthNames + `)\.? (\d{1,2})(?:st|nd|rd|th)?\b(?:,? (\d{4})\b)?`)
	monthYear  = regexp.MustCompile(`(?i)\b(` + monthNames + `)\.?,? (\d{4})\b`)
	// verbs are months as often as not, in lower case and without a year.
	verbs   = regexp.MustCompile(`\b(?:may|march)\b`)
	figures = regexp.MustCompile(`\b(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b`)
	digits  = regexp.MustCompile(`\d+(?:[.,'’]\d+)*(?: ?[¼½¾⅕⅖⅗⅘⅛⅜⅝⅞])?|[¼½¾⅕⅖⅗⅘⅛⅜⅝⅞]`)
	// urls are addresses, with their scheme or without.
	urls = regexp.MustCompile(`(?i)(?:[a-z]://|\bwww\.|\b[a-z0-9-]+\.[a-z]{2,}/)[[:graph:]]+`)
)

// readFacts reads a text. Marks of Markdown around a number do not matter.
func readFacts(text string) facts {
	cited := make([]bool, len(text)) // bytes of addresses
	for _, m := range urls.FindAllStringIndex(text, -1) {
		cover(cited, m[0], m[1])
	}
	loose := slices.Clone(cited) // and of dates
	var f facts
	for _, d := range readDates(text) {
		d.loose = cited[d.start]
		cover(loose, d.start, d.start+len(d.text))
		f.dates = append(f.dates, d.date)
	}
	f.quantities = append(readFigures(text, loose), numberWords(text)...)
	return f
}

func cover(bytes []bool, start, end int) {
	for i := start; i < end; i++ {
		bytes[i] = true
	}
}

// found is a date with where it begins.
type found struct {
	date
	start int
}

// readDates reads the dates of a text, none inside another.
func readDates(text string) []found {
	var out []found
	taken := make([]bool, len(text))
	dates := func(re *regexp.Regexp, read func(groups []string) date) {
		for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
			if taken[m[0]] {
				continue
			}
			groups := make([]string, len(m)/2)
			for i := range groups {
				if m[2*i] >= 0 {
					groups[i] = text[m[2*i]:m[2*i+1]]
				}
			}
			d := read(groups)
			if d.year == 0 && verbs.MatchString(groups[0]) {
				continue
			}
			if d.month < 1 || d.month > 12 && !d.swapped || d.day > 31 {
				continue
			}
			d.text = groups[0]
			out = append(out, found{d, m[0]})
			cover(taken, m[0], m[1])
		}
	}
	dates(isoDate, func(g []string) date { return date{year: atoi(g[1]), month: atoi(g[2]), day: atoi(g[3])} })
	dates(isoMonth, func(g []string) date { return date{year: atoi(g[1]), month: atoi(g[2]), years: true} })
	dates(figures, func(g []string) date {
		return date{month: atoi(g[1]), day: atoi(g[2]), year: atoi(g[3]), swapped: true}
	})
	dates(dayFirst, func(g []string) date { return date{day: atoi(g[1]), month: month(g[2]), year: atoi(g[3])} })
	dates(monthFirst, func(g []string) date { return date{month: month(g[1]), day: atoi(g[2]), year: atoi(g[3])} })
	dates(monthYear, func(g []string) date { return date{month: month(g[1]), year: atoi(g[2])} })
	return out
}

func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

func month(name string) int {
	return strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(name)[:3])/3 + 1
}

// readFigures reads the numbers in digits. Those at loose bytes are loose.
func readFigures(text string, loose []bool) []quantity {
	var out []quantity
	spans := digits.FindAllStringIndex(text, -1)
	for len(spans) > 0 {
		run := spans[:grouped(text, spans)]
		spans = spans[len(run):]
		var parts []quantity
		for _, m := range run {
			if q, ok := readQuantity(text, m[0], m[1], loose); ok {
				parts = append(parts, q)
			}
		}
		oneNumber := 1 < len(run) && len(run) <= maxGroups && len(parts) == len(run) && !parts[0].loose
		if !oneNumber {
			out = append(out, parts...)
			continue
		}
		q, _ := readQuantity(text, run[0][0], run[len(run)-1][1], loose)
		if text[run[0][1]] == ' ' {
			q.parts = parts
		}
		out = append(out, q)
	}
	return out
}

// blanks are those that stand inside numbers and before units.
const blanks = " \u00A0\u2009\u202F"

// maxGroups is how many groups of digits a number has at most: a longer row of
// them is a list.
const maxGroups = 5

// grouped returns how many of some numbers, at least one, may be one number in
// groups of three digits: "1 234 567", "1 234,5". A year begins no such number.
func grouped(text string, spans [][]int) int {
	n := 1
	for ; n < len(spans); n++ {
		last, next := text[spans[n-1][0]:spans[n-1][1]], text[spans[n][0]:spans[n][1]]
		gap := text[spans[n-1][1]:spans[n][0]]
		begun := strings.Trim(last, "0123456789") == "" && len(last) <= 3
		if !begun || utf8.RuneCountInString(gap) != 1 || !strings.Contains(blanks, gap) || !threeDigits.MatchString(next) {
			break
		}
	}
	return n
}

var threeDigits = regexp.MustCompile(`^\d{3}(?:[.,]\d+)?$`)

// readQuantity reads the digits text[start:end] with what stands around them; it
// is loose at loose bytes. Digits inside a word ("B12") are part of a name and no
// number; in scripts without blanks a letter before them says nothing, nor does
// the T between a date and a time.
func readQuantity(text string, start, end int, loose []bool) (quantity, bool) {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	if unicode.IsLetter(before) && !unicode.In(before, withoutBlanks...) && !loose[start-1] {
		return quantity{}, false
	}
	if after, _ := utf8.DecodeRuneInString(text[end:]); strings.ContainsRune(counters, after) {
		return quantity{}, false
	}
	first, _ := utf8.DecodeRuneInString(text[start:])
	q := quantity{
		ordinal: ordinalEnding.MatchString(text[end:min(len(text), end+3)]),
		loose:   loose[start] || vulgar[first] != "" || numbersLabel(text, start, end),
	}
	if end == start+2 {
		q.hour = hourBefore(text, start)
	}
	if pointed(text[:start]) {
		start--
	}
	symbol := currency(strings.TrimRight(text[:start], "*_` "))
	shift, unit, stop := suffix(text, end, symbol != "")
	q.unit = cmp.Or(symbol, unit)
	from := minusBefore(text, start)
	q.text = text[from:stop]
	sign := ""
	if from < start {
		sign = "-"
	}
	for _, n := range readings(text[start:end]) {
		q.values = append(q.values, sign+n.canonical(shift))
		if unit == "m" && stop == end+1 { // "5m" is metres or millions
			q.values = append(q.values, sign+n.canonical(6))
		}
	}
	return q, true
}

// hourBefore returns the key of the hour before the minutes at start, if they are
// minutes.
func hourBefore(text string, start int) string {
	m := clockHour.FindStringSubmatch(text[max(0, start-4):start])
	if m == nil {
		return ""
	}
	return decimal{whole: m[1]}.canonical(0) + ":"
}

var clockHour = regexp.MustCompile(`(?:^|\D)(\d{1,2}):$`)

// pointed says whether a text ends with the point that begins a number: " .5".
func pointed(head string) bool {
	head, ok := strings.CutSuffix(head, ".")
	before, _ := utf8.DecodeLastRuneInString(head)
	return ok && (head == "" || unicode.IsSpace(before) || strings.ContainsRune("*_([-−–+±<>=~", before) || currency(head) != "")
}

// minusBefore returns where the minus of a number at start begins, and start if
// the number has none.
func minusBefore(text string, start int) int {
	mark, size := utf8.DecodeLastRuneInString(text[:start])
	if !strings.ContainsRune("-−–", mark) {
		return minusWord(text, start)
	}
	outer, _ := utf8.DecodeLastRuneInString(text[:start-size])
	if start == size || unicode.IsSpace(outer) || outer == '(' {
		return start - size
	}
	return start
}

// minusWord returns where the word "minus" before a number at start begins, and
// start if there is none. After another number it is a subtraction, and after "or"
// a tolerance.
func minusWord(text string, start int) int {
	const minus = "minus "
	from := start - len(minus)
	if from < 0 || !strings.EqualFold(text[from:start], minus) {
		return start
	}
	head := strings.TrimRightFunc(text[:from], unicode.IsSpace)
	last := strings.ToLower(head[strings.LastIndexFunc(head, unicode.IsSpace)+1:])
	_, number := numerals[last]
	switch {
	case len(head) == from && from > 0 && text[from-1] != '(',
		number, last == "or", scale(last) > 0, unitOf(last) != "", strings.ContainsAny(last, "0123456789"):
		return start
	}
	return from
}

// numbersLabel says whether a number ends the label of what follows, as in
// "Step 1: Preheat the oven."
func numbersLabel(text string, start, end int) bool {
	after, ok := strings.CutPrefix(text[end:], ":")
	if !ok || after != "" && !unicode.IsSpace(rune(after[0])) {
		return false
	}
	head := strings.TrimRight(text[:start], ". ") // of "Fig. 3:"
	words := strings.Fields(head[strings.LastIndexAny(head, ".!?:;\n")+1:])
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !isName(w) })
}

// withoutBlanks are scripts whose words stand without blanks between them.
var withoutBlanks = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// counters make another number of the digits before them, or a part of a date,
// which is not read.
const counters = "万萬億亿千百만억月日"

var ordinalEnding = regexp.MustCompile(`^(?:st|nd|rd|th)\b`)

// decimal is a number in digits.
type decimal struct{ whole, fraction string }

// canonical writes the number times ten to the shift, without zeros that do
// not matter.
func (d decimal) canonical(shift int) string {
	fraction := d.fraction + strings.Repeat("0", max(0, shift-len(d.fraction)))
	whole := strings.TrimLeft(d.whole+fraction[:shift], "0")
	fraction = strings.TrimRight(fraction[shift:], "0")
	if whole == "" {
		whole = "0"
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// vulgar has the fractions of one character, as decimals after the point.
var vulgar = map[rune]string{
	'¼': "25", '½': "5", '¾': "75", '⅕': "2", '⅖': "4", '⅗': "6", '⅘': "8", '⅛': "125", '⅜': "375", '⅝': "625", '⅞': "875",
}

// readings returns what digits with separators may mean: "1,234" is 1234 to
// some and 1.234 to others, but "1,000" is no one's 1. "2½" may be answered by 2:
// not all ways to write its fraction are read. Digits that are no number ("3.5.1")
// stand for themselves.
func readings(s string) []decimal {
	last, size := utf8.DecodeLastRuneInString(s)
	if fraction := vulgar[last]; fraction != "" {
		whole := strings.TrimRight(s[:len(s)-size], " ")
		return []decimal{{whole, fraction}, {whole: whole}}
	}
	if strings.HasPrefix(s, ".") {
		s = "0" + s
	}
	var out []decimal
	for _, point := range []string{".", ","} {
		whole, fraction, found := s, "", false
		if strings.Count(s, point) == 1 {
			whole, fraction, found = strings.Cut(s, point)
		}
		groups := strings.FieldsFunc(whole, notWord)
		thousands := fraction == "000" && len(whole) <= 3 && whole[0] != '0'
		if thousands || strings.IndexFunc(fraction, notWord) >= 0 || strings.Contains(whole, point) ||
			!inThousands(groups) && !lakhs.MatchString(whole) {
			continue
		}
		out = append(out, decimal{strings.Join(groups, ""), fraction})
		if !found && len(groups) == 1 {
			break // plain digits read the same both ways
		}
	}
	if len(out) == 0 {
		out = append(out, decimal{whole: s})
	}
	return out
}

// inThousands says whether groups of digits are one group or those of a number in
// thousands.
func inThousands(groups []string) bool {
	if len(groups) == 1 {
		return true
	}
	odd := func(g string) bool { return len(g) != 3 }
	return len(groups[0]) <= 3 && groups[0][0] != '0' && !slices.ContainsFunc(groups[1:], odd)
}

// lakhs are digits in the groups of lakhs and crores.
var lakhs = regexp.MustCompile(`^[1-9]\d?(?:,\d\d)+,\d{3}$`)

// suffix reads a scale word and a unit after a number that ends at end, and
// returns where they end. priced says that a sign of currency stands before it.
func suffix(text string, end int, priced bool) (shift int, unit string, stop int) {
	stop = end
	for range 2 {
		word, attached, next := wordAfter(text, stop)
		if word == "" {
			break
		}
		s := scale(word)
		if stop == end && (attached || priced && !strings.HasPrefix(text[next:], "-")) { // not "a $5 T-shirt"
			s = max(s, letterScale(word, priced))
		}
		if s > 0 && shift == 0 {
			shift, stop = s, next
			continue
		}
		if u := unitOf(word); u != "" {
			return shift, u, next
		}
		if word == "per" {
			if cent, _, after := wordAfter(text, next); cent == "cent" {
				return shift, "%", after
			}
		}
		break
	}
	return shift, "", stop
}

// wordAfter returns the lower-case word or symbol that follows a number, past
// marks of emphasis and one blank or hyphen.
func wordAfter(text string, at int) (word string, attached bool, next int) {
	rest := strings.TrimLeft(text[at:min(len(text), at+40)], "*_`")
	attached = true
	if gap, size := utf8.DecodeRuneInString(rest); size > 0 && strings.ContainsRune(blanks+"-", gap) {
		rest, attached = strings.TrimLeft(rest[size:], "*_`"), false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && r != '°' })
	switch {
	case end < 0:
		end = len(rest)
	case end == 0:
		r, size := utf8.DecodeRuneInString(rest)
		if r != '%' && currency(string(r)) == "" {
			return "", false, at
		}
		end = size
	}
	if end == 0 {
		return "", false, at
	}
	return strings.ToLower(rest[:end]), attached, at + strings.Index(text[at:], rest[:end]) + end
}

// letterScale returns the power of ten of a letter beside digits: "5k", and with a
// sign of currency "$5B".
func letterScale(word string, priced bool) int {
	switch {
	case word == "k":
		return 3
	case priced && word == "m":
		return 6
	case priced && word == "b":
		return 9
	case priced && word == "t":
		return 12
	}
	return 0
}

// scale returns the power of ten of a scale word.
func scale(word string) int {
	switch word {
	case "hundred":
		return 2
	case "thousand":
		return 3
	case "lakh":
		return 5
	case "million", "millions", "mn":
		return 6
	case "crore":
		return 7
	case "billion", "billions", "bn":
		return 9
	case "trillion", "trillions", "tn":
		return 12
	}
	return 0
}

// currency returns the canonical unit of a currency sign at the end of a text.
func currency(text string) string {
	for _, sign := range []string{"$", "€", "£", "¥", "₹"} {
		if strings.HasSuffix(text, sign) {
			return sign
		}
	}
	return ""
}

// unitNames maps the names of units to canonical ones. Names that mean several
// things ("pounds", "degrees", "in") are left out.
var unitNames = unitTable(`
	% percent pct
	$ dollar dollars usd
	€ euro euros eur
	£ gbp sterling
	¥ yen jpy
	₹ rupee rupees inr
	mg milligram milligrams
	g gram grams
	kg kilogram kilograms kilo kilos
	ton tons
	tonne tonnes
	mm millimetre millimetres millimeter millimeters
	cm centimetre centimetres centimeter centimeters
	m metre metres meter meters
	km kilometre kilometres kilometer kilometers
	mile miles mi
	foot feet ft
	inch inches
	yard yards
	ml millilitre millilitres milliliter milliliters
	litre litres liter liters
	gallon gallons
	second seconds
	minute minutes
	hour hours
	day days
	week weeks
	month months
	year years
	°c celsius
	°f fahrenheit
	kw kilowatt kilowatts
	mw megawatt megawatts
	gw gigawatt gigawatts
	kwh
	mwh
	mph
	hz
	khz
	mhz
	ghz`)

// unitTable reads lines of a canonical unit and its other names.
func unitTable(lines string) map[string]string {
	table := map[string]string{}
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		for _, w := range words {
			table[w] = words[0]
		}
	}
	return table
}

func unitOf(word string) string {
	if u := currency(word); u != "" {
		return u
	}
	return unitNames[word]
}

// numerals are the English number words below a hundred.
var numerals = func() map[string]int {
	values := map[string]int{}
	for i, w := range strings.Fields(`zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
		fifteen sixteen seventeen eighteen nineteen`) {
		values[w] = i
	}
	for i, w := range strings.Fields(`twenty thirty forty fifty sixty seventy eighty ninety`) {
		values[w] = 20 + 10*i
	}
	return values
}()

var letters = regexp.MustCompile(`\pL+`)

// ordinals are English ordinal words below a hundred without a hyphen.
var ordinals = func() map[string]int {
	values := map[string]int{}
	for i, w := range strings.Fields(`first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
		thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth`) {
		values[w] = i + 1
	}
	for i, w := range strings.Fields(`twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth`) {
		values[w] = 20 + 10*i
	}
	return values
}()

// numberWords reads English numbers in words below a million, with a scale and a
// unit: "twenty-one", "two hundred and five", "three million euros"; and ordinals,
// which raise no flag themselves.
func numberWords(text string) []quantity {
	w := wording{text: text, spans: letters.FindAllStringIndex(text, -1)}
	var out []quantity
	for i := 0; i < len(w.spans); {
		if value, next := w.ordinal(i); next > i {
			out = append(out, quantity{text: text[w.spans[i][0]:w.spans[next-1][1]], values: []string{strconv.Itoa(value)}, loose: true, ordinal: true})
			i = next
			continue
		}
		value, next := w.number(i)
		if next == i {
			i++
			continue
		}
		start, end := w.spans[i][0], w.spans[next-1][1]
		shift, unit, stop := suffix(text, end, false)
		from, sign := minusWord(text, start), ""
		if from < start {
			sign = "-"
		}
		out = append(out, quantity{
			text:   text[from:stop],
			values: []string{sign + decimal{whole: strconv.Itoa(value)}.canonical(shift)},
			unit:   unit,
			loose:  value == 1 && shift == 0 || numbersLabel(text, start, end),
		})
		i = next
	}
	return out
}

// wording is a text as words.
type wording struct {
	text  string
	spans [][]int
}

// is says whether word i, which is not the first, is one of some words and
// follows its predecessor closely.
func (w wording) is(i int, words ...string) bool {
	if i >= len(w.spans) {
		return false
	}
	return w.close(i) && slices.Contains(words, w.word(i))
}

// close says whether word i, which is not the first, follows its predecessor
// closely.
func (w wording) close(i int) bool {
	gap := w.text[w.spans[i-1][1]:w.spans[i][0]]
	return gap == " " || gap == "-"
}

func (w wording) word(i int) string { return strings.ToLower(w.text[w.spans[i][0]:w.spans[i][1]]) }

// small reads a number below a hundred at word i; next is i if there is none.
func (w wording) small(i int) (value, next int) {
	if i >= len(w.spans) {
		return 0, i
	}
	value, ok := numerals[w.word(i)]
	if w.article(i) {
		value, ok = 1, true
	}
	if !ok {
		return 0, i
	}
	i++
	if w.is(i, "dozen") {
		return 12 * value, i + 1
	}
	if value >= 20 && w.is(i, "one", "two", "three", "four", "five", "six", "seven", "eight", "nine") {
		value += numerals[w.word(i)]
		i++
	}
	return value, i
}

// article says whether word i is the "a" of "a hundred", which is one hundred; not
// so in "half a million" and "a quarter of a million".
func (w wording) article(i int) bool {
	return w.word(i) == "a" && w.is(i+1, "dozen", "hundred", "thousand", "lakh", "million", "crore", "billion", "trillion") &&
		(i == 0 || !w.close(i) || w.word(i-1) != "half" && w.word(i-1) != "of")
}

// ordinal reads "third" or "twenty-first" at word i; next is i if there is none.
// "Second" after a number is a unit of time.
func (w wording) ordinal(i int) (value, next int) {
	value, next = w.number(i)
	if next == len(w.spans) {
		return 0, i
	}
	n, ok := ordinals[w.word(next)]
	joins := next > i && w.close(next) && w.word(next) != "second" && (value%100 == 0 || value%10 == 0 && value%100 > 10 && n < 10)
	if !ok || next > i && !joins {
		return 0, i
	}
	return value + n, next + 1
}

// number reads a number below a million at word i. Thousands alone are left to
// be read as a scale.
func (w wording) number(i int) (value, next int) {
	value, next = w.hundreds(i)
	if next == i || !w.is(next, "thousand") {
		return value, next
	}
	tail := next + 1
	if w.is(tail, "and") {
		tail++
	}
	if tail < len(w.spans) && w.close(tail) {
		// Not "one thousand and two thousand".
		if rest, end := w.hundreds(tail); end > tail && !w.is(end, "thousand", "million", "billion", "trillion") {
			return 1000*value + rest, end
		}
	}
	return value, next
}

// hundreds reads a number below ten thousand at word i.
func (w wording) hundreds(i int) (value, next int) {
	value, next = w.small(i)
	if next == i || !w.is(next, "hundred") {
		return value, next
	}
	value *= 100
	next++
	tail := next
	if w.is(tail, "and") {
		tail++
	}
	if rest, end := w.small(tail); end > tail && !w.is(end, "hundred") {
		return value + rest, end
	}
	return value, next
}
