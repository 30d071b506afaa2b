package retrieval

import "slices"

// Names of the rankings that have a part of their own. All other names are the
// caller's.
const (
	fusedName  = "fused"
	denseName  = "dense"
	sparseName = "sparse"
)

// Defaults of a request's numbers, which count as not given when zero.
const (
	defaultWindow = 3
	defaultK      = 10
	// defaultRRFConstant is the k of the paper on reciprocal rank fusion.
	defaultRRFConstant = 60
	defaultTemperature = 1
)

// Kind says what the scores of a ranking are. The values are those of the
// proto enum ScoreKind.
type Kind int32

// The kinds of scores.
const (
	Unspecified Kind = iota
	Cosine
	Dot
	L2Distance
	BM25
	Probability
	Logit
	RRF
	DBSF
	Relative
)

// relative reports whether the scores were made from ranks, or relative to
// their own list, so that their height says nothing about fit.
func (k Kind) relative() bool { return k == RRF || k == DBSF || k == Relative }

// orient maps a score to one for which higher is better, and back. It leaves no
// negative zero, which would be equal to 0 and print differently.
func (k Kind) orient(score float64) float64 {
	if k == L2Distance {
		return 0 - score
	}
	return score + 0
}

// outside reports whether the score cannot be of this kind. Rounding is let
// pass: a cosine of two equal vectors in float32 may exceed 1.
func (k Kind) outside(score float64) bool {
	const rounding = 1e-4
	switch k {
	case Cosine:
		return score < -1-rounding || score > 1+rounding
	case Probability:
		return score < -rounding || score > 1+rounding
	case L2Distance:
		return score < 0
	default:
		return false
	}
}

// Item is one retrieved passage.
type Item struct {
	ID          string
	Score       float64 // in the ranking's kind
	Title, Text string
	Embedding   []float32
}

func (i *Item) hasText() bool      { return i.Text != "" || i.Title != "" }
func (i *Item) hasEmbedding() bool { return len(i.Embedding) > 0 }

// Ranking is the result list of one retriever, in any order.
type Ranking struct {
	Name  string
	Kind  Kind
	Items []Item
	// CorpusMean is the mean score of the whole corpus for the question, or
	// nil where the retriever does not give it.
	CorpusMean *float64
}

// Request is one retrieval result with the settings of its reading.
type Request struct {
	Question       string
	Rankings       []Ranking
	Window         int     // results the answer is written from; 0 means 3
	K              int     // results of each ranking that are read; 0 means 10
	RRFConstant    int     // 0 means 60
	Temperature    float64 // of score_entropy, in units of the scores; 0 means 1
	QueryEmbedding []float32
	// IDF has inverse document frequencies by lower-case term; empty means
	// that they are estimated from the pool.
	IDF map[string]float64
	// Source asks for the numbers of the code published with "Route Retrieval
	// by Evidence".
	Source bool
	// Signals are the names of the signals to compute; empty means all.
	Signals []string
}

// withDefaults fills in what was left zero. An answer window cannot reach
// below the pool, so it ends at k.
func (r Request) withDefaults() (filled Request, warnings []string) {
	r.K = orDefault(r.K, defaultK)
	r.RRFConstant = orDefault(r.RRFConstant, defaultRRFConstant)
	r.Temperature = orDefault(r.Temperature, defaultTemperature)
	r.Window = orDefault(r.Window, defaultWindow)
	if r.Window > r.K {
		r.Window = r.K
		warnings = append(warnings, "window exceeds k: the window was cut to k results")
	}
	r.Rankings = slices.Clone(r.Rankings)
	// By name, so that no result depends on the order of the rankings.
	slices.SortStableFunc(r.Rankings, func(a, b Ranking) int { return compareStrings(a.Name, b.Name) })
	return r, warnings
}

func orDefault[T int | float64](value, fallback T) T {
	if value <= 0 {
		return fallback
	}
	return value
}
