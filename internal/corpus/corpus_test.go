package corpus_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"plumbline/internal/corpus"
	plumblinev1 "plumbline/proto/plumbline/v1"
)

func grounded() *plumblinev1.ScoreGroundingResponse {
	return &plumblinev1.ScoreGroundingResponse{
		Id:       "a",
		Status:   plumblinev1.Status_STATUS_OK,
		Claims:   []*plumblinev1.GroundedClaim{{Id: "0", Support: &plumblinev1.Score{Value: proto.Float64(0.75)}}},
		Coverage: &plumblinev1.EvidenceCoverage{Tokens: 1 << 40, CacheHits: 3},
		Warnings: []string{"one remark"},
		Timing:   &plumblinev1.Timing{Total: durationpb.New(1)},
	}
}

func tree(t *testing.T, message proto.Message) any {
	t.Helper()
	tree, err := corpus.Tree(message)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestCheck(t *testing.T) {
	t.Parallel()
	answer := tree(t, grounded())
	for name, test := range map[string]struct {
		path string
		want any
		ok   bool
	}{
		"equal text":           {"id", "a", true},
		"other text":           {"id", "b", false},
		"enum":                 {"status", "STATUS_OK", true},
		"equal number":         {"claims[0].support.value", 0.75, true},
		"within tolerance":     {"claims[0].support.value", 0.75 + 5e-10, true},
		"beyond tolerance":     {"claims[0].support.value", 0.75 + 5e-9, false},
		"near":                 {"claims[0].support.value", map[string]any{"near": 0.7, "within": 0.06}, true},
		"not near":             {"claims[0].support.value", map[string]any{"near": 0.7, "within": 0.04}, false},
		"near without within":  {"claims[0].support.value", map[string]any{"near": 0.75}, false},
		"in range":             {"claims[0].support.value", map[string]any{"at_least": 0.75, "at_most": 1}, true},
		"below range":          {"claims[0].support.value", map[string]any{"at_least": 0.8, "at_most": 1}, false},
		"above range":          {"claims[0].support.value", map[string]any{"at_least": 0.1, "at_most": 0.7}, false},
		"zero is not absent":   {"scored", 0, true},
		"zero is there":        {"scored", map[string]any{"absent": true}, false},
		"unset is absent":      {"g_mean", map[string]any{"absent": true}, true},
		"absent is no value":   {"claims[0].contradiction.value", 0, false},
		"index out of range":   {"claims[1].id", map[string]any{"absent": true}, true},
		"64 bits":              {"coverage.tokens", 1 << 40, true},
		"length":               {"claims", map[string]any{"length": 1}, true},
		"other length":         {"claims", map[string]any{"length": 2}, false},
		"part of a text":       {"claims[0].id", map[string]any{"contains": "0"}, true},
		"no part of a text":    {"claims[0].id", map[string]any{"contains": "1"}, false},
		"list":                 {"warnings", []any{"one remark"}, true},
		"part in a list":       {"warnings", map[string]any{"contains": "remark"}, true},
		"no part in a list":    {"warnings", map[string]any{"contains": "marks"}, false},
		"rule that is not one": {"id", map[string]any{"like": "a"}, false},
		"volatile is left out": {"coverage.cache_hits", map[string]any{"absent": true}, true},
	} {
		broken := corpus.Check(answer, map[string]any{test.path: test.want})
		if (len(broken) == 0) != test.ok {
			t.Errorf("%s: %v", name, broken)
		}
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	changed := grounded()
	changed.Timing = nil
	changed.Coverage.CacheHits = 0
	changed.Claims[0].Support.Value = proto.Float64(0.75 + 1e-10)
	if found := corpus.Differences(tree(t, grounded()), tree(t, changed)); len(found) > 0 {
		t.Errorf("volatile fields and rounding are no differences: %v", found)
	}
	changed.Claims[0].Support.Value = nil
	changed.GMean = &plumblinev1.Score{Status: plumblinev1.Status_STATUS_OK}
	changed.Warnings = []string{"other"}
	var paths []string
	for _, difference := range corpus.Differences(tree(t, grounded()), tree(t, changed)) {
		path, _, _ := strings.Cut(difference, ":")
		paths = append(paths, path)
	}
	if want := []string{"claims[0].support.value", "g_mean", "warnings[0]"}; !slices.Equal(paths, want) {
		t.Errorf("differences at %v, want %v", paths, want)
	}
}

func TestLoadRefusesCasesThatCheckNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no expectation":   "- {id: a, request: {}}",
		"both":             "- {id: a, request: {}, want: {id: a}, error: {code: X}}",
		"no request":       "- {id: a, want: {id: a}}",
		"no id":            "- {request: {}, want: {id: a}}",
		"id twice":         "- {id: a, request: {}, want: {id: a}}\n- {id: a, request: {}, want: {id: a}}",
		"misspelled field": "- {id: a, request: {}, wants: {id: a}}",
	} {
		path := filepath.Join(t.TempDir(), "cases.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := corpus.Load(path); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
