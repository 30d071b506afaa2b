package records

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errorStart is how the line of a record that failed begins, and no response does.
var errorStart = []byte(`{"error":{"line":`)

// Earlier reads the output that a run has left, however it ended: what its whole
// lines answer, and their length. What follows them is a line without its end.
func Earlier(output io.Reader) (done Summary, length int64, err error) {
	reader := bufio.NewReaderSize(output, 64<<10)
	var position int64
	starts, failed := true, false
	for {
		part, err := reader.ReadSlice('\n')
		position += int64(len(part))
		if starts {
			failed = bytes.HasPrefix(part, errorStart)
		}
		switch {
		case err == nil:
			done.Records++
			if failed {
				done.Failed++
			}
			starts, length = true, position
		case errors.Is(err, bufio.ErrBufferFull):
			starts = false
		case errors.Is(err, io.EOF):
			return done, length, nil
		default:
			return done, length, err
		}
	}
}
