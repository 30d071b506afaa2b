// Package retrieval computes numbers from what a retriever returned, without a
// model call, that predict whether the evidence is weak: how high the scores
// are, how far they fan out, whether the retrievers agree, whether the text
// mentions what the question names, and how alike the passages are.
//
// The package holds one table of signals. A row of it has the signal's name,
// its metadata and its formula; everything else (the response, the metadata
// that the service publishes, the tests of invariance) is read from the table.
// The rows stand beside their formulas, by family: height.go, spread.go,
// agreement.go, coverage.go and coherence.go.
//
// # How a ranking is read
//
// Items may come in any order. They are sorted by score, better first, ties by
// id; of an id that occurs twice the better score counts. Formulas see scores
// for which higher is better: a distance is negated before anything is
// computed, so that max_score of an L2 ranking is minus the least distance and
// every signal keeps its direction. Spread signals read the first k scores.
//
// # What could not be computed
//
// Every signal is a finite number or a typed reason, in this order of
// precedence: a ranking, text or embedding that was not given; a score that is
// not finite; scores of a kind for which the formula says nothing; too few
// results; a formula without meaning for these numbers, such as a quotient of
// zeros.
package retrieval
