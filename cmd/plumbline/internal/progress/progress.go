// Package progress shows how far a run is: a bar on a terminal, and nothing
// elsewhere.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Unknown is the total of a run whose length is not known; the bar then counts
// without an end.
const Unknown = -1

// Bar counts records and passes messages for people on, so that the two do not
// overwrite each other.
type Bar struct {
	out io.Writer
	bar *progressbar.ProgressBar // nil where nothing is drawn
}

// IsTerminal says whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// New returns a bar for total records on out. If draw is false it only passes
// messages on.
func New(out io.Writer, total int, draw bool) *Bar {
	b := &Bar{out: out}
	if draw {
		b.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(out),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("records"),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetWidth(30),
		)
	}
	return b
}

// NewBytes returns a bar for total bytes on out.
func NewBytes(out io.Writer, total int64, draw bool) *Bar {
	b := &Bar{out: out}
	if draw {
		b.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(out),
			progressbar.OptionShowBytes(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetWidth(30),
		)
	}
	return b
}

// Set says how many bytes are there.
func (b *Bar) Set(bytes int64) {
	if b.bar != nil {
		_ = b.bar.Set64(bytes) // a bar that cannot be drawn harms nobody
	}
}

// Add counts one record.
func (b *Bar) Add() { b.Skip(1) }

// Skip counts records that an earlier run has done.
func (b *Bar) Skip(records int) {
	if b.bar != nil {
		_ = b.bar.Add(records) // a bar that cannot be drawn harms nobody
	}
}

// Println writes a line for people above the bar.
func (b *Bar) Println(text string) {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
	fmt.Fprintln(b.out, text)
}

// Close leaves the last state of the bar standing.
func (b *Bar) Close() {
	if b.bar != nil {
		_ = b.bar.Exit()
		fmt.Fprintln(b.out)
	}
}
