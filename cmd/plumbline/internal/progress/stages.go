package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

const (
	// betweenDrawings is the least time between two drawings of a bar, and
	// betweenLines that between two lines where no bar is drawn.
	betweenDrawings = 100 * time.Millisecond
	betweenLines    = 10 * time.Second
)

// Stages shows the stages of a long run one after another: on a terminal a bar
// for each, elsewhere a line now and then, so that a log tells how far the run
// is and a short run says nothing. It is safe for concurrent use.
type Stages struct {
	out     io.Writer
	draw    bool
	between time.Duration

	mu    sync.Mutex
	name  string
	bar   *progressbar.ProgressBar // of the stage; nil where nothing is drawn
	shown time.Time
}

// NewStages returns stages that are drawn on out as bars, or written as lines.
func NewStages(out io.Writer, draw bool) *Stages {
	s := &Stages{out: out, draw: draw, between: betweenLines, shown: time.Now()}
	if draw {
		s.between = betweenDrawings
	}
	return s
}

// Show says that a stage has done so many of total steps; total may be Unknown.
func (s *Stages) Show(stage string, done, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	begins, ends := stage != s.name, done == total
	if begins {
		s.finish()
		s.name = stage
	}
	now := time.Now()
	if now.Sub(s.shown) < s.between && (!s.draw || !begins && !ends) {
		return
	}
	s.shown = now
	if !s.draw {
		fmt.Fprintf(s.out, "plumbline: %s: %s\n", stage, share(done, total))
		return
	}
	if s.bar == nil {
		s.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(s.out),
			progressbar.OptionSetDescription(stage),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetWidth(30),
			// Else a bar without a total draws from a goroutine of its own, into
			// what is written here.
			progressbar.OptionSetSpinnerChangeInterval(0),
		)
	}
	if total != s.bar.GetMax() && total != Unknown {
		s.bar.ChangeMax(total)
	}
	_ = s.bar.Set(done) // a bar that cannot be drawn harms nobody
}

func share(done, total int) string {
	if total == Unknown {
		return fmt.Sprint(done)
	}
	return fmt.Sprintf("%d of %d", done, total)
}

// Println writes a line for people above the bar.
func (s *Stages) Println(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		_ = s.bar.Clear()
	}
	fmt.Fprintln(s.out, text)
}

// Close leaves the last state of the last bar standing.
func (s *Stages) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish()
}

// finish ends the line of the stage's bar.
func (s *Stages) finish() {
	if s.bar != nil {
		_ = s.bar.Exit()
		fmt.Fprintln(s.out)
	}
	s.name, s.bar = "", nil
}
