package corpus

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Check lists what does not hold of a response's tree. An expectation is
//
//   - a value: equal to it, numbers within Tolerance;
//   - {near: x, within: d}: a number that far from x at most;
//   - {at_least: x}, {at_most: x}, or both: a number in that range;
//   - {absent: true}: nothing stands at the path;
//   - {length: n}: a list of n entries;
//   - {contains: text}: a text with that part, or a list with such a text.
func Check(tree any, want map[string]any) []string {
	var broken []string
	for _, path := range slices.Sorted(maps.Keys(want)) {
		value, found := At(tree, path)
		if problem := holds(value, found, want[path]); problem != "" {
			broken = append(broken, path+": "+problem)
		}
	}
	return broken
}

// holds returns what is wrong with a value; empty if it is as expected.
func holds(value any, found bool, want any) string {
	rule, isRule := want.(map[string]any)
	if absent, _ := rule["absent"].(bool); absent {
		if found {
			return "must be absent, is " + show(value)
		}
		return ""
	}
	if !found {
		return "is absent, must be " + show(want)
	}
	if !isRule {
		return equal(value, want)
	}
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(rule)) {
		problems = append(problems, obeys(value, name, rule)...)
	}
	return strings.Join(problems, "; ")
}

func obeys(value any, name string, rule map[string]any) []string {
	limit, isLimit := number(rule[name])
	at, isNumber := number(value)
	list, isList := value.([]any)
	part, isPart := rule[name].(string)
	var ok bool
	switch name {
	case "near":
		within, given := number(rule["within"])
		ok = given && isLimit && isNumber && near(at, limit, within)
	case "within":
		return nil // read with near
	case "at_least":
		ok = isLimit && isNumber && at >= limit
	case "at_most":
		ok = isLimit && isNumber && at <= limit
	case "length":
		ok = isLimit && isList && len(list) == int(limit)
	case "contains":
		ok = isPart && (contains(value, part) || slices.ContainsFunc(list, func(entry any) bool { return contains(entry, part) }))
	default:
		return []string{fmt.Sprintf("%q is no rule", name)}
	}
	if ok {
		return nil
	}
	return []string{fmt.Sprintf("%s, must be %s %s", show(value), name, show(rule[name]))}
}

func contains(value any, part string) bool {
	text, isText := value.(string)
	return isText && strings.Contains(text, part)
}

func equal(value, want any) string {
	if limit, isLimit := number(want); isLimit {
		if at, isNumber := number(value); isNumber && near(at, limit, Tolerance) {
			return ""
		}
	}
	if list, isList := want.([]any); isList {
		have, _ := value.([]any)
		if len(have) != len(list) {
			return fmt.Sprintf("%s, must be %s", show(value), show(want))
		}
		for i := range list {
			if problem := equal(have[i], list[i]); problem != "" {
				return fmt.Sprintf("[%d]: %s", i, problem)
			}
		}
		return ""
	}
	if value == want {
		return ""
	}
	return fmt.Sprintf("%s, must be %s", show(value), show(want))
}

// number reads the numbers of YAML and of protobuf-JSON, which writes those of
// 64 bits as text.
func number(value any) (float64, bool) {
	switch value := value.(type) {
	case float64:
		return value, true
	case int:
		return float64(value), true
	case string:
		parsed, err := strconv.ParseUint(value, 10, 64)
		return float64(parsed), err == nil
	default:
		return 0, false
	}
}
