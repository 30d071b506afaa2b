package policy

import (
	"context"
	"strings"
	"sync"
	"time"

	"plumbline/server/fault"
)

// admission bounds the calls that are worked on. Every service has its own
// places, so that slow grounding calls cannot keep cheap ones waiting. A few
// places suffice: more calls at once would only share the same processors, and
// each would take longer.
type admission struct {
	wait    time.Duration
	perCall int
	streams chan struct{}

	mu       sync.Mutex
	services map[string]chan struct{}
}

func newAdmission(limits Limits) *admission {
	return &admission{
		wait:     limits.AdmissionWait,
		perCall:  limits.MaxConcurrentCalls,
		streams:  make(chan struct{}, limits.MaxOpenStreams),
		services: make(map[string]chan struct{}),
	}
}

// admitCall waits a bounded time for a place of the call's service.
func (a *admission) admitCall(ctx context.Context, call *Call) (release func(), err error) {
	if call.Free {
		return func() {}, nil
	}
	places := a.places(call.Procedure)
	release = func() { <-places }
	select {
	case places <- struct{}{}:
		return release, nil
	default:
	}
	timer := time.NewTimer(a.wait)
	defer timer.Stop()
	select {
	case places <- struct{}{}:
		return release, nil
	case <-timer.C:
		return nil, overloaded("calls are in progress")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (a *admission) places(procedure string) chan struct{} {
	service, _, _ := strings.Cut(strings.TrimPrefix(procedure, "/"), "/")
	a.mu.Lock()
	defer a.mu.Unlock()
	places, ok := a.services[service]
	if !ok {
		places = make(chan struct{}, a.perCall)
		a.services[service] = places
	}
	return places
}

// admitStream takes a place for a stream or refuses it at once: a stream may
// be open for long, and waiting for one to end would be guesswork.
func (a *admission) admitStream() (release func(), err error) {
	select {
	case a.streams <- struct{}{}:
		return func() { <-a.streams }, nil
	default:
		return nil, overloaded("streams are open")
	}
}

func overloaded(what string) error {
	e := fault.New(fault.Overloaded, "too many %s; retry after the stated delay", what)
	e.RetryAfter = retryAfter()
	return e
}
