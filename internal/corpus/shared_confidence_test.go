package corpus_test

import (
	"fmt"
	"math"
	"testing"

	"plumbline/internal/corpus"
)

func confidenceTranslations() map[string]translation {
	return map[string]translation{
		"duplicated-samples": asks("confidence", duplicatedSamples).and(needs(massesSumToOne)),
		"missing-logprob-set": asks("confidence", func(sharedCase) []corpus.Case {
			return one(map[string]any{"samples": samplesWithLogprobs([]any{-0.4, -0.9, nil, -1.2, -2.0})}, map[string]any{
				"semantic_entropy_weighted.status": "STATUS_OK",
				"semantic_entropy_weighted.n_used": 4,
				"sequence_entropy.n_used":          4,
			})
		}),
		"sentinel-logprob": asks("confidence", func(c sharedCase) []corpus.Case {
			return one(map[string]any{"main_answer": "x", "first_token_logprobs": c["top_logprobs"]}, map[string]any{
				"p_true.value":  map[string]any{"absent": true},
				"p_true.status": "STATUS_MISSING_INPUT",
			})
		}),
		"absent-label-token": asks("gate", absentLabel).and(asks("confidence", absentLabelToken)),
		"ratio-direction":    needs(ratioDirection),
		"verbalized":         asks("confidence", verbalized),
	}
}

// samplesWithLogprobs are distinct answers with log-probabilities, nil where
// there is none.
func samplesWithLogprobs(logprobs []any) []any {
	var samples []any
	for i, logprob := range logprobs {
		sample := map[string]any{"text": fmt.Sprint("answer ", i)}
		if logprob != nil {
			sample["logprob"] = logprob
		}
		samples = append(samples, sample)
	}
	return samples
}

// duplicatedSamples: likelihoods take each distinct text once, so that the
// three wordings have the masses that they came with.
func duplicatedSamples(c sharedCase) []corpus.Case {
	var samples []any
	for i := range c.list("samples") {
		p := c.number(fmt.Sprintf("samples[%d].p", i))
		samples = append(samples, map[string]any{"text": c.at(fmt.Sprintf("samples[%d].text", i)), "logprob": math.Log(p)})
	}
	return one(map[string]any{"samples": samples}, map[string]any{
		"semantic_entropy.value":          map[string]any{"at_least": 0},
		"semantic_entropy_weighted.value": -(0.6*math.Log(0.6) + 0.3*math.Log(0.3) + 0.1*math.Log(0.1)),
	})
}

func massesSumToOne(t *testing.T, s *stage, c sharedCase) []string {
	t.Helper()
	answer := s.here(t, "confidence", duplicatedSamples(c)[0].Request)
	list, _ := corpus.At(answer, "clusters")
	clusters, _ := list.([]any)
	sum := 0.0
	for _, cluster := range clusters {
		mass, _ := corpus.At(cluster, "mass")
		sum += mass.(float64)
	}
	if math.Abs(sum-1) > corpus.Tolerance {
		return []string{fmt.Sprintf("the masses sum to %v", sum)}
	}
	return nil
}

// absentLabel: the reflection token that is not among the top tokens counts as
// nothing, and the ratio stays a ratio.
func absentLabel(sharedCase) []corpus.Case {
	return one(map[string]any{
		"policy": "self_rag",
		"inputs": map[string]any{"label_distribution": map[string]any{"[No Retrieval]": 0.98}},
	}, map[string]any{
		"action":               "ACTION_NO_RETRIEVAL",
		"trace[0].value.value": map[string]any{"at_least": 0, "at_most": 1},
	})
}

func absentLabelToken(sharedCase) []corpus.Case {
	return one(map[string]any{
		"labels":               []any{"[Retrieval]", "[No Retrieval]"},
		"first_token_logprobs": []any{map[string]any{"token": "[No Retrieval]", "logprob": math.Log(0.98)}},
	}, map[string]any{
		"label_distribution[0].probability": 0,
		"label_distribution[1].probability": 1,
		"label_mass.value":                  0.98,
	})
}

// ratioDirection: the share that the gate compares rises with P(retrieve).
func ratioDirection(t *testing.T, s *stage, _ sharedCase) []string {
	t.Helper()
	last := -1.0
	for p := 0.1; p < 0.95; p += 0.1 {
		answer := s.here(t, "gate", map[string]any{
			"policy": "self_rag",
			"inputs": map[string]any{"label_distribution": map[string]any{"[Retrieval]": p, "[No Retrieval]": 1 - p}},
		})
		value, _ := corpus.At(answer, "trace[0].value.value")
		share, ok := value.(float64)
		if !ok || share <= last || share > 1 {
			return []string{fmt.Sprintf("at %.1f the score is %v, after %v", p, value, last)}
		}
		last = share
	}
	return nil
}

func verbalized(c sharedCase) []corpus.Case {
	var cases []corpus.Case
	for i, output := range c.list("outputs") {
		want := map[string]any{}
		switch expected := c.at(fmt.Sprintf("expect[%d]", i)); expected {
		case "missing":
			want["verbalized.status"] = "STATUS_MISSING_INPUT"
			want["verbalized.value"] = map[string]any{"absent": true}
		case "table value":
			want["verbalized.value"] = map[string]any{"at_least": 0.5, "at_most": 1}
		default:
			want["verbalized.value"] = expected
		}
		cases = append(cases, corpus.Case{
			ID:      fmt.Sprint("output ", i),
			Request: map[string]any{"main_answer": "x", "raw_output": output},
			Want:    want,
		})
	}
	return cases
}
