// Command own-verifier is a verifier of one's own: evidence supports a claim by the share
// of the claim's words that it has.
package main

import (
	"context"
	"log"
	"strings"

	"plumbline/client/go/sidecar"
	"plumbline/scorers/entail"
)

type words struct{}

func (words) Describe(context.Context) (entail.Description, error) {
	return entail.Description{Name: "words", Digest: "words-1", Deterministic: true}, nil
}

func (words) Verify(_ context.Context, pairs []entail.Pair) (entail.Batch, error) {
	results := make([]entail.Result, len(pairs))
	for i, pair := range pairs {
		claim, found := strings.Fields(pair.Hypothesis), 0
		for _, word := range claim {
			if strings.Contains(pair.Premise, word) {
				found++
			}
		}
		results[i].Scores.Entailment = float64(found) / float64(max(len(claim), 1))
	}
	return entail.Batch{Results: results}, nil
}

func main() {
	if err := sidecar.Serve(context.Background(), words{}, sidecar.Config{}); err != nil {
		log.Fatal(err)
	}
}
