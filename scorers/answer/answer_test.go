package answer_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plumbline/scorers/answer"
)

type outcome struct {
	Prediction string  `json:"prediction"`
	Gold       string  `json:"gold"`
	EM         bool    `json:"em"`
	F1         float64 `json:"f1"`
}

func TestReference(t *testing.T) {
	data, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Prediction string   `json:"prediction"`
		Gold       string   `json:"gold"`
		SQuAD      *outcome `json:"squad"`
		TriviaQA   *outcome `json:"triviaqa"`
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for rule, want := range map[answer.Rule]*outcome{answer.SQuAD: c.SQuAD, answer.TriviaQA: c.TriviaQA} {
			if want == nil {
				continue
			}
			if got := answer.Normalize(rule, c.Prediction); got != want.Prediction {
				t.Errorf("Normalize(%v, %q) = %q, want %q", rule, c.Prediction, got, want.Prediction)
			}
			if got := answer.ExactMatch(rule, c.Prediction, c.Gold); got != want.EM {
				t.Errorf("ExactMatch(%v, %q, %q) = %v, want %v", rule, c.Prediction, c.Gold, got, want.EM)
			}
			if got := answer.F1(rule, c.Prediction, c.Gold); math.Abs(got-want.F1) > 1e-9 {
				t.Errorf("F1(%v, %q, %q) = %v, want %v", rule, c.Prediction, c.Gold, got, want.F1)
			}
		}
	}
}

func TestNormalizeUnicode(t *testing.T) {
	for _, c := range []struct {
		text, squad, triviaqa string
	}{
		{"“Café—Zürich”", "cafézürich", "café zürich"},
		{"Cafe\u0301", "café", "café"},         // composed
		{"ΣΟΦΙΑΣ", "σοφιας", "σοφιας"},         // final sigma
		{"İstanbul", "i̇stanbul", "i̇stanbul"}, // dotted capital I keeps its dot
		{"el año", "el año", "el año"},         // ñ is no word boundary: no article in "año"
		{"la thé", "la thé", "la thé"},
		{"東京、日本", "東京日本", "東京 日本"},
		{"A €5 note", "€5 note", "€5 note"},
		{"the\u00a0Who", "who", "who"},
	} {
		if got := answer.Normalize(answer.SQuAD, c.text); got != c.squad {
			t.Errorf("SQuAD %q = %q, want %q", c.text, got, c.squad)
		}
		if got := answer.Normalize(answer.TriviaQA, c.text); got != c.triviaqa {
			t.Errorf("TriviaQA %q = %q, want %q", c.text, got, c.triviaqa)
		}
	}
}

// A multiple-choice letter is an article, and a sign is punctuation; answers
// of them must still be told apart.
func TestKeyKeepsWhatIsLeft(t *testing.T) {
	for _, c := range []struct{ text, key string }{
		{"A", "a"},
		{"A.", "a"},
		{"(a)", "a"},
		{"The", "the"},
		{"the A", "the a"},
		{"+", "+"},
		{" - ", "-"},
		{"", ""},
		{" \n", ""},
		{"The Who", "who"},
	} {
		if got := answer.Key(answer.TriviaQA, c.text); got != c.key {
			t.Errorf("Key(%q) = %q, want %q", c.text, got, c.key)
		}
	}
}

func TestAliases(t *testing.T) {
	aliases := answer.NewAliases(answer.TriviaQA, [][]string{
		{"UK", "United Kingdom", ""},
		{"Great Britain", "the U.K."}, // "u k", another key than "uk"
		{"Britain", "Great Britain"},
		{"USA"},
	})
	same := func(a, b string) bool { return aliases.Key(a) == aliases.Key(b) }
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"the uk", "united kingdom!", true},
		{"Britain", "U. K.", true}, // through the set that both share
		{"UK", "Britain", false},
		{"USA", "usa", true},
		{"USA", "UK", false},
		{"France", "france", true},
	} {
		if got := same(c.a, c.b); got != c.want {
			t.Errorf("%q and %q equal: %v, want %v", c.a, c.b, got, c.want)
		}
	}
	if key := aliases.Key("  "); key != "" {
		t.Errorf("a blank answer has the key %q", key)
	}
	var none answer.Aliases
	if none.Key("The Who") != "who" {
		t.Error("the zero value does not normalise")
	}
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.SampledFrom([]answer.Rule{answer.TriviaQA, answer.SQuAD}).Draw(t, "rule")
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if f := answer.F1(rule, a, b); !(f >= 0 && f <= 1) || f != answer.F1(rule, b, a) {
			t.Fatalf("F1 = %v, backwards %v", f, answer.F1(rule, b, a))
		}
		if answer.Normalize(rule, a) != "" && answer.F1(rule, a, a) != 1 {
			t.Fatal("an answer does not match itself")
		}
		if (answer.Key(rule, a) == "") != (strings.TrimSpace(a) == "") {
			t.Fatalf("Key(%q) = %q", a, answer.Key(rule, a))
		}
	})
}
