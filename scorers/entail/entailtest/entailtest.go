// Package entailtest has verifiers for tests: fixed answers (Table), answers
// that follow the words of the pair (Overlap), failures (Failing), calls that
// wait until the test lets them go (Blocking), and a Recorder that tells a
// test which pairs reached the verifier behind it.
//
// All of them are deterministic, need no model, and are safe for concurrent
// use.
package entailtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"plumbline/scorers/entail"
)

// MaxTokens is the window that the fakes describe, in tokens of Words with the
// special tokens included.
const MaxTokens = 512

// PairOverhead is the number of special tokens that the fakes describe.
const PairOverhead = 3

// ErrUnknownPair is the Result.Err of a pair that a Table does not list.
var ErrUnknownPair = errors.New("entailtest: the table has no scores for this pair")

// Support returns three-class scores with P(entailment) = p; the rest goes to
// neutral and contradiction in equal parts.
func Support(p float64) entail.Scores {
	return entail.Scores{Entailment: p, Neutral: (1 - p) / 2, Contradiction: (1 - p) / 2, ThreeClass: true}
}

// Contradict returns three-class scores with P(contradiction) = p; the rest
// goes to entailment and neutral in equal parts.
func Contradict(p float64) entail.Scores {
	return entail.Scores{Entailment: (1 - p) / 2, Neutral: (1 - p) / 2, Contradiction: p, ThreeClass: true}
}

// Words is a tokenizer for which every run of letters and digits is a token
// and so is every other visible character.
type Words struct{}

// Spans implements entail.Tokenizer.
func (Words) Spans(text string) []entail.Span {
	var spans []entail.Span
	start := -1
	closeWord := func(end int) {
		if start >= 0 {
			spans = append(spans, entail.Span{Start: start, End: end})
			start = -1
		}
	}
	for i, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if start < 0 {
				start = i
			}
		case unicode.IsSpace(r):
			closeWord(i)
		default:
			closeWord(i)
			_, size := utf8.DecodeRuneInString(text[i:]) // 1 for a byte that is no UTF-8
			spans = append(spans, entail.Span{Start: i, End: i + size})
		}
	}
	closeWord(len(text))
	return spans
}

// describe is what every fake says of itself.
func describe(name string) entail.Description {
	return entail.Description{
		Name:          name,
		Digest:        "sha256:" + name,
		ThreeClass:    true,
		MaxTokens:     MaxTokens,
		PairOverhead:  PairOverhead,
		Tokenizer:     Words{},
		Languages:     []string{"en"},
		QATemplate:    "{question} {answer}",
		Deterministic: true,
	}
}

// Func is a verifier made of one function, asked for each pair in order.
type Func func(entail.Pair) (entail.Scores, error)

// Describe implements entail.Verifier.
func (Func) Describe(context.Context) (entail.Description, error) { return describe("fake"), nil }

// Verify implements entail.Verifier.
func (f Func) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	batch := entail.Batch{
		Results: make([]entail.Result, len(pairs)),
		Usage:   entail.Usage{Pairs: len(pairs), Verifier: "fake", Digest: "sha256:fake"},
	}
	for i, pair := range pairs {
		if err := ctx.Err(); err != nil {
			return entail.Batch{}, err
		}
		batch.Results[i].Scores, batch.Results[i].Err = f(pair)
		batch.Usage.Tokens += len(Words{}.Spans(pair.Premise)) + len(Words{}.Spans(pair.Hypothesis)) + PairOverhead
	}
	return batch, nil
}

// Table answers the pairs that it lists; any other pair fails alone with
// ErrUnknownPair.
func Table(scores map[entail.Pair]entail.Scores) Func {
	return func(pair entail.Pair) (entail.Scores, error) {
		s, ok := scores[pair]
		if !ok {
			return entail.Scores{}, ErrUnknownPair
		}
		return s, nil
	}
}

// Overlap answers with the share of the hypothesis's distinct words that the
// premise has, as P(entailment): 1 for a hypothesis that the premise contains
// word by word, 0 for one without a common word or without words.
func Overlap() Func {
	return func(pair entail.Pair) (entail.Scores, error) {
		premise, hypothesis := words(pair.Premise), words(pair.Hypothesis)
		if len(hypothesis) == 0 {
			return Support(0), nil
		}
		var shared int
		for w := range hypothesis {
			if premise[w] {
				shared++
			}
		}
		return Support(float64(shared) / float64(len(hypothesis))), nil
	}
}

func words(text string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		set[w] = true
	}
	return set
}

// Failing is a verifier whose every call fails with Err.
type Failing struct{ Err error }

// Describe implements entail.Verifier.
func (f Failing) Describe(context.Context) (entail.Description, error) {
	return entail.Description{}, f.Err
}

// Verify implements entail.Verifier.
func (f Failing) Verify(context.Context, []entail.Pair) (entail.Batch, error) {
	return entail.Batch{}, f.Err
}

// Blocking holds every Verify call until Release or the end of its context,
// and then asks the verifier behind it.
type Blocking struct {
	next    entail.Verifier
	entered chan struct{}
	release chan struct{}
	once    sync.Once
}

// NewBlocking returns a Blocking in front of next.
func NewBlocking(next entail.Verifier) *Blocking {
	return &Blocking{next: next, entered: make(chan struct{}), release: make(chan struct{})}
}

// Entered delivers one value for each call that has begun to wait; a test
// receives from it to know that a call is under way.
func (b *Blocking) Entered() <-chan struct{} { return b.entered }

// Release lets every present and future call through.
func (b *Blocking) Release() { b.once.Do(func() { close(b.release) }) }

// Describe implements entail.Verifier and never waits.
func (b *Blocking) Describe(ctx context.Context) (entail.Description, error) {
	return b.next.Describe(ctx)
}

// Verify implements entail.Verifier.
func (b *Blocking) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	select {
	case b.entered <- struct{}{}:
	case <-b.release:
	case <-ctx.Done():
		return entail.Batch{}, ctx.Err()
	}
	select {
	case <-b.release:
		return b.next.Verify(ctx, pairs)
	case <-ctx.Done():
		return entail.Batch{}, ctx.Err()
	}
}

// Recorder passes calls on and remembers them.
type Recorder struct {
	next  entail.Verifier
	mu    sync.Mutex
	calls [][]entail.Pair
}

// NewRecorder returns a Recorder in front of next.
func NewRecorder(next entail.Verifier) *Recorder { return &Recorder{next: next} }

// Calls returns the pairs of every Verify call so far, in the order in which
// the calls arrived.
func (r *Recorder) Calls() [][]entail.Pair {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([][]entail.Pair(nil), r.calls...)
}

// Count returns how many Verify calls named the pair, and 0 for one that
// never reached the verifier.
func (r *Recorder) Count(pair entail.Pair) int {
	var n int
	for _, call := range r.Calls() {
		for _, p := range call {
			if p == pair {
				n++
			}
		}
	}
	return n
}

// Describe implements entail.Verifier.
func (r *Recorder) Describe(ctx context.Context) (entail.Description, error) {
	return r.next.Describe(ctx)
}

// Verify implements entail.Verifier.
func (r *Recorder) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	r.mu.Lock()
	r.calls = append(r.calls, append([]entail.Pair(nil), pairs...))
	r.mu.Unlock()
	return r.next.Verify(ctx, pairs)
}
