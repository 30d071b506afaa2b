package verifiers_test

import (
	"context"
	"errors"
	"testing"

	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/scorers/score"
	"plumbline/verifiers"
)

var pairs = []entail.Pair{{Premise: "a", Hypothesis: "b"}, {Premise: "c", Hypothesis: "d"}}

// exchanged is a verifier whose digest a test sets.
type exchanged struct {
	entail.Verifier
	digest string
}

func (e *exchanged) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	batch, err := e.Verifier.Verify(ctx, pairs)
	batch.Usage.Digest = e.digest
	return batch, err
}

func TestARequestSeesOneModel(t *testing.T) {
	v := &exchanged{entailtest.Overlap(), "sha256:1"}
	pinned, release, err := verifiers.Pin(v)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for range 2 {
		if _, err := pinned.Verify(t.Context(), pairs); err != nil {
			t.Fatal(err)
		}
	}
	v.digest = "sha256:2"
	if batch, err := pinned.Verify(t.Context(), pairs); !errors.Is(err, entail.ErrUnavailable) {
		t.Errorf("the request goes on with %+v, %v", batch.Usage, err)
	}
	next, release, err := verifiers.Pin(v)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := next.Verify(t.Context(), pairs); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

func TestOutageIsAFailureOfTheVerifierForAllPairs(t *testing.T) {
	defect := errors.New("defect")
	for name, c := range map[string]struct {
		results []error
		want    error
	}{
		"no pairs":            {nil, nil},
		"scores":              {[]error{nil, nil}, nil},
		"some scores":         {[]error{defect, nil}, nil},
		"bad input":           {[]error{score.TooLong("long"), score.InvalidInput("bad")}, nil},
		"no model":            {[]error{score.Unavailable("down"), score.Unavailable("down")}, entail.ErrUnavailable},
		"bad input, no model": {[]error{score.TooLong("long"), score.Unavailable("down")}, entail.ErrUnavailable},
		"defects":             {[]error{defect, defect}, defect},
	} {
		var batch entail.Batch
		for _, err := range c.results {
			batch.Results = append(batch.Results, entail.Result{Err: err})
		}
		if got := verifiers.Outage(batch); !errors.Is(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
