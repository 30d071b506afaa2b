package grounding

import (
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"plumbline/internal/shareddata"
)

// TestSplittingAgreesWithNLTK compares the ends of sentences of real documents
// with those of NLTK's Punkt (testdata/nltk/ends.json.gz, made by ends.py) and
// lists the differences by kind in testdata/nltk/differences.txt. Ends are
// compared by the last word before them, because NLTK takes a lone mark for a
// sentence. What no kind explains may be at most 1 % of NLTK's sentences.
func TestSplittingAgreesWithNLTK(t *testing.T) {
	reference := nltkEnds(t)
	splitter, err := newSplitter()
	if err != nil {
		t.Fatal(err)
	}
	var same, theirs, ours int
	differences := map[string][]string{}
	for _, doc := range devDocuments(t) {
		ends := map[int]bool{}
		for _, end := range splitter.ends(doc, nil) {
			ends[lastWord(doc, end)] = true
		}
		for end := range wordEnds(doc, reference[digest(doc)]) {
			theirs++
			if ends[end] {
				same++
				delete(ends, end)
				continue
			}
			kind := splitter.onlyTheirs(doc, end)
			differences[kind] = append(differences[kind], excerpt(doc, end))
		}
		ours += len(ends) // those left are ours alone
		for end := range ends {
			kind := onlyOurs(doc, end)
			differences[kind] = append(differences[kind], excerpt(doc, end))
		}
	}
	unexplained := len(differences[unexplainedTheirs]) + len(differences[unexplainedOurs])
	if rate := float64(unexplained) / float64(theirs); rate > 0.01 {
		t.Errorf("%d of %d ends differ for no stated reason (%.2f %%)", unexplained, theirs, 100*rate)
	}
	got, path := report(same, theirs, same+ours, differences), filepath.Join("testdata", "nltk", "differences.txt")
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != got {
		t.Errorf("the differences are not those of %s (%v); write it anew with -rewrite and look at what changed:\n%s", path, err, got)
	}
}

// nltkEnds are NLTK's ends of sentences, in bytes, by the digest of the document.
func nltkEnds(t *testing.T) map[string][]int {
	t.Helper()
	file, err := os.Open("testdata/nltk/ends.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string][]int{}
	if err := json.NewDecoder(unzipped).Decode(&ends); err != nil {
		t.Fatal(err)
	}
	return ends
}

// devDocuments are the different documents of the development sets.
func devDocuments(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shareddata.Path(t, "data", "dev"), "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no development sets: %v", err)
	}
	docs := map[string]bool{}
	for _, file := range files {
		for row := range shareddata.Rows[struct{ Doc string }](t, "data", "dev", filepath.Base(file)) {
			docs[row.Doc] = true
		}
	}
	return slices.Sorted(maps.Keys(docs))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func wordEnds(text string, ends []int) map[int]bool {
	found := map[int]bool{}
	for _, end := range ends {
		if at := lastWord(text, end); at > 0 {
			found[at] = true
		}
	}
	return found
}

// lastWord is the end of the last letter or digit before an offset.
func lastWord(text string, end int) int {
	i := strings.LastIndexFunc(text[:end], isWord)
	if i < 0 {
		return 0
	}
	_, size := utf8.DecodeRuneInString(text[i:])
	return i + size
}

const (
	unexplainedTheirs = "NLTK only: unexplained"
	unexplainedOurs   = "ours only: unexplained"
)

// onlyTheirs is the kind of an end that only NLTK sees.
func (s *splitter) onlyTheirs(text string, end int) string {
	word, rest := around(text, end)
	bare := strings.ToLower(strings.TrimRight(strings.TrimLeftFunc(word, isMark), ".,)]\"'*’”"))
	switch {
	case s.punkt.AbbrevTypes[bare] != 0 || dotted.MatchString(strings.TrimRight(word, ",)]\"'’”")) || strings.Contains(bare, "."):
		return "NLTK only: after an abbreviation"
	case bare != "" && strings.Trim(bare, "0123456789") == "":
		return "NLTK only: after the number of a list"
	case startsLower(rest):
		return "NLTK only: the next word is in lower case"
	case strings.ContainsAny(word, "…") || strings.Contains(word, "..") || strings.HasPrefix(rest, ". ."):
		return "NLTK only: an ellipsis in the sentence"
	}
	return unexplainedTheirs
}

// onlyOurs is the kind of an end that only our splitter sees.
func onlyOurs(text string, end int) string {
	word, rest := around(text, end)
	last, _ := utf8.DecodeLastRuneInString(text[:end])
	switch {
	case unicode.IsLetter(last) && !unicode.Is(unicode.Latin, last):
		return "ours only: after another script"
	case strings.ContainsAny(word, "…") || strings.Contains(word, "..") || strings.HasPrefix(strings.TrimLeft(rest, " "), ".") || strings.HasPrefix(rest, "…"):
		return "ours only: an ellipsis and a capital"
	case strings.Contains(word, "["):
		return "ours only: a citation in brackets"
	}
	return unexplainedOurs
}

// around is the word that an offset is in or after, to the next blank, and what
// follows the blank.
func around(text string, end int) (word, rest string) {
	start := strings.LastIndexFunc(text[:end], unicode.IsSpace) + 1
	stop := len(text)
	if i := strings.IndexFunc(text[end:], unicode.IsSpace); i >= 0 {
		stop = end + i
	}
	return text[start:stop], strings.TrimLeftFunc(text[stop:], unicode.IsSpace)
}

func isMark(r rune) bool { return !isWord(r) }

func excerpt(text string, end int) string {
	before := []rune(text[max(0, end-60):end])
	after := []rune(text[end:min(len(text), end+60)])
	return fmt.Sprintf("%q | %q", string(before[max(0, len(before)-20):]), string(after[:min(len(after), 20)]))
}

func report(same, theirs, ours int, differences map[string][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "NLTK's sentences   %6d\nours               %6d\nthe same           %6d (%.2f %% of NLTK's, %.2f %% of ours)\n",
		theirs, ours, same, 100*float64(same)/float64(theirs), 100*float64(same)/float64(ours))
	kinds := slices.SortedFunc(maps.Keys(differences), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(differences[b]), len(differences[a])), cmp.Compare(a, b))
	})
	for _, kind := range kinds {
		found := differences[kind]
		slices.Sort(found)
		fmt.Fprintf(&b, "\n%s: %d (%.2f %%)\n", kind, len(found), 100*float64(len(found))/float64(theirs))
		for i := range min(8, len(found)) {
			fmt.Fprintf(&b, "  %s\n", found[i*len(found)/min(8, len(found))])
		}
	}
	return b.String()
}
