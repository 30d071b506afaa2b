package agent_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/telemetry/agent"
)

func TestParseReply(t *testing.T) {
	for _, c := range []struct {
		name, reply string
		want        agent.Reply
	}{
		{"commit", `{"action": "commit", "answer": " Paris ", "analysis": "well grounded", "reason": "done"}`, agent.Reply{Action: plumblinev1.Action_ACTION_COMMIT, Answer: "Paris", Analysis: "well grounded", Reason: "done"}},
		{"retrieve with a query", "\n{\"action\": \"retrieve\", \"query\": \"capital: France\"}\n", agent.Reply{Action: plumblinev1.Action_ACTION_RETRIEVE, Query: "capital: France"}},
		{"retrieve without a query", `{"action": "retrieve"}`, agent.Reply{Action: plumblinev1.Action_ACTION_RETRIEVE, Query: "Which city?"}},
		{"retrieve with a blank query", `{"action": "retrieve", "query": "  "}`, agent.Reply{Action: plumblinev1.Action_ACTION_RETRIEVE, Query: "Which city?"}},
		{"retrieve with null", `{"action": "retrieve", "query": null, "answer": "x"}`, agent.Reply{Action: plumblinev1.Action_ACTION_RETRIEVE, Query: "Which city?"}},
		{"refine", `{"action": "refine", "query": "dropped"}`, agent.Reply{Action: plumblinev1.Action_ACTION_REFINE}},
		{"decompose", `{"action": "decompose", "confidence": [0.4]}`, agent.Reply{Action: plumblinev1.Action_ACTION_DECOMPOSE}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := agent.ParseReply(c.reply, " Which city? ")
			if err != nil || got != c.want {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

func TestMalformedReplies(t *testing.T) {
	for _, c := range []struct{ name, reply, want string }{
		{"empty", "", "not one JSON object"},
		{"prose", "I would commit.", "not one JSON object"},
		{"list", `[{"action": "refine"}]`, "not one JSON object"},
		{"fenced", "```json\n{\"action\": \"refine\"}\n```", "not one JSON object"},
		{"text before", `Here: {"action": "refine"}`, "not one JSON object"},
		{"text after", `{"action": "refine"} done`, "something after"},
		{"two objects", `{"action": "refine"}{"action": "commit", "answer": "x"}`, "something after"},
		{"cut off", `{"action": "refine"`, "not valid JSON"},
		{"single quotes", `{'action': 'refine'}`, "not valid JSON"},
		{"no action", `{"answer": "Paris"}`, `"action" is missing`},
		{"unknown action", `{"action": "give up"}`, "must be commit"},
		{"capitals", `{"action": "COMMIT", "answer": "x"}`, "must be commit"},
		{"two actions", `{"action": "refine", "action": "commit", "answer": "x"}`, "given twice"},
		{"a list of actions", `{"action": ["refine"]}`, `"action" must be a string`},
		{"commit without an answer", `{"action": "commit"}`, `needs "answer"`},
		{"commit with a blank answer", `{"action": "commit", "answer": " "}`, `needs "answer"`},
		{"commit with a number", `{"action": "commit", "answer": 42}`, `"answer" must be a string`},
		{"too long", `{"action": "commit", "answer": "` + strings.Repeat("x", 1<<20) + `"}`, "at most 65536"},
		{"deep", `{"action": ` + strings.Repeat("[", 20000), "not valid JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := agent.ParseReply(c.reply, "Which city?")
			var fault *agent.MalformedError
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v, %v; want an error with %q", got, err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "Paris") {
				t.Errorf("the error repeats the reply: %v", err)
			}
		})
	}
	if _, err := agent.ParseReply(`{"action": "retrieve"}`, ""); err == nil {
		t.Error("a retrieve without a query and a subquestion was accepted")
	}
}

func TestProbe(t *testing.T) {
	full := agent.ParseProbe(`{"answer":"Paris","confidence":0.85,"action":"retrieve","summary":"I know it."}`)
	if full != (agent.Probe{Answer: "Paris", Confidence: 0.85, SuggestedAction: "retrieve", Summary: "I know it."}) {
		t.Errorf("got %+v", full)
	}
	for _, reply := range []string{
		"```json\n{\"confidence\": 0.85}\n```", "```\n{\"confidence\": 0.85}\n```", " {\"confidence\": 8.5e-1}",
	} {
		if got := agent.ParseProbe(reply); got.NoConfidence != nil || got.Confidence != 0.85 {
			t.Errorf("%q: got %+v", reply, got)
		}
	}
	for reply, status := range map[string]plumblinev1.Status{
		"no idea":                            plumblinev1.Status_STATUS_INVALID_INPUT,
		"":                                   plumblinev1.Status_STATUS_INVALID_INPUT,
		`{"answer": "x"}`:                    plumblinev1.Status_STATUS_MISSING_INPUT,
		`{"confidence": null}`:               plumblinev1.Status_STATUS_MISSING_INPUT,
		`{"confidence": "high"}`:             plumblinev1.Status_STATUS_INVALID_INPUT,
		`{"confidence": 140}`:                plumblinev1.Status_STATUS_INVALID_INPUT,
		`{"confidence": -0.1}`:               plumblinev1.Status_STATUS_INVALID_INPUT,
		`{"confidence": 1e999}`:              plumblinev1.Status_STATUS_INVALID_INPUT,
		`{"confidence": 1, "confidence": 0}`: plumblinev1.Status_STATUS_INVALID_INPUT,
	} {
		got := agent.ParseProbe(reply)
		if got.NoConfidence == nil || got.NoConfidence.Status != status || got.Confidence != 0 {
			t.Errorf("%q: got %+v, want %s", reply, got, status)
		}
	}
}

func TestProbePromptAsksForWhatTheParserReads(t *testing.T) {
	prompt := agent.ProbePrompt(" Who wrote Hamlet? ")
	if !strings.HasSuffix(prompt, "Question: Who wrote Hamlet?\n") {
		t.Errorf("got %q", prompt)
	}
	for line := range strings.Lines(prompt) {
		if strings.HasPrefix(line, "{") {
			if p := agent.ParseProbe(line); p.NoConfidence != nil || p.Answer == "" || p.Summary == "" || p.SuggestedAction == "" {
				t.Errorf("the example in the prompt is not what the parser reads: %+v", p)
			}
			return
		}
	}
	t.Error("the prompt shows no example")
}

func FuzzParseReply(f *testing.F) {
	f.Add(`{"action": "commit", "answer": "x"}`, "q")
	f.Add("```json\n{\"confidence\": 0.5}\n```", "")
	f.Fuzz(func(t *testing.T, reply, subquestion string) {
		got, err := agent.ParseReply(reply, subquestion)
		var fault *agent.MalformedError
		switch {
		case err != nil && !errors.As(err, &fault):
			t.Fatalf("an error of another type: %v", err)
		case err == nil && got.Action == plumblinev1.Action_ACTION_COMMIT && got.Answer == "":
			t.Fatal("a commit without an answer")
		case err == nil && got.Action == plumblinev1.Action_ACTION_RETRIEVE && got.Query == "":
			t.Fatal("a retrieve without a query")
		case err == nil && !utf8.ValidString(got.Answer):
			t.Fatal("an answer that cannot be sent")
		}
		if p := agent.ParseProbe(reply); p.NoConfidence == nil && !(p.Confidence >= 0 && p.Confidence <= 1) {
			t.Fatalf("confidence %v", p.Confidence)
		}
	})
}
