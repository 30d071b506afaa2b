package grounding

import (
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"plumbline/scorers/entail"
)

// A small reader of the Markdown that language models write. A full parser
// would not do: claims must be exact spans of the input, time must be linear
// on hostile text, and plain text that merely looks like Markdown ("2*3*4",
// "1986. A good year.", an indented paragraph) must stay as it is.

// blockKind is the sort of a block of text.
type blockKind int

const (
	blockText blockKind = iota // a paragraph, list item or quotation
	blockHeading
	blockRow  // one row of a table
	blockCode // a fenced listing
)

// block is a piece of text across whose edges no sentence goes.
type block struct {
	kind blockKind
	span entail.Span // in the source, without list markers and hashes
	// columns are the names of a table's columns, of one of its rows; none if no
	// line gives them.
	columns []string
	// quoted says that lines may begin with ">", item that it is an item of a list.
	quoted, item bool
	// closed says that more text at the end of the source cannot change the
	// block.
	closed bool
	// below is the end of the line below that says what the block is, such as the
	// one of hyphens under the names of columns; 0 if there is none.
	below int
	// lines counts those of a paragraph.
	lines int
}

// end is where the text after the block begins.
func (b block) end() int { return max(b.span.End, b.below) }

var (
	headingLine = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]+`)
	ruleLine    = regexp.MustCompile(`^\s*([-*_=])[ \t]*(?:[-*_=][ \t]*){2,}$`)
	underline   = regexp.MustCompile(`^ {0,3}(?:=+|-{2,})[ \t]*$`)
	itemLine    = regexp.MustCompile(`^\s*(?:[-*+•‣◦●○▪▫■□·–✓✔✅]|\d{1,3}[.)]|[a-zA-Z]\)|\[\^[\w-]{1,32}\]:)\s+`)
	quoteLine   = regexp.MustCompile(`^\s*(?:>[ \t]?)+`)
	delimiter   = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$`)
)

// reader cuts a text into blocks line by line.
type reader struct {
	text   string
	final  bool // no more text follows
	blocks []block
	open   bool   // the last block takes further lines
	fence  string // the fence that a listing waits for
	// fenceQuoted says that the listing stands in a quotation, which ends it too.
	fenceQuoted bool
	columns     []string
	table       int  // the first block of the table that is open, or -1
	bare        bool // the open table's lines need not begin with a bar
}

// blocks cuts text[from:] into blocks. continued says that the text at from
// goes on with a paragraph whose beginning was taken away, final that no more
// text follows.
func blocks(text string, from int, continued, final bool) []block {
	r := &reader{text: text, final: final, table: -1}
	if continued {
		r.add(block{span: entail.Span{Start: from, End: from}, lines: 1})
		r.open = true
	}
	for from < len(text) {
		end := len(text)
		if i := strings.IndexByte(text[from:], '\n'); i >= 0 {
			end = from + i
		}
		r.line(from, end, continued)
		continued = false
		from = end + 1
	}
	if r.table >= 0 {
		r.blocks[r.table].closed = false
	}
	return r.blocks
}

func (r *reader) add(b block) {
	if n := len(r.blocks); n > 0 {
		r.blocks[n-1].closed = true
	}
	r.blocks = append(r.blocks, b)
	r.open = false
}

// complete says whether nothing can be added to the line that ends at an offset.
func (r *reader) complete(end int) bool { return r.final || end < len(r.text) }

func (r *reader) last() *block { return &r.blocks[len(r.blocks)-1] }

// line takes the line text[start:end]; rest says that it is the tail of a line
// whose head was taken away.
func (r *reader) line(start, end int, rest bool) {
	line := r.text[start:end]
	complete := r.complete(end)
	if r.fence != "" && r.listed(line, end, complete) {
		return
	}
	quoted := false
	if m := quoteLine.FindString(line); m != "" && !rest {
		start, line, quoted = start+len(m), line[len(m):], true
	}
	if r.open && !rest && r.relabelled(start, end) {
		return
	}
	trimmed := strings.TrimSpace(line)
	empty := !rest && (trimmed == "" || ruleLine.MatchString(line))
	if empty && !complete {
		return
	}
	isRow := !rest && (isRowAlone(trimmed, complete) || r.table >= 0 && isRowBelow(line, r.bare))
	if !isRow && (complete || !r.bare) { // a beginning of a line may yet turn out to be a row
		r.endTable()
	}
	switch {
	case empty:
		if len(r.blocks) > 0 {
			r.last().closed = true
		}
		r.open = false
	case rest:
		r.last().span.End = end
	case isRow && !isFence(trimmed):
		r.row(start, end)
	default:
		r.begin(start, end, quoted)
	}
}

// relabelled says whether the line text[start:end] says what the open paragraph
// above it is, a title or the names of columns, and makes it that.
func (r *reader) relabelled(start, end int) bool {
	line := r.text[start:end]
	if underline.MatchString(line) && r.title(strings.TrimSpace(line)[0] == '=') {
		r.last().kind, r.last().closed, r.last().below, r.open = blockHeading, r.complete(end), end, false
		return true
	}
	if r.names(start, end) {
		r.beginTable(true)
		r.nameColumns(end)
		return true
	}
	return false
}

// begin takes a line of text that is no row: it begins a listing, a heading, an item
// or a paragraph, or goes on with the open one.
func (r *reader) begin(start, end int, quoted bool) {
	line := r.text[start:end]
	item := itemLine.FindString(line)
	said := strings.TrimSpace(line[len(item):])
	switch {
	case isFence(said):
		r.listing(start+len(item), end, said, quoted)
	case headingLine.MatchString(line):
		start += len(headingLine.FindString(line))
		r.add(block{kind: blockHeading, span: entail.Span{Start: start, End: end}, closed: r.complete(end)})
	case item != "":
		r.add(block{span: entail.Span{Start: start + len(item), End: end}, quoted: quoted, item: true, lines: 1})
		r.undecided(end)
		r.open = true
	case r.open && len(r.blocks) > 0:
		r.last().span.End = end
		r.last().quoted = r.last().quoted || quoted
		r.last().lines++
	default:
		r.add(block{span: entail.Span{Start: start, End: end}, quoted: quoted, lines: 1})
		r.open = true
	}
}

// listing begins one with the fence that the line text[start:end] says.
func (r *reader) listing(start, end int, said string, quoted bool) {
	r.add(block{kind: blockCode, span: entail.Span{Start: start, End: end}})
	r.fence, r.fenceQuoted = said[:ticks(said)], quoted
	r.undecided(end)
}

// undecided keeps the block before the last one open while the line that begins
// the last one is incomplete: it may yet turn out to be more of that block.
func (r *reader) undecided(end int) {
	if n := len(r.blocks); n > 1 && !r.complete(end) {
		r.blocks[n-2].closed = false
	}
}

// listed takes a line of the open listing and returns whether it is one: a
// listing in a quotation ends with it.
func (r *reader) listed(line string, end int, complete bool) bool {
	if r.fenceQuoted {
		m := quoteLine.FindString(line)
		if m == "" && (complete || strings.TrimSpace(line) != "") {
			r.fence, r.last().closed = "", true
			return false
		}
		line = line[len(m):]
	}
	r.last().span.End = end
	if trimmed := strings.TrimSpace(line); complete && strings.HasPrefix(trimmed, r.fence) && strings.Trim(trimmed, r.fence[:1]) == "" {
		r.fence, r.last().closed = "", true
	}
	return true
}

// title says whether the open paragraph is a title: one line without a verb. A
// line of equals signs makes it a heading, one of hyphens only if it is short
// too: it may be a mere rule.
func (r *reader) title(equals bool) bool {
	b := r.last()
	text := r.text[b.span.Start:b.span.End]
	return r.oneLine(b) && (equals || len(strings.Fields(text)) <= maxTitle) && !hasFiniteVerb(text)
}

// oneLine says whether a block is one line of text from its beginning, which is no
// item of a list, without the end of a sentence.
func (r *reader) oneLine(b *block) bool {
	if b.lines != 1 { // text of many lines is not searched again below each of them
		return false
	}
	text := r.text[b.span.Start:b.span.End]
	before := r.text[strings.LastIndexByte(r.text[:b.span.Start], '\n')+1 : b.span.Start]
	return b.kind == blockText && text != "" && strings.Trim(before, " \t>") == "" && !strings.ContainsFunc(text, terminal) &&
		!strings.ContainsAny(strings.TrimSpace(text), "\r\u0085\u2028\u2029") // UAX #29 ends sentences there
}

// names says whether the line text[start:end] makes the open paragraph the names
// of as many columns: "a | b" above "--- | ---".
func (r *reader) names(start, end int) bool {
	line := r.text[start:end]
	if !strings.Contains(line, "|") || !delimiter.MatchString(line) || !r.oneLine(r.last()) {
		return false
	}
	return len(cells(r.text, r.last().span)) == len(cells(r.text, entail.Span{Start: start, End: end}))
}

// maxTitle is how many words a title above a line of hyphens has at most.
const maxTitle = 6

// isFence says whether a line begins a listing; with a further backtick it is
// inline code.
func isFence(line string) bool {
	n := ticks(line)
	return n >= 3 && (line[0] == '~' || !strings.Contains(line[n:], "`"))
}

// ticks is the length of the run of backticks or tildes at a line's beginning.
func ticks(line string) int {
	if line == "" || line[0] != '`' && line[0] != '~' {
		return 0
	}
	return len(line) - len(strings.TrimLeft(line, line[:1]))
}

// isRowAlone says whether a line may be the first row of a table: bars stand at
// both of its ends. "|x| is even." is a sentence.
func isRowAlone(line string, complete bool) bool {
	return strings.HasPrefix(line, "|") && (!complete || len(line) > 1 && strings.HasSuffix(line, "|"))
}

// isRowBelow says whether a line below a row is one too: it begins with a bar or, in
// a bare table, has one and begins nothing else.
func isRowBelow(line string, bare bool) bool {
	trimmed := strings.TrimSpace(line)
	return strings.HasPrefix(trimmed, "|") ||
		bare && strings.Contains(line, "|") && !headingLine.MatchString(line) && !itemLine.MatchString(line) && !isFence(trimmed)
}

// row takes one line of a table. The line before a delimiter row names the
// columns and becomes a heading.
func (r *reader) row(start, end int) {
	row := block{kind: blockRow, span: entail.Span{Start: start, End: end}}
	switch {
	case r.table < 0:
		r.add(row)
		r.undecided(end)
		r.beginTable(false)
	case delimiter.MatchString(r.text[start:end]):
		if r.table == len(r.blocks)-1 && r.last().kind != blockHeading {
			r.nameColumns(end)
		}
		r.last().below = end
	default:
		row.columns = r.columns
		r.blocks = append(r.blocks, row)
	}
	r.open = false
}

// beginTable makes the last block the first of a table.
func (r *reader) beginTable(bare bool) {
	r.table, r.bare, r.columns, r.open = len(r.blocks)-1, bare, nil, false
}

// nameColumns makes the last block the row that names the columns, by the line
// that ends at an offset.
func (r *reader) nameColumns(below int) {
	r.columns = cells(r.text, r.last().span)
	for i, name := range r.columns {
		if len(name) > maxColumnName {
			r.columns[i] = "" // each row would repeat it
		}
	}
	r.last().kind, r.last().closed, r.last().below = blockHeading, false, below
}

// maxColumnName is the longest name of a column in bytes.
const maxColumnName = 100

// endTable closes the rows of a table all at once: what one of them says
// depends on the lines before it.
func (r *reader) endTable() {
	if r.table < 0 {
		return
	}
	for i := r.table; i < len(r.blocks); i++ {
		r.blocks[i].closed = true
	}
	r.table = -1
}

// mark is Markdown that is no part of what the text says.
type mark struct {
	entail.Span
	citation bool
}

// marking is the outcome of looking for marks in a block.
type marking struct {
	// drop are the marks, in order and apart from each other.
	drop []mark
	// pairs are the stretches from an opening mark to its closing one.
	pairs []entail.Span
	// open is the offset of the first mark that more text could still close,
	// or the block's end.
	open int
}

// marks finds the emphasis, code, link and citation marks of a block.
func marks(text string, b block) marking {
	m := marker{text: text, end: b.span.End, quoted: b.quoted, open: map[string][]int{}}
	for i := b.span.Start; i < b.span.End; {
		i = m.step(i, i == b.span.Start)
	}
	slices.SortFunc(m.found, func(a, b mark) int { return a.Start - b.Start })
	merged := m.found[:0]
	for _, f := range m.found {
		if n := len(merged); n > 0 && f.Start < merged[n-1].End {
			merged[n-1].End = max(merged[n-1].End, f.End)
			merged[n-1].citation = merged[n-1].citation || f.citation
			continue
		}
		merged = append(merged, f)
	}
	return marking{drop: merged, pairs: m.pairs, open: m.firstOpen()}
}

// marker scans one block. Every branch looks ahead a bounded distance or
// remembers that it looked in vain, so that time is linear.
type marker struct {
	text     string
	end      int
	quoted   bool
	found    []mark
	pairs    []entail.Span
	open     map[string][]int // openers of emphasis and brackets by their text
	noTicks  [4]bool          // no closing run of so many backticks follows
	openTick int              // 1 + the offset of the first unclosed backtick
	unclosed int              // 1 + that of the first link or citation that the end cuts
}

func (m *marker) drop(start, end int) {
	m.found = append(m.found, mark{Span: entail.Span{Start: start, End: end}})
}

// dropPair drops an opening mark and the closing one.
func (m *marker) dropPair(opening, closing entail.Span) {
	m.drop(opening.Start, opening.End)
	m.drop(closing.Start, closing.End)
	m.pairs = append(m.pairs, entail.Span{Start: opening.Start, End: closing.End})
}

func (m *marker) firstOpen() int {
	first := m.end
	if m.openTick > 0 {
		first = min(first, m.openTick-1)
	}
	if m.unclosed > 0 {
		first = min(first, m.unclosed-1)
	}
	for _, stack := range m.open {
		if len(stack) > 0 {
			first = min(first, stack[0])
		}
	}
	return first
}

// step handles the character at i and returns where to go on.
func (m *marker) step(i int, first bool) int {
	switch m.text[i] {
	case '\n':
		if !m.quoted {
			return i + 1
		}
		prefix := quoteLine.FindString(m.text[i+1 : min(m.end, i+65)])
		if prefix != "" {
			m.drop(i+1, i+1+len(prefix))
		}
		return i + 1 + len(prefix)
	case '\\':
		if i+1 < m.end && strings.IndexByte("*_`~[]", m.text[i+1]) >= 0 {
			m.drop(i, i+1)
			return i + 2
		}
	case '`':
		return m.ticks(i)
	case '*', '_', '~':
		return m.emphasis(i, first)
	case '[':
		m.open["["] = append(m.open["["], i)
	case ']':
		return m.bracket(i)
	case 0xE3: // "【", the first byte of which no ASCII text has
		return m.lenticular(i)
	}
	return i + 1
}

// run returns the end of the run of equal bytes at i.
func (m *marker) run(i int) int {
	j := i + 1
	for j < m.end && m.text[j] == m.text[i] {
		j++
	}
	return j
}

func (m *marker) ticks(i int) int {
	end := m.run(i)
	n := end - i
	if n > 3 {
		return end
	}
	if !m.noTicks[n] {
		for j := end; j < m.end; j++ {
			if m.text[j] != '`' {
				continue
			}
			stop := m.run(j)
			if stop-j == n {
				m.dropPair(entail.Span{Start: i, End: end}, entail.Span{Start: j, End: stop})
				return stop
			}
			j = stop
		}
		m.noTicks[n] = true
	}
	if m.openTick == 0 {
		m.openTick = i + 1
	}
	return end
}

// emphasis pairs runs of the same mark. A single mark between two letters or
// digits ("2*3", "snake_case") is text, and so is one between blanks.
func (m *marker) emphasis(i int, first bool) int {
	end := m.run(i)
	n := end - i
	if n > 3 || m.text[i] == '~' && n != 2 {
		return end
	}
	before, _ := utf8.DecodeLastRuneInString(m.text[:i])
	after, _ := utf8.DecodeRuneInString(m.text[end:m.end])
	blankBefore := first || i == 0 || unicode.IsSpace(before)
	blankAfter := end == m.end || unicode.IsSpace(after)
	inWord := !blankBefore && !blankAfter && isWord(before) && isWord(after)
	if inWord && (n == 1 || m.text[i] == '_') {
		return end
	}
	key := m.text[i:end]
	switch {
	case !blankBefore && m.close(key, i, i):
	case !blankBefore && n == 3 && len(m.open[key[:1]]) > 0 && len(m.open[key[:2]]) > 0:
		m.close(key[:1], i, i)
		m.close(key[:2], i, i+1)
	case !blankAfter:
		m.open[key] = append(m.open[key], i)
	}
	return end
}

// close drops the mark at an offset and its latest opener, if there is one
// with text between it and the run of marks at run.
func (m *marker) close(key string, run, at int) bool {
	stack := m.open[key]
	if len(stack) == 0 || stack[len(stack)-1]+len(key) == run {
		return false
	}
	start := stack[len(stack)-1]
	m.open[key] = stack[:len(stack)-1]
	m.dropPair(entail.Span{Start: start, End: start + len(key)}, entail.Span{Start: at, End: at + len(key)})
	return true
}

var citation = regexp.MustCompile(`^(?:\^?\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*|\^[\w-]{1,32}|(?i:docs?|documents?|sources?|passages?|refs?|citations?|evidence|chunks?)[ .:#-]*\d{1,4}(?:\s*,\s*\d{1,4})*)$`)

// maxCitation is the longest citation in bytes, brackets not counted.
const maxCitation = 64

// bracket handles "]": of a link or image only the label is text, of a
// citation nothing.
func (m *marker) bracket(i int) int {
	stack := m.open["["]
	if len(stack) == 0 {
		return i + 1
	}
	start := stack[len(stack)-1]
	m.open["["] = stack[:len(stack)-1]
	label := m.text[start+1 : i]
	target, open := linkEnd(m.text[:m.end], i+1)
	if open {
		m.cut(start)
	}
	if isCitation(label) && (start == 0 || m.text[start-1] != '!') {
		end := max(i+1, target) // a citation may be a link
		m.cite(start, end)
		return end
	}
	if target > 0 {
		if start > 0 && m.text[start-1] == '!' {
			start--
		}
		m.dropPair(entail.Span{Start: start, End: m.labelStart(start)}, entail.Span{Start: i, End: target})
		return target
	}
	return i + 1
}

// isCitation says whether the label in brackets is a citation, perhaps in brackets
// of its own: "[[3]](https://…)".
func isCitation(label string) bool {
	if len(label) > maxCitation {
		return false
	}
	if inner, ok := strings.CutPrefix(label, "["); ok {
		label = strings.TrimSuffix(inner, "]")
	}
	return citation.MatchString(label)
}

func (m *marker) labelStart(start int) int {
	if m.text[start] == '!' {
		start++
	}
	return start + 1
}

// cite drops a citation with the blanks before it.
func (m *marker) cite(start, end int) {
	for start > 0 && (m.text[start-1] == ' ' || m.text[start-1] == '\t') {
		start--
	}
	m.found = append(m.found, mark{Span: entail.Span{Start: start, End: end}, citation: true})
}

// cut notes that the end of the text cuts what begins at an offset.
func (m *marker) cut(start int) {
	if m.unclosed == 0 {
		m.unclosed = start + 1
	}
}

// linkEnd returns the end of a link's target "(…)" at i, or 0; open says that the
// end of the text cuts it. Targets have no blanks, but for those before a title, and
// at most one pair of parentheses inside, which bounds the search.
func linkEnd(text string, i int) (end int, open bool) {
	if i >= len(text) {
		return 0, true
	}
	if text[i] != '(' {
		return 0, false
	}
	depth := 0
	for j := i; j < len(text) && text[j] >= ' '; j++ {
		switch text[j] {
		case '(':
			depth++
			if depth > 2 {
				return 0, false
			}
		case ')':
			depth--
			if depth == 0 {
				return j + 1, false
			}
		case ' ':
			return titleEnd(text, j)
		}
		open = j+1 == len(text)
	}
	return 0, open
}

var (
	// linkTitle matches the title of a link with the end of its target.
	linkTitle = regexp.MustCompile(`^ {1,3}(?:"[^"\n]{0,200}"|'[^'\n]{0,200}')\)`)
	// cutTitle matches the beginning of one, to the end of the text.
	cutTitle = regexp.MustCompile(`^ {1,3}(?:"[^"\n]{0,200}"?|'[^'\n]{0,200}'?)?$`)
)

// maxLinkTitle bounds the search for the end of a title, in bytes.
const maxLinkTitle = 1024

// titleEnd returns the end of a link whose title begins after the blank at i, or 0;
// open says that the end of the text cuts it.
func titleEnd(text string, i int) (end int, open bool) {
	rest := text[i:min(len(text), i+maxLinkTitle)]
	if m := linkTitle.FindString(rest); m != "" {
		return i + len(m), false
	}
	return 0, i+len(rest) == len(text) && cutTitle.MatchString(rest)
}

// fileCitation is what OpenAI's assistants write of a file: message and place.
var fileCitation = regexp.MustCompile(`^\d{1,3}:\d{1,3}$`)

// maxSource is the longest name of a source behind a dagger, in bytes.
const maxSource = 300

// lenticular handles citations such as "【3†source】" and "【4:0†report.pdf】".
func (m *marker) lenticular(i int) int {
	const left, right = "【", "】"
	rest := m.text[i:min(m.end, i+maxSource)]
	if !strings.HasPrefix(rest, left) {
		return i + 1
	}
	end := strings.Index(rest, right)
	if end < 0 {
		if i+len(rest) == m.end {
			m.cut(i)
		}
		return i + len(left)
	}
	label, _, _ := strings.Cut(rest[len(left):end], "†")
	if len(label) <= maxCitation && (citation.MatchString(label) || fileCitation.MatchString(label)) {
		m.cite(i, i+end+len(right))
		return i + end + len(right)
	}
	return i + len(left)
}

// plain is what a piece of source says without its marks, with the way back.
type plain struct {
	text string
	runs []run
}

// run is a stretch of plain text that the source has in one piece.
type run struct{ plain, source int }

func newPlain(text string, span entail.Span, drop []mark) plain {
	if len(drop) == 0 {
		return plain{text: text[span.Start:span.End], runs: []run{{source: span.Start}}}
	}
	var b strings.Builder
	var p plain
	keep := func(start, end int) {
		if start < end {
			p.runs = append(p.runs, run{plain: b.Len(), source: start})
			b.WriteString(text[start:end])
		}
	}
	at := span.Start
	for _, d := range drop {
		keep(at, min(d.Start, span.End))
		at = max(at, d.End)
	}
	keep(at, span.End)
	p.text = b.String()
	return p
}

// source returns the offset in the source of the plain byte at i.
func (p plain) source(i int) int {
	k := sort.Search(len(p.runs), func(k int) bool { return p.runs[k].plain > i }) - 1
	return p.runs[k].source + i - p.runs[k].plain
}

// within returns the marks that lie in a span.
func within(drop []mark, span entail.Span) []mark {
	from := sort.Search(len(drop), func(i int) bool { return drop[i].End > span.Start })
	to := sort.Search(len(drop), func(i int) bool { return drop[i].Start >= span.End })
	return drop[from:max(from, to)]
}

// squeeze trims a text and turns every run of blanks into one blank.
func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }
