package server

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Signals returns the two contexts that Run takes: the first SIGINT or SIGTERM
// ends stop, the second ends force. release gives the signals back.
func Signals(parent context.Context) (stop, force context.Context, release func()) {
	stop, endStop := context.WithCancel(parent)
	force, endForce := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for _, end := range []func(){endStop, endForce} {
			select {
			case <-signals:
				end()
			case <-force.Done():
				return
			}
		}
	}()
	return stop, force, func() {
		signal.Stop(signals)
		endStop()
		endForce()
	}
}

// OnHangup calls reload for every SIGHUP, one after the other, until release,
// which waits for one that is under way.
func OnHangup(reload func()) (release func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range hangups {
			reload()
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
		<-done
	}
}
