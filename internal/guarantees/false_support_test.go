package guarantees

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plumbline/internal/shareddata"
	"plumbline/scorers/entail"
)

// TestFalseSupportGrowsWithinItsBound measures how often claims are found
// supported by documents about other things, by the number of chunks: the other
// side of a maximum. The claims are sentences of Wikipedia with the pages that
// they cite (WiCE); a claim meets only the pages of others.
func TestFalseSupportGrowsWithinItsBound(t *testing.T) {
	claims, chunks, sizes := 10, 100, []int{1, 10, 100}
	if *long {
		claims, chunks, sizes = 20, 1000, []int{1, 10, 100, 1000}
	}
	v := open(t, 2)
	hypotheses, documents := draw(t, claims, chunks)
	found := make([]int, claims) // chunks that support the claim
	for i, hypothesis := range hypotheses {
		pairs := make([]entail.Pair, chunks)
		for k, text := range documents[i] {
			pairs[k] = entail.Pair{Premise: text, Hypothesis: hypothesis}
		}
		batch, err := v.Verify(t.Context(), pairs)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range batch.Results {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if r.Scores.Entailment >= 0.5 {
				found[i]++
			}
		}
		t.Logf("%d of %d chunks support: %s", found[i], chunks, hypothesis)
	}
	for _, size := range sizes {
		var rate float64
		for _, n := range found {
			rate += hit(chunks, n, size) / float64(claims)
		}
		t.Logf("%4d chunks: %.3f of %d unsupported claims are found supported", size, rate, claims)
		if bound := bounds()[size]; rate > bound {
			t.Errorf("with %d chunks %.3f of the unsupported claims are found supported, more than %.2f", size, rate, bound)
		}
	}
}

// bounds are the rates above which the bundled model has become worse than it
// was published.
func bounds() map[int]float64 {
	return map[int]float64{1: 0.02, 10: 0.1, 100: 0.3, 1000: 0.6}
}

// hit is the probability that at least one of size chunks, drawn from all
// without replacement, is among the n that support the claim.
func hit(all, n, size int) float64 {
	miss := 1.0
	for i := range size {
		miss *= math.Max(0, float64(all-n-i)) / float64(all-i)
	}
	return 1 - miss
}

// chunkWords is the length of a chunk. It is shorter than the windows of
// grounding, so that the measurement takes seconds.
const chunkWords = 40

// draw returns claims and for each of them chunks of other claims' documents.
func draw(t *testing.T, claims, chunks int) (hypotheses []string, documents [][]string) {
	t.Helper()
	rows := slices.Collect(shareddata.Rows[row](t, "data", "dev", "wice_claim.dev.jsonl.gz"))
	random := rand.New(rand.NewPCG(9, 9))
	for range claims {
		row := rows[random.IntN(len(rows))]
		var texts []string
		for len(texts) < chunks {
			other := rows[random.IntN(len(rows))]
			words := strings.Fields(other.Doc)
			if other.Doc == row.Doc || len(words) <= chunkWords {
				continue
			}
			at := random.IntN(len(words) - chunkWords)
			if text := strings.Join(words[at:at+chunkWords], " "); len(text) < 10*chunkWords { // else it is a list of addresses
				texts = append(texts, text)
			}
		}
		hypotheses, documents = append(hypotheses, row.Claim), append(documents, texts)
	}
	return hypotheses, documents
}

type row struct {
	Doc   string `json:"doc"`
	Claim string `json:"claim"`
}
