package grounding

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// claim is one claim of a request on its way through the scorer.
type claim struct {
	id         string
	answer     int    // the index of its candidate
	text       string // the exact span, or the caller's text
	hypothesis string // what is scored
	plain      string // text without Markdown, for the flags
	asked      bool   // hypothesis is a question with its answer
	span       *textSpan
	kind       plumblinev1.ClaimKind
	// why is the reason why the claim is not scored; nil if it is.
	why *score.Missing
}

// textSpan is a range of an answer in both counts.
type textSpan struct {
	bytes entail.Span
	utf16 entail.Span
}

// counter counts UTF-16 code units of a text from front to back, so that all
// spans of an answer cost one pass.
type counter struct {
	text  string
	bytes int
	units int
}

func (c *counter) at(offset int) int {
	for c.bytes < offset {
		r, size := utf8.DecodeRuneInString(c.text[c.bytes:])
		c.units += max(utf16.RuneLen(r), 1)
		c.bytes += size
	}
	return c.units
}

func (c *counter) span(s entail.Span) *textSpan {
	start := c.at(s.Start)
	return &textSpan{bytes: s, utf16: entail.Span{Start: start, End: c.at(s.End)}}
}

// form is how the claims of a request become hypotheses.
type form struct {
	form     plumblinev1.ClaimForm
	question string // blanks squeezed
	template string
	allKinds bool
	// tooLong is why no answer to the question is scored, if it is too long for the
	// verifier's window.
	tooLong *score.Missing
}

// answerClaims splits an answer into claims, or takes it whole if it is a
// short answer to the question.
func (f form) answerClaims(s *splitter, text string) []claim {
	whole := trim(text, entail.Span{End: len(text)})
	if !hasWord(text[whole.Start:whole.End]) {
		return nil
	}
	sentences := s.sentences(text)
	if f.form == plumblinev1.ClaimForm_CLAIM_FORM_QA {
		sentences = []sentence{{span: whole, plain: said(sentences)}}
	}
	count := counter{text: text}
	claims := make([]claim, len(sentences))
	for i, st := range sentences {
		claims[i] = f.sentenceClaim(text, st, len(sentences) == 1)
		claims[i].span = count.span(st.span)
	}
	return claims
}

// said joins what sentences say.
func said(sentences []sentence) string {
	var parts []string
	for _, s := range sentences {
		if s.plain != "" { // a citation
			parts = append(parts, s.plain)
		}
	}
	return strings.Join(parts, " ")
}

// sentenceClaim makes a claim of one sentence of an answer; alone says that
// the answer has no other.
func (f form) sentenceClaim(text string, st sentence, alone bool) claim {
	c := claim{text: text[st.span.Start:st.span.End], plain: st.plain, hypothesis: st.plain, kind: kindOf(st)}
	switch {
	case alone && c.kind == plumblinev1.ClaimKind_CLAIM_KIND_HEADING, // what heads nothing is no heading
		alone && c.kind == plumblinev1.ClaimKind_CLAIM_KIND_CITATION_ONLY && st.plain != "": // an address may be what was asked for
		c.kind = kindOfText(st.plain)
	}
	f.shape(&c, alone)
	return c
}

// readyClaim makes a claim of one that the caller gives.
func (f form) readyClaim(s *splitter, id, text, hypothesis string) claim {
	c := claim{id: id, text: text, plain: cmp.Or(said(s.sentences(text)), text), hypothesis: hypothesis, kind: plumblinev1.ClaimKind_CLAIM_KIND_FACTUAL}
	if hypothesis != "" {
		return c // the caller says what to score, whatever the text looks like
	}
	c.hypothesis = text
	if !hasWord(text) {
		c.why = score.NoClaims("the claim has no letter or digit")
		return c
	}
	c.kind = kindOfText(squeeze(text))
	f.shape(&c, true)
	return c
}

// shape decides whether a claim is scored and, for short answers, builds the
// hypothesis.
func (f form) shape(c *claim, alone bool) {
	asked := f.form == plumblinev1.ClaimForm_CLAIM_FORM_QA
	if asked && c.kind == plumblinev1.ClaimKind_CLAIM_KIND_GREETING {
		c.kind = plumblinev1.ClaimKind_CLAIM_KIND_FACTUAL // "Hey Jude" is what was asked for
	}
	if c.why = f.unscored(c.kind); c.why != nil {
		return
	}
	decided := f.form == plumblinev1.ClaimForm_CLAIM_FORM_UNSPECIFIED && alone && f.question != "" && f.template != "" && isShortAnswer(c.plain)
	switch {
	case asked && f.question == "":
		c.why = score.MissingInput("claim_form is CLAIM_FORM_QA: give question")
	case asked && f.template == "":
		c.why = score.MissingInput("the verifier has no template for short answers: give a hypothesis or CLAIM_FORM_STATEMENT")
	case (asked || decided) && f.tooLong != nil: // each claim would repeat the question
		c.why = f.tooLong
	case asked || decided:
		c.asked = true
		c.hypothesis = strings.NewReplacer("{question}", f.question, "{answer}", squeeze(c.plain)).Replace(f.template)
	}
}

// unscored returns why a claim of a kind is not scored, or nil.
func (f form) unscored(kind plumblinev1.ClaimKind) *score.Missing {
	switch kind {
	case plumblinev1.ClaimKind_CLAIM_KIND_CODE:
		return score.NotAClaim("source code is not scored")
	case plumblinev1.ClaimKind_CLAIM_KIND_CITATION_ONLY:
		return score.NotAClaim("a citation alone asserts nothing")
	}
	if f.allKinds {
		return nil
	}
	const hint = "; set score_all_kinds to score it as a fact"
	switch kind {
	case plumblinev1.ClaimKind_CLAIM_KIND_QUESTION:
		return score.NotAClaim("a question asserts nothing" + hint)
	case plumblinev1.ClaimKind_CLAIM_KIND_GREETING:
		return score.NotAClaim("a greeting asserts nothing" + hint)
	case plumblinev1.ClaimKind_CLAIM_KIND_REFUSAL:
		return score.NotAClaim("the text says that no answer is given" + hint)
	case plumblinev1.ClaimKind_CLAIM_KIND_HEADING:
		return score.NotAClaim("a heading asserts nothing" + hint)
	}
	return nil
}

// number gives the claims without an id their index.
func number(claims []claim) {
	for i := range claims {
		numberOne(&claims[i], i)
	}
}

func numberOne(c *claim, index int) {
	if c.id == "" {
		c.id = strconv.Itoa(index)
	}
}
