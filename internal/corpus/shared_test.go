package corpus_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"plumbline/internal/corpus"
	"plumbline/internal/shareddata"
)

// The shared folder has inputs that broke systems like this one and worked
// values of the formulas, in words and tables of their own. Here each is
// translated into requests and checks, or it is said where else it is tested.

// sharedCase is one case of the shared folder, as plain values.
type sharedCase map[string]any

func (c sharedCase) id() string { return c["id"].(string) }

// at returns what stands at a path, nil if nothing does.
func (c sharedCase) at(path string) any {
	value, _ := corpus.At(map[string]any(c), path)
	return value
}

func (c sharedCase) list(path string) []any {
	list, _ := c.at(path).([]any)
	return list
}

func (c sharedCase) number(path string) float64 {
	number, _ := c.at(path).(float64)
	return number
}

// translation is a case as this test runs it.
type translation struct {
	// requests run on every surface.
	requests []requests
	// more lists what does not hold and no request can show; nil for nothing.
	more func(*testing.T, *stage, sharedCase) []string
}

// requests makes cases of one kind of a shared case.
type requests struct {
	kind      string
	translate func(sharedCase) []corpus.Case
}

// asks translates a case into requests of one kind.
func asks(kind string, translate func(sharedCase) []corpus.Case) translation {
	return translation{requests: []requests{{kind, translate}}}
}

// needs translates a case into a test of its own.
func needs(more func(*testing.T, *stage, sharedCase) []string) translation {
	return translation{more: more}
}

// and joins two translations of one case.
func (tr translation) and(other translation) translation {
	tr.requests = slices.Concat(tr.requests, other.requests)
	if tr.more == nil {
		tr.more = other.more
	}
	return tr
}

// one is a single request with its expectations.
func one(request, want map[string]any) []corpus.Case {
	return []corpus.Case{{ID: "request", Request: request, Want: want}}
}

func runSharedCases(t *testing.T, s *stage) {
	translations := make(map[string]translation)
	for _, more := range []map[string]translation{retrievalTranslations(), groundingTranslations(), confidenceTranslations(), goldenTranslations()} {
		maps.Copy(translations, more)
	}
	for _, file := range []string{"retrieval.yaml", "grounding.yaml", "confidence.yaml", "golden_formulas.yaml"} {
		t.Run(file, func(t *testing.T) {
			cases := loadShared(t, file)
			problems := s.runRequests(t, cases, translations)
			for _, c := range cases {
				t.Run(c.id(), func(t *testing.T) { s.judge(t, c, translations, problems[c.id()]) })
			}
		})
	}
}

// runRequests runs the requests of all cases, one kind after the other, since a
// command line is worth starting for many lines only. It returns what does not
// hold, by the shared case's id.
func (s *stage) runRequests(t *testing.T, cases []sharedCase, translations map[string]translation) map[string][]string {
	t.Helper()
	byKind := make(map[string][]corpus.Case)
	for _, c := range cases {
		for _, r := range translations[c.id()].requests {
			for _, made := range r.translate(c) {
				made.ID = c.id() + "/" + made.ID
				byKind[r.kind] = append(byKind[r.kind], made)
			}
		}
	}
	problems := make(map[string][]string)
	for kind, made := range byKind {
		for id, found := range s.run(t, kindOf(kind), made) {
			shared, request, _ := strings.Cut(id, "/")
			for _, problem := range found {
				problems[shared] = append(problems[shared], request+": "+problem)
			}
		}
	}
	return problems
}

// judge ends a case by what does not hold of it.
func (s *stage) judge(t *testing.T, c sharedCase, translations map[string]translation, problems []string) {
	translated, ok := translations[c.id()]
	if !ok {
		reason := elsewhere(c.id())
		if reason == "" {
			t.Fatal("nobody has said how this case is tested: translate it, or say where it is")
		}
		t.Skip(reason)
	}
	if translated.more != nil {
		problems = append(problems, translated.more(t, s, c)...)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
}

// loadShared reads a file of shared cases as JSON has them, so that every
// number is a float64.
func loadShared(t *testing.T, file string) []sharedCase {
	t.Helper()
	data, err := os.ReadFile(shareddata.Path(t, "cases", file))
	if err != nil {
		t.Fatal(err)
	}
	// Some remarks begin with a quotation, which YAML takes for the whole value.
	data = regexp.MustCompile(`(?m)^(\s+about: )(".*)$`).ReplaceAll(data, []byte("$1|-\n    $2"))
	var loose []map[string]any
	if err := yaml.Unmarshal(data, &loose); err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(loose)
	if err != nil {
		t.Fatal(err)
	}
	var cases []sharedCase
	if err := json.Unmarshal(plain, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// elsewhere says where a case that is no request is tested; empty if nobody
// has said so.
func elsewhere(id string) string {
	const (
		table       = "feeds a table of entailment scores: the tests of scorers/confidence do"
		tableGround = "feeds a table of entailment scores: the tests of scorers/grounding do"
		statistics  = "is a figure over many records: the tests of scorers/calibration have it"
		minicheck   = "is about another model's files and outputs: what is a rule of ours is in the tests of scorers/grounding and scorers/confidence"
		rendering   = "is about the wording of one number: the tests of scorers/telemetry have it"
	)
	for _, group := range []struct{ prefix, reason string }{
		{"missing-verdicts", "needs a prompt judge as verifier"},
		{"ptrue-mass-exactly-half", "is exact in probabilities only, and requests have their logarithms: the tests of scorers/confidence have it"},
		{"sc-factscore-variant", table},
		{"sc-dinco-", table},
		{"nvc-", table},
		{"final-conf", table},
		{"equivalence-rules", table},
		{"graph-", table},
		{"clusters-", "needs a relation that is not transitive, which only a verifier gives: the tests of scorers/confidence have it"},
		{"semantic-sets-", table},
		{"luq", table},
		{"grounding-", tableGround},
		{"minicheck-", minicheck},
		{"telemetry-", rendering},
		{"targ-budget-quantile", statistics},
		{"bu-oracle-", statistics},
		{"bu-matched-random-", statistics},
		{"bu-failures-", statistics},
		{"auroc-", statistics},
		{"auprc-", statistics},
		{"ece", statistics},
		{"spearman-", statistics},
		{"benefit-label", statistics},
		{"holm", statistics},
		{"reward-paper", "is no rpc: the tests of scorers/telemetry/reward have it"},
	} {
		if strings.HasPrefix(id, group.prefix) {
			return group.reason
		}
	}
	return ""
}
