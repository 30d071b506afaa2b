package tokenizer

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

var update = flag.Bool("update", false, "write testdata/unicode_differences.txt")

// TestUnicodeDifferences documents where the library's mix of Unicode versions,
// and so this package, differs from the tables of Go.
func TestUnicodeDifferences(t *testing.T) {
	const file = "testdata/unicode_differences.txt"
	versions := fmt.Sprintf("Go's package unicode has Unicode %s, x/text/unicode/norm %s.", unicode.Version, norm.Version)
	if *update {
		text := "Code points that differ between Hugging Face tokenizers and the tables of Go.\n" + versions + "\n" + unicodeDifferences()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(want), versions) {
		t.Skipf("the file was written with other versions than: %s Run the test with -update", versions)
	}
	if !strings.HasSuffix(string(want), unicodeDifferences()) {
		t.Errorf("%s is out of date: run the test with -update and read the difference", file)
	}
}

// unicodeDifferences lists, for each property, the ranges in which the value
// here is another one than in Go.
func unicodeDifferences() string {
	sets := newRuneSets()
	has := func(property runeSet) func(rune) bool {
		return func(r rune) bool { return sets[r]&property != 0 }
	}
	in := func(tables ...*unicode.RangeTable) func(rune) bool {
		return func(r rune) bool { return unicode.In(r, tables...) }
	}
	var out strings.Builder
	writeDifferences(&out, "white space", has(space), in(unicode.White_Space))
	writeDifferences(&out, "removed by clean_text (NUL, U+FFFD, categories Cc, Cf, Co without tab, line feed, carriage return)",
		has(dropped), in(unicode.Cc, unicode.Cf, unicode.Co))
	writeDifferences(&out, "punctuation (ASCII punctuation, category P)", has(punctuation), in(unicode.P))
	writeDifferences(&out, "nonspacing mark (category Mn)", has(mark), in(unicode.Mn))
	writeDifferences(&out, "lower case", func(r rune) string { return mapRune(lowerCase, r) },
		func(r rune) string { return string(unicode.ToLower(r)) })
	writeDifferences(&out, "canonical decomposition", decompose, func(r rune) string { return norm.NFD.String(string(r)) })
	writeDifferences(&out, "canonical combining class", combiningClass, func(r rune) uint8 {
		if !norm.NFD.IsNormalString(string(r)) {
			return combiningClass(r) // it never stands in normalised text
		}
		return norm.NFD.PropertiesString(string(r)).CCC()
	})
	return out.String()
}

func writeDifferences[T comparable](out *strings.Builder, property string, here, inGo func(rune) T) {
	fmt.Fprintf(out, "\n# %s\n", property)
	type difference struct{ here, inGo T }
	var current difference
	first, last := rune(-1), rune(-1)
	flush := func() {
		if first >= 0 {
			fmt.Fprintf(out, "U+%04X..U+%04X: %s here, %s in Go\n", first, last, printable(current.here), printable(current.inGo))
		}
		first = -1
	}
	for r := range rune(unicode.MaxRune + 1) {
		d := difference{here(r), inGo(r)}
		if isSurrogate(r) || d.here == d.inGo {
			flush()
			continue
		}
		if first < 0 || d != current {
			flush()
			first, current = r, d
		}
		last = r
	}
	flush()
}

// printable writes a value of a property in ASCII.
func printable(value any) string {
	return strings.Trim(strconv.QuoteToASCII(fmt.Sprint(value)), `"`)
}
