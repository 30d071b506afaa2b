package grounding

import (
	"strings"

	"plumbline/scorers/entail"
)

// miniCheckRules are MiniCheck's rules of chunking for one of its models (Tang
// et al. 2024, "MiniCheck: Efficient Fact-Checking of LLMs on Grounding
// Documents"; reference implementation, inference.py).
type miniCheckRules struct {
	// size is the size of a chunk, in white-space words if words, else in
	// tokens.
	size  int
	words bool
	// splitClaims says that a claim is scored sentence by sentence and gets
	// the least support among them.
	splitClaims bool
	// maxTokens is the reference's limit of a pair, even where the verifier takes more.
	maxTokens int
}

// miniCheckModel names the rules of the models whose name has all the words.
type miniCheckModel struct {
	name  string
	rules miniCheckRules
}

// miniCheckModels are the published models; the first whose name is part of
// the verifier's name applies.
func miniCheckModels() []miniCheckModel {
	return []miniCheckModel{
		{"roberta-large", miniCheckRules{size: 400, maxTokens: 512}},
		{"deberta-v3-large", miniCheckRules{size: 400, maxTokens: 2048}},
		{"flan-t5-large", miniCheckRules{size: 500, words: true, maxTokens: 2048}},
		{"minicheck-7b", miniCheckRules{size: 32468, splitClaims: true, maxTokens: 32768}},
	}
}

// miniCheckFor returns the rules for a verifier. One that is none of MiniCheck's
// models by its name (known is false) follows the rules of their encoders.
func miniCheckFor(d entail.Description) (rules miniCheckRules, known bool) {
	for _, m := range miniCheckModels() {
		if strings.Contains(strings.ToLower(d.Name), m.name) {
			return m.rules, true
		}
	}
	return miniCheckRules{size: 400, maxTokens: d.MaxTokens}, false
}

// miniCheckPack joins pieces greedily to chunks of at most size; a piece that
// is larger stands alone. It returns the ranges of the pieces.
func miniCheckPack(lengths []int, size int) []entail.Span {
	var out []entail.Span
	start, sum := 0, 0
	for i, n := range lengths {
		if sum+n > size {
			if start < i {
				out = append(out, entail.Span{Start: start, End: i})
			}
			start, sum = i, 0
		}
		sum += n
	}
	if start < len(lengths) {
		out = append(out, entail.Span{Start: start, End: len(lengths)})
	}
	return out
}

// miniCheckPieces cuts a text into sentences line by line, each line break
// being a piece of its own.
func miniCheckPieces(s *splitter, text string) []entail.Span {
	var pieces []entail.Span
	start := 0
	for start <= len(text) {
		end := len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i
		}
		at := start
		for _, stop := range s.ends(text[start:end], nil) {
			if piece := trim(text, entail.Span{Start: at, End: start + stop}); piece.Start < piece.End {
				pieces = append(pieces, piece)
			}
			at = start + stop
		}
		if end < len(text) {
			pieces = append(pieces, entail.Span{Start: end, End: end + 1})
		}
		start = end + 1
	}
	return pieces
}

// miniCheckText joins the pieces of a chunk as the reference does: by blanks,
// none of them beside a line break.
func miniCheckText(s *splitter, text string) string {
	var b strings.Builder
	for i, p := range miniCheckPieces(s, text) {
		piece := text[p.Start:p.End]
		if i > 0 && piece != "\n" && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte(' ')
		}
		b.WriteString(piece)
	}
	return strings.TrimSpace(b.String())
}

// miniCheckRanges cuts the passage by MiniCheck's rules into ranges of tokens.
func (c *cutter) miniCheckRanges(rules miniCheckRules) []entail.Span {
	text, tokens := c.passages[c.passage].text, c.units[c.passage].tokens
	pieces := miniCheckPieces(c.split, text)
	lengths := make([]int, len(pieces))
	for k, p := range pieces {
		if rules.words {
			lengths[k] = len(strings.Fields(text[p.Start:p.End]))
		} else {
			lengths[k] = c.count(text[p.Start:p.End])
		}
	}
	var out []entail.Span
	next := 0
	for _, packed := range miniCheckPack(lengths, rules.size) {
		limit := len(text)
		if packed.End < len(pieces) {
			limit = pieces[packed.End].Start
		}
		from := next
		for next < len(tokens) && tokens[next].Start < limit {
			next++
		}
		if from < next {
			out = append(out, entail.Span{Start: from, End: next})
		}
	}
	return out
}
