package confidence_test

import (
	"math"
	"strings"
	"testing"

	"plumbline/scorers/confidence"
)

func TestParseVerbalized(t *testing.T) {
	none := math.NaN()
	for _, c := range []struct {
		name  string
		reply string
		scale confidence.Scale
		want  float64
	}{
		{"strict JSON", `{"answer":"x","confidence":0.85}`, confidence.ScaleFromText, 0.85},
		{"JSON in a fence", "```json\n{\"confidence\": \"85%\"}\n```", confidence.ScaleFromText, 0.85},
		{"last JSON object", `{"confidence":0.2} … {"confidence":0.7}`, confidence.ScaleFromText, 0.7},
		{"last complete JSON object", `{"confidence":0.2} {"confidence":0.`, confidence.ScaleFromText, 0.2},
		{"last object with the field", `{"confidence":0.7} {"note":"{"}`, confidence.ScaleFromText, 0.7},
		{"outer object before its parts", `so: {"confidence":0.9,"parts":[{"confidence":0.1}]}`, confidence.ScaleFromText, 0.9},
		{"object inside of a broken one", `{"steps":[{"confidence":0.3},{"confidence":0.6}`, confidence.ScaleFromText, 0.6},
		{"braces before the object", `{x} {{ {"Confidence": 40}`, confidence.ScaleFromText, 0.4},
		{"brace in a string", `{"answer":"a } b","confidence":"8/10"}`, confidence.ScaleFromText, 0.8},
		{"level in JSON", `{"confidence": "high"}`, confidence.ScaleFromText, 0.875},
		{"words in JSON", `{"confidence": "Very likely."}`, confidence.ScaleFromText, 0.875},
		{"JSON null", `{"confidence": null}`, confidence.ScaleFromText, none},
		{"JSON list", `{"confidence": [0.8]}`, confidence.ScaleFromText, none},
		{"JSON out of range", `{"confidence": 140}`, confidence.ScaleFromText, none},
		{"JSON negative", `{"confidence": -0.2}`, confidence.ScaleFromText, none},
		{"JSON overflow", `{"confidence": 1e999}`, confidence.ScaleFromText, none},
		{"JSON cut off in the number", `{"answer":"x","confidence": 0.8`, confidence.ScaleFromText, none},
		{"JSON cut off after the number", `{"confidence": 0.85, "answer": "Par`, confidence.ScaleFromText, 0.85},

		{"percent", "confidence: 85%", confidence.ScaleFromText, 0.85},
		{"fraction", "confidence: 85/100", confidence.ScaleFromText, 0.85},
		{"share", "Answer: Paris\nConfidence: 0.85", confidence.ScaleFromText, 0.85},
		{"no leading zero", "confidence = .85", confidence.ScaleFromText, 0.85},
		{"decimal comma", "Confidence: 0,85", confidence.ScaleFromText, 0.85},
		{"percent in words", "My confidence is about 85 percent.", confidence.ScaleFromText, 0.85},
		{"out of", "Confidence score: 8 out of 10", confidence.ScaleFromText, 0.8},
		{"scale in brackets", "Confidence (0-100): 85", confidence.ScaleFromText, 0.85},
		{"Markdown", "**Confidence:** 85%", confidence.ScaleFromText, 0.85},
		{"dash", "Confidence - 85%", confidence.ScaleFromText, 0.85},
		{"before the word", "I am 85% sure that it is Paris.", confidence.ScaleFromText, 0.85},
		{"the last one counts", "confidence: 20%. On reflection, confidence: 70%", confidence.ScaleFromText, 0.7},
		{"a range", "confidence: 80-90%", confidence.ScaleFromText, none},
		{"another number", "I have confidence that the answer is 42.", confidence.ScaleFromText, none},
		{"an interval", "The 95% confidence interval is wide.", confidence.ScaleFromText, none},
		{"negative", "confidence: -5%", confidence.ScaleFromText, none},
		{"above the whole", "confidence: 11/10", confidence.ScaleFromText, none},
		{"zero whole", "confidence: 1/0", confidence.ScaleFromText, none},

		{"plain share", "0.85", confidence.ScaleFromText, 0.85},
		{"plain percentage", " 85%. ", confidence.ScaleFromText, 0.85},
		{"plain fraction", "85/100", confidence.ScaleFromText, 0.85},
		{"95", "95", confidence.ScaleFromText, 0.95},
		{"0.95", "0.95", confidence.ScaleFromText, 0.95},
		{"1", `{"confidence":1}`, confidence.ScaleFromText, 1},
		{"1.0", `{"confidence":1.0}`, confidence.ScaleFromText, 1},
		{"1 of 1", `{"confidence":1}`, confidence.ScaleUnit, 1},
		{"1 of 100", `{"confidence":1}`, confidence.ScalePercent, 0.01},
		{"1 of 10", `{"confidence":1}`, confidence.ScaleTen, 0.1},
		{"95 on a unit scale", "confidence: 95", confidence.ScaleUnit, none},
		{"0.5 on a percent scale", "confidence: 0.5", confidence.ScalePercent, 0.005},
		{"11 on a scale of ten", "confidence: 11", confidence.ScaleTen, none},
		{"a sign says more than the scale", "confidence: 85%", confidence.ScaleUnit, 0.85},

		{"not that sure", "I'm not 100% sure, but I think Paris.", confidence.ScaleFromText, none},
		{"cannot be sure", "I cannot be 100% certain. Paris.", confidence.ScaleFromText, none},
		{"a curly not", "I don’t have 90% confidence in it", confidence.ScaleFromText, none},
		{"a bound above", "I am less than 50% confident.", confidence.ScaleFromText, none},
		{"nowhere near", "nowhere near 90% confident", confidence.ScaleFromText, none},
		{"a statement after a negated one", "I'm not 100% sure. Confidence: 70%", confidence.ScaleFromText, 0.7},
		{"a statement before a negated one", "Confidence: 70%. I cannot be 100% sure.", confidence.ScaleFromText, 0.7},
		{"a negation of something else", "Not Lyon. I am 80% sure it is Paris.", confidence.ScaleFromText, 0.8},
		{"an answer No before", "Answer: No\nI am 85% confident.", confidence.ScaleFromText, 0.85},
		{"an answer no before that", "Answer: no\n\n90% confident", confidence.ScaleFromText, 0.9},
		{"not certain but", "It's not certain but I'm 70% sure.", confidence.ScaleFromText, 0.7},
		{"not an expert but", "I am not an expert but 80% confident.", confidence.ScaleFromText, 0.8},
		{"do not think so", "I don't think I am 90% sure.", confidence.ScaleFromText, none},
		{"not more than", "I'm not more than 60% sure", confidence.ScaleFromText, none},
		{"no doubt without a sign", "There is no doubt I am 95% sure.", confidence.ScaleFromText, 0.95},
		{"no doubt", "I have no doubt: 95% sure", confidence.ScaleFromText, 0.95},

		{"sure", "I am very sure.", confidence.ScaleFromText, 0.875},
		{"likely", "very likely", confidence.ScaleFromText, 0.875},
		{"longer phrase first", "That is very unlikely.", confidence.ScaleFromText, 0.125},
		{"the same twice", "Very likely; yes, I am very sure.", confidence.ScaleFromText, 0.875},
		{"level after the word", "Confidence: low", confidence.ScaleFromText, 0.325},
		{"level of something else", "The river is high.", confidence.ScaleFromText, none},
		{"two different phrases", "Likely Paris, very likely Lyon.", confidence.ScaleFromText, none},
		{"negated", "I'm not very sure.", confidence.ScaleFromText, none},
		{"negated with a curly sign", "I don’t think it is likely", confidence.ScaleFromText, none},
		{"negated behind", "probably not", confidence.ScaleFromText, none},
		{"sure as a filler", "Sure, here is the answer: Paris", confidence.ScaleFromText, none},
		{"no idea", "no idea", confidence.ScaleFromText, none},
		{"a refusal", "I don't know.", confidence.ScaleFromText, none},
		{"blank", " \n", confidence.ScaleFromText, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := confidence.ParseVerbalized(c.reply, c.scale)
			switch {
			case math.IsNaN(c.want) && got.Err == nil:
				t.Errorf("%q = %v, want no value", c.reply, got.Number)
			case !math.IsNaN(c.want) && (got.Err != nil || math.Abs(got.Number-c.want) > tolerance):
				t.Errorf("%q = %+v, want %v", c.reply, got, c.want)
			}
		})
	}
}

func TestParseVerbalizedNotesAPlainOne(t *testing.T) {
	if got := confidence.ParseVerbalized("confidence: 1", confidence.ScaleFromText); got.Note == "" {
		t.Error("a plain 1 without a scale carries no note")
	}
	if got := confidence.ParseVerbalized("confidence: 1", confidence.ScaleUnit); got.Note != "" {
		t.Errorf("a 1 on a stated scale carries the note %q", got.Note)
	}
}

func TestVerbalPhrasesAreRead(t *testing.T) {
	seen := make(map[string]bool)
	for _, p := range confidence.VerbalPhrases() {
		if seen[p.Phrase] || p.Probability <= 0 || p.Probability >= 1 {
			t.Errorf("%q is repeated or out of range", p.Phrase)
		}
		seen[p.Phrase] = true
		got := confidence.ParseVerbalized(strings.ToUpper(p.Phrase[:1])+p.Phrase[1:]+"!", confidence.ScaleFromText)
		if got.Err != nil || got.Number != p.Probability {
			t.Errorf("%q = %+v, want %v", p.Phrase, got, p.Probability)
		}
	}
}

// A reply of nothing but nested opening braces makes every brace a start that
// fails at the end. It must be given up, not tried out.
func TestParseVerbalizedBoundsItsWork(t *testing.T) {
	reply := strings.Repeat(`{"a":`, 1<<16)
	if got := confidence.ParseVerbalized(reply, confidence.ScaleFromText); got.Err == nil {
		t.Errorf("got %v", got.Number)
	}
}

func FuzzParseVerbalized(f *testing.F) {
	for _, seed := range []string{
		`{"confidence":0.85}`, "```json\n{\"confidence\": \"85%\"}\n```", "confidence: 85/100", "I am very sure.",
		`{"confidence":140}`, "no idea", `{"confidence":0.2} … {"confidence":0.7}`, "Confidence (0-100): 1e2", "{{{",
		"certainty about −3", "0,5", "1/0", "confidence: 80–90%",
	} {
		for scale := range 4 {
			f.Add(seed, scale)
		}
	}
	f.Fuzz(func(t *testing.T, reply string, scale int) {
		got := confidence.ParseVerbalized(reply, confidence.Scale(scale))
		if got.Err == nil && (!(got.Number >= 0 && got.Number <= 1) || got.Used != 1) {
			t.Errorf("%q = %+v", reply, got)
		}
		if got.Err != nil && got.Number != 0 {
			t.Errorf("%q: a missing value has the number %v", reply, got.Number)
		}
	})
}
