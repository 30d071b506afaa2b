package stats

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"plumbline/scorers/score"
)

// Logistic is a fitted logistic regression: P(positive) of a record x is
// 1 / (1 + exp(−(Intercept + Σ Weights·x))).
type Logistic struct {
	// Weights has one weight for each column.
	Weights []float64
	// Intercept is not regularised.
	Intercept float64
}

// Predict returns P(positive) of one record, in [0, 1].
func (l Logistic) Predict(x []float64) float64 {
	z := l.Intercept
	for j, w := range l.Weights {
		z += w * x[j]
	}
	return sigmoid(z)
}

// sigmoid is 0 where the power overflows.
func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// FitLogistic fits by Newton's method the weights that minimise
// ½‖w‖² + c·Σ log-loss, scikit-learn's objective with its parameter C. A row of x
// is a record; columns should be standardised. Targets lie in [0, 1]; values between serve Platt's
// smoothed targets. c > 0; +Inf leaves the weights unregularised.
// Once ctx is done it iterates no more and returns its error.
func FitLogistic(ctx context.Context, x *mat.Dense, targets []float64, c float64) (Logistic, error) {
	records, width := x.Dims()
	if err := checkPaired(records, len(targets), 2); err != nil {
		return Logistic{}, err
	}
	if !(c > 0) {
		return Logistic{}, score.InvalidInput("the inverse regularisation must be above 0")
	}
	if err := checkFinite("x", x.RawMatrix().Data); err != nil {
		return Logistic{}, err
	}
	beta := make([]float64, width+1) // the intercept comes last
	const iterations, tolerance = 200, 1e-12
	for range iterations {
		if err := ctx.Err(); err != nil {
			return Logistic{}, err
		}
		gradient, hessian := logisticDerivatives(x, targets, beta, 1/c)
		step := mat.NewVecDense(width+1, nil)
		var factor mat.Cholesky
		if !factor.Factorize(hessian) {
			return Logistic{}, score.NotApplicable("the classes are separable or columns are collinear: regularise more")
		}
		if err := factor.SolveVecTo(step, gradient); err != nil {
			return Logistic{}, score.NotApplicable("the regression is ill-conditioned: regularise more")
		}
		scale := lineSearch(x, targets, beta, step.RawVector().Data, 1/c)
		largest := 0.0
		for j := range beta {
			move := scale * step.AtVec(j)
			beta[j] -= move
			largest = max(largest, math.Abs(move))
		}
		if largest < tolerance {
			return Logistic{Weights: beta[:width], Intercept: beta[width]}, nil
		}
	}
	return Logistic{}, score.NotApplicable("the regression did not converge: the classes may be separable; regularise more")
}

// logisticDerivatives returns gradient and Hessian of the objective divided by
// c, at beta.
func logisticDerivatives(x *mat.Dense, targets, beta []float64, penalty float64) (*mat.VecDense, *mat.SymDense) {
	width := len(beta) - 1
	gradient := mat.NewVecDense(width+1, nil)
	hessian := mat.NewSymDense(width+1, nil)
	extended := make([]float64, width+1)
	extended[width] = 1
	model := Logistic{Weights: beta[:width], Intercept: beta[width]}
	record := mat.NewVecDense(width+1, extended)
	for i, target := range targets {
		copy(extended, x.RawRowView(i))
		p := model.Predict(extended[:width])
		gradient.AddScaledVec(gradient, p-target, record)
		hessian.SymRankOne(hessian, p*(1-p), record)
	}
	for j := range width {
		gradient.SetVec(j, gradient.AtVec(j)+penalty*beta[j])
		hessian.SetSym(j, j, hessian.At(j, j)+penalty)
	}
	return gradient, hessian
}

// lineSearch halves the Newton step until the objective does not rise by more
// than its rounding error: near the optimum a full step changes less than that.
func lineSearch(x *mat.Dense, targets, beta, step []float64, penalty float64) float64 {
	start := logisticObjective(x, targets, beta, penalty)
	bound := start + 1e-12*(1+math.Abs(start))
	trial := make([]float64, len(beta))
	scale := 1.0
	for range 40 {
		for j := range beta {
			trial[j] = beta[j] - scale*step[j]
		}
		if logisticObjective(x, targets, trial, penalty) <= bound {
			return scale
		}
		scale /= 2
	}
	return scale
}

func logisticObjective(x *mat.Dense, targets, beta []float64, penalty float64) float64 {
	width := len(beta) - 1
	sum := 0.0
	for i, target := range targets {
		z := beta[width]
		for j, v := range x.RawRowView(i) {
			z += beta[j] * v
		}
		// log(1 + e^z) − t·z, without overflow.
		sum += max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - target*z
	}
	for _, w := range beta[:width] {
		sum += penalty * w * w / 2
	}
	return sum
}

// Platt is Platt's scaling of one score: P(positive) = σ(Slope·s + Intercept).
type Platt struct{ Slope, Intercept float64 }

// Predict returns the calibrated probability of a score, in [0, 1].
func (p Platt) Predict(s float64) float64 { return sigmoid(p.Slope*s + p.Intercept) }

// FitPlatt fits Platt's scaling (1999) with his smoothed targets
// (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2), which keep the fit finite where the classes
// are separable.
func FitPlatt(ctx context.Context, scores []float64, labels []bool) (Platt, error) {
	positives, negatives, err := checkBinary(scores, labels)
	if err != nil {
		return Platt{}, err
	}
	x := mat.NewDense(len(scores), 1, nil)
	targets := make([]float64, len(scores))
	mean, deviation := Moments(scores)
	if deviation == 0 {
		return Platt{}, score.NotApplicable("a constant score cannot be calibrated")
	}
	for i, s := range scores {
		x.Set(i, 0, (s-mean)/deviation)
		targets[i] = 1 / float64(negatives+2)
		if labels[i] {
			targets[i] = float64(positives+1) / float64(positives+2)
		}
	}
	model, err := FitLogistic(ctx, x, targets, math.Inf(1))
	if err != nil {
		return Platt{}, err
	}
	slope := model.Weights[0] / deviation
	return Platt{Slope: slope, Intercept: model.Intercept - slope*mean}, nil
}

// Moments returns mean and population standard deviation; both are 0 of no
// values. The deviation of equal values is 0, whatever the rounding of the mean.
func Moments(values []float64) (mean, deviation float64) {
	if len(values) > 0 && constant(values) {
		return values[0], 0
	}
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / float64(len(values))
	}
	return mean, math.Sqrt(deviation)
}

// Isotonic is a rising step-and-line function fitted by pooling adjacent
// violators; between its points it is linear, outside constant.
type Isotonic struct {
	// Scores are the points' scores, strictly rising.
	Scores []float64
	// Probabilities are the points' values, never falling.
	Probabilities []float64
}

// FitIsotonic fits the rising function of the score with the least squared
// error, as scikit-learn's IsotonicRegression with out_of_bounds="clip".
func FitIsotonic(scores []float64, labels []bool) (Isotonic, error) {
	if _, _, err := checkBinary(scores, labels); err != nil {
		return Isotonic{}, err
	}
	type block struct {
		low, high   float64 // the scores of its first and last record
		sum, weight float64
	}
	var blocks []block
	index := order(scores)
	for start := 0; start < len(index); {
		end := start
		next := block{low: scores[index[start]], high: scores[index[start]]}
		for ; end < len(index) && scores[index[end]] == next.low; end++ {
			next.sum += truth(labels[index[end]])
			next.weight++
		}
		start = end
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.sum*next.weight < next.sum*last.weight {
				break
			}
			next = block{low: last.low, high: next.high, sum: last.sum + next.sum, weight: last.weight + next.weight}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, next)
	}
	var out Isotonic
	for _, b := range blocks {
		value := b.sum / b.weight
		out.Scores = append(out.Scores, b.low)
		out.Probabilities = append(out.Probabilities, value)
		if b.high > b.low {
			out.Scores = append(out.Scores, b.high)
			out.Probabilities = append(out.Probabilities, value)
		}
	}
	return out, nil
}

// Predict returns the calibrated probability of a score, in [0, 1].
func (f Isotonic) Predict(s float64) float64 {
	n := len(f.Scores)
	if s <= f.Scores[0] {
		return f.Probabilities[0]
	}
	if s >= f.Scores[n-1] {
		return f.Probabilities[n-1]
	}
	low, high := 0, n-1
	for high-low > 1 {
		middle := (low + high) / 2
		if f.Scores[middle] <= s {
			low = middle
		} else {
			high = middle
		}
	}
	share := (s - f.Scores[low]) / (f.Scores[high] - f.Scores[low])
	return f.Probabilities[low] + share*(f.Probabilities[high]-f.Probabilities[low])
}
