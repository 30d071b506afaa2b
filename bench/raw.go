package main

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"plumbline/models"
	"plumbline/models/ort"
	"plumbline/models/tokenizer"
	"plumbline/scorers/entail"
)

// rawLoop is the least that scoring pairs can cost with this model and
// library: token ids that are ready, a run of each at its exact length, one
// thread to a run, as many runs side by side as there are processors, the
// longest first so that none of them idles at the end.
type rawLoop struct {
	session *ort.Session
	runners []*ort.Runner
}

func (s *session) newRawLoop(model *models.Model) (*rawLoop, error) {
	library, err := ort.Find(s.library)
	if err != nil {
		return nil, err
	}
	opened, err := ort.Open(library, model)
	if err != nil {
		return nil, err
	}
	loop := &rawLoop{session: opened}
	for range runtime.GOMAXPROCS(0) {
		runner, err := opened.NewRunner()
		if err != nil {
			return nil, errors.Join(err, loop.Close())
		}
		loop.runners = append(loop.runners, runner)
	}
	return loop, nil
}

func (l *rawLoop) run(ctx context.Context, inputs []tokenizer.PairEncoding) error {
	next := make(chan tokenizer.PairEncoding, len(inputs))
	for _, input := range slices.SortedStableFunc(slices.Values(inputs), func(a, b tokenizer.PairEncoding) int { return len(b.IDs) - len(a.IDs) }) {
		next <- input
	}
	close(next)
	errs := make([]error, len(l.runners))
	var group sync.WaitGroup
	for i, runner := range l.runners {
		group.Go(func() {
			for input := range next {
				if _, err := runner.Run(ctx, input.IDs, input.TypeIDs); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// Close frees the session.
func (l *rawLoop) Close() error {
	var errs []error
	for _, runner := range l.runners {
		errs = append(errs, runner.Close())
	}
	return errors.Join(append(errs, l.session.Close())...)
}

func (c corpus) encode(pairs []entail.Pair) []tokenizer.PairEncoding {
	inputs := make([]tokenizer.PairEncoding, len(pairs))
	for i, pair := range pairs {
		inputs[i] = c.tokens.EncodePair(pair.Premise, pair.Hypothesis)
	}
	return inputs
}
