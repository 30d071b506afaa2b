package conform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"plumbline/scorers/entail"
)

const (
	// hugeText is a text far beyond any window, and within a message of 4 MiB.
	hugeText = 1 << 20
	// hugeTokens is fewer tokens than any tokenizer makes of it.
	hugeTokens = 100_000
)

func treatsEmptyTexts(ctx context.Context, s *subject) error {
	if err := s.answered(ctx, entail.Pair{Hypothesis: premises[0]}); err != nil {
		return fmt.Errorf("an empty premise: %w", err)
	}
	answers, err := s.ask(ctx, []entail.Pair{{Premise: premises[0]}})
	switch {
	case err == nil && answers[0].refusal != "":
	case err == nil:
		return errors.New("an empty hypothesis has scores")
	case s.conn == nil:
		return fmt.Errorf("an empty hypothesis: %w", err)
	default:
		if err := wantCode(ctx, err, codes.InvalidArgument); err != nil {
			return fmt.Errorf("an empty hypothesis: %w", err)
		}
	}
	return s.works(ctx)
}

// answered asks one pair, which must have scores or a typed status. Over the
// wire the status is looked at as well as the scores.
func (s *subject) answered(ctx context.Context, pair entail.Pair) error {
	if s.conn == nil {
		_, err := s.ask(ctx, []entail.Pair{pair})
		return err
	}
	responses, err := s.exchange(ctx, request("", pair))
	if err != nil {
		return err
	}
	for result := range results(responses) {
		return s.checkScores(result)
	}
	return errors.New("there is no result")
}

func treatsOddTexts(ctx context.Context, s *subject) error {
	texts := odd()
	for _, what := range slices.Sorted(maps.Keys(texts)) {
		if err := s.answered(ctx, texts[what]); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

func treatsHugeTexts(ctx context.Context, s *subject) error {
	huge := strings.Repeat("The bridge was opened to traffic. ", hugeText/34)
	for what, pair := range map[string]entail.Pair{
		"a premise of 1 MiB":    {Premise: huge, Hypothesis: premises[0]},
		"a hypothesis of 1 MiB": {Premise: premises[0], Hypothesis: huge},
	} {
		answers, err := s.ask(ctx, []entail.Pair{identical()[0], pair})
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if answers[0].refusal != "" {
			return fmt.Errorf("%s: the easy pair beside it has %s", what, answers[0].refusal)
		}
		if window := s.description.GetMaxTokens(); answers[1].refusal == "" && window > 0 && window < hugeTokens {
			return fmt.Errorf("%s: it has scores and max_tokens is %d, so that most of it was cut off in silence", what, window)
		}
	}
	return s.works(ctx)
}
