package conform

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"plumbline/scorers/entail"
)

// ignoresOrder asks the same pairs forwards and backwards.
func ignoresOrder(ctx context.Context, s *subject) error {
	forwards, err := s.ask(ctx, pairs())
	if err != nil {
		return err
	}
	turned := pairs()
	slices.Reverse(turned)
	backwards, err := s.ask(ctx, turned)
	if err != nil {
		return err
	}
	slices.Reverse(backwards)
	if err := s.same(forwards, backwards); err != nil {
		return fmt.Errorf("forwards and backwards: %w", err)
	}
	return nil
}

// repeatsItself asks one call again and again.
func repeatsItself(ctx context.Context, s *subject) error {
	first, err := s.ask(ctx, pairs()[:1])
	if err != nil {
		return err
	}
	for range 4 {
		again, err := s.ask(ctx, pairs()[:1])
		if err != nil {
			return err
		}
		if err := s.same(first, again); err != nil {
			return fmt.Errorf("asked again: %w", err)
		}
	}
	return nil
}

// ignoresNeighbours asks pairs alone and together.
func ignoresNeighbours(ctx context.Context, s *subject) error {
	together, err := s.ask(ctx, pairs())
	if err != nil {
		return err
	}
	var alone []answer
	for _, pair := range pairs() {
		one, err := s.ask(ctx, []entail.Pair{pair})
		if err != nil {
			return err
		}
		alone = append(alone, one...)
	}
	if err := s.same(together, alone); err != nil {
		return fmt.Errorf("together and alone: %w", err)
	}
	return nil
}

// keepsCallsApart has several callers ask different pairs at once. A verifier
// may refuse some for load, but not all.
func keepsCallsApart(ctx context.Context, s *subject) error {
	const callers, rounds = 6, 3
	reference, err := s.ask(ctx, pairs())
	if err != nil {
		return err
	}
	served := make([]int, callers)
	var group errgroup.Group
	for caller := range callers {
		group.Go(func() error {
			for round := range rounds {
				turn := (caller + round) % len(reference)
				answers, err := s.ask(ctx, rotated(pairs(), turn))
				if isBusy(err) {
					continue
				}
				if err != nil {
					return fmt.Errorf("one of %d calls at once: %w", callers, err)
				}
				served[caller]++
				if !s.description.GetDeterministic() {
					continue
				}
				if err := s.same(rotated(reference, turn), answers); err != nil {
					return fmt.Errorf("alone and beside %d other calls: %w", callers-1, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if slices.Max(served) == 0 {
		return fmt.Errorf("of %d calls at once all are refused for load", callers)
	}
	return nil
}

func rotated[T any](list []T, by int) []T { return slices.Concat(list[by:], list[:by]) }

// isBusy says whether a call was refused for load.
func isBusy(err error) bool {
	return errors.Is(err, entail.ErrBusy) || status.Code(err) == codes.ResourceExhausted
}
