package calibration

import "hash/maphash"

// blockSize is how many records a block of a column has.
const blockSize = 1 << 14

// column is a value for each record. It grows by blocks and is not copied: a
// copy of ten million values would need room for twenty. The zero value is
// empty and ready.
type column[T any] struct {
	blocks [][]T
	length int
}

func (c *column[T]) append(v T) {
	if c.length%blockSize == 0 {
		var block []T // the first grows as it is filled, for small data
		if c.length > 0 {
			block = make([]T, 0, blockSize)
		}
		c.blocks = append(c.blocks, block)
	}
	last := &c.blocks[len(c.blocks)-1]
	*last = append(*last, v)
	c.length++
}

// appendAt appends the value of record i, and before it, of those that had none,
// empty.
func (c *column[T]) appendAt(i int, v, empty T) {
	for c.length < i {
		c.append(empty)
	}
	c.append(v)
}

// at returns the value of record i, or empty where it has none; a nil column has
// none.
func (c *column[T]) at(i int, empty T) T {
	if c == nil || i >= c.length {
		return empty
	}
	return c.blocks[i/blockSize][i%blockSize]
}

// set replaces a value.
func (c *column[T]) set(i int, v T) { c.blocks[i/blockSize][i%blockSize] = v }

// ids are the records' ids, each once, with a table that finds them. They take
// their text, 4 bytes for its end, and 5 to 11 in the table, where a map of
// strings takes about 60.
type ids struct {
	blocks []idBlock
	length int
	// table has the numbers of records, from 1, at the places that their hashes
	// say or the next free ones; 0 is free. At most three quarters are taken.
	table []uint32
	seed  maphash.Seed
}

// idBlock is the text of blockSize ids, one after the other.
type idBlock struct {
	text []byte
	ends []uint32
}

// add appends an id, unless a record has it: then it returns which.
func (l *ids) add(id string) (earlier int, added bool) {
	if 4*(l.length+1) > 3*len(l.table) {
		l.grow()
	}
	place := maphash.String(l.seed, id) % uint64(len(l.table))
	for ; l.table[place] != 0; place = (place + 1) % uint64(len(l.table)) {
		if number := int(l.table[place] - 1); string(l.bytes(number)) == id {
			return number, false
		}
	}
	if l.length%blockSize == 0 {
		l.blocks = append(l.blocks, idBlock{})
	}
	last := &l.blocks[len(l.blocks)-1]
	last.text = append(last.text, id...)
	last.ends = append(last.ends, uint32(len(last.text)))
	l.length++
	l.table[place] = uint32(l.length)
	return 0, true
}

// grow doubles the table.
func (l *ids) grow() {
	if l.table == nil {
		l.seed = maphash.MakeSeed()
	}
	size := max(64, 2*len(l.table))
	l.table = make([]uint32, size)
	for number := range l.length {
		place := maphash.Bytes(l.seed, l.bytes(number)) % uint64(size)
		for l.table[place] != 0 {
			place = (place + 1) % uint64(size)
		}
		l.table[place] = uint32(number + 1)
	}
}

// bytes are the text of record i's id, which must not be changed.
func (l *ids) bytes(i int) []byte {
	block, k := &l.blocks[i/blockSize], i%blockSize
	start := uint32(0)
	if k > 0 {
		start = block.ends[k-1]
	}
	return block.text[start:block.ends[k]]
}
