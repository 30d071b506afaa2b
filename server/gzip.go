package server

import (
	"compress/gzip"
	"errors"
	"io"

	"connectrpc.com/connect"
)

// errInflated ends the decompression of a message that is too large.
var errInflated = errors.New("the decompressed message is too large")

// withBoundedGzip replaces connect-go's gzip. Its own reads a message that is
// too large to the end in order to tell its size, so that some kilobytes could
// keep a processor busy for as long as the sender likes.
func withBoundedGzip(maxBytes int) connect.HandlerOption {
	return connect.WithCompression("gzip",
		func() connect.Decompressor { return &boundedGzip{limit: int64(maxBytes) + 1} },
		func() connect.Compressor { return gzip.NewWriter(io.Discard) },
	)
}

// boundedGzip is a gzip reader that fails after limit bytes.
type boundedGzip struct {
	gzip.Reader
	limit, left int64
}

// Reset implements connect.Decompressor.
func (b *boundedGzip) Reset(source io.Reader) error {
	b.left = b.limit
	return b.Reader.Reset(source)
}

// Read implements io.Reader.
func (b *boundedGzip) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errInflated
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
