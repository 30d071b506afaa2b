package calibration

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestIDsAreASet compares the table with a map.
func TestIDsAreASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l ids
		known := map[string]int{}
		for _, id := range rapid.SliceOfN(rapid.StringN(1, 3, -1), 0, 300).Draw(t, "ids") {
			earlier, added := l.add(id)
			if want, has := known[id]; has == added || has && earlier != want {
				t.Fatalf("%q: record %d, added %v; known %v as %d", id, earlier, added, has, want)
			}
			if added {
				known[id] = l.length - 1
			}
		}
		for id, i := range known {
			if got := string(l.bytes(i)); got != id {
				t.Fatalf("record %d has id %q, want %q", i, got, id)
			}
		}
	})
}

func TestColumnsReachOverBlocks(t *testing.T) {
	var c column[int]
	var l ids
	const n = 2*blockSize + 3
	for i := range n {
		if i%3 == 1 {
			c.appendAt(i, i, -1)
		}
		if _, added := l.add(fmt.Sprint("id ", i)); !added {
			t.Fatalf("id %d is taken for another", i)
		}
	}
	c.set(blockSize, 7)
	for i := range n {
		want := -1
		switch {
		case i == blockSize:
			want = 7
		case i%3 == 1:
			want = i
		}
		if got := c.at(i, -1); got != want {
			t.Fatalf("record %d has %d, want %d", i, got, want)
		}
		if got := string(l.bytes(i)); got != fmt.Sprint("id ", i) {
			t.Fatalf("record %d has id %q", i, got)
		}
	}
	if earlier, added := l.add(fmt.Sprint("id ", blockSize)); added || earlier != blockSize {
		t.Errorf("a repeated id: record %d, added %v", earlier, added)
	}
	var none *column[int]
	if got := none.at(0, -1); got != -1 {
		t.Errorf("a column that is not there has %d", got)
	}
}
