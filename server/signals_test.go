//go:build unix

package server_test

import (
	"os/signal"
	"syscall"
	"testing"

	"plumbline/server"
)

// TestAHangupWhileTheServerStarts is kept until there is something to reload.
func TestAHangupWhileTheServerStarts(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("SIGHUP is ignored here, as nohup does")
	}
	hangups := server.CatchHangups()
	defer hangups.Release()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	reloaded := make(chan struct{})
	hangups.Each(func() { reloaded <- struct{}{} })
	<-reloaded
}
