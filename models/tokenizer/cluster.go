package tokenizer

import "unicode/utf8"

// clusterClass is what a code point is to the borders of grapheme clusters
// (Unicode Standard Annex 29), as far as clusters of up to five bytes go. The
// rules for Hangul, flags, emoji sequences and Indic conjuncts make longer ones
// only and are left out. What that changes is a mark of two bytes after a later
// part of such a sequence: an emoji, a joiner, U+2122 and U+0301 lose the mark
// here and keep it in the library.
type clusterClass uint8

const (
	// clusterExtends joins the cluster before it.
	clusterExtends clusterClass = 1 << iota
	// clusterControl is joined by nothing.
	clusterControl
	// clusterPrepends joins the character after it.
	clusterPrepends
)

func newClusterClasses() []clusterClass {
	classes := make([]clusterClass, utf8.MaxRune+1)
	for class, ranges := range map[clusterClass][]runeRange{
		clusterExtends: extendingRunes, clusterControl: unextendableRunes, clusterPrepends: prependingRunes,
	} {
		for _, r := range ranges {
			for c := r.first; c <= r.last; c++ {
				classes[c] |= class
			}
		}
	}
	return classes
}

// clusterEnd returns where the grapheme cluster that begins at a position ends.
func (c *charsmap) clusterEnd(text []byte, at int) int {
	r, size := utf8.DecodeRune(text[at:])
	end := at + size
	for end < len(text) {
		next, size := utf8.DecodeRune(text[end:])
		if !c.joined(r, next) {
			break
		}
		r = next
		end += size
	}
	return end
}

func (c *charsmap) joined(r, next rune) bool {
	switch {
	case r == '\r' && next == '\n':
		return true
	case c.clusters[r]&clusterControl != 0 || c.clusters[next]&clusterControl != 0:
		return false
	default:
		return c.clusters[next]&clusterExtends != 0 || c.clusters[r]&clusterPrepends != 0
	}
}
