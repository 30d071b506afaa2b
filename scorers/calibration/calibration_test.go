package calibration_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration"
	"plumbline/scorers/score"
)

func candidates(t *testing.T, scores []float64, labels []bool) []calibration.Candidate {
	t.Helper()
	c, err := calibration.Candidates(scores, labels)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCandidatesLieMidwayAndBeyondTheEnds(t *testing.T) {
	c := candidates(t, []float64{1, 3, 3, 7}, []bool{false, true, false, true})
	var thresholds []float64
	var fired []int
	for _, x := range c {
		thresholds, fired = append(thresholds, x.Threshold), append(fired, x.Fired)
	}
	if want := []float64{7, 5, 2, math.Nextafter(1, 0)}; !slices.Equal(thresholds, want) {
		t.Errorf("thresholds %v, want %v", thresholds, want)
	}
	if want := []int{0, 1, 3, 4}; !slices.Equal(fired, want) {
		t.Errorf("fired %v, want %v", fired, want)
	}
}

func TestYoudenPrefersFewerEscalationsOnATie(t *testing.T) {
	// J is 1/2 both after the first record (1/2 − 0) and after the third
	// (1 − 1/2).
	c := candidates(t, []float64{4, 3, 2, 1}, []bool{true, false, true, false})
	best, err := calibration.Youden(c)
	if err != nil || best.Fired != 1 || best.Threshold != 3.5 {
		t.Fatalf("%+v, %v", best, err)
	}
}

// A group with as large a share of the positives as of the negatives leaves J as it
// was, and the one that fires less is taken, whatever the rounding of the rates.
func TestYoudenTiesAreNotDecidedByRounding(t *testing.T) {
	for n := 3; n <= 30; n++ { // of each class
		for tied := 1; tied <= n-2; tied++ {
			var scores []float64
			var labels []bool
			add := func(score float64, label bool, times int) {
				for range times {
					scores, labels = append(scores, score), append(labels, label)
				}
			}
			add(3, true, 1)
			add(2, true, tied)
			add(2, false, tied)
			add(1, true, n-1-tied)
			add(1, false, n-tied)
			best, err := calibration.Youden(candidates(t, scores, labels))
			if err != nil || best.Threshold != 2.5 {
				t.Errorf("%d of %d tied: %+v, %v", tied, n, best, err)
			}
		}
	}
}

func TestTargets(t *testing.T) {
	c := candidates(t, []float64{6, 5, 4, 3, 2, 1}, []bool{true, true, false, true, false, false})
	recall, err := calibration.TargetRecall(c, 0.9)
	if err != nil || recall.Fired != 4 {
		t.Errorf("recall 0.9: %+v, %v", recall, err)
	}
	precision, err := calibration.TargetPrecision(c, 0.75)
	if err != nil || precision.Fired != 4 || precision.Caught != 3 {
		t.Errorf("precision 0.75: %+v, %v", precision, err)
	}
	_, err = calibration.TargetPrecision(candidates(t, []float64{2, 1}, []bool{false, true}), 0.9)
	wantStatus(t, err, plumblinev1.Status_STATUS_NOT_APPLICABLE)
	_, err = calibration.TargetRecall(c, 1.5)
	wantStatus(t, err, plumblinev1.Status_STATUS_INVALID_INPUT)
}

func wantStatus(t *testing.T, err error, want plumblinev1.Status) {
	t.Helper()
	var missing *score.Missing
	if !errors.As(err, &missing) || missing.Status != want {
		t.Errorf("got %v, want %v", err, want)
	}
}

// Worked values of TARG's rule: ties are not retrieved, and 1 − 0.7 does not
// trip over its binary form. The threshold lies between two scores, so that the
// last bit of either does not matter.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		scores    []float64
		budget    float64
		tau, next float64
		fired     int
	}{
		{[]float64{0.01, 0.02, 0.03, 0.04, 0.05}, 0.4, 0.03, 0.04, 2},
		{[]float64{0.01, 0.03, 0.03, 0.03, 0.05}, 0.4, 0.03, 0.05, 1},
		{[]float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}, 0.7, 0.3, 0.4, 7},
	} {
		got, err := calibration.Budget(candidates(t, c.scores, make([]bool, len(c.scores))), c.budget)
		if err != nil || got.Fired != c.fired || math.Abs(got.Threshold-(c.tau+c.next)/2) > 1e-12 {
			t.Errorf("%+v, %v, want %d fired between %v and %v", got, err, c.fired, c.tau, c.next)
		}
	}
	_, err := calibration.Budget(candidates(t, []float64{1}, []bool{true}), 1)
	wantStatus(t, err, plumblinev1.Status_STATUS_INVALID_INPUT)
}

func TestBudgetIsNeverExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 50).Draw(t, "scores")
		budget := rapid.Float64Range(0, 0.99).Draw(t, "budget")
		all, err := calibration.Candidates(scores, make([]bool, len(scores)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := calibration.Budget(all, budget)
		if err != nil {
			t.Fatal(err)
		}
		fired := 0
		for _, s := range scores {
			if s > got.Threshold {
				fired++
			}
		}
		if float64(fired) > budget*float64(len(scores))+1e-6 {
			t.Fatalf("%d of %d fire at budget %v", fired, len(scores), budget)
		}
	})
}

// The guarantee itself: over many calibration sets the true risk of the rule
// exceeds alpha in at most the share delta of them.
func TestRiskIsControlledOverManyDraws(t *testing.T) {
	const draws, n, alpha, delta = 2000, 1000, 0.1, 0.1
	// Confidence u is uniform; an answer is wrong with chance (1 − u)/2, so that
	// the risk of committing above t is exactly (1 − t)/4.
	generator := rand.New(rand.NewPCG(1, 2))
	violations, attained, committed := 0, 0, 0.0
	for range draws {
		confidence, correct := make([]float64, n), make([]bool, n)
		for i := range confidence {
			confidence[i] = generator.Float64()
			correct[i] = generator.Float64() >= (1-confidence[i])/2
		}
		rule, err := calibration.ControlRisk(confidence, correct, alpha, delta)
		if err != nil {
			continue
		}
		attained++
		committed += 1 - rule.Threshold
		if (1-rule.Threshold)/4 > alpha {
			violations++
		}
	}
	// Three standard errors above delta.
	if limit := delta + 3*math.Sqrt(delta*(1-delta)/draws); float64(violations)/draws > limit {
		t.Errorf("%d of %d draws exceed the bound, allowed %.3f", violations, draws, limit)
	}
	// A rule that never commits would keep the bound too; the best possible
	// commit rate is 0.4.
	if mean := committed / float64(attained); attained < draws*9/10 || mean < 0.15 {
		t.Errorf("attained in %d of %d draws, mean commit rate %.3f", attained, draws, mean)
	}
}

func TestRiskThatCannotBeControlledSaysSo(t *testing.T) {
	confidence, correct := make([]float64, 200), make([]bool, 200)
	for i := range confidence {
		confidence[i], correct[i] = float64(i), i%2 == 0
	}
	_, err := calibration.ControlRisk(confidence, correct, 0.1, 0.05)
	wantStatus(t, err, plumblinev1.Status_STATUS_NOT_APPLICABLE)
	_, err = calibration.ControlRisk(confidence[:5], correct[:5], 0.1, 0.05)
	wantStatus(t, err, plumblinev1.Status_STATUS_NOT_APPLICABLE)
}

// Worked values for routing replay.
func TestReplay(t *testing.T) {
	never, always := []float64{0.5, 0.2, 0.7, 0}, []float64{0.5, 0.6, 0.4, 0}
	passages := []float64{5, 5, 5, 4}
	questions := make([]calibration.Paired, 4)
	for i := range questions {
		questions[i] = calibration.Paired{
			ID:     string(rune('a' + i)),
			Never:  calibration.Outcome{F1: never[i]},
			Always: calibration.Outcome{F1: always[i], Cost: calibration.Cost{Passages: passages[i]}},
		}
	}
	for _, c := range []struct {
		skip     bool
		passages float64
	}{{false, 3.5}, {true, 1.25}} {
		totals, err := calibration.Replay(questions, calibration.Oracle(questions, c.skip), false)
		if err != nil || math.Abs(totals.F1-0.45) > 1e-12 || totals.Passages != c.passages {
			t.Errorf("oracle, ties skip %v: %+v, %v", c.skip, totals, err)
		}
	}
}

func TestMatchedRandomTakesTheHashOrder(t *testing.T) {
	never := map[string]float64{"q1": 0.2, "q2": 0.4, "q3": 0.6, "q4": 0.8, "q5": 1}
	always := map[string]float64{"q1": 0.9, "q2": 0.3, "q3": 0.7, "q4": 0.1, "q5": 0.5}
	var questions []calibration.Paired
	for _, id := range []string{"q4", "q1", "q5", "q2", "q3"} {
		questions = append(questions, calibration.Paired{
			ID: id, Dataset: "hotpot", Model: "gpt",
			Never: calibration.Outcome{F1: never[id]}, Always: calibration.Outcome{F1: always[id]},
		})
	}
	routed, err := calibration.MatchedRandom(questions, []bool{true, true, false, false, false})
	if err != nil {
		t.Fatal(err)
	}
	var chosen []string
	for i, r := range routed {
		if r {
			chosen = append(chosen, questions[i].ID)
		}
	}
	slices.Sort(chosen)
	if !slices.Equal(chosen, []string{"q3", "q5"}) {
		t.Errorf("chosen %v", chosen)
	}
	totals, err := calibration.Replay(questions, routed, false)
	if err != nil || math.Abs(totals.F1-0.52) > 1e-12 {
		t.Errorf("%+v, %v", totals, err)
	}
}

func TestFailuresStayInTheDenominator(t *testing.T) {
	outcome := func(f1 float64, failed bool) calibration.Paired {
		return calibration.Paired{Never: calibration.Outcome{F1: f1, Failed: failed}}
	}
	questions := []calibration.Paired{outcome(0.8, false), outcome(0.9, true), outcome(0.4, false), outcome(0, true)}
	totals, err := calibration.Replay(questions, make([]bool, 4), false)
	if err != nil || math.Abs(totals.F1-0.3) > 1e-12 || totals.N != 4 {
		t.Errorf("%+v, %v", totals, err)
	}
}
