// Package grounding says for each claim of an answer how well the evidence
// entails it.
//
// An answer is split into claims (claim.go, sentence.go, markdown.go,
// split.go, kind.go), the passages are cut into chunks that fit the verifier's
// window (chunk.go, minicheck.go), every claim is scored against every chunk
// (verify.go), and the scores are aggregated (aggregate.go): a claim's support
// is the maximum over chunks, as in MiniCheck (Tang et al. 2024), an answer's
// g_mean and g_min are the mean and the minimum over its claims, as in CalVerT
// (Vinod et al.). Flags (flags.go) stand beside the scores and never change
// them.
//
// What could not be computed is a typed reason (package score). A claim is
// scored only if all of its pairs were: a maximum over the chunks that
// happened to be scored could hide support, and a lower bound that looks like
// a score is worse than none.
package grounding

import (
	"context"
	"fmt"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// Scorer splits, chunks, asks and aggregates. It holds only the data of the
// sentence splitter and is safe for concurrent use.
type Scorer struct {
	split *splitter
}

// New loads the sentence splitter's data.
func New() (*Scorer, error) {
	split, err := newSplitter()
	if err != nil {
		return nil, fmt.Errorf("grounding: %w", err)
	}
	return &Scorer{split: split}, nil
}

// mode chooses the rules of chunking and aggregation.
type mode int

const (
	modeOwn mode = iota
	modeMiniCheck
	modeCalVerT
)

// options are the choices of a request.
type options struct {
	mode                              mode
	threshold, contradictionThreshold float64
	overlap                           int
	multiHop                          int
	failOpen                          bool
	form                              form
}

// readyClaim is a claim of the caller's.
type readyClaim struct{ id, text, hypothesis string }

// request is what is asked, in plain values.
type request struct {
	options
	passages []passage
	claims   []readyClaim
	answers  []string // one answer, or the candidates of a beam
	beam     bool     // answers are candidates
}

// session is a verifier with the evidence of one request, ready to grade
// claims. It is safe for concurrent use.
type session struct {
	options
	split     *splitter
	verifier  entail.Verifier
	model     entail.Description
	languages languages
	rules     *miniCheckRules
	evidence  *evidence
	// fault is why nothing can be scored; nil if something can.
	fault    *score.Missing
	warnings []string
}

// defaultWindow is assumed of a verifier that does not say how long a pair may
// be: that of the BERT family.
const defaultWindow, defaultOverhead = 512, 4

// open asks the verifier what it is and prepares the evidence.
func (s *Scorer) open(ctx context.Context, v entail.Verifier, opts options, passages []passage) *session {
	ss := &session{options: opts, split: s.split, verifier: v}
	var err error
	if v == nil {
		err = score.Unavailable("no verifier is configured")
	} else {
		ss.model, err = v.Describe(ctx)
	}
	if err != nil {
		ss.fault = ss.reason(err)
	}
	if ss.model.MaxTokens <= 0 {
		ss.model.MaxTokens, ss.model.PairOverhead = defaultWindow, defaultOverhead
	}
	if ss.model.Tokenizer == nil {
		ss.model.Tokenizer = estimate{}
	}
	ss.languages = newLanguages(ss.model.Languages)
	ss.form.template, ss.form.question = ss.model.QATemplate, squeeze(ss.form.question)
	if ss.mode == modeMiniCheck {
		rules, known := miniCheckFor(ss.model)
		if !known && ss.fault == nil {
			ss.warnings = append(ss.warnings, fmt.Sprintf("MODE_MINICHECK: by its name %q the verifier is none of MiniCheck's models; it is asked as their encoders are", ss.model.Name))
		}
		if _, estimated := ss.model.Tokenizer.(estimate); estimated && !rules.words {
			ss.warnings = append(ss.warnings, "MODE_MINICHECK: the verifier gives no tokenizer, so that the chunks' tokens are estimated, high, and chunks are shorter than the reference's")
		}
		ss.rules = &rules
		ss.multiHop = 0 // the reference has no joined passages
	}
	ss.evidence = newEvidence(ctx, passages, ss.model.Tokenizer, s.split)
	if err := ctx.Err(); err != nil {
		ss.fault = ss.reason(err)
		return ss
	}
	if q := ss.form.question; len(q) > maxTokenBytes*ss.claimRoom() || ss.evidence.count(q) > ss.claimRoom() {
		ss.form.tooLong = score.TooLong("the question is longer than the %d tokens that the verifier's window leaves for question and answer", ss.claimRoom())
	}
	ss.inspect()
	return ss
}

// inspect looks for evidence that cannot be scored.
func (ss *session) inspect() {
	foreign, other, written := 0, 0, 0
	titles := false
	for i, p := range ss.evidence.passages {
		titles = titles || p.title != ""
		if len(ss.evidence.units[i].tokens) == 0 {
			continue
		}
		written++
		switch {
		case !ss.languages.readable(p.text):
			foreign++
		case ss.languages.check(firstRunes(p.text, languageRunes)) != nil:
			other++
		}
	}
	switch {
	case ss.evidence.empty(): // whatever the verifier would say
		ss.fault = score.NoEvidence("there is no evidence with text: give at least one passage")
	case ss.fault != nil:
	case foreign == written:
		ss.fault = score.UnsupportedLanguage("no passage is in a script that the verifier reads")
	}
	if foreign > 0 && foreign < written {
		ss.warnings = append(ss.warnings, fmt.Sprintf("%d of %d passages are in a script that the verifier does not read", foreign, written))
	}
	if other > 0 {
		ss.warnings = append(ss.warnings, fmt.Sprintf("%d of %d passages are in a language that the verifier does not know: their scores may say little", other, written))
	}
	if titles && ss.mode == modeMiniCheck {
		ss.warnings = append(ss.warnings, "titles are not used in MODE_MINICHECK: its documents have none")
	}
}

// languageRunes is how much of a passage is looked at for its language.
const languageRunes = 600

// firstRunes is a text cut to a number of runes.
func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// reason turns the failure of a verifier into the status of the fail mode.
func (ss *session) reason(err error) *score.Missing {
	m := score.Reason(err)
	if ss.failOpen && m.Status == plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE {
		return score.NotChecked("let through without a check: %s", m.Reason)
	}
	return m
}

// score answers a request.
func (s *Scorer) score(ctx context.Context, v entail.Verifier, req request) result {
	ss := s.open(ctx, v, req.options, req.passages)
	claims := ss.claims(req)
	graded, cost := ss.grade(ctx, claims)
	r := ss.summarize(graded, cost)
	if req.beam {
		r.answers = ss.byAnswer(graded, len(req.answers))
	}
	return r
}

// claims makes the claims of a request.
func (ss *session) claims(req request) []claim {
	claims := make([]claim, 0, len(req.claims))
	for _, c := range req.claims {
		claims = append(claims, ss.form.readyClaim(ss.split, c.id, c.text, c.hypothesis))
	}
	for i, answer := range req.answers {
		of := ss.form.answerClaims(ss.split, answer)
		for k := range of {
			of[k].answer = i
		}
		claims = append(claims, of...)
	}
	number(claims)
	return claims
}

// grain is the step in which the length of a claim counts against its chunks,
// so that claims of similar length share chunks, and scores can be cached.
const grain = 32

// windowOf returns the window for a hypothesis; ok is false if the hypothesis
// would take more than half of the longest pair, or leave too little room.
func (ss *session) windowOf(hypothesis string) (_ window, ok bool) {
	tokens := ss.evidence.count(hypothesis)
	room, limit := ss.room(), ss.claimRoom()
	if tokens > limit {
		return window{}, false
	}
	claim := min((tokens+grain-1)/grain*grain, limit)
	w := window{tokens: room - claim, minicheck: ss.rules}
	if ss.rules != nil {
		return w, w.tokens >= minWindow
	}
	if trained := ss.model.TrainedTokens - ss.model.PairOverhead; ss.mode == modeOwn && claim <= trained/2 && trained < room {
		w.tokens = trained - claim
	}
	if ss.multiHop > 1 { // so that two chunks and a blank line fit together
		w.tokens = min(w.tokens, (room-claim-2*slack)/2)
	}
	// In the coarse cut context helps, in the fine one nothing distracts.
	if fine := max(ss.model.FineTokens, claim*3/2, minWindow); ss.mode == modeOwn && ss.model.FineTokens > 0 && fine < w.tokens {
		w.fine = fine
	}
	// A claim that the evidence has word for word stands whole in some chunk if it
	// has up to seven eighths of the window, even where a sentence is cut and where
	// the claim has several sentences.
	w.stride = claim
	w.overlap = max(ss.overlap, steps(len(ss.split.sentences(hypothesis))-1))
	return w, w.tokens >= minWindow
}

// steps rounds the overlap that a claim's sentences ask for up to a few values, so
// that claims share chunks.
func steps(overlap int) int {
	switch {
	case overlap <= 4:
		return overlap
	case overlap <= 8:
		return 8
	}
	return maxOverlap
}

const (
	maxOverlap = 16
	// maxTokenBytes is how many bytes a token of running text has at most. A text
	// with fewer tokens for its length is none.
	maxTokenBytes = 16
	// minWindow is the least room for evidence, in tokens, with which scoring
	// makes sense.
	minWindow = 8
)

// room is how many tokens premise and hypothesis may have together.
func (ss *session) room() int {
	most := ss.model.MaxTokens
	if ss.rules != nil {
		most = min(most, ss.rules.maxTokens)
	}
	return max(0, most-ss.model.PairOverhead)
}

// claimRoom is how many tokens a hypothesis may have.
func (ss *session) claimRoom() int { return ss.room() / 2 }

// parts returns what is scored of a claim: its whole hypothesis, or the pieces of
// that where it is too long for the verifier's window or MiniCheck's rules ask for
// them. A question is not cut from its answer.
func (ss *session) parts(c claim) ([]string, *score.Missing) {
	hypothesis := c.hypothesis
	if ss.rules != nil && ss.rules.splitClaims && !c.asked {
		if sentences := ss.split.sentences(hypothesis); len(sentences) > 1 {
			parts := make([]string, len(sentences))
			for i, s := range sentences {
				parts[i] = hypothesis[s.span.Start:s.span.End]
			}
			return parts, nil
		}
	}
	limit := ss.claimRoom()
	if ss.evidence.count(hypothesis) <= limit {
		return []string{hypothesis}, nil
	}
	if c.asked {
		return nil, score.TooLong("question and answer are longer than the %d tokens that the verifier's window leaves for them", limit)
	}
	parts := splitLong(ss.split, ss.model.Tokenizer, hypothesis, limit)
	if parts == nil {
		return nil, score.TooLong("a clause of the claim is longer than the %d tokens that the verifier's window leaves for claims", limit)
	}
	return parts, nil
}
