package tokenizer

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
)

// trie maps keys to vocabulary ids and finds every key that a text starts
// with. Nodes are numbered in breadth-first order, so the children of a node
// are neighbours and their labels can be searched as one short byte string.
type trie struct {
	// labels has the last byte of each node's key; node 0 is the root.
	labels []byte
	// first has each node's first child; its last one is before the first
	// child of the next node.
	first []int32
	// ids has each node's vocabulary id, or -1 where no key ends.
	ids []int32
}

// trieEntry is a key, which is not empty, and its vocabulary id.
type trieEntry struct {
	key string
	id  int32
}

// newTrie builds a trie. Keys must differ.
func newTrie(entries []trieEntry) *trie {
	slices.SortFunc(entries, func(a, b trieEntry) int { return cmp.Compare(a.key, b.key) })
	// A subtree holds the entries lo..hi, which share their first depth bytes.
	type subtree struct{ lo, hi, depth int }
	t := &trie{labels: []byte{0}}
	queue := []subtree{{0, len(entries), 0}}
	for node := 0; node < len(queue); node++ {
		s := queue[node]
		t.first = append(t.first, int32(len(queue)))
		id := int32(-1)
		if s.lo < s.hi && len(entries[s.lo].key) == s.depth {
			id = entries[s.lo].id
			s.lo++
		}
		t.ids = append(t.ids, id)
		for s.lo < s.hi {
			label := entries[s.lo].key[s.depth]
			end := s.lo
			for end < s.hi && entries[end].key[s.depth] == label {
				end++
			}
			t.labels = append(t.labels, label)
			queue = append(queue, subtree{s.lo, end, s.depth + 1})
			s.lo = end
		}
	}
	t.first = append(t.first, int32(len(queue)))
	return t
}

// child returns the child of node by its label, or -1.
func (t *trie) child(node int32, label byte) int32 {
	first := t.first[node]
	if i := bytes.IndexByte(t.labels[first:t.first[node+1]], label); i >= 0 {
		return first + int32(i)
	}
	return -1
}

// prefixes yields the length and the id of each key that text starts with,
// shortest first.
func (t *trie) prefixes(text []byte) iter.Seq2[int, int32] {
	return func(yield func(int, int32) bool) {
		node := int32(0)
		for i, b := range text {
			if node = t.child(node, b); node < 0 {
				return
			}
			if id := t.ids[node]; id >= 0 && !yield(i+1, id) {
				return
			}
		}
	}
}

// longest returns the length and the id of the longest key that text starts
// with; the length is 0 if there is none.
func (t *trie) longest(text []byte) (length int, id int32) {
	for n, v := range t.prefixes(text) {
		length, id = n, v
	}
	return length, id
}
