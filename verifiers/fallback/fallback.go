// Package fallback asks the verifiers of an explicit chain one after the other
// until one answers.
package fallback

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/verifiers"
)

// Verifier is a chain of verifiers. It implements entail.Verifier.
type Verifier struct{ chain []entail.Verifier }

// New returns the chain, whose members stay the caller's.
func New(first entail.Verifier, next ...entail.Verifier) *Verifier {
	return &Verifier{chain: append([]entail.Verifier{first}, next...)}
}

// Describe implements entail.Verifier. The description is that of the first
// member that gives one.
func (v *Verifier) Describe(ctx context.Context) (entail.Description, error) {
	var failures []error
	for _, member := range v.chain {
		description, err := member.Describe(ctx)
		if err == nil {
			return description, nil
		}
		if failures = append(failures, err); !passesOn(ctx, err) {
			break
		}
	}
	return entail.Description{}, join(failures)
}

// Verify implements entail.Verifier. One member answers all pairs; Usage says
// which. The next is asked when a member cannot be asked or none of its pairs
// could be scored for a reason that is not the pair's.
func (v *Verifier) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	batch, _, err := v.verify(ctx, v.chain, pairs)
	return batch, err
}

func (v *Verifier) verify(ctx context.Context, chain []entail.Verifier, pairs []entail.Pair) (entail.Batch, entail.Verifier, error) {
	var failures []error
	for _, member := range chain {
		batch, err := member.Verify(ctx, pairs)
		if err == nil {
			err = verifiers.Outage(batch)
		}
		if err == nil {
			return batch, member, nil
		}
		if failures = append(failures, err); !passesOn(ctx, err) {
			break
		}
	}
	return entail.Batch{}, nil, join(failures)
}

// Pin returns the chain for one request: the member that answers the request's
// first call answers all of them, so that no request mixes the scores of two.
func (v *Verifier) Pin() (pinned entail.Verifier, release func(), err error) {
	return &pin{Verifier: v}, func() {}, nil
}

// pin is the chain as one request sees it.
type pin struct {
	*Verifier
	mu     sync.Mutex
	member entail.Verifier // nil before the first answer
}

// Describe implements entail.Verifier.
func (p *pin) Describe(ctx context.Context) (entail.Description, error) {
	if member := p.answering(); member != nil {
		return member.Describe(ctx)
	}
	return p.Verifier.Describe(ctx)
}

func (p *pin) answering() entail.Verifier {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.member
}

// Verify implements entail.Verifier. Until a member is chosen, calls of the
// request wait for each other.
func (p *pin) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	if member := p.answering(); member != nil {
		return member.Verify(ctx, pairs)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.member != nil {
		return p.member.Verify(ctx, pairs)
	}
	batch, member, err := p.verify(ctx, p.chain, pairs)
	p.member = member
	return batch, err
}

// passesOn says whether a failure is one that another verifier may not share:
// the caller's time and the caller's input are the same for all.
func passesOn(ctx context.Context, err error) bool {
	_, input := errors.AsType[*score.Missing](err)
	return ctx.Err() == nil && !input
}

// join tells all failures, in the order of the chain. The last decides what it
// is to the caller.
func join(failures []error) error {
	last := len(failures) - 1
	if last == 0 {
		return failures[0]
	}
	before := errors.Join(failures[:last]...).Error() // as text: it decides nothing
	return fmt.Errorf("%w (before it in the chain: %s)", failures[last], before)
}
