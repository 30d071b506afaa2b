package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

const (
	// pushTime is what health watchers are given to receive NOT_SERVING before
	// their streams end.
	pushTime = 100 * time.Millisecond
	// lingerTime is what the transports are given, once no call is in flight,
	// to send what is buffered, also to readers that are slow, and to say goodbye;
	// after it, connections that are held open by reflection or by silent clients
	// are cut.
	lingerTime = 5 * time.Second
	// abandonTime is how long handlers may take to notice that they were cut.
	abandonTime = 2 * time.Second
)

// Run serves until stop ends, then drains: health turns NOT_SERVING, no new
// calls are taken, and calls in flight may finish within the grace period. The
// end of force, such as a second signal, cuts the rest at once. Run closes
// everything that Complete opened; a Server runs once.
func (s *Server) Run(stop, force context.Context) error {
	failed := make(chan error, 2)
	var background sync.WaitGroup
	if s.grpcListener != nil {
		s.log.Info("listening", "protocol", "grpc", "addr", s.GRPCAddr().String(), "tls", s.cfg.GRPC.TLS.Enabled())
		background.Go(func() { failed <- s.grpc.Serve(s.grpcListener) })
	}
	if s.httpListener != nil {
		s.log.Info("listening", "protocol", "http", "addr", s.HTTPAddr().String(), "tls", s.cfg.HTTP.TLS.Enabled())
		background.Go(func() { failed <- s.serveHTTP() })
	}
	probing, endProbing := context.WithCancel(context.WithoutCancel(stop))
	background.Go(func() { s.ready.watch(probing) })

	var err error
	select {
	case <-stop.Done():
	case err = <-failed:
	}
	endProbing()
	s.drain(force)
	background.Wait()
	return errors.Join(err, s.closers.close())
}

func (s *Server) serveHTTP() error {
	var err error
	if s.cfg.HTTP.TLS.Enabled() {
		err = s.http.ServeTLS(s.httpListener, "", "")
	} else {
		err = s.http.Serve(s.httpListener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// drain ends the service with as little loss as the grace period allows.
func (s *Server) drain(force context.Context) {
	s.log.Info("draining", "grace", s.cfg.Drain.Grace.String())
	s.ready.drain()
	pushed := time.After(pushTime)
	ctx, cancel := context.WithTimeout(force, s.cfg.Drain.Grace)
	defer cancel()
	idle := s.policy.Drain()
	stopped := s.stopListeners(ctx)
	if wait(ctx, idle) && wait(ctx, pushed) {
		s.endWatches()
		lingering, cancel := context.WithTimeout(ctx, lingerTime)
		defer cancel()
		wait(lingering, stopped)
	} else {
		s.log.Warn("cutting the calls that are still in flight")
	}
	s.cut()
	abandoned, cancel := context.WithTimeout(context.WithoutCancel(force), abandonTime)
	defer cancel()
	if !wait(abandoned, idle) || !wait(abandoned, stopped) {
		s.log.Error("calls did not notice that they were cut")
	}
}

// stopListeners stops accepting and lets connections end by themselves; the
// channel is closed when all have.
func (s *Server) stopListeners(ctx context.Context) <-chan struct{} {
	stopped := make(chan struct{})
	var stopping sync.WaitGroup
	if s.grpc != nil {
		stopping.Go(s.grpc.GracefulStop)
	}
	if s.http != nil {
		// Its error is the end of ctx, after which cut follows.
		stopping.Go(func() { _ = s.http.Shutdown(ctx) })
	}
	go func() {
		stopping.Wait()
		close(stopped)
	}()
	return stopped
}

// cut closes every connection that is left.
func (s *Server) cut() {
	s.endWatches()
	if s.http != nil {
		_ = s.http.Close()
	}
	if s.grpc != nil {
		go s.grpc.Stop()
	}
}

// wait says whether done came before the end of ctx.
func wait[T any](ctx context.Context, done <-chan T) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
