package grounding

import (
	"strings"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
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

// TestAnswersThatLookLikeGreetings are answers where one is asked for.
func TestAnswersThatLookLikeGreetings(t *testing.T) {
	s := newScorer(t)
	asked := form{form: plumblinev1.ClaimForm_CLAIM_FORM_QA, question: "Which song is it?", template: "{question} {answer}"}
	if c := asked.answerClaims(s.split, "Hey Jude"); len(c) != 1 || c[0].why != nil || c[0].hypothesis != "Which song is it? Hey Jude" {
		t.Errorf("%+v", c)
	}
	if c := (form{}).answerClaims(s.split, "Hey Jude"); len(c) != 1 || c[0].kind != plumblinev1.ClaimKind_CLAIM_KIND_GREETING {
		t.Errorf("%+v", c)
	}
}

// TestQuestionsAreNotCutFromTheirAnswers: what does not fit the window is too long,
// and citations alone answer nothing.
func TestQuestionsAreNotCutFromTheirAnswers(t *testing.T) {
	long := strings.Repeat("It is a long story. ", 60) + "Where is it?"
	for _, c := range []struct {
		question, answer, text string
		want                   plumblinev1.Status
	}{
		{long, "Paris", "", plumblinev1.Status_STATUS_TOO_LONG},
		{long, "", "Paris", plumblinev1.Status_STATUS_TOO_LONG},
		{"Where is it? " + strings.Repeat("x", 10_000), "Paris", "", plumblinev1.Status_STATUS_TOO_LONG},
		{"Where is it?", strings.Repeat("In Paris. ", 200), "", plumblinev1.Status_STATUS_TOO_LONG},
		{"Where is it?", "[1]\n\n[2]", "", plumblinev1.Status_STATUS_NOT_A_CLAIM},
		{"Where is it?", "Paris", "", plumblinev1.Status_STATUS_OK},
	} {
		req := evidenceOf("It is in Paris.")
		req.Question, req.Answer, req.ClaimForm = c.question, c.answer, plumblinev1.ClaimForm_CLAIM_FORM_QA
		if c.text != "" {
			req.Claims = []*plumblinev1.Claim{{Text: c.text}}
		}
		r := newScorer(t).Score(t.Context(), described{Verifier: neutral(), change: func(d *entail.Description) { d.QATemplate = "{question} {answer}" }}, req)
		if len(r.GetClaims()) != 1 || r.GetClaims()[0].GetStatus() != c.want {
			t.Errorf("%.20q, %.20q: %v, want %v", c.question, c.answer+c.text, r.GetClaims(), c.want)
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
		"Hi there!":                                 greeting,
		"Good morning.":                             greeting,
		"You’re welcome!":                           greeting,
		"Sure!":                                     greeting,
		"Sure, it is in Paris.":                     factual,
		"Hello is a song by Adele.":                 factual,
		"Thanks to rain, tea grows here.":           factual,
		"Feel free to ask more.":                    greeting,
		"Feel Free won in 1932.":                    factual,
		"Is it big?":                                question,
		"これは何ですか？":                                  question,
		"I don’t know.":                             refusal,
		"I am unable to answer.":                    refusal,
		"Unknown":                                   refusal,
		"As an AI language model, I cannot browse.": refusal,
		"The passages do not mention his age.":      refusal,
		"The cause is unknown.":                     factual,
		"Nobody knows the answer.":                  factual,
		"The text does not rhyme.":                  factual,
		"As an assistant, I cannot share that.":     refusal,
		"As a large language model trained by Acme Labs, my knowledge ends in 2023.": refusal,
		"I'm an AI assistant and cannot browse.":                                     refusal,
		"There is no information about his age.":                                     refusal,
		"There is not enough evidence to determine the cause.":                       refusal,
		"There is no evidence in the passages that he married.":                      refusal,
		"Thanks a lot!":                                                          greeting,
		"Thank you for your question.":                                           greeting,
		"Please let me know what else.":                                          greeting,
		"As an aide to Kennedy, he spoke.":                                       factual,
		"As an assistant coach, he won.":                                         factual,
		"I'm an aide to Kennedy.":                                                factual,
		"As an AI researcher, she wrote it.":                                     factual,
		"There is no evidence that vaccines cause autism.":                       factual,
		"There is insufficient evidence that it helps.":                          factual,
		"The evidence did not state a motive.":                                   factual,
		"Thanks for the Memory was a hit.":                                       factual,
		"Thank you all!":                                                         greeting,
		"Thanks again.":                                                          greeting,
		"Thank you, Maria.":                                                      greeting,
		"There is no data on the disk.":                                          factual,
		"There is no evidence that he asked them to confirm it.":                 factual,
		"There is no evidence of fraud in documents from 1920.":                  factual,
		"Thank you is a song.":                                                   factual,
		"I'm not sure of the exact date, but the bridge opened in 1947.":         factual,
		"As an AI language model, I can confirm that the bridge opened in 1947.": factual,
		"The passages do not mention his age, but he was born in 1947.":          factual,
		"I don't know his age; he was born in spring.":                           factual,
		"I'm sorry, but I cannot answer that.":                                   refusal,
		"I don't have that information, but you can ask the museum.":             refusal,
		"Based on the provided context, I cannot answer.":                        refusal,
		"The context does not explicitly mention it.":                            refusal,
		"The context provided does not say when.":                                refusal,
		"I do not have that information.":                                        refusal,
		"The answer is not in the provided context.":                             refusal,
		"The answer to your question is not mentioned in the passages.":          refusal,
		"There is no mention of the bridge in the context.":                      refusal,
		"The answer was not in the affirmative.":                                 factual,
		"There is no mention of slavery in the first draft.":                     factual,
		"According to the text, I cannot have left.":                             factual,
		"I cannotes.": factual,
	} {
		if got := kindOfText(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestHeadings: a bold phrase, or one above a line of hyphens or equals signs, is
// a heading; a sentence is a fact.
func TestHeadings(t *testing.T) {
	const (
		factual = plumblinev1.ClaimKind_CLAIM_KIND_FACTUAL
		heading = plumblinev1.ClaimKind_CLAIM_KIND_HEADING
	)
	s := newScorer(t)
	for text, want := range map[string]plumblinev1.ClaimKind{
		"**Main causes**":                              heading,
		"**Paris is the capital**":                     factual,
		"**The council bought the mill.**":             factual,
		"**यह सच है।**":                                factual,
		"**یہ سچ ہے۔**":                                factual,
		"Overview\n====":                               heading,
		"Main causes\n---":                             heading,
		"> Main causes\n> ---":                         heading,
		"The mill closed in 1889. [1]\n---":            factual,
		"**The mill closed.**\n---":                    factual,
		"The mill closed in 1889\n---":                 factual,
		"The council bought the old mill in 1887\n---": factual,
		"**May 2023**":                                 heading,
		"**Will Smith**":                               heading,
		"**Why it was built**":                         heading,
		"- pears and apples\n---":                      factual,
		"The council bought the mill.\n---":            factual,
		"The council bought the mill.\n\n---":          factual,
		"The council\nbought the old mill\n---":        factual,
		"- The council bought the mill in 1887.\n--":   factual,
	} {
		claims := form{}.answerClaims(s.split, text+"\n\nThe bridge opened in 1932.")
		if len(claims) != 2 || claims[0].kind != want {
			t.Errorf("%q: %v", text, claims)
		}
	}
}
