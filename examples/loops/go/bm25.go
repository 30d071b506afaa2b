package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
)

// The parameters of BM25, and how many passages a search returns.
const (
	k1   = 1.2
	b    = 0.75
	topK = 3
)

var (
	word = regexp.MustCompile(`[\pL\pN_]+`)
	stop = strings.Fields("a an and are at by did do does for from has in is it of on or the to was were what when where which who whose with")
)

// passage is one text of the corpus.
type passage struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// retriever finds passages by the words that they share with a query.
type retriever struct {
	passages   []passage
	counts     []map[string]int
	lengths    []float64
	meanLength float64
	containing map[string]float64 // in how many passages a word is
}

func newRetriever(passages []passage) *retriever {
	r := &retriever{passages: passages, containing: map[string]float64{}}
	for _, p := range passages {
		counts, length := map[string]int{}, 0.0
		for _, w := range words(p.Title + " " + p.Text) {
			counts[w]++
			length++
		}
		for w := range counts {
			r.containing[w]++
		}
		r.counts, r.lengths = append(r.counts, counts), append(r.lengths, length)
		r.meanLength += length / float64(len(passages))
	}
	return r
}

// search returns the best passages that share a word with the query, best
// first; of equals the first in the file.
func (r *retriever) search(query string) []passage {
	type hit struct {
		passage
		score float64
	}
	var hits []hit
	for i, p := range r.passages {
		if s := r.score(i, words(query)); s > 0 {
			hits = append(hits, hit{p, s})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var found []passage
	for _, h := range hits[:min(topK, len(hits))] {
		found = append(found, h.passage)
	}
	return found
}

func (r *retriever) score(i int, query []string) float64 {
	norm, sum := k1*(1-b+b*r.lengths[i]/r.meanLength), 0.0
	for _, w := range query {
		if count := float64(r.counts[i][w]); count > 0 {
			idf := math.Log(1 + (float64(len(r.passages))-r.containing[w]+0.5)/(r.containing[w]+0.5))
			sum += idf * count * (k1 + 1) / (count + norm)
		}
	}
	return sum
}

// words are those that say something, in lower case.
func words(text string) []string {
	return slices.DeleteFunc(word.FindAllString(strings.ToLower(text), -1), func(w string) bool { return slices.Contains(stop, w) })
}

// readLines reads a file of JSON lines.
func readLines[T any](path string) ([]T, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var all []T
	for lines := bufio.NewScanner(file); ; {
		if !lines.Scan() {
			return all, lines.Err()
		}
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}
