package verifiers

import (
	"context"
	"fmt"
	"sync"

	"plumbline/scorers/entail"
)

// Pinner is a verifier behind which the model may change between calls.
type Pinner interface {
	// Pin returns the verifier for one request: all that is asked of it until
	// release comes from one model. release may be called more than once.
	Pin() (pinned entail.Verifier, release func(), err error)
}

// Pin returns v for one request, which will not see the scores of two models. A
// verifier that is no Pinner cannot promise that: there, a call that another
// model answers than the request's first is entail.ErrUnavailable.
func Pin(v entail.Verifier) (pinned entail.Verifier, release func(), err error) {
	if pinner, ok := v.(Pinner); ok {
		return pinner.Pin()
	}
	return &steady{Verifier: v}, func() {}, nil
}

// steady refuses the answers of a second model.
type steady struct {
	entail.Verifier
	mu     sync.Mutex
	digest string // of the model that answered first; empty before
}

// Verify implements entail.Verifier.
func (s *steady) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	batch, err := s.Verifier.Verify(ctx, pairs)
	if err != nil {
		return entail.Batch{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.digest == "" {
		s.digest = batch.Usage.Digest
	}
	if batch.Usage.Digest != s.digest {
		return entail.Batch{}, fmt.Errorf("%w: its model was exchanged while the request was under way", entail.ErrUnavailable)
	}
	return batch, nil
}
