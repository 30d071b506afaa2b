package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/server/config"
	"plumbline/server/metrics"
	"plumbline/server/service"
	"plumbline/verifiers"
	"plumbline/verifiers/address"
	"plumbline/verifiers/fallback"
	"plumbline/verifiers/swap"
)

// member is one configured verifier.
type member struct {
	name     string
	scheme   string // of its address
	config   config.NamedVerifier
	backend  verifiers.Backend
	metrics  metrics.Verifier
	log      *slog.Logger
	fallback []*member
	// reopen opens the successor of a model in this process; nil for verifiers
	// that are elsewhere.
	reopen func(context.Context) (verifiers.Backend, error)
}

// Describe implements entail.Verifier.
func (m *member) Describe(ctx context.Context) (entail.Description, error) {
	return m.seen(m.backend).Describe(ctx)
}

// Verify implements entail.Verifier.
func (m *member) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	return m.seen(m.backend).Verify(ctx, pairs)
}

// Pin implements verifiers.Pinner.
func (m *member) Pin() (entail.Verifier, func(), error) {
	pinned, release, err := verifiers.Pin(m.backend)
	if err != nil {
		return nil, nil, err
	}
	return m.seen(pinned), release, nil
}

// seen is the backend, or a pin on it, as log and metrics see it.
func (m *member) seen(v entail.Verifier) entail.Verifier {
	return named{m.metrics.Measure(v), m.name, m.log}
}

// asked is what requests that name the member ask: itself, or its chain.
func (m *member) asked() entail.Verifier {
	if len(m.fallback) == 0 {
		return m
	}
	var chain []entail.Verifier
	for _, next := range m.fallback {
		chain = append(chain, next)
	}
	return fallback.New(m, chain...)
}

// swap exchanges the model of a member that is in this process.
func (m *member) swap(ctx context.Context) error {
	running, ok := m.backend.(*swap.Verifier)
	if !ok || m.reopen == nil {
		return nil
	}
	err := m.exchange(ctx, running)
	m.metrics.Swapped(err == nil)
	if err != nil {
		m.log.Error("the model was not exchanged; the former one stays", "verifier", m.name, "error", err)
		return fmt.Errorf("verifier %s: %w", m.name, err)
	}
	description, err := running.Describe(ctx)
	m.log.Info("the model was exchanged", "verifier", m.name, "model", description.Name, "digest", description.Digest)
	return err
}

func (m *member) exchange(ctx context.Context, running *swap.Verifier) error {
	next, err := m.reopen(ctx)
	if err != nil {
		return err
	}
	drained, err := running.Swap(ctx, next)
	if err != nil {
		return errors.Join(err, next.Close())
	}
	go func() {
		if err := <-drained; err != nil {
			m.log.Error("the former model did not close cleanly", "verifier", m.name, "error", err)
		}
	}()
	return nil
}

// verifierSet are the configured verifiers, the default first and the others by
// name.
type verifierSet []*member

// openVerifiers opens every verifier of the settings. An engine takes the place
// of the embedded one as it is, and the set takes it over, also after an error.
func openVerifiers(ctx context.Context, cfg config.Config, opts Options, m *metrics.Metrics, log *slog.Logger) (_ verifierSet, err error) {
	all := cfg.AllVerifiers()
	names := slices.Sorted(maps.Keys(all))
	slices.SortStableFunc(names, func(a, b string) int {
		return compareTrueFirst(a == cfg.Verifier.Default, b == cfg.Verifier.Default)
	})
	var set verifierSet
	given := opts.Engine
	defer func() {
		if err == nil {
			return
		}
		err = errors.Join(err, set.close())
		if given != nil {
			err = errors.Join(err, given.Close())
		}
	}()
	for _, name := range names {
		v := &member{name: name, config: all[name], metrics: m.Verifier(name), log: log}
		v.scheme, _, _ = strings.Cut(v.config.Address, ":")
		open := func(ctx context.Context) (verifiers.Backend, error) {
			return openBackend(ctx, cfg, v.config, observe(name, v.metrics, log), log.With("verifier", name))
		}
		if name == config.Embedded && given != nil {
			v.backend, given = given, nil
		} else if v.backend, err = open(ctx); err != nil {
			return set, fmt.Errorf("verifier %s: %w", name, err)
		}
		if v.scheme == address.Embedded {
			v.backend, v.reopen = swap.New(v.backend), open
			if opts.Reopen != nil {
				v.reopen = opts.Reopen
			}
		}
		set = append(set, v)
		log.Debug("a verifier is open", "verifier", name, "scheme", v.scheme)
	}
	if given != nil { // nobody can ask it
		unasked := given
		given = nil
		if err := unasked.Close(); err != nil {
			return set, err
		}
	}
	for _, v := range set {
		for _, name := range v.config.Fallback {
			v.fallback = append(v.fallback, set.member(name))
		}
	}
	return set, err
}

func compareTrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// member finds a verifier by name; the settings were validated, so that those of
// chains are there.
func (s verifierSet) member(name string) *member {
	return s[slices.IndexFunc(s, func(m *member) bool { return m.name == name })]
}

// services is the set as the rpcs see it.
func (s verifierSet) services(cfg config.Config, ready func(name string) error) []service.Verifier {
	var list []service.Verifier
	for _, m := range s {
		list = append(list, service.Verifier{
			Name:       m.name,
			Verifier:   m.asked(),
			Fallback:   m.config.Fallback,
			FailMode:   failMode(cfg.EffectiveFailMode(m.name)),
			Ready:      func() error { return ready(m.name) },
			Unanswered: func(mode plumblinev1.FailMode) { m.metrics.Unanswered(modeName(mode)) },
		})
	}
	return list
}

func failMode(setting string) plumblinev1.FailMode {
	if setting == config.FailOpen {
		return plumblinev1.FailMode_FAIL_MODE_OPEN
	}
	return plumblinev1.FailMode_FAIL_MODE_CLOSED
}

func modeName(mode plumblinev1.FailMode) string {
	if mode == plumblinev1.FailMode_FAIL_MODE_OPEN {
		return config.FailOpen
	}
	return config.FailClosed
}

// reload exchanges the models that are in this process, all that can be.
func (s verifierSet) reload(ctx context.Context) error {
	var failures []error
	for _, m := range s {
		failures = append(failures, m.swap(ctx))
	}
	return errors.Join(failures...)
}

func (s verifierSet) close() error {
	var failures []error
	for _, m := range s {
		failures = append(failures, m.backend.Close())
	}
	return errors.Join(failures...)
}
