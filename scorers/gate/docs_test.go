package gate_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/gate"
)

var update = flag.Bool("update", false, "rewrite the generated parts of docs/gates")

const (
	docsFolder  = "../../docs/gates"
	beginMarker = "<!-- generated from the policies: begin -->\n"
	endMarker   = "<!-- generated from the policies: end -->\n"
	noFramework = "Confidence"
)

// TestDocsMatchThePolicies checks the tables of docs/gates against the built-in
// policies; run it with -update after a change of a policy.
func TestDocsMatchThePolicies(t *testing.T) {
	set := builtin(t)
	pages := map[string][]*plumblinev1.GateInfo{}
	for _, info := range set.List().GetGates() {
		pages[pageOf(info)] = append(pages[pageOf(info)], info)
	}
	check(t, "README.md", overview(set))
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		check(t, page, policyTables(t, set, pages[page]))
	}
	files, err := filepath.Glob(filepath.Join(docsFolder, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := filepath.Base(file); name != "README.md" && pages[name] == nil {
			t.Errorf("%s describes a framework that has no policy", name)
		}
	}
}

func pageOf(info *plumblinev1.GateInfo) string {
	return strings.ReplaceAll(strings.ToLower(frameworkOf(info)), " ", "-") + ".md"
}

func frameworkOf(info *plumblinev1.GateInfo) string {
	if info.GetFramework() == "" {
		return noFramework
	}
	return info.GetFramework()
}

// check compares the generated part of a page, or rewrites it.
func check(t *testing.T, page, want string) {
	t.Helper()
	path := filepath.Join(docsFolder, page)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("the page is missing: %v", err)
		return
	}
	before, rest, found := strings.Cut(string(data), beginMarker)
	got, after, closed := strings.Cut(rest, endMarker)
	if !found || !closed {
		t.Errorf("%s has no place for the generated part", page)
		return
	}
	if len(strings.Fields(before+after)) < 30 {
		t.Errorf("%s does not explain the framework", page)
	}
	if got == want {
		return
	}
	if !*update {
		t.Errorf("%s differs from the policies: run this test with -update", page)
		return
	}
	if err := os.WriteFile(path, []byte(before+beginMarker+want+endMarker+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// overview is the table of all policies.
func overview(set *gate.Set) string {
	var b strings.Builder
	b.WriteString("\n| policy | framework | reads | decides | fitted |\n|---|---|---|---|---|\n")
	for _, info := range set.List().GetGates() {
		var inputs []string
		for _, in := range info.GetInputs() {
			name := "`" + in.GetName() + "`"
			if in.GetOptional() {
				name += "?"
			}
			inputs = append(inputs, name)
		}
		fmt.Fprintf(&b, "| `%s` | [%s](%s) | %s | %s | %s |\n", info.GetName(), frameworkOf(info), pageOf(info),
			strings.Join(inputs, ", "), strings.Join(actionNames(info.GetActions()), ", "), yesNo(info.GetCalibrated()))
	}
	b.WriteString("\n")
	return b.String()
}

// policyTables describes each policy of one framework.
func policyTables(t *testing.T, set *gate.Set, infos []*plumblinev1.GateInfo) string {
	t.Helper()
	var b strings.Builder
	for _, info := range infos {
		full, err := set.Policy(info.GetName())
		if err != nil {
			t.Fatal(err)
		}
		policy := full.GetPolicy()
		kind := "replacement"
		if info.GetNative() {
			kind = "the framework's own rule"
		}
		fmt.Fprintf(&b, "\n## `%s`\n\n%s (%s; version %s.)\n\n", info.GetName(), info.GetDescription(), kind, info.GetVersion())
		b.WriteString("| input | how to get it | range | higher means | if missing |\n|---|---|---|---|---|\n")
		for _, in := range info.GetInputs() {
			fmt.Fprintf(&b, "| `%s` (%s) | %s | %s | %s | %s |\n", in.GetName(), typeOf(in), in.GetDescription(), rangeOf(in.GetRange()), directionOf(in), missingOf(in))
		}
		fmt.Fprintf(&b, "\nThresholds: %s. From: %s.", thresholdsOf(info), strings.TrimSuffix(policy.GetProvenance().GetSource(), "."))
		if !info.GetCalibrated() {
			b.WriteString(" UNCALIBRATED.")
		}
		if len(policy.GetFallbacks()) > 0 {
			fmt.Fprintf(&b, " Where an input is missing: `%s`.", strings.Join(policy.GetFallbacks(), "`, then `"))
		}
		fmt.Fprintf(&b, " Source: %s.\n\n", strings.TrimSuffix(info.GetSource(), "."))
		for _, note := range policy.GetNotes() {
			fmt.Fprintf(&b, "- %s\n", note)
		}
	}
	b.WriteString("\n")
	return b.String()
}

func actionNames(actions []plumblinev1.Action) []string {
	var names []string
	for _, a := range actions {
		names = append(names, strings.TrimPrefix(a.String(), "ACTION_"))
	}
	return names
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func typeOf(in *plumblinev1.PolicyInput) string {
	name := strings.ToLower(strings.TrimPrefix(in.GetType().String(), "INPUT_TYPE_"))
	if in.GetOptional() {
		return name + ", optional"
	}
	return name
}

func rangeOf(r *plumblinev1.Range) string {
	end := func(v *float64, open string) string {
		if v == nil {
			return open
		}
		return fmt.Sprintf("%.4g", *v)
	}
	if r == nil {
		return ""
	}
	return end(r.Min, "−∞") + " to " + end(r.Max, "∞")
}

func directionOf(in *plumblinev1.PolicyInput) string {
	switch in.GetDirection() {
	case plumblinev1.Direction_DIRECTION_HIGHER_IS_CONFIDENT:
		return "surer"
	case plumblinev1.Direction_DIRECTION_HIGHER_IS_UNCERTAIN:
		return "less sure"
	default:
		return ""
	}
}

func missingOf(in *plumblinev1.PolicyInput) string {
	return strings.TrimPrefix(in.GetOnMissing().String(), "ACTION_")
}

func thresholdsOf(info *plumblinev1.GateInfo) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(info.GetThresholds())) {
		parts = append(parts, fmt.Sprintf("%#q = %g", name, info.GetThresholds()[name]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
