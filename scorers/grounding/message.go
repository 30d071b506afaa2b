package grounding

import (
	"context"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// Score answers a validated request with the verifier v. It always answers:
// what could not be scored has a status and a reason. Timing has the
// verifier's parts; the total is the caller's to add.
func (s *Scorer) Score(ctx context.Context, v entail.Verifier, req *plumblinev1.ScoreGroundingRequest) *plumblinev1.ScoreGroundingResponse {
	r := s.score(ctx, v, requestOf(req))
	out := r.message()
	out.Id = req.GetId()
	return out
}

// defaultThreshold is the threshold of support and of contradiction.
const defaultThreshold = 0.5

func optionsOf(req *plumblinev1.ScoreGroundingRequest) options {
	o := options{
		threshold:              defaultThreshold,
		contradictionThreshold: defaultThreshold,
		overlap:                int(req.GetOverlapSentences()),
		multiHop:               int(req.GetMultiHop()),
		failOpen:               req.GetFailMode() == plumblinev1.FailMode_FAIL_MODE_OPEN,
		form:                   form{form: req.GetClaimForm(), question: req.GetQuestion(), allKinds: req.GetScoreAllKinds()},
	}
	if req != nil && req.Threshold != nil {
		o.threshold = req.GetThreshold()
	}
	if req != nil && req.ContradictionThreshold != nil {
		o.contradictionThreshold = req.GetContradictionThreshold()
	}
	switch req.GetMode() {
	case plumblinev1.ScoreGroundingRequest_MODE_MINICHECK:
		o.mode = modeMiniCheck
	case plumblinev1.ScoreGroundingRequest_MODE_CALVERT:
		o.mode = modeCalVerT
	}
	return o
}

func requestOf(req *plumblinev1.ScoreGroundingRequest) request {
	r := request{options: optionsOf(req), passages: passagesOf(req.GetEvidence()), answers: req.GetAnswers()}
	for _, c := range req.GetClaims() {
		r.claims = append(r.claims, readyClaim{id: c.GetId(), text: c.GetText(), hypothesis: c.GetHypothesis()})
	}
	if req.GetAnswer() != "" {
		r.answers = []string{req.GetAnswer()}
	} else {
		r.beam = len(r.answers) > 0
	}
	return r
}

func passagesOf(evidence []*plumblinev1.Evidence) []passage {
	out := make([]passage, len(evidence))
	for i, e := range evidence {
		out[i] = passage{id: e.GetId(), title: e.GetTitle(), text: e.GetText()}
	}
	return out
}

func (r *result) message() *plumblinev1.ScoreGroundingResponse {
	out := &plumblinev1.ScoreGroundingResponse{
		Coverage: &plumblinev1.EvidenceCoverage{
			Tokens:       uint64(r.tokens),
			TokensScored: uint64(r.tokensScored),
			Chunks:       uint32(r.chunks),
			Pairs:        uint32(r.cost.pairs),
			CacheHits:    uint32(r.cost.usage.CacheHits),
		},
		GMinClaim: r.gMinClaim,
		Scored:    uint32(r.scored),
		NotScored: uint32(r.notScored),
		Verdict:   r.verdict,
		FailMode:  plumblinev1.FailMode_FAIL_MODE_CLOSED,
		Timing:    timing(r.cost.usage),
		Warnings:  r.warnings,
	}
	if r.failOpen {
		out.FailMode = plumblinev1.FailMode_FAIL_MODE_OPEN
	}
	out.Status, out.Reason = status(r.why)
	out.GMean, out.GMin = r.score(r.gMean), r.score(r.gMin)
	out.SupportRate = r.score(r.supportRate)
	out.SupportRate.Direction = plumblinev1.Direction_DIRECTION_HIGHER_IS_CONFIDENT
	out.Model = r.modelInfo()
	for i := range r.claims {
		out.Claims = append(out.Claims, r.claims[i].message(r.passages, r.contradictionThreshold))
	}
	for i := range r.answers {
		out.Answers = append(out.Answers, r.answers[i].message(i))
	}
	return out
}

// modelInfo is the verifier that answered, or the one that describes itself
// where none was asked; nil if there is neither.
func (r *result) modelInfo() *plumblinev1.ModelInfo {
	switch u := r.cost.usage; {
	case u.Verifier != "":
		return &plumblinev1.ModelInfo{Name: u.Verifier, Digest: u.Digest, Verifier: u.Configured}
	case r.model.Name != "" || r.model.Digest != "":
		return &plumblinev1.ModelInfo{Name: r.model.Name, Digest: r.model.Digest}
	default:
		return nil
	}
}

func (s *summary) message(index int) *plumblinev1.GroundedAnswer {
	out := &plumblinev1.GroundedAnswer{
		Index: uint32(index), GMean: s.score(s.gMean), GMin: s.score(s.gMin),
		Scored: uint32(s.scored), NotScored: uint32(s.notScored), Verdict: s.verdict,
	}
	out.Status, out.Reason = status(s.why)
	return out
}

// score makes the message of an aggregate.
func (s *summary) score(value float64) *plumblinev1.Score {
	out := scoreOf(value, s.why)
	out.NUsed = proto.Uint32(uint32(s.scored))
	return out
}

// scoreOf is score.Of for a reason that may be nil.
func scoreOf(value float64, why *score.Missing) *plumblinev1.Score {
	var err error
	if why != nil {
		err = why
	}
	out := score.Of(value, err)
	out.Direction = plumblinev1.Direction_DIRECTION_HIGHER_IS_CONFIDENT
	return out
}

func status(why *score.Missing) (plumblinev1.Status, string) {
	if why == nil {
		return plumblinev1.Status_STATUS_OK, ""
	}
	return why.Status, why.Reason
}

func timing(u entail.Usage) *plumblinev1.Timing {
	t := &plumblinev1.Timing{}
	if u.Queue > 0 {
		t.Queue = durationpb.New(u.Queue)
	}
	if u.Tokenization > 0 {
		t.Tokenization = durationpb.New(u.Tokenization)
	}
	if u.Inference > 0 {
		t.Inference = durationpb.New(u.Inference)
	}
	return t
}

func (g *graded) message(passages []passage, contradictionThreshold float64) *plumblinev1.GroundedClaim {
	out := &plumblinev1.GroundedClaim{
		Id: g.id, Text: g.text, Hypothesis: g.hypothesis, Kind: g.kind,
		AnswerIndex: uint32(g.answer), Verdict: g.verdict,
	}
	out.Status, out.Reason = status(g.why)
	if s := g.span; s != nil {
		out.Span = &plumblinev1.Span{
			Start: uint32(s.bytes.Start), End: uint32(s.bytes.End),
			Utf16Start: uint32(s.utf16.Start), Utf16End: uint32(s.utf16.End),
		}
	}
	out.Support = scoreOf(g.support, g.why)
	noContradiction := g.why
	if noContradiction == nil {
		noContradiction = g.noContradiction
	}
	out.Contradiction = scoreOf(g.contradiction, noContradiction)
	out.Contradiction.Direction = plumblinev1.Direction_DIRECTION_HIGHER_IS_UNCERTAIN
	if g.why != nil {
		return out
	}
	out.Support.Reason = g.remark(passages)
	out.Best = g.best.chunk.message(passages)
	if with := g.best.with; with != nil {
		out.Joined = with.message(passages)
	}
	if noContradiction == nil && g.contradiction >= contradictionThreshold {
		out.Contradicting = g.against.chunk.message(passages)
	}
	seen := map[plumblinev1.Flag]bool{}
	for _, m := range g.mismatches {
		if !seen[m.flag] {
			seen[m.flag] = true
			out.Flags = append(out.Flags, m.flag)
		}
		out.Mismatches = append(out.Mismatches, &plumblinev1.Mismatch{Flag: m.flag, Text: m.text})
	}
	return out
}

// maxQuote is how many bytes of a chunk are quoted.
const maxQuote = 500

func (c chunk) message(passages []passage) *plumblinev1.BestChunk {
	span := c.span
	quote := passages[c.passage].text[span.Start:span.End]
	if len(quote) > maxQuote {
		end := maxQuote
		for !utf8.RuneStart(quote[end]) {
			end--
		}
		quote = quote[:end] + "…"
	}
	return &plumblinev1.BestChunk{
		EvidenceId: passageID(passages, c.passage),
		Start:      uint32(span.Start), End: uint32(span.End), Quote: quote,
	}
}

// passageID is a passage's id, or its index if it has none.
func passageID(passages []passage, i int) string {
	if id := passages[i].id; id != "" {
		return id
	}
	return strconv.Itoa(i)
}
