package tokenizer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// bundledFile is the tokenizer of the model that comes with the program.
const bundledFile = "../bundled/tokenizer.json"

// blockSize is the number of code points of a block of the sweep.
const blockSize = 256

// corpus is testdata/corpus.json.gz: texts, and pairs as indices into them.
type corpus struct {
	Texts []string
	Pairs [][2]int
}

// golden is what the library answers for the corpus; see make_golden.py.
type golden struct {
	Texts [][]int64
	Pairs []struct{ IDs, Types []int64 }
	Sweep struct {
		// Answers has the first blocks in full.
		Answers [][][]int64
		// Hashes stand for the answers for other blocks, by their first code
		// point.
		Hashes map[rune]string
	}
}

func readGzip[T any](tb testing.TB, name string) T {
	tb.Helper()
	zipped, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		tb.Fatal(err)
	}
	var value T
	if err := json.NewDecoder(unzipped).Decode(&value); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return value
}

func load(tb testing.TB, path string) *Tokenizer {
	tb.Helper()
	t, err := Load(path)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// answer writes an encoding as the golden files do: for each token its id, the
// gap between the token before and it, and its length in bytes.
func answer(e Encoding) []int64 {
	var out []int64
	last := 0
	for i, id := range e.IDs {
		s := e.Spans[i]
		out = append(out, id, int64(s.Start-last), int64(s.End-s.Start))
		last = s.End
	}
	return out
}

// mismatches counts differences and shows the first ones.
type mismatches struct {
	*testing.T
	count int
}

func (m *mismatches) check(text string, got, want []int64) {
	m.Helper()
	if slices.Equal(got, want) {
		return
	}
	m.count++
	if m.count <= 10 {
		m.Errorf("%.200q:\n got %v\nwant %v", text, got, want)
	}
}

func testGolden(t *testing.T, tokenizer *Tokenizer, file string) {
	texts := readGzip[corpus](t, "corpus.json.gz")
	want := readGzip[golden](t, file)

	t.Run("texts", func(t *testing.T) {
		m := mismatches{T: t}
		for i, text := range texts.Texts {
			m.check(text, answer(tokenizer.Encode(text)), want.Texts[i])
		}
		t.Logf("%d texts, %d differ", len(texts.Texts), m.count)
	})
	t.Run("pairs", func(t *testing.T) {
		m := mismatches{T: t}
		for i, pair := range texts.Pairs {
			premise, hypothesis := texts.Texts[pair[0]], texts.Texts[pair[1]]
			got := tokenizer.EncodePair(premise, hypothesis)
			m.check(premise+" | "+hypothesis, got.IDs, want.Pairs[i].IDs)
			m.check(premise+" | "+hypothesis, got.TypeIDs, want.Pairs[i].Types)
		}
		t.Logf("%d pairs, %d differ", len(texts.Pairs), m.count)
	})
	t.Run("code points", func(t *testing.T) {
		m := mismatches{T: t}
		for block, answers := range want.Sweep.Answers {
			for i, text := range inContext(rune(block * blockSize)) {
				m.check(text, answer(tokenizer.Encode(text)), answers[i])
			}
		}
		for block, hash := range want.Sweep.Hashes {
			if got := blockHash(tokenizer, block); got != hash {
				t.Errorf("code points %U..%U differ", block, block+blockSize-1)
			}
		}
		t.Logf("%d code points", blockSize*(len(want.Sweep.Answers)+len(want.Sweep.Hashes)))
	})
}

// inContext has every code point of a block, alone and inside a word.
func inContext(block rune) []string {
	var texts []string
	for r := block; r < block+blockSize; r++ {
		if !isSurrogate(r) {
			texts = append(texts, string(r), "a"+string(r)+"b")
		}
	}
	return texts
}

func isSurrogate(r rune) bool { return 0xD800 <= r && r <= 0xDFFF }

func blockHash(tokenizer *Tokenizer, block rune) string {
	var lines []byte
	for _, text := range inContext(block) {
		for i, v := range answer(tokenizer.Encode(text)) {
			if i > 0 {
				lines = append(lines, ' ')
			}
			lines = strconv.AppendInt(lines, v, 10)
		}
		lines = append(lines, '\n')
	}
	sum := sha256.Sum256(lines)
	return hex.EncodeToString(sum[:4])
}

func TestWordPieceGolden(t *testing.T) {
	testGolden(t, load(t, bundledFile), "wordpiece.json.gz")
}

func TestBPEGolden(t *testing.T) {
	testGolden(t, parse(t, readGzip[object](t, "bpe_tokenizer.json.gz")), "bpe.json.gz")
}

func TestUnigramGolden(t *testing.T) {
	testGolden(t, parse(t, readGzip[object](t, "unigram_tokenizer.json.gz")), "unigram.json.gz")
}

// variants is what the library answers if sections of a file are replaced.
type variants struct {
	// Vocab is the vocabulary of the file, where it is not the file's own.
	Vocab    map[string]int
	Texts    []string
	Variants []struct {
		Sections json.RawMessage
		Answers  [][]int64
	}
}

// TestBertNormalizerOptions runs every combination of the normaliser's options
// over short texts of awkward characters, with a vocabulary that shows the
// order of combining marks.
func TestBertNormalizerOptions(t *testing.T) {
	want := readGzip[variants](t, "bert_variants.json.gz")
	testVariants(t, wordPieceFile(want.Vocab, 12), want)
}

func TestByteLevelOptions(t *testing.T) {
	testVariants(t, readGzip[object](t, "bpe_tokenizer.json.gz"), readGzip[variants](t, "bpe_variants.json.gz"))
}

func TestMetaspaceOptions(t *testing.T) {
	testVariants(t, readGzip[object](t, "unigram_tokenizer.json.gz"), readGzip[variants](t, "unigram_variants.json.gz"))
}

func testVariants(t *testing.T, file object, want variants) {
	normalizer, err := json.Marshal(file["normalizer"])
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range want.Variants {
		t.Run(string(variant.Sections), func(t *testing.T) {
			// The golden file leaves the bulky table of Precompiled out.
			sections := strings.ReplaceAll(string(variant.Sections), `{"type":"Precompiled"}`, string(normalizer))
			changed := maps.Clone(file)
			if err := json.Unmarshal([]byte(sections), &changed); err != nil {
				t.Fatal(err)
			}
			tokenizer := parse(t, changed)
			m := mismatches{T: t}
			for i, text := range want.Texts {
				m.check(text, answer(tokenizer.Encode(text)), variant.Answers[i])
			}
		})
	}
}
