package retrieval

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"plumbline/scorers/score"
)

const familyCoherence = "coherence"

// coherenceDepth bounds how many results the coherence of the top k reads:
// their pairs grow with its square, and the papers read a hundred or fewer.
const coherenceDepth = 100

// nearDuplicate is the cosine from which on two passages count as the same.
const nearDuplicate = 0.95

// coherence is the embeddings of the pool, scaled to length 1.
type coherence struct {
	units  [][]float64 // by rank in the fused order
	scores []float64   // their fused scores
	window int         // how many of them are in the answer window
	// query is the question's embedding at length 1, or nil with the reason.
	query    []float64
	queryErr error
}

// coherenceSignals ask whether the results are about one thing. They read the
// embeddings of the fused order.
func coherenceSignals() []signal {
	embeddings := []string{"rankings.items.embedding"}
	rows := []struct {
		name, description, source string
		unit                      string
		min, max                  float64
		weakWhenHigh              bool
		needs                     []string
		of                        func(*coherence) (float64, error)
	}{
		{
			name: "mean_pairwise_cosine", description: "Mean cosine of the pairs of results in the answer window",
			source: "Vlachou, Macdonald, \"Coherence-based Query Performance Measures for Dense Retrieval\" (ICTIR 2024); Σᵢ<ⱼ cos(dᵢ, dⱼ) / C(w, 2)",
			unit:   "cosine", min: -1, max: 1, needs: embeddings, of: (*coherence).meanPairwiseCosine,
		},
		{
			name: "query_centroid_cosine", description: "Cosine of the question and the centroid of the answer window",
			source: "cos(q, Σᵢ dᵢ/|dᵢ|) over the window; the centroid as pseudo-relevant document after Rocchio (1971)",
			unit:   "cosine", min: -1, max: 1, needs: append([]string{"query_embedding"}, embeddings...), of: (*coherence).queryCentroidCosine,
		},
		{
			name: "spatial_autocorrelation", description: "Correlation of the top-k scores with the scores of their neighbours",
			source: "Diaz, \"Performance Prediction Using Spatial Autocorrelation\" (SIGIR 2007), with cosines of embeddings as in Vlachou, Macdonald (2024); Pearson(y, Wy), wᵢⱼ ∝ max(cos(dᵢ, dⱼ), 0), wᵢᵢ = 0, rows sum to 1",
			unit:   "correlation", min: -1, max: 1, needs: embeddings, of: (*coherence).spatialAutocorrelation,
		},
		{
			name: "pair_ratio", description: "Mean pairwise cosine of the answer window relative to that of the top k",
			source: "Vlachou, Macdonald (2024), pairRatio; mean pairwise cosine of the first w over that of the first k",
			unit:   "ratio", min: -unbounded, max: unbounded, needs: embeddings, of: (*coherence).pairRatio,
		},
		{
			name: "near_duplicate_share", description: "Share of the top-k results that nearly repeat a better-ranked one, by a cosine of at least 0.95",
			source: "|{j : ∃ i < j, cos(dᵢ, dⱼ) ≥ 0.95}| / k",
			unit:   "ratio", min: 0, max: 1, weakWhenHigh: true, needs: embeddings, of: (*coherence).nearDuplicateShare,
		},
	}
	signals := make([]signal, 0, len(rows))
	for _, r := range rows {
		signals = append(signals, signal{
			name: r.name, description: r.description, family: familyCoherence, unit: r.unit, cost: "embeddings of the results",
			source: r.source, needs: r.needs, min: r.min, max: r.max, weakWhenHigh: r.weakWhenHigh,
			shift: invariant, scale: invariant,
			compute: func(e *evidence) (float64, error) {
				c, err := e.vectors.get(e.readVectors)
				if err != nil {
					return 0, err
				}
				return r.of(c)
			},
		})
	}
	return signals
}

// readVectors checks and scales the embeddings. One result without a usable
// embedding rules coherence out: leaving it out would measure another window.
func (e *evidence) readVectors() (*coherence, error) {
	items, err := e.pool((*Item).hasEmbedding)
	if err != nil {
		return nil, err
	}
	if len(items) > coherenceDepth {
		items = items[:coherenceDepth]
		e.warnings = append(e.warnings, "coherence reads the first 100 results of the top k")
	}
	c := &coherence{scores: e.fused.scores[:len(items)], window: min(e.Window, len(items))}
	for i, item := range items {
		if item == nil {
			return nil, score.MissingInput("embeddings of all results of the top k are needed; the one at rank %d has none", i+1)
		}
		if len(item.Embedding) != len(items[0].Embedding) {
			return nil, score.InvalidInput("the embeddings of the results are not of one length")
		}
		unit, err := unitVector(item.Embedding)
		if err != nil {
			return nil, err
		}
		c.units = append(c.units, unit)
	}
	c.query, c.queryErr = queryVector(e.QueryEmbedding, len(items[0].Embedding))
	return c, nil
}

func queryVector(v []float32, dimensions int) ([]float64, error) {
	switch len(v) {
	case 0:
		return nil, score.MissingInput("query_embedding was not given")
	case dimensions:
		return unitVector(v)
	default:
		return nil, score.InvalidInput("query_embedding has not the length of the results' embeddings")
	}
}

func unitVector(v []float32) ([]float64, error) {
	unit := make([]float64, len(v))
	for i, x := range v {
		unit[i] = float64(x)
	}
	norm := floats.Norm(unit, 2)
	if norm == 0 || !finite(norm) {
		return nil, score.InvalidInput("an embedding is zero or not finite, so that it has no direction")
	}
	floats.Scale(1/norm, unit)
	return unit, nil
}

// meanPairwiseCosine measures the answer window.
func (c *coherence) meanPairwiseCosine() (float64, error) {
	if c.window < 2 {
		return 0, tooFew(2, c.window)
	}
	return meanPairwiseCosine(c.units[:c.window]), nil
}

// meanPairwiseCosine needs no pairs: the squared length of the sum of n unit
// vectors is n plus twice the sum of their pairwise cosines.
func meanPairwiseCosine(units [][]float64) float64 {
	sum := sumOf(units)
	n := float64(len(units))
	return clampCosine((floats.Dot(sum, sum) - n) / (n * (n - 1)))
}

func sumOf(units [][]float64) []float64 {
	sum := make([]float64, len(units[0]))
	for _, u := range units {
		floats.Add(sum, u)
	}
	return sum
}

// resolution is what unit vectors of single-precision numbers are good for: what is
// smaller came about by rounding.
const resolution = 1e-6

// clampCosine removes what rounding adds beyond the range of a cosine.
func clampCosine(x float64) float64 { return max(-1, min(1, x)) }

// queryCentroidCosine says whether the window as a whole points to where the
// question does. Vectors that cancel out have no centroid's direction.
func (c *coherence) queryCentroidCosine() (float64, error) {
	if c.queryErr != nil {
		return 0, c.queryErr
	}
	centroid := sumOf(c.units[:c.window])
	norm := floats.Norm(centroid, 2)
	if norm <= resolution*float64(c.window) {
		return 0, score.NotApplicable("the embeddings of the window cancel out, so that their centroid has no direction")
	}
	return clampCosine(floats.Dot(c.query, centroid) / norm), nil
}

// spatialAutocorrelation follows Diaz: similar passages should score alike.
// Each score is replaced by the mean of the others', weighted by similarity;
// a passage that resembles no other gets the mean of all. Dissimilarity
// (a negative cosine) counts as no similarity.
func (c *coherence) spatialAutocorrelation() (float64, error) {
	n := len(c.units)
	if n < 3 {
		return 0, tooFew(3, n)
	}
	mean := stat.Mean(c.scores, nil)
	diffused := make([]float64, n)
	for i, u := range c.units {
		sum, weights := 0.0, 0.0
		for j, v := range c.units {
			if w := floats.Dot(u, v); j != i && w > 0 {
				sum += w * (c.scores[j] - mean)
				weights += w
			}
		}
		if weights > 0 {
			diffused[i] = sum / weights
		}
	}
	if r := stat.Correlation(c.scores, diffused, nil); finite(r) {
		return clampCosine(r), nil
	}
	return 0, score.NotApplicable("the scores, or those of their neighbours, do not differ: there is no correlation")
}

// pairRatio is above 1 where the window is closer together than the pool that
// it heads. A pool whose mean cosine is not positive is no yardstick.
func (c *coherence) pairRatio() (float64, error) {
	if c.window < 2 {
		return 0, tooFew(2, c.window)
	}
	pool := meanPairwiseCosine(c.units)
	if pool <= resolution {
		return 0, score.NotApplicable("the mean pairwise cosine of the top k is not greater than 0 by more than rounding, so that nothing is relative to it")
	}
	return meanPairwiseCosine(c.units[:c.window]) / pool, nil
}

// nearDuplicateShare is the share of places spent on repetitions.
func (c *coherence) nearDuplicateShare() (float64, error) {
	n := len(c.units)
	if n < 2 {
		return 0, tooFew(2, n)
	}
	repeated := 0
	for j, v := range c.units {
		for _, u := range c.units[:j] {
			if floats.Dot(u, v) >= nearDuplicate {
				repeated++
				break
			}
		}
	}
	return float64(repeated) / float64(n), nil
}
