package tokenizer

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// bundledFile is the tokenizer of the model that comes with the program.
const bundledFile = "../bundled/tokenizer.json"

// sweptRunes is the number of code points whose answers are stored one by one.
const sweptRunes = 0x20000

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
		Answers [][2][]int64
		Hashes  []string
	}
}

func readGzip[T any](tb testing.TB, name string) T {
	tb.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
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
	if m.count++; m.count <= 10 {
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
		answers := want.Sweep.Answers
		for r := range rune(sweptRunes) {
			if isSurrogate(r) {
				continue
			}
			for i, text := range inContext(r) {
				m.check(text, answer(tokenizer.Encode(text)), answers[0][i])
			}
			answers = answers[1:]
		}
		for i, hash := range want.Sweep.Hashes {
			if got := blockHash(tokenizer, rune(sweptRunes+256*i)); got != hash {
				t.Errorf("block %U differs", sweptRunes+256*i)
			}
		}
	})
}

func isSurrogate(r rune) bool { return 0xD800 <= r && r <= 0xDFFF }

// inContext is a code point alone and inside a word.
func inContext(r rune) [2]string {
	return [2]string{string(r), "a" + string(r) + "b"}
}

// blockHash stands for the answers for 256 code points.
func blockHash(tokenizer *Tokenizer, block rune) string {
	var lines []byte
	for r := block; r < block+256; r++ {
		for _, text := range inContext(r) {
			for i, v := range answer(tokenizer.Encode(text)) {
				if i > 0 {
					lines = append(lines, ' ')
				}
				lines = strconv.AppendInt(lines, v, 10)
			}
			lines = append(lines, '\n')
		}
	}
	sum := sha256.Sum256(lines)
	return hex.EncodeToString(sum[:4])
}

func TestWordPieceGolden(t *testing.T) {
	testGolden(t, load(t, bundledFile), "wordpiece.json.gz")
}

// TestBertNormalizerOptions runs every combination of the normaliser's options
// over short texts of awkward characters, with a vocabulary that shows the
// order of combining marks.
func TestBertNormalizerOptions(t *testing.T) {
	want := readGzip[struct {
		Vocab    map[string]int
		Texts    []string
		Variants []struct {
			Normalizer json.RawMessage
			Answers    [][]int64
		}
	}](t, "bert_variants.json.gz")
	for _, variant := range want.Variants {
		t.Run(string(variant.Normalizer), func(t *testing.T) {
			file := wordPieceFile(want.Vocab, 12)
			file["normalizer"] = variant.Normalizer
			tokenizer := parse(t, file)
			m := mismatches{T: t}
			for i, text := range want.Texts {
				m.check(text, answer(tokenizer.Encode(text)), variant.Answers[i])
			}
		})
	}
}
