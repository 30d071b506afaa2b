// Package telemetry gathers what was computed in one turn of a loop, keeps what
// belongs to a subgoal, and renders both for an agent's prompt.
//
// It moves scores and computes none, so that it works on the messages
// themselves.
package telemetry

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
)

// Turn is what one turn of a loop brought; every part may be absent.
type Turn struct {
	// Retrieval, Grounding and Confidence are the responses to what was asked.
	Retrieval  *plumblinev1.ScoreRetrievalResponse
	Grounding  *plumblinev1.ScoreGroundingResponse
	Confidence *plumblinev1.ScoreConfidenceResponse
	// Answer is the current answer; empty if it is not known.
	Answer string
	// Kept is what earlier turns of the subgoal left; nil if nothing.
	Kept *Kept
}

// Kept is what a subgoal keeps between turns: the confidence in its answer,
// which is computed when the subgoal is first visited, and the last grounding,
// which is computed anew each turn and kept only to show how it moved.
type Kept struct {
	NVC, SC, FinalConf *plumblinev1.Score
	// ComputedFor is the answer that the confidence was computed for.
	ComputedFor string
	GMean, GMin *plumblinev1.Score
	// reused is set where the confidence itself came from an earlier turn.
	reused bool
}

// Assemble makes the telemetry of a turn. Confidence of this turn comes first;
// if it has none of nvc, sc and final_conf, the kept one is taken, together
// with the answer that it was computed for. It is stale if the current answer
// is another one.
func Assemble(turn Turn) *plumblinev1.Telemetry {
	t := &plumblinev1.Telemetry{
		Retrieval:  turn.Retrieval,
		Grounding:  turn.Grounding,
		Confidence: turn.Confidence,
		GMean:      orMissing(turn.Grounding.GetGMean(), "grounding was not asked for in this turn"),
		GMin:       orMissing(turn.Grounding.GetGMin(), "grounding was not asked for in this turn"),
		Pairs:      turn.Grounding.GetCoverage().GetPairs() + turn.Confidence.GetPairs(),
	}
	const none = "confidence was not asked for in this turn and none is kept for the subgoal"
	source := fromResponse(turn.Confidence)
	if turn.Kept != nil && turn.Kept.known() && !source.known() {
		source = *turn.Kept
		t.Reused = true
	}
	t.Nvc, t.Sc, t.FinalConf = orMissing(source.NVC, none), orMissing(source.SC, none), orMissing(source.FinalConf, none)
	t.ComputedFor = source.ComputedFor
	t.Stale = source.known() && differs(turn.Answer, source.ComputedFor)
	for _, model := range []*plumblinev1.ModelInfo{turn.Grounding.GetModel(), turn.Confidence.GetModel()} {
		known := slices.ContainsFunc(t.GetModels(), func(m *plumblinev1.ModelInfo) bool { return proto.Equal(m, model) })
		if model != nil && !known {
			t.Models = append(t.Models, model)
		}
	}
	return t
}

// Keep is what a later turn of the subgoal needs; false if there is nothing
// worth keeping.
func Keep(t *plumblinev1.Telemetry) (Kept, bool) {
	k := Kept{
		NVC:         proto.CloneOf(t.GetNvc()),
		SC:          proto.CloneOf(t.GetSc()),
		FinalConf:   proto.CloneOf(t.GetFinalConf()),
		ComputedFor: t.GetComputedFor(),
		GMean:       proto.CloneOf(t.GetGMean()),
		GMin:        proto.CloneOf(t.GetGMin()),
		reused:      t.GetReused(),
	}
	return k, k.known() || present(k.GMean) || present(k.GMin)
}

func fromResponse(c *plumblinev1.ScoreConfidenceResponse) Kept {
	return Kept{NVC: c.GetNvc(), SC: c.GetSc(), FinalConf: c.GetFinalConf(), ComputedFor: c.GetComputedFor()}
}

// known says whether there is any confidence.
func (k Kept) known() bool { return present(k.NVC) || present(k.SC) || present(k.FinalConf) }

func present(s *plumblinev1.Score) bool {
	return s != nil && s.Value != nil && s.GetStatus() == plumblinev1.Status_STATUS_OK
}

func orMissing(s *plumblinev1.Score, reason string) *plumblinev1.Score {
	if s != nil {
		return s
	}
	return score.Of(0, score.MissingInput("%s", reason))
}

// differs compares answers as far as both are known; blanks around them do not
// count.
func differs(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	return a != "" && b != "" && a != b
}
