package confidence

import (
	"math"
	"strings"

	"plumbline/scorers/answer"
	"plumbline/scorers/score"
)

// responses are the main answer, if there is one, and then the samples that
// count. Responses of equal text are one node; blank ones are never equal.
type responses struct {
	main    string // trimmed; empty if there is no main answer
	samples []Sample
	index   []int     // of each response among the main answer and all samples
	weights []float64 // of each response
	node    []int     // of each response

	texts       []string  // of each node, trimmed
	keys        []string  // of each node: what equal answers share; empty if blank
	nodeWeights []float64 // of each node, summed over its responses
}

// Weights within these bounds, or 0, keep every sum and square of them finite
// and apart from 0.
const minWeight, maxWeight = 1e-9, 1e9

// newResponses leaves out the samples of weight 0.
func newResponses(mainAnswer string, samples []Sample, aliases answer.Aliases) (*responses, error) {
	r := &responses{main: strings.TrimSpace(mainAnswer)}
	nodes := make(map[string]int)
	if r.main != "" {
		r.add(nodes, r.main, 1, 0)
	}
	first := len(r.index)
	for i, s := range samples {
		if s.Weight != 0 && !(s.Weight >= minWeight && s.Weight <= maxWeight) {
			return nil, score.InvalidInput("samples[%d].weight is neither 0 nor from %g to %g", i, minWeight, maxWeight)
		}
		if s.Weight > 0 {
			r.samples = append(r.samples, s)
			r.add(nodes, strings.TrimSpace(s.Text), s.Weight, first+i)
		}
	}
	r.keys = make([]string, len(r.texts))
	for n, text := range r.texts {
		r.keys[n] = aliases.Key(text)
	}
	return r, nil
}

func (r *responses) add(nodes map[string]int, text string, weight float64, index int) {
	node, ok := nodes[text]
	if !ok || text == "" {
		node = len(r.texts)
		nodes[text] = node
		r.texts = append(r.texts, text)
		r.nodeWeights = append(r.nodeWeights, 0)
	}
	r.index = append(r.index, index)
	r.weights = append(r.weights, weight)
	r.node = append(r.node, node)
	r.nodeWeights[node] += weight
}

// first is the position of the first sample among the responses.
func (r *responses) first() int { return len(r.index) - len(r.samples) }

// sampleWeights are the weights without the main answer's.
func (r *responses) sampleWeights() []float64 { return r.weights[r.first():] }

// count is how many responses there are, with a response of weight k counted k
// times. Fractional weights never make it less than the plain number, so that
// an entropy over the responses is at most its logarithm.
func (r *responses) count() float64 {
	var total float64
	for _, w := range r.weights {
		total += w
	}
	return max(total, float64(len(r.index)))
}

// written are the texts of the nodes that are not blank.
func (r *responses) written() []string {
	var texts []string
	for _, t := range r.texts {
		if t != "" {
			texts = append(texts, t)
		}
	}
	return texts
}

// sampleKeys are the keys of the samples.
func (r *responses) sampleKeys() []string {
	keys := make([]string, len(r.samples))
	for i, n := range r.node[r.first():] {
		keys[i] = r.keys[n]
	}
	return keys
}

// mainKey is the key of the main answer; empty if there is none.
func (r *responses) mainKey() string {
	if r.main == "" {
		return ""
	}
	return r.keys[0]
}

// logLikelihoods returns the log-likelihood of every response, minus infinity
// where it is not known (and for the main answer, which carries none), and how
// many are known.
func (r *responses) logLikelihoods(sum bool) (logs []float64, used int, err error) {
	logs = make([]float64, len(r.index))
	for p := range logs {
		logs[p] = math.Inf(-1)
	}
	for i, s := range r.samples {
		p := r.first() + i
		l, ok, err := s.logLikelihood(sum, r.index[p]-r.first())
		if err != nil {
			return nil, 0, err
		}
		if ok {
			logs[p] = l
			used++
		}
	}
	return logs, used, nil
}

// logLikelihood is the sample's log-likelihood: the mean or the sum over its
// tokens where they are given, else the number that the caller gave. The mean
// leaves tokens out that are missing; a sum that lacks a token would be too
// high, and is missing itself.
func (s Sample) logLikelihood(sum bool, index int) (logProb float64, ok bool, err error) {
	if len(s.TokenLogProbs) == 0 {
		if err := checkLogProb(s.LogProb, "samples[%d].logprob", index); err != nil {
			return 0, false, err
		}
		logProb, ok = known(s.LogProb)
		return logProb, ok, nil
	}
	var used int
	for t := range s.TokenLogProbs {
		token := &s.TokenLogProbs[t]
		if err := checkLogProb(token, "samples[%d].token_logprobs[%d]", index, t); err != nil {
			return 0, false, err
		}
		if l, ok := known(token); ok {
			logProb += l
			used++
		}
	}
	switch {
	case used == 0, sum && used < len(s.TokenLogProbs):
		return 0, false, nil
	case sum:
		return logProb, true, nil
	default:
		return logProb / float64(used), true, nil
	}
}

// likelihoodWeights turns log-likelihoods of responses into those that count
// in likelihood-weighted scores: each distinct text once, by its likeliest
// occurrence, or each occurrence as often as its weight says.
func (r *responses) likelihoodWeights(logs []float64, eachOccurrence bool) []float64 {
	counted := make([]float64, len(logs))
	best := make(map[int]int) // node → response
	for p, l := range logs {
		counted[p] = math.Inf(-1)
		if eachOccurrence {
			counted[p] = l + math.Log(r.weights[p])
		} else if q, ok := best[r.node[p]]; !ok || l > logs[q] {
			best[r.node[p]] = p
		}
	}
	if !eachOccurrence {
		for _, p := range best {
			counted[p] = logs[p]
		}
	}
	return counted
}
