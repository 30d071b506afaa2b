package grounding

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"plumbline/scorers/entail"
)

// sentence is one sentence, table row or listing of a source text.
type sentence struct {
	span  entail.Span // exact, without blanks at its ends
	plain string      // what it says without Markdown, blanks squeezed
	block blockKind
	// bold says that the whole sentence is bold, as labels are, and item that it
	// stands in an item of a list, where it is a label of nothing.
	bold, item bool
}

// scan is the outcome of reading a text, or a part of it.
type scan struct {
	sentences []sentence
	// settled is how many of the sentences no further text can change; rest
	// is where the first that is not settled begins, and continued whether it
	// stands inside a paragraph.
	settled   int
	rest      int
	continued bool
}

// sentences returns the sentences of a text, in order and apart.
func (s *splitter) sentences(text string) []sentence { return s.scan(text, 0, false, true).sentences }

// scan reads text[from:]; continued is that of the scan that ended at from, final
// says that no more text follows.
func (s *splitter) scan(text string, from int, continued, final bool) scan {
	out := scan{rest: from, continued: continued}
	settled := true
	for _, b := range blocks(text, from, continued, final) {
		sentences, stable := s.block(text, b)
		out.sentences = append(out.sentences, sentences...)
		if !settled {
			continue
		}
		out.settled += stable
		settled = b.closed
		switch {
		case settled:
			out.rest, out.continued = b.end(), false
		case stable > 0:
			out.rest, out.continued = sentences[stable-1].span.End, true
		}
	}
	return out
}

// block cuts a block into sentences and says how many of them stay as they
// are when the block grows.
func (s *splitter) block(text string, b block) ([]sentence, int) {
	reach := b.span.Start // the marks of a line begin before its text
	b.span = trim(text, b.span)
	source := text[b.span.Start:b.span.End]
	if !hasWord(source) {
		return nil, 0 // an emoji, a rule, an empty listing
	}
	switch b.kind {
	case blockCode:
		return whole(b, source)
	case blockRow:
		return whole(b, rowSays(text, b))
	}
	m := marks(text, block{span: entail.Span{Start: reach, End: b.span.End}, quoted: b.quoted})
	drop := m.drop
	p := newPlain(text, b.span, drop)
	if !hasWord(p.text) {
		if !slices.ContainsFunc(drop, func(m mark) bool { return m.citation }) {
			return nil, 0 // nothing but the target of a link
		}
		return whole(b, "")
	}
	ends := []int{len(p.text)}
	if b.kind == blockText {
		ends = s.ends(p.text, lineEnds(text, p))
	}
	out := make([]sentence, 0, len(ends))
	start := b.span.Start
	for i, end := range ends {
		stop := b.span.End
		if i+1 < len(ends) {
			stop = border(p, end, drop)
		}
		span := trim(text, entail.Span{Start: start, End: stop})
		inside := within(drop, span)
		out = append(out, sentence{
			span:  span,
			plain: squeeze(newPlain(text, span, inside).text),
			block: b.kind,
			bold:  wraps(text, span, inside),
			item:  b.item,
		})
		start = stop
	}
	if b.closed {
		return out, len(out)
	}
	return out, stable(out, ends, p.text, m)
}

// maxUnsteady is how many sentences at the end of a growing block are tried
// before all of it is taken to be unsettled.
const maxUnsteady = 8

// stable returns how many sentences of a growing block no further text can
// change, and can be taken away without a change to the rest. ends are their
// ends in the block's plain text.
func stable(sentences []sentence, ends []int, text string, m marking) int {
	for n := len(sentences) - 1; n > max(0, len(sentences)-1-maxUnsteady); n-- {
		before, after := sentences[n-1].span.End, sentences[n].span.Start
		torn := slices.ContainsFunc(m.pairs, func(p entail.Span) bool { return p.Start < after && before < p.End })
		if !torn && after < m.open && steady(text, ends, n-1) {
			return n
		}
	}
	return 0
}

// border returns where in the source the sentence that ends at the plain
// offset end gives way to the next: citations belong to the sentence before
// them, other marks to the text that they touch.
func border(p plain, end int, drop []mark) int {
	left := strings.TrimRightFunc(p.text[:end], unicode.IsSpace)
	gap := entail.Span{Start: p.source(max(len(left)-1, 0)) + 1, End: p.source(end)}
	for k := end; k < len(p.text); {
		r, size := utf8.DecodeRuneInString(p.text[k:])
		if !unicode.IsSpace(r) {
			gap.End = p.source(k)
			break
		}
		k += size
	}
	at := gap.Start
	for _, d := range within(drop, gap) {
		if d.Start == at || d.citation {
			at = d.End
		}
	}
	return at
}

// steady says whether the border ends[i] of plain text stays when more text
// follows: the rules look at most at two words after it, or at one character
// in a script without blanks.
func steady(text string, ends []int, i int) bool {
	border, start := ends[i], 0
	if i > 0 {
		start = ends[i-1]
	}
	if last := lastLetter(text[start:border]); last >= 0 && !unicode.Is(unicode.Latin, last) {
		return strings.IndexFunc(text[border:], unicode.IsLetter) >= 0
	}
	words, inWord, readable := 0, false, false
	for _, r := range text[border:] {
		switch {
		case !unicode.IsSpace(r):
			inWord = true
			readable = readable || isWord(r)
		case inWord:
			inWord = false
			words++
			if words >= 2 && readable {
				return true
			}
		}
	}
	return false
}

func lastLetter(text string) rune {
	i := strings.LastIndexFunc(text, unicode.IsLetter)
	if i < 0 {
		return -1
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	return r
}

// wraps says whether one pair of marks of bold text encloses the whole span.
func wraps(text string, span entail.Span, drop []mark) bool {
	if len(drop) != 2 || drop[0].Start != span.Start || drop[0].End-drop[0].Start < 2 || drop[1].citation {
		return false
	}
	return strings.Trim(text[drop[1].End:span.End], ":") == "" && (text[span.Start] == '*' || text[span.Start] == '_')
}

// whole makes one sentence of a block.
func whole(b block, says string) ([]sentence, int) {
	out := []sentence{{span: b.span, plain: says, block: b.kind}}
	if b.closed {
		return out, 1
	}
	return out, 0
}

// rowSays puts a table's row into words: "column: cell; column: cell". The names
// of the columns may be as long as the row and then some: many rows repeat them.
func rowSays(text string, b block) string {
	var parts []string
	room := b.span.End - b.span.Start + namesRoom
	for i, cell := range cells(text, b.span) {
		switch {
		case cell == "":
		case i < len(b.columns) && b.columns[i] != "" && len(b.columns[i]) <= room:
			room -= len(b.columns[i])
			parts = append(parts, b.columns[i]+": "+cell)
		default:
			parts = append(parts, cell)
		}
	}
	return strings.Join(parts, "; ")
}

// namesRoom is how many bytes of column names a row of whatever length may repeat.
const namesRoom = 2000

// cells returns what the cells of a table's row say. A bar after a backslash is
// part of its cell.
func cells(text string, span entail.Span) []string {
	said := strings.TrimSpace(newPlain(text, span, marks(text, block{span: span}).drop).text)
	said = strings.TrimPrefix(said, "|")
	var parts []string
	var cell strings.Builder
	for i := 0; i < len(said); i++ {
		switch {
		case strings.HasPrefix(said[i:], `\|`):
			i++
			cell.WriteByte('|')
		case said[i] == '|':
			parts = append(parts, squeeze(cell.String()))
			cell.Reset()
		default:
			cell.WriteByte(said[i])
		}
	}
	if last := squeeze(cell.String()); last != "" {
		parts = append(parts, last)
	}
	return parts
}

// trim takes the blanks off the ends of a span.
func trim(text string, span entail.Span) entail.Span {
	inner := strings.TrimRightFunc(text[span.Start:span.End], unicode.IsSpace)
	span.End = span.Start + len(inner)
	span.Start = span.End - len(strings.TrimLeftFunc(inner, unicode.IsSpace))
	return span
}
