package spawn

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// runs has a sidecar live as long as told, again and again, and returns when it
// was started.
func runs(lives []time.Duration) []time.Duration {
	var s schedule
	begin := time.Unix(0, 0)
	at := begin
	s.started(at)
	starts := []time.Duration{0}
	for _, life := range lives {
		at = s.next(at.Add(life))
		s.started(at)
		starts = append(starts, at.Sub(begin))
	}
	return starts
}

func TestDelaysDouble(t *testing.T) {
	s := time.Second
	got := runs(make([]time.Duration, 11))
	// The seventh would be at 31 s, but the first six use the minute up.
	if want := []time.Duration{0, 0, 1 * s, 3 * s, 7 * s, 15 * s, 60 * s, 92 * s, 152 * s, 212 * s, 272 * s, 332 * s}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLongLifeForgives(t *testing.T) {
	lives := []time.Duration{0, 0, 0, 0, settled, 0}
	got := runs(lives)
	if last := got[len(got)-2:]; last[0] != 15*time.Second+settled-8*time.Second || last[1]-last[0] != time.Second {
		t.Errorf("got %v", got)
	}
}

func TestNeverTooManyStarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lives := rapid.SliceOfN(rapid.Int64Range(0, int64(2*time.Minute)), 0, 60).Draw(t, "lives")
		scale := rapid.SampledFrom([]int64{1, 10, 1000, int64(time.Minute)}).Draw(t, "scale")
		asked := make([]time.Duration, len(lives))
		for i, life := range lives {
			asked[i] = time.Duration(life / scale)
		}
		starts := runs(asked)
		for i := maxStarts; i < len(starts); i++ {
			if within := starts[i] - starts[i-maxStarts]; within < startWindow {
				t.Fatalf("%d starts within %v: %v", maxStarts+1, within, starts)
			}
		}
	})
}
