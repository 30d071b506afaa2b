// Package evaluate runs a verifier over labelled claims: it reads the sets,
// scores each claim through the service, and keeps the scores in a file, so
// that a long run can be interrupted, taken up again, and reported on later
// without the model.
package evaluate

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"plumbline/cmd/plumbline/internal/files"
	"plumbline/cmd/plumbline/internal/records"
	"plumbline/scorers/evaluation"
	"plumbline/scorers/grounding"
)

// Pair is a labelled claim with its document.
type Pair struct {
	Row      evaluation.Row
	Document string
	Claim    string
	// Question is set where the claim is a short answer to it.
	Question string
}

// Digest identifies what is scored: equal digests, equal pairs.
func (p Pair) Digest() string { return digest(p.Document, p.Claim, p.Question) }

// digest hashes texts to 64 bits, which tells the rows of a data set apart.
func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		_ = binary.Write(h, binary.BigEndian, uint64(len(t))) // a hash takes everything
		h.Write([]byte(t))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Selection says which rows of which sets are read.
type Selection struct {
	// Sets are names of sets, with or without what follows their first dot; all
	// if there are none.
	Sets []string
	// Limit is the most rows of a set, 0 for all: a sample by Seed, of which a
	// smaller one is a part.
	Limit int
	Seed  uint64
	// MaxLine bounds a line in bytes.
	MaxLine int
}

// extensions are those of files with pairs.
var extensions = []string{".jsonl", ".jsonl.gz"}

// Read reads the pairs of files, and of all files with pairs in folders. Each
// file is a set and gives it its name.
func Read(paths []string, s Selection) ([]Pair, error) {
	names, err := Files(paths)
	if err != nil {
		return nil, err
	}
	var pairs []Pair
	seen := map[string]string{}
	for _, name := range names {
		set := setName(name)
		if !s.includes(set) {
			continue
		}
		if other, twice := seen[set]; twice {
			return nil, fmt.Errorf("%s and %s are both the set %s: rename one", other, name, set)
		}
		seen[set] = name
		of, err := readFile(name, set, s.MaxLine)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, sample(s, of, func(p Pair) evaluation.Row { return p.Row })...)
	}
	if name, ok := s.absent(maps.Keys(seen)); ok {
		return nil, fmt.Errorf("--sets: no file is the set %q", name)
	}
	return pairs, nil
}

// Files replaces folders by the files with pairs in them.
func Files(paths []string) ([]string, error) {
	var names []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			names = append(names, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		before := len(names)
		for _, e := range entries {
			if slices.ContainsFunc(extensions, func(x string) bool { return strings.HasSuffix(e.Name(), x) }) {
				names = append(names, filepath.Join(path, e.Name()))
			}
		}
		if len(names) == before {
			return nil, fmt.Errorf("%s holds no .jsonl or .jsonl.gz file", path)
		}
	}
	return names, nil
}

func setName(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".jsonl")
}

func (s Selection) includes(set string) bool {
	return len(s.Sets) == 0 || slices.ContainsFunc(s.Sets, func(wanted string) bool { return means(wanted, set) })
}

// absent returns a name of the selection that means none of some sets, if there is one.
func (s Selection) absent(sets iter.Seq[string]) (name string, ok bool) {
	have := slices.Collect(sets)
	for _, wanted := range s.Sets {
		if !slices.ContainsFunc(have, func(set string) bool { return means(wanted, set) }) {
			return wanted, true
		}
	}
	return "", false
}

// means says whether a name of --sets means a set.
func means(wanted, set string) bool {
	return wanted == set || strings.HasPrefix(set, wanted+".")
}

// sample keeps the items whose rows' hashes with the seed are the lowest, in
// their order.
func sample[T any](s Selection, items []T, row func(T) evaluation.Row) []T {
	if s.Limit <= 0 || s.Limit >= len(items) {
		return items
	}
	ranks := make([]uint64, len(items))
	for i, item := range items {
		r := row(item)
		sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s\n%s", s.Seed, r.Set, r.ID))
		ranks[i] = binary.BigEndian.Uint64(sum[:])
	}
	limit := slices.Sorted(slices.Values(ranks))[s.Limit]
	var kept []T
	for i, item := range items {
		if ranks[i] < limit {
			kept = append(kept, item)
		}
	}
	return kept
}

func readFile(path, set string, maxLine int) ([]Pair, error) {
	file, err := files.OpenInput(path, nil)
	if err != nil {
		return nil, err // it names the file
	}
	defer func() { _ = file.Close() }() // it was only read
	pairs, err := readSet(file, set, maxLine)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return pairs, nil
}

// readSet reads one set. A row that cannot be read is an error: figures over
// the others would be those of another set.
func readSet(r io.Reader, set string, maxLine int) ([]Pair, error) {
	var pairs []Pair
	lines := map[string]int{}
	last, positives := 0, 0
	for line, err := range records.Lines(r, maxLine) {
		if err != nil {
			return nil, fmt.Errorf("after line %d: %w", last, err)
		}
		last = line.Number
		if line.TooLong {
			return nil, fmt.Errorf("line %d: is longer than %d bytes: raise limits.max_message_bytes", last, maxLine)
		}
		pair, err := parsePair(line.Data, set)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", last, err)
		}
		if first, twice := lines[pair.Row.ID]; twice {
			return nil, fmt.Errorf(`line %d: field "id": line %d has the same`, last, first)
		}
		lines[pair.Row.ID] = last
		if pair.Row.Label {
			positives++
		}
		pairs = append(pairs, pair)
	}
	switch {
	case len(pairs) == 0:
		return nil, errors.New("the file has no rows")
	case positives == 0 || positives == len(pairs):
		return nil, fmt.Errorf("all labels up to line %d are %d: measuring needs both classes", last, min(1, positives))
	}
	return pairs, nil
}

// row is a line of a file: what is read of it. Other fields (label3, source)
// are passed over.
type row struct {
	ID       *string          `json:"id"`
	Document *string          `json:"doc"`
	Claim    *string          `json:"claim"`
	Question string           `json:"question"`
	Label    *json.RawMessage `json:"label"`
}

func parsePair(line []byte, set string) (Pair, error) {
	if !utf8.Valid(line) {
		return Pair{}, errors.New("is not valid UTF-8: save the file as UTF-8")
	}
	var r row
	// The decoder's errors quote values, and so texts.
	if err := json.Unmarshal(line, &r); err != nil {
		var field *json.UnmarshalTypeError
		if errors.As(err, &field) && field.Field != "" {
			return Pair{}, fmt.Errorf("field %q: must be a text", field.Field)
		}
		return Pair{}, errors.New("is no JSON object (NaN and Infinity are not JSON)")
	}
	for _, f := range []struct {
		name string
		text *string
	}{{"id", r.ID}, {"doc", r.Document}, {"claim", r.Claim}} {
		if f.text == nil || strings.TrimSpace(*f.text) == "" {
			return Pair{}, fmt.Errorf("field %q: is missing or empty", f.name)
		}
	}
	label, err := parseLabel(r.Label)
	if err != nil {
		return Pair{}, fmt.Errorf(`field "label": %w`, err)
	}
	return Pair{
		Row: evaluation.Row{
			Set: set, ID: *r.ID, Label: label, Document: digest(*r.Document),
			Words: len(strings.Fields(*r.Document)), Types: grounding.Traits(*r.Claim),
		},
		Document: *r.Document, Claim: *r.Claim, Question: r.Question,
	}, nil
}

func parseLabel(raw *json.RawMessage) (bool, error) {
	if raw == nil {
		return false, errors.New("is missing or null")
	}
	switch string(bytes.TrimSpace(*raw)) {
	case "1", "true":
		return true, nil
	case "0", "false":
		return false, nil
	default:
		return false, errors.New("must be 1 or 0, or true or false")
	}
}

// order sorts pairs by length of the document, longest first, so that a run
// does not end with one processor at work on the longest.
func order(pairs []Pair) []Pair {
	return slices.SortedStableFunc(slices.Values(pairs), func(a, b Pair) int { return cmp.Compare(len(b.Document), len(a.Document)) })
}
