// Package score has the one way in which a scorer says that a value could not
// be computed: a typed reason instead of NaN, 0 or 1.
package score

import (
	"context"
	"errors"
	"fmt"
	"math"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// Missing is the error of a value that could not be computed. It carries the
// status that the caller sees and a reason in plain words; it never carries
// text of the caller's evidence or answers.
type Missing struct {
	// Status is any status but STATUS_OK and STATUS_UNSPECIFIED.
	Status plumblinev1.Status
	// Reason says what was missing and, where it helps, what to do.
	Reason string
}

// Error implements error.
func (m *Missing) Error() string { return m.Reason }

func missing(status plumblinev1.Status, format string, args []any) *Missing {
	return &Missing{Status: status, Reason: fmt.Sprintf(format, args...)}
}

// NotApplicable says that the value has no meaning for this input.
func NotApplicable(format string, args ...any) *Missing {
	return missing(plumblinev1.Status_STATUS_NOT_APPLICABLE, format, args)
}

// NoEvidence says that there was nothing to score against.
func NoEvidence(format string, args ...any) *Missing {
	return missing(plumblinev1.Status_STATUS_NO_EVIDENCE, format, args)
}

// NoClaims says that there was nothing to score.
func NoClaims(format string, args ...any) *Missing {
	return missing(plumblinev1.Status_STATUS_NO_CLAIMS, format, args)
}

// TooFew says that the formula needs more items.
func TooFew(format string, args ...any) *Missing {
	return missing(plumblinev1.Status_STATUS_TOO_FEW_ITEMS, format, args)
}

// MissingInput says that an input was not given or is unusable.
func MissingInput(format string, args ...any) *Missing {
	return missing(plumblinev1.Status_STATUS_MISSING_INPUT, format, args)
}

// InvalidInput says that an input is malformed.
func InvalidInput(format string, args ...any) *Missing {
	return missing(plumblinev1.Status_STATUS_INVALID_INPUT, format, args)
}

// WrongKind says that the ranking's score kind rules the signal out.
func WrongKind(format string, args ...any) *Missing {
	return missing(plumblinev1.Status_STATUS_WRONG_SCORE_KIND, format, args)
}

// UnsupportedLanguage says that the verifier does not know the language.
func UnsupportedLanguage(format string, args ...any) *Missing {
	return missing(plumblinev1.Status_STATUS_UNSUPPORTED_LANGUAGE, format, args)
}

// TooLong says that a text does not fit the verifier's window.
func TooLong(format string, args ...any) *Missing {
	return missing(plumblinev1.Status_STATUS_TOO_LONG, format, args)
}

// NotAClaim says that the text asserts nothing.
func NotAClaim(format string, args ...any) *Missing {
	return missing(plumblinev1.Status_STATUS_NOT_A_CLAIM, format, args)
}

// Unavailable says that no verifier could be asked.
func Unavailable(format string, args ...any) *Missing {
	return missing(plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE, format, args)
}

// NotChecked says that no verifier could be asked and that the fail mode lets
// the text through.
func NotChecked(format string, args ...any) *Missing {
	return missing(plumblinev1.Status_STATUS_NOT_CHECKED, format, args)
}

// Inconclusive says that the verifier's answer decides nothing.
func Inconclusive(format string, args ...any) *Missing {
	return missing(plumblinev1.Status_STATUS_INCONCLUSIVE, format, args)
}

// NotImplemented says that a later version will compute this value.
func NotImplemented(format string, args ...any) *Missing {
	return missing(plumblinev1.Status_STATUS_NOT_IMPLEMENTED, format, args)
}

// Reason maps any error of a scorer to a Missing: a Missing is itself, a
// passed deadline is STATUS_DEADLINE, and everything else is
// STATUS_VERIFIER_UNAVAILABLE with a text that leaks no cause.
func Reason(err error) *Missing {
	if m, ok := errors.AsType[*Missing](err); ok {
		return m
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return missing(plumblinev1.Status_STATUS_DEADLINE, "the deadline passed before the value was known", nil)
	case errors.Is(err, context.Canceled):
		return missing(plumblinev1.Status_STATUS_DEADLINE, "the call was cancelled before the value was known", nil)
	default:
		return Unavailable("the verifier failed; see the server's log")
	}
}

// Of builds the message of a value or of the error that stands for it. A
// value that is not finite becomes STATUS_INVALID_INPUT: it never leaves the
// service as a number.
func Of(value float64, err error) *plumblinev1.Score {
	if err == nil && (math.IsNaN(value) || math.IsInf(value, 0)) {
		err = InvalidInput("the inputs give no finite value")
	}
	if err != nil {
		m := Reason(err)
		return &plumblinev1.Score{Status: m.Status, Reason: m.Reason}
	}
	return &plumblinev1.Score{Value: &value, Status: plumblinev1.Status_STATUS_OK}
}
