package gate_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"plumbline/internal/shareddata"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/gate"
)

type goldenRule struct {
	Rule   string       `yaml:"rule"`
	Policy string       `yaml:"policy"`
	Cases  []goldenCase `yaml:"cases"`
}

type goldenCase struct {
	Inputs     map[string]any     `yaml:"inputs"`
	Thresholds map[string]float64 `yaml:"thresholds"`
	Action     string             `yaml:"action"`
	Margin     *float64           `yaml:"margin"`
	Missing    []string           `yaml:"missing"`
	Query      *string            `yaml:"query"`
	DecidedBy  string             `yaml:"decided_by"`
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func builtin(t testing.TB) *gate.Set {
	t.Helper()
	set, err := gate.Builtin(gate.Options{})
	if err != nil {
		t.Fatalf("the built-in policies must compile: %v", err)
	}
	return set
}

func request(t testing.TB, policy string, inputs map[string]any, thresholds map[string]float64) *plumblinev1.DecideRequest {
	t.Helper()
	fields, err := structpb.NewStruct(inputs)
	if err != nil {
		t.Fatal(err)
	}
	return &plumblinev1.DecideRequest{
		Policy:     policy,
		Subject:    &plumblinev1.DecideRequest_Inputs{Inputs: fields},
		Thresholds: thresholds,
	}
}

func decide(t testing.TB, set *gate.Set, req *plumblinev1.DecideRequest) *plumblinev1.DecideResponse {
	t.Helper()
	response, err := set.Decide(req)
	if err != nil {
		t.Fatalf("Decide(%s): %v", req.GetPolicy(), err)
	}
	return response
}

func TestGoldenDecisions(t *testing.T) {
	var rules []goldenRule
	readYAML(t, "testdata/golden.yaml", &rules)
	set := builtin(t)
	for _, rule := range rules {
		for i, c := range rule.Cases {
			t.Run(fmt.Sprintf("%s/%d", rule.Policy, i), func(t *testing.T) {
				got := decide(t, set, request(t, rule.Policy, c.Inputs, c.Thresholds))
				c.check(t, rule.Rule, got)
			})
		}
	}
}

func (c goldenCase) check(t *testing.T, rule string, got *plumblinev1.DecideResponse) {
	t.Helper()
	if got.GetAction().String() != c.Action {
		t.Errorf("%s: action %s, want %s (%v)", rule, got.GetAction(), c.Action, got)
	}
	if c.Margin != nil && (got.GetMargin().Value == nil || math.Abs(got.GetMargin().GetValue()-*c.Margin) > 1e-9) {
		t.Errorf("%s: margin %v, want %v", rule, got.GetMargin(), *c.Margin)
	}
	if c.Missing != nil && !slices.Equal(got.GetMissing(), c.Missing) {
		t.Errorf("%s: missing %v, want %v", rule, got.GetMissing(), c.Missing)
	}
	if c.Query != nil && got.GetQuery() != *c.Query {
		t.Errorf("%s: query %q, want %q", rule, got.GetQuery(), *c.Query)
	}
	if c.DecidedBy != "" && got.GetDecidedBy() != c.DecidedBy {
		t.Errorf("%s: decided by %s, want %s", rule, got.GetDecidedBy(), c.DecidedBy)
	}
	if margin := got.GetMargin(); margin.Value != nil && margin.GetValue() < 0 {
		t.Errorf("%s: margin %v lies on the other side of the action", rule, margin.GetValue())
	}
}

// TestGoldenCoversEveryNativePolicy makes sure that no native policy is without a
// worked example.
func TestGoldenCoversEveryNativePolicy(t *testing.T) {
	var rules []goldenRule
	readYAML(t, "testdata/golden.yaml", &rules)
	for _, info := range builtin(t).List().GetGates() {
		if !info.GetNative() {
			continue
		}
		if !slices.ContainsFunc(rules, func(r goldenRule) bool { return r.Policy == info.GetName() }) {
			t.Errorf("%s has no worked example in testdata/golden.yaml", info.GetName())
		}
	}
}

// The worked formulas that lie beside the checkout.

type formula struct {
	ID       string         `yaml:"id"`
	Inputs   map[string]any `yaml:"inputs"`
	Expected map[string]any `yaml:"expected"`
}

func formulas(t *testing.T) map[string]formula {
	t.Helper()
	var all []formula
	readYAML(t, shareddata.Path(t, "cases", "golden_formulas.yaml"), &all)
	byID := map[string]formula{}
	for _, f := range all {
		byID[f.ID] = f
	}
	return byID
}

func list(t *testing.T, v any) []any {
	t.Helper()
	l, ok := v.([]any)
	if !ok {
		t.Fatalf("%v is no list", v)
	}
	return l
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	default:
		return math.NaN()
	}
}

func expectActions(t *testing.T, got []*plumblinev1.DecideResponse, want []any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d decisions, want %d", len(got), len(want))
	}
	for i, w := range want {
		name := "ACTION_" + strings.TrimPrefix(fmt.Sprint(w), "ACTION_")
		if got[i].GetAction().String() != name {
			t.Errorf("case %d: %s, want %s", i, got[i].GetAction(), name)
		}
	}
}

func TestSharedBeyondUncertaintyRoute(t *testing.T) {
	f := formulas(t)["bu-route"]
	set := builtin(t)
	var got []*plumblinev1.DecideResponse
	taus := list(t, f.Inputs["tau"])
	for i, c := range list(t, f.Inputs["confidence"]) {
		got = append(got, decide(t, set, request(t, "beyond_uncertainty",
			map[string]any{"verbalized": c}, map[string]float64{"tau": toFloat(taus[i])})))
	}
	expectActions(t, got, list(t, f.Expected["actions"]))
}

func TestSharedCalVerTBudget(t *testing.T) {
	f := formulas(t)["calvert-budget-exhausted-commit"]
	set := builtin(t)
	var got []*plumblinev1.DecideResponse
	for _, c := range list(t, f.Inputs["cases"]) {
		got = append(got, decide(t, set, request(t, "calvert", c.(map[string]any), nil)))
	}
	expectActions(t, got, list(t, f.Expected["actions"]))
}

func TestSharedGramBorder(t *testing.T) {
	all := formulas(t)
	f := all["gram-gate-border"]
	set := builtin(t)
	delta := map[string]float64{"delta": toFloat(f.Inputs["delta"])}
	var got []*plumblinev1.DecideResponse
	for _, s := range list(t, f.Inputs["scores"]) {
		got = append(got, decide(t, set, request(t, "seakr", map[string]any{"gram_logdet": s}, delta)))
	}
	expectActions(t, got, list(t, f.Expected["actions"]))
	for _, id := range []string{"gram-identical-k5-against-delta", "gram-identical-k20-against-delta"} {
		f := all[id]
		d := decide(t, set, request(t, "seakr", map[string]any{"gram_logdet": f.Expected["gram_logdet"]}, nil))
		expectActions(t, []*plumblinev1.DecideResponse{d}, []any{f.Expected["action"]})
	}
}

func TestSharedThresholdOutOfRange(t *testing.T) {
	f := formulas(t)["targ-threshold-out-of-range"]
	g, err := builtin(t).Gate("targ.divergence")
	if err != nil {
		t.Fatal(err)
	}
	if bound := g.Policy().GetInputs()[0].GetRange().GetMax(); math.Abs(bound-toFloat(f.Expected["bound"])) > 1e-9 {
		t.Errorf("the range of three drafts ends at %v, want %v", bound, f.Expected["bound"])
	}
	changed, err := g.With(map[string]float64{"tau": toFloat(f.Inputs["tau"])})
	if err != nil {
		t.Fatal(err)
	}
	wantWarning(t, changed.Warnings(), fmt.Sprint(f.Expected["warning"]))
}

func wantWarning(t *testing.T, warnings []gate.Warning, text string) {
	t.Helper()
	if !slices.ContainsFunc(warnings, func(w gate.Warning) bool { return strings.Contains(w.String(), text) }) {
		t.Errorf("no warning says %q: %v", text, warnings)
	}
}

func TestSharedReflectionTokens(t *testing.T) {
	shareddata.Path(t, "cases", "confidence.yaml")
	set := builtin(t)
	t.Run("absent-label-token", func(t *testing.T) {
		d := decide(t, set, request(t, "self_rag", map[string]any{"label_distribution": map[string]any{"[No Retrieval]": 0.98}}, nil))
		if d.GetAction() != plumblinev1.Action_ACTION_NO_RETRIEVAL {
			t.Errorf("action %s", d.GetAction())
		}
	})
	t.Run("ratio-direction", func(t *testing.T) {
		last := -1.0
		for p := 0.1; p < 0.91; p += 0.1 {
			d := decide(t, set, request(t, "self_rag", map[string]any{"label_distribution": map[string]any{"[Retrieval]": p, "[No Retrieval]": 1 - p}}, nil))
			share := d.GetTrace()[0].GetValue().GetValue()
			if share <= last || share > 1 {
				t.Errorf("P = %.1f: share %v after %v", p, share, last)
			}
			last = share
		}
	})
}
