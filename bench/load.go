package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"plumbline/models"
	"plumbline/models/bundled"
	"plumbline/models/tokenizer"
	"plumbline/scorers/entail"
)

// dataFiles are long-form answers and answers over retrieved passages.
func dataFiles() []string { return []string{"lfqa.half.jsonl.gz", "ragtruth_qa_sent.half.jsonl.gz"} }

// longest is how many tokens of evidence a pair has at most, which leaves room
// for any claim that corpus lets in.
const longest, longestClaim = 400, 100

// document is a text with a claim about it.
type document struct {
	Text  string `json:"doc"`
	Claim string `json:"claim"`
}

// corpus is the load: documents, and the tokenizer that cuts them.
type corpus struct {
	documents []document
	tokens    *tokenizer.Tokenizer
	model     *models.Model
}

// corpus reads the data; ok is false, and the reason printed, if it is absent.
func (s *session) corpus() (c corpus, ok bool, err error) {
	for _, name := range dataFiles() {
		documents, err := readDocuments(filepath.Join(s.data, name))
		if errors.Is(err, fs.ErrNotExist) {
			return c, false, s.skip(fmt.Sprintf("%s is absent; name its folder with -data", filepath.Join(s.data, name)))
		}
		if err != nil {
			return c, false, err
		}
		c.documents = append(c.documents, documents...)
	}
	if c.model, err = bundled.Load(); err != nil {
		return c, false, err
	}
	if c.tokens, err = tokenizer.Parse(c.model.Tokenizer); err != nil {
		return c, false, err
	}
	return c, true, nil
}

func readDocuments(path string) ([]document, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var documents []document
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var d document
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		documents = append(documents, d)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return documents, nil
}

// draw returns documents in an order that depends on the seed alone, without
// end, leaving out claims that are too long for a pair.
func (c corpus) draw(seed uint64) func() document {
	random := rand.New(rand.NewPCG(seed, 0))
	return func() document {
		for {
			if d := c.documents[random.IntN(len(c.documents))]; len(c.tokens.Spans(d.Claim)) <= longestClaim {
				return d
			}
		}
	}
}

// mixed returns n pairs whose evidence has between 16 and longest tokens, all
// lengths alike.
func (c corpus) mixed(n int, seed uint64) []entail.Pair {
	next, random := c.draw(seed), rand.New(rand.NewPCG(seed, 1))
	pairs := make([]entail.Pair, 0, n)
	for len(pairs) < n {
		d := next()
		if chunks := c.cut(d.Text, 16+random.IntN(longest-15)); len(chunks) > 0 {
			pairs = append(pairs, entail.Pair{Premise: chunks[random.IntN(len(chunks))], Hypothesis: d.Claim})
		}
	}
	return pairs
}

// cut divides a text into chunks of the given number of tokens.
func (c corpus) cut(text string, size int) []string {
	var chunks []string
	spans := c.tokens.Spans(text)
	for len(spans) > 0 {
		n := min(size, len(spans))
		chunks = append(chunks, text[spans[0].Start:spans[n-1].End])
		spans = spans[n:]
	}
	return chunks
}

// prose returns a text of about the given size: sentences of the documents in a
// random order, so that a text longer than all of them still has few chunks twice,
// which the service would score once.
func (c corpus) prose(bytes int, seed uint64) string {
	next, random := c.draw(seed), rand.New(rand.NewPCG(seed, 2))
	var b strings.Builder
	for b.Len() < bytes {
		sentences := strings.SplitAfter(next().Text, ". ")
		b.WriteString(strings.TrimSpace(sentences[random.IntN(len(sentences))]))
		b.WriteByte(' ')
	}
	return strings.ToValidUTF8(b.String()[:bytes], "")
}
