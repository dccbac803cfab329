package sim

import (
	"sync"
	"time"
)

// Log has the calls of clients, in the order in which they ended. It keeps statistics forever, and single
// calls up to FrontOptions.LogLimit. Safe for concurrent use.
type Log struct {
	limit int

	mu    sync.Mutex
	seq   int
	len   int
	calls []Call
	// oldest is the index of the oldest call once the log is full and has become a ring.
	oldest int
	stats  map[Operation]*Stat
}

// Stat has the statistics of an operation, including calls that are no longer kept.
type Stat struct {
	Operation
	Calls int
	// Failed counts responses with a status of 400 and above, NoAnswer calls without a response, Faulted the
	// calls with an injected fault, regardless of their result.
	Failed, NoAnswer, Faulted int
	// Total and Longest are over all calls.
	Total, Longest time.Duration
}

// newLog returns a log that keeps the last limit calls; 0 keeps all.
func newLog(limit int) *Log { return &Log{limit: limit, stats: map[Operation]*Stat{}} }

// add appends a call and numbers it.
func (l *Log) add(c Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	l.len++
	c.Seq = l.seq
	if l.limit > 0 && len(l.calls) == l.limit {
		l.calls[l.oldest] = c
		l.oldest = (l.oldest + 1) % l.limit
	} else {
		l.calls = append(l.calls, c)
	}
	s := l.stats[c.Operation]
	if s == nil {
		s = &Stat{Operation: c.Operation}
		l.stats[c.Operation] = s
	}
	s.add(c)
}

func (s *Stat) add(c Call) {
	s.Calls++
	switch {
	case c.Status == 0:
		s.NoAnswer++
	case c.Status >= 400:
		s.Failed++
	}
	if c.Fault != "" {
		s.Faulted++
	}
	s.Total += c.Duration
	s.Longest = max(s.Longest, c.Duration)
}

// Calls returns the calls that are kept, oldest first.
func (l *Log) Calls() []Call {
	return l.filter(func(Call) bool { return true })
}

// Mutations returns the calls of mutating operations that are kept, oldest first, whatever their result.
func (l *Log) Mutations() []Call {
	return l.filter(func(c Call) bool { return c.Mutating })
}

func (l *Log) filter(keep func(Call) bool) []Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Call
	for i := range l.calls {
		if c := l.calls[(l.oldest+i)%len(l.calls)]; keep(c) {
			out = append(out, c)
		}
	}
	return out
}

// Count returns the number of calls by operation name since the last Reset, those no longer kept included.
func (l *Log) Count() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]int, len(l.stats))
	for op, s := range l.stats {
		out[op.Name] += s.Calls
	}
	return out
}

// Len returns the number of calls since the last Reset, those no longer kept included.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.len
}

// Reset removes every call and count. Sequence numbers continue.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.len, l.oldest, l.calls = 0, 0, nil
	l.stats = map[Operation]*Stat{}
}
