package confidence

import (
	"context"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// inquiry collects the pairs that the wanted scores need, each once, asks the
// verifier for all of them in one call, and looks the answers up.
type inquiry struct {
	question string
	failOpen bool

	premises map[string]int // answer → index in shown
	shown    []string       // the answers as the verifier sees them
	asked    map[[2]int]int // premise and hypothesis → index in pairs
	pairs    []entail.Pair

	results []entail.Result
	usage   entail.Usage
	err     error // why the call failed as a whole
}

func newInquiry(question string, failOpen bool) *inquiry {
	return &inquiry{
		question: question,
		failOpen: failOpen,
		premises: make(map[string]int),
		asked:    make(map[[2]int]int),
	}
}

// inContext is how an answer is shown to the verifier: "Lyon" says nothing of
// "Paris", but as answers to one question they exclude each other.
func inContext(question, answer string) string {
	if question == "" {
		return answer
	}
	return "Question: " + question + " Answer: " + answer
}

// need asks for premise → hypothesis.
func (q *inquiry) need(premise, hypothesis string) {
	pair := [2]int{q.show(premise), q.show(hypothesis)}
	if _, ok := q.asked[pair]; ok {
		return
	}
	q.asked[pair] = len(q.pairs)
	q.pairs = append(q.pairs, entail.Pair{Premise: q.shown[pair[0]], Hypothesis: q.shown[pair[1]]})
}

// needBoth asks for both directions.
func (q *inquiry) needBoth(a, b string) {
	q.need(a, b)
	q.need(b, a)
}

// needAll asks for every ordered pair of different texts, and of each text
// with itself where diagonal says so.
func (q *inquiry) needAll(texts []string, diagonal bool) {
	for i, a := range texts {
		for j, b := range texts {
			if i != j || diagonal {
				q.need(a, b)
			}
		}
	}
}

func (q *inquiry) show(answer string) int {
	i, ok := q.premises[answer]
	if !ok {
		i = len(q.shown)
		q.premises[answer] = i
		q.shown = append(q.shown, inContext(q.question, answer))
	}
	return i
}

// ask calls the verifier, if there is anything to ask.
func (q *inquiry) ask(ctx context.Context, v entail.Verifier) {
	if len(q.pairs) == 0 {
		return
	}
	if v == nil {
		q.err = q.failure(score.Unavailable("no verifier is configured; configure one, or use the exact rules"))
		return
	}
	batch, err := v.Verify(ctx, q.pairs)
	switch {
	case err != nil:
		q.err = q.failure(err)
	case len(batch.Results) != len(q.pairs):
		q.err = q.failure(score.Unavailable("the verifier answered %d of %d pairs", len(batch.Results), len(q.pairs)))
	default:
		q.results, q.usage = batch.Results, batch.Usage
	}
}

// scores returns the answer to a pair that was needed before ask.
func (q *inquiry) scores(premise, hypothesis string) (entail.Scores, error) {
	if q.err != nil {
		return entail.Scores{}, q.err
	}
	r := q.results[q.asked[[2]int{q.premises[premise], q.premises[hypothesis]}]]
	switch {
	case r.Err != nil:
		return entail.Scores{}, q.failure(r.Err)
	case !wellFormed(r.Scores):
		return entail.Scores{}, q.failure(score.Unavailable("the verifier answered with a number that is no probability"))
	}
	return r.Scores, nil
}

// both returns the answers to both directions.
func (q *inquiry) both(a, b string) (ab, ba entail.Scores, err error) {
	if ab, err = q.scores(a, b); err != nil {
		return ab, ba, err
	}
	ba, err = q.scores(b, a)
	return ab, ba, err
}

// matrix returns the answers to what needAll asked for.
func (q *inquiry) matrix(texts []string, diagonal bool) ([][]entail.Scores, error) {
	m := make([][]entail.Scores, len(texts))
	for i, a := range texts {
		m[i] = make([]entail.Scores, len(texts))
		for j, b := range texts {
			if i == j && !diagonal {
				continue
			}
			s, err := q.scores(a, b)
			if err != nil {
				return nil, err
			}
			m[i][j] = s
		}
	}
	return m, nil
}

// failure is the typed reason of a failed check under the fail mode. Only a
// verifier that cannot be asked falls under it: a text that is too long or a
// passed deadline stays what it is.
func (q *inquiry) failure(err error) error {
	reason := score.Reason(err)
	if q.failOpen && reason.Status == plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE {
		return score.NotChecked("let through without a check: %s", reason.Reason)
	}
	return reason
}

// wellFormed says whether the classes are probabilities.
func wellFormed(s entail.Scores) bool {
	valid := s.Entailment >= 0 && s.Entailment <= 1
	if s.ThreeClass {
		valid = valid && s.Neutral >= 0 && s.Neutral <= 1 && s.Contradiction >= 0 && s.Contradiction <= 1
	}
	return valid
}

// tellsContradiction fails for a verifier of two classes.
func tellsContradiction(scores ...entail.Scores) error {
	for _, s := range scores {
		if !s.ThreeClass {
			return score.MissingInput("the verifier does not tell contradiction from neutral: use one with three classes")
		}
	}
	return nil
}
