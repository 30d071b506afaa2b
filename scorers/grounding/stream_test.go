package grounding

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
)

// pipe plays a client: what the test sends is received, what the scorer sends
// is collected.
type pipe struct {
	frames chan *plumblinev1.StreamScoreGroundingRequest
	out    chan *plumblinev1.StreamScoreGroundingResponse
}

func newPipe() *pipe {
	return &pipe{
		frames: make(chan *plumblinev1.StreamScoreGroundingRequest),
		out:    make(chan *plumblinev1.StreamScoreGroundingResponse, 100),
	}
}

// run streams until the test closes frames or ctx ends, and delivers the
// outcome.
func (p *pipe) run(ctx context.Context, s *Scorer, v entail.Verifier) <-chan error {
	done := make(chan error, 1)
	go func() {
		done <- s.Stream(ctx, v, func() (*plumblinev1.StreamScoreGroundingRequest, error) {
			select {
			case f, ok := <-p.frames:
				if !ok {
					return nil, io.EOF
				}
				return f, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}, func(r *plumblinev1.StreamScoreGroundingResponse) error {
			p.out <- r
			return nil
		})
	}()
	return done
}

func evidenceOf(texts ...string) *plumblinev1.ScoreGroundingRequest {
	req := &plumblinev1.ScoreGroundingRequest{Id: "r"}
	for _, text := range texts {
		req.Evidence = append(req.Evidence, &plumblinev1.Evidence{Text: text})
	}
	return req
}

// TestStreamVerdictsComeEarly: a verdict is out before the next sentence is
// complete, ready claims are answered at once, and the summary has all.
func TestStreamVerdictsComeEarly(t *testing.T) {
	p := newPipe()
	done := p.run(t.Context(), newScorer(t), neutral())
	p.frames <- startFrame(evidenceOf("Paris is in France. Rome is in Italy."))
	p.frames <- claimFrame("ready", "Rome is in Italy.")
	if c := (<-p.out).GetClaim(); c.GetId() != "ready" || c.GetVerdict() != plumblinev1.Verdict_VERDICT_SUPPORTED {
		t.Errorf("ready claim: %v", c)
	}
	for _, d := range []string{"Paris is in Fr", "ance. Rome is", " in "} {
		p.frames <- deltaFrame(d)
	}
	if c := (<-p.out).GetClaim(); c.GetText() != "Paris is in France." || c.GetSpan().GetEnd() != 19 {
		t.Errorf("first sentence: %v", c)
	}
	p.frames <- deltaFrame("Italy.")
	p.frames <- &plumblinev1.StreamScoreGroundingRequest{Frame: &plumblinev1.StreamScoreGroundingRequest_Finish{Finish: &plumblinev1.StreamFinish{}}}
	if c := (<-p.out).GetClaim(); c.GetText() != "Rome is in Italy." || c.GetSpan().GetStart() != 20 {
		t.Errorf("last sentence: %v", c)
	}
	sum := (<-p.out).GetSummary()
	if sum.GetId() != "r" || sum.GetScored() != 3 || sum.GetGMin().GetValue() != 1 || len(sum.GetClaims()) != 3 {
		t.Errorf("summary: %v", sum)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestStreamRefusesAndGoesOn: messages that cannot be used cost an error frame
// and nothing else, but for a piece of the answer: what follows it would be read as
// if it stood in its place.
func TestStreamRefusesAndGoesOn(t *testing.T) {
	p := newPipe()
	done := p.run(t.Context(), newScorer(t), neutral())
	beam := evidenceOf("x")
	beam.Answers = []string{"a"}
	for _, f := range []*plumblinev1.StreamScoreGroundingRequest{
		deltaFrame("too early"), startFrame(beam), startFrame(evidenceOf("Paris is in France.")), startFrame(evidenceOf("again")),
		deltaFrame("Paris is "), deltaFrame(strings.Repeat("x", maxStreamBytes+1)), deltaFrame("in France."), claimFrame("", "Paris is in France."),
	} {
		p.frames <- f
	}
	close(p.frames)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	close(p.out)
	var codes, verdicts []string
	for r := range p.out {
		switch {
		case r.GetError() != nil:
			codes = append(codes, r.GetError().GetCode()+" "+r.GetError().GetField())
		case r.GetClaim() != nil:
			verdicts = append(verdicts, r.GetClaim().GetText()+" "+r.GetClaim().GetVerdict().String())
		}
	}
	if got := strings.Join(codes, ", "); got != "INVALID_ARGUMENT frame, INVALID_ARGUMENT start.answers, INVALID_ARGUMENT start, RESOURCE_EXHAUSTED answer_delta, RESOURCE_EXHAUSTED answer_delta" {
		t.Errorf("errors: %s", got)
	}
	slices.Sort(verdicts)
	if got := strings.Join(verdicts, ", "); got != "Paris is VERDICT_SUPPORTED, Paris is in France. VERDICT_SUPPORTED" {
		t.Errorf("verdicts: %s", got)
	}
}

func TestStreamWithoutStart(t *testing.T) {
	p := newPipe()
	done := p.run(t.Context(), newScorer(t), neutral())
	close(p.frames)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if r := <-p.out; r.GetError().GetCode() != "INVALID_ARGUMENT" {
		t.Errorf("%v", r)
	}
}

// TestStreamOutOfOrder: a claim that takes long does not hold up the others.
func TestStreamOutOfOrder(t *testing.T) {
	release := make(chan struct{})
	slow := entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
		if strings.Contains(p.Hypothesis, "slow") {
			<-release
		}
		return entailtest.Support(1), nil
	})
	p := newPipe()
	done := p.run(t.Context(), newScorer(t), slow)
	p.frames <- startFrame(evidenceOf("Anything."))
	p.frames <- claimFrame("a", "This is slow.")
	p.frames <- claimFrame("b", "This is fast.")
	if c := (<-p.out).GetClaim(); c.GetId() != "b" {
		t.Errorf("first verdict: %v", c)
	}
	close(release)
	if c := (<-p.out).GetClaim(); c.GetId() != "a" {
		t.Errorf("second verdict: %v", c)
	}
	close(p.frames)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if sum := (<-p.out).GetSummary(); sum.GetClaims()[0].GetId() != "a" || sum.GetClaims()[1].GetId() != "b" {
		t.Errorf("the summary is not in the order of arrival: %v", sum)
	}
}

// TestStreamBoundsItsWork: never more than maxInFlight claims at a time.
func TestStreamBoundsItsWork(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	v := entailtest.Func(func(entail.Pair) (entail.Scores, error) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		runtime.Gosched()
		time.Sleep(time.Millisecond)
		mu.Lock()
		now--
		mu.Unlock()
		return entailtest.Support(1), nil
	})
	frames := []*plumblinev1.StreamScoreGroundingRequest{startFrame(evidenceOf("Anything."))}
	for range 100 {
		frames = append(frames, claimFrame("", "A claim."))
	}
	if err := newScorer(t).Stream(t.Context(), v, replay(frames), func(*plumblinev1.StreamScoreGroundingResponse) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if most > maxInFlight {
		t.Errorf("%d claims at a time", most)
	}
}

// TestStreamReadsNoFasterThanItAnswers: whether the model or the client's reading
// is slow, no more is received than can be worked on.
func TestStreamReadsNoFasterThanItAnswers(t *testing.T) {
	frames := []*plumblinev1.StreamScoreGroundingRequest{startFrame(evidenceOf("Anything."))}
	for range 100 {
		frames = append(frames, claimFrame("", "A claim."))
	}
	for name, slowClient := range map[string]bool{"slow model": false, "slow client": true} {
		t.Run(name, func(t *testing.T) {
			v := entailtest.Func(func(entail.Pair) (entail.Scores, error) {
				if !slowClient {
					time.Sleep(time.Millisecond)
				}
				return entailtest.Support(1), nil
			})
			var received, answered, most atomic.Int64
			next := replay(slices.Clone(frames))
			err := newScorer(t).Stream(t.Context(), v, func() (*plumblinev1.StreamScoreGroundingRequest, error) {
				most.Store(max(most.Load(), received.Add(1)-answered.Load()))
				return next()
			}, func(*plumblinev1.StreamScoreGroundingResponse) error {
				if slowClient {
					time.Sleep(time.Millisecond)
				}
				answered.Add(1)
				return nil
			})
			// Beside the claims that are scored: the start, a claim that waits for
			// its place, and the next one.
			if err != nil || most.Load() > maxInFlight+3 {
				t.Errorf("%d messages were received and not answered: %v", most.Load(), err)
			}
			if answered.Load() != int64(len(frames)) {
				t.Errorf("%d answers to %d messages", answered.Load(), len(frames))
			}
		})
	}
}

// TestStreamEndsAtItsDeadline whatever the model does.
func TestStreamEndsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := newPipe()
		done := p.run(ctx, newScorer(t), entailtest.NewBlocking(neutral()))
		p.frames <- startFrame(evidenceOf("Anything."))
		p.frames <- claimFrame("", "A claim.")
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// TestStreamStops: when the call is cancelled, when the peer is gone, and when
// receiving fails, Stream returns the cause and no work is left.
func TestStreamStops(t *testing.T) {
	s := newScorer(t)
	t.Run("cancelled", func(t *testing.T) {
		v := entailtest.NewBlocking(neutral())
		ctx, cancel := context.WithCancel(t.Context())
		p := newPipe()
		done := p.run(ctx, s, v)
		p.frames <- startFrame(evidenceOf("Anything."))
		p.frames <- claimFrame("", "A claim.")
		<-v.Entered()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("send fails", func(t *testing.T) {
		frames := []*plumblinev1.StreamScoreGroundingRequest{startFrame(evidenceOf("Anything.")), claimFrame("", "A claim."), claimFrame("", "Another claim.")}
		err := s.Stream(t.Context(), neutral(), replay(frames), func(*plumblinev1.StreamScoreGroundingResponse) error { return errBroken })
		if !errors.Is(err, errBroken) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("receive fails", func(t *testing.T) {
		v := entailtest.NewBlocking(neutral())
		calls := 0
		err := s.Stream(t.Context(), v, func() (*plumblinev1.StreamScoreGroundingRequest, error) {
			calls++
			switch calls {
			case 1:
				return startFrame(evidenceOf("Anything.")), nil
			case 2:
				return claimFrame("", "A claim."), nil
			}
			<-v.Entered()
			return nil, errBroken
		}, func(*plumblinev1.StreamScoreGroundingResponse) error { return nil })
		if !errors.Is(err, errBroken) {
			t.Errorf("error %v", err)
		}
	})
}

// TestStreamReadsInLinearTime: one byte at a time must not read a long
// sentence again and again.
func TestStreamReadsInLinearTime(t *testing.T) {
	const size = 1 << 15
	for _, text := range []string{strings.Repeat("x ", size/2), "# A title\n```\n" + strings.Repeat("x ", size/2), "# A title\n\na | b\n-|-\n" + strings.Repeat("c | d\n", size/6)} {
		st := &stream{session: &session{split: newScorer(t).split}}
		reads := 0
		for i := 0; i+2 <= len(text); i += 2 {
			st.text.WriteString(text[i : i+2])
			if st.text.Len() >= st.nextRead {
				st.read()
				reads += st.text.Len()
			}
		}
		if reads > 48*size {
			t.Errorf("%d bytes were read of %d of %.20q", reads, size, text)
		}
	}
}
