package calibration

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration/stats"
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
	index     []int     // the records of the questions
	scores    []float64 // oriented: route iff above the threshold; NaN routes

	resampling stats.Resampling
}

// ReplayRecords replays the recorded outcomes of two arms by the policy p or by
// the score that the options name, beside always, never, route-count-matched
// random and the oracle; in all, by group, and over the questions on which
// neither arm failed. A question without the score retrieves. What a probe cost
// is added to the policy alone: the others do not ask for a score. The work ends
// with ctx, whose error is then returned.
func ReplayRecords(ctx context.Context, d *Data, m *plumblinev1.ReplayOptions, p Policy) (*plumblinev1.ReplayResponse, error) {
	if (m.GetPolicy() == "") == (m.GetScore() == "") {
		return nil, score.InvalidInput("options: name either a policy or a score")
	}
	r := &routing{resampling: stats.Resampling{Draws: cmp.Or(int(m.GetBootstrap()), 1000), Seed: m.GetSeed()}}
	response := &plumblinev1.ReplayResponse{OracleSkipsTies: m.GetOracleSkipsTies()}
	r.load(d, m, response)
	if len(r.questions) == 0 {
		return nil, score.MissingInput("no record has the outcomes of both arms %q and %q", arm(m.GetNeverArm(), "never"), arm(m.GetAlwaysArm(), "always"))
	}
	routes, err := r.routes(ctx, d, m, p, response)
	if err != nil {
		return nil, err
	}
	everything, fine, cells := r.where(func(Paired) bool { return true }), r.successes(), r.cells()
	sets := 1 + min(len(fine), 1) + len(cells)
	measured := r.counted(ctx, "figures of routings", sets*len(routes))
	response.Policies = measured.measureAll(ctx, routes, everything)
	response.SuccessOnly = measured.measureAll(ctx, routes, fine)
	for _, group := range sortedGroups(cells) {
		response.Groups = append(response.Groups, &plumblinev1.GroupRouting{
			Dataset: group.Dataset, Model: group.Model, Policies: measured.measureAll(ctx, routes, cells[group]),
		})
	}
	if m.GetScore() != "" {
		response.Frontier = thinned(r.frontier(m.GetBelow()))
		response.Benefit = r.counted(ctx, "benefit of retrieval", 2).benefit(ctx)
	}
	r.resampling.Draws = cmp.Or(int(m.GetBootstrap()), differenceDraws)
	response.Comparisons, err = r.compare(ctx, routes, everything, cells)
	return response, cmp.Or(ctx.Err(), err)
}

// routes are the routings that are replayed, by name. Random and policy are
// among them if there is a rule: a policy, or a score with a threshold.
func (r *routing) routes(ctx context.Context, d *Data, m *plumblinev1.ReplayOptions, p Policy, response *plumblinev1.ReplayResponse) (map[string][]bool, error) {
	routes := map[string][]bool{
		"always": filled(len(r.questions), true),
		"never":  filled(len(r.questions), false),
		"oracle": Oracle(r.questions, m.GetOracleSkipsTies()),
	}
	var err error
	switch {
	case p != nil:
		routes["policy"], err = Decide(ctx, d, r.index, p, InputName)
	case m.Threshold != nil:
		routes["policy"] = r.route(m)
	default:
		return routes, nil
	}
	if err != nil {
		return nil, err
	}
	response.Warnings = append(response.Warnings, degenerate(routes["policy"])...)
	routes["random"], err = MatchedRandom(r.questions, routes["policy"])
	return routes, err
}

// counted is the routing with the draws of so many bootstraps as a stage.
func (r *routing) counted(ctx context.Context, stage string, bootstraps int) *routing {
	counted := *r
	counted.resampling = begin(ctx, stage, bootstraps*r.resampling.Draws).counting(r.resampling, 1)
	return &counted
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
func (r *routing) load(d *Data, m *plumblinev1.ReplayOptions, response *plumblinev1.ReplayResponse) {
	neverArm, alwaysArm := arm(m.GetNeverArm(), "never"), arm(m.GetAlwaysArm(), "always")
	onSide := sideOf(d, m.GetSplit())
	response.Failures = map[string]uint64{neverArm: 0, alwaysArm: 0}
	lacking, without := 0, 0
	for i := range d.Len() {
		if !onSide(i) {
			continue
		}
		never, okNever := d.Arm(neverArm, i)
		always, okAlways := d.Arm(alwaysArm, i)
		if !okNever || !okAlways {
			without++
			continue
		}
		response.Failures[neverArm] += count(never.Failed)
		response.Failures[alwaysArm] += count(always.Failed)
		group := d.Group(i)
		r.index = append(r.index, i)
		r.questions = append(r.questions, Paired{
			ID: d.id(i), Dataset: group.Dataset, Model: group.Model,
			Never: never, Always: always, Probe: d.Probe(i),
		})
		value, ok := d.Signal(m.GetScore(), i)
		if !ok {
			value = math.NaN()
			lacking++
		}
		r.scores = append(r.scores, orient(value, !m.GetBelow()))
	}
	if without > 0 {
		response.Warnings = append(response.Warnings, warnf("%d records lack an arm and are left out", without))
	}
	if m.GetScore() != "" && lacking > 0 {
		response.Warnings = append(response.Warnings, warnf("%d questions lack the score and retrieve", lacking))
	}
}

func count(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

// where returns the questions that hold.
func (r *routing) where(holds func(Paired) bool) []int {
	var out []int
	for i, q := range r.questions {
		if holds(q) {
			out = append(out, i)
		}
	}
	return out
}

// successes are the questions on which neither arm failed; none where that is
// all.
func (r *routing) successes() []int {
	fine := r.where(func(q Paired) bool { return !q.Never.Failed && !q.Always.Failed })
	if len(fine) == len(r.questions) {
		return nil
	}
	return fine
}

// cells are the questions of each dataset and model; none where there is one
// cell only.
func (r *routing) cells() map[Group][]int {
	cells := map[Group][]int{}
	for i, q := range r.questions {
		group := Group{q.Dataset, q.Model}
		cells[group] = append(cells[group], i)
	}
	if len(cells) < 2 {
		return nil
	}
	return cells
}

// route applies the threshold; equality does not retrieve, a missing score does.
func (r *routing) route(m *plumblinev1.ReplayOptions) []bool {
	threshold := orient(m.GetThreshold(), !m.GetBelow())
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

// routings are the names of the routings, in the order of a response.
var routings = [...]string{"policy", "always", "never", "random", "oracle"}

// routeFigures are the names that measure gives.
var routeFigures = [...]string{"f1", "em", "passages", "tokens", "calls", "route_rate"}

func (r *routing) measureAll(ctx context.Context, routes map[string][]bool, subset []int) []*plumblinev1.RoutedPolicy {
	var out []*plumblinev1.RoutedPolicy
	for _, name := range routings {
		route, ok := routes[name]
		if !ok {
			continue
		}
		columns := r.columns(route, subset, name == "policy")
		figures, err := measureMeans(ctx, columns, r.resampling, routeFigures[:]...)
		if err != nil {
			continue // an empty subset is not measured
		}
		out = append(out, &plumblinev1.RoutedPolicy{Name: name, Metrics: estimates(figures, len(subset))})
	}
	return out
}

// columns are the routeFigures of each question of the subset.
func (r *routing) columns(routed []bool, subset []int, probe bool) [][]float64 {
	columns := make([][]float64, len(routeFigures))
	for _, i := range subset {
		// One question cannot fail to be replayed.
		t, _ := Replay(r.questions[i:i+1], routed[i:i+1], probe)
		for f, v := range []float64{t.F1, t.EM, t.Passages, t.Tokens, t.Calls, t.RouteRate} {
			columns[f] = append(columns[f], v)
		}
	}
	return columns
}

// pairsCompared are the routings whose F1 is compared.
var pairsCompared = [...][2]string{
	{"policy", "always"}, {"policy", "never"}, {"policy", "random"}, {"always", "never"},
}

// compare tests the F1 of routings against each other: over all questions, and
// in each cell if there are several. The tests of the cells are one family, or
// those of all questions where there is one cell.
func (r *routing) compare(ctx context.Context, routes map[string][]bool, everything []int, cells map[Group][]int) ([]*plumblinev1.PairedComparison, error) {
	compared := 0
	for _, names := range pairsCompared {
		if routes[names[0]] != nil && routes[names[1]] != nil {
			compared++
		}
	}
	counted := r.counted(ctx, "differences", (1+len(cells))*compared)
	pair := func(subset []int, group Group) []*plumblinev1.PairedComparison {
		var out []*plumblinev1.PairedComparison
		for _, names := range pairsCompared {
			a, okA := routes[names[0]]
			b, okB := routes[names[1]]
			if !okA || !okB {
				continue
			}
			x, y := r.columns(a, subset, false)[0], r.columns(b, subset, false)[0]
			differences := make([]float64, len(x))
			for i := range x {
				differences[i] = x[i] - y[i]
			}
			figures, err := measureMeans(ctx, [][]float64{differences}, counted.resampling, "f1")
			if err != nil {
				continue // an empty subset is not measured
			}
			out = append(out, &plumblinev1.PairedComparison{
				First: names[0], Second: names[1], Dataset: group.Dataset, Model: group.Model, Metric: "f1",
				Difference: estimate(figures["f1"], len(subset)), PValue: signedRank(x, y),
			})
		}
		return out
	}
	all := pair(everything, Group{})
	if len(cells) == 0 {
		return all, adjust(all)
	}
	var family []*plumblinev1.PairedComparison
	for _, group := range sortedGroups(cells) {
		family = append(family, pair(cells[group], group)...)
	}
	return append(all, family...), adjust(family)
}

// frontier sweeps the threshold over all observed scores, and to just past the
// last, where every question retrieves.
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
	var sum Totals
	for _, q := range r.questions {
		sum.add(q.Never)
		sum.add(Outcome{Cost: q.Probe})
	}
	n := float64(len(index))
	var points []*plumblinev1.FrontierPoint
	add := func(threshold float64, routed int) {
		points = append(points, &plumblinev1.FrontierPoint{
			Threshold: orient(threshold, !below), RouteRate: float64(routed) / n, F1: sum.F1 / n, Em: sum.EM / n,
			Passages: sum.Passages / n, Tokens: sum.Tokens / n, Calls: sum.Calls / n,
		})
	}
	for rank, i := range index {
		// The threshold at this score routes exactly those above it.
		if s := oriented(i); !math.IsInf(s, 1) && (rank == 0 || oriented(index[rank-1]) > s) {
			add(s, rank)
		}
		sum.swap(r.questions[i].Never, r.questions[i].Always)
	}
	if lowest := oriented(index[len(index)-1]); !math.IsInf(lowest, 1) {
		add(math.Nextafter(lowest, math.Inf(-1)), len(index))
	}
	return points
}

// benefit measures how the score predicts that retrieval strictly helps.
func (r *routing) benefit(ctx context.Context) map[string]*plumblinev1.Estimate {
	var scores, gains []float64
	var helps []bool
	for i, s := range r.scores {
		if !math.IsNaN(s) {
			gain := r.questions[i].Benefit()
			scores, gains, helps = append(scores, s), append(gains, gain), append(helps, gain > 0)
		}
	}
	out := map[string]*plumblinev1.Estimate{}
	if figures, err := MeasureScore(ctx, scores, helps, r.resampling); err == nil {
		delete(figures, "aurc") // benefit is not a rightness
		out = estimates(figures, len(scores))
	}
	if figures, err := MeasureRankCorrelation(ctx, scores, gains, r.resampling); err == nil {
		out["spearman"] = estimate(figures["spearman"], len(scores))
	}
	return out
}
