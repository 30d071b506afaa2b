package tokenizer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// charsmap is SentencePiece's compiled normalisation (Precompiled): a
// double-array trie from strings to their replacements. It follows the library
// where that departs from SentencePiece: a grapheme cluster of at most five
// bytes is replaced as a whole by what its shortest known prefix maps to, and
// otherwise each character by itself.
type charsmap struct {
	units        []uint32
	replacements []byte
	clusters     []clusterClass
}

// maxCluster is the length in bytes of the longest cluster that is replaced as
// a whole.
const maxCluster = 5

func newCharsmap(data []byte) (*charsmap, error) {
	errMalformed := errors.New("normalizer: precompiled_charsmap is malformed")
	if len(data) < 4 {
		return nil, errMalformed
	}
	size := uint64(binary.LittleEndian.Uint32(data))
	data = data[4:]
	if size < 4 || size%4 != 0 || size > uint64(len(data)) {
		return nil, errMalformed
	}
	c := &charsmap{units: make([]uint32, size/4), replacements: data[size:], clusters: newClusterClasses()}
	for i := range c.units {
		c.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	if !utf8.Valid(c.replacements) {
		return nil, errMalformed
	}
	return c, nil
}

// lookup returns what the shortest known prefix of text maps to.
func (c *charsmap) lookup(text []byte) (replacement []byte, ok bool) {
	// A unit has its label in the low byte, the flag of a leaf below it in bit
	// 8, and the distance to its children above that.
	distance := func(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
	node := distance(c.units[0])
	for _, b := range text {
		node ^= uint32(b)
		if b == 0 || uint64(node) >= uint64(len(c.units)) {
			return nil, false
		}
		unit := c.units[node]
		if unit&(1<<31|0xFF) != uint32(b) {
			return nil, false
		}
		node ^= distance(unit)
		if unit&(1<<8) != 0 {
			return c.replacement(node)
		}
	}
	return nil, false
}

// replacement returns the string, ended by NUL, to which a leaf points.
func (c *charsmap) replacement(leaf uint32) ([]byte, bool) {
	if uint64(leaf) >= uint64(len(c.units)) {
		return nil, false
	}
	start := uint64(c.units[leaf] & (1<<31 - 1))
	if start > uint64(len(c.replacements)) {
		return nil, false
	}
	text, _, _ := bytes.Cut(c.replacements[start:], []byte{0})
	return text, true
}

func (c *charsmap) normalize(in word) word {
	a := aligner{in: in, out: newWord(len(in.text))}
	for at := 0; at < len(in.text); {
		end := c.clusterEnd(in.text, at)
		if end-at <= maxCluster {
			if to, ok := c.lookup(in.text[at:end]); ok {
				a.replace(utf8.RuneCount(in.text[at:end]), to)
				at = end
				continue
			}
		}
		for at < end {
			r, size := utf8.DecodeRune(in.text[at:])
			if to, ok := c.lookup(in.text[at : at+size]); ok {
				a.replace(1, to)
			} else {
				a.put(r, 0)
			}
			at += size
		}
	}
	a.flush()
	return a.out
}

// aligner writes a normalised word and gives each character its place: the
// k-th character of a replacement has the place of the k-th character replaced
// or of the last one.
type aligner struct {
	in, out word
	// at is the position in of the first character not yet replaced.
	at int
	// last was put with a change of changed, which later removals lower:
	// 1 is a character more than were replaced, -n removes the n characters
	// after the one replaced.
	last    rune
	changed int
	pending bool
}

// replace puts what takes the place of the next count characters.
func (a *aligner) replace(count int, to []byte) {
	n := 0
	for _, r := range string(to) {
		change := 0
		if n >= count {
			change = 1
		}
		a.put(r, change)
		n++
	}
	if removed := count - n; removed > 0 {
		a.remove(removed)
	}
}

func (a *aligner) put(r rune, change int) {
	a.flush()
	a.last, a.changed, a.pending = r, change, true
}

func (a *aligner) remove(count int) {
	if a.pending {
		a.changed -= count
		return
	}
	// Nothing stands before the characters. The library forgets them here, so
	// that its offsets are shifted through the whole text; ours are not.
	a.skip(count)
}

func (a *aligner) skip(count int) {
	for range count {
		_, size := utf8.DecodeRune(a.in.text[a.at:])
		a.at += size
	}
}

func (a *aligner) flush() {
	if !a.pending {
		return
	}
	a.pending = false
	if a.changed > 0 {
		a.out.add(a.last, a.in.spans[a.at-1])
		return
	}
	a.out.add(a.last, a.in.spans[a.at])
	a.skip(1 - a.changed)
}
