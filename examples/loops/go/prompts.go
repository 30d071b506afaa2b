package main

import (
	"fmt"
	"strings"
)

func evidence(passages []passage) string {
	if len(passages) == 0 {
		return ""
	}
	var block strings.Builder
	block.WriteString("Passages:\n")
	for _, p := range passages {
		fmt.Fprintf(&block, "[%s] %s\n", p.Title, p.Text)
	}
	return block.String() + "\n"
}

// answerPrompt asks for a short answer, from passages if there are any.
func answerPrompt(question string, passages []passage) string {
	source := "from what you know"
	if len(passages) > 0 {
		source = "from the passages"
	}
	return fmt.Sprintf("Answer the question %s, with the answer alone and as short as it can be.\n\n%sQuestion: %s\nAnswer:", source, evidence(passages), question)
}

// judgePrompt asks for P(true): the probabilities of the first token count.
func judgePrompt(question, proposed string) string {
	return fmt.Sprintf("Judge whether the proposed answer is right. Reply with Yes or No.\n\nQuestion: %s\nProposed answer: %s\nRight:", question, proposed)
}

// actionPrompt asks an agent what to do next. block is Plumbline's prompt block.
func actionPrompt(question, guess, block string) string {
	return fmt.Sprintf(`You answer a question in turns. Choose what to do next.
Reply with one JSON object and nothing around it, one of:
{"action": "commit", "answer": "...", "reason": "..."} - the answer is final
{"action": "retrieve", "query": "...", "reason": "..."} - search for passages first
{"action": "refine", "reason": "..."} - answer again from the passages in hand
{"action": "decompose", "reason": "..."} - ask a smaller question first

Turn 1 of 1
Question: %s
Current answer: %s

%s
`, question, guess, block)
}
