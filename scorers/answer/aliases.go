package answer

// Aliases are sets of answers that count as equal. The zero value has none.
type Aliases struct {
	rule  Rule
	heads map[string]string
}

// NewAliases reads sets of equal answers. Sets that share a member are one
// set, so that being equal stays transitive. Blank members are skipped.
func NewAliases(rule Rule, sets [][]string) Aliases {
	a := Aliases{rule: rule, heads: make(map[string]string)}
	for _, set := range sets {
		var first string
		for _, member := range set {
			key := Key(rule, member)
			switch {
			case key == "":
			case first == "":
				first = key
				a.join(key, key)
			default:
				a.join(first, key)
			}
		}
	}
	return a
}

// Key returns what two answers must share to be equal: the answer's own key,
// or one key for all members of its set. It is empty only for a blank text.
func (a Aliases) Key(text string) string { return a.head(Key(a.rule, text)) }

func (a Aliases) head(key string) string {
	for {
		next, ok := a.heads[key]
		if !ok || next == key {
			return key
		}
		key = next
	}
}

func (a Aliases) join(one, other string) { a.heads[a.head(other)] = a.head(one) }
