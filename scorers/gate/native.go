package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
)

// native is a framework's own rule that needs more than comparisons.
type native struct {
	inputs     []nativeInput
	thresholds []string
	can        []plumblinev1.Action
	evaluate   func(f *facts) outcome
	// validate says what is wrong with the thresholds; empty if nothing is.
	validate func(thresholds map[string]float64) string
}

// nativeInput is an input that the rule reads; the policy declares it with the
// same type.
type nativeInput struct {
	name string
	kind plumblinev1.InputType
}

// nativeRule finds a rule by its name.
func nativeRule(name string) (native, bool) {
	r, ok := map[string]func() native{
		"self_ask":        selfAskRule,
		"flare":           flareRule,
		"verify_and_edit": verifyAndEditRule,
		"crag":            cragRule,
		"adaptive_rag":    adaptiveRAGRule,
		"self_rag":        selfRAGRule,
		"dragin":          draginRule,
		"calvert_budget":  calvertBudgetRule,
		"query_shape":     queryShapeRule,
	}[name]
	if !ok {
		return native{}, false
	}
	return r(), true
}

func (c *compiler) compileNative(r *plumblinev1.NativeRule) rule {
	n, ok := nativeRule(r.GetName())
	if !ok {
		c.fail("native_rule.name", "there is no native rule %q", r.GetName())
		return nil
	}
	for _, need := range n.inputs {
		c.usedInputs[need.name] = true
		i := slices.IndexFunc(c.inputs, func(in input) bool { return in.name == need.name })
		switch {
		case i < 0:
			c.fail("inputs", "the native rule %s reads %q (%s); declare it", r.GetName(), need.name, typeName(need.kind))
		case c.inputs[i].kind != need.kind:
			c.fail(fmt.Sprintf("inputs[%d].type", i), "the native rule %s reads %s as %s", r.GetName(), need.name, typeName(need.kind))
		}
	}
	for _, name := range n.thresholds {
		c.threshold("thresholds", name)
	}
	return n
}

func (n native) actions() []plumblinev1.Action { return distinct(n.can...) }

func (n native) decide(f *facts) outcome { return n.evaluate(f) }

func (n native) checkThresholds(c *compiler) {
	if n.validate == nil {
		return
	}
	if fault := n.validate(c.policy.GetThresholds()); fault != "" {
		c.fail("thresholds", "%s", fault)
	}
}

// giveUp is the outcome of a rule that cannot decide.
func giveUp(reason *score.Missing) outcome { return outcome{undecided: reason} }

// choose is a shorthand for a rule of two actions.
func choose(first bool, yes, no plumblinev1.Action) plumblinev1.Action {
	if first {
		return yes
	}
	return no
}

// selfAskRule: search for the follow-up question that the model asks; stop when
// it gives its final answer. Of several markers the last line's counts, since
// that is where generation stopped.
func selfAskRule() native {
	const completion = "completion"
	return native{
		inputs: []nativeInput{{completion, plumblinev1.InputType_INPUT_TYPE_TEXT}},
		can:    []plumblinev1.Action{plumblinev1.Action_ACTION_RETRIEVE, plumblinev1.Action_ACTION_COMMIT},
		evaluate: func(f *facts) outcome {
			followUp, text, found := lastMarker(f.value(completion).text)
			if !found {
				return giveUp(score.MissingInput("the completion has neither a follow-up question nor a final answer"))
			}
			return outcome{
				action:   choose(followUp, plumblinev1.Action_ACTION_RETRIEVE, plumblinev1.Action_ACTION_COMMIT),
				trace:    []Term{{Term: "follow-up question", Passed: followUp}},
				noMargin: score.NotApplicable("the rule reads a marker; there is no threshold"),
				query:    text,
			}
		},
	}
}

// lastMarker finds the last line that asks a follow-up question or gives the
// final answer, and the text after its marker. The text may have colons of its
// own.
func lastMarker(completion string) (followUp bool, text string, found bool) {
	for line := range strings.Lines(completion) {
		if rest, ok := afterMarker(line, "follow up:", "follow-up:", "followup:"); ok {
			followUp, text, found = true, rest, true
		} else if rest, ok := afterMarker(line, "so the final answer is:", "the final answer is:", "final answer:"); ok {
			followUp, text, found = false, rest, true
		}
	}
	return followUp, text, found
}

// afterMarker matches a marker at the start of a line in any case.
func afterMarker(line string, markers ...string) (string, bool) {
	line = strings.TrimLeft(strings.TrimSpace(line), "*-# ")
	for _, marker := range markers {
		if len(line) >= len(marker) && strings.EqualFold(line[:len(marker)], marker) {
			return strings.TrimSpace(strings.Trim(line[len(marker):], "*")), true
		}
	}
	return "", false
}

// flareRule: look up what the draft is about if any of its tokens is doubtful;
// the query is the draft without its most doubtful tokens. With the least
// probability alone it decides the same, without a query.
func flareRule() native {
	const (
		probabilities, tokens, least = "token_probabilities", "tokens", "min_token_probability"
		retrieve, mask               = "retrieve", "mask"
	)
	return native{
		inputs: []nativeInput{
			{probabilities, plumblinev1.InputType_INPUT_TYPE_NUMBERS},
			{tokens, plumblinev1.InputType_INPUT_TYPE_TEXTS},
			{least, plumblinev1.InputType_INPUT_TYPE_NUMBER},
		},
		thresholds: []string{retrieve, mask},
		can:        []plumblinev1.Action{plumblinev1.Action_ACTION_RETRIEVE, plumblinev1.Action_ACTION_NO_RETRIEVAL},
		evaluate: func(f *facts) outcome {
			ps, words := f.value(probabilities).numbers, f.value(tokens).texts
			p := f.value(least)
			switch {
			case len(ps) == 0 && p.missing != nil:
				return giveUp(score.MissingInput("neither token_probabilities nor min_token_probability was given"))
			case len(ps) == 0:
				words = nil // nothing says which of them are doubtful
			case len(words) > 0 && len(words) != len(ps):
				return giveUp(score.InvalidInput("tokens and token_probabilities have different lengths (%d and %d)", len(words), len(ps)))
			default:
				p = Number(slices.Min(ps))
			}
			threshold := f.thresholds[retrieve]
			fires := p.number <= threshold
			out := outcome{
				action: choose(fires, plumblinev1.Action_ACTION_RETRIEVE, plumblinev1.Action_ACTION_NO_RETRIEVAL),
				trace:  []Term{comparisonTerm(least, p.number, plumblinev1.Comparison_COMPARISON_LESS_OR_EQUAL, threshold, fires)},
				margin: math.Abs(p.number - threshold),
			}
			if fires {
				out.query = maskedQuery(words, ps, f.thresholds[mask])
			}
			return out
		},
		validate: func(t map[string]float64) string {
			if t[mask] > t[retrieve] {
				return "mask must not exceed retrieve: only doubtful tokens are masked"
			}
			return ""
		},
	}
}

// maskedQuery joins the tokens whose probability lies above the mask.
func maskedQuery(tokens []string, probabilities []float64, mask float64) string {
	var b strings.Builder
	for i, token := range tokens {
		if probabilities[i] > mask {
			b.WriteString(token)
		} else {
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// verifyAndEditRule: look up and edit if fewer than half of the chains agree.
func verifyAndEditRule() native {
	const count, total, share = "majority_count", "majority_total", "majority_share"
	return native{
		inputs: []nativeInput{
			{count, plumblinev1.InputType_INPUT_TYPE_NUMBER},
			{total, plumblinev1.InputType_INPUT_TYPE_NUMBER},
		},
		thresholds: []string{share},
		can:        []plumblinev1.Action{plumblinev1.Action_ACTION_RETRIEVE, plumblinev1.Action_ACTION_NO_RETRIEVAL},
		evaluate: func(f *facts) outcome {
			n, of := f.value(count).number, f.value(total).number
			if of < 1 || n < 0 || n > of {
				return giveUp(score.InvalidInput("majority_count must lie between 0 and majority_total, and majority_total must be at least 1"))
			}
			threshold := f.thresholds[share] * of
			if n/of == f.thresholds[share] {
				threshold = n // 0.28 of 25 is 7, which the product exceeds by rounding
			}
			edit := n < threshold
			return outcome{
				action: choose(edit, plumblinev1.Action_ACTION_RETRIEVE, plumblinev1.Action_ACTION_NO_RETRIEVAL),
				trace:  []Term{comparisonTerm(count, n, plumblinev1.Comparison_COMPARISON_LESS, threshold, edit)},
				margin: math.Abs(n - threshold),
			}
		},
	}
}

// cragRule: one passage at or above the upper threshold makes the retrieval
// correct; all below the lower one make it incorrect; else it is ambiguous.
func cragRule() native {
	const relevance, upper, lower = "passage_relevance", "upper", "lower"
	return native{
		inputs:     []nativeInput{{relevance, plumblinev1.InputType_INPUT_TYPE_NUMBERS}},
		thresholds: []string{upper, lower},
		can: []plumblinev1.Action{
			plumblinev1.Action_ACTION_COMMIT, plumblinev1.Action_ACTION_RETRIEVE, plumblinev1.Action_ACTION_ESCALATE,
		},
		evaluate: func(f *facts) outcome {
			best := slices.Max(f.value(relevance).numbers)
			hi, lo := f.thresholds[upper], f.thresholds[lower]
			correct, incorrect := best >= hi, best < lo
			out := outcome{
				trace: []Term{
					comparisonTerm("max(passage_relevance)", best, plumblinev1.Comparison_COMPARISON_GREATER_OR_EQUAL, hi, correct),
					comparisonTerm("max(passage_relevance)", best, plumblinev1.Comparison_COMPARISON_LESS, lo, incorrect),
				},
				margin: min(math.Abs(best-hi), math.Abs(best-lo)),
				action: plumblinev1.Action_ACTION_RETRIEVE,
			}
			switch {
			case correct:
				out.action = plumblinev1.Action_ACTION_COMMIT
			case incorrect:
				out.action = plumblinev1.Action_ACTION_ESCALATE
			}
			return out
		},
		validate: func(t map[string]float64) string {
			if t[lower] >= t[upper] {
				return "lower must lie below upper"
			}
			return ""
		},
	}
}

// labelDistribution is the input of the rules that read label probabilities.
const labelDistribution = "label_distribution"

// adaptiveRAGRule: the most probable complexity label; of equals the costlier.
func adaptiveRAGRule() native {
	byLabel := []struct {
		label  string
		action plumblinev1.Action
	}{
		{"C", plumblinev1.Action_ACTION_MULTI_STEP},
		{"B", plumblinev1.Action_ACTION_SINGLE_STEP},
		{"A", plumblinev1.Action_ACTION_NO_RETRIEVAL},
	}
	return native{
		inputs: []nativeInput{{labelDistribution, plumblinev1.InputType_INPUT_TYPE_DISTRIBUTION}},
		can: []plumblinev1.Action{
			plumblinev1.Action_ACTION_NO_RETRIEVAL, plumblinev1.Action_ACTION_SINGLE_STEP, plumblinev1.Action_ACTION_MULTI_STEP,
		},
		evaluate: func(f *facts) outcome {
			p := f.value(labelDistribution).distribution
			best, second := 0.0, 0.0
			out := outcome{}
			for _, l := range byLabel {
				out.trace = append(out.trace, Term{Term: l.label, Value: p[l.label], Numeric: true})
				if p[l.label] > best {
					best, second, out.action = p[l.label], best, l.action
				} else {
					second = max(second, p[l.label])
				}
			}
			if best == 0 {
				return giveUp(score.MissingInput("none of the labels A, B and C has a probability"))
			}
			out.margin = best - second
			return out
		},
	}
}

// selfRAGRule: the share of the retrieval token among the two reflection
// tokens, on probabilities. A token that is not among the most probable ones
// counts as 0.
func selfRAGRule() native {
	const (
		yes, no   = "[Retrieval]", "[No Retrieval]"
		threshold = "retrieve"
	)
	return native{
		inputs:     []nativeInput{{labelDistribution, plumblinev1.InputType_INPUT_TYPE_DISTRIBUTION}},
		thresholds: []string{threshold},
		can:        []plumblinev1.Action{plumblinev1.Action_ACTION_RETRIEVE, plumblinev1.Action_ACTION_NO_RETRIEVAL},
		evaluate: func(f *facts) outcome {
			p := f.value(labelDistribution).distribution
			mass := p[yes] + p[no]
			if mass == 0 {
				return giveUp(score.MissingInput("neither %s nor %s has a probability", yes, no))
			}
			share, t := p[yes]/mass, f.thresholds[threshold]
			fires := share > t
			return outcome{
				action: choose(fires, plumblinev1.Action_ACTION_RETRIEVE, plumblinev1.Action_ACTION_NO_RETRIEVAL),
				trace:  []Term{comparisonTerm("share of "+yes, share, plumblinev1.Comparison_COMPARISON_GREATER, t, fires)},
				margin: math.Abs(share - t),
			}
		},
	}
}

// draginRule: search if attention times entropy of any content token of the
// sentence exceeds the threshold.
func draginRule() native {
	const scores, threshold = "token_scores", "theta"
	return native{
		inputs:     []nativeInput{{scores, plumblinev1.InputType_INPUT_TYPE_NUMBERS}},
		thresholds: []string{threshold},
		can:        []plumblinev1.Action{plumblinev1.Action_ACTION_RETRIEVE, plumblinev1.Action_ACTION_NO_RETRIEVAL},
		evaluate: func(f *facts) outcome {
			worst, t := slices.Max(f.value(scores).numbers), f.thresholds[threshold]
			fires := worst > t
			return outcome{
				action: choose(fires, plumblinev1.Action_ACTION_RETRIEVE, plumblinev1.Action_ACTION_NO_RETRIEVAL),
				trace:  []Term{comparisonTerm("max(token_scores)", worst, plumblinev1.Comparison_COMPARISON_GREATER, t, fires)},
				margin: math.Abs(worst - t),
			}
		},
	}
}

// calvertBudgetRule: what CalVerT's code does when the turns run out. A usable
// answer is committed if it is grounded, or else if the generator is very sure
// of it; all comparisons are inclusive.
func calvertBudgetRule() native {
	const mean, least, conf, usable = "g_mean", "g_min", "final_conf", "usable"
	number := plumblinev1.InputType_INPUT_TYPE_NUMBER
	return native{
		inputs: []nativeInput{
			{mean, number},
			{least, number},
			{conf, number},
			{usable, plumblinev1.InputType_INPUT_TYPE_BOOL},
		},
		thresholds: []string{mean, least, conf},
		can:        []plumblinev1.Action{plumblinev1.Action_ACTION_COMMIT, plumblinev1.Action_ACTION_DECOMPOSE},
		evaluate: func(f *facts) outcome {
			out := outcome{action: plumblinev1.Action_ACTION_DECOMPOSE, noMargin: score.NotApplicable("the rule has no single deciding input")}
			passed := map[string]bool{}
			for _, name := range []string{mean, least, conf} {
				v := f.value(name)
				if v.missing != nil {
					continue
				}
				passed[name] = v.number >= f.thresholds[name]
				out.trace = append(out.trace, comparisonTerm(name, v.number, plumblinev1.Comparison_COMPARISON_GREATER_OR_EQUAL, f.thresholds[name], passed[name]))
			}
			if len(out.trace) == 0 {
				return giveUp(score.MissingInput("neither grounding nor confidence was given"))
			}
			answer := f.value(usable)
			canCommit := answer.missing != nil || answer.flag
			if canCommit && (passed[mean] && passed[least] || passed[conf]) {
				out.action = plumblinev1.Action_ACTION_COMMIT
			}
			return out
		},
	}
}

// queryShapeRule: how to escalate. A question with several entities, or a long
// one, most likely needs a hop that is not in the pool: decompose it. Else
// what is needed is most likely in the pool but ranked too low: rerank.
func queryShapeRule() native {
	const question, entities, words = "question", "entities", "words"
	return native{
		inputs: []nativeInput{
			{question, plumblinev1.InputType_INPUT_TYPE_TEXT},
			{entities, plumblinev1.InputType_INPUT_TYPE_NUMBER},
		},
		thresholds: []string{entities, words},
		can:        []plumblinev1.Action{plumblinev1.Action_ACTION_DECOMPOSE, plumblinev1.Action_ACTION_ESCALATE},
		evaluate: func(f *facts) outcome {
			out := outcome{}
			atLeast := func(name string, v float64) {
				t := f.thresholds[name]
				out.trace = append(out.trace, comparisonTerm(name, v, plumblinev1.Comparison_COMPARISON_GREATER_OR_EQUAL, t, v >= t))
			}
			if v := f.value(entities); v.missing == nil {
				atLeast(entities, v.number)
			}
			if v := f.value(question); v.missing == nil {
				atLeast(words, float64(len(strings.Fields(v.text))))
			}
			if len(out.trace) == 0 {
				return giveUp(score.MissingInput("neither the question nor its number of entities was given"))
			}
			long := slices.ContainsFunc(out.trace, func(t Term) bool { return t.Passed })
			out.action = choose(long, plumblinev1.Action_ACTION_DECOMPOSE, plumblinev1.Action_ACTION_ESCALATE)
			out.noMargin = score.NotApplicable("the rule counts in different units")
			return out
		},
	}
}
