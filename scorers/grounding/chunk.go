package grounding

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"plumbline/scorers/entail"
)

// passage is one piece of evidence.
type passage struct {
	id, title, text string
}

// chunk is a stretch of one passage that is scored in one piece.
type chunk struct {
	passage int
	span    entail.Span // in the passage's text
	premise string      // the title and what stands in span
	// halved counts how often the chunk was cut again because a remote
	// verifier refused it.
	halved int
}

// window says how evidence is cut. All claims with the same window share the
// same chunks.
type window struct {
	tokens    int // of a premise at most, its title included
	stride    int // that the pieces of a cut sentence share
	overlap   int // sentences that neighbouring chunks share
	minicheck *miniCheckRules
}

// chunkSet is the evidence cut for one window.
type chunkSet struct {
	chunks  []chunk // with distinct premises, in the order of the passages
	covered int     // tokens of the evidence that stand in some chunk
}

// evidence is the passages of a request, cut once for each window. It is safe
// for concurrent use.
type evidence struct {
	passages  []passage
	tokenizer entail.Tokenizer
	split     *splitter
	tokens    int // of all texts

	mu    sync.Mutex
	units []units // for each passage
	sets  map[window]*chunkSet
}

// units is a passage's text as tokens, grouped into sentences.
type units struct {
	tokens    []entail.Span
	sentences []entail.Span // ranges of indices into tokens; together all of them
}

func newEvidence(passages []passage, tokenizer entail.Tokenizer, split *splitter) *evidence {
	e := &evidence{passages: passages, tokenizer: tokenizer, split: split, sets: map[window]*chunkSet{}}
	e.units = make([]units, len(passages))
	for i, p := range passages {
		e.units[i] = e.unitsOf(p.text)
		e.tokens += len(e.units[i].tokens)
	}
	return e
}

func (e *evidence) unitsOf(text string) units {
	if strings.TrimSpace(text) == "" {
		return units{} // to some tokenizers blanks are tokens
	}
	u := units{tokens: e.tokenizer.Spans(text)}
	next := 0 // the first token that no sentence has yet
	sentences := e.split.sentences(text)
	for i := range sentences {
		limit := len(text)
		if i+1 < len(sentences) {
			limit = sentences[i+1].span.Start
		}
		from := next
		for next < len(u.tokens) && u.tokens[next].Start < limit {
			next++
		}
		if from < next {
			u.sentences = append(u.sentences, entail.Span{Start: from, End: next})
		}
	}
	if next < len(u.tokens) { // text without any sentence, such as an emoji
		u.sentences = append(u.sentences, entail.Span{Start: next, End: len(u.tokens)})
	}
	return u
}

// empty says whether there is nothing to score against.
func (e *evidence) empty() bool { return e.tokens == 0 }

// cut returns the chunks for a window.
func (e *evidence) cut(w window) *chunkSet {
	e.mu.Lock()
	defer e.mu.Unlock()
	if set, ok := e.sets[w]; ok {
		return set
	}
	set := &chunkSet{}
	seen := map[string]bool{}
	for i := range e.passages {
		ranges := e.ranges(i, w)
		set.covered += union(ranges)
		for _, r := range ranges {
			c := e.chunk(i, r, w)
			if c.span.Start < c.span.End && !seen[c.premise] {
				seen[c.premise] = true
				set.chunks = append(set.chunks, c)
			}
		}
	}
	e.sets[w] = set
	return set
}

// union counts the tokens in at least one of some ranges with ascending
// starts.
func union(ranges []entail.Span) int {
	n, end := 0, 0
	for _, r := range ranges {
		n += max(0, r.End-max(r.Start, end))
		end = max(end, r.End)
	}
	return n
}

// ranges cuts passage i into ranges of tokens, each of which fits the window.
func (e *evidence) ranges(i int, w window) []entail.Span {
	u := e.units[i]
	if w.minicheck != nil {
		return e.fit(i, e.miniCheckRanges(i, *w.minicheck), w)
	}
	budget := max(1, w.tokens-e.count(titlePrefix(e.title(i, w)))-slack)
	return e.fit(i, pack(cutLong(e.passages[i].text, u, budget, min(w.stride, budget/2)), budget, w.overlap), w)
}

// slack is left free in each window because a piece of text may count for a
// token more alone than within its passage (byte-level and Unigram tokenizers
// mark the beginning of a text).
const slack = 2

// cutLong returns the sentences of a passage, those above the budget cut into
// pieces that share stride tokens, so that whatever is no longer than stride
// stands undivided in some piece.
func cutLong(text string, u units, budget, stride int) []entail.Span {
	var out []entail.Span
	for _, s := range u.sentences {
		for s.End-s.Start > budget {
			end := wordBorder(text, u.tokens, s.Start+budget*3/4, s.Start+budget)
			out = append(out, entail.Span{Start: s.Start, End: end})
			// Each piece is at least an eighth of the budget further on.
			next := max(s.Start+1, end-stride)
			s.Start = wordBorder(text, u.tokens, max(s.Start+budget/8, next-budget/8), next)
		}
		out = append(out, s)
	}
	return out
}

// wordBorder returns the last index in (low, high] whose token begins a word,
// or high if none does.
func wordBorder(text string, tokens []entail.Span, low, high int) int {
	for i := high; i > low && i < len(tokens); i-- {
		start := tokens[i].Start
		if start > tokens[i-1].End || text[start] <= ' ' {
			return i
		}
	}
	return high
}

// pack joins neighbouring units greedily into ranges of at most budget tokens.
// A range begins with the last overlap units of the one before it, as far as
// there is room for a new unit beside them.
func pack(units []entail.Span, budget, overlap int) []entail.Span {
	var out []entail.Span
	for first, next := 0, 0; next < len(units); {
		for first < next && units[next].End-units[first].Start > budget {
			first++
		}
		start := units[first].Start
		next++
		for next < len(units) && units[next].End-start <= budget {
			next++
		}
		out = append(out, entail.Span{Start: start, End: units[next-1].End})
		first = max(first+1, next-overlap)
	}
	return out
}

// fit makes sure of the window: a premise that counts for more tokens than its
// tokens within the passage did is halved.
func (e *evidence) fit(i int, ranges []entail.Span, w window) []entail.Span {
	var out []entail.Span
	for _, r := range ranges {
		out = e.fitOne(i, r, w, out)
	}
	return out
}

func (e *evidence) fitOne(i int, r entail.Span, w window, out []entail.Span) []entail.Span {
	if r.End-r.Start <= 1 || e.count(e.chunk(i, r, w).premise) <= w.tokens {
		return append(out, r)
	}
	mid := wordBorder(e.passages[i].text, e.units[i].tokens, r.Start+(r.End-r.Start)/4, r.Start+(r.End-r.Start)/2)
	out = e.fitOne(i, entail.Span{Start: r.Start, End: mid}, w, out)
	return e.fitOne(i, entail.Span{Start: mid, End: r.End}, w, out)
}

// chunk builds the chunk of a range of tokens of passage i.
func (e *evidence) chunk(i int, r entail.Span, w window) chunk {
	text, tokens := e.passages[i].text, e.units[i].tokens
	span := characters(text, entail.Span{Start: tokens[r.Start].Start, End: tokens[r.End-1].End})
	c := chunk{passage: i, span: trim(text, span)}
	body := text[c.span.Start:c.span.End]
	if w.minicheck != nil {
		body = miniCheckText(e.split, body)
	}
	c.premise = titlePrefix(e.title(i, w)) + body
	return c
}

// characters widens a span to whole characters: tokens of byte-level models
// may begin and end inside one.
func characters(text string, s entail.Span) entail.Span {
	for s.Start > 0 && !utf8.RuneStart(text[s.Start]) {
		s.Start--
	}
	for s.End < len(text) && !utf8.RuneStart(text[s.End]) {
		s.End++
	}
	return s
}

// title returns the title of passage i, cut to a quarter of the window: a
// title helps to read the text, it must not push it out.
func (e *evidence) title(i int, w window) string {
	if w.minicheck != nil || e.passages[i].title == "" {
		return "" // MiniCheck's documents have no titles
	}
	title := squeeze(e.passages[i].title)
	tokens := e.tokenizer.Spans(title)
	limit := w.tokens / 4
	if len(tokens) <= limit {
		return title
	}
	if limit == 0 {
		return ""
	}
	end := tokens[limit-1].End
	for end > 0 && end < len(title) && !utf8.RuneStart(title[end]) {
		end--
	}
	return title[:end]
}

// titlePrefix is what stands before a chunk's text: title and a blank line, as
// in CalVerT's documents.
func titlePrefix(title string) string {
	if title == "" {
		return ""
	}
	return title + "\n\n"
}

func (e *evidence) count(text string) int { return len(e.tokenizer.Spans(text)) }

// halve cuts a chunk in two at the blank nearest to its middle; ok is false if
// it is too short to cut.
func (e *evidence) halve(c chunk) (first, second chunk, ok bool) {
	text := e.passages[c.passage].text[c.span.Start:c.span.End]
	title := strings.TrimSuffix(c.premise, text)
	mid := len(text) / 2
	if i := strings.LastIndexFunc(text[:mid], unicode.IsSpace); i > mid/2 {
		mid = i
	}
	mid = characters(text, entail.Span{Start: mid, End: mid}).Start
	if mid < minHalf || c.halved >= maxHalvings {
		return chunk{}, chunk{}, false
	}
	part := func(start, end int) chunk {
		span := trim(e.passages[c.passage].text, entail.Span{Start: start, End: end})
		return chunk{
			passage: c.passage, span: span, halved: c.halved + 1,
			premise: title + e.passages[c.passage].text[span.Start:span.End],
		}
	}
	return part(c.span.Start, c.span.Start+mid), part(c.span.Start+mid, c.span.End), true
}

const (
	minHalf     = 16 // bytes
	maxHalvings = 5
)

// estimate stands in for the tokenizer of a remote model. It counts high: a
// token for every three ASCII letters, for every digit and mark, and for every
// byte of other characters, which no WordPiece, BPE or Unigram vocabulary in
// use exceeds on running text. A pair that is refused all the same is cut
// again.
type estimate struct{}

// Spans implements entail.Tokenizer.
func (estimate) Spans(text string) []entail.Span {
	var spans []entail.Span
	for i := 0; i < len(text); {
		end := i + 1
		switch c := text[i]; {
		case c <= ' ':
			i = end
			continue
		case isASCIILetter(c):
			for end < len(text) && end < i+3 && isASCIILetter(text[end]) {
				end++
			}
		}
		spans = append(spans, entail.Span{Start: i, End: end})
		i = end
	}
	return spans
}

func isASCIILetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
