package agent_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/telemetry/agent"
)

// golden are the cases of testdata/golden.json. Clients in other languages read
// the same file, so that a reply means the same to all of them.
type golden struct {
	Replies []struct {
		Name        string `json:"name"`
		Reply       string `json:"reply"`
		Subquestion string `json:"subquestion"`
		Want        *struct {
			Action   string `json:"action"`
			Answer   string `json:"answer"`
			Query    string `json:"query"`
			Analysis string `json:"analysis"`
			Reason   string `json:"reason"`
		} `json:"want"`
		Malformed string `json:"malformed"` // part of the problem
	} `json:"replies"`
	Probes []struct {
		Reply string `json:"reply"`
		Want  *struct {
			Answer          string  `json:"answer"`
			Confidence      float64 `json:"confidence"`
			SuggestedAction string  `json:"suggested_action"`
			Summary         string  `json:"summary"`
		} `json:"want"`
		NoConfidence string `json:"no_confidence"` // the status
	} `json:"probes"`
}

func load(t *testing.T) golden {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestParseReply(t *testing.T) {
	for _, c := range load(t).Replies {
		t.Run(c.Name, func(t *testing.T) {
			got, err := agent.ParseReply(c.Reply, c.Subquestion)
			if c.Want == nil {
				requireMalformed(t, got, err, c.Malformed)
				return
			}
			want := agent.Reply{
				Action:   plumblinev1.Action(plumblinev1.Action_value["ACTION_"+strings.ToUpper(c.Want.Action)]),
				Answer:   c.Want.Answer,
				Query:    c.Want.Query,
				Analysis: c.Want.Analysis,
				Reason:   c.Want.Reason,
			}
			if err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

func TestHostileReplies(t *testing.T) {
	for _, c := range []struct{ name, reply, want string }{
		{"too long", `{"action": "commit", "answer": "` + strings.Repeat("x", 1<<20) + `"}`, "at most 65536"},
		{"deep", `{"action": ` + strings.Repeat("[", 20000), "not valid JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := agent.ParseReply(c.reply, "Which city?")
			requireMalformed(t, got, err, c.want)
		})
	}
}

func requireMalformed(t *testing.T, got agent.Reply, err error, problem string) {
	t.Helper()
	var fault *agent.MalformedError
	if problem == "" || !errors.As(err, &fault) || !strings.Contains(err.Error(), problem) {
		t.Errorf("got %+v, %v; want an error with %q", got, err, problem)
	}
	if err != nil && strings.Contains(err.Error(), "Paris") {
		t.Errorf("the error repeats the reply: %v", err)
	}
}

func TestProbe(t *testing.T) {
	for _, c := range load(t).Probes {
		got := agent.ParseProbe(c.Reply)
		if c.Want == nil {
			if got.NoConfidence == nil || got.NoConfidence.Status.String() != c.NoConfidence || got.Confidence != 0 {
				t.Errorf("%q: got %+v, want %s", c.Reply, got, c.NoConfidence)
			}
			continue
		}
		want := agent.Probe{
			Answer:          c.Want.Answer,
			Confidence:      c.Want.Confidence,
			SuggestedAction: c.Want.SuggestedAction,
			Summary:         c.Want.Summary,
		}
		if got != want {
			t.Errorf("%q: got %+v, want %+v", c.Reply, got, want)
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
