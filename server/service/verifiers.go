package service

import (
	"context"
	"slices"
	"strings"
	"sync"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/server/fault"
	"plumbline/verifiers"
)

// Verifier is a verifier that requests may name.
type Verifier struct {
	// Name is its configured name.
	Name string
	// Verifier is what is asked; one behind which the model may change is a
	// verifiers.Pinner.
	Verifier entail.Verifier
	// Fallback names those that are asked in turn where it cannot be; GetInfo
	// tells.
	Fallback []string
	// FailMode is in force where a request has none; unspecified means that of
	// Deps.
	FailMode plumblinev1.FailMode
	// Ready says why it cannot be asked now. Nil means that it always can.
	Ready func() error
	// Unanswered is called once for each request of which it left a part
	// unanswered, with the fail mode in force. Nil tells nobody.
	Unanswered func(mode plumblinev1.FailMode)
}

// verifier finds a verifier by name; empty means the default. It is nil if there
// is no verifier at all, which the scorers take for what it is.
func (s *Service) verifier(name string) (*Verifier, error) {
	list := s.deps.Verifiers
	i := slices.IndexFunc(list, func(v Verifier) bool { return v.Name == name })
	switch {
	case i >= 0:
		return &list[i], nil
	case name != "":
		return nil, fault.Field(fault.VerifierNotFound, "verifier", "no verifier has that name; leave it empty or give one of: %s", s.names())
	case len(list) > 0:
		return &list[0], nil
	default:
		return nil, nil
	}
}

func (s *Service) names() string {
	var names []string
	for _, v := range s.deps.Verifiers {
		names = append(names, v.Name)
	}
	return strings.Join(names, ", ")
}

// failMode is the mode in force for a request to a verifier, which may be nil.
func (s *Service) failMode(requested plumblinev1.FailMode, v *Verifier) plumblinev1.FailMode {
	const unspecified = plumblinev1.FailMode_FAIL_MODE_UNSPECIFIED
	switch {
	case requested != unspecified:
		return requested
	case v != nil && v.FailMode != unspecified:
		return v.FailMode
	default:
		return s.deps.FailMode
	}
}

// pin returns the verifier for one request, which ends with release. A nil
// verifier stays nil.
func (v *Verifier) pin(mode plumblinev1.FailMode) (pinned entail.Verifier, release func()) {
	if v == nil {
		return nil, func() {}
	}
	pinned, release, err := verifiers.Pin(v.Verifier)
	if err != nil {
		// Values have statuses; a verifier that is closed is one of their reasons.
		return closed{err}, func() {}
	}
	if v.Unanswered != nil {
		pinned = &tallied{Verifier: pinned, unanswered: sync.OnceFunc(func() { v.Unanswered(mode) })}
	}
	return pinned, release
}

// closed is a verifier that cannot be asked any more.
type closed struct{ err error }

// Describe implements entail.Verifier.
func (c closed) Describe(context.Context) (entail.Description, error) {
	return entail.Description{}, c.err
}

// Verify implements entail.Verifier.
func (c closed) Verify(context.Context, []entail.Pair) (entail.Batch, error) {
	return entail.Batch{}, c.err
}

// tallied tells when a request's verifier cannot be asked.
type tallied struct {
	entail.Verifier
	unanswered func()
}

// Describe implements entail.Verifier.
func (t *tallied) Describe(ctx context.Context) (entail.Description, error) {
	description, err := t.Verifier.Describe(ctx)
	t.note(ctx, err)
	return description, err
}

// Verify implements entail.Verifier.
func (t *tallied) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	batch, err := t.Verifier.Verify(ctx, pairs)
	t.note(ctx, err)
	return batch, err
}

// note leaves out requests that ended by themselves.
func (t *tallied) note(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		t.unanswered()
	}
}
