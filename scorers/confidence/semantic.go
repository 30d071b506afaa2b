package confidence

import (
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// relation is what is known of every pair of nodes.
type relation struct {
	// same is the equivalence that clustering works on.
	same func(a, b int) bool
	// scores are the verifier's, nil under EquivalentExact; those of blank
	// nodes say "entails itself and nothing else".
	scores [][]entail.Scores
	// sameErr says why same is not known, scoresErr why scores are not.
	sameErr, scoresErr error
}

// newRelation looks up what was asked for the nodes, or compares keys.
func newRelation(q *inquiry, r *responses, rule Equivalence) relation {
	if rule == EquivalentExact {
		return relation{
			same: func(a, b int) bool { return a == b || (r.keys[a] != "" && r.keys[a] == r.keys[b]) },
			scoresErr: score.MissingInput(
				"the verifier was not asked about the responses: let equivalence or agreement name an entailment rule"),
		}
	}
	if len(r.index) < 2 { // nothing was asked, and there is no pair to compare
		return relation{scoresErr: score.TooFew("there are fewer than two responses")}
	}
	scores, err := nodeScores(q, r)
	if err == nil && rule == EquivalentNonStrict {
		err = threeClasses(scores)
	}
	return relation{
		same: func(a, b int) bool {
			return a == b || rule.Holds(MostProbable(scores[a][b]), MostProbable(scores[b][a]))
		},
		scores:    scores,
		sameErr:   err,
		scoresErr: err,
	}
}

// nodeScores spreads the verifier's answers over all nodes, blank ones
// included.
func nodeScores(q *inquiry, r *responses) ([][]entail.Scores, error) {
	asked, err := q.matrix(r.written(), true)
	if err != nil {
		return nil, err
	}
	scores := make([][]entail.Scores, len(r.texts))
	row := 0
	for a, textA := range r.texts {
		scores[a] = make([]entail.Scores, len(r.texts))
		column := 0
		for b, textB := range r.texts {
			switch {
			case textA != "" && textB != "":
				scores[a][b] = asked[row][column]
			case a == b:
				scores[a][b] = entail.Scores{Entailment: 1, ThreeClass: true}
			default:
				scores[a][b] = entail.Scores{Neutral: 1, ThreeClass: true}
			}
			if textB != "" {
				column++
			}
		}
		if textA != "" {
			row++
		}
	}
	return scores, nil
}

func threeClasses(scores [][]entail.Scores) error {
	for _, row := range scores {
		if err := tellsContradiction(row...); err != nil {
			return err
		}
	}
	return nil
}

// semanticScores are the clusters and the entropies over them.
func (out *Output) semanticScores(in Input, r *responses, rel relation) {
	n := len(r.index)
	logs, known, logErr := r.logLikelihoods(in.SequenceSum)
	if logErr == nil {
		var h float64
		h, logErr = SequenceEntropy(logs, r.weights)
		out.SequenceEntropy = Value{Number: h, Used: known, Err: logErr}
	} else {
		out.SequenceEntropy = missing(0, logErr)
	}

	err := rel.sameErr
	if n == 0 {
		err = score.TooFew("there is neither a main answer nor a sample")
	}
	if err != nil {
		none := missing(0, err)
		out.SemanticEntropy, out.SemanticEntropyNormalized, out.SemanticEntropyWeighted = none, none, none
		return
	}
	groups := Cluster(in.Clustering, n, func(i, j int) bool { return rel.same(r.node[i], r.node[j]) })
	masses := Masses(groups, r.weights)
	out.Clusters = r.clusters(groups, masses)
	entropy := DiscreteEntropy(masses)
	out.SemanticEntropy = value(entropy, n)
	normalized, err := NormalizedEntropy(entropy, r.count())
	out.SemanticEntropyNormalized = Value{Number: normalized, Used: n, Err: err}
	if logErr != nil {
		out.SemanticEntropyWeighted = missing(0, logErr)
		return
	}
	weighted, err := RaoEntropy(groups, r.likelihoodWeights(logs, in.EachOccurrence))
	out.SemanticEntropyWeighted = Value{Number: weighted, Used: known, Err: err}
}

func (r *responses) clusters(groups [][]int, masses []float64) []AnswerCluster {
	clusters := make([]AnswerCluster, len(groups))
	for g, group := range groups {
		members := make([]int, len(group))
		for k, p := range group {
			members[k] = r.index[p]
		}
		clusters[g] = AnswerCluster{Members: members, Representative: r.texts[r.node[group[0]]], Mass: masses[g]}
	}
	return clusters
}

// graphScores are those that take the verifier's probabilities themselves.
func (out *Output) graphScores(r *responses, rel relation) {
	n := len(r.index)
	out.SemanticSets = r.semanticSets(rel)
	err := rel.scoresErr
	if r.count() < 2 {
		err = score.TooFew("graph scores need at least two responses")
	}
	if err != nil {
		none := missing(n, err)
		out.DegreeMatrix, out.EigenvaluesLaplacian, out.Eccentricity, out.LUQ = none, none, none, none
		return
	}
	graph := NewGraph(len(r.texts), func(a, b int) float64 { return rel.scores[a][b].Entailment }, r.nodeWeights)
	out.DegreeMatrix = value(graph.DegreeMatrix(), n)
	eigenvalues, eccentricity, err := graph.Spectral()
	out.EigenvaluesLaplacian = Value{Number: eigenvalues, Used: n, Err: err}
	out.Eccentricity = Value{Number: eccentricity, Used: n, Err: err}
	if err := threeClasses(rel.scores); err != nil {
		out.LUQ = missing(n, err)
		return
	}
	luq, err := LUQ(len(r.texts), func(a, b int) float64 {
		if r.texts[a] == "" || r.texts[b] == "" {
			return 0
		}
		return Support(rel.scores[a][b])
	}, r.nodeWeights)
	out.LUQ = Value{Number: luq, Used: n, Err: err}
}

// Support is E/(E+C), the probability of entailment against contradiction; ½
// if the verifier is sure that the pair is neutral.
func Support(s entail.Scores) float64 {
	if s.Entailment+s.Contradiction == 0 {
		return 0.5
	}
	return s.Entailment / (s.Entailment + s.Contradiction)
}

// SemanticSets counts the components of the relation "entailment above
// contradiction in both directions" (Lin et al. 2023).
func SemanticSets(n int, scores func(i, j int) entail.Scores) int {
	supports := func(s entail.Scores) bool { return s.Entailment > s.Contradiction }
	return len(Cluster(ClusterUnionFind, n, func(i, j int) bool {
		return supports(scores(i, j)) && supports(scores(j, i))
	}))
}

func (r *responses) semanticSets(rel relation) Value {
	n := len(r.index)
	switch {
	case n == 0:
		return missing(0, score.TooFew("there is neither a main answer nor a sample"))
	case len(r.texts) == 1:
		return value(1, n)
	case rel.scoresErr != nil:
		return missing(n, rel.scoresErr)
	}
	if err := threeClasses(rel.scores); err != nil {
		return missing(n, err)
	}
	return value(float64(SemanticSets(len(r.texts), func(i, j int) entail.Scores { return rel.scores[i][j] })), n)
}
