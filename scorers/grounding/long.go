package grounding

import (
	"regexp"

	"plumbline/scorers/entail"
)

// clauseEnd matches what ends a clause: a mark with a blank after it, or a
// mark of a script without blanks.
var clauseEnd = regexp.MustCompile(`[;:,—–]\s+|\s+[—–-]\s+|[，；：、]`)

// splitLong cuts a text at sentence and clause borders into parts of at most
// limit tokens, as few as greedy packing gives. It returns nil if a single
// clause is longer: claims are never cut inside a clause.
func splitLong(s *splitter, tokenizer entail.Tokenizer, text string, limit int) []string {
	var clauses []entail.Span
	for _, st := range s.sentences(text) {
		if len(tokenizer.Spans(text[st.span.Start:st.span.End])) <= limit {
			clauses = append(clauses, st.span)
			continue
		}
		start := st.span.Start
		for _, m := range clauseEnd.FindAllStringIndex(text[st.span.Start:st.span.End], -1) {
			clauses = append(clauses, entail.Span{Start: start, End: st.span.Start + m[1]})
			start = st.span.Start + m[1]
		}
		clauses = append(clauses, entail.Span{Start: start, End: st.span.End})
	}
	tokens := make([]int, len(clauses))
	for i, c := range clauses {
		if tokens[i] = len(tokenizer.Spans(text[c.Start:c.End])); tokens[i] > limit {
			return nil
		}
	}
	var parts []string
	for i := 0; i < len(clauses); {
		first, sum := i, 0
		for i < len(clauses) && sum+tokens[i] <= limit {
			sum += tokens[i]
			i++
		}
		span := trim(text, entail.Span{Start: clauses[first].Start, End: clauses[i-1].End})
		if hasWord(text[span.Start:span.End]) {
			parts = append(parts, text[span.Start:span.End])
		}
	}
	return parts
}
