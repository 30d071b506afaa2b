package retrieval

import (
	"math"

	"plumbline/scorers/score"
)

// formula is a function of one ranking's scores. It becomes a signal of each
// ranking for which it has a name.
type formula struct {
	fused, dense, sparse string // the signal's name on that ranking, or ""

	description  string // continued by ", of the … ranking"
	family       string
	unit, source string
	min, max     float64
	weakWhenHigh bool
	shift, scale effect

	atLeast  int      // results that the formula needs
	absolute bool     // refuses scores that are relative to their own list
	needs    []string // besides the scores
	remark   func(*list) string
	of       func(*evidence, *list) (float64, error)
	// zeroInSource makes 0 the value under compat SOURCE where the ranking is
	// absent or too short.
	zeroInSource bool
}

// scoreSignals are the rows of the families "height" and "spread".
func scoreSignals() []signal {
	var rows []signal
	for _, f := range append(heightFormulas(), spreadFormulas()...) {
		for _, part := range []struct{ name, ranking string }{
			{f.fused, fusedName}, {f.dense, denseName}, {f.sparse, sparseName},
		} {
			if part.name != "" {
				rows = append(rows, f.on(part.ranking, part.name))
			}
		}
	}
	return rows
}

// on makes the row of the formula on one ranking.
func (f formula) on(ranking, name string) signal {
	s := signal{
		name: name, description: f.description + ", of the " + ranking + " ranking", family: f.family,
		unit: f.unit, cost: "free", source: f.source, min: f.min, max: f.max,
		weakWhenHigh: f.weakWhenHigh, shift: f.shift, scale: f.scale, reads: ranking,
		needs: append([]string{"rankings[" + ranking + "].items.score"}, f.needs...),
	}
	if ranking != fusedName {
		s.cost = "one more ranking"
	}
	s.compute = func(e *evidence) (float64, error) {
		l, err := e.ranking(ranking)
		if err != nil {
			return 0, err
		}
		if err := l.ready(f.atLeast, f.absolute); err != nil {
			return 0, err
		}
		return f.of(e, l)
	}
	if f.remark != nil {
		s.remark = func(e *evidence) string {
			l, err := e.ranking(ranking)
			if err != nil {
				return ""
			}
			return f.remark(l)
		}
	}
	if f.zeroInSource {
		s.compat = zeroIfAbsent(s.compute)
	}
	return s
}

// ofScores makes a formula of the top-k scores alone.
func ofScores(f func([]float64) (float64, error)) func(*evidence, *list) (float64, error) {
	return func(_ *evidence, l *list) (float64, error) { return f(l.scores) }
}

var (
	unbounded = math.Inf(1)

	errOverflow = score.InvalidInput("the scores are too large or too small for a finite value")
)
