// Package entail is the leaf that scorers and verifiers share: the pair of a
// premise and a hypothesis, its scores, and the small interface behind which
// every entailment model stands (see Verifier).
package entail

import (
	"context"
	"time"
)

// Pair is one question to a verifier: does the premise entail the hypothesis?
// Both are plain text; nothing in them is a control token.
type Pair struct {
	// Premise is the evidence: a passage or a chunk of one.
	Premise string
	// Hypothesis is the claim.
	Hypothesis string
}

// Scores are the class probabilities of one pair, each in [0, 1].
type Scores struct {
	// Entailment is P(entailment) of a three-class model and P(support) of a
	// two-class one.
	Entailment float64
	// Neutral is P(neutral); meaningful only if ThreeClass.
	Neutral float64
	// Contradiction is P(contradiction); meaningful only if ThreeClass.
	Contradiction float64
	// ThreeClass says whether the model tells neutral from contradiction.
	ThreeClass bool
}

// Result is the answer for one pair: scores, or the reason why there are none
// (a *score.Missing where the cause is the caller's input).
type Result struct {
	Scores Scores
	Err    error
}

// Usage says what a Verify call cost and who answered it.
type Usage struct {
	// Queue, Tokenization and Inference are sums over the pairs.
	Queue, Tokenization, Inference time.Duration
	// Pairs is how many pairs reached the model, Tokens how many tokens they
	// had with special tokens, CacheHits how many were answered from a cache
	// and Shared how many joined a run that was already under way.
	Pairs, Tokens, CacheHits, Shared int
	// Verifier and Digest name the model that answered.
	Verifier, Digest string
	// Configured is the name under which the verifier that answered is
	// configured; empty where it has none.
	Configured string
}

// Add accumulates the counts and times of another call; the names are taken
// over where they are not set.
func (u *Usage) Add(other Usage) {
	u.Queue += other.Queue
	u.Tokenization += other.Tokenization
	u.Inference += other.Inference
	u.Pairs += other.Pairs
	u.Tokens += other.Tokens
	u.CacheHits += other.CacheHits
	u.Shared += other.Shared
	if u.Verifier == "" {
		u.Verifier, u.Digest, u.Configured = other.Verifier, other.Digest, other.Configured
	}
}

// Batch is the outcome of one Verify call.
type Batch struct {
	// Results has one entry for each pair, in the order of the pairs.
	Results []Result
	// Usage is the cost of the call.
	Usage Usage
}

// Span is a half-open range of bytes of a text.
type Span struct{ Start, End int }

// Tokenizer cuts text exactly as the verifier's model does.
type Tokenizer interface {
	// Spans returns the byte spans of the tokens of text, in order and without
	// special tokens. Text between spans (blanks, dropped control characters)
	// costs no tokens.
	Spans(text string) []Span
}

// ScoreKind says what a verifier's scores are. Its values are those of the
// proto enum VerifierScoreKind.
type ScoreKind int

// The kinds of scores.
const (
	// ScoreKindUnspecified means that the verifier does not say.
	ScoreKindUnspecified ScoreKind = iota
	// ScoreKindProbability are probabilities of a classifier.
	ScoreKindProbability
	// ScoreKindTokenProbability are probabilities read from a language model's
	// distribution over its next token.
	ScoreKindTokenProbability
	// ScoreKindVoteShare are shares of sampled votes.
	ScoreKindVoteShare
)

// Description is what a verifier says of itself.
type Description struct {
	// Name is the model's name and Digest identifies its weights.
	Name, Digest string
	// ThreeClass says whether scores carry neutral and contradiction.
	ThreeClass bool
	// MaxTokens is the longest pair in tokens, special tokens included.
	MaxTokens int
	// TrainedTokens is the longest pair that the model is at its best with, if
	// that is less than MaxTokens: windows of evidence should not make longer
	// ones. 0 means MaxTokens.
	TrainedTokens int
	// FineTokens asks for a second, finer cut of the evidence beside the one
	// into windows of the full length: into windows of that many tokens of
	// premise. It helps a model that overlooks what stands among much else. 0
	// means one cut.
	FineTokens int
	// PairOverhead is the number of special tokens that a pair costs.
	PairOverhead int
	// Tokenizer counts as the model does; nil if the model is remote and its
	// tokenizer is not at hand.
	Tokenizer Tokenizer
	// Languages are BCP 47 codes that the model was made for; empty means
	// that it does not say.
	Languages []string
	// QATemplate builds the hypothesis of a short answer: "{question}" and
	// "{answer}" are replaced. Empty means that the model has none.
	QATemplate string
	// ScoreKind says what the scores are.
	ScoreKind ScoreKind
	// Deterministic says whether equal pairs give equal scores.
	Deterministic bool
	// Epsilon bounds how far a score may move with the composition of the
	// batch.
	Epsilon float64
}

// Verifier scores pairs. Implementations are safe for concurrent use, keep
// the order of the pairs, and honour ctx: a cancelled call returns soon with
// ctx's error and stops work that nobody waits for.
type Verifier interface {
	// Describe returns the verifier's description.
	Describe(ctx context.Context) (Description, error)
	// Verify scores every pair. An error means that no pair was scored; the
	// failure of a single pair is in its Result.
	Verify(ctx context.Context, pairs []Pair) (Batch, error)
}
