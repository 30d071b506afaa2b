//go:build !unix

package hub

// freeBytes is not known here; a disk that fills up is an error of writing.
func freeBytes(string) (free int64, known bool) { return 0, false }
