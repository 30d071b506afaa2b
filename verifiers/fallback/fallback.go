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

// Verifier is a chain of verifiers. It implements entail.Verifier and
// verifiers.Pinner.
type Verifier struct{ chain []entail.Verifier }

// New returns the chain, whose members stay the caller's.
func New(first entail.Verifier, next ...entail.Verifier) *Verifier {
	return &Verifier{chain: append([]entail.Verifier{first}, next...)}
}

// Describe implements entail.Verifier. The description is that of the first
// member that gives one.
func (v *Verifier) Describe(ctx context.Context) (entail.Description, error) {
	var description entail.Description
	err := v.first(ctx, func(member entail.Verifier) (err error) {
		description, err = member.Describe(ctx)
		return err
	})
	return description, err
}

// Verify implements entail.Verifier. One member answers all pairs; Usage says
// which. The next is asked when a member cannot be asked or none of its pairs
// could be scored for a reason that is not the pair's.
func (v *Verifier) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	var batch entail.Batch
	err := v.first(ctx, func(member entail.Verifier) (err error) {
		batch, err = verify(ctx, member, pairs)
		return err
	})
	return batch, err
}

// first asks the members in turn until one answers.
func (v *Verifier) first(ctx context.Context, ask func(member entail.Verifier) error) error {
	var failures []error
	for _, member := range v.chain {
		err := ask(member)
		if err == nil {
			return nil
		}
		if failures = append(failures, err); !passesOn(ctx, err) {
			break
		}
	}
	return join(failures)
}

func verify(ctx context.Context, member entail.Verifier, pairs []entail.Pair) (entail.Batch, error) {
	batch, err := member.Verify(ctx, pairs)
	if err == nil {
		err = verifiers.Outage(batch)
	}
	if err != nil {
		return entail.Batch{}, err
	}
	return batch, nil
}

// Pin implements verifiers.Pinner: the member that answers a request's first
// call answers all of them.
func (v *Verifier) Pin() (pinned entail.Verifier, release func(), err error) {
	p := &pin{chain: v, release: func() {}}
	return p, sync.OnceFunc(p.end), nil
}

// pin is the chain as one request sees it.
type pin struct {
	chain   *Verifier
	mu      sync.Mutex
	member  entail.Verifier // nil before the first answer
	release func()          // the member's
}

func (p *pin) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release()
}

// Describe implements entail.Verifier.
func (p *pin) Describe(ctx context.Context) (entail.Description, error) {
	if member := p.answering(); member != nil {
		return member.Describe(ctx)
	}
	return p.chain.Describe(ctx)
}

func (p *pin) answering() entail.Verifier {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.member
}

// Verify implements entail.Verifier. Until a member has answered, calls of the
// request wait for each other.
func (p *pin) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	p.mu.Lock()
	if member := p.member; member != nil {
		p.mu.Unlock()
		return member.Verify(ctx, pairs)
	}
	defer p.mu.Unlock()
	var batch entail.Batch
	err := p.chain.first(ctx, func(candidate entail.Verifier) error {
		pinned, release, err := verifiers.Pin(candidate)
		if err != nil {
			return err
		}
		if batch, err = verify(ctx, pinned, pairs); err != nil {
			release()
			return err
		}
		p.member, p.release = pinned, release
		return nil
	})
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
