package calibration

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration/stats"
	"plumbline/scorers/gate"
	"plumbline/scorers/score"
)

func warnf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

func sortedGroups[V any](groups map[Group]V) []Group {
	return slices.SortedFunc(maps.Keys(groups), func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Dataset, b.Dataset), cmp.Compare(a.Model, b.Model))
	})
}

// routing is one Replay call.
type routing struct {
	questions []Paired
	scores    []float64 // oriented: route iff above the threshold; NaN routes
	draws     int
	seed      uint64
}

// ReplayRecords replays the recorded outcomes of two arms by the policy g or by
// the score that the options name, beside always, never, route-count-matched
// random and the oracle. A question without the score retrieves.
func ReplayRecords(d *Data, m *plumblinev1.ReplayOptions, g *gate.Gate) (*plumblinev1.ReplayResponse, error) {
	if (m.GetPolicy() == "") == (m.GetScore() == "") {
		return nil, score.InvalidInput("options: name either a policy or a score")
	}
	r := routing{draws: 1000, seed: m.GetSeed()}
	if m.GetBootstrap() > 0 {
		r.draws = int(m.GetBootstrap())
	}
	response := &plumblinev1.ReplayResponse{}
	index := r.load(d, m, response)
	if len(index) == 0 {
		return nil, score.MissingInput("no record has the outcomes of both arms %q and %q", arm(m.GetNeverArm(), "never"), arm(m.GetAlwaysArm(), "always"))
	}
	routes := map[string][]bool{
		"always": filled(len(index), true),
		"never":  filled(len(index), false),
		"oracle": Oracle(r.questions, m.GetOracleSkipsTies()),
	}
	var routed []bool
	switch {
	case g != nil:
		routed = Decide(d, index, g, InputName)
	case m.Threshold != nil:
		routed = r.route(m)
	}
	if routed != nil {
		random, err := MatchedRandom(r.questions, routed)
		if err != nil {
			return nil, err
		}
		routes["policy"], routes["random"] = routed, random
		response.Warnings = append(response.Warnings, degenerate(routed)...)
	}
	for _, name := range []string{"policy", "always", "never", "random", "oracle"} {
		if route, ok := routes[name]; ok {
			response.Policies = append(response.Policies, &plumblinev1.RoutedPolicy{Name: name, Metrics: r.measure(route)})
		}
	}
	if m.GetScore() != "" {
		response.Frontier = r.frontier(m.GetBelow())
		response.Benefit = r.benefit()
	}
	return response, nil
}

func arm(name, fallback string) string { return cmp.Or(name, fallback) }

func filled(n int, v bool) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// load takes the questions that have both arms, and their oriented scores.
func (r *routing) load(d *Data, m *plumblinev1.ReplayOptions, response *plumblinev1.ReplayResponse) []int {
	var index []int
	lacking := 0
	for i := range d.Len() {
		never, okNever := d.Arm(arm(m.GetNeverArm(), "never"), i)
		always, okAlways := d.Arm(arm(m.GetAlwaysArm(), "always"), i)
		if !okNever || !okAlways {
			continue
		}
		index = append(index, i)
		group := d.Group(i)
		r.questions = append(r.questions, Paired{
			ID: d.records[i].id, Dataset: group.Dataset, Model: group.Model, Never: never, Always: always,
		})
		value, ok := d.Signal(m.GetScore(), i)
		switch {
		case !ok:
			value = math.NaN()
			lacking++
		case m.GetBelow():
			value = -value
		}
		r.scores = append(r.scores, value)
	}
	if left := d.Len() - len(index); left > 0 {
		response.Warnings = append(response.Warnings, warnf("%d records lack an arm and are left out", left))
	}
	if m.GetScore() != "" && lacking > 0 {
		response.Warnings = append(response.Warnings, warnf("%d questions lack the score and retrieve", lacking))
	}
	return index
}

// route applies the threshold; equality does not retrieve, a missing score does.
func (r *routing) route(m *plumblinev1.ReplayOptions) []bool {
	threshold := m.GetThreshold()
	if m.GetBelow() {
		threshold = -threshold
	}
	routed := make([]bool, len(r.scores))
	for i, s := range r.scores {
		routed[i] = math.IsNaN(s) || s > threshold
	}
	return routed
}

// degenerate warns of a rule that makes no difference.
func degenerate(routed []bool) []string {
	switch n := countRouted(routed); n {
	case 0:
		return []string{"the rule never fires on these records"}
	case len(routed):
		return []string{"the rule fires on every record: its threshold may lie outside the score's range"}
	default:
		return nil
	}
}

func countRouted(routed []bool) int {
	n := 0
	for _, r := range routed {
		if r {
			n++
		}
	}
	return n
}

// routeFigures are the names that measure gives.
var routeFigures = [...]string{"f1", "em", "passages", "tokens", "calls", "route_rate"}

func (r *routing) measure(routed []bool) map[string]*plumblinev1.Estimate {
	columns := make([][]float64, len(routeFigures))
	for f := range columns {
		columns[f] = make([]float64, len(routed))
	}
	for i := range routed {
		// One question cannot fail to be replayed.
		t, _ := Replay(r.questions[i:i+1], routed[i:i+1], false)
		for f, v := range []float64{t.F1, t.EM, t.Passages, t.Tokens, t.Calls, t.RouteRate} {
			columns[f][i] = v
		}
	}
	figures, err := measure(len(routed), r.draws, r.seed, func(weights []int, out []float64) {
		for f, column := range columns {
			out[f] = weightedMean(column, weights)
		}
	}, routeFigures[:]...)
	if err != nil {
		return nil
	}
	return estimates(figures, len(routed))
}

func weightedMean(values []float64, weights []int) float64 {
	sum, total := 0.0, 0.0
	for i, w := range weights {
		sum += float64(w) * values[i]
		total += float64(w)
	}
	return sum / total
}

// frontier sweeps the threshold over all observed scores.
func (r *routing) frontier(below bool) []*plumblinev1.FrontierPoint {
	index := make([]int, len(r.scores))
	for i := range index {
		index[i] = i
	}
	oriented := func(i int) float64 { // what lacks a score always retrieves
		if math.IsNaN(r.scores[i]) {
			return math.Inf(1)
		}
		return r.scores[i]
	}
	slices.SortFunc(index, func(a, b int) int { return cmp.Compare(oriented(b), oriented(a)) })
	f1, passages := 0.0, 0.0
	for _, q := range r.questions {
		f1 += q.Never.f1()
		passages += q.Never.Passages
	}
	n := float64(len(index))
	var points []*plumblinev1.FrontierPoint
	for rank, i := range index {
		// The threshold at this score routes exactly those above it.
		if s := oriented(i); !math.IsInf(s, 1) && (rank == 0 || oriented(index[rank-1]) > s) {
			threshold := s
			if below {
				threshold = -s
			}
			points = append(points, &plumblinev1.FrontierPoint{
				Threshold: threshold, RouteRate: float64(rank) / n, F1: f1 / n, Passages: passages / n,
			})
		}
		q := r.questions[i]
		f1 += q.Benefit()
		passages += q.Always.Passages - q.Never.Passages
	}
	return points
}

// benefit measures how the score predicts that retrieval strictly helps.
func (r *routing) benefit() map[string]*plumblinev1.Estimate {
	var scores, gains []float64
	var helps []bool
	for i, s := range r.scores {
		if !math.IsNaN(s) {
			gain := r.questions[i].Benefit()
			scores, gains, helps = append(scores, s), append(gains, gain), append(helps, gain > 0)
		}
	}
	out := map[string]*plumblinev1.Estimate{}
	figures, err := MeasureScore(scores, helps, r.draws, r.seed)
	if err == nil {
		out = estimates(figures, len(scores))
	}
	rho := stats.Interval{}
	rho.Value, rho.Err = stats.Spearman(scores, gains)
	rho.Lower, rho.Upper = rho.Value, rho.Value
	out["spearman"] = spearmanEstimate(rho, len(scores))
	return out
}

// spearmanEstimate has no interval: ranks change with every draw.
func spearmanEstimate(rho stats.Interval, n int) *plumblinev1.Estimate {
	e := estimate(rho, n)
	e.Lower, e.Upper = nil, nil
	return e
}
