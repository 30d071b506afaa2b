package confidence_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/confidence"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
)

// reference has the values of testdata/reference.py.
type reference struct {
	Responses []responsesCase `json:"responses"`
	NVC       []struct {
		PTrue      []*float64  `json:"p_true"`
		Entail     [][]float64 `json:"entail"`
		Contradict [][]float64 `json:"contradict"`
		NVC        float64     `json:"nvc"`
		D          float64     `json:"D"`
		Used       int         `json:"used"`
	} `json:"nvc"`
	Gram []struct {
		Vectors    [][]float64 `json:"vectors"`
		Alpha      float64     `json:"alpha"`
		GramLogDet float64     `json:"gram_logdet"`
	} `json:"gram"`
	Drafts []struct {
		Draft []struct {
			Token   string   `json:"token"`
			Logprob float64  `json:"logprob"`
			Top     [][2]any `json:"top"`
		} `json:"draft"`
		Beta                 float64  `json:"beta"`
		MeanTokenEntropy     float64  `json:"mean_token_entropy"`
		Margin               float64  `json:"margin"`
		MinTokenProbability  float64  `json:"min_token_probability"`
		MeanTokenProbability float64  `json:"mean_token_probability"`
		Perplexity           float64  `json:"perplexity"`
		Doubtful             [][3]int `json:"doubtful"`
	} `json:"drafts"`
}

type responsesCase struct {
	Pool                 []string           `json:"pool"`
	Probabilities        [][][3]float64     `json:"probabilities"`
	IDs                  []int              `json:"ids"`
	Logprobs             []*float64         `json:"logprobs"`
	DegreeMatrix         float64            `json:"degree_matrix"`
	EigenvaluesLaplacian float64            `json:"eigenvalues_laplacian"`
	Eccentricity         float64            `json:"eccentricity"`
	LUQ                  float64            `json:"luq"`
	SemanticSets         float64            `json:"semantic_sets"`
	LexicalSimilarity    float64            `json:"lexical_similarity"`
	SC                   map[string]float64 `json:"sc"`
	SequenceEntropy      *float64           `json:"sequence_entropy"`
	Semantic             []struct {
		Equivalence  string   `json:"equivalence"`
		Clustering   string   `json:"clustering"`
		Clusters     [][]int  `json:"clusters"`
		Entropy      float64  `json:"entropy"`
		Normalized   float64  `json:"normalized"`
		WeightedEach *float64 `json:"weighted_each"`
		WeightedOnce *float64 `json:"weighted_once"`
	} `json:"semantic"`
}

func readReference(t *testing.T) reference {
	t.Helper()
	data, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref reference
	if err := json.Unmarshal(data, &ref); err != nil {
		t.Fatal(err)
	}
	return ref
}

// requireScore compares a score with a reference value; nil means that there
// must be none.
func requireScore(t *testing.T, name string, s *plumblinev1.Score, want *float64) {
	t.Helper()
	switch {
	case want == nil && s.GetStatus() == plumblinev1.Status_STATUS_OK:
		t.Errorf("%s = %v, want no value", name, s.GetValue())
	case want != nil && (s.GetStatus() != plumblinev1.Status_STATUS_OK || !near(s.GetValue(), *want)):
		t.Errorf("%s = %v, want %v", name, s, *want)
	}
}

func near(got, want float64) bool { return math.Abs(got-want) <= tolerance*max(1, math.Abs(want)) }

func (c responsesCase) verifier() entail.Verifier {
	table := make(map[entail.Pair]entail.Scores)
	for i, premise := range c.Pool {
		for j, hypothesis := range c.Pool {
			p := c.Probabilities[i][j]
			table[entail.Pair{Premise: inContext(premise), Hypothesis: inContext(hypothesis)}] = entail.Scores{
				Entailment: p[0], Neutral: p[1], Contradiction: p[2], ThreeClass: true,
			}
		}
	}
	return entailtest.Table(table)
}

func (c responsesCase) request() *plumblinev1.ScoreConfidenceRequest {
	req := &plumblinev1.ScoreConfidenceRequest{MainAnswer: c.Pool[c.IDs[0]]}
	for k, id := range c.IDs[1:] {
		req.Samples = append(req.Samples, &plumblinev1.Sample{Text: c.Pool[id], Logprob: c.Logprobs[k+1]})
	}
	return req
}

func TestReferenceResponses(t *testing.T) {
	for i, c := range readReference(t).Responses {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			for rule, want := range c.SC {
				req := c.request()
				req.Agreement = plumblinev1.Agreement(plumblinev1.Agreement_value["AGREEMENT_"+rule])
				resp := scoreWith(c.verifier(), req)
				requireScore(t, "sc "+rule, resp.GetSc(), &want)
				requireScore(t, "degree_matrix", resp.GetDegreeMatrix(), &c.DegreeMatrix)
				requireScore(t, "eigenvalues_laplacian", resp.GetEigenvaluesLaplacian(), &c.EigenvaluesLaplacian)
				requireScore(t, "eccentricity", resp.GetEccentricity(), &c.Eccentricity)
				requireScore(t, "luq", resp.GetLuq(), &c.LUQ)
				requireScore(t, "semantic_sets", resp.GetSemanticSets(), &c.SemanticSets)
				requireScore(t, "lexical_similarity", resp.GetLexicalSimilarity(), &c.LexicalSimilarity)
				requireScore(t, "sequence_entropy", resp.GetSequenceEntropy(), c.SequenceEntropy)
			}
			for _, want := range c.Semantic {
				req := c.request()
				req.Equivalence = plumblinev1.Equivalence(plumblinev1.Equivalence_value["EQUIVALENCE_"+want.Equivalence])
				req.Clustering = plumblinev1.Clustering(plumblinev1.Clustering_value["CLUSTERING_"+want.Clustering])
				resp := scoreWith(c.verifier(), req)
				name := want.Equivalence + " " + want.Clustering
				if got := membersOf(resp.GetClusters()); !slices.EqualFunc(got, want.Clusters, slices.Equal) {
					t.Errorf("%s: clusters %v, want %v", name, got, want.Clusters)
				}
				requireScore(t, name+" entropy", resp.GetSemanticEntropy(), &want.Entropy)
				requireScore(t, name+" normalized", resp.GetSemanticEntropyNormalized(), &want.Normalized)
				requireScore(t, name+" weighted once", resp.GetSemanticEntropyWeighted(), want.WeightedOnce)
				req.Duplicates = plumblinev1.Duplicates_DUPLICATES_EACH
				requireScore(t, name+" weighted each", scoreWith(c.verifier(), req).GetSemanticEntropyWeighted(), want.WeightedEach)
			}
		})
	}
}

func membersOf(clusters []*plumblinev1.AnswerCluster) [][]int {
	var groups [][]int
	for _, c := range clusters {
		var members []int
		for _, m := range c.GetMembers() {
			members = append(members, int(m))
		}
		groups = append(groups, members)
	}
	return groups
}

func TestReferenceNVC(t *testing.T) {
	for i, c := range readReference(t).NVC {
		got := confidence.NVC(c.PTrue,
			func(i, j int) float64 { return c.Entail[i][j] },
			func(i, j int) float64 { return c.Contradict[i][j] })
		if !near(got.NVC, c.NVC) || !near(got.D, c.D) || got.Used != c.Used {
			t.Errorf("case %d: %+v, want NVC %v, D %v, used %d", i, got, c.NVC, c.D, c.Used)
		}
	}
}

func TestReferenceGram(t *testing.T) {
	for i, c := range readReference(t).Gram {
		if got := confidence.GramLogDet(c.Vectors, c.Alpha); got.Err != nil || !near(got.Number, c.GramLogDet) {
			t.Errorf("case %d: %+v, want %v", i, got, c.GramLogDet)
		}
	}
}

func TestReferenceDrafts(t *testing.T) {
	for i, c := range readReference(t).Drafts {
		draft := &plumblinev1.Draft{}
		for _, token := range c.Draft {
			message := &plumblinev1.DraftToken{Token: token.Token, Logprob: &token.Logprob}
			for _, top := range token.Top {
				logprob := top[1].(float64)
				message.Top = append(message.Top, &plumblinev1.TokenLogprob{Token: top[0].(string), Logprob: &logprob})
			}
			draft.Tokens = append(draft.Tokens, message)
		}
		resp := scoreWith(nil, &plumblinev1.ScoreConfidenceRequest{Drafts: []*plumblinev1.Draft{draft}, MarginBeta: &c.Beta})
		name := fmt.Sprintf("case %d: ", i)
		requireScore(t, name+"mean_token_entropy", resp.GetMeanTokenEntropy(), &c.MeanTokenEntropy)
		requireScore(t, name+"margin", resp.GetMargin(), &c.Margin)
		requireScore(t, name+"min_token_probability", resp.GetMinTokenProbability(), &c.MinTokenProbability)
		requireScore(t, name+"mean_token_probability", resp.GetMeanTokenProbability(), &c.MeanTokenProbability)
		requireScore(t, name+"perplexity", resp.GetPerplexity(), &c.Perplexity)
		var doubtful [][3]int
		for _, d := range resp.GetDoubtfulTokens() {
			doubtful = append(doubtful, [3]int{int(d.GetIndex()), int(d.GetStart()), int(d.GetEnd())})
		}
		if !slices.Equal(doubtful, c.Doubtful) {
			t.Errorf("%sdoubtful %v, want %v", name, doubtful, c.Doubtful)
		}
	}
}
