package tokenizer

import (
	"cmp"
	"slices"
	"unicode"
)

// runeRange is a range of code points, both ends included.
type runeRange struct{ first, last rune }

// classRange is a range of code points with one canonical combining class.
type classRange struct {
	first, last rune
	class       uint8
}

// runeMapping is a code point and what takes its place.
type runeMapping struct {
	from rune
	to   string
}

// hanRunes are the blocks that BertNormalizer sets apart as Chinese characters.
// They leave out later extensions on purpose: the models were trained so.
var hanRunes = []runeRange{
	{0x3400, 0x4DBF},
	{0x4E00, 0x9FFF},
	{0xF900, 0xFAFF},
	{0x20000, 0x2A6DF},
	{0x2A700, 0x2B73F},
	{0x2B740, 0x2B81F},
	{0x2B920, 0x2CEAF},
	{0x2F800, 0x2FA1F},
}

// Hangul syllables decompose by arithmetic (Unicode Standard, section 3.12).
const (
	hangulFirst, hangulLast       = 0xAC00, 0xD7A3
	jamoLead, jamoVowel, jamoTail = 0x1100, 0x1161, 0x11A7
	jamoVowels, jamoTails         = 21, 28
)

// runeSet is a set of properties of a code point.
type runeSet uint8

const (
	dropped runeSet = 1 << iota
	space
	punctuation
	mark       // nonspacing mark
	han        // Chinese character to BertNormalizer
	decomposes // has a canonical decomposition
	cased      // has a lower-case mapping
	nonstarter // has a combining class other than 0
)

// newRuneSets tabulates the properties of every code point. A flat table is
// the fastest to ask, and most of its pages are never touched.
func newRuneSets() []runeSet {
	sets := make([]runeSet, unicode.MaxRune+1)
	add := func(first, last rune, property runeSet) {
		for r := first; r <= last; r++ {
			sets[r] |= property
		}
	}
	for _, table := range []struct {
		ranges   []runeRange
		property runeSet
	}{
		{droppedRunes, dropped},
		{spaceRunes, space},
		{punctuationRunes, punctuation},
		{nonspacingMarks, mark},
		{hanRunes, han},
	} {
		for _, r := range table.ranges {
			add(r.first, r.last, table.property)
		}
	}
	for _, r := range combiningClasses {
		add(r.first, r.last, nonstarter)
	}
	for _, m := range decompositions {
		sets[m.from] |= decomposes
	}
	add(hangulFirst, hangulLast, decomposes)
	for _, m := range lowerCase {
		sets[m.from] |= cased
	}
	return sets
}

// combiningClass returns the canonical combining class of r.
func combiningClass(r rune) uint8 {
	i, found := slices.BinarySearchFunc(combiningClasses, r, func(c classRange, r rune) int {
		if c.last < r {
			return -1
		}
		return max(0, cmp.Compare(c.first, r))
	})
	if !found {
		return 0
	}
	return combiningClasses[i].class
}

// mapRune returns what table has for r, or r itself.
func mapRune(table []runeMapping, r rune) string {
	i, found := slices.BinarySearchFunc(table, r, func(m runeMapping, r rune) int { return cmp.Compare(m.from, r) })
	if !found {
		return string(r)
	}
	return table[i].to
}

// decompose returns the full canonical decomposition of r.
func decompose(r rune) string {
	if r < hangulFirst || r > hangulLast {
		return mapRune(decompositions, r)
	}
	index := r - hangulFirst
	jamo := []rune{
		jamoLead + index/(jamoVowels*jamoTails),
		jamoVowel + index%(jamoVowels*jamoTails)/jamoTails,
		jamoTail + index%jamoTails,
	}
	if jamo[2] == jamoTail {
		jamo = jamo[:2]
	}
	return string(jamo)
}
