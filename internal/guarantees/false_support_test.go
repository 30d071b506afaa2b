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

// TestFalseVerdictsGrowWithinTheirBounds measures how often claims are found
// supported, and how often contradicted, by documents about other things, by the
// number of chunks: the other side of a maximum. The claims are sentences of
// Wikipedia with the pages that they cite (WiCE); a claim meets only the pages of
// others.
func TestFalseVerdictsGrowWithinTheirBounds(t *testing.T) {
	claims, chunks, sizes := 10, 100, []int{1, 10, 100}
	if *long {
		claims, chunks, sizes = 20, 1000, []int{1, 10, 100, 1000}
	}
	v := open(t, 2)
	hypotheses, documents := draw(t, claims, chunks)
	supporting, contradicting := make([]int, claims), make([]int, claims) // chunks, of each claim
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
				supporting[i]++
			}
			if r.Scores.Contradiction >= 0.5 {
				contradicting[i]++
			}
		}
		t.Logf("%d of %d chunks support, %d contradict: %s", supporting[i], chunks, contradicting[i], hypothesis)
	}
	for _, size := range sizes {
		for _, verdict := range []struct {
			name   string
			found  []int
			bounds map[int]float64
		}{{"supported", supporting, supportBounds()}, {"contradicted", contradicting, contradictionBounds()}} {
			var rate float64
			for _, n := range verdict.found {
				rate += hit(chunks, n, size) / float64(claims)
			}
			t.Logf("%4d chunks: %.3f of %d claims are falsely found %s", size, rate, claims, verdict.name)
			if bound := verdict.bounds[size]; rate > bound {
				t.Errorf("with %d chunks %.3f of the claims are falsely found %s, more than %.2f", size, rate, verdict.name, bound)
			}
		}
	}
}

// supportBounds and contradictionBounds are rates, with room above what its card
// publishes, that a bundled model must stay below.
func supportBounds() map[int]float64 {
	return map[int]float64{1: 0.01, 10: 0.05, 100: 0.2, 1000: 0.5}
}

func contradictionBounds() map[int]float64 {
	return map[int]float64{1: 0.02, 10: 0.1, 100: 0.5, 1000: 0.9}
}

// hit is the probability that at least one of size chunks, drawn from all
// without replacement, is among the n of a verdict.
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
