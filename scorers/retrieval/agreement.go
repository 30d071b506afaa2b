package retrieval

import (
	"math"
	"slices"

	"plumbline/scorers/score"
)

const familyAgreement = "agreement"

// rboPersistence is the p of rank-biased overlap: how likely a reader goes on
// to the next result. 0.9 puts 86 % of the weight on the first ten ranks.
const rboPersistence = 0.9

// comparison is a measure of two lists. It becomes two signals over all pairs
// of retrievers: the mean and, named name_worst, the pair that agrees least.
type comparison struct {
	name, description, source string
	unit                      string
	min, max                  float64
	distance                  bool // higher means less agreement
	// among chooses the lists that are compared.
	among func(*evidence) []*list
	needs []string
	of    pairFormula
	// inSource is the formula under compat SOURCE; nil where it is the same.
	inSource pairFormula
}

// pairFormula measures how far two lists agree. Both have their top k read,
// and the longer has at least two results.
type pairFormula func(e *evidence, a, b *list) (float64, error)

// comparisonCount is the number of comparisons, for which a request keeps its
// values.
const comparisonCount = 7

func comparisons() []comparison {
	all := []comparison{
		{
			name: "jaccard", description: "Jaccard index of two retrievers' top k", unit: "ratio", min: 0, max: 1,
			source: "Jaccard (1901); |A ∩ B| / |A ∪ B| of the top-k sets", of: ofLists(jaccard),
		},
		{
			name: "window_overlap", description: "Overlap of two retrievers' answer windows", unit: "ratio", min: 0, max: 1,
			source: "overlap@w; |A ∩ B| / max(|A|, |B|) of the first w results", of: windowOverlap,
		},
		{
			name: "rbo", description: "Rank-biased overlap of two retrievers' top k, extrapolated, p = 0.9", unit: "ratio", min: 0, max: 1,
			source: "Webber, Moffat, Zobel, \"A Similarity Measure for Indefinite Rankings\" (TOIS 2010), RBO_EXT, eq. 32", of: ofLists(rbo),
			inSource: ofLists(rboTruncated),
		},
		{
			name: "kendall_tau", description: "Kendall's τ-b of two retrievers' ranks on the union of their top k, absent results tied last", unit: "correlation", min: -1, max: 1,
			source: "Kendall, \"The Treatment of Ties in Ranking Problems\" (Biometrika 1945); (P − Q)/√((n₀ − n₁)(n₀ − n₂))", of: ofLists(kendallTau),
		},
		{
			name: "footrule", description: "Spearman's footrule distance of two retrievers' ranks on the union of their top k, as a share of that of disjoint lists", unit: "ratio", min: 0, max: 1, distance: true,
			source: "Fagin, Kumar, Sivakumar, \"Comparing Top k Lists\" (SODA 2003), F⁽ℓ⁾ with ℓ one below the longer list, over its maximum", of: ofLists(footrule),
		},
		{
			name: "top1_agreement", description: "Whether two retrievers have the same first result: 1 or 0", unit: "ratio", min: 0, max: 1,
			source: "[A₁ = B₁]", of: ofLists(top1Agreement),
		},
	}
	for i := range all {
		all[i].among = func(e *evidence) []*list { return e.retrievers }
		all[i].needs = []string{"rankings (two or more besides \"fused\")"}
	}
	return append(all, comparison{
		name: "dense_agreement", description: "Jaccard index of the top k of independent dense models, whose rankings' names begin with \"dense\"",
		unit: "ratio", min: 0, max: 1,
		source: "Couzon, \"Predicting Weak Retrieval Without an LLM\" (Qdrant, 2026); mean pairwise |A ∩ B| / |A ∪ B|", of: ofLists(jaccard),
		among: func(e *evidence) []*list { return e.denseRetrievers },
		needs: []string{"rankings (two or more named \"dense…\")"},
	})
}

// agreementSignals ask whether the retrievers returned the same passages. They
// read ranks only, never scores.
func agreementSignals() []signal {
	rows := []signal{{
		name: "retriever_divergence", description: "Share of the dense and sparse top k that the other does not have",
		family: familyAgreement, unit: "ratio", cost: "one more ranking",
		source: "\"Route Retrieval by Evidence\" (Qdrant, 2026); 1 − |dense ∩ sparse| / max(|dense|, |sparse|) of the top k",
		needs:  []string{"rankings[dense]", "rankings[sparse]"},
		min:    0, max: 1, weakWhenHigh: true, shift: invariant, scale: invariant,
		compute: retrieverDivergence, compat: retrieverDivergenceInSource,
	}}
	for i, c := range comparisons() {
		rows = append(rows, c.overPairs(i)...)
	}
	return rows
}

// overPairs makes the rows of the mean and of the worst pair. The pairs are
// compared once for both, under the comparison's index.
func (c comparison) overPairs(index int) []signal {
	reduced := func(of pairFormula, reduce func([]float64) float64) func(*evidence) (float64, error) {
		return func(e *evidence) (float64, error) {
			values, err := e.pairs[index].get(func() ([]float64, error) { return e.comparePairs(c.among(e), of) })
			if err != nil {
				return 0, err
			}
			return reduce(values), nil
		}
	}
	least := slices.Min[[]float64]
	if c.distance {
		least = slices.Max[[]float64]
	}
	mean := signal{
		name: c.name, description: c.description + ", mean over pairs",
		family: familyAgreement, unit: c.unit, cost: "one more ranking", source: c.source, needs: c.needs,
		min: c.min, max: c.max, weakWhenHigh: c.distance, shift: invariant, scale: invariant,
		compute: reduced(c.of, meanOf),
	}
	worst := mean
	worst.name += "_worst"
	worst.description = c.description + ", of the pair that agrees least"
	worst.compute = reduced(c.of, least)
	if c.inSource != nil {
		mean.compat, worst.compat = reduced(c.inSource, meanOf), reduced(c.inSource, least)
	}
	return []signal{mean, worst}
}

// comparePairs measures all pairs, in the order of the lists.
func (e *evidence) comparePairs(lists []*list, of pairFormula) ([]float64, error) {
	if err := e.comparable(lists); err != nil {
		return nil, err
	}
	values := make([]float64, 0, len(lists)*(len(lists)-1)/2)
	for i, a := range lists {
		for _, b := range lists[i+1:] {
			v, err := of(e, a, b)
			if err != nil {
				return nil, err
			}
			values = append(values, v)
		}
	}
	return values, nil
}

// comparable says why lists cannot be compared, if so. Every pair must have
// two results in its longer list: one result is in no order. An empty list
// beside one that has results is legal; it disagrees with it entirely.
func (e *evidence) comparable(lists []*list) error {
	if len(lists) < 2 {
		if e.tooFewForAny() {
			return tooFew(2, e.docs)
		}
		return score.MissingInput("agreement compares two rankings of retrievers; %d given", len(lists))
	}
	// The two shortest lists are the pair to fear for.
	shortest, next := math.MaxInt, math.MaxInt
	for _, l := range lists {
		if l.notFinite {
			return l.errNotFinite()
		}
		n := len(l.docs)
		shortest, next = min(shortest, n), min(next, max(shortest, n))
	}
	if next < 2 {
		return tooFew(2, next)
	}
	return nil
}

// tooFewForAny reports that there is no order to compare, whichever rankings
// are missing: one more could not help.
func (e *evidence) tooFewForAny() bool { return len(e.lists) > 0 && e.docs < 2 }

func ofLists(f func(a, b *list) (float64, error)) pairFormula {
	return func(_ *evidence, a, b *list) (float64, error) { return f(a, b) }
}

func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// retrieverDivergence is computed from each list's own ranks, whatever was
// fused from them.
func retrieverDivergence(e *evidence) (float64, error) {
	dense, sparse, err := e.denseAndSparse()
	if err != nil {
		return 0, err
	}
	if err := e.comparable([]*list{dense, sparse}); err != nil {
		return 0, err
	}
	return divergence(dense, sparse), nil
}

func (e *evidence) denseAndSparse() (dense, sparse *list, err error) {
	if e.tooFewForAny() && !e.Source {
		return nil, nil, tooFew(2, e.docs)
	}
	if dense, err = e.ranking(denseName); err != nil {
		return nil, nil, err
	}
	sparse, err = e.ranking(sparseName)
	return dense, sparse, err
}

func divergence(a, b *list) float64 {
	longer := max(len(a.docs), len(b.docs))
	return 1 - float64(common(a, b, longer, longer))/float64(longer)
}

// common counts the passages of a's first depthA results that are among b's
// first depthB.
func common(a, b *list, depthA, depthB int) int {
	n := 0
	for _, doc := range a.docs[:min(depthA, len(a.docs))] {
		if rank := int(b.ranks[doc]); rank > 0 && rank <= depthB {
			n++
		}
	}
	return n
}

// jaccard is the share of all passages in either top k that are in both.
func jaccard(a, b *list) (float64, error) {
	both := common(a, b, len(a.docs), len(b.docs))
	return float64(both) / float64(len(a.docs)+len(b.docs)-both), nil
}

// windowOverlap looks only at what an answer would be written from.
func windowOverlap(e *evidence, a, b *list) (float64, error) {
	longer := min(e.Window, max(len(a.docs), len(b.docs)))
	return float64(common(a, b, e.Window, e.Window)) / float64(longer), nil
}

// rbo is the extrapolated rank-biased overlap of Webber, Moffat and Zobel for
// two lists of s ≤ l results: the agreement seen at each depth, weighted by
// pᵈ, going on below as it was at the end. A list without results agrees with
// nothing.
func rbo(a, b *list) (float64, error) {
	shorter, longer := a, b
	if len(a.docs) > len(b.docs) {
		shorter, longer = b, a
	}
	s, l := len(shorter.docs), len(longer.docs)
	if s == 0 {
		return 0, nil
	}
	sum, weight := 0.0, 1.0
	overlap, overlapAtS := 0, 0
	for d := 1; d <= l; d++ {
		overlap += newlyShared(longer, shorter, d)
		if d == s {
			overlapAtS = overlap
		}
		weight *= rboPersistence
		sum += float64(overlap) / float64(d) * weight
		if d > s {
			sum += float64(overlapAtS) * float64(d-s) / (float64(s) * float64(d)) * weight
		}
	}
	tail := float64(overlap-overlapAtS)/float64(l) + float64(overlapAtS)/float64(s)
	return min((1-rboPersistence)/rboPersistence*sum+tail*weight, 1), nil // rounding may exceed 1
}

// newlyShared counts the passages that the lists share at depth d and did not
// share at d−1.
func newlyShared(a, b *list, d int) int {
	n := 0
	if d <= len(a.docs) {
		if rank := int(b.ranks[a.docs[d-1]]); rank > 0 && rank <= d {
			n++
		}
	}
	if d <= len(b.docs) {
		if rank := int(a.ranks[b.docs[d-1]]); rank > 0 && rank < d {
			n++
		}
	}
	return n
}

// kendallTau is τ-b over the union of two top-k lists. Passages that a list
// lacks share its last place, one below its results; τ-b allows for such ties.
// Discordant pairs are the inversions of b's ranks read in a's order.
func kendallTau(a, b *list) (float64, error) {
	ranks := ranksInOrderOf(a, b)
	n := len(ranks)
	pairs := choose2(n)
	tiedInA, tiedInB := choose2(n-len(a.docs)), choose2(n-len(b.docs))
	if pairs == tiedInA || pairs == tiedInB {
		return 0, score.NotApplicable("a ranking without results orders nothing")
	}
	discordant := float64(inversions(ranks, make([]int32, n)))
	// No pair is tied in both: each passage is in a list.
	concordant := pairs - tiedInA - tiedInB - discordant
	return (concordant - discordant) / math.Sqrt((pairs-tiedInA)*(pairs-tiedInB)), nil
}

// ranksInOrderOf returns b's ranks of the union, in a's order: first a's
// passages, of which those that b lacks have b's last place, then those that a
// lacks, which are tied in a and therefore ascend.
func ranksInOrderOf(a, b *list) []int32 {
	last := int32(len(b.docs) + 1)
	ranks := make([]int32, 0, len(a.docs)+len(b.docs))
	for _, doc := range a.docs {
		rank := b.ranks[doc]
		if rank == 0 {
			rank = last
		}
		ranks = append(ranks, rank)
	}
	for i, doc := range b.docs {
		if a.ranks[doc] == 0 {
			ranks = append(ranks, int32(i+1))
		}
	}
	return ranks
}

// inversions counts the pairs that stand in descending order, by merge sort;
// it sorts x.
func inversions(x, scratch []int32) int {
	if len(x) < 2 {
		return 0
	}
	half := len(x) / 2
	n := inversions(x[:half], scratch) + inversions(x[half:], scratch)
	left, right := scratch[:half], x[half:]
	copy(left, x)
	i, j := 0, 0
	for k := range x {
		if j == len(right) || i < half && left[i] <= right[j] {
			x[k] = left[i]
			i++
		} else {
			x[k] = right[j]
			j++
			n += half - i
		}
		if i == half {
			break // the rest of right is in place
		}
	}
	return n
}

func choose2(n int) float64 { return float64(n) * float64(n-1) / 2 }

// footrule is Spearman's footrule with absent passages at one rank below the
// longer list, over the value for disjoint lists, which no pair exceeds: by
// the triangle inequality through that rank.
func footrule(a, b *list) (float64, error) {
	absent := max(len(a.docs), len(b.docs)) + 1
	sum, greatest := 0, 0
	for i, doc := range a.docs {
		rank := int(b.ranks[doc])
		if rank == 0 {
			rank = absent
		}
		sum += distance(i+1, rank)
		greatest += absent - (i + 1)
	}
	for i, doc := range b.docs {
		if a.ranks[doc] == 0 {
			sum += absent - (i + 1)
		}
		greatest += absent - (i + 1)
	}
	return float64(sum) / float64(greatest), nil
}

func distance(a, b int) int { return max(a-b, b-a) }

// top1Agreement compares first results. An empty list agrees with nothing.
func top1Agreement(a, b *list) (float64, error) {
	if len(a.docs) > 0 && len(b.docs) > 0 && a.docs[0] == b.docs[0] {
		return 1, nil
	}
	return 0, nil
}
