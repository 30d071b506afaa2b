package reward_test

import (
	"errors"
	"math"
	"os"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"plumbline/internal/shareddata"
	"plumbline/scorers/score"
	"plumbline/scorers/telemetry/reward"
)

type episode struct {
	F1                                 float64
	EM                                 int
	Turns, Retrieve, Refine, Decompose int
	Malformed                          bool
}

func (e episode) plain() reward.Episode {
	return reward.Episode{
		F1: e.F1, ExactMatch: e.EM == 1, Turns: e.Turns, Retrieve: e.Retrieve,
		Refine: e.Refine, Decompose: e.Decompose, Malformed: e.Malformed,
	}
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, e episode, want float64) {
	t.Helper()
	got, err := reward.Paper().Of(e.plain())
	if err != nil || math.Abs(got-want) > 1e-9 {
		t.Errorf("%+v: got %v, %v; want %v", e, got, err, want)
	}
}

func TestPaperReward(t *testing.T) {
	var golden struct {
		Rewards []struct {
			Episode episode
			Reward  float64
		}
	}
	readYAML(t, "../testdata/golden.yaml", &golden)
	if len(golden.Rewards) == 0 {
		t.Fatal("the golden file has no rewards")
	}
	for _, c := range golden.Rewards {
		expect(t, c.Episode, c.Reward)
	}
}

func TestSharedPaperReward(t *testing.T) {
	var all []struct {
		ID     string
		Inputs struct{ Rollouts []episode }
		// Expected is read only for the one case that has rewards.
		Expected map[string]any
	}
	var ids []struct{ ID string }
	path := shareddata.Path(t, "cases", "golden_formulas.yaml")
	readYAML(t, path, &ids)
	var nodes []yaml.Node
	readYAML(t, path, &nodes)
	for i, id := range ids {
		if id.ID != "reward-paper" {
			continue
		}
		all = all[:0]
		one := yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{&nodes[i]}}
		if err := one.Decode(&all); err != nil {
			t.Fatal(err)
		}
		for j, e := range all[0].Inputs.Rollouts {
			expect(t, e, all[0].Expected["reward"].([]any)[j].(float64))
		}
		return
	}
	t.Fatal("there is no case reward-paper")
}

func TestCostsAreConfigurable(t *testing.T) {
	got, err := reward.Costs{Turn: 1, Malformed: -9}.Of(reward.Episode{F1: 0.5, ExactMatch: true, Turns: 2, Retrieve: 7})
	if err != nil || got != -1.5 {
		t.Errorf("got %v, %v", got, err)
	}
	if got, _ := (reward.Costs{Malformed: -9}).Of(reward.Episode{Malformed: true, F1: math.NaN()}); got != -9 {
		t.Errorf("got %v", got)
	}
}

func TestBadEpisodes(t *testing.T) {
	for _, e := range []reward.Episode{{F1: math.NaN()}, {F1: 1.5}, {F1: -0.1}, {Turns: -1}, {Decompose: -1}} {
		_, err := reward.Paper().Of(e)
		var missing *score.Missing
		if !errors.As(err, &missing) {
			t.Errorf("%+v: got %v", e, err)
		}
	}
}

func TestEveryActionCosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20)
		e := reward.Episode{F1: rapid.Float64Range(0, 1).Draw(t, "f1"), Turns: n.Draw(t, "turns"), Retrieve: n.Draw(t, "retrieve"), Refine: n.Draw(t, "refine"), Decompose: n.Draw(t, "decompose")}
		before, err := reward.Paper().Of(e)
		if err != nil {
			t.Fatal(err)
		}
		which := rapid.IntRange(0, 3).Draw(t, "which")
		*[]*int{&e.Turns, &e.Retrieve, &e.Refine, &e.Decompose}[which]++
		after, err := reward.Paper().Of(e)
		if err != nil || after >= before {
			t.Fatalf("%v, then %v (%v)", before, after, err)
		}
	})
}
