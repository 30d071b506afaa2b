package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"plumbline/scorers/entail"
)

// bpe is byte-level byte pair encoding (Sennrich et al. 2016; Radford et al.
// 2019): a word begins as its bytes, and the pair of neighbours that was merged
// earliest in training is merged until there is none.
type bpe struct {
	bytes  [256]int32
	merges map[symbolPair]merge
	trim   offsetTrim
}

type symbolPair struct{ left, right int32 }

// merge is the rank of a merge, low ranks first, and the id of its outcome.
type merge struct{ rank, id int32 }

// offsetTrim is how the post-processor takes blanks out of the spans.
type offsetTrim struct {
	Enabled bool `json:"trim_offsets"`
	// PrefixSpace keeps a single blank at the start of the text.
	PrefixSpace bool `json:"add_prefix_space"`
}

// byteRunes returns the printable character by which vocabularies write each
// byte: itself if it is printable in Latin-1, otherwise one from U+0100 on.
func byteRunes() [256]rune {
	var runes [256]rune
	next := rune(0x100)
	for b := range runes {
		switch {
		case '!' <= b && b <= '~', 0xA1 <= b && b <= 0xAC, 0xAE <= b:
			runes[b] = rune(b)
		default:
			runes[b] = next
			next++
		}
	}
	return runes
}

func newBPE(raw json.RawMessage, trim offsetTrim) (*bpe, error) {
	var config struct {
		Vocab        map[string]int32  `json:"vocab"`
		Merges       []json.RawMessage `json:"merges"`
		Dropout      *float64          `json:"dropout"`
		Prefix       string            `json:"continuing_subword_prefix"`
		Suffix       string            `json:"end_of_word_suffix"`
		IgnoreMerges bool              `json:"ignore_merges"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if config.Dropout != nil || config.Prefix != "" || config.Suffix != "" || config.IgnoreMerges {
		return nil, fmt.Errorf("model: dropout, continuing_subword_prefix, end_of_word_suffix and ignore_merges are not supported in byte-level BPE")
	}
	m := &bpe{merges: make(map[symbolPair]merge, len(config.Merges)), trim: trim}
	for b, r := range byteRunes() {
		id, ok := config.Vocab[string(r)]
		if !ok {
			return nil, fmt.Errorf("model: vocab has no entry for the byte %#02x: only byte-level BPE is supported", b)
		}
		m.bytes[b] = id
	}
	for rank, raw := range config.Merges {
		left, right, err := parseMerge(raw)
		if err != nil {
			return nil, fmt.Errorf("model: merge %d: %w", rank, err)
		}
		var ids [3]int32
		for i, token := range []string{left, right, left + right} {
			id, ok := config.Vocab[token]
			if !ok {
				return nil, fmt.Errorf("model: merge %d: %q is not in vocab", rank, token)
			}
			ids[i] = id
		}
		m.merges[symbolPair{ids[0], ids[1]}] = merge{rank: int32(rank), id: ids[2]}
	}
	for token, id := range config.Vocab {
		if id < 0 {
			return nil, fmt.Errorf("model: vocab has the negative id %d for %q", id, token)
		}
	}
	return m, nil
}

// parseMerge reads a merge, written as "a b" or, since 2024, as ["a", "b"].
func parseMerge(raw json.RawMessage) (left, right string, err error) {
	var parts []string
	var joined string
	if json.Unmarshal(raw, &joined) == nil {
		parts = strings.Split(joined, " ")
	} else if err := json.Unmarshal(raw, &parts); err != nil {
		return "", "", err
	}
	if len(parts) != 2 {
		return "", "", fmt.Errorf("it has %d parts and not two", len(parts))
	}
	return parts[0], parts[1], nil
}

// symbol is a token in the making: the bytes start..end of the word. Merged
// ones form a chain by prev and next, which end with -1. Positions have 32 bits
// because a long word without a blank has as many symbols as bytes.
type symbol struct{ id, start, end, prev, next int32 }

// candidate is a pair that could be merged: the symbol at position and the
// next one. It is stale if the pair there no longer merges to id.
type candidate struct {
	merge
	position int32
}

func (c candidate) before(other candidate) bool {
	return c.rank < other.rank || c.rank == other.rank && c.position < other.position
}

func (m *bpe) appendTo(e *Encoding) func(word) {
	merging := bpeWord{bpe: m}
	return func(w word) {
		merging.run(w.text)
		for at := int32(0); at >= 0; at = merging.symbols[at].next {
			s := merging.symbols[at]
			span := m.trimmed(w.text[s.start:s.end], w.span(int(s.start), int(s.end)), len(e.IDs) == 0)
			e.add(int64(s.id), span)
		}
	}
}

// trimmed takes leading and trailing blanks out of a token's span.
func (m *bpe) trimmed(text []byte, span entail.Span, first bool) entail.Span {
	if !m.trim.Enabled {
		return span
	}
	leading, trailing := 0, 0
	for leading < len(text) && text[leading] == ' ' {
		leading++
	}
	for trailing < len(text) && text[len(text)-1-trailing] == ' ' {
		trailing++
	}
	if leading == 1 && m.trim.PrefixSpace && (first || span.Start == 0) {
		leading = 0
	}
	span.Start = min(span.Start+leading, span.End)
	span.End = max(span.End-trailing, span.Start)
	return span
}

// bpeWord is the state of merging one word, kept for its memory.
type bpeWord struct {
	*bpe
	symbols []symbol
	queue   []candidate
}

// run leaves the tokens of the word in the chain that begins with symbol 0.
func (b *bpeWord) run(text []byte) {
	b.symbols, b.queue = slices.Grow(b.symbols[:0], len(text)), slices.Grow(b.queue[:0], len(text))
	for i, c := range text {
		i := int32(i)
		b.symbols = append(b.symbols, symbol{id: b.bytes[c], start: i, end: i + 1, prev: i - 1, next: i + 1})
	}
	b.symbols[len(text)-1].next = -1
	for i := range int32(len(text) - 1) {
		b.offer(i)
	}
	for len(b.queue) > 0 {
		c := b.pop()
		left := &b.symbols[c.position]
		if left.start == left.end || left.next < 0 {
			continue
		}
		right := &b.symbols[left.next]
		if m, ok := b.merges[symbolPair{left.id, right.id}]; !ok || m.id != c.id {
			continue
		}
		left.id, left.end, left.next = c.id, right.end, right.next
		right.start = right.end
		if left.next >= 0 {
			b.symbols[left.next].prev = c.position
			b.offer(c.position)
		}
		if left.prev >= 0 {
			b.offer(left.prev)
		}
	}
}

// offer queues the pair that begins at a position if it can be merged.
func (b *bpeWord) offer(position int32) {
	left := b.symbols[position]
	m, ok := b.merges[symbolPair{left.id, b.symbols[left.next].id}]
	if !ok {
		return
	}
	b.queue = append(b.queue, candidate{m, position})
	for at := len(b.queue) - 1; at > 0; {
		parent := (at - 1) / 2
		if !b.queue[at].before(b.queue[parent]) {
			break
		}
		b.queue[at], b.queue[parent] = b.queue[parent], b.queue[at]
		at = parent
	}
}

// pop takes the first candidate off the queue, which is a binary heap.
func (b *bpeWord) pop() candidate {
	top, last := b.queue[0], len(b.queue)-1
	b.queue[0] = b.queue[last]
	b.queue = b.queue[:last]
	for at := 0; ; {
		child := 2*at + 1
		if child >= last {
			return top
		}
		if child+1 < last && b.queue[child+1].before(b.queue[child]) {
			child++
		}
		if !b.queue[child].before(b.queue[at]) {
			return top
		}
		b.queue[at], b.queue[child] = b.queue[child], b.queue[at]
		at = child
	}
}
