package confidence

import (
	"fmt"
	"slices"
	"strings"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
)

// DincoThreshold is the mean entailment above which, strictly, a sample agrees
// with the main answer in DiNCo's self-consistency.
const DincoThreshold = 0.9

// Clean makes a candidate answer comparable as DiNCo does: its first line,
// without "Answer:" and with blanks squeezed. Case, articles and punctuation
// stay.
func Clean(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.Join(strings.Fields(strings.ReplaceAll(line, "Answer:", "")), " ")
}

// candidateKey is what makes two cleaned candidates one: case and full stops
// do not count.
func candidateKey(cleaned string) string {
	return strings.ReplaceAll(strings.ToLower(cleaned), ".", "")
}

// DistinctCandidates returns the indices of the texts to keep as candidates,
// best first: ordered by logLikelihoods (equal ones in the given order; nil
// means that the texts are ordered already), without those that Clean empties,
// and only the first of those that differ by case and full stops alone.
func DistinctCandidates(texts []string, logLikelihoods []float64) []int {
	order := make([]int, len(texts))
	for i := range order {
		order[i] = i
	}
	if logLikelihoods != nil {
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case logLikelihoods[a] > logLikelihoods[b]:
				return -1
			case logLikelihoods[a] < logLikelihoods[b]:
				return 1
			default:
				return 0
			}
		})
	}
	seen := make(map[string]bool, len(texts))
	return slices.DeleteFunc(order, func(i int) bool {
		cleaned := Clean(texts[i])
		key := candidateKey(cleaned)
		if cleaned == "" || seen[key] {
			return true
		}
		seen[key] = true
		return false
	})
}

// NormalizedBelief is the outcome of NVC with its terms.
type NormalizedBelief struct {
	// NVC is the normalised verbal confidence, in [0, 1].
	NVC float64
	// D is the belief spread over contradicting candidates that NVC divides by
	// if it is above 1.
	D float64
	// W and U have one entry for each alternative that was used: how far it
	// contradicts the main answer, in [0, 1], and by how many candidates its
	// belief is shared, at least 1.
	W, U []float64
	// Used and Dropped count the alternatives with and without P(true).
	Used, Dropped int
}

// NVC is DiNCo's normalised verbal confidence (Wang and Stengel-Eskin 2026).
// Index 0 is the main answer; pTrue[i] is nil where it is not known, and must
// be known for the main answer. entailment(i, j) and contradiction(i, j) are
// P(i entails j) and P(i contradicts j); they are never asked for i = j.
//
//	w_j = (contradiction(0, j) + contradiction(j, 0)) / 2
//	u_j = 1 + Σ entailment(i, j) over alternatives i ≠ j
//	D   = p_0 + Σ p_j·w_j / u_j
//	NVC = p_0 / D if D > 1, else p_0
//
// The 1 in u_j is the alternative's entailment of itself. The main answer
// discounts no alternative. An alternative without P(true) leaves both its own
// term and the sums of the others.
func NVC(pTrue []*float64, entailment, contradiction func(i, j int) float64) NormalizedBelief {
	main := *pTrue[0]
	var used []int
	for i := 1; i < len(pTrue); i++ {
		if pTrue[i] != nil {
			used = append(used, i)
		}
	}
	b := NormalizedBelief{D: main, Used: len(used), Dropped: len(pTrue) - 1 - len(used)}
	for _, j := range used {
		w := (contradiction(0, j) + contradiction(j, 0)) / 2
		u := 1.0
		for _, i := range used {
			if i != j {
				u += entailment(i, j)
			}
		}
		b.W, b.U = append(b.W, w), append(b.U, u)
		b.D += *pTrue[j] * w / u
	}
	b.NVC = main
	if b.D > 1 {
		b.NVC = main / b.D
	}
	return b
}

// DincoConsistency is DiNCo's self-consistency: the weight of the samples
// whose agreement with the main answer is strictly above DincoThreshold, plus
// 1 for the main answer itself, over the weight of all samples plus 1. So five
// samples of which none agrees give 1/6. weights is nil if every sample counts
// once.
func DincoConsistency(agreement, weights []float64) Value {
	if len(agreement) == 0 {
		return missing(0, score.TooFew("self-consistency needs at least one sample"))
	}
	agreeing, total := 1.0, 1.0
	for i, a := range agreement {
		w := weightAt(weights, i)
		total += w
		if a > DincoThreshold {
			agreeing += w
		}
	}
	return value(agreeing/total, len(agreement))
}

// LongFormConsistency is DiNCo's self-consistency of a claim of a long text:
// the plain mean of the claim's support by each sample, in [0, 1]; no
// threshold, and the text itself is not counted.
func LongFormConsistency(support []float64) Value {
	if len(support) == 0 {
		return missing(0, score.TooFew("self-consistency needs at least one sample"))
	}
	var sum float64
	for _, s := range support {
		sum += s
	}
	return value(sum/float64(len(support)), len(support))
}

// FinalConf is the mean of NVC and DiNCo's self-consistency; it is missing if
// either is.
func FinalConf(nvc, consistency Value) Value {
	for _, part := range []struct {
		name string
		Value
	}{{"nvc", nvc}, {"sc_dinco", consistency}} {
		if part.Err != nil {
			return missing(0, withoutPart(part.name, part.Err))
		}
	}
	return value((nvc.Number+consistency.Number)/2, nvc.Used+consistency.Used)
}

// withoutPart turns the reason of a part into the reason of the whole. Too few
// items for the part is a missing input of the whole.
func withoutPart(name string, err error) error {
	reason := *score.Reason(err)
	if reason.Status == plumblinev1.Status_STATUS_TOO_FEW_ITEMS {
		reason.Status = plumblinev1.Status_STATUS_MISSING_INPUT
	}
	reason.Reason = name + " is missing: " + reason.Reason
	return &reason
}

// weightAt is how often item i counts: 1 if there are no weights.
func weightAt(weights []float64, i int) float64 {
	if weights == nil {
		return 1
	}
	return weights[i]
}

var errNoCleanMain = score.MissingInput("main_answer is empty, or its first line is")

// dinco holds what NVC and DiNCo's self-consistency need of one request.
type dinco struct {
	main       string   // cleaned
	pTrue      Value    // of the main answer
	candidates []string // cleaned, distinct, main answer first
	beliefs    []*float64
	repeated   int   // alternatives that repeat another candidate
	err        error // a malformed alternative

	samples []string // cleaned
	weights []float64
	wanted  bool // self-consistency is asked for
}

func newDinco(in Input, r *responses, pTrue Value) *dinco {
	d := &dinco{main: Clean(in.MainAnswer), pTrue: pTrue, weights: r.sampleWeights()}
	for _, s := range r.samples {
		d.samples = append(d.samples, Clean(s.Text))
	}
	d.err = d.takeCandidates(in.Alternatives)
	d.wanted = in.Agreement == AgreeDinco || d.missing() == nil
	return d
}

// takeCandidates puts the main answer first and then the distinct
// alternatives, in the order of their log-likelihood if all have one.
func (d *dinco) takeCandidates(alternatives []Alternative) error {
	texts, logs := []string{d.main}, []float64{0}
	for i, a := range alternatives {
		if err := checkProbability(a.PTrue, "alternatives[%d].p_true", i); err != nil {
			return err
		}
		if err := checkLogProb(a.LogProb, "alternatives[%d].logprob", i); err != nil {
			return err
		}
		texts = append(texts, a.Text)
		if l, ok := known(a.LogProb); ok && logs != nil {
			logs = append(logs, l)
		} else {
			logs = nil
		}
	}
	// A log-likelihood of 0 is the highest there is, and the sort is stable:
	// the main answer stays first.
	for _, i := range DistinctCandidates(texts, logs) {
		d.candidates = append(d.candidates, Clean(texts[i]))
		belief := &d.pTrue.Number
		if i > 0 {
			belief = alternatives[i-1].PTrue
		}
		d.beliefs = append(d.beliefs, belief)
	}
	d.repeated = len(texts) - len(d.candidates)
	return nil
}

// missing says why there is no NVC, before the verifier is asked.
func (d *dinco) missing() error {
	switch {
	case d.main == "":
		return errNoCleanMain
	case d.pTrue.Err != nil:
		return score.Reason(withoutPart("p_true of the main answer", d.pTrue.Err))
	default:
		return d.err
	}
}

// believed are the candidates with P(true), main answer first.
func (d *dinco) believed() (texts []string, beliefs []*float64) {
	for i, b := range d.beliefs {
		if b != nil {
			texts, beliefs = append(texts, d.candidates[i]), append(beliefs, b)
		}
	}
	return texts, beliefs
}

// need asks for what the wanted scores need.
func (d *dinco) need(q *inquiry) {
	if d.missing() == nil {
		texts, _ := d.believed()
		q.needAll(texts, false)
	}
	if !d.wanted || d.main == "" {
		return
	}
	for _, sample := range d.samples {
		if sample != "" && sample != d.main {
			q.needBoth(d.main, sample)
		}
	}
}

// nvc computes NVC from what was asked.
func (d *dinco) nvc(q *inquiry) Value {
	if err := d.missing(); err != nil {
		return missing(0, err)
	}
	texts, beliefs := d.believed()
	scores, err := q.matrix(texts, false)
	if err != nil {
		return missing(0, err)
	}
	for i, row := range scores {
		if err := tellsContradiction(slices.Delete(slices.Clone(row), i, i+1)...); err != nil {
			return missing(0, err)
		}
	}
	b := NVC(beliefs,
		func(i, j int) float64 { return scores[i][j].Entailment },
		func(i, j int) float64 { return scores[i][j].Contradiction })
	v := value(b.NVC, b.Used)
	v.Note = d.note(b.Used)
	return v
}

// note says which alternatives did not count.
func (d *dinco) note(used int) string {
	var remarks []string
	if used == 0 {
		remarks = append(remarks, "no alternative was used, so P(true) was not normalised")
	}
	if unknown := len(d.candidates) - 1 - used; unknown > 0 {
		remarks = append(remarks, fmt.Sprintf("left out without P(true): %d", unknown))
	}
	if d.repeated > 0 {
		remarks = append(remarks, fmt.Sprintf("left out as blank or repeating another candidate: %d", d.repeated))
	}
	return strings.Join(remarks, "; ")
}

// consistency computes DiNCo's self-consistency from what was asked.
func (d *dinco) consistency(q *inquiry) Value {
	switch {
	case len(d.samples) == 0:
		return DincoConsistency(nil, nil)
	case d.main == "":
		return missing(0, errNoCleanMain)
	case !d.wanted:
		return missing(0, score.MissingInput(
			"DiNCo's self-consistency is computed if agreement names it, or the main answer has a P(true)"))
	}
	agreement := make([]float64, len(d.samples))
	for i, sample := range d.samples {
		switch sample {
		case "":
		case d.main:
			agreement[i] = 1
		default:
			ab, ba, err := q.both(d.main, sample)
			if err != nil {
				return missing(0, err)
			}
			agreement[i] = (ab.Entailment + ba.Entailment) / 2
		}
	}
	return DincoConsistency(agreement, d.weights)
}
