package evaluate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/gofrs/flock"

	"plumbline/scorers/evaluation"
)

// Run is what decides the scores of a log: the rows of one log are comparable.
type Run struct {
	// Verifier and Digest name the model that answered.
	Verifier string `json:"verifier"`
	Digest   string `json:"digest"`
	// Mode and Claims are the choices of the requests.
	Mode   string `json:"mode"`
	Claims string `json:"claims"`
}

// Session is what one sitting did.
type Session struct {
	// Rows is how many rows were scored, and Pairs how many pairs of a chunk
	// and a claim the verifier was asked that no cache knew.
	Rows  int `json:"rows"`
	Pairs int `json:"pairs"`
	// Seconds is the time that it took, and ProcessorSeconds the processor time
	// of this process, in which the embedded model runs.
	Seconds          float64 `json:"seconds"`
	ProcessorSeconds float64 `json:"processor_seconds"`
}

// Add accumulates another session.
func (s *Session) Add(other Session) {
	s.Rows += other.Rows
	s.Pairs += other.Pairs
	s.Seconds += other.Seconds
	s.ProcessorSeconds += other.ProcessorSeconds
}

// entry is a line of a log: one of its parts.
type entry struct {
	Run     *Run            `json:"run,omitempty"`
	Row     *evaluation.Row `json:"row,omitempty"`
	Pair    string          `json:"pair,omitempty"` // of Row: the digest of the pair
	Session *Session        `json:"session,omitempty"`
}

// key finds a row.
type key struct{ set, id string }

// Log is the scores of a run, in memory and, if it has a file, on disk: a line
// for what decided them, one for each row and one for each sitting. It holds no
// text of the data. It is safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	file    *os.File // nil if nothing is kept
	lock    *flock.Flock
	run     *Run
	rows    map[key]evaluation.Row
	pairs   map[key]string
	session Session
}

// OpenLog reads a log and goes on with it; a file that does not exist is made.
// A line that was cut off when a run was killed is dropped. Without a name the
// log lives in memory only.
func OpenLog(name string) (*Log, error) {
	l := &Log{rows: map[key]evaluation.Row{}, pairs: map[key]string{}}
	if name == "" {
		return l, nil
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	l.lock = flock.New(name)
	held, err := l.lock.TryLock()
	if err == nil && !held {
		err = errors.New("another run writes to it")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	whole, err := l.read(file)
	if err == nil {
		err = file.Truncate(whole)
	}
	if err == nil {
		_, err = file.Seek(whole, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), l.lock.Unlock(), file.Close())
	}
	l.file = file
	return l, nil
}

// ReadLog reads a log without going on with it.
func ReadLog(name string) (*Log, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	l := &Log{rows: map[key]evaluation.Row{}, pairs: map[key]string{}}
	if _, err := l.read(file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(l.rows) == 0 {
		return nil, fmt.Errorf("%s: holds no scores", name)
	}
	return l, nil
}

// read takes in all whole lines and returns their length in bytes. What follows
// them must be the beginning of a line of a log: anything else is somebody's file.
func (l *Log) read(r io.Reader) (whole int64, err error) {
	reader := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) && beginsLine(line) {
			return whole, nil
		}
		if errors.Is(err, io.EOF) {
			return whole, fmt.Errorf("line %d: is no line of scores; give a file that --scores wrote", number)
		}
		if err != nil {
			return whole, err
		}
		if err := l.take(line); err != nil {
			return whole, fmt.Errorf("line %d: %w; give a file that --scores wrote", number, err)
		}
		whole += int64(len(line))
	}
}

// beginsLine says whether some bytes may be a line of a log that was cut off.
func beginsLine(rest []byte) bool {
	return slices.ContainsFunc([]string{`{"run":`, `{"row":`, `{"session":`}, func(opening string) bool {
		n := min(len(opening), len(rest))
		return string(rest[:n]) == opening[:n]
	})
}

func (l *Log) take(line []byte) error {
	var e entry
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&e) != nil {
		return errors.New("is no line of scores")
	}
	switch {
	case e.Run != nil:
		l.run = e.Run
	case e.Session != nil:
		l.session.Add(*e.Session)
	case e.Row == nil:
		return errors.New("is no line of scores")
	case l.run == nil:
		return errors.New("the line that names the verifier is missing")
	default:
		k := key{e.Row.Set, e.Row.ID}
		l.rows[k], l.pairs[k] = *e.Row, e.Pair
	}
	return nil
}

// has says whether the log has a pair's row, and fails if the row of that name
// was another pair. A label that has changed is taken over: no score depends on it.
func (l *Log) has(p Pair) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := key{p.Row.Set, p.Row.ID}
	known, ok := l.pairs[k]
	if !ok {
		return false, nil
	}
	if known != p.Digest() {
		return false, fmt.Errorf("--scores: set %s, id %q was another text or had another document when it was scored: use another file", p.Row.Set, p.Row.ID)
	}
	row := l.rows[k]
	if row.Label == p.Row.Label {
		return true, nil
	}
	row.Label = p.Row.Label
	l.rows[k] = row
	return true, l.write(entry{Row: &row, Pair: known})
}

// begin says what the scores to come are made by. It fails if those in the log
// were made by something else.
func (l *Log) begin(run Run) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run != nil {
		if *l.run != run {
			return fmt.Errorf("--scores: the file has scores of %s; these are of %s: use another file", *l.run, run)
		}
		return nil
	}
	l.run = &run
	return l.write(entry{Run: &run})
}

// String names the run for people.
func (r Run) String() string {
	return fmt.Sprintf("%s (%s; mode %s, claims %s)", r.Verifier, r.Digest, r.Mode, r.Claims)
}

// add keeps a row.
func (l *Log) add(row evaluation.Row, pair string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := key{row.Set, row.ID}
	l.rows[k], l.pairs[k] = row, pair
	return l.write(entry{Row: &row, Pair: pair})
}

// end keeps what a sitting did.
func (l *Log) end(s Session) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session.Add(s)
	return l.write(entry{Session: &s})
}

// write appends a line in one piece.
func (l *Log) write(e entry) error {
	if l.file == nil {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(line, '\n'))
	return err
}

// Run returns what made the scores; the zero value if there are none.
func (l *Log) Run() Run {
	if l.run == nil {
		return Run{}
	}
	return *l.run
}

// Session returns what all sittings did.
func (l *Log) Session() Session { return l.session }

// Rows returns the rows of the given pairs.
func (l *Log) Rows(pairs []Pair) []evaluation.Row {
	rows := make([]evaluation.Row, len(pairs))
	for i, p := range pairs {
		rows[i] = l.rows[key{p.Row.Set, p.Row.ID}]
	}
	return rows
}

// Select returns the rows of a selection. It fails if a set that the selection names
// is not there.
func (l *Log) Select(s Selection) ([]evaluation.Row, error) {
	bySet := map[string][]evaluation.Row{}
	for _, r := range l.rows {
		if s.includes(r.Set) {
			bySet[r.Set] = append(bySet[r.Set], r)
		}
	}
	var rows []evaluation.Row
	for _, of := range bySet {
		rows = append(rows, sample(s, of, func(r evaluation.Row) evaluation.Row { return r })...)
	}
	if name, ok := s.absent(maps.Keys(bySet)); ok {
		return nil, fmt.Errorf("--sets: --scores has no set %q", name)
	}
	return rows, nil
}

// Close closes the file.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	return errors.Join(l.lock.Unlock(), l.file.Close())
}
