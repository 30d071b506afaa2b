// Package testlog keeps a log for a test that reads it while it is written.
package testlog

import (
	"strings"
	"sync"
)

// Buffer is a log in memory. It is safe for concurrent use, and its zero value is
// empty.
type Buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns all that was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
