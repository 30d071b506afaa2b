package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"plumbline/scorers/score"
)

// exactLimit is the largest number of differences for which the exact
// distribution of the signed-rank statistic is used.
const exactLimit = 50

// WilcoxonTest is the outcome of a paired Wilcoxon signed-rank test.
type WilcoxonTest struct {
	// Statistic is the smaller of the two rank sums.
	Statistic float64
	// P is the two-sided probability, in (0, 1].
	P float64
	// N is the number of differences that are not zero.
	N int
	// Exact says that the exact distribution was used.
	Exact bool
}

// Wilcoxon tests whether the paired differences x − y are symmetric about
// zero. Zero differences are left out (zero_method "wilcox"). The distribution
// is exact for up to 50 differences without ties, else normal with the tie and
// the continuity correction. No difference at all has no test.
func Wilcoxon(x, y []float64) (WilcoxonTest, error) {
	var test WilcoxonTest
	if err := checkPaired(len(x), len(y), 1); err != nil {
		return test, err
	}
	differences := make([]float64, 0, len(x))
	for i := range x {
		if d := x[i] - y[i]; d != 0 {
			differences = append(differences, d)
		}
	}
	if err := checkFinite("differences", differences); err != nil {
		return test, err
	}
	test.N = len(differences)
	if test.N == 0 {
		return test, score.NotApplicable("all differences are zero")
	}
	magnitudes := make([]float64, test.N)
	for i, d := range differences {
		magnitudes[i] = math.Abs(d)
	}
	plus := 0.0
	for i, rank := range Ranks(magnitudes) {
		if differences[i] > 0 {
			plus += rank
		}
	}
	total := float64(test.N) * float64(test.N+1) / 2
	test.Statistic = min(plus, total-plus)
	ties := tieTerm(magnitudes)
	test.Exact = test.N <= exactLimit && ties == 0
	if test.Exact {
		test.P = exactSignedRank(test.N, int(test.Statistic))
	} else {
		test.P = normalSignedRank(float64(test.N), plus, ties)
	}
	return test, nil
}

// tieTerm returns Σ(t³ − t) over groups of t equal values.
func tieTerm(values []float64) float64 {
	sum := 0.0
	for group := range descendingGroups(values) {
		t := float64(len(group))
		sum += t*t*t - t
	}
	return sum
}

// exactSignedRank returns the two-sided probability of a rank sum at most
// least among n ranks with random signs. Counts up to 2⁵⁰ are exact in a
// float64.
func exactSignedRank(n, least int) float64 {
	counts := make([]float64, n*(n+1)/2+1)
	counts[0] = 1
	for rank := 1; rank <= n; rank++ {
		for sum := rank * (rank + 1) / 2; sum >= rank; sum-- {
			counts[sum] += counts[sum-rank]
		}
	}
	below := 0.0
	for _, c := range counts[:least+1] {
		below += c
	}
	return min(1, 2*below/math.Exp2(float64(n)))
}

// normalSignedRank returns the two-sided probability by the normal
// approximation with both corrections.
func normalSignedRank(n, plus, ties float64) float64 {
	mean := n * (n + 1) / 4
	deviation := math.Sqrt(n*(n+1)*(2*n+1)/24 - ties/48)
	distance := math.Abs(plus - mean)
	if distance == 0 {
		return 1
	}
	z := (distance - 0.5) / deviation
	return min(1, 2*distuv.UnitNormal.Survival(z))
}

// Holm returns the p-values adjusted by Holm's step-down procedure over one
// family, in the order given. Comparing each with a level controls the chance
// of any false rejection.
func Holm(p []float64) ([]float64, error) {
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return nil, score.InvalidInput("p[%d] is not in [0, 1]", i)
		}
	}
	index := make([]int, len(p))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted := make([]float64, len(p))
	running := 0.0
	for rank, i := range index {
		running = max(running, min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = running
	}
	return adjusted, nil
}
