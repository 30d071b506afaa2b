package records

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// Line is one line of input that is not blank.
type Line struct {
	// Number counts from 1 and includes blank lines, as editors do.
	Number int
	// Data is the line without its line break. It is empty if TooLong.
	Data []byte
	// TooLong says that the line exceeds the limit; its bytes were passed over.
	TooLong bool
}

// byteOrderMark is what some editors put before UTF-8 text.
var byteOrderMark = []byte("\ufeff")

// Lines yields the lines of r that are not blank. Line breaks are LF or CRLF, a
// UTF-8 byte order mark before the first line is dropped, and the last line
// need not end in a line break. No more than limit bytes of a line are held. An
// error of r is yielded last, with an empty line.
func Lines(r io.Reader, limit int) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		reader := bufio.NewReaderSize(r, 64<<10)
		if start, _ := reader.Peek(len(byteOrderMark)); bytes.Equal(start, byteOrderMark) {
			_, _ = reader.Discard(len(byteOrderMark))
		}
		for number := 1; ; number++ {
			line, blank, err := readLine(reader, limit)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Line{}, err)
				return
			}
			line.Number = number
			if !blank && !yield(line, nil) {
				return
			}
			if err != nil {
				return
			}
		}
	}
}

// readLine reads up to the next line break. A line beyond the limit is read to
// its end but not kept; whether it is blank does not depend on the limit.
func readLine(reader *bufio.Reader, limit int) (line Line, blank bool, err error) {
	blank = true
	for {
		part, err := reader.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if !more {
			part = bytes.TrimSuffix(part, []byte("\n"))
		}
		blank = blank && len(bytes.TrimSpace(part)) == 0
		// One byte of slack, for the CR that may still follow.
		if line.TooLong = line.TooLong || len(line.Data)+len(part) > limit+1; line.TooLong {
			line.Data = nil
		} else {
			line.Data = append(line.Data, part...)
		}
		if more {
			continue
		}
		line.Data = bytes.TrimSuffix(line.Data, []byte("\r"))
		if len(line.Data) > limit {
			return Line{TooLong: true}, blank, err
		}
		return line, blank, err
	}
}

// Count returns the number of lines of r that are not blank. It keeps nothing
// but a buffer.
func Count(r io.Reader) (int, error) {
	count := 0
	for _, err := range Lines(r, 0) {
		if err != nil {
			return count, err
		}
		count++
	}
	return count, nil
}
