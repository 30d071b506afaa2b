package guarantees

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plumbline/internal/shareddata"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/grounding"
)

// TestFalseVerdictsGrowWithinTheirBounds measures how often claims are found
// supported, and how often contradicted, by passages about other things, by the
// number of passages: the other side of a maximum. The claims are sentences of
// Wikipedia with the pages that they cite (WiCE); a claim meets only pieces of the
// pages of others. A verdict over many passages is the strongest over each alone.
func TestFalseVerdictsGrowWithinTheirBounds(t *testing.T) {
	claims, passages, sizes := 5, 50, []int{1, 10, 50}
	if *long {
		claims, passages, sizes = 20, 1000, []int{1, 10, 100, 1000}
	}
	scorer, verifier := newScorer(t), open(t, 2)
	hypotheses, documents := draw(t, claims, passages)
	supporting, contradicting := make([]int, claims), make([]int, claims) // passages, of each claim
	for i, hypothesis := range hypotheses {
		judged := 0
		for _, text := range documents[i] {
			v := verdict(t, scorer, verifier, hypothesis, text)
			if v != plumblinev1.Verdict_VERDICT_UNSPECIFIED {
				judged++
			}
			switch v {
			case plumblinev1.Verdict_VERDICT_SUPPORTED:
				supporting[i]++
			case plumblinev1.Verdict_VERDICT_CONTRADICTED:
				contradicting[i]++
			case plumblinev1.Verdict_VERDICT_CONFLICTING:
				supporting[i]++
				contradicting[i]++
			}
		}
		if 2*judged < passages {
			t.Fatalf("only %d of %d passages give a verdict on %q", judged, passages, hypothesis)
		}
		t.Logf("%d of %d passages support, %d contradict: %s", supporting[i], passages, contradicting[i], hypothesis)
	}
	for _, size := range sizes {
		for _, verdict := range []struct {
			name   string
			found  []int
			bounds map[int]float64
		}{{"supported", supporting, supportBounds()}, {"contradicted", contradicting, contradictionBounds()}} {
			var rate float64
			for _, n := range verdict.found {
				rate += hit(passages, n, size) / float64(claims)
			}
			t.Logf("%4d passages: %.3f of %d claims are falsely found %s", size, rate, claims, verdict.name)
			if bound := verdict.bounds[size]; rate > bound {
				t.Errorf("with %d passages %.3f of the claims are falsely found %s, more than %.2f", size, rate, verdict.name, bound)
			}
		}
	}
}

// verdict is that of a claim over one passage: unspecified if the passage is in
// another script.
func verdict(t *testing.T, scorer *grounding.Scorer, verifier entail.Verifier, claim, passage string) plumblinev1.Verdict {
	t.Helper()
	reply := scorer.Score(t.Context(), verifier, request([]string{claim}, passage))
	if s := reply.GetStatus(); s != plumblinev1.Status_STATUS_OK && s != plumblinev1.Status_STATUS_UNSUPPORTED_LANGUAGE {
		t.Fatalf("%s: %s", s, reply.GetReason())
	}
	return reply.GetClaims()[0].GetVerdict()
}

// supportBounds and contradictionBounds are rates, with room above what its card
// publishes, that a bundled model must stay below.
func supportBounds() map[int]float64 {
	return map[int]float64{1: 0.005, 10: 0.02, 50: 0.05, 100: 0.1, 1000: 0.2}
}

func contradictionBounds() map[int]float64 {
	return map[int]float64{1: 0.03, 10: 0.2, 50: 0.5, 100: 0.6, 1000: 0.9}
}

// hit is the probability that at least one of size passages, drawn from all
// without replacement, is among the n of a verdict.
func hit(all, n, size int) float64 {
	miss := 1.0
	for i := range size {
		miss *= math.Max(0, float64(all-n-i)) / float64(all-i)
	}
	return 1 - miss
}

// passageWords is about what one window of the bundled model takes.
const passageWords = 100

// draw returns claims and for each of them passages of other claims' documents.
func draw(t *testing.T, claims, passages int) (hypotheses []string, documents [][]string) {
	t.Helper()
	rows := slices.Collect(shareddata.Rows[row](t, "data", "dev", "wice_claim.dev.jsonl.gz"))
	random := rand.New(rand.NewPCG(9, 9))
	for range claims {
		row := rows[random.IntN(len(rows))]
		var texts []string
		for len(texts) < passages {
			other := rows[random.IntN(len(rows))]
			words := strings.Fields(other.Doc)
			if other.Doc == row.Doc || len(words) <= passageWords {
				continue
			}
			at := random.IntN(len(words) - passageWords)
			if text := strings.Join(words[at:at+passageWords], " "); len(text) < 10*passageWords { // else it is a list of addresses
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
