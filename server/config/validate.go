package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Validate reports every value that cannot be, under its setting's name.
func (c Config) Validate() error {
	var p problems
	p.address("grpc.addr", c.GRPC.Addr)
	p.address("http.addr", c.HTTP.Addr)
	p.check(c.GRPC.Addr != "" || c.HTTP.Addr != "", "grpc.addr", "is empty and so is http.addr: the server would listen nowhere")
	p.tls("grpc.tls", c.GRPC.TLS)
	p.tls("http.tls", c.HTTP.TLS)
	p.origins("http.cors_origins", c.HTTP.CORSOrigins)

	p.positive("grpc.keepalive.time", c.GRPC.Keepalive.Time)
	p.positive("grpc.keepalive.timeout", c.GRPC.Keepalive.Timeout)
	p.positive("grpc.keepalive.min_time", c.GRPC.Keepalive.MinTime)
	p.positive("http.read_header_timeout", c.HTTP.ReadHeaderTimeout)
	p.positive("http.idle_timeout", c.HTTP.IdleTimeout)

	p.check(c.Limits.MaxMessageBytes >= 1024, "limits.max_message_bytes", "must be at least 1024")
	p.check(c.Limits.MaxMessageBytes <= 1<<30, "limits.max_message_bytes", "must be at most 1073741824 (1 GiB)")
	p.check(c.Limits.MaxConcurrentStreams >= 1, "limits.max_concurrent_streams", "must be at least 1")
	p.check(c.Limits.MaxConcurrentCalls >= 0, "limits.max_concurrent_calls", "must be at least 0")
	p.check(c.Limits.MaxOpenStreams >= 1, "limits.max_open_streams", "must be at least 1")
	p.check(c.Limits.MaxRecords >= 1, "limits.max_records", "must be at least 1")
	p.check(c.Limits.AdmissionWait >= 0, "limits.admission_wait", "must not be negative")
	p.positive("limits.default_deadline", c.Limits.DefaultDeadline)
	p.positive("limits.max_deadline", c.Limits.MaxDeadline)
	p.check(c.Limits.DefaultDeadline <= c.Limits.MaxDeadline, "limits.default_deadline", "must not be longer than limits.max_deadline")
	p.check(c.Drain.Grace >= 0, "drain.grace", "must not be negative")

	p.oneOf("log.format", c.Log.Format, LogJSON, LogText)
	p.check(c.Verifier.Workers >= 0, "verifier.workers", "must be at least 0")
	p.check(c.Verifier.CacheBytes >= 0, "verifier.cache_bytes", "must be at least 0")
	p.check(c.Verifier.MaxCalls >= 1, "verifier.max_calls", "must be at least 1")
	p.oneOf("verifier.fail_mode", c.Verifier.FailMode, FailClosed, FailOpen)
	c.validateVerifiers(&p)
	p.check(c.Subgoals.Max >= 1, "subgoals.max", "must be at least 1")
	p.positive("subgoals.ttl", c.Subgoals.TTL)
	return errors.Join(p...)
}

type problems []error

func (p *problems) check(ok bool, key, problem string) {
	if !ok {
		*p = append(*p, fmt.Errorf("%s %s", key, problem))
	}
}

func (p *problems) positive(key string, d time.Duration) {
	p.check(d > 0, key, "must be longer than 0s")
}

func (p *problems) oneOf(key, value string, allowed ...string) {
	p.check(slices.Contains(allowed, value), key, fmt.Sprintf("is %q: it must be one of %s", value, strings.Join(allowed, ", ")))
}

func (p *problems) address(key, addr string) {
	if addr == "" {
		return
	}
	_, _, err := net.SplitHostPort(addr)
	p.check(err == nil, key, fmt.Sprintf("is %q: write it as host:port, or :port for all interfaces", addr))
}

func (p *problems) tls(key string, t TLS) {
	p.check((t.CertFile == "") == (t.KeyFile == ""), key, "needs both cert_file and key_file, or neither")
	p.check(t.ClientCAFile == "" || t.Enabled(), key+".client_ca_file", "needs cert_file and key_file")
}

func (p *problems) origins(key string, origins []string) {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		ok := origin == "*" || err == nil && u.Scheme != "" && u.Host != "" && u.Path == ""
		p.check(ok, key, fmt.Sprintf("has %q: write an origin as https://host or https://host:port, or *", origin))
	}
}
