package server

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/gate"
	"plumbline/scorers/telemetry"
	"plumbline/server/config"
	"plumbline/server/service"
)

// NewService builds the service without a listener, for use in process.
// Without opts.Engine, values that need a verifier say that there is none.
func NewService(cfg config.Config, opts Options) (*service.Service, error) {
	log := opts.Log
	if log == nil {
		log = NewLog(cfg.Log)
	}
	var verifier entail.Verifier
	if opts.Engine != nil {
		verifier = opts.Engine
	}
	return newService(cfg, opts, log, verifier, nil)
}

func newService(cfg config.Config, opts Options, log *slog.Logger, verifier entail.Verifier, ready func() error) (*service.Service, error) {
	failMode := plumblinev1.FailMode_FAIL_MODE_CLOSED
	if cfg.Verifier.FailMode == config.FailOpen {
		failMode = plumblinev1.FailMode_FAIL_MODE_OPEN
	}
	gates, err := loadGates(cfg.Policies)
	if err != nil {
		return nil, err
	}
	subgoals, err := telemetry.NewStore(cfg.Subgoals.Max, cfg.Subgoals.TTL, time.Now)
	if err != nil {
		return nil, err
	}
	return service.New(service.Deps{
		Subgoals:      subgoals,
		Gates:         gates,
		Version:       opts.Build.Version,
		Commit:        opts.Build.Commit,
		Verifier:      verifier,
		VerifierReady: ready,
		FailMode:      failMode,
		Limits: &plumblinev1.Limits{
			MaxMessageBytes:      uint64(cfg.Limits.MaxMessageBytes),
			MaxConcurrentStreams: cfg.Limits.MaxConcurrentStreams,
		},
		Log: log,
	})
}

// loadGates are the built-in policies and those of the configured folder.
func loadGates(cfg config.Policies) (*gate.Set, error) {
	gates, err := gate.Builtin(gate.Options{})
	if err != nil || cfg.Dir == "" {
		return gates, err
	}
	sources, err := gate.LoadDir(os.DirFS(cfg.Dir))
	if err != nil {
		return nil, fmt.Errorf("policies.dir: %w", err)
	}
	return gates.With(sources...)
}
