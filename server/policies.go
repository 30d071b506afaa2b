package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"plumbline/scorers/gate"
	"plumbline/server/config"
	"plumbline/server/metrics"
)

// settle is how long the policy folder must be quiet before it is read: an
// editor or a volume update touches several files in a row.
const settle = 200 * time.Millisecond

// policies are the gates in force: the built-in ones and those of the
// configured folder.
type policies struct {
	dir     string
	builtin *gate.Set
	set     atomic.Pointer[gate.Set]
}

// openPolicies compiles the policies; a bad file is an error.
func openPolicies(cfg config.Policies) (*policies, error) {
	builtin, err := gate.Builtin(gate.Options{})
	if err != nil {
		return nil, err
	}
	p := &policies{dir: cfg.Dir, builtin: builtin}
	p.set.Store(builtin)
	if p.dir == "" {
		return p, nil
	}
	if err := p.load(); err != nil {
		return nil, fmt.Errorf("policies.dir: %w", err)
	}
	return p, nil
}

// current is the set in force. A call that asks once sees one set throughout.
func (p *policies) current() *gate.Set { return p.set.Load() }

// load reads the folder. A fault leaves the set as it is.
func (p *policies) load() error {
	sources, err := gate.LoadDir(os.DirFS(p.dir))
	if err != nil {
		return err
	}
	set, err := p.builtin.With(sources...)
	if err != nil {
		return err
	}
	p.set.Store(set)
	return nil
}

// watch reads the folder again whenever it changes, until stop is called. A
// bad file keeps the policies as they were; log and metrics say so.
func (p *policies) watch(m *metrics.Metrics, log *slog.Logger) (stop func() error, err error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("policies.dir: %w", err)
	}
	if err := watcher.Add(p.dir); err != nil {
		return nil, fmt.Errorf("policies.dir: %w", errors.Join(err, watcher.Close()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.follow(ctx, watcher, m, log)
	}()
	return func() error {
		cancel()
		<-done
		return watcher.Close()
	}, nil
}

func (p *policies) follow(ctx context.Context, watcher *fsnotify.Watcher, m *metrics.Metrics, log *slog.Logger) {
	quiet := time.NewTimer(settle)
	quiet.Stop()
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-watcher.Errors:
			log.Error("the policy folder cannot be watched; reading it once", "error", err)
			quiet.Reset(settle)
		case <-watcher.Events:
			quiet.Reset(settle)
		case <-quiet.C:
			err := p.load()
			m.PoliciesLoaded(err == nil)
			if err != nil {
				log.Error("the policy folder has a fault; the policies stay as they were", "error", err)
				continue
			}
			log.Info("policies loaded", "count", len(p.current().Names()))
		}
	}
}
