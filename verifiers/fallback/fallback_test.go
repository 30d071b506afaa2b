package fallback_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/scorers/score"
	"plumbline/verifiers/fallback"
)

// member is a verifier with a name whose failure a test sets.
type member struct {
	name  string
	err   error
	pairs error // of each pair
	calls int
}

func (m *member) Describe(ctx context.Context) (entail.Description, error) {
	description, _ := entailtest.Overlap().Describe(ctx)
	description.Name = m.name
	return description, m.err
}

func (m *member) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	m.calls++
	if m.err != nil {
		return entail.Batch{}, m.err
	}
	batch, err := entailtest.Func(func(entail.Pair) (entail.Scores, error) { return entailtest.Support(0.5), m.pairs }).Verify(ctx, pairs)
	batch.Usage.Verifier = m.name
	return batch, err
}

var pairs = []entail.Pair{{Premise: "a", Hypothesis: "b"}, {Premise: "c", Hypothesis: "d"}}

func TestTheFirstThatCanBeAskedAnswers(t *testing.T) {
	for _, failure := range []error{
		entail.ErrUnavailable, entail.ErrBusy, entail.ErrClosed, entail.ErrRejected, entail.ErrBadReply, errors.New("defect"),
	} {
		a, b, c := &member{name: "a", err: failure}, &member{name: "b", err: failure}, &member{name: "c"}
		v := fallback.New(a, b, c)
		batch, err := v.Verify(t.Context(), pairs)
		if err != nil || batch.Usage.Verifier != "c" || len(batch.Results) != 2 {
			t.Errorf("%v: %+v, %v", failure, batch, err)
		}
		if description, err := v.Describe(t.Context()); err != nil || description.Name != "c" {
			t.Errorf("%v: described as %+v, %v", failure, description, err)
		}
	}
}

func TestWhileTheFirstAnswersNobodyElseIsAsked(t *testing.T) {
	a, b := &member{name: "a"}, &member{name: "b"}
	batch, err := fallback.New(a, b).Verify(t.Context(), pairs)
	if err != nil || batch.Usage.Verifier != "a" || b.calls != 0 {
		t.Errorf("%+v, %v; the second was called %d times", batch, err, b.calls)
	}
}

func TestBadInputIsNotPassedOn(t *testing.T) {
	a, b := &member{name: "a", err: score.InvalidInput("bad")}, &member{name: "b"}
	_, err := fallback.New(a, b).Verify(t.Context(), pairs)
	if missing, ok := errors.AsType[*score.Missing](err); !ok || missing.Reason != "bad" || b.calls != 0 {
		t.Errorf("%v; the second was called %d times", err, b.calls)
	}
	a.err, a.pairs = nil, score.TooLong("long")
	batch, err := fallback.New(a, b).Verify(t.Context(), pairs)
	if err != nil || batch.Usage.Verifier != "a" || !errors.Is(batch.Results[0].Err, a.pairs) || b.calls != 0 {
		t.Errorf("%+v, %v; the second was called %d times", batch, err, b.calls)
	}
}

func TestAnOutagePairByPairIsPassedOn(t *testing.T) {
	for _, failure := range []error{score.Unavailable("down"), errors.New("defect")} {
		a, b := &member{name: "a", pairs: failure}, &member{name: "b"}
		batch, err := fallback.New(a, b).Verify(t.Context(), pairs)
		if err != nil || batch.Usage.Verifier != "b" {
			t.Errorf("%v: %+v, %v", failure, batch, err)
		}
	}
}

func TestACallThatHasEndedIsNotPassedOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a, b := &member{name: "a", err: context.Canceled}, &member{name: "b"}
	if _, err := fallback.New(a, b).Verify(ctx, pairs); !errors.Is(err, context.Canceled) || b.calls != 0 {
		t.Errorf("%v; the second was called %d times", err, b.calls)
	}
}

func TestAllFailuresAreTold(t *testing.T) {
	a, b := &member{name: "a", err: entail.ErrBusy}, &member{name: "b", err: entail.ErrRejected}
	v := fallback.New(a, b)
	_, verified := v.Verify(t.Context(), pairs)
	_, described := v.Describe(t.Context())
	for _, err := range []error{verified, described} {
		if !errors.Is(err, entail.ErrRejected) || !strings.Contains(err.Error(), entail.ErrBusy.Error()) {
			t.Errorf("got %v", err)
		}
	}
}

// TestARequestStaysWithWhoeverAnsweredIt: the first verifier recovers in the
// middle of a request, and fails in the middle of another.
func TestARequestStaysWithWhoeverAnsweredIt(t *testing.T) {
	a, b := &member{name: "a", err: entail.ErrUnavailable}, &member{name: "b"}
	v := fallback.New(a, b)
	pinned, release, err := v.Pin()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for range 2 {
		batch, err := pinned.Verify(t.Context(), pairs)
		if err != nil || batch.Usage.Verifier != "b" {
			t.Errorf("%+v, %v", batch, err)
		}
		if description, err := pinned.Describe(t.Context()); err != nil || description.Name != "b" {
			t.Errorf("described as %+v, %v", description, err)
		}
		a.err = nil
	}

	pinned, release, err = v.Pin()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if batch, err := pinned.Verify(t.Context(), pairs); err != nil || batch.Usage.Verifier != "a" {
		t.Errorf("%+v, %v", batch, err)
	}
	a.err = entail.ErrUnavailable
	if batch, err := pinned.Verify(t.Context(), pairs); !errors.Is(err, entail.ErrUnavailable) {
		t.Errorf("the request went on with %+v, %v", batch, err)
	}
}
