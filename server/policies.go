package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"plumbline/scorers/gate"
	"plumbline/server/config"
	"plumbline/server/metrics"
)

// lookEvery is how often the policy folder is looked at. Looking sees what a file
// system does not tell of, or not everywhere: files in folders, folders that are
// exchanged, links that come to point elsewhere, network file systems.
const lookEvery = 250 * time.Millisecond

// policies are the gates in force: the built-in ones and those of the
// configured folder.
type policies struct {
	dir     string
	builtin *gate.Set
	set     atomic.Pointer[gate.Set]
	stamp   string // of the folder when it was last read
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
	p.stamp = p.look() // before it is read: what is written meanwhile is seen as a change
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
func (p *policies) watch(m *metrics.Metrics, log *slog.Logger) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.follow(ctx, m, log)
	}()
	return func() error {
		cancel()
		<-done
		return nil
	}
}

func (p *policies) follow(ctx context.Context, m *metrics.Metrics, log *slog.Logger) {
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	last := p.stamp
	for {
		select {
		case <-ctx.Done():
			return
		case <-looks.C:
		}
		before := last
		// An editor or a volume update touches several files in a row: what was
		// the same at two looks is read.
		if last = p.look(); last != before || last == p.stamp {
			continue
		}
		err := p.load()
		m.PoliciesLoaded(err == nil)
		if err != nil {
			log.Error("the policy folder has a fault; the policies stay as they were", "error", err)
			continue
		}
		log.Info("policies loaded", "count", len(p.current().Names()))
	}
}

// look is what the folder looks like now, one that cannot be read included.
func (p *policies) look() string {
	stamp, err := gate.Stamp(os.DirFS(p.dir))
	if err != nil {
		return err.Error()
	}
	return stamp
}
