package confidence

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"plumbline/scorers/score"
)

// Scale is the scale of a verbalised confidence.
type Scale int

const (
	// ScaleFromText reads the scale off the text: a percent sign, a fraction,
	// or a number above 1 mean a percentage or a share.
	ScaleFromText Scale = iota
	// ScaleUnit runs from 0 to 1.
	ScaleUnit
	// ScalePercent runs from 0 to 100.
	ScalePercent
	// ScaleTen runs from 0 to 10.
	ScaleTen
)

// VerbalPhrase is an expression of likelihood with the probability that it is
// read as.
type VerbalPhrase struct {
	Phrase      string
	Probability float64
}

// VerbalPhrases returns the table by which words are read. The probabilities
// are the midpoints of the seven ranges of Intelligence Community Directive
// 203 (2015): 1–5, 5–20, 20–45, 45–55, 55–80, 80–95 and 95–99 per cent. The
// expressions of likelihood stand where the directive puts them; those of
// sureness ("very sure") are assigned to the same ranges by us.
func VerbalPhrases() []VerbalPhrase {
	ranges := []struct {
		probability float64
		phrases     []string
	}{
		{0.03, []string{"almost no chance", "remote chance", "remote"}},
		{0.125, []string{"very unlikely", "highly unlikely", "extremely unlikely", "highly improbable", "very low confidence", "very low"}},
		{0.325, []string{"unlikely", "improbable", "low confidence", "low"}},
		{0.5, []string{"roughly even chance", "roughly even odds", "even chance", "even odds", "medium confidence", "moderate confidence", "medium", "moderate"}},
		{0.675, []string{"likely", "probable", "probably", "fairly sure", "fairly confident", "fairly certain", "quite sure", "quite confident", "reasonably sure", "reasonably confident", "i am sure", "i'm sure", "i am confident", "i'm confident", "i am certain", "i'm certain"}},
		{0.875, []string{"very likely", "highly likely", "extremely likely", "very probable", "highly probable", "very sure", "very confident", "highly confident", "very certain", "high confidence", "high"}},
		{0.97, []string{"almost certain", "almost certainly", "nearly certain", "absolutely sure", "absolutely certain", "completely sure", "completely certain", "extremely confident", "extremely sure", "very high confidence", "very high"}},
	}
	var table []VerbalPhrase
	for _, r := range ranges {
		for _, phrase := range r.phrases {
			table = append(table, VerbalPhrase{Phrase: phrase, Probability: r.probability})
		}
	}
	return table
}

// isLevel says whether a phrase speaks of confidence only where one was asked
// for, as the value of the field or the whole reply: "high" in a sentence may
// be about anything.
func isLevel(phrase string) bool {
	switch phrase {
	case "remote", "very low", "low", "medium", "moderate", "high", "very high":
		return true
	default:
		return false
	}
}

var errNoConfidence = score.MissingInput("no confidence could be read in raw_output")

const number = `[-+−]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:[eE][-+]?\d+)?`

// A quantity is a number with what says its scale: a percent sign, or the
// whole that it is a part of. A second number after a dash makes a range.
const (
	unit        = `\s*(%|per\s?cent\b|(?:/|out\s+of)\s*(` + number + `))`
	rangeEnd    = `(\s*(?:-|–|—|to\b)\s*\d)?`
	quantity    = `(` + number + `)(?:` + unit + `)?` + rangeEnd
	quantityOfN = `(` + number + `)` + unit + rangeEnd
	// between are the signs, words and bracketed remarks, such as the scale
	// "(0-100)", that may stand between the word confidence and its number. A
	// list of what may stand there keeps "confidence that the answer is 42"
	// from being read as 42.
	between = "(?:[\\s:=*\"'_|~≈>`]|[-–—]\\s|\\([^()\\n]{0,40}\\)|" +
		`\b(?:level|score|rating|value|estimate|percentage|probability|in|of|the|this|my|answer|is|was|at|about|around|approximately|roughly|i|would|d|say)\b){0,24}`
)

var (
	wholeQuantity = regexp.MustCompile(`(?i)^` + quantity + `$`)
	// "Confidence (0-100): 85".
	afterWord = regexp.MustCompile(`(?i)\b(?:confidence|certainty)\b` + between + quantity)
	interval  = regexp.MustCompile(`(?i)^\s+(?:interval|level)`)
	// "I am 85% sure".
	beforeWord = regexp.MustCompile(`(?i)(?:^|[^\w.,/−+-])` + quantityOfN + `\s+(?:sure|certain|confident|confidence|certainty)\b`)
)

// ParseVerbalized reads the confidence that a reply states, in [0, 1]. It
// tries, in this order:
//
//   - the whole reply, or else the last complete JSON object in it (fenced or
//     not) that has a field "confidence"; its value is a number, or a string
//     as below;
//   - the last "confidence: 85%", "confidence: 85/100" or "85% sure" that is not
//     negated or a bound ("not 100% sure", "less than 50% sure");
//   - a reply that is nothing but a number;
//   - the phrases of VerbalPhrases, if all that occur mean the same and none
//     is negated.
//
// A number without a scale is taken by scale; a percent sign or a fraction in
// the text says more than scale does. Under ScaleFromText a number up to 1 is
// a share and one above 1 a percentage; a plain "1" is read as certainty, with
// a note. What is out of range, a range of numbers, or not to be read is
// missing: a gate must not take it for a number.
func ParseVerbalized(reply string, scale Scale) Value {
	reply = strings.TrimSpace(reply)
	if reply == "" {
		return missing(0, score.MissingInput("raw_output is empty"))
	}
	if field, ok := lastConfidenceField(reply); ok {
		return fieldValue(field, scale)
	}
	if m := lastQuantity(reply); m != nil {
		return m.value(scale)
	}
	return plainValue(reply, scale)
}

// fieldValue reads the value of a JSON field.
func fieldValue(field json.RawMessage, scale Scale) Value {
	var text string
	if json.Unmarshal(field, &text) != nil {
		text = string(field)
	}
	return plainValue(strings.TrimSpace(text), scale)
}

// plainValue reads a text that is nothing but a number, or has a phrase.
func plainValue(text string, scale Scale) Value {
	if m := wholeQuantity.FindStringSubmatch(strings.TrimRight(text, ".! ")); m != nil {
		return newQuantity(m[1:]).value(scale)
	}
	return phraseValue(text)
}

// quantityMatch is a number as it stands in a text.
type quantityMatch struct{ number, unit, whole, rangeEnd string }

func newQuantity(groups []string) *quantityMatch {
	return &quantityMatch{number: groups[0], unit: groups[1], whole: groups[2], rangeEnd: groups[3]}
}

// lastQuantity finds the last number in reply that the words say is a
// confidence. A number at the very end of a JSON object that was cut off may
// have lost digits and is not one, and a confidence interval is none.
func lastQuantity(reply string) *quantityMatch {
	var last *quantityMatch
	lastStart := -1
	for _, pattern := range []*regexp.Regexp{afterWord, beforeWord} {
		for _, at := range pattern.FindAllStringSubmatchIndex(reply, -1) {
			start, rest := at[2], reply[at[1]:]
			cutOff := rest == "" && at[4] < 0 && strings.Contains(reply[:start], "{")
			if start <= lastStart || cutOff || interval.MatchString(rest) || denied(reply[:start]) {
				continue
			}
			groups := make([]string, 4)
			for g := range groups {
				if from := at[2*g+2]; from >= 0 {
					groups[g] = reply[from:at[2*g+3]]
				}
			}
			last, lastStart = newQuantity(groups), start
		}
	}
	return last
}

// denial is what may end before a number that is then not what is meant: a negation or
// a bound, and words that carry it on. A list of these keeps "not Lyon but 80% sure" and
// an answer "No" in the line before from taking the number away.
var denial = regexp.MustCompile(`(?i)(?:\b(?:not|never|no|hardly|cannot|without|nowhere\s+near|far\s+from|less\s+than|lower\s+than|at\s+most|up\s+to|under|below)|n['’]t)` +
	`(?:[ \t]+(?:(?:think|believe|say|feel|claim)[ \t]+(?:that[ \t]+)?(?:i[ \t]+am|i['’]m)|` +
	`an?|the|at|all|any|be|been|being|have|having|even|quite|really|exactly|fully|completely|entirely|necessarily|more|than|over|about|around)){0,4}[ \t]+$`)

// denied says whether the text before a number negates it or makes it a bound.
func denied(before string) bool {
	const near = 80 // bytes: more than four words
	return denial.MatchString(before[max(0, len(before)-near):])
}

// value is the number in [0, 1].
func (q *quantityMatch) value(scale Scale) Value {
	x, err := parseNumber(q.number)
	if err != nil || q.rangeEnd != "" {
		return missing(0, errNoConfidence)
	}
	whole := 1.0
	var note string
	switch {
	case q.whole != "":
		if whole, err = parseNumber(q.whole); err != nil || whole <= 0 {
			return missing(0, errNoConfidence)
		}
	case q.unit != "", scale == ScalePercent:
		whole = 100
	case scale == ScaleTen:
		whole = 10
	case scale == ScaleFromText && x > 1:
		whole = 100
	case scale == ScaleFromText && q.number == "1":
		note = "a plain 1 was read as certainty, not as 1 %; state confidence_scale to rule one of them out"
	}
	p := x / whole
	if !(p >= 0 && p <= 1) {
		return missing(0, score.MissingInput("the confidence stated in raw_output is out of its range"))
	}
	return Value{Number: p, Used: 1, Note: note}
}

// parseNumber reads a number with a point or a decimal comma.
func parseNumber(text string) (float64, error) {
	return strconv.ParseFloat(strings.NewReplacer(",", ".", "−", "-").Replace(text), 64)
}

// jsonBudget bounds the bytes that the search for JSON objects reads, all
// attempts together: a reply of nothing but opening braces must not cost
// quadratic time.
const jsonBudget = 1 << 22

// lastConfidenceField returns the field "confidence" of reply, if it is a JSON
// object, or of the last complete JSON object in it that has one. An object
// inside of another complete one is not looked at.
func lastConfidenceField(reply string) (json.RawMessage, bool) {
	var last json.RawMessage
	var found bool
	for start, budget := 0, jsonBudget; ; {
		brace := strings.IndexByte(reply[start:], '{')
		if brace < 0 {
			return last, found
		}
		start += brace
		decoder := json.NewDecoder(strings.NewReader(reply[start:]))
		var object map[string]json.RawMessage
		length := 1
		if err := decoder.Decode(&object); err != nil {
			budget -= readBytes(err, len(reply)-start)
		} else {
			length = int(decoder.InputOffset())
			budget -= length
		}
		if budget < 0 {
			return nil, false
		}
		start += length
		// Sorted, "Confidence" comes before "confidence", which wins.
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if strings.EqualFold(name, "confidence") {
				last, found = object[name], true
			}
		}
	}
}

// readBytes is how far a decoder came before it failed.
func readBytes(err error, rest int) int {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return int(syntax.Offset) + 1
	}
	return rest
}

// phraseValue reads the phrases of a text. A longer phrase hides the shorter
// ones inside of it.
func phraseValue(text string) Value {
	probabilities := make(map[string]float64)
	for _, p := range VerbalPhrases() {
		probabilities[p.Phrase] = p.Probability
	}
	words := strings.FieldsFunc(strings.ReplaceAll(strings.ToLower(text), "’", "'"), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '\''
	})
	var result Value
	for at := 0; at < len(words); {
		phrase, end := phraseAt(probabilities, words, at)
		switch {
		case end == at:
			at++
			continue
		case isLevel(phrase) && !levelAsked(words, at, end):
		case negated(words, at, end), result.Used > 0 && result.Number != probabilities[phrase]:
			return missing(0, score.MissingInput("the words in raw_output state no one confidence"))
		default:
			result = Value{Number: probabilities[phrase], Used: 1, Note: "read from words by the table of phrases"}
		}
		at = end
	}
	if result.Used == 0 {
		return missing(0, errNoConfidence)
	}
	return result
}

// longestPhrase is in words.
const longestPhrase = 3

// phraseAt returns the longest phrase that begins at words[at] and where it
// ends; the end is at itself if none does.
func phraseAt(probabilities map[string]float64, words []string, at int) (phrase string, end int) {
	for end := min(at+longestPhrase, len(words)); end > at; end-- {
		phrase := strings.Join(words[at:end], " ")
		if _, ok := probabilities[phrase]; ok {
			return phrase, end
		}
	}
	return "", at
}

// levelAsked says whether a level is all there is, or stands within three
// words after "confidence" ("Confidence level is high").
func levelAsked(words []string, at, end int) bool {
	return end-at == len(words) || slices.ContainsFunc(words[max(at-3, 0):at], func(w string) bool {
		return w == "confidence" || w == "certainty"
	})
}

// negated looks for a negation among the four words before a phrase ("don't
// think it is likely"), and for one right after it ("probably not").
func negated(words []string, at, end int) bool {
	near := slices.Concat(words[max(at-4, 0):at], words[end:min(end+1, len(words))])
	return slices.ContainsFunc(near, func(w string) bool {
		switch w {
		case "not", "never", "no", "hardly", "cannot":
			return true
		default:
			return strings.HasSuffix(w, "n't")
		}
	})
}
