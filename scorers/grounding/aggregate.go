package grounding

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// graded is a claim with its scores.
type graded struct {
	claim
	support float64
	// contradiction is meaningful unless noContradiction says why it is not.
	contradiction   float64
	noContradiction *score.Missing
	verdict         plumblinev1.Verdict
	best            hit // highest support, of the claim's worst part
	against         hit // highest contradiction
	parts           int // in which the claim was scored
	mismatches      []mismatch
}

// cost is what grading claims took.
type cost struct {
	usage  entail.Usage
	pairs  int
	sets   map[*chunkSet]bool // that were asked
	scored map[*chunkSet]bool // all of whose chunks were scored for some claim
}

func newCost() cost {
	return cost{sets: map[*chunkSet]bool{}, scored: map[*chunkSet]bool{}}
}

func (c *cost) add(other cost) {
	c.usage.Add(other.usage)
	c.pairs += other.pairs
	for s := range other.sets {
		c.sets[s] = true
	}
	for s := range other.scored {
		c.scored[s] = true
	}
}

// grade scores claims. Equal hypotheses are asked once.
func (ss *session) grade(ctx context.Context, claims []claim) ([]graded, cost) {
	out := make([]graded, len(claims))
	of := make([][]*job, len(claims)) // the jobs of each claim
	byHypothesis := map[string]*job{}
	var jobs []*job
	for i, c := range claims {
		out[i].claim = c
		parts, why := ss.plan(c)
		if err := ctx.Err(); err != nil && why == nil {
			why = ss.reason(err)
		}
		if out[i].why = why; why != nil {
			continue
		}
		for _, p := range parts {
			j, ok := byHypothesis[p]
			if !ok {
				w, fits := ss.windowOf(p)
				if !fits {
					out[i].why = score.TooLong("the claim is longer than the verifier's window leaves room for")
					break
				}
				set, err := ss.evidence.cut(ctx, w)
				if err != nil {
					out[i].why = ss.reason(err)
					break
				}
				j = &job{hypothesis: p, set: set, multiHop: ss.multiHop}
				byHypothesis[p] = j
				jobs = append(jobs, j)
			}
			of[i] = append(of[i], j)
		}
	}
	v := verification{verifier: ss.verifier}
	v.run(ctx, jobs)
	spent := newCost()
	spent.usage, spent.pairs = v.usage, v.asked
	for _, j := range jobs {
		spent.sets[j.set] = true
		if j.err == nil {
			spent.scored[j.set] = true
		}
	}
	read := reading{}
	for i := range out {
		if out[i].why == nil {
			ss.judge(ctx, &out[i], of[i], read)
		}
	}
	return out, spent
}

// plan returns the parts of a claim to score, or why it is not scored.
func (ss *session) plan(c claim) ([]string, *score.Missing) {
	if c.why != nil {
		return nil, c.why
	}
	if ss.fault != nil {
		return nil, ss.fault
	}
	if why := ss.languages.check(c.hypothesis); why != nil {
		return nil, why
	}
	return ss.parts(c)
}

// judge folds the parts of a claim: all of them must be supported, any of them
// may be contradicted. read has what was read of evidence for other claims.
func (ss *session) judge(ctx context.Context, g *graded, jobs []*job, read reading) {
	g.parts = len(jobs)
	var winners []string
	for i, j := range jobs {
		if j.err != nil {
			g.why = ss.reason(j.err)
			return
		}
		if i == 0 || j.best.value < g.support {
			g.support, g.best = j.best.value, j.best
		}
		g.against = better(g.against, j.against)
		if j.two {
			g.noContradiction = score.NotApplicable("the verifier has two classes and does not tell contradiction from lack of support")
		}
		if premise := j.best.chunk.premise; !slices.Contains(winners, premise) {
			winners = append(winners, premise)
		}
	}
	if err := ctx.Err(); err != nil { // comparing takes time
		g.why = ss.reason(err)
		return
	}
	g.contradiction = g.against.value
	g.verdict = ss.verdict(g)
	g.mismatches = mismatches(g.plain, read.of(strings.Join(winners, "\n\n")))
}

func (ss *session) verdict(g *graded) plumblinev1.Verdict {
	supported := g.support >= ss.threshold
	if ss.mode == modeMiniCheck {
		supported = g.support > ss.threshold // the reference's label is strict
	}
	contradicted := g.noContradiction == nil && g.contradiction >= ss.contradictionThreshold
	switch {
	case supported && contradicted:
		return plumblinev1.Verdict_VERDICT_CONFLICTING
	case supported:
		return plumblinev1.Verdict_VERDICT_SUPPORTED
	case contradicted:
		return plumblinev1.Verdict_VERDICT_CONTRADICTED
	}
	return plumblinev1.Verdict_VERDICT_NOT_SUPPORTED
}

// summary is the aggregate over some claims.
type summary struct {
	why               *score.Missing // why nothing was scored
	gMean, gMin       float64
	gMinClaim         string
	supportRate       float64
	scored, notScored int
	verdict           plumblinev1.Verdict
}

// result is the answer to a request.
type result struct {
	summary
	claims  []graded
	answers []summary // of the candidates
	// tokens of the evidence, those in scored chunks, and distinct chunks.
	tokens, tokensScored, chunks int
	cost                         cost
	model                        entail.Description
	failOpen                     bool
	warnings                     []string
	passages                     []passage
	contradictionThreshold       float64
}

// byAnswer aggregates for each candidate.
func (ss *session) byAnswer(claims []graded, answers int) []summary {
	of := make([][]graded, answers)
	for _, c := range claims {
		of[c.answer] = append(of[c.answer], c)
	}
	out := make([]summary, answers)
	for i := range out {
		out[i] = ss.over(of[i])
	}
	return out
}

// summarize aggregates graded claims.
func (ss *session) summarize(claims []graded, spent cost) result {
	r := result{
		summary: ss.over(claims), claims: claims, tokens: ss.evidence.tokens, cost: spent, model: ss.model,
		failOpen: ss.failOpen, warnings: ss.warnings, passages: ss.evidence.passages,
		contradictionThreshold: ss.contradictionThreshold,
	}
	distinct := map[string]bool{}
	shortened := 0
	for s := range spent.sets {
		shortened = max(shortened, s.shortened)
		for _, c := range s.chunks {
			distinct[c.premise] = true
		}
	}
	r.chunks = len(distinct)
	if shortened > 0 {
		r.warnings = append(slices.Clip(r.warnings), fmt.Sprintf("titles cut to leave room for evidence and claims: %d", shortened))
	}
	for s := range spent.scored {
		r.tokensScored = max(r.tokensScored, s.covered)
	}
	return r
}

// over aggregates over the scored claims: over the distinct ones in CalVerT's
// mode.
func (ss *session) over(claims []graded) summary {
	if ss.mode == modeCalVerT {
		claims = distinct(claims)
	}
	var s summary
	if len(claims) == 0 {
		s.why = score.NoClaims("there is nothing to score: give claims or an answer with text")
		return s
	}
	supported := 0
	for i := range claims {
		g := &claims[i]
		if g.why != nil {
			s.notScored++
			continue
		}
		if s.scored == 0 || g.support < s.gMin {
			s.gMin, s.gMinClaim = g.support, g.id
		}
		s.scored++
		s.gMean += (g.support - s.gMean) / float64(s.scored)
		if g.verdict == plumblinev1.Verdict_VERDICT_SUPPORTED || g.verdict == plumblinev1.Verdict_VERDICT_CONFLICTING {
			supported++
		}
		if badness(g.verdict) > badness(s.verdict) {
			s.verdict = g.verdict
		}
	}
	if s.scored == 0 {
		s.why = common(claims)
		return s
	}
	s.supportRate = float64(supported) / float64(s.scored)
	return s
}

// badness orders verdicts from the best to the worst.
func badness(v plumblinev1.Verdict) int {
	switch v {
	case plumblinev1.Verdict_VERDICT_SUPPORTED:
		return 1
	case plumblinev1.Verdict_VERDICT_CONFLICTING:
		return 2
	case plumblinev1.Verdict_VERDICT_NOT_SUPPORTED:
		return 3
	case plumblinev1.Verdict_VERDICT_CONTRADICTED:
		return 4
	}
	return 0
}

// common returns why none of some claims was scored: the reason of the first
// that could have been scored, else of the first.
func common(claims []graded) *score.Missing {
	for _, c := range claims {
		if c.why.Status != plumblinev1.Status_STATUS_NOT_A_CLAIM {
			return c.why
		}
	}
	if len(claims) == 1 {
		return claims[0].why
	}
	return score.NotAClaim("none of the %d sentences asserts anything", len(claims))
}

// distinct returns the first of each set of claims that are equal after
// SQuAD's normalisation.
func distinct(claims []graded) []graded {
	seen := map[string]bool{}
	var out []graded
	for _, c := range claims {
		if key := normalize(c.hypothesis); !seen[key] {
			seen[key] = true
			out = append(out, c)
		}
	}
	return out
}

// normalize is SQuAD's normalisation of answers (Rajpurkar et al. 2016): lower
// case, without punctuation and articles, blanks squeezed.
func normalize(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < utf8Self && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			return -1
		}
		return r
	}, strings.ToLower(text))
	var words []string
	for _, w := range strings.Fields(text) {
		if w != "a" && w != "an" && w != "the" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// remark says how a support was reached where that is not the plain maximum.
func (g *graded) remark(passages []passage) string {
	var parts []string
	if g.parts > 1 {
		parts = append(parts, fmt.Sprintf("the least of the claim's %d parts", g.parts))
	}
	if with := g.best.with; with != nil {
		parts = append(parts, fmt.Sprintf("joined with passage %q", passageID(passages, with.passage)))
	}
	return strings.Join(parts, "; ")
}
