package gate_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/gate"
)

// floor is a valid policy that the tests below spoil or change.
const floor = `name: floor
inputs:
  - {name: x, type: INPUT_TYPE_NUMBER, range: {min: 0, max: 1}}
thresholds: {tau: 0.5}
conditions:
  conditions: [{input: x, comparison: COMPARISON_LESS, threshold: tau}]
  then: ACTION_RETRIEVE
  otherwise: ACTION_COMMIT
`

func parse(t testing.TB, text string) gate.Source {
	t.Helper()
	source, err := gate.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func compile(t testing.TB, text string) (*gate.Gate, []gate.Warning) {
	t.Helper()
	g, warnings, err := gate.Compile(parse(t, text).Policy, gate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g, warnings
}

// load parses and adds a policy, as the server does with a file.
func load(text string) error {
	source, err := gate.Parse("policy.yaml", []byte(text))
	if err != nil {
		return err
	}
	set := &gate.Set{}
	_, err = set.With(source)
	return err
}

func TestBadPoliciesAreRefusedWithTheirPlace(t *testing.T) {
	celPolicy := func(when string) string {
		return "name: c\ninputs:\n  - {name: x, type: INPUT_TYPE_NUMBER}\nthresholds: {tau: 1}\ncel:\n  cases:\n    - when: \"" + when + "\"\n      then: ACTION_COMMIT\n  otherwise: ACTION_RETRIEVE\n"
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"policy.yaml", "empty"}},
		{"a list", "- a\n", []string{"one object"}},
		{"two documents", floor + "---\n" + floor, []string{"more than one document"}},
		{"no YAML", "name: [\n", []string{"policy.yaml:", "not YAML"}},
		{"too large", floor + "description: " + strings.Repeat("x", 1<<20), []string{"at most 262144"}},
		{"unknown field", floor + "treshold: 1\n", []string{"policy.yaml:9:1", `unknown field "treshold"`}},
		{"wrong type", strings.Replace(floor, "tau: 0.5", "tau: high", 1), []string{"policy.yaml:4:19", "invalid float"}},
		{"unknown enum value", strings.Replace(floor, "COMPARISON_LESS", "BELOW", 1), []string{"policy.yaml:6:", "BELOW"}},
		{"field twice", floor + "name: again\n", []string{"policy.yaml:9:1", "given twice"}},
		{"two rules", floor + "native_rule: {name: flare}\n", []string{"policy.yaml:9:", "already set"}},
		{"alias", "name: &n floor\ndescription: *n\n", []string{"policy.yaml:2:14", "alias"}},
		{"line separator", floor + "# \u2028\n", []string{"LF or CR LF"}},
		{"lone carriage return", "name: x\rversion: y\n", []string{"LF or CR LF"}},
		{"UTF-16", "\xff\xfen\x00a\x00", []string{"UTF-8"}},
		{"no name", strings.Replace(floor, "name: floor", `name: ""`, 1), []string{"policy.yaml:1:7", "name"}},
		{"no rule", "name: x\n", []string{"policy.yaml:1:1", "exactly one field is required in oneof"}},
		{"unknown input", strings.Replace(floor, "input: x", "input: y", 1), []string{"policy.yaml:6:24", `"y" is not declared`}},
		{"unknown threshold", strings.Replace(floor, "threshold: tau", "threshold: rho", 1), []string{"policy.yaml:6:", `"rho" is not among thresholds: [tau]`}},
		{"infinite threshold", strings.Replace(floor, "tau: 0.5", "tau: Infinity", 1), []string{"policy.yaml:4:19", "finite"}},
		{"odd threshold name", strings.Replace(floor, "tau: 0.5", "tau: 0.5, a-b: 1", 1), []string{"policy.yaml:4:", "letters"}},
		{"input twice", strings.Replace(floor, "thresholds", "  - {name: x, type: INPUT_TYPE_TEXT}\nthresholds", 1), []string{"policy.yaml:4:", "declared twice"}},
		{"text compared", strings.Replace(floor, "INPUT_TYPE_NUMBER, range: {min: 0, max: 1}", "INPUT_TYPE_TEXT", 1), []string{"compares a number"}},
		{"range upside down", strings.Replace(floor, "min: 0", "min: 2", 1), []string{"policy.yaml:3:", "min must be at most max"}},
		{"calibrated on nothing", floor + "provenance: {calibrated: true}\n", []string{"policy.yaml:9:", "must name its data"}},
		{"falling bands", "name: b\ninputs: [{name: x, type: INPUT_TYPE_NUMBER}]\nthresholds: {lo: 2, hi: 1}\nbands:\n  input: x\n  bands:\n    - {below: lo, action: ACTION_COMMIT}\n    - {below: hi, action: ACTION_REFINE}\n    - {action: ACTION_RETRIEVE}\n", []string{"policy.yaml:8:", "rising thresholds"}},
		{"open band in the middle", "name: b\ninputs: [{name: x, type: INPUT_TYPE_NUMBER}]\nthresholds: {lo: 2}\nbands:\n  input: x\n  bands:\n    - {action: ACTION_COMMIT}\n    - {below: lo, action: ACTION_REFINE}\n", []string{"policy.yaml:7:", "policy.yaml:8:", "leave below empty"}},
		{"unknown native rule", "name: n\nnative_rule: {name: magic}\n", []string{"policy.yaml:2:21", `no native rule "magic"`}},
		{"native rule without its input", "name: n\nnative_rule: {name: crag}\nthresholds: {upper: 1, lower: 0}\n", []string{`"passage_relevance"`}},
		{"native rule with odd thresholds", "name: n\ninputs: [{name: passage_relevance, type: INPUT_TYPE_NUMBERS}]\nnative_rule: {name: crag}\nthresholds: {upper: 0, lower: 1}\n", []string{"policy.yaml:4:", "lower must lie below upper"}},
		{"CEL syntax", celPolicy("x >"), []string{"policy.yaml:7:13", "1:4:"}},
		{"CEL unknown name", celPolicy("x > 0.0 && y > 1.0"), []string{"1:12:", "undeclared reference to 'y'"}},
		{"CEL unknown threshold", celPolicy("x > thresholds.rho"), []string{"undeclared reference"}},
		{"CEL wrong type", celPolicy("x + 'a' == x"), []string{"no matching overload"}},
		{"CEL no bool", celPolicy("x + 1.0"), []string{"a case needs a bool"}},
		{"CEL odd input name", strings.ReplaceAll(celPolicy("true"), "name: x", "name: a-b"), []string{`cannot refer to "a-b"`}},
		{"fallback to nothing", floor + "fallbacks: [nowhere]\n", []string{"policy.yaml:9:", `no policy "nowhere"`}},
		{"fallback to itself", floor + "fallbacks: [floor]\n", []string{"policy.yaml:9:", "circle: floor → floor"}},
		{"logistic not finite", "name: l\ninputs: [{name: x, type: INPUT_TYPE_NUMBER}]\nthresholds: {p: 0.5}\nlogistic:\n  terms: [{input: x, mean: 0, stddev: 1, weight: NaN}]\n  threshold: p\n  then: ACTION_RETRIEVE\n  otherwise: ACTION_COMMIT\n", []string{"policy.yaml:5:", "finite"}},
		{"logistic without spread", "name: l\ninputs: [{name: x, type: INPUT_TYPE_NUMBER}]\nthresholds: {p: 0.5}\nlogistic:\n  terms: [{input: x, mean: 0, stddev: 0, weight: 1}]\n  threshold: p\n  then: ACTION_RETRIEVE\n  otherwise: ACTION_COMMIT\n", []string{"policy.yaml:5:", "greater than 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := load(c.text)
			var fault *gate.Error
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want an *Error", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q:\n%v", part, err)
				}
			}
		})
	}
}

func TestAllFaultsAreToldAtOnce(t *testing.T) {
	err := load(strings.NewReplacer("input: x", "input: y", "threshold: tau", "threshold: rho").Replace(floor))
	if err == nil || !strings.Contains(err.Error(), `"y"`) || !strings.Contains(err.Error(), `"rho"`) {
		t.Errorf("got %v", err)
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"always", "tau: 0.5", "tau: 1.5", "always fires"},
		{"never", "tau: 0.5", "tau: 0", "never fires"},
		{"known range of the telemetry", "{name: x, type: INPUT_TYPE_NUMBER, range: {min: 0, max: 1}}", "{name: final_conf, type: INPUT_TYPE_NUMBER}", "always fires"},
		{"unused threshold", "tau: 0.5", "tau: 0.5, rho: 1", "does not use the threshold rho"},
		{"unused input", "thresholds", "  - {name: y, type: INPUT_TYPE_NUMBER}\nthresholds", "does not read y"},
		{"against the declared direction", "range: {min: 0, max: 1}", "direction: DIRECTION_HIGHER_IS_UNCERTAIN", "spends more when x is surer"},
		{"a height of fused ranks", "name: x", "name: signals.max_score", "tell ranks and not fit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(floor, c.from, c.to, 1)
			if strings.Contains(c.to, "name: final_conf") {
				text = strings.Replace(text, "tau: 0.5", "tau: 1.5", 1)
			}
			for _, name := range []string{"final_conf", "signals.max_score"} {
				if strings.Contains(c.to, name) {
					text = strings.Replace(text, "input: x", "input: "+name, 1)
				}
			}
			_, warnings := compile(t, text)
			wantWarning(t, warnings, c.want)
		})
	}
	t.Run("none for a sound policy", func(t *testing.T) {
		if _, warnings := compile(t, floor); len(warnings) > 0 {
			t.Errorf("got %v", warnings)
		}
	})
	t.Run("no height of fused ranks once calibrated", func(t *testing.T) {
		text := strings.ReplaceAll(strings.ReplaceAll(floor, "name: x", "name: signals.max_score"), "input: x", "input: signals.max_score") +
			"provenance: {calibrated: true, data_name: d, data_digest: sha256:0, method: youden}\n"
		if _, warnings := compile(t, text); len(warnings) > 0 {
			t.Errorf("got %v", warnings)
		}
	})
}

func TestBuiltinPoliciesLoadWithoutWarnings(t *testing.T) {
	for _, info := range builtin(t).List().GetGates() {
		if len(info.GetWarnings()) > 0 {
			t.Errorf("%s: %v", info.GetName(), info.GetWarnings())
		}
	}
}

func TestUncalibratedIsSaidInEveryDecision(t *testing.T) {
	set := builtin(t)
	for _, name := range set.Names() {
		d := decide(t, set, request(t, name, map[string]any{}, nil))
		if d.GetCalibrated() || !slices.ContainsFunc(d.GetWarnings(), func(w string) bool { return strings.HasPrefix(w, "UNCALIBRATED") }) {
			t.Errorf("%s does not say that it is uncalibrated: %v", name, d)
		}
	}
}

// TestScoresOfAnotherVerifierAreSaid: thresholds hold for the verifier that they
// were fitted with.
func TestScoresOfAnotherVerifierAreSaid(t *testing.T) {
	text := floor + "provenance: {calibrated: true, data_name: d, data_digest: sha256:0, method: youden, verifier_digest: sha256:fitted}\n"
	set, err := (&gate.Set{}).With(parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	telemetry := func(digests ...string) *plumblinev1.DecideRequest {
		subject := new(plumblinev1.Telemetry)
		for _, digest := range digests {
			subject.Models = append(subject.Models, &plumblinev1.ModelInfo{Digest: digest})
		}
		return &plumblinev1.DecideRequest{Policy: "floor", Subject: &plumblinev1.DecideRequest_Telemetry{Telemetry: subject}}
	}
	inputs := func(digest string, thresholds map[string]float64) *plumblinev1.DecideRequest {
		req := request(t, "floor", map[string]any{"x": 0.6}, thresholds)
		req.VerifierDigest = digest
		return req
	}
	for name, c := range map[string]struct {
		req   *plumblinev1.DecideRequest
		warns bool
	}{
		"telemetry of the same":    {telemetry("sha256:fitted"), false},
		"telemetry of none":        {telemetry(), false},
		"telemetry of another":     {telemetry("sha256:other"), true},
		"telemetry of both":        {telemetry("sha256:fitted", "sha256:other"), true},
		"inputs of the same":       {inputs("sha256:fitted", nil), false},
		"inputs of nobody knows":   {inputs("", nil), false},
		"inputs of another":        {inputs("sha256:other", nil), true},
		"thresholds of the caller": {inputs("sha256:other", map[string]float64{"tau": 0.7}), false},
	} {
		warnings := strings.Join(decide(t, set, c.req).GetWarnings(), "; ")
		if strings.Contains(warnings, "sha256:other") != c.warns {
			t.Errorf("%s: warnings %q", name, warnings)
		}
	}
}

func TestThresholdsOfARequest(t *testing.T) {
	text := floor + "provenance: {calibrated: true, data_name: d, data_digest: sha256:0, method: youden}\n"
	set, err := (&gate.Set{}).With(parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]any{"x": 0.6}
	plain := decide(t, set, request(t, "floor", inputs, nil))
	if !plain.GetCalibrated() || len(plain.GetWarnings()) > 0 || plain.GetAction() != plumblinev1.Action_ACTION_COMMIT {
		t.Errorf("got %v", plain)
	}
	changed := decide(t, set, request(t, "floor", inputs, map[string]float64{"tau": 0.7}))
	if changed.GetCalibrated() || changed.GetPolicyDigest() == plain.GetPolicyDigest() || changed.GetAction() != plumblinev1.Action_ACTION_RETRIEVE {
		t.Errorf("got %v", changed)
	}
	odd := decide(t, set, request(t, "floor", inputs, map[string]float64{"tau": 7}))
	if !slices.ContainsFunc(odd.GetWarnings(), func(w string) bool { return strings.Contains(w, "always fires") }) {
		t.Errorf("a threshold outside the range is not remarked on: %v", odd.GetWarnings())
	}
	after := decide(t, set, request(t, "floor", inputs, nil))
	if !proto.Equal(plain, after) {
		t.Error("a request's thresholds changed the policy")
	}
	for field, thresholds := range map[string]map[string]float64{
		"thresholds.rho": {"rho": 1},
		"thresholds.tau": {"tau": math.NaN()},
	} {
		_, err := set.Decide(request(t, "floor", inputs, thresholds))
		var fault *gate.Error
		if !errors.As(err, &fault) || fault.Field != field {
			t.Errorf("got %v, want a fault of %s", err, field)
		}
	}
	_, err = builtin(t).Decide(request(t, "sugar", map[string]any{}, map[string]float64{"tau_lo": 3}))
	if err == nil || !strings.Contains(err.Error(), "rising") {
		t.Errorf("bands out of order were accepted: %v", err)
	}
}

func TestConditionsMargin(t *testing.T) {
	const two = `name: two
inputs:
  - {name: x, type: INPUT_TYPE_NUMBER, optional: true}
  - {name: y, type: INPUT_TYPE_NUMBER, optional: true}
thresholds: {a: 1, b: 10}
conditions:
  all: %t
  conditions:
    - {input: x, comparison: COMPARISON_LESS, threshold: a}
    - {input: y, comparison: COMPARISON_GREATER_OR_EQUAL, threshold: b}
  then: ACTION_RETRIEVE
  otherwise: ACTION_COMMIT
`
	for _, c := range []struct {
		all    bool
		inputs map[string]any
		fires  bool
		margin float64
	}{
		{false, map[string]any{"x": 0.5, "y": 13}, true, 3},  // both hold: the farther keeps it
		{false, map[string]any{"x": 0.5, "y": 9}, true, 0.5}, // one holds
		{false, map[string]any{"x": 1, "y": 6}, false, 0},    // on the border
		{false, map[string]any{"x": 3, "y": 6}, false, 2},    // none holds: the nearer may flip it
		{true, map[string]any{"x": 0.5, "y": 13}, true, 0.5}, // both hold: the nearer may flip it
		{true, map[string]any{"x": 5, "y": 9}, false, 4},     // none holds: the farther keeps it
		{true, map[string]any{"x": 0.5, "y": 10}, true, 0},   // on the border
		{false, map[string]any{"y": 12}, true, 2},            // one is left out
		{true, map[string]any{"x": 0.25}, true, 0.75},        // one is left out
		{false, map[string]any{"x": nil, "y": 9}, false, 1},  // null is left out
	} {
		set, err := (&gate.Set{}).With(parse(t, fmt.Sprintf(two, c.all)))
		if err != nil {
			t.Fatal(err)
		}
		d := decide(t, set, request(t, "two", c.inputs, nil))
		if fires := d.GetAction() == plumblinev1.Action_ACTION_RETRIEVE; fires != c.fires || math.Abs(d.GetMargin().GetValue()-c.margin) > 1e-12 {
			t.Errorf("all=%t %v: fires %t with margin %v, want %t with %v", c.all, c.inputs, fires, d.GetMargin(), c.fires, c.margin)
		}
	}
}

func TestLogistic(t *testing.T) {
	const text = `name: weak
inputs:
  - {name: x, type: INPUT_TYPE_NUMBER, direction: DIRECTION_HIGHER_IS_CONFIDENT}
  - {name: y, type: INPUT_TYPE_NUMBER, optional: true, direction: DIRECTION_HIGHER_IS_UNCERTAIN}
thresholds: {p: 0.5}
logistic:
  terms:
    - {input: x, mean: 2, stddev: 0.5, weight: -1}
    - {input: y, mean: 1, stddev: 0.25, weight: 0.1}
  intercept: 0.2
  threshold: p
  then: ACTION_ESCALATE
  otherwise: ACTION_COMMIT
`
	set, err := (&gate.Set{}).With(parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		inputs map[string]any
		logit  float64
	}{
		{map[string]any{"x": 2.0, "y": 1.0}, 0.2},
		{map[string]any{"x": 2.5, "y": 4.0}, 0.2 - 1 + 1.2},
		{map[string]any{"x": 3.0}, 0.2 - 2}, // a missing optional input counts as its mean
	} {
		d := decide(t, set, request(t, "weak", c.inputs, nil))
		p := 1 / (1 + math.Exp(-c.logit))
		if got := d.GetMargin().GetValue(); math.Abs(got-math.Abs(p-0.5)) > 1e-12 {
			t.Errorf("%v: margin %v, want %v", c.inputs, got, math.Abs(p-0.5))
		}
		if (d.GetAction() == plumblinev1.Action_ACTION_ESCALATE) != (p >= 0.5) {
			t.Errorf("%v: %s at p = %v", c.inputs, d.GetAction(), p)
		}
	}
	huge := decide(t, set, request(t, "weak", map[string]any{"x": 1e308, "y": 1e308}, nil))
	if huge.GetAction() != plumblinev1.Action_ACTION_RETRIEVE || huge.GetMargin().Value != nil {
		t.Errorf("an undefined probability must take the default: %v", huge)
	}
}

func TestCELMissingAndFailing(t *testing.T) {
	const text = `name: c
inputs:
  - {name: a, type: INPUT_TYPE_NUMBER, optional: true, on_missing: ACTION_ABSTAIN}
  - {name: b, type: INPUT_TYPE_NUMBER, optional: true}
  - {name: l, type: INPUT_TYPE_NUMBERS, optional: true}
thresholds: {t: 1}
cel:
  cases:
    - {when: "a > thresholds.t || b > 5", then: ACTION_COMMIT}
    - {when: "!('l' in missing) && l[3] > 1", then: ACTION_REFINE}
  otherwise: ACTION_DECOMPOSE
`
	set, err := (&gate.Set{}).With(parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		inputs map[string]any
		want   plumblinev1.Action
	}{
		{"first case", map[string]any{"a": 2}, plumblinev1.Action_ACTION_COMMIT},
		{"the other side of an or is enough", map[string]any{"b": 6}, plumblinev1.Action_ACTION_COMMIT},
		{"a case that needs a missing input is passed over", map[string]any{"b": 4}, plumblinev1.Action_ACTION_DECOMPOSE},
		{"presence can be asked for", map[string]any{"a": 0, "b": 0, "l": []any{1, 1, 1, 2}}, plumblinev1.Action_ACTION_REFINE},
		{"a failing case is no answer", map[string]any{"a": 0, "b": 0, "l": []any{1}}, plumblinev1.Action_ACTION_ABSTAIN},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := decide(t, set, request(t, "c", c.inputs, nil)); d.GetAction() != c.want {
				t.Errorf("got %v, want %s", d, c.want)
			}
		})
	}
}

func TestCELCostIsBounded(t *testing.T) {
	const text = `name: slow
inputs: [{name: l, type: INPUT_TYPE_NUMBERS}]
cel:
  cases:
    - when: "l.all(a, l.all(b, l.all(c, l.all(d, a + b + c + d > 0.0))))"
      then: ACTION_COMMIT
  otherwise: ACTION_REFINE
`
	g, _ := compile(t, text)
	short := g.Decide(gate.Values{"l": gate.Numbers([]float64{1, 2})})
	if short.Action != plumblinev1.Action_ACTION_COMMIT {
		t.Errorf("a short list: %v", short)
	}
	long := make([]float64, 10_000)
	for i := range long {
		long[i] = 1
	}
	d := g.Decide(gate.Values{"l": gate.Numbers(long)})
	if d.Action != plumblinev1.Action_ACTION_RETRIEVE || d.NoMargin == nil {
		t.Errorf("an expression that exceeds its cost must take the default: %v", d)
	}
}

func TestFallbackChain(t *testing.T) {
	policy := func(name, input, fallbacks string) gate.Source {
		text := strings.NewReplacer("name: floor", "name: "+name, "name: x", "name: "+input, "input: x", "input: "+input).Replace(floor)
		return parse(t, text+"fallbacks: ["+fallbacks+"]\n")
	}
	set, err := (&gate.Set{}).With(policy("a", "x", "b, c"), policy("b", "y", "d"), policy("c", "z", "d"), policy("d", "w", ""))
	if err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{"x": "a", "y": "b", "z": "c", "w": "d", "none": "a"} {
		if d := decide(t, set, request(t, "a", map[string]any{input: 0.9}, nil)); d.GetDecidedBy() != want || d.GetPolicy() != "a" {
			t.Errorf("with %s: decided by %s, want %s", input, d.GetDecidedBy(), want)
		}
	}
	_, err = set.With(policy("d", "w", "a"))
	if err == nil || !strings.Contains(err.Error(), "circle") {
		t.Errorf("a circle over several policies was accepted: %v", err)
	}
}

func TestSetKeepsWhatItHasOnABadFile(t *testing.T) {
	set := builtin(t)
	before := set.Names()
	folder := fstest.MapFS{
		"good.yaml":        {Data: []byte(floor)},
		"more/bad.yaml":    {Data: []byte("name: bad\nrule: x\n")},
		"worse.json":       {Data: []byte("{\"name\": \"worse\",\n\"tresholds\": {}}")},
		"notes.txt":        {Data: []byte("no policy")},
		".old/ignored.yml": {Data: []byte("no policy")},
	}
	_, err := gate.LoadDir(folder)
	for _, want := range []string{"more/bad.yaml:2:1", "worse.json:2:1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
	delete(folder, "more/bad.yaml")
	delete(folder, "worse.json")
	sources, err := gate.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	next, err := set.With(sources...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next.Gate("floor"); err != nil {
		t.Errorf("the new set lacks the policy: %v", err)
	}
	if !slices.Equal(set.Names(), before) {
		t.Error("the old set changed")
	}
	if _, err := next.With(append(sources, sources...)...); err == nil || !strings.Contains(err.Error(), "taken by good.yaml:1:7") {
		t.Errorf("two policies of one name: %v", err)
	}
	replaced, err := next.With(parse(t, strings.Replace(floor, "name: floor", "name: targ", 1)))
	if err != nil {
		t.Fatal(err)
	}
	info, err := replaced.Policy("targ")
	if err != nil || !strings.Contains(strings.Join(info.GetWarnings(), ";"), "replaces") {
		t.Errorf("replacing a policy is not remarked on: %v, %v", info, err)
	}
}

func TestJSONPolicy(t *testing.T) {
	text := "{\n\t\"name\": \"floor\", \"inputs\": [{\"name\": \"x\", \"type\": \"INPUT_TYPE_NUMBER\", \"onMissing\": \"ACTION_ABSTAIN\"}],\n" +
		"\"thresholds\": {\"tau\": 0.5}, \"conditions\": {\"conditions\": [{\"input\": \"x\", \"comparison\": \"COMPARISON_LESS\", \"threshold\": \"tau\"}], \"then\": 2, \"otherwise\": \"ACTION_COMMIT\"}}"
	g, _ := compile(t, text)
	if d := g.Decide(gate.Values{}); d.Action != plumblinev1.Action_ACTION_ABSTAIN {
		t.Errorf("got %s", d.Action)
	}
}

func TestRequestFaults(t *testing.T) {
	set := builtin(t)
	var unknown *gate.UnknownPolicyError
	if _, err := set.Decide(request(t, "nowhere", nil, nil)); !errors.As(err, &unknown) || unknown.Name != "nowhere" {
		t.Errorf("got %v", err)
	}
	if _, err := set.Policy("nowhere"); !errors.As(err, &unknown) {
		t.Errorf("got %v", err)
	}
	var fault *gate.Error
	if _, err := set.Decide(&plumblinev1.DecideRequest{Policy: "targ"}); !errors.As(err, &fault) || fault.Field != "subject" {
		t.Errorf("got %v", err)
	}
}

func TestShadowPolicies(t *testing.T) {
	req := request(t, "beyond_uncertainty", map[string]any{"verbalized": 0.95, "final_conf": 0.1}, nil)
	req.Id = "q1"
	req.ShadowPolicies = []string{"seakr.plumbline", "confidence.verbalized", "nowhere"}
	d := decide(t, builtin(t), req)
	if d.GetId() != "q1" || len(d.GetShadow()) != 3 {
		t.Fatalf("got %v", d)
	}
	if s := d.GetShadow()[0]; s.GetAgrees() || s.GetAction() != plumblinev1.Action_ACTION_RETRIEVE || s.GetPolicyDigest() == "" {
		t.Errorf("got %v", s)
	}
	if !d.GetShadow()[1].GetAgrees() {
		t.Errorf("got %v", d.GetShadow()[1])
	}
	if d.GetShadow()[2].GetError().GetCode() != "NOT_FOUND" {
		t.Errorf("got %v", d.GetShadow()[2])
	}
}

func ok(v float64) *plumblinev1.Score {
	return &plumblinev1.Score{Value: &v, Status: plumblinev1.Status_STATUS_OK}
}

func TestTelemetryAsSubject(t *testing.T) {
	maxScore := 0.03
	telemetry := &plumblinev1.Telemetry{
		FinalConf: ok(0.95),
		GMean:     &plumblinev1.Score{Status: plumblinev1.Status_STATUS_NO_EVIDENCE, Reason: "no passages"},
		Stale:     true,
		Retrieval: &plumblinev1.ScoreRetrievalResponse{
			Signals: map[string]*plumblinev1.Signal{
				"max_score":    {Value: &maxScore, Status: plumblinev1.Status_STATUS_OK, RankFused: true},
				"dense_stddev": {Status: plumblinev1.Status_STATUS_MISSING_INPUT, Reason: "no dense ranking"},
			},
			Entities: []*plumblinev1.Entity{{Text: "Alien"}, {Text: "Prometheus"}},
		},
		Confidence: &plumblinev1.ScoreConfidenceResponse{
			SemanticEntropy:   ok(0.9),
			Majority:          &plumblinev1.MajorityAnswer{Status: plumblinev1.Status_STATUS_OK, Count: 2, Total: 5},
			LabelDistribution: []*plumblinev1.LabelProbability{{Label: "[Retrieval]", Probability: 0.1}, {Label: "[No Retrieval]", Probability: 0.9}},
		},
		Grounding: &plumblinev1.ScoreGroundingResponse{SupportRate: ok(0.5)},
	}
	set, err := builtin(t).With(parse(t, strings.NewReplacer("name: floor", "name: top", "name: x", "name: signals.max_score", "input: x", "input: signals.max_score").Replace(floor)),
		parse(t, strings.NewReplacer("name: floor", "name: rate", "name: x", "name: support_rate", "input: x", "input: support_rate").Replace(floor)),
		parse(t, strings.NewReplacer("name: floor", "name: list", "name: x", "name: clusters", "input: x", "input: clusters").Replace(floor)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		policy  string
		want    plumblinev1.Action
		by      string
		warning string
	}{
		{"calvert", plumblinev1.Action_ACTION_COMMIT, "", "earlier answer"},
		{"sugar", plumblinev1.Action_ACTION_SINGLE_STEP, "", "UNCALIBRATED"},
		{"seakr.plumbline", plumblinev1.Action_ACTION_NO_RETRIEVAL, "", "earlier answer"},
		{"verify_and_edit", plumblinev1.Action_ACTION_RETRIEVE, "", ""},
		{"self_rag", plumblinev1.Action_ACTION_NO_RETRIEVAL, "", ""},
		{"query_shape", plumblinev1.Action_ACTION_DECOMPOSE, "", ""},
		{"evidence_routing", plumblinev1.Action_ACTION_ESCALATE, "", "no dense ranking"},
		{"flare.plumbline", plumblinev1.Action_ACTION_NO_RETRIEVAL, "confidence.final_conf", "fallback"},
		{"self_ask", plumblinev1.Action_ACTION_RETRIEVE, "", "completion was not given"},
		{"top", plumblinev1.Action_ACTION_RETRIEVE, "", "tell ranks and not fit"},
		{"rate", plumblinev1.Action_ACTION_COMMIT, "", ""},
		{"list", plumblinev1.Action_ACTION_RETRIEVE, "", "clusters was not given"},
	} {
		t.Run(c.policy, func(t *testing.T) {
			d := decide(t, set, &plumblinev1.DecideRequest{Policy: c.policy, Subject: &plumblinev1.DecideRequest_Telemetry{Telemetry: telemetry}})
			if d.GetAction() != c.want || (c.by != "" && d.GetDecidedBy() != c.by) {
				t.Errorf("got %v", d)
			}
			if c.policy == "sugar" && strings.Contains(strings.Join(d.GetWarnings(), "; "), "earlier answer") {
				t.Errorf("it does not read what is stale: %v", d.GetWarnings())
			}
			if !strings.Contains(strings.Join(d.GetWarnings(), "; "), c.warning) {
				t.Errorf("no warning says %q: %v", c.warning, d.GetWarnings())
			}
		})
	}
	d := decide(t, set, &plumblinev1.DecideRequest{Policy: "calvert", Subject: &plumblinev1.DecideRequest_Telemetry{Telemetry: telemetry}})
	i := slices.IndexFunc(d.GetTrace(), func(term *plumblinev1.TraceTerm) bool { return term.GetTerm() == "g_mean" })
	if i < 0 || d.GetTrace()[i].GetValue().GetStatus() != plumblinev1.Status_STATUS_NO_EVIDENCE {
		t.Errorf("the trace does not keep the status of a missing score: %v", d.GetTrace())
	}
	empty := decide(t, set, &plumblinev1.DecideRequest{Policy: "calvert", Subject: &plumblinev1.DecideRequest_Telemetry{}})
	if empty.GetAction() != plumblinev1.Action_ACTION_DECOMPOSE {
		t.Errorf("an empty telemetry: %v", empty)
	}
}

func TestListTellsWhatACallerNeeds(t *testing.T) {
	set := builtin(t)
	gates := set.List().GetGates()
	if len(gates) != len(set.Names()) || len(gates) < 30 {
		t.Fatalf("%d gates", len(gates))
	}
	for _, info := range gates {
		if info.GetVersion() == "" || info.GetDescription() == "" || info.GetSource() == "" || len(info.GetInputs()) == 0 || !strings.HasPrefix(info.GetPolicyDigest(), "sha256:") {
			t.Errorf("%s lacks version, description, source, inputs or digest", info.GetName())
		}
		for _, in := range info.GetInputs() {
			if len(in.GetDescription()) < 10 || in.GetOnMissing() == plumblinev1.Action_ACTION_UNSPECIFIED {
				t.Errorf("%s: %s does not say how to get it or what happens without it", info.GetName(), in.GetName())
			}
		}
		policy, err := set.Policy(info.GetName())
		if err != nil || policy.GetPolicyDigest() != info.GetPolicyDigest() {
			t.Errorf("%s: Policy and List disagree: %v", info.GetName(), err)
		}
		if policy.GetPolicy().GetProvenance().GetSource() == "" || len(policy.GetPolicy().GetNotes()) == 0 {
			t.Errorf("%s does not say where its thresholds come from, or has no notes", info.GetName())
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(floor))
	f.Add([]byte("{\"name\": \"x\", \"cel\": {\"cases\": [{\"when\": \"true\", \"then\": 1}], \"otherwise\": 2}}"))
	f.Add([]byte("name: &a [*a]\n"))
	f.Add([]byte("name: x\rinputs: \r\n- {}\n"))
	f.Add([]byte("? {a: 1}\n: b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		source, err := gate.Parse("f.yaml", data)
		if err != nil {
			return
		}
		g, _, err := gate.Compile(source.Policy, gate.Options{CELCostLimit: 1000})
		if err != nil {
			var fault *gate.Error
			if !errors.As(err, &fault) {
				t.Fatalf("an error of another type: %v", err)
			}
			return
		}
		if d := g.Decide(gate.Values{}); d.Action == plumblinev1.Action_ACTION_UNSPECIFIED || d.Digest == "" {
			t.Fatalf("no decision: %v", d)
		}
	})
}

func FuzzDecide(f *testing.F) {
	set := builtin(f)
	for _, seed := range []string{
		`{}`, `{"final_conf": "NaN"}`, `{"verbalized": [1, "a"], "completion": "Follow up: a: b"}`,
		`{"label_distribution": {"A": 2}, "token_probabilities": [[]], "tokens": [null]}`,
		`{"passage_relevance": [], "majority_count": -1, "majority_total": 1e308}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		inputs := &structpb.Struct{}
		if err := inputs.UnmarshalJSON(data); err != nil {
			return
		}
		for _, name := range set.Names() {
			req := &plumblinev1.DecideRequest{Policy: name, Subject: &plumblinev1.DecideRequest_Inputs{Inputs: inputs}}
			first, err := set.Decide(req)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if first.GetAction() == plumblinev1.Action_ACTION_UNSPECIFIED {
				t.Fatalf("%s does not decide", name)
			}
			if v := first.GetMargin().Value; v != nil && !(*v >= 0) {
				t.Fatalf("%s: margin %v", name, *v)
			}
			again, _ := set.Decide(req)
			if !proto.Equal(first, again) {
				t.Fatalf("%s decides anew", name)
			}
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	set, err := builtin(b).With(parse(b, `name: logistic
inputs:
  - {name: a, type: INPUT_TYPE_NUMBER}
  - {name: b, type: INPUT_TYPE_NUMBER}
  - {name: c, type: INPUT_TYPE_NUMBER}
thresholds: {p: 0.5}
logistic:
  terms:
    - {input: a, mean: 0, stddev: 1, weight: 1}
    - {input: b, mean: 0, stddev: 1, weight: 1}
    - {input: c, mean: 0, stddev: 1, weight: 1}
  threshold: p
  then: ACTION_RETRIEVE
  otherwise: ACTION_COMMIT
`))
	if err != nil {
		b.Fatal(err)
	}
	values := gate.Values{
		"verbalized": gate.Number(0.95), "final_conf": gate.Number(0.8), "g_mean": gate.Number(0.7), "g_min": gate.Number(0.4),
		"a": gate.Number(0.1), "b": gate.Number(0.2), "c": gate.Number(0.3),
	}
	for _, c := range []struct{ kind, policy string }{
		{"threshold", "beyond_uncertainty"}, {"logistic", "logistic"}, {"CEL", "calvert.plumbline"}, {"native", "calvert"},
	} {
		g, err := set.Gate(c.policy)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g.Decide(values)
			}
		})
	}
	b.Run("message", func(b *testing.B) {
		req := request(b, "beyond_uncertainty", map[string]any{"verbalized": 0.95}, nil)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := set.Decide(req); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("thresholds of the request", func(b *testing.B) {
		req := request(b, "beyond_uncertainty", map[string]any{"verbalized": 0.95}, map[string]float64{"tau": 0.8})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := set.Decide(req); err != nil {
				b.Fatal(err)
			}
		}
	})
}
