package server

import (
	"context"
	"os"
	"os/signal"
	"sync"
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

// Hangups are the SIGHUPs of the process, which no longer end it.
type Hangups struct {
	signals chan os.Signal
	handled sync.WaitGroup
}

// CatchHangups catches SIGHUP until Release. One that comes before Each is kept
// for it: a server may be told to reload while it still starts.
func CatchHangups() *Hangups {
	h := &Hangups{signals: make(chan os.Signal, 1)}
	signal.Notify(h.signals, syscall.SIGHUP)
	return h
}

// Each calls reload for every SIGHUP, one after the other.
func (h *Hangups) Each(reload func()) {
	h.handled.Go(func() {
		for range h.signals {
			reload()
		}
	})
}

// Release catches no more and waits for a reload that is under way.
func (h *Hangups) Release() {
	signal.Stop(h.signals)
	close(h.signals)
	h.handled.Wait()
}
