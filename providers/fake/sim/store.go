package sim

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"

	"k8s.io/utils/clock"
)

// store serialises operations on the state and keeps the file, if there is one, up to date.
//
// Several processes may share one file: every mutation holds an exclusive lock on FILE.lock while it re-reads
// the file, changes it and writes it back. Reads take no lock, because the file is only ever replaced as a
// whole. A mutation returns after its write has reached the disk. Mutations that arrive during a write are
// written together.
type store struct {
	rules *rules
	clock clock.PassiveClock
	file  *stateFile // nil keeps the state in memory only

	queueMu sync.Mutex
	queue   []*mutation

	mu    sync.Mutex // protects state; the committer of the queue holds it
	state *state
	// stale is set if state is newer than the file, because a write failed.
	stale bool

	// changed is called after the state changed, with mu held: it must not block or call back.
	changed func()
}

type mutation struct {
	apply func(*tx) error
	err   error
	done  chan struct{}
}

// openStore reads the state file, or starts with an empty world. path may be empty.
func openStore(path string, r *rules, c clock.PassiveClock) (*store, error) {
	s := &store{rules: r, clock: c, state: newState(), changed: func() {}}
	if path == "" {
		return s, nil
	}
	file, err := openStateFile(path)
	if err != nil {
		return nil, err
	}
	s.file = file
	if err := s.refresh(); err != nil {
		_ = file.close() // err already has the reason
		return nil, err
	}
	return s, nil
}

func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	return s.file.close()
}

// notify sets the function that is called after each change. It must not block or call back.
func (s *store) notify(changed func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = changed
}

// view runs a read on the current state. Read must copy what it keeps.
func (s *store) view(ctx context.Context, read func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return err
	}
	return read(s.begin())
}

// viewLastKnown is view for readers that accept a stale state.
func (s *store) viewLastKnown(read func(*tx)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read(s.begin())
}

// update runs a mutation and returns once it is durable, or has failed. Once queued, it is not cancelled with
// ctx: the wait is bounded by one write.
func (s *store) update(ctx context.Context, apply func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m := &mutation{apply: apply, done: make(chan struct{})}
	s.queueMu.Lock()
	s.queue = append(s.queue, m)
	s.queueMu.Unlock()

	// The first holder of the lock commits for all queued mutations.
	s.mu.Lock()
	s.queueMu.Lock()
	batch := s.queue
	s.queue = nil
	s.queueMu.Unlock()
	s.commit(batch)
	s.mu.Unlock()

	<-m.done
	return m.err
}

func (s *store) begin() *tx { return &tx{state: s.state, rules: s.rules, now: s.clock.Now()} }

// commit applies a batch and makes it durable with one write.
func (s *store) commit(batch []*mutation) {
	if len(batch) == 0 {
		return
	}
	err := s.commitLocked(batch)
	for _, m := range batch {
		if err != nil {
			m.err = err
		}
		close(m.done)
	}
}

func (s *store) commitLocked(batch []*mutation) error {
	if s.file != nil {
		if err := s.file.lock(); err != nil {
			return err
		}
		defer s.file.unlock()
		if err := s.refresh(); err != nil {
			return err
		}
	}
	changed := false
	for _, m := range batch {
		t := s.begin()
		m.err = m.apply(t)
		changed = changed || t.changed
	}
	if !changed {
		return nil
	}
	s.state.Generation++
	if s.state.World == "" {
		s.state.World = newWorldID()
	}
	if s.file != nil {
		if err := s.file.write(s.state); err != nil {
			s.stale = true
			return err
		}
	}
	s.changed()
	return nil
}

// refresh re-reads the file if another process has written it.
func (s *store) refresh() error {
	if s.file == nil {
		return nil
	}
	previous := s.state.header
	if s.stale {
		previous = header{}
	}
	current, err := s.file.readIfChanged(previous)
	if err != nil {
		return err
	}
	if current == nil {
		if !s.stale {
			return nil
		}
		current = newState() // the very first write failed: there is still no file
	}
	s.state, s.stale = current, false
	s.changed()
	return nil
}

// newWorldID identifies a state file, to detect its replacement.
func newWorldID() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails, by its documentation
	return hex.EncodeToString(id[:])
}
