package agent

import (
	_ "embed"
	"encoding/json"
	"strings"

	"plumbline/scorers/score"
)

//go:embed probe.txt
var probePrompt string

// ProbePrompt is the question of BeyondUncertainty's probe: a provisional
// answer, how sure the model is, what it would do, and a summary of at most two
// sentences, as compact JSON.
func ProbePrompt(question string) string {
	return probePrompt + "\nQuestion: " + strings.TrimSpace(question) + "\n"
}

// Probe is the model's reply to a probe.
type Probe struct {
	// Answer is the provisional answer; empty if it gave none.
	Answer string
	// Confidence is what it states, in [0, 1], if NoConfidence is nil.
	Confidence float64
	// NoConfidence is why there is no confidence; a router then retrieves.
	NoConfidence *score.Missing
	// SuggestedAction is what the model would do. It is for logs: it never
	// routes, so that the rule stays reproducible.
	SuggestedAction string
	// Summary is the model's short summary.
	Summary string
}

// ParseProbe reads a reply to a probe. A fence around the JSON is forgiven,
// since it changes nothing. It never fails: what cannot be read is missing, and
// a missing confidence retrieves.
func ParseProbe(reply string) Probe {
	fields, err := object(unfenced(reply))
	if err != nil {
		return Probe{NoConfidence: score.InvalidInput("the reply to the probe is not one JSON object")}
	}
	var p Probe
	p.Answer, _ = text(fields, "answer")
	p.SuggestedAction, _ = text(fields, "action")
	p.Summary, _ = text(fields, "summary")
	p.Confidence, p.NoConfidence = confidence(fields["confidence"])
	return p
}

// unfenced takes a Markdown fence away.
func unfenced(reply string) string {
	reply = strings.TrimSpace(reply)
	body, fenced := strings.CutPrefix(reply, "```")
	if !fenced {
		return reply
	}
	body, closed := strings.CutSuffix(body, "```")
	if !closed {
		return reply
	}
	return strings.TrimPrefix(body, "json")
}

// confidence reads a number in [0, 1]. A larger number is missing rather than
// a percentage, since the probe asks for this scale; the confidence service
// reads other notations.
func confidence(raw json.RawMessage) (float64, *score.Missing) {
	var v *float64
	if raw == nil {
		return 0, score.MissingInput("the probe states no confidence")
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return 0, score.InvalidInput("the confidence of the probe is not a number")
	}
	if v == nil {
		return 0, score.MissingInput("the probe states no confidence")
	}
	if *v < 0 || *v > 1 {
		return 0, score.InvalidInput("the confidence of the probe is outside [0, 1]")
	}
	return *v, nil
}
