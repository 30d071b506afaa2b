package telemetry

import (
	"maps"
	"slices"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// View is what a template sees. It holds texts and flags only, ready to print;
// there is nothing in it that a template could call.
type View struct {
	// FinalConf, NVC and SC say how sure the generator is of its answer.
	FinalConf, NVC, SC Reading
	// GMean and GMin say how well the evidence supports the answer's claims.
	GMean, GMin Reading
	// HasConfidence, HasGrounding and HasRetrieval say whether the channel has
	// any reading.
	HasConfidence, HasGrounding, HasRetrieval bool
	// Reused says that the confidence was taken in an earlier turn; Stale, that
	// the answer has changed since. ComputedFor is the answer it was taken for.
	Reused, Stale bool
	ComputedFor   string
	// Claims are the claims of the answer, at most MaxClaims; ClaimsLeftOut
	// counts the others.
	Claims        []ClaimView
	ClaimsLeftOut int
	// Retrieval are the few signals that mean something without knowing the
	// retriever; Signals are all of them, by name.
	Retrieval, Signals []Reading
	// Absent are the readings that could not be taken, with the reason.
	Absent []Absence
}

// Reading is one number of the telemetry.
type Reading struct {
	// Name is the score's field name, such as "g_mean".
	Name string
	// Present says that there is a number; the texts below are empty otherwise.
	Present bool
	// Value is the number with three decimals.
	Value string
	// Bin is the fifth of [0, 1] it lies in, in words; empty for a signal that
	// is no share.
	Bin string
	// Trend is how it moved since the turn before, such as "IMPROVED +0.120";
	// empty if it did not.
	Trend string
	// About says in a few words what the number means; retrieval signals only.
	About string
}

// ClaimView is one claim.
type ClaimView struct {
	// Text is the claim on one line, cut if it is long.
	Text string
	// Value is its support with three decimals, or "not scored".
	Value string
	// Scored says that Value is a number.
	Scored bool
}

// Absence is a reading that could not be taken.
type Absence struct {
	// Name is the score's name; Reason says why.
	Name, Reason string
}

const (
	// MaxClaims bounds the claims in a view.
	MaxClaims = 20
	// notScored stands in place of the support of a claim that has none.
	notScored = "not scored"
)

// keySignals are the retrieval signals of a prompt, with what they mean.
func keySignals() []struct {
	name, about string
	share       bool
} {
	return []struct {
		name, about string
		share       bool
	}{
		{"evidence_coverage", "share of the question's names and years that the passages mention", true},
		{"retriever_divergence", "how far two kinds of search disagree; high means that they found different things", true},
		{"dense_stddev", "how clearly the search told its results apart; near 0 means that it could not", false},
	}
}

// NewView prepares a telemetry for printing. previous is what the turn before
// left, for trends; nil if there was none.
func NewView(t *plumblinev1.Telemetry, previous *Kept) View {
	if previous == nil {
		previous = &Kept{}
	}
	v := View{
		Reused:      t.GetReused(),
		Stale:       t.GetStale(),
		ComputedFor: oneLine(t.GetComputedFor()),
	}
	v.FinalConf = v.read("final_conf", t.GetFinalConf(), previous.FinalConf)
	v.NVC = v.read("nvc", t.GetNvc(), previous.NVC)
	v.SC = v.read("sc", t.GetSc(), previous.SC)
	v.GMean = v.read("g_mean", t.GetGMean(), previous.GMean)
	v.GMin = v.read("g_min", t.GetGMin(), previous.GMin)
	v.HasConfidence = v.FinalConf.Present || v.NVC.Present || v.SC.Present
	v.HasGrounding = v.GMean.Present || v.GMin.Present
	v.readSignals(t.GetRetrieval())
	v.readClaims(t.GetGrounding().GetClaims())
	return v
}

// read makes a reading, or notes its absence.
func (v *View) read(name string, s, before *plumblinev1.Score) Reading {
	r := Reading{Name: name}
	if !present(s) {
		reason := s.GetReason()
		if reason == "" {
			reason = "it was not asked for"
		}
		v.Absent = append(v.Absent, Absence{Name: name, Reason: oneLine(reason)})
		return r
	}
	r.Present, r.Value, r.Bin = true, Number(s.GetValue()), Bin(s.GetValue())
	if present(before) {
		r.Trend = Trend(before.GetValue(), s.GetValue())
	}
	return r
}

func (v *View) readSignals(response *plumblinev1.ScoreRetrievalResponse) {
	if response == nil {
		v.Absent = append(v.Absent, Absence{Name: "retrieval signals", Reason: "no retrieval was scored in this turn"})
		return
	}
	signals := response.GetSignals()
	for _, name := range slices.Sorted(maps.Keys(signals)) {
		if s := signals[name]; s.Value != nil {
			v.Signals = append(v.Signals, Reading{Name: name, Present: true, Value: Number(s.GetValue())})
		}
	}
	for _, key := range keySignals() {
		s, ok := signals[key.name]
		switch {
		case !ok:
		case s.Value == nil:
			v.Absent = append(v.Absent, Absence{Name: key.name, Reason: oneLine(s.GetReason())})
		default:
			r := Reading{Name: key.name, Present: true, Value: Number(s.GetValue()), About: key.about}
			if key.share {
				r.Bin = Bin(s.GetValue())
			}
			v.Retrieval = append(v.Retrieval, r)
		}
	}
	v.HasRetrieval = len(v.Retrieval) > 0
}

func (v *View) readClaims(claims []*plumblinev1.GroundedClaim) {
	for i, c := range claims {
		if i == MaxClaims {
			v.ClaimsLeftOut = len(claims) - MaxClaims
			return
		}
		view := ClaimView{Text: oneLine(c.GetText()), Value: notScored}
		if present(c.GetSupport()) {
			view.Value, view.Scored = Number(c.GetSupport().GetValue()), true
		}
		v.Claims = append(v.Claims, view)
	}
}
