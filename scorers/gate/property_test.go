package gate

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
)

func builtinGates(t testing.TB) []*Gate {
	t.Helper()
	set, err := Builtin(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var gates []*Gate
	for _, name := range set.Names() {
		gates = append(gates, set.gates[name])
	}
	return gates
}

// drawNumber draws from an input's range, often at or beside a threshold.
func drawNumber(t *rapid.T, g *Gate, in input, label string) float64 {
	lo, hi := math.Max(in.allowed.min, -20), math.Min(in.allowed.max, 20)
	thresholds := slices.Collect(maps.Values(g.thresholds))
	slices.Sort(thresholds)
	if len(thresholds) > 0 && rapid.Bool().Draw(t, label+" near a threshold") {
		near := rapid.SampledFrom(thresholds).Draw(t, label+" threshold") + rapid.SampledFrom([]float64{-1e-6, 0, 1e-6}).Draw(t, label+" offset")
		return math.Min(math.Max(near, lo), hi)
	}
	return rapid.Float64Range(lo, hi).Draw(t, label)
}

func drawValue(t *rapid.T, g *Gate, in input) Value {
	if in.optional && rapid.Bool().Draw(t, in.name+" is missing") {
		return Missing(score.MissingInput("left out"))
	}
	switch in.kind {
	case plumblinev1.InputType_INPUT_TYPE_NUMBER:
		return Number(drawNumber(t, g, in, in.name))
	case plumblinev1.InputType_INPUT_TYPE_NUMBERS:
		n := rapid.IntRange(1, 5).Draw(t, in.name+" count")
		numbers := make([]float64, n)
		for i := range numbers {
			numbers[i] = drawNumber(t, g, in, fmt.Sprintf("%s[%d]", in.name, i))
		}
		return Numbers(numbers)
	case plumblinev1.InputType_INPUT_TYPE_TEXT:
		return Text(rapid.StringN(1, 60, -1).Draw(t, in.name))
	case plumblinev1.InputType_INPUT_TYPE_TEXTS:
		return Texts(rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, in.name))
	case plumblinev1.InputType_INPUT_TYPE_DISTRIBUTION:
		p := map[string]float64{}
		for _, label := range []string{"A", "B", "C", "[Retrieval]", "[No Retrieval]"} {
			p[label] = rapid.Float64Range(0, 1).Draw(t, label)
		}
		return Distribution(p)
	default:
		return Bool(rapid.Bool().Draw(t, in.name))
	}
}

// surer moves a value in the direction of more confidence, within its range.
func surer(t *rapid.T, in input, v Value) Value {
	sign := 1.0
	if in.direction == plumblinev1.Direction_DIRECTION_HIGHER_IS_UNCERTAIN {
		sign = -1
	}
	move := func(x float64, label string) float64 {
		x += sign * rapid.Float64Range(0, 2).Draw(t, label)
		return math.Min(math.Max(x, in.allowed.min), in.allowed.max)
	}
	if v.kind == plumblinev1.InputType_INPUT_TYPE_NUMBER {
		return Number(move(v.number, "step"))
	}
	numbers := slices.Clone(v.numbers)
	i := rapid.IntRange(0, len(numbers)-1).Draw(t, "which")
	numbers[i] = move(numbers[i], "step")
	return Numbers(numbers)
}

// TestGatesAreMonotone: for every built-in gate, an input that becomes surer in
// its declared direction never makes the gate spend more.
func TestGatesAreMonotone(t *testing.T) {
	directed := 0
	for _, g := range builtinGates(t) {
		for _, in := range g.inputs {
			if in.direction == plumblinev1.Direction_DIRECTION_UNSPECIFIED {
				continue
			}
			directed++
			t.Run(g.Name()+"/"+in.name, rapid.MakeCheck(func(t *rapid.T) {
				values := Values{}
				for _, other := range g.inputs {
					values[other.name] = drawValue(t, g, other)
				}
				before, undecided := g.try(values)
				if undecided != nil || values[in.name].missing != nil {
					t.Skip("the rule needs the input")
				}
				values[in.name] = surer(t, in, values[in.name])
				after, undecided := g.try(values)
				if undecided != nil {
					t.Skip("the inputs contradict each other")
				}
				if Effort(after.Action) > Effort(before.Action) {
					t.Fatalf("%s became surer and %s became %s", in.name, before.Action, after.Action)
				}
			}))
		}
	}
	if directed < 30 {
		t.Errorf("only %d inputs declare a direction", directed)
	}
}

// TestDistributionsAreMonotone: mass that moves from the cheap label to the
// dear one never makes a gate spend less.
func TestDistributionsAreMonotone(t *testing.T) {
	for _, c := range []struct{ policy, cheap, dear string }{
		{"adaptive_rag", "A", "C"},
		{"adaptive_rag.plumbline", "A", "C"},
		{"self_rag", "[No Retrieval]", "[Retrieval]"},
	} {
		g := gateNamed(t, c.policy)
		t.Run(c.policy, rapid.MakeCheck(func(t *rapid.T) {
			p := map[string]float64{"A": 0, "B": rapid.Float64Range(0, 1).Draw(t, "B"), "C": 0}
			p[c.cheap] = rapid.Float64Range(0, 1).Draw(t, "cheap")
			p[c.dear] = rapid.Float64Range(0, 1).Draw(t, "dear")
			before := g.Decide(Values{labelDistribution: Distribution(maps.Clone(p))})
			step := rapid.Float64Range(0, 1).Draw(t, "step")
			p[c.cheap], p[c.dear] = p[c.cheap]*(1-step), math.Min(1, p[c.dear]+p[c.cheap]*step)
			after := g.Decide(Values{labelDistribution: Distribution(p)})
			if Effort(after.Action) < Effort(before.Action) {
				t.Fatalf("%s became %s", before.Action, after.Action)
			}
		}))
	}
}

func gateNamed(t *testing.T, name string) *Gate {
	t.Helper()
	for _, g := range builtinGates(t) {
		if g.Name() == name {
			return g
		}
	}
	t.Fatalf("there is no gate %s", name)
	return nil
}

// TestMissingInputTakesTheDeclaredDefault: each input that a rule needs, given
// as nothing, as null, as a number that is not finite or as something of
// another type, leads to the action that the policy declares for it.
func TestMissingInputTakesTheDeclaredDefault(t *testing.T) {
	gaps := map[string]func(Values, string){
		"absent":   func(v Values, name string) { delete(v, name) },
		"null":     func(v Values, name string) { v[name] = Missing(score.MissingInput("null")) },
		"NaN":      func(v Values, name string) { v[name] = Number(math.NaN()) },
		"infinite": func(v Values, name string) { v[name] = Numbers([]float64{1, math.Inf(1)}) },
	}
	for _, g := range builtinGates(t) {
		for i, in := range g.inputs {
			if in.optional {
				continue
			}
			for kind, gap := range gaps {
				t.Run(g.Name()+"/"+in.name+"/"+kind, rapid.MakeCheck(func(t *rapid.T) {
					values := Values{}
					for _, other := range g.inputs {
						values[other.name] = drawValue(t, g, other)
					}
					gap(values, in.name)
					d := g.Decide(values)
					want := g.policy.GetInputs()[i].GetOnMissing()
					if want == plumblinev1.Action_ACTION_UNSPECIFIED {
						want = plumblinev1.Action_ACTION_RETRIEVE
					}
					if d.Action != want || !slices.Contains(d.Missing, in.name) {
						t.Fatalf("action %s, want %s; missing %v", d.Action, want, d.Missing)
					}
					if d.NoMargin == nil {
						t.Fatal("a default has no margin")
					}
				}))
			}
		}
	}
}

// TestNothingGivenIsNeverCertain: without any input no gate accepts an answer.
func TestNothingGivenIsNeverCertain(t *testing.T) {
	for _, g := range builtinGates(t) {
		if d := g.Decide(Values{}); Effort(d.Action) == 0 {
			t.Errorf("%s gives %s for no input", g.Name(), d.Action)
		}
	}
}

// TestDecisionsAreDeterministic: digests and decisions are equal over many
// compilations and runs, with inputs and thresholds inserted in random order.
func TestDecisionsAreDeterministic(t *testing.T) {
	const source = `
name: everything
inputs:
  - {name: p, type: INPUT_TYPE_DISTRIBUTION}
  - {name: x, type: INPUT_TYPE_NUMBER}
thresholds: {a: 0.1, b: 0.2, c: 0.3, d: 0.4}
cel:
  cases:
    - {when: "p.map(k, k)[0] == 'k0' && x > thresholds.a", then: ACTION_COMMIT}
  otherwise: ACTION_RETRIEVE
`
	var first string
	for run := range 1000 {
		policy, err := Parse("policy.yaml", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		policy.Policy.Thresholds = shuffled(policy.Policy.GetThresholds())
		sum, err := digest(policy.Policy)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = sum
		}
		if sum != first {
			t.Fatalf("run %d: digest %s, then %s", run, first, sum)
		}
	}
	source1, err := Parse("policy.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	g, _, err := Compile(source1.Policy, Options{})
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]float64{}
	for i := range 20 {
		labels[fmt.Sprintf("k%d", i)] = 0.05
	}
	for run := range 1000 {
		d := g.Decide(Values{"p": Distribution(shuffled(labels)), "x": Number(0.5)})
		if d.Action != plumblinev1.Action_ACTION_COMMIT {
			t.Fatalf("run %d: %s", run, d.Action)
		}
	}
}

func shuffled(m map[string]float64) map[string]float64 {
	keys := slices.Sorted(maps.Keys(m))
	rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	out := make(map[string]float64, len(m))
	for _, k := range keys {
		out[k] = m[k]
	}
	return out
}

// TestDigestIsPinned: the canonical form must not change between versions of
// the program, since decisions are filed under it.
func TestDigestIsPinned(t *testing.T) {
	data, err := os.ReadFile("testdata/pinned.yaml")
	if err != nil {
		t.Fatal(err)
	}
	source, err := Parse("pinned.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	got, err := digest(source.Policy)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/pinned.digest")
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.TrimSpace(string(want)) {
		t.Errorf("digest %s, want %s", got, want)
	}
}
