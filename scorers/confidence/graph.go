package confidence

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"plumbline/scorers/score"
)

// eccentricityThreshold is the eigenvalue of the Laplacian below which an
// eigenvector enters the eccentricity (Lin et al. 2023, as coded in
// lm-polygraph).
const eccentricityThreshold = 0.9

// Graph is the weighted graph of distinct responses: W = (E + Eᵀ)/2 with the
// verifier's own diagonal. A node of weight k stands for k equal responses:
// every score is that of the graph with k copies of the node.
type Graph struct {
	similarity *mat.SymDense
	weights    []float64
}

// NewGraph makes the graph of n > 0 nodes from entailment(i, j), the
// probability in [0, 1] that response i entails response j, i = j included.
// weights is nil if every node counts once.
func NewGraph(n int, entailment func(i, j int) float64, weights []float64) Graph {
	g := Graph{similarity: mat.NewSymDense(n, nil), weights: make([]float64, n)}
	for i := range n {
		g.weights[i] = weightAt(weights, i)
		for j := i; j < n; j++ {
			g.similarity.SetSym(i, j, (entailment(i, j)+entailment(j, i))/2)
		}
	}
	return g
}

// degrees returns Σ_j w_j·W_ij for each node, and Σ w.
func (g Graph) degrees() (degrees []float64, total float64) {
	degrees = make([]float64, len(g.weights))
	for i := range degrees {
		total += g.weights[i]
		for j, w := range g.weights {
			degrees[i] += w * g.similarity.At(i, j)
		}
	}
	return degrees, total
}

// DegreeMatrix is one minus the mean similarity of all ordered pairs, a
// response with itself included: 1 - ΣW/n², in [0, 1] (Lin et al. 2023).
func (g Graph) DegreeMatrix() float64 {
	degrees, total := g.degrees()
	var sum float64
	for i, d := range degrees {
		sum += g.weights[i] * d
	}
	return max(1-sum/(total*total), 0)
}

// Spectral returns the scores from the eigenvalues λ and eigenvectors of the
// normalised Laplacian I - D^-½·W·D^-½ (Lin et al. 2023): the sum of
// max(0, 1-λ), which counts the groups, and the eccentricity, the norm of the
// eigenvectors with λ < 0.9, each centred by its own mean. A node that is not
// similar even to itself makes D singular: STATUS_INVALID_INPUT.
func (g Graph) Spectral() (eigenvalues, eccentricity float64, err error) {
	degrees, total := g.degrees()
	n := len(degrees)
	// With copies merged, the entries are scaled by √(w_i·w_j): the matrix has
	// the eigenvalues of the full one except for its zeros, which contribute
	// to neither score.
	affinity := mat.NewSymDense(n, nil)
	for i := range n {
		if degrees[i] <= 0 {
			return 0, 0, score.InvalidInput("a response has no similarity to any response, itself included: the graph has no Laplacian")
		}
		for j := range i + 1 {
			scale := math.Sqrt(g.weights[i] / degrees[i] * (g.weights[j] / degrees[j]))
			affinity.SetSym(i, j, g.similarity.At(i, j)*scale)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(affinity, true) {
		return 0, 0, score.InvalidInput("the eigenvalues of the responses' graph do not converge")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	var squares float64
	for k, mu := range eigen.Values(nil) {
		eigenvalues += max(mu, 0)
		if 1-mu < eccentricityThreshold {
			squares += g.centredSquares(vectors.ColView(k), total)
		}
	}
	return eigenvalues, math.Sqrt(squares), nil
}

// centredSquares is the squared norm of an eigenvector after its mean is taken
// off, over the copies of every node: each of w copies has 1/√w of the merged
// node's entry. The entries are centred one by one; 1 - n·mean² would leave
// rounding noise where the norm is 0.
func (g Graph) centredSquares(v mat.Vector, total float64) float64 {
	var mean float64
	for i, w := range g.weights {
		mean += math.Sqrt(w) * v.AtVec(i) / total
	}
	var squares float64
	for i, w := range g.weights {
		d := v.AtVec(i) - math.Sqrt(w)*mean
		squares += d * d
	}
	return squares
}

// LUQ is one minus the mean, over ordered pairs of different responses, of
// E/(E+C), the probability of entailment against contradiction with neutral
// left out (Zhang et al. 2024, as coded in lm-polygraph); in [0, 1]. Two nodes
// that the verifier calls purely neutral give ½. support(i, j) is that
// probability for distinct nodes, and for i = j if a node has a weight above
// 1, whose copies are compared too.
func LUQ(n int, support func(i, j int) float64, weights []float64) (float64, error) {
	var sum, total float64
	for i := range n {
		var row, others float64
		for j := range n {
			count := weightAt(weights, j)
			if i == j {
				count = max(count-1, 0)
			}
			if count > 0 {
				row += count * support(i, j)
				others += count
			}
		}
		if others == 0 {
			return 0, score.TooFew("LUQ needs at least two responses")
		}
		sum += weightAt(weights, i) * row / others
		total += weightAt(weights, i)
	}
	if total == 0 {
		return 0, score.TooFew("LUQ needs at least two responses")
	}
	return min(max(1-sum/total, 0), 1), nil
}
