package grounding

import (
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

func TestShortAnswers(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"Claudia Wells", true},
		{"1932", true},
		{"yes", true},
		{"in the north of France", true},
		{"the United States of America", true},
		{"two hundred miles", true},
		{"Claudia Wells played her.", false},
		{"She was born in Oslo.", false},
		{"It opened in 1932", false},
		{"Elisabeth Shue replaced Claudia Wells", false},
		{"Who knows?", false},
		{"one two three four five six seven eight nine ten eleven twelve thirteen", false},
		{"", false},
	} {
		if got := isShortAnswer(c.text); got != c.want {
			t.Errorf("%q: %v", c.text, got)
		}
	}
}

func TestKindsOfText(t *testing.T) {
	const (
		factual  = plumblinev1.ClaimKind_CLAIM_KIND_FACTUAL
		question = plumblinev1.ClaimKind_CLAIM_KIND_QUESTION
		greeting = plumblinev1.ClaimKind_CLAIM_KIND_GREETING
		refusal  = plumblinev1.ClaimKind_CLAIM_KIND_REFUSAL
	)
	for text, want := range map[string]plumblinev1.ClaimKind{
		"Hi there!":                       greeting,
		"Good morning.":                   greeting,
		"You’re welcome!":                 greeting,
		"Sure!":                           greeting,
		"Sure, it is in Paris.":           factual,
		"Hello is a song by Adele.":       factual,
		"Thanks to rain, tea grows here.": factual,
		"Is it big?":                      question,
		"これは何ですか？":                        question,
		"I don’t know.":                   refusal,
		"I am unable to answer.":          refusal,
		"Unknown":                         refusal,
		"As an AI language model, I cannot browse.": refusal,
		"The passages do not mention his age.":      refusal,
		"The cause is unknown.":                     factual,
		"Nobody knows the answer.":                  factual,
		"The text does not rhyme.":                  factual,
	} {
		if got := kindOfText(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
