package corpus

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Tolerance is how far two numbers may lie apart and still be equal: more than
// a detour through decimal text costs, less than any change of a formula.
const Tolerance = 1e-9

// volatile are the fields that say how an answer came about, not what it is:
// they differ between two calls of one surface.
var volatile = []string{"timing", "cache_hits"}

// Tree is a message as plain values: maps, lists, strings, numbers and booleans
// under proto field names. Fields of no presence are there with their zero
// values; volatile ones are left out.
func Tree(message proto.Message) (any, error) {
	data, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(message)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	return withoutVolatile(tree), nil
}

func withoutVolatile(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		for _, name := range volatile {
			delete(tree, name)
		}
		for name := range tree {
			tree[name] = withoutVolatile(tree[name])
		}
	case []any:
		for i := range tree {
			tree[i] = withoutVolatile(tree[i])
		}
	}
	return tree
}

// Differences lists the paths at which two trees differ.
func Differences(a, b any) []string { return differences("", a, b) }

func differences(path string, a, b any) []string {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return mapDifferences(path, a, b)
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			var found []string
			for i := range a {
				found = append(found, differences(fmt.Sprintf("%s[%d]", path, i), a[i], b[i])...)
			}
			return found
		}
	case float64:
		if b, ok := b.(float64); ok && near(a, b, Tolerance) {
			return nil
		}
	default:
		if a == b {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: %s against %s", path, show(a), show(b))}
}

func mapDifferences(path string, a, b map[string]any) []string {
	names := maps.Clone(a)
	maps.Copy(names, b)
	var found []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		left, inA := a[name]
		right, inB := b[name]
		switch {
		case !inA:
			found = append(found, fmt.Sprintf("%s: absent against %s", at, show(right)))
		case !inB:
			found = append(found, fmt.Sprintf("%s: %s against absent", at, show(left)))
		default:
			found = append(found, differences(at, left, right)...)
		}
	}
	return found
}

func near(a, b, within float64) bool { return a == b || math.Abs(a-b) <= within }

// show is a value in a message for people, cut short.
func show(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if text := string(data); len(text) <= 120 {
		return text
	}
	return string(data[:120]) + "…"
}

// At returns the value at a path such as "claims[0].support.value" and whether
// there is one. The names of a map are steps as well: "signals.max_score".
func At(tree any, path string) (any, bool) {
	for step := range strings.SplitSeq(strings.ReplaceAll(path, "[", ".["), ".") {
		var found bool
		if tree, found = into(tree, step); !found {
			return nil, false
		}
	}
	return tree, true
}

func into(tree any, step string) (any, bool) {
	number, isIndex := strings.CutPrefix(step, "[")
	if !isIndex {
		object, _ := tree.(map[string]any)
		value, found := object[step]
		return value, found
	}
	list, _ := tree.([]any)
	index, err := strconv.Atoi(strings.TrimSuffix(number, "]"))
	if err != nil || index < 0 || index >= len(list) {
		return nil, false
	}
	return list[index], true
}
