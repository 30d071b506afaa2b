package spawn

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"

	"plumbline/verifiers/spawn/handshake"
)

const (
	// maxLine is where a line without an end is broken.
	maxLine = 8 << 10
	// maxNoise is how much may come before the handshake line.
	maxNoise = 64 << 10
	// maxTail is how much of the last output errors quote.
	maxTail = 512
)

// output is what a sidecar prints: the handshake line goes to the host, the rest
// to its log. Until the handshake the end of it is kept for errors; later it is
// not, because it may then have text of pairs.
type output struct {
	log       *slog.Logger
	handshake chan string   // the line, once
	garbage   chan struct{} // closed if too much came before the line

	mu     sync.Mutex
	shaken bool   // the line came
	noise  int    // bytes before it
	tail   string // the end of what was printed before it
}

func newOutput(log *slog.Logger) *output {
	return &output{log: log, handshake: make(chan string, 1), garbage: make(chan struct{})}
}

// stdout and stderr take lines.
func (o *output) stdout(line string) {
	if !o.isHandshake(line) {
		o.record("stdout", line)
	}
}

func (o *output) stderr(line string) { o.record("stderr", line) }

// isHandshake passes the first line on that means to be the handshake.
func (o *output) isHandshake(line string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shaken {
		return false
	}
	if handshake.IsLine(line) {
		o.shaken = true
		o.handshake <- line
		return true
	}
	before := o.noise
	o.noise += len(line) + 1
	if before <= maxNoise && o.noise > maxNoise {
		close(o.garbage)
	}
	return false
}

func (o *output) record(stream, line string) {
	o.mu.Lock()
	if !o.shaken {
		o.tail = (o.tail + line + "\n")
		o.tail = o.tail[max(0, len(o.tail)-maxTail):]
	}
	o.mu.Unlock()
	o.log.Info("the sidecar says", "stream", stream, "line", strings.ToValidUTF8(line, "\uFFFD"))
}

// said is the end of what came before the handshake, for an error.
func (o *output) said() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if tail := strings.TrimSpace(strings.ToValidUTF8(o.tail, "")); tail != "" {
		return "; it said: " + tail
	}
	return ""
}

// noisy says whether anything but the handshake came on standard output.
func (o *output) noisy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.noise > 0
}

// lines is an io.Writer that hands on what it is given line by line.
type lines struct {
	take func(string)
	rest []byte
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		end := bytes.IndexByte(l.rest, '\n')
		switch {
		case end >= 0:
			l.take(strings.TrimSuffix(string(l.rest[:end]), "\r"))
			l.rest = l.rest[end+1:]
		case len(l.rest) >= maxLine:
			l.take(string(l.rest[:maxLine]))
			l.rest = l.rest[maxLine:]
		default:
			return len(p), nil
		}
	}
}

// flush hands on a last line that has no end.
func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.take(string(l.rest))
		l.rest = nil
	}
}
