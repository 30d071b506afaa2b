package confidence_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/confidence"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/scorers/score"
)

const (
	statusOK          = plumblinev1.Status_STATUS_OK
	statusTooFew      = plumblinev1.Status_STATUS_TOO_FEW_ITEMS
	statusMissing     = plumblinev1.Status_STATUS_MISSING_INPUT
	statusInvalid     = plumblinev1.Status_STATUS_INVALID_INPUT
	statusUnavailable = plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE
	statusNotChecked  = plumblinev1.Status_STATUS_NOT_CHECKED
	statusDeadline    = plumblinev1.Status_STATUS_DEADLINE
	statusTooLong     = plumblinev1.Status_STATUS_TOO_LONG
)

// missingOf turns a score without a value back into its error.
func missingOf(s *plumblinev1.Score) error {
	return &score.Missing{Status: s.GetStatus(), Reason: s.GetReason()}
}

func reasonOf(err error) *score.Missing { return score.Reason(err) }

func ptr[T any](x T) *T { return &x }

// scoresOf returns every Score of a response by its field's name.
func scoresOf(resp *plumblinev1.ScoreConfidenceResponse) map[string]*plumblinev1.Score {
	scores := make(map[string]*plumblinev1.Score)
	fields := resp.ProtoReflect().Descriptor().Fields()
	wanted := (&plumblinev1.Score{}).ProtoReflect().Descriptor().FullName()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.Kind() == protoreflect.MessageKind && !field.IsList() && field.Message().FullName() == wanted {
			scores[string(field.Name())] = resp.ProtoReflect().Get(field).Message().Interface().(*plumblinev1.Score)
		}
	}
	return scores
}

// failer is what testing.T and rapid.T have in common.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// requireWellFormed checks what holds for every response: each score is a
// finite number in its published range, or has a status and a reason; each has
// its count and direction; the clusters' masses sum to 1.
func requireWellFormed(t failer, resp *plumblinev1.ScoreConfidenceResponse) {
	t.Helper()
	scores := scoresOf(resp)
	for _, info := range confidence.Infos() {
		s := scores[info.GetName()]
		switch {
		case s == nil || s.NUsed == nil || s.GetDirection() != info.GetDirection():
			t.Errorf("%s: no score, count or direction: %v", info.GetName(), s)
		case s.GetStatus() != statusOK:
			if s.Value != nil || s.GetReason() == "" || s.GetStatus() == plumblinev1.Status_STATUS_UNSPECIFIED {
				t.Errorf("%s: a missing score is %v", info.GetName(), s)
			}
		case s.Value == nil || math.IsNaN(s.GetValue()) || math.IsInf(s.GetValue(), 0) || (s.GetValue() == 0 && math.Signbit(s.GetValue())):
			t.Errorf("%s: no number: %v", info.GetName(), s)
		default:
			// Sums of probabilities may leave the range by their rounding.
			if r := info.GetRange(); r.Min != nil && s.GetValue() < r.GetMin()-1e-12 || r.Max != nil && s.GetValue() > r.GetMax()+1e-12 {
				t.Errorf("%s = %v is out of its range %v", info.GetName(), s.GetValue(), r)
			}
		}
	}
	var mass float64
	for _, c := range resp.GetClusters() {
		mass += c.GetMass()
	}
	if len(resp.GetClusters()) > 0 && math.Abs(mass-1) > tolerance {
		t.Errorf("the masses sum to %v", mass)
	}
}

// requireStatus checks statuses by field name.
func requireStatus(t *testing.T, resp *plumblinev1.ScoreConfidenceResponse, want plumblinev1.Status, names ...string) {
	t.Helper()
	requireWellFormed(t, resp)
	scores := scoresOf(resp)
	for _, name := range names {
		if got := scores[name]; got.GetStatus() != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

// requireReason checks that a score is missing with a reason that names what
// is wrong.
func requireReason(t *testing.T, s *plumblinev1.Score, status plumblinev1.Status, part string) {
	t.Helper()
	if s.GetStatus() != status || !strings.Contains(s.GetReason(), part) {
		t.Errorf("got %v, want %v naming %q", s, status, part)
	}
}

func requireValue(t *testing.T, name string, s *plumblinev1.Score, want float64) {
	t.Helper()
	requireScore(t, name, s, &want)
}

// everything is a verifier that gives every pair the same scores.
func everything(s entail.Scores) entail.Verifier {
	return entailtest.Func(func(entail.Pair) (entail.Scores, error) { return s, nil })
}

func run(v entail.Verifier, req *plumblinev1.ScoreConfidenceRequest) *plumblinev1.ScoreConfidenceResponse {
	return confidence.Score(context.Background(), v, req)
}
