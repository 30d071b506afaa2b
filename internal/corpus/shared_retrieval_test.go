package corpus_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"plumbline/internal/corpus"
)

func retrievalTranslations() map[string]translation {
	return map[string]translation{
		"rrf-height":       asks("retrieval", rrfHeight),
		"rrf-k2-tie":       asks("retrieval", rrfTie),
		"negative-cosines": asks("retrieval", negativeCosines).and(needs(everySignalIsOneOrTheOther)),
		"all-equal": asks("retrieval", func(c sharedCase) []corpus.Case {
			return one(oneRanking("SCORE_KIND_COSINE", c.list("scores")...), map[string]any{
				"signals.score_stddev.value": 0,
				"signals.relative_gap.value": 0,
				"signals.max_score.value":    c.number("scores[0]"),
			})
		}),
		"one-result": asks("retrieval", func(c sharedCase) []corpus.Case {
			return one(oneRanking("SCORE_KIND_COSINE", c.list("scores")...), map[string]any{
				"signals.max_score.value":     c.number("scores[0]"),
				"signals.score_stddev.status": "STATUS_TOO_FEW_ITEMS",
				"signals.jaccard.value":       map[string]any{"absent": true},
			})
		}),
		"entity-edge": asks("retrieval", func(c sharedCase) []corpus.Case {
			request := oneRanking("SCORE_KIND_COSINE", 0.9, 0.8)
			request["question"] = c["question"]
			return one(request, map[string]any{
				"entities":         map[string]any{"length": 3},
				"entities[0].text": "The Lord of the Rings",
				"entities[1].text": "2001",
				"entities[2].text": "O'Brien",
			})
		}),
	}
}

// ranking is a list of items i0, i1, … with scores.
func ranking(name, kind string, ids []string, scores ...any) map[string]any {
	var items []any
	for i, score := range scores {
		items = append(items, map[string]any{"id": ids[i], "score": score, "text": "A passage of no special kind."})
	}
	return map[string]any{"name": name, "score_kind": kind, "items": items}
}

func oneRanking(kind string, scores ...any) map[string]any {
	ids := make([]string, len(scores))
	for i := range ids {
		ids[i] = fmt.Sprint("i", i)
	}
	return map[string]any{"rankings": []any{ranking("mine", kind, ids, scores...)}}
}

// rrfHeight: a fused list is as high as its ranks, so that its height is given
// but marked, and predictors that take it for fit refuse.
func rrfHeight(sharedCase) []corpus.Case {
	ids := []string{"a", "b", "c"}
	return one(map[string]any{"rankings": []any{
		ranking("fused", "SCORE_KIND_RRF", ids, 0.016, 0.0158, 0.0156),
		ranking("dense", "SCORE_KIND_COSINE", ids, 0.3, 0.2, 0.1),
		ranking("sparse", "SCORE_KIND_BM25", []string{"a", "x", "y"}, 9, 8, 7),
	}}, map[string]any{
		"signals.max_score.value":            0.016,
		"signals.max_score.rank_fused":       true,
		"signals.nqc.status":                 "STATUS_WRONG_SCORE_KIND",
		"signals.wig.status":                 "STATUS_WRONG_SCORE_KIND",
		"signals.score_stddev.status":        "STATUS_OK",
		"signals.retriever_divergence.value": 2.0 / 3,
	})
}

// rrfTie: in the fused list the winner of one list ties an item that is third
// in both; divergence comes from the lists.
func rrfTie(sharedCase) []corpus.Case {
	return one(map[string]any{"rankings": []any{
		ranking("fused", "SCORE_KIND_RRF", []string{"winner", "third"}, 0.5, 0.5),
		ranking("dense", "SCORE_KIND_COSINE", []string{"winner", "b", "third"}, 0.9, 0.8, 0.7),
		ranking("sparse", "SCORE_KIND_BM25", []string{"c", "d", "third"}, 9, 8, 7),
	}}, map[string]any{
		"signals.retriever_divergence.value": 2.0 / 3,
		"signals.max_score.rank_fused":       true,
	})
}

func negativeCosines(c sharedCase) []corpus.Case {
	return one(oneRanking("SCORE_KIND_COSINE", c.list("scores")...), map[string]any{"signals.max_score.value": c.number("scores[0]")})
}

// everySignalIsOneOrTheOther: a number, or the reason why there is none.
func everySignalIsOneOrTheOther(t *testing.T, s *stage, c sharedCase) []string {
	t.Helper()
	answer := s.here(t, "retrieval", negativeCosines(c)[0].Request)
	signals, _ := corpus.At(answer, "signals")
	byName, _ := signals.(map[string]any)
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		_, valued := corpus.At(byName[name], "value")
		status, _ := corpus.At(byName[name], "status")
		reason, _ := corpus.At(byName[name], "reason")
		if valued != (status == "STATUS_OK") || !valued && reason == "" {
			problems = append(problems, fmt.Sprintf("%s: %v", name, byName[name]))
		}
	}
	if len(byName) < 10 {
		problems = append(problems, fmt.Sprintf("only %d signals", len(byName)))
	}
	return problems
}
