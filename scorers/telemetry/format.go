package telemetry

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Number prints a value with three decimals, rounded from its exact binary
// value as C's and Go's %.3f do.
func Number(v float64) string { return fmt.Sprintf("%.3f", v) }

// Bin names the fifth of [0, 1] that a value lies in; each is closed on the
// left, the last on both sides.
func Bin(v float64) string {
	switch {
	case v < 0.2:
		return "very low"
	case v < 0.4:
		return "low"
	case v < 0.6:
		return "medium"
	case v < 0.8:
		return "high"
	default:
		return "very high"
	}
}

// leastTrend is the change that is noise: only a larger one is shown.
const leastTrend = 0.005

// Trend tells how a value moved since the turn before; it is empty for a change
// of at most 0.005.
func Trend(before, now float64) string {
	change := now - before
	switch {
	case math.Abs(change) <= leastTrend:
		return ""
	case change > 0:
		return fmt.Sprintf("IMPROVED %+.3f", change)
	default:
		return fmt.Sprintf("DECREASED %+.3f", change)
	}
}

// maxText bounds a claim, an answer or a reason, in characters.
const maxText = 200

// oneLine makes a text of the caller's safe to stand on a line of the block:
// blanks and control characters become one blank, and what is longer than
// maxText is cut.
func oneLine(text string) string {
	fields := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	text = strings.Join(fields, " ")
	if utf8.RuneCountInString(text) <= maxText {
		return text
	}
	return string([]rune(text)[:maxText]) + "…"
}
