package grounding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"unicode"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
)

const (
	// maxInFlight is how many claims of a stream are scored at the same time.
	maxInFlight = 8
	// maxStreamBytes and maxStreamClaims bound what a stream holds.
	maxStreamBytes  = 4 << 20
	maxStreamClaims = 10_000
	// eagerBytes is how much text without a settled border is read again with
	// every delta; beyond, only after it grew by a sixteenth, so that reading
	// stays linear.
	eagerBytes = 1 << 10
)

// Stream scores an answer while it is being generated. It reads messages from
// recv until a finish or io.EOF and hands replies to send, never two at a
// time: each claim as soon as its scores are known, in any order, then the
// summary. A value that is split over messages is held back until its sentence
// is complete: the claims are those of the whole answer, wherever it was cut.
//
// Messages that cannot be used are answered by an error frame and skipped. An
// error is returned if recv or send fails or ctx ends; all work has then
// stopped.
func (s *Scorer) Stream(
	ctx context.Context,
	v entail.Verifier,
	recv func() (*plumblinev1.StreamScoreGroundingRequest, error),
	send func(*plumblinev1.StreamScoreGroundingResponse) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	st := &stream{scorer: s, verifier: v, ctx: ctx, cancel: cancel, send: send, slots: make(chan struct{}, maxInFlight)}
	err := st.receive(recv)
	if err != nil {
		cancel(err)
	}
	st.work.Wait()
	if err == nil && ctx.Err() == nil && st.session != nil {
		st.reply(&plumblinev1.StreamScoreGroundingResponse{
			Frame: &plumblinev1.StreamScoreGroundingResponse_Summary{Summary: st.summary()},
		})
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// stream is the state of one call.
type stream struct {
	scorer   *Scorer
	verifier entail.Verifier
	ctx      context.Context
	cancel   context.CancelCauseFunc
	send     func(*plumblinev1.StreamScoreGroundingResponse) error
	slots    chan struct{}
	work     sync.WaitGroup

	// Used by the receiving goroutine alone.
	id        string
	session   *session
	text      strings.Builder // the answer so far
	full      bool            // a piece was refused: what follows it would stand in its place
	rest      int             // where the first sentence stands that is not settled
	continued bool            // rest is inside a paragraph
	nextRead  int             // the length of text at which to read again
	sentences int             // of the answer, settled
	count     counter

	mu     sync.Mutex // guards what follows, and send
	claims []graded
	cost   cost
}

// receive handles messages until the answer is complete.
func (st *stream) receive(recv func() (*plumblinev1.StreamScoreGroundingRequest, error)) error {
	for {
		frame, err := recv()
		if errors.Is(err, io.EOF) || err == nil && frame.GetFinish() != nil {
			if st.session == nil {
				st.refuse("INVALID_ARGUMENT", "the stream ended without a start", "frame")
				return nil
			}
			st.finish()
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		if st.ctx.Err() != nil {
			return context.Cause(st.ctx)
		}
		st.handle(frame)
	}
}

func (st *stream) handle(frame *plumblinev1.StreamScoreGroundingRequest) {
	start := frame.GetStart()
	switch {
	case st.session == nil && start == nil:
		st.refuse("INVALID_ARGUMENT", "the first message must be a start", "frame")
	case start != nil && st.session != nil:
		st.refuse("INVALID_ARGUMENT", "the stream has begun: send answer_delta, claim or finish", "start")
	case start != nil && len(start.GetAnswers()) > 0:
		st.refuse("INVALID_ARGUMENT", "a stream takes one answer: use ScoreGrounding for a beam", "start.answers")
	case start != nil:
		st.start(start)
	case frame.GetClaim() != nil:
		st.ready(frame.GetClaim())
	default:
		st.delta(frame.GetAnswerDelta())
	}
}

func (st *stream) start(req *plumblinev1.ScoreGroundingRequest) {
	st.id = req.GetId()
	st.session = st.scorer.open(st.ctx, st.verifier, optionsOf(req), passagesOf(req.GetEvidence()))
	st.cost = newCost()
	for _, c := range req.GetClaims() {
		st.ready(c)
	}
	st.delta(req.GetAnswer())
}

func (st *stream) ready(c *plumblinev1.Claim) {
	st.dispatch(st.session.form.readyClaim(st.session.split, c.GetId(), c.GetText(), c.GetHypothesis()))
}

// delta takes the next piece of the answer.
func (st *stream) delta(piece string) {
	if st.full = st.full || st.text.Len()+len(piece) > maxStreamBytes; st.full {
		st.refuse("RESOURCE_EXHAUSTED", fmt.Sprintf("an answer has at most %d bytes", maxStreamBytes), "answer_delta")
		return
	}
	st.text.WriteString(piece)
	if st.session.form.form == plumblinev1.ClaimForm_CLAIM_FORM_QA || st.text.Len() < st.nextRead || !mayEnd(piece) {
		return
	}
	st.read()
}

// mayEnd says whether a piece of text can settle anything: borders are only
// settled by a blank or, in scripts without blanks, by a letter.
func mayEnd(piece string) bool {
	return strings.ContainsFunc(piece, func(r rune) bool { return r >= utf8Self || unicode.IsSpace(r) })
}

// read dispatches the sentences that have become settled.
func (st *stream) read() {
	text := st.text.String()
	got := st.session.split.scan(text, st.rest, st.continued, false)
	if st.sentences > 0 || got.settled != 1 || !st.mayStayAlone(text, got.sentences[0]) {
		st.rest, st.continued = got.rest, got.continued
		for _, s := range got.sentences[:got.settled] {
			st.sentence(text, s, false)
		}
	}
	if pending := len(text) - st.rest; pending > eagerBytes {
		st.nextRead = len(text) + pending/16
	}
}

// mayStayAlone says whether a first sentence has to wait for a second one,
// because alone it would be read in another way: as a short answer.
func (st *stream) mayStayAlone(text string, s sentence) bool {
	alone, first := st.session.form.sentenceClaim(text, s, true), st.session.form.sentenceClaim(text, s, false)
	return alone.hypothesis != first.hypothesis || alone.kind != first.kind || (alone.why == nil) != (first.why == nil)
}

func (st *stream) sentence(text string, s sentence, alone bool) {
	st.sentences++
	c := st.session.form.sentenceClaim(text, s, alone)
	st.count.text = text
	c.span = st.count.span(s.span)
	st.dispatch(c)
}

// finish dispatches what is left of the answer.
func (st *stream) finish() {
	text := st.text.String()
	if st.session.form.form == plumblinev1.ClaimForm_CLAIM_FORM_QA {
		for _, c := range st.session.form.answerClaims(st.session.split, text) {
			st.dispatch(c)
		}
		return
	}
	rest := st.session.split.scan(text, st.rest, st.continued, true).sentences
	for _, s := range rest {
		st.sentence(text, s, st.sentences == 0 && len(rest) == 1)
	}
}

// dispatch scores a claim beside the others, once there is a slot.
func (st *stream) dispatch(c claim) {
	st.mu.Lock()
	i := len(st.claims)
	if i < maxStreamClaims {
		numberOne(&c, i)
		st.claims = append(st.claims, graded{claim: c})
	}
	st.mu.Unlock()
	if i == maxStreamClaims {
		st.refuse("RESOURCE_EXHAUSTED", fmt.Sprintf("a stream has at most %d claims", maxStreamClaims), "claim")
		return
	}
	select {
	case st.slots <- struct{}{}:
	case <-st.ctx.Done():
		return
	}
	st.work.Go(func() {
		defer func() { <-st.slots }()
		// A panic in a goroutine of ours would end the process, past the
		// caller's own recovery: it ends this stream instead. The client is told
		// before, since the stream ends only when its next message has come.
		defer func() {
			if p := recover(); p != nil {
				st.refuse("INTERNAL", "the server has a defect and ends the stream: its log says more", "claim")
				st.cancel(fmt.Errorf("grounding a claim panicked: %v\n%s", p, debug.Stack()))
			}
		}()
		g, spent := st.session.grade(st.ctx, []claim{c})
		st.mu.Lock()
		st.claims[i] = g[0]
		st.cost.add(spent)
		st.mu.Unlock()
		st.reply(&plumblinev1.StreamScoreGroundingResponse{
			Frame: &plumblinev1.StreamScoreGroundingResponse_Claim{
				Claim: g[0].message(st.session.evidence.passages, st.session.contradictionThreshold),
			},
		})
	})
}

// reply sends a message; a failure ends the call.
func (st *stream) reply(frame *plumblinev1.StreamScoreGroundingResponse) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ctx.Err() != nil {
		return
	}
	if err := st.send(frame); err != nil {
		st.cancel(fmt.Errorf("send: %w", err))
	}
}

func (st *stream) refuse(code, message, field string) {
	st.reply(&plumblinev1.StreamScoreGroundingResponse{
		Frame: &plumblinev1.StreamScoreGroundingResponse_Error{
			Error: &plumblinev1.ItemError{Code: code, Message: message, Field: field, Reason: "FRAME_REFUSED"},
		},
	})
}

func (st *stream) summary() *plumblinev1.ScoreGroundingResponse {
	st.mu.Lock()
	defer st.mu.Unlock()
	r := st.session.summarize(st.claims, st.cost)
	out := r.message()
	out.Id = st.id
	return out
}
