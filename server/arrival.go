package server

import (
	"context"
	"net/http"
	"time"

	"plumbline/server/policy"
)

// arrival notes whether an HTTP request became a call. connect-go answers
// requests that it cannot read (too large, an unknown compression, a broken
// body) in its own words, and the policy would never learn of them.
type arrival struct {
	arrived bool
	body    *http.ResponseController
}

type arrivalKey struct{}

// arriving gives the body of a request a time within which to arrive, unless that is
// 0, and reports to the policy the requests that never became a call.
func arriving(p *policy.Policy, procedure string, within time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &arrival{body: http.NewResponseController(w)}
		if within > 0 {
			_ = a.body.SetReadDeadline(time.Now().Add(within)) // every connection of the server has deadlines
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), arrivalKey{}, a)))
		if !a.arrived {
			p.Unreadable(r.Context(), procedure, r.RemoteAddr)
		}
	})
}

// arrive notes that the request of ctx is a call. What it may take from here on is the
// policy's affair.
func arrive(ctx context.Context) {
	if a, ok := ctx.Value(arrivalKey{}).(*arrival); ok {
		a.arrived = true
		_ = a.body.SetReadDeadline(time.Time{})
	}
}
