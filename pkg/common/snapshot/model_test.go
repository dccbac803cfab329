package snapshot

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// object is what the simulated cloud holds: version counts the changes of the whole cloud.
type object struct {
	id      string
	version int
}

// state is what was true of one object from a version on.
type state struct {
	exists bool
	since  int
}

// inFlight is a request that was started and not answered yet. Served requests have seen the cloud.
type inFlight struct {
	reading Reading
	// id is that of the object, "" for a list.
	id     string
	served bool
	list   []object
	// write applies the request of a write to the cloud; it is nil for reads.
	write func() (version int)
	// wrote notes the success of a write in the table.
	wrote   func(version int)
	version int
}

// model runs a Table beside a cloud, one step at a time.
type model struct {
	*testing.T
	random *rand.Rand
	clock  *clocktesting.FakePassiveClock
	settle time.Duration
	store  *Store
	table  *Table[object]

	version int
	// cloud is the truth. changes are all states that each object had, createdAt and deletedAt when we changed it.
	cloud                map[string]object
	changes              map[string][]state
	createdAt, deletedAt map[string]time.Time
	flying               []*inFlight
	// writing are the objects that one of our writes is in flight for: there is one writer for each.
	writing map[string]bool
	// written is the version of the last write of ours whose success the table knows; uncertain are
	// the objects whose last write has lost its reply, by the generation when it did.
	written   map[string]int
	uncertain map[string]uint64
	log       []string
}

var modelIDs = []string{"a", "b", "c"}

func newModel(t *testing.T, seed uint64, settle time.Duration) *model {
	m := &model{
		T: t, random: rand.New(rand.NewPCG(seed, 1)),
		clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), settle: settle,
		cloud: map[string]object{}, changes: map[string][]state{},
		createdAt: map[string]time.Time{}, deletedAt: map[string]time.Time{},
		writing: map[string]bool{}, written: map[string]int{}, uncertain: map[string]uint64{},
	}
	m.store = NewStore(m.clock)
	m.table = NewTable(m.store, Kind[object]{
		ID: func(o object) string { return o.id }, MaxAge: time.Minute, Settle: settle,
		List:  func(context.Context) ([]object, error) { return m.show(""), nil },
		Index: func(o object) []string { return []string{fmt.Sprintf("parity/%d", o.version%2)} },
	})
	return m
}

func (m *model) logf(format string, args ...any) { m.log = append(m.log, fmt.Sprintf(format, args...)) }

// change changes the truth and returns its new version.
func (m *model) change(id string, exists bool) int {
	m.version++
	delete(m.cloud, id)
	if exists {
		m.cloud[id] = object{id, m.version}
	}
	m.changes[id] = append(m.changes[id], state{exists, m.version})
	return m.version
}

// show is what a read sees now: of all objects, or of one. Lists and reads of an eventually consistent
// cloud may miss what we have just created, and lists may show what we have just deleted.
func (m *model) show(id string) []object {
	var seen []object
	for _, other := range modelIDs {
		o, exists := m.cloud[other]
		lags := m.random.IntN(2) == 0
		switch {
		case id != "" && id != other:
		case exists && lags && m.within(m.createdAt, other):
		case exists:
			seen = append(seen, o)
		case lags && id == "" && m.within(m.deletedAt, other):
			seen = append(seen, object{other, m.last(other)})
		}
	}
	return seen
}

// within reports whether a cloud may lag: it does for half the time that it is granted, so that a read which
// starts when the time is nearly over ends within it.
func (m *model) within(since map[string]time.Time, id string) bool {
	at, ok := since[id]
	return ok && m.clock.Since(at) < m.settle/2
}

// step does one thing at random.
func (m *model) step() {
	id := modelIDs[m.random.IntN(len(modelIDs))]
	switch n := m.random.IntN(100); {
	case n < 10:
		m.start(&inFlight{reading: m.store.Begin()}, "list")
	case n < 20:
		m.start(&inFlight{reading: m.store.Begin(), id: id}, "read")
	case n < 38:
		m.startWrite(id)
	case n < 45 && !m.writing[id] && m.uncertain[id] == 0 && !m.within(m.createdAt, id) && !m.within(m.deletedAt, id):
		_, exists := m.cloud[id]
		m.logf("another client changes %s: %d", id, m.change(id, !exists || m.random.IntN(2) == 0))
	case n < 50:
		m.clock.SetTime(m.clock.Now().Add(time.Duration(m.random.IntN(5)) * time.Second))
	default:
		m.advance()
	}
	m.check()
}

func (m *model) start(f *inFlight, what string) {
	m.logf("%s %s starts at %d", what, f.id, f.reading.generation)
	m.flying = append(m.flying, f)
}

// startWrite sends a write for an object, unless one is in flight.
func (m *model) startWrite(id string) {
	if m.writing[id] {
		return
	}
	m.writing[id] = true
	f := &inFlight{id: id, reading: Reading{}}
	_, exists := m.cloud[id]
	switch {
	case !exists:
		f.write = func() int { return m.change(id, true) }
		f.wrote = func(v int) { m.createdAt[id] = m.clock.Now(); m.table.Create(id, object{id, v}) }
	case m.random.IntN(2) == 0:
		f.write = func() int { return m.change(id, true) }
		f.wrote = func(v int) { m.table.Put(id, object{id, v}) }
	case m.random.IntN(2) == 0:
		f.write = func() int { return m.change(id, true) }
		f.wrote = func(v int) { m.table.Update(id, func(o *object) { o.version = v }) }
	default:
		f.write = func() int { return m.change(id, false) }
		f.wrote = func(int) { m.deletedAt[id] = m.clock.Now(); m.table.Delete(id) }
	}
	m.start(f, "write")
}

// advance lets the cloud serve a request in flight, or its reply arrive.
func (m *model) advance() {
	if len(m.flying) == 0 {
		return
	}
	at := m.random.IntN(len(m.flying))
	f := m.flying[at]
	if !f.served {
		f.served = true
		if f.write != nil {
			f.version = f.write()
		} else {
			f.list = m.show(f.id)
		}
		m.logf("%s from %d is served: %v %d", f.id, f.reading.generation, f.list, f.version)
		return
	}
	m.flying = append(m.flying[:at:at], m.flying[at+1:]...)
	m.end(f)
}

func (m *model) end(f *inFlight) {
	m.logf("%s from %d ends", f.id, f.reading.generation)
	switch {
	case f.write != nil && m.random.IntN(5) == 0:
		m.logf("its reply is lost")
		m.writing[f.id] = false
		m.store.MarkUncertain(f.id)
		m.uncertain[f.id] = m.store.generation.Load()
	case f.write != nil:
		m.writing[f.id] = false
		f.wrote(f.version)
		m.written[f.id] = f.version
	case f.id == "":
		m.table.MergeList(f.reading, f.list)
	case len(f.list) == 1:
		m.table.Merge(f.reading, f.id, f.list[0])
		m.confirm(f)
	default:
		m.table.MergeMissing(f.reading, f.id)
		m.confirm(f)
	}
}

func (m *model) confirm(f *inFlight) {
	m.store.Confirm(f.id, f.reading)
	if m.uncertain[f.id] < f.reading.generation {
		delete(m.uncertain, f.id)
	}
}

// check compares the table with the truth.
func (m *model) check() {
	all := m.table.All()
	for _, id := range modelIDs {
		shown, exists := m.table.Get(id)
		if other, ok := all[id]; ok != exists || ok && other != shown {
			m.fail("%s: All and Get disagree: %v and %v", id, other, shown)
		}
		if exists && shown.version < m.written[id] {
			m.fail("%s: version %d is older than our own write %d", id, shown.version, m.written[id])
		}
		_, _, known := m.table.GetSince(id, time.Time{})
		if !exists && known && m.written[id] > 0 && !m.wasGone(id, m.written[id]) {
			m.fail("%s: missing, though it has existed ever since our write %d", id, m.written[id])
		}
		if exists && !m.ever(id, shown.version) {
			m.fail("%s: version %d was never true", id, shown.version)
		}
		if _, marked := m.uncertain[id]; marked != m.store.IsUncertain(id) {
			m.fail("%s: uncertain is %t, want %t", id, m.store.IsUncertain(id), marked)
		}
		for parity := range 2 {
			found := false
			for _, o := range m.table.Lookup(fmt.Sprintf("parity/%d", parity)) {
				found = found || o == shown
			}
			if want := exists && shown.version%2 == parity; found != want {
				m.fail("%s: found by its key is %t, want %t", id, found, want)
			}
		}
	}
}

// wasGone reports whether an object did not exist at a version or later.
func (m *model) wasGone(id string, version int) bool {
	for _, s := range m.changes[id] {
		if s.since >= version && !s.exists {
			return true
		}
	}
	return false
}

func (m *model) ever(id string, version int) bool {
	for _, s := range m.changes[id] {
		if s.exists && s.since == version {
			return true
		}
	}
	return false
}

// last returns the last version at which an object existed.
func (m *model) last(id string) (version int) {
	for _, s := range m.changes[id] {
		if s.exists {
			version = s.since
		}
	}
	return version
}

// converge ends all requests in flight and reads everything: then the table has to show the truth.
func (m *model) converge() {
	for len(m.flying) > 0 {
		m.advance()
		m.check()
	}
	m.clock.SetTime(m.clock.Now().Add(2 * m.settle))
	if err := m.table.Reread(m.Context()); err != nil {
		m.Fatal(err)
	}
	m.check()
	for _, id := range modelIDs {
		want, exists := m.cloud[id]
		if got, ok := m.table.Get(id); ok != exists || got != want {
			m.fail("%s: after a list of everything: %v, %t; want %v, %t", id, got, ok, want, exists)
		}
	}
}

func (m *model) fail(format string, args ...any) {
	m.Helper()
	for _, line := range m.log[max(0, len(m.log)-40):] {
		m.Log(line)
	}
	m.Fatalf(format, args...)
}

// TestTableAgainstModel runs random interleavings of reads, writes, lost replies and time, and compares
// the table with what may be true after each step.
func TestTableAgainstModel(t *testing.T) {
	for _, settle := range []time.Duration{0, 20 * time.Second} {
		t.Run(fmt.Sprintf("settle %v", settle), func(t *testing.T) {
			for seed := range uint64(400) {
				m := newModel(t, seed, settle)
				for range 300 {
					m.step()
				}
				m.converge()
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}
