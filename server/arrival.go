package server

import (
	"context"
	"net/http"

	"plumbline/server/policy"
)

// arrival notes whether an HTTP request became a call. connect-go answers
// requests that it cannot read (too large, an unknown compression, a broken
// body) in its own words, and the policy would never learn of them.
type arrival struct{ arrived bool }

type arrivalKey struct{}

// reporting reports to the policy the requests that never became a call.
func reporting(p *policy.Policy, procedure string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := new(arrival)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), arrivalKey{}, a)))
		if !a.arrived {
			p.Unreadable(r.Context(), procedure, r.RemoteAddr)
		}
	})
}

// arrive notes that the request of ctx is a call.
func arrive(ctx context.Context) {
	if a, ok := ctx.Value(arrivalKey{}).(*arrival); ok {
		a.arrived = true
	}
}
