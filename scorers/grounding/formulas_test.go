package grounding

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"plumbline/internal/shareddata"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
)

// The worked examples of the formulas, restated; TestFormulasAgree compares
// them with the shared file where that is at hand.

// matrix is a verifier that answers passage i and claim k with support[k][i].
func matrix(support [][]float64, claims []string, passages []string) entail.Verifier {
	table := map[entail.Pair]entail.Scores{}
	for k, row := range support {
		for i, p := range row {
			table[entail.Pair{Premise: passages[i], Hypothesis: claims[k]}] = entail.Scores{Entailment: p, Neutral: 1 - p, ThreeClass: true}
		}
	}
	return entailtest.Table(table)
}

func numbered(kind string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s number %d is here.", kind, i)
	}
	return out
}

func scoreMatrix(t *testing.T, support [][]float64) *plumblinev1.ScoreGroundingResponse {
	t.Helper()
	claims, passages := numbered("Claim", len(support)), numbered("Passage", len(support[0]))
	req := evidenceOf(passages...)
	req.Mode = plumblinev1.ScoreGroundingRequest_MODE_CALVERT
	for _, c := range claims {
		req.Claims = append(req.Claims, &plumblinev1.Claim{Text: c})
	}
	return newScorer(t).Score(t.Context(), matrix(support, claims, passages), req)
}

func TestMeanAndMinimum(t *testing.T) {
	r := scoreMatrix(t, [][]float64{{0.1, 0.92, 0.3, 0.92}, {0.55, 0.2, 0.4, 0.05}, {0.7, 0.69, 0.71, 0.02}})
	near(t, "g_mean", r.GetGMean().GetValue(), 0.7266666666666667)
	near(t, "g_min", r.GetGMin().GetValue(), 0.55)
	if r.GetGMinClaim() != "1" {
		t.Errorf("g_min_claim %q", r.GetGMinClaim())
	}
	for i, want := range []string{"1", "0", "2"} {
		if got := r.GetClaims()[i].GetBest().GetEvidenceId(); got != want {
			t.Errorf("claim %d: best passage %s, want %s", i, got, want)
		}
	}
}

func TestOneClaim(t *testing.T) {
	r := scoreMatrix(t, [][]float64{{0.42, 0.17}})
	near(t, "g_mean", r.GetGMean().GetValue(), 0.42)
	near(t, "g_min", r.GetGMin().GetValue(), 0.42)
}

func TestDuplicateClaimsCountOnce(t *testing.T) {
	claims := []string{"Paris is in France.", "paris is in france", "The Seine flows through Paris."}
	v := matrix([][]float64{{0.9}, {0.9}, {0.3}}, claims, []string{"Some text."})
	req := evidenceOf("Some text.")
	req.Mode = plumblinev1.ScoreGroundingRequest_MODE_CALVERT
	for _, c := range claims {
		req.Claims = append(req.Claims, &plumblinev1.Claim{Text: c})
	}
	r := newScorer(t).Score(t.Context(), v, req)
	near(t, "g_mean", r.GetGMean().GetValue(), 0.6)
	near(t, "g_min", r.GetGMin().GetValue(), 0.3)
	if r.GetScored() != 2 || r.GetCoverage().GetPairs() != 3 { // each is asked in its own words
		t.Errorf("scored %d, pairs %d", r.GetScored(), r.GetCoverage().GetPairs())
	}
}

// TestCalVerTDocument: the document is title, blank line, text.
func TestCalVerTDocument(t *testing.T) {
	rec := entailtest.NewRecorder(neutral())
	req := &plumblinev1.ScoreGroundingRequest{
		Mode:     plumblinev1.ScoreGroundingRequest_MODE_CALVERT,
		Evidence: []*plumblinev1.Evidence{{Title: "Paris", Text: "It is in France. It is big."}},
		Claims:   []*plumblinev1.Claim{{Text: "Paris is in France."}},
	}
	newScorer(t).Score(t.Context(), rec, req)
	if rec.Count(entail.Pair{Premise: "Paris\n\nIt is in France. It is big.", Hypothesis: "Paris is in France."}) != 1 {
		t.Errorf("pairs %q", rec.Calls())
	}
}

func TestMiniCheckPacking(t *testing.T) {
	for _, c := range []struct {
		name    string
		lengths []int
		size    int
		want    string
	}{
		{"exact fit", []int{300, 200, 100, 400, 1}, 500, "[{0 2} {2 4} {4 5}]"},
		{"overlong first", []int{700, 100, 450}, 500, "[{0 1} {1 2} {2 3}]"},
		{"newline tokens", []int{150, 250, 1, 90, 310}, 400, "[{0 2} {2 4} {4 5}]"},
		{"nothing", nil, 400, "[]"},
	} {
		if got := fmt.Sprint(miniCheckPack(c.lengths, c.size)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestMiniCheckPackingOfText packs real sentences by white-space words.
func TestMiniCheckPackingOfText(t *testing.T) {
	var text strings.Builder
	for i, words := range []int{300, 200, 100, 400, 1} {
		fmt.Fprintf(&text, "S%d%s. ", i, strings.Repeat(" word", words-1))
	}
	v := described{Verifier: neutral(), change: func(d *entail.Description) { d.Name, d.MaxTokens = "MiniCheck-flan-t5-large", 2048 }}
	rec := entailtest.NewRecorder(v)
	req := evidenceOf(text.String())
	req.Mode = plumblinev1.ScoreGroundingRequest_MODE_MINICHECK
	req.Claims = []*plumblinev1.Claim{{Text: "It rained."}}
	newScorer(t).Score(t.Context(), rec, req)
	var words []int
	for _, p := range rec.Calls()[0] {
		words = append(words, len(strings.Fields(p.Premise)))
	}
	if fmt.Sprint(words) != "[500 500 1]" {
		t.Errorf("chunks of %v words", words)
	}
}

func TestMiniCheckLimits(t *testing.T) {
	for name, want := range map[string]miniCheckRules{
		"MiniCheck-RoBERTa-large":          {size: 400, maxTokens: 512},
		"minicheck-deberta-v3-large":       {size: 400, maxTokens: 2048},
		"MiniCheck-Flan-T5-Large":          {size: 500, words: true, maxTokens: 2048},
		"bespokelabs/Bespoke-MiniCheck-7B": {size: 32468, splitClaims: true, maxTokens: 32768},
		"plumbline-verifier-v0":            {size: 400, maxTokens: 512},
	} {
		got, known := miniCheckFor(entail.Description{Name: name, MaxTokens: 512})
		if got != want || known == strings.HasPrefix(name, "plumbline") {
			t.Errorf("%s: %+v, want %+v; known %v", name, got, want, known)
		}
	}
}

// TestMiniCheckOfAnotherModelWarns, since its chunks are a guess.
func TestMiniCheckOfAnotherModelWarns(t *testing.T) {
	for name, want := range map[string]int{"MiniCheck-RoBERTa-large": 0, "my-model": 1} {
		v := described{Verifier: neutral(), change: func(d *entail.Description) { d.Name = name }}
		req := evidenceOf("Some text.")
		req.Mode = plumblinev1.ScoreGroundingRequest_MODE_MINICHECK
		req.Claims = []*plumblinev1.Claim{{Text: "A claim."}}
		if warnings := newScorer(t).Score(t.Context(), v, req).GetWarnings(); len(warnings) != want {
			t.Errorf("%s: %q", name, warnings)
		}
	}
}

// TestMiniCheckJoinsLines: sentences are joined by blanks, none beside a line
// break.
func TestMiniCheckJoinsLines(t *testing.T) {
	if got := miniCheckText(newScorer(t).split, " One.  Two.\n\n Three. \n"); got != "One. Two.\n\nThree." {
		t.Errorf("%q", got)
	}
}

// TestMiniCheck7B: best chunk for each sentence of the claim, then the worst
// sentence.
func TestMiniCheck7B(t *testing.T) {
	sentences, chunks := []string{"It rained in Rome.", "Nobody saw snow."}, []string{"Chunk one is here.", "Chunk two is here."}
	v := matrix([][]float64{{0.95, 0.1}, {0.2, 0.9}}, sentences, chunks)
	named := described{Verifier: v, change: func(d *entail.Description) { d.Name = "Bespoke-MiniCheck-7B" }}
	req := evidenceOf(chunks...)
	req.Mode = plumblinev1.ScoreGroundingRequest_MODE_MINICHECK
	req.Claims = []*plumblinev1.Claim{{Text: strings.Join(sentences, " ")}}
	r := newScorer(t).Score(t.Context(), named, req)
	near(t, "support", r.GetClaims()[0].GetSupport().GetValue(), 0.9)
	if v := r.GetClaims()[0].GetVerdict(); v != plumblinev1.Verdict_VERDICT_SUPPORTED {
		t.Error(v)
	}
	if id := r.GetClaims()[0].GetBest().GetEvidenceId(); id != "1" {
		t.Errorf("the weakest sentence's best chunk is %s", id)
	}
}

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s = %v, want %v", name, got, want)
	}
}

// TestFormulasAgree runs the shared file's grounding examples, so that the
// restated ones cannot drift from it.
func TestFormulasAgree(t *testing.T) {
	data, err := os.ReadFile(shareddata.Path(t, "cases", "golden_formulas.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		ID     string `yaml:"id"`
		Inputs struct {
			Support yaml.Node   `yaml:"support"`
			PYes    [][]float64 `yaml:"p_yes"`
			Words   []int       `yaml:"words_per_sentence"`
			Tokens  []int       `yaml:"tokens_per_piece"`
			Size    int         `yaml:"chunk_size"`
		} `yaml:"inputs"`
		Expected yaml.Node `yaml:"expected"`
	}
	if err := yaml.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range cases {
		switch c.ID {
		case "grounding-mean-min", "grounding-one-claim":
			var support [][]float64
			var want struct {
				GMean float64 `yaml:"g_mean"`
				GMin  float64 `yaml:"g_min"`
			}
			decode(t, c.Inputs.Support, &support)
			decode(t, c.Expected, &want)
			r := scoreMatrix(t, support)
			near(t, c.ID+" g_mean", r.GetGMean().GetValue(), want.GMean)
			near(t, c.ID+" g_min", r.GetGMin().GetValue(), want.GMin)
		case "minicheck-pack-exact-fit", "minicheck-pack-overlong-first", "minicheck-pack-newline-tokens":
			var want struct {
				Chunks [][]int `yaml:"chunks"`
			}
			decode(t, c.Expected, &want)
			var got [][]int
			for _, r := range miniCheckPack(append(c.Inputs.Words, c.Inputs.Tokens...), c.Inputs.Size) {
				var chunk []int
				for i := r.Start; i < r.End; i++ {
					chunk = append(chunk, i)
				}
				got = append(got, chunk)
			}
			if fmt.Sprint(got) != fmt.Sprint(want.Chunks) {
				t.Errorf("%s: %v, want %v", c.ID, got, want.Chunks)
			}
		case "minicheck-limits":
			var want map[string]struct {
				Len   int    `yaml:"model_len"`
				Chunk int    `yaml:"chunk"`
				Unit  string `yaml:"unit"`
			}
			decode(t, c.Expected, &want)
			for _, m := range miniCheckModels() {
				w, ok := want[strings.Replace(m.name, "minicheck-7b", "bespoke-7b", 1)]
				if !ok || w.Len != m.rules.maxTokens || w.Chunk != m.rules.size || (w.Unit != "tokens") != m.rules.words {
					t.Errorf("%s: %+v, want %+v", m.name, m.rules, w)
				}
			}
		default:
			continue
		}
		ran++
	}
	if ran != 6 {
		t.Errorf("ran %d of 6 examples", ran)
	}
}

func decode(t *testing.T, node yaml.Node, into any) {
	t.Helper()
	if err := node.Decode(into); err != nil {
		t.Fatal(err)
	}
}
