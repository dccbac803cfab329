package sim

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// Stats returns the statistics of each operation since the last Reset, sorted by service and name.
func (l *Log) Stats() []Stat {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Stat, 0, len(l.stats))
	for _, s := range l.stats {
		out = append(out, *s)
	}
	sorting.Func(out, func(a, b Stat) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// MutationCount returns the number of calls of mutating operations since the last Reset, those no
// longer kept included.
func (l *Log) MutationCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for s := range maps.Values(l.stats) {
		if s.Mutating {
			n += s.Calls
		}
	}
	return n
}

// WriteTable writes the statistics as a table: one line for each operation, and a total.
func (l *Log) WriteTable(w io.Writer) error {
	stats := l.Stats()
	total := Stat{Operation: Operation{Service: "total"}}
	service, name := len("SERVICE"), len("OPERATION")
	for _, s := range stats {
		service, name = max(service, len(s.Service)), max(name, len(s.Name))
		total.Calls += s.Calls
		total.Failed += s.Failed
		total.NoAnswer += s.NoAnswer
		total.Faulted += s.Faulted
		total.Total += s.Total
		total.Longest = max(total.Longest, s.Longest)
	}
	out := &bytes.Buffer{}
	fmt.Fprintf(out, "%-*s  %-*s  %-5s  %7s  %6s  %9s  %6s  %8s  %8s\n", service, "SERVICE", name, "OPERATION",
		"KIND", "CALLS", "FAILED", "NO ANSWER", "FAULTS", "MEAN", "LONGEST")
	for _, s := range append(stats, total) {
		fmt.Fprintf(out, "%-*s  %-*s  %-5s  %7d  %6d  %9d  %6d  %8v  %8v\n", service, s.Service, name, s.Name,
			s.kind(), s.Calls, s.Failed, s.NoAnswer, s.Faulted, roundDuration(s.mean()), roundDuration(s.Longest))
	}
	_, err := out.WriteTo(w)
	return err
}

// kind returns the class of the operation; the total, which has no name, has none.
func (s Stat) kind() string {
	switch {
	case s.Name == "":
		return ""
	case s.Mutating:
		return ClassWrite
	default:
		return ClassRead
	}
}

func (s Stat) mean() time.Duration { return s.Total / time.Duration(max(s.Calls, 1)) }

// roundDuration formats a duration for a column.
func roundDuration(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
