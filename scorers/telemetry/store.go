package telemetry

import (
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Store keeps what subgoals need between turns, for a bounded time and number;
// the subgoal used least recently goes first. It is safe for concurrent use,
// and starts no goroutine: what is too old is dropped when it is asked for or
// when room is needed.
type Store struct {
	entries *lru.Cache[string, storeEntry]
	maxAge  time.Duration
	now     func() time.Time
}

type storeEntry struct {
	kept Kept
	// since is when the confidence was computed; using it again does not make
	// it younger.
	since time.Time
}

// NewStore makes a store of at most capacity subgoals, each for at most maxAge
// after its confidence was computed. now is the clock.
func NewStore(capacity int, maxAge time.Duration, now func() time.Time) (*Store, error) {
	if maxAge <= 0 {
		return nil, errors.New("the store of subgoals needs an age above 0")
	}
	entries, err := lru.New[string, storeEntry](capacity)
	if err != nil {
		return nil, fmt.Errorf("the store of subgoals needs a capacity above 0: %w", err)
	}
	return &Store{entries: entries, maxAge: maxAge, now: now}, nil
}

// Get returns what is kept under a subgoal's key.
func (s *Store) Get(key string) (Kept, bool) {
	entry, ok := s.entries.Get(key)
	if !ok {
		return Kept{}, false
	}
	if s.now().Sub(entry.since) > s.maxAge {
		s.entries.Remove(key)
		return Kept{}, false
	}
	return entry.kept, true
}

// Put keeps something under a subgoal's key, in place of what was there.
func (s *Store) Put(key string, kept Kept) {
	entry := storeEntry{kept: kept, since: s.now()}
	if before, ok := s.entries.Peek(key); ok && kept.reused {
		entry.since = before.since
	}
	s.entries.Add(key, entry)
}

// Len is the number of subgoals kept, too old ones included.
func (s *Store) Len() int { return s.entries.Len() }
