package progress

import (
	"bytes"
	"strings"
	"sync"
	"testing"
)

func TestStagesAreLinesWhereNoBarIsDrawn(t *testing.T) {
	var out bytes.Buffer
	s := NewStages(&out, false)
	s.Show("reading", 1, Unknown)
	if out.Len() > 0 {
		t.Errorf("a run that has just begun says %q", out.String())
	}
	s.between = 0
	s.Show("reading", 2, Unknown)
	s.Show("drawing", 3, 8)
	s.Println("line 7: not readable")
	s.Close()
	if got, want := out.String(), "plumbline: reading: 2\nplumbline: drawing: 3 of 8\nline 7: not readable\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEveryStageHasABar(t *testing.T) {
	var out bytes.Buffer
	s := NewStages(&out, true)
	var group sync.WaitGroup
	s.Show("reading", 0, Unknown)
	s.Show("drawing", 0, 100)
	for range 4 {
		group.Go(func() {
			for done := range 100 {
				s.Show("drawing", done, 100)
			}
		})
	}
	group.Wait()
	s.Show("drawing", 110, 120)
	s.Show("drawing", 120, 120)
	s.Println("a line")
	s.Show("writing", 1, 1)
	s.Close()
	for _, want := range []string{"reading", "drawing", "120/120", "a line\n", "writing", "1/1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not shown in %q", want, out.String())
		}
	}
}
