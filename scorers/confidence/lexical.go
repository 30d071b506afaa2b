package confidence

import (
	"context"
	"math/bits"
	"strings"
	"unicode"

	"plumbline/scorers/score"
)

// RougeL is the F1 of the longest common subsequence of two texts' words (Lin
// 2004): 2·LCS/(|a|+|b|), in [0, 1]; 0 if a text has no words. Words are runs
// of letters, digits and marks in lower case, without stemming.
func RougeL(a, b string) float64 {
	vocabulary := make(map[string]int)
	return rougeL(newSubsequence(wordIDs(a, vocabulary)), wordIDs(b, vocabulary))
}

// LexicalSimilarity is the mean ROUGE-L over the unordered pairs of responses
// (Fomicheva et al. 2020), in [0, 1]. texts are distinct; a weight of k stands
// for k equal texts, whose pairs score 1. weights is nil if every text counts
// once. It ends early with ctx's error.
func LexicalSimilarity(ctx context.Context, texts []string, weights []float64) (float64, error) {
	vocabulary := make(map[string]int)
	words := make([][]int, len(texts))
	for i, text := range texts {
		words[i] = wordIDs(text, vocabulary)
	}
	var sum, pairs float64
	for i, a := range words {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		w := weightAt(weights, i)
		copies := max(w*(w-1)/2, 0)
		pairs += copies
		if len(a) > 0 {
			sum += copies
		}
		pattern := newSubsequence(a)
		for j := i + 1; j < len(words); j++ {
			both := w * weightAt(weights, j)
			pairs += both
			sum += both * rougeL(pattern, words[j])
		}
	}
	if pairs == 0 {
		return 0, score.TooFew("lexical similarity needs at least two responses")
	}
	return min(sum/pairs, 1), nil
}

// wordIDs numbers the words of text by a vocabulary that it extends.
func wordIDs(text string, vocabulary map[string]int) []int {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
	ids := make([]int, len(words))
	for i, w := range words {
		id, ok := vocabulary[w]
		if !ok {
			id = len(vocabulary)
			vocabulary[w] = id
		}
		ids[i] = id
	}
	return ids
}

func rougeL(pattern subsequence, words []int) float64 {
	if pattern.length == 0 || len(words) == 0 {
		return 0
	}
	return 2 * float64(pattern.common(words)) / float64(pattern.length+len(words))
}

// subsequence finds longest common subsequences with one pattern, 64 positions
// of it at a time (Hyyrö 2004): a thousand long samples make half a million
// pairs.
type subsequence struct {
	length    int
	positions map[int][]uint64 // word → where the pattern has it, as bits
}

func newSubsequence(words []int) subsequence {
	s := subsequence{length: len(words), positions: make(map[int][]uint64)}
	blocks := (len(words) + 63) / 64
	for i, w := range words {
		mask, ok := s.positions[w]
		if !ok {
			mask = make([]uint64, blocks)
			s.positions[w] = mask
		}
		mask[i/64] |= 1 << (i % 64)
	}
	return s
}

// common is the length of the longest common subsequence of pattern and words.
func (s subsequence) common(words []int) int {
	// A zero bit of open marks a position where the length grows.
	open := make([]uint64, (s.length+63)/64)
	for b := range open {
		open[b] = ^uint64(0)
	}
	for _, w := range words {
		mask, ok := s.positions[w]
		if !ok {
			continue
		}
		var carry uint64
		for b, v := range open {
			matched := v & mask[b]
			var sum uint64
			sum, carry = bits.Add64(v, matched, carry)
			open[b] = sum | (v &^ mask[b])
		}
	}
	var length int
	for b, v := range open {
		grown := ^v
		if last := s.length - b*64; last < 64 {
			grown &= 1<<last - 1
		}
		length += bits.OnesCount64(grown)
	}
	return length
}
