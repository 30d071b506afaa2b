//go:build unix

package hub

import "golang.org/x/sys/unix"

// freeBytes is what the disk of a folder has free for this user; known is false
// where the system does not tell.
func freeBytes(dir string) (free int64, known bool) {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil {
		return 0, false
	}
	return int64(stat.Bavail) * int64(stat.Bsize), true //nolint:unconvert,gosec // the types differ between systems
}
