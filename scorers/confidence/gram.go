package confidence

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"plumbline/scorers/score"
)

// DefaultGramAlpha is the regulariser α of the Gram log-determinant.
const DefaultGramAlpha = 1e-3

// GramLogDet is SeaKR's uncertainty of k hidden states or embeddings (Yao et
// al. 2025; EigenScore, Chen et al. 2024), in nats per vector, unbounded, at
// least ln α:
//
//	(1/k)·ln det(Z·J·Zᵀ + α·I),  J = I - 11ᵀ/d
//
// The k×d matrix Z has one vector in each row; J takes each vector's own mean
// over its d features off, not the mean over the samples. Higher means that
// the samples differ more. SeaKR's threshold of -6 holds for k = 20 only.
// Vectors must be finite and of one positive dimension; α must be positive and
// finite.
func GramLogDet(vectors [][]float64, alpha float64) Value {
	if !(alpha > 0) || math.IsInf(alpha, 1) {
		return missing(0, score.InvalidInput("gram_alpha is not a positive finite number"))
	}
	k := len(vectors)
	if k < 2 {
		return missing(k, score.TooFew("the Gram log-determinant needs at least two vectors"))
	}
	d := len(vectors[0])
	if d == 0 {
		return missing(0, score.InvalidInput("vectors[0] is empty"))
	}
	// With B = [ZJ | √α·I], B·Bᵀ is the matrix of the formula, and its
	// determinant the squared product of the diagonal of R in Bᵀ = QR. The
	// product is never formed: squaring nearly parallel vectors of norm 10³
	// would drown α = 10⁻³ in rounding.
	columns := mat.NewDense(d+k, k, nil)
	for j, vector := range vectors {
		if len(vector) != d {
			return missing(0, score.InvalidInput("vectors[%d] has %d components, vectors[0] has %d", j, len(vector), d))
		}
		var mean float64
		for _, x := range vector {
			mean += x / float64(d)
		}
		if math.IsNaN(mean) || math.IsInf(mean, 0) {
			return missing(0, score.InvalidInput("vectors[%d] has a component that is not finite", j))
		}
		for i, x := range vector {
			columns.Set(i, j, x-mean)
		}
		columns.Set(d+j, j, math.Sqrt(alpha))
	}
	var qr mat.QR
	qr.Factorize(columns)
	var r mat.Dense
	qr.RTo(&r)
	var logDet float64
	for j := range k {
		logDet += 2 * math.Log(math.Abs(r.At(j, j)))
	}
	return value(logDet/float64(k), k)
}
