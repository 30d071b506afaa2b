package server

import (
	"time"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/telemetry"
	"plumbline/server/config"
	"plumbline/server/service"
)

// NewService builds the service without a listener, for use in process.
// Without opts.Engine, values that need a verifier say that there is none.
func NewService(cfg config.Config, opts Options) (*service.Service, error) {
	deps := service.Deps{Log: opts.Log}
	if deps.Log == nil {
		deps.Log = NewLog(cfg.Log)
	}
	if opts.Engine != nil {
		deps.Verifier = opts.Engine
	}
	gates, err := openPolicies(cfg.Policies)
	if err != nil {
		return nil, err
	}
	deps.Gates = gates.current
	return newService(cfg, opts, deps)
}

// newService adds to the dependencies what the settings say.
func newService(cfg config.Config, opts Options, deps service.Deps) (_ *service.Service, err error) {
	deps.Version, deps.Commit = opts.Build.Version, opts.Build.Commit
	if deps.Verifier != nil {
		deps.Verifier = watched{deps.Verifier, deps.Log}
	}
	if deps.Subgoals, err = telemetry.NewStore(cfg.Subgoals.Max, cfg.Subgoals.TTL, time.Now); err != nil {
		return nil, err
	}
	if cfg.Verifier.FailMode == config.FailOpen {
		deps.FailMode = plumblinev1.FailMode_FAIL_MODE_OPEN
	}
	deps.Limits = &plumblinev1.Limits{
		MaxMessageBytes:      uint64(cfg.Limits.MaxMessageBytes),
		MaxConcurrentStreams: cfg.Limits.MaxConcurrentStreams,
	}
	return service.New(deps)
}
