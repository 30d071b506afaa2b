package grounding

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	by      *cutter
	passage int
	span    entail.Span // in the passage's text
	premise string      // the title and what stands in span
	// among are the passages whose coarse cut has the premise; the first is passage.
	among []int
	// group is the same number for chunks with the same among.
	group int
	// fine says that only the fine cut of the evidence has the chunk.
	fine bool
	// halved counts how often the chunk was cut again because a remote
	// verifier refused it.
	halved int
}

// window says how evidence is cut. All claims with the same window share the
// same chunks.
type window struct {
	tokens    int // of a premise at most, its title included
	fine      int // the same for a second, finer cut; 0 if there is none
	stride    int // that the pieces of a cut sentence share
	overlap   int // sentences that neighbouring chunks share
	minicheck *miniCheckRules
}

// chunkSet is the evidence cut for one window.
type chunkSet struct {
	chunks  []chunk // with distinct premises, in the order of the passages
	covered int     // tokens of the evidence that stand in some chunk
	// shortened is how many passages have a title that their chunks in the coarse
	// cut have not whole.
	shortened int
}

// evidence is the passages of a request, cut once for each window. It is safe
// for concurrent use.
type evidence struct {
	passages  []passage
	tokenizer entail.Tokenizer
	split     *splitter
	units     []units // for each passage
	tokens    int     // of all texts

	mu   sync.Mutex
	sets map[window]*chunkSet
}

// units is a passage's text as tokens, grouped into sentences.
type units struct {
	tokens    []entail.Span
	sentences []entail.Span // ranges of indices into tokens; together all of them
}

// newEvidence reads the passages. When ctx ends it leaves out the rest.
func newEvidence(ctx context.Context, passages []passage, tokenizer entail.Tokenizer, split *splitter) *evidence {
	e := &evidence{passages: passages, tokenizer: tokenizer, split: split, sets: map[window]*chunkSet{}}
	e.units = make([]units, len(passages))
	for i, p := range passages {
		if ctx.Err() != nil {
			break
		}
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

// cut returns the chunks for a window, or why ctx ended before they were cut.
func (e *evidence) cut(ctx context.Context, w window) (*chunkSet, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if set, ok := e.sets[w]; ok {
		return set, nil
	}
	set := &chunkSet{}
	seen := map[string]int{}
	for i := range e.passages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		by := e.cutter(i, w)
		ranges := by.ranges()
		set.covered += union(ranges)
		if by.shortened {
			set.shortened++
		}
		for _, r := range ranges {
			set.add(seen, by.chunk(r))
		}
	}
	if w.fine > 0 { // after the coarse cut of all passages, whose chunks count for more
		closer := window{tokens: w.fine, stride: w.stride, overlap: w.overlap}
		for i := range e.passages {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			by := e.cutter(i, closer)
			for _, r := range by.ranges() {
				c := by.chunk(r)
				c.fine = true
				set.add(seen, c)
			}
		}
	}
	set.group()
	e.sets[w] = set
	return set, nil
}

// group numbers the sets of passages that share a chunk: one passage by its place,
// several below zero.
func (s *chunkSet) group() {
	numbers := map[string]int{}
	for i := range s.chunks {
		c := &s.chunks[i]
		if c.group = c.among[0]; len(c.among) == 1 {
			continue
		}
		key := fmt.Sprint(c.among)
		if _, ok := numbers[key]; !ok {
			numbers[key] = -1 - len(numbers)
		}
		c.group = numbers[key]
	}
}

// add adds a chunk, or its passage to the chunk that has its premise. seen has
// the place of each premise.
func (s *chunkSet) add(seen map[string]int, c chunk) {
	if c.span.Start >= c.span.End {
		return
	}
	if i, ok := seen[c.premise]; ok {
		if of := &s.chunks[i]; !c.fine && of.among[len(of.among)-1] != c.passage {
			of.among = append(of.among, c.passage)
		}
		return
	}
	seen[c.premise] = len(s.chunks)
	c.among = []int{c.passage}
	s.chunks = append(s.chunks, c)
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

// cutter cuts one passage for one window.
type cutter struct {
	*evidence
	passage int
	window  window
	prefix  string // the title's part of each premise
	// shortened says that prefix has not all of the title.
	shortened bool
}

func (e *evidence) cutter(passage int, w window) *cutter {
	c := &cutter{evidence: e, passage: passage, window: w}
	c.prefix, c.shortened = e.titlePrefix(passage, w)
	return c
}

// ranges cuts the passage into ranges of tokens, each of which fits the window.
func (c *cutter) ranges() []entail.Span {
	var ranges []entail.Span
	if rules := c.window.minicheck; rules != nil {
		ranges = c.miniCheckRanges(*rules)
	} else {
		budget := max(1, c.window.tokens-c.count(c.prefix)-slack)
		stride := min(c.window.stride, budget-budget/stepsOfBudget)
		ranges = pack(cutLong(c.passages[c.passage].text, c.units[c.passage], budget, stride), budget, c.window.overlap)
	}
	var fitting []entail.Span
	for _, r := range ranges {
		fitting = c.fit(r, fitting)
	}
	return fitting
}

// slack is left free in each window because a piece of text may count for a
// token more alone than within its passage (byte-level and Unigram tokenizers
// mark the beginning of a text).
const slack = 2

// stepsOfBudget is into how many parts a budget is divided, by one of which each piece of a
// cut sentence is at least further on than the one before.
const stepsOfBudget = 8

// cutLong returns the sentences of a passage, those above the budget cut into
// pieces that share stride tokens, so that whatever is no longer than stride
// stands undivided in some piece. stride is at most budget - budget/stepsOfBudget.
func cutLong(text string, u units, budget, stride int) []entail.Span {
	var out []entail.Span
	for _, s := range u.sentences {
		for s.End-s.Start > budget {
			step := max(1, budget/stepsOfBudget)
			end := wordBorder(text, u.tokens, s.Start+max(budget*3/4, min(stride+step, budget-1)), s.Start+budget)
			out = append(out, entail.Span{Start: s.Start, End: end})
			next := max(s.Start+step, end-stride)
			s.Start = wordBorder(text, u.tokens, max(s.Start+step, next-step), next)
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
// tokens within the passage did is cut into halves that share as much of the window's
// stride as leaves each of them shorter.
func (c *cutter) fit(r entail.Span, out []entail.Span) []entail.Span {
	if r.End-r.Start <= 1 || c.count(c.chunk(r).premise) <= c.window.tokens {
		return append(out, r)
	}
	quarter := (r.End - r.Start) / 4
	mid := wordBorder(c.passages[c.passage].text, c.units[c.passage].tokens, r.Start+quarter, r.Start+max(1, 2*quarter))
	out = c.fit(entail.Span{Start: r.Start, End: mid}, out)
	return c.fit(entail.Span{Start: max(r.Start+max(1, quarter), mid-c.window.stride), End: r.End}, out)
}

// chunk builds the chunk of a range of tokens.
func (c *cutter) chunk(r entail.Span) chunk {
	text, tokens := c.passages[c.passage].text, c.units[c.passage].tokens
	return c.at(characters(text, entail.Span{Start: tokens[r.Start].Start, End: tokens[r.End-1].End}))
}

// at builds the chunk of a span of the passage's text.
func (c *cutter) at(span entail.Span) chunk {
	text := c.passages[c.passage].text
	span = trim(text, span)
	body := text[span.Start:span.End]
	if c.window.minicheck != nil {
		body = miniCheckText(c.split, body)
	}
	return chunk{by: c, passage: c.passage, span: span, premise: c.prefix + body}
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

// titlePrefix is what stands before the text of each chunk of passage i: the
// title and a blank line, as in CalVerT's documents. A title is cut to a
// quarter of the window, or to what a claim leaves that is to stand whole beside it:
// it helps to read the text, it must not push it out.
func (e *evidence) titlePrefix(i int, w window) (prefix string, shortened bool) {
	title := squeeze(e.passages[i].title)
	if w.minicheck != nil || title == "" {
		return "", false // MiniCheck's documents have no titles
	}
	tokens := e.tokenizer.Spans(title)
	limit := w.tokens / 4
	// The least budget with a step besides the stride is 8/7 of the stride, rounded up.
	least := (w.stride*stepsOfBudget + stepsOfBudget - 2) / (stepsOfBudget - 1)
	if beside := w.tokens - slack - least; beside > 0 {
		limit = min(limit, beside)
	}
	if shortened = len(tokens) > limit; shortened {
		end := tokens[limit-1].End
		for end < len(title) && !utf8.RuneStart(title[end]) {
			end--
		}
		title = title[:end]
	}
	return joinTexts(title, ""), shortened
}

// joinTexts puts a blank line between two texts.
func joinTexts(a, b string) string { return a + "\n\n" + b }

func (e *evidence) count(text string) int { return len(e.tokenizer.Spans(text)) }

// halve cuts a chunk in two at the last blank of its first half. The halves share
// as much of the window's stride as before allows, so that a short claim at the cut
// stands whole in one. ok is false if the chunk is too short to cut.
func (c chunk) halve() (first, second chunk, ok bool) {
	text := c.by.passages[c.passage].text
	mid := c.span.Start + (c.span.End-c.span.Start)/2
	if mid-c.span.Start < minHalf || c.halved >= maxHalvings {
		return chunk{}, chunk{}, false
	}
	if i := strings.LastIndexFunc(text[c.span.Start:mid], unicode.IsSpace); i >= minHalf/2 {
		mid = c.span.Start + i
	}
	mid = characters(text, entail.Span{Start: mid, End: mid}).Start
	first, second = c.by.at(entail.Span{Start: c.span.Start, End: mid}), c.by.at(entail.Span{Start: c.before(mid), End: c.span.End})
	for _, half := range []*chunk{&first, &second} {
		half.halved, half.fine, half.among, half.group = c.halved+1, c.fine, c.among, c.group
	}
	return first, second, true
}

// before is where the second half begins whose first ends at an offset: the
// window's stride before it, but no more than an eighth of the chunk, so that halves
// become short soon.
func (c chunk) before(mid int) int {
	tokens := c.by.units[c.passage].tokens
	at, _ := slices.BinarySearchFunc(tokens, mid, func(t entail.Span, offset int) int { return cmp.Compare(t.Start, offset) })
	start := min(mid, tokens[min(max(0, at-c.by.window.stride), len(tokens)-1)].Start)
	text := c.by.passages[c.passage].text
	return characters(text, entail.Span{Start: max(start, mid-(mid-c.span.Start)/4), End: mid}).Start
}

const (
	minHalf     = 16 // bytes
	maxHalvings = 6
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
