package confidence_test

import (
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
)

// missingOf turns a score without a value back into its error.
func missingOf(s *plumblinev1.Score) error {
	return &score.Missing{Status: s.GetStatus(), Reason: s.GetReason()}
}

func reasonOf(err error) *score.Missing { return score.Reason(err) }
