package server

import (
	"context"
	"time"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/telemetry"
	"plumbline/server/config"
	"plumbline/server/metrics"
	"plumbline/server/service"
)

// NewService builds the service without a listener and without verifiers, save
// for opts.Engine, which stays the caller's, for use in process.
func NewService(cfg config.Config, opts Options) (*service.Service, error) {
	var deps service.Deps
	if opts.Log == nil {
		opts.Log = NewLog(cfg.Log)
	}
	if opts.Engine != nil {
		m := &member{
			name: config.Embedded, backend: opts.Engine, log: opts.Log,
			metrics: metrics.New(opts.Build.Version, opts.Build.Commit).Verifier(config.Embedded),
		}
		deps.Verifiers = verifierSet{m}.services(cfg, alwaysReady)
	}
	return inProcess(cfg, opts, deps)
}

// OpenService builds the service without a listener and opens the verifiers of
// the settings, which release closes.
func OpenService(ctx context.Context, cfg config.Config, opts Options) (_ *service.Service, release func() error, err error) {
	if opts.Log == nil {
		opts.Log = NewLog(cfg.Log)
	}
	set, err := openVerifiers(ctx, cfg, opts, metrics.New(opts.Build.Version, opts.Build.Commit), opts.Log)
	if err != nil {
		return nil, nil, err
	}
	built, err := inProcess(cfg, opts, service.Deps{Verifiers: set.services(cfg, alwaysReady)})
	if err != nil {
		_ = set.close() // the first error is the one to tell
		return nil, nil, err
	}
	return built, set.close, nil
}

// alwaysReady is of verifiers that nobody probes: their calls tell.
func alwaysReady(string) error { return nil }

func inProcess(cfg config.Config, opts Options, deps service.Deps) (*service.Service, error) {
	gates, err := openPolicies(cfg.Policies)
	if err != nil {
		return nil, err
	}
	deps.Gates, deps.Log = gates.current, opts.Log
	return newService(cfg, opts, deps)
}

// newService adds to the dependencies what the settings say.
func newService(cfg config.Config, opts Options, deps service.Deps) (_ *service.Service, err error) {
	deps.Version, deps.Commit = opts.Build.Version, opts.Build.Commit
	if deps.Subgoals, err = telemetry.NewStore(cfg.Subgoals.Max, cfg.Subgoals.TTL, time.Now); err != nil {
		return nil, err
	}
	deps.FailMode = failMode(cfg.Verifier.FailMode)
	deps.Limits = &plumblinev1.Limits{
		MaxMessageBytes:      uint64(cfg.Limits.MaxMessageBytes),
		MaxConcurrentStreams: cfg.Limits.MaxConcurrentStreams,
	}
	return service.New(deps)
}
