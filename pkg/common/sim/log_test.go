package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	list   = Operation{Service: "compute", Name: "ListServers"}
	create = Operation{Service: "network", Name: "CreatePort", Mutating: true}
)

func seqs(calls []Call) (out []int) {
	for _, c := range calls {
		out = append(out, c.Seq)
	}
	return out
}

func TestLogKeepsLastCallsAndAllCounts(t *testing.T) {
	tests := []struct {
		name             string
		limit            int
		calls, mutations []int
	}{
		{name: "no limit", limit: 0, calls: []int{1, 2, 3, 4, 5}, mutations: []int{2, 4}},
		{name: "limit not reached", limit: 9, calls: []int{1, 2, 3, 4, 5}, mutations: []int{2, 4}},
		{name: "limit reached", limit: 3, calls: []int{3, 4, 5}, mutations: []int{4}},
		{name: "one", limit: 1, calls: []int{5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLog(tt.limit)
			for _, op := range []Operation{list, create, list, create, list} {
				l.add(Call{Operation: op, Status: 200})
			}
			if diff := cmp.Diff(tt.calls, seqs(l.Calls())); diff != "" {
				t.Errorf("Calls (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.mutations, seqs(l.Mutations())); diff != "" {
				t.Errorf("Mutations (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]int{"ListServers": 3, "CreatePort": 2}, l.Count()); diff != "" {
				t.Errorf("Count (-want +got):\n%s", diff)
			}
			if l.Len() != 5 || l.MutationCount() != 2 {
				t.Errorf("%d calls and %d mutations, want 5 and 2", l.Len(), l.MutationCount())
			}

			l.Reset()
			if l.Len() != 0 || l.MutationCount() != 0 || len(l.Calls()) != 0 || len(l.Count()) != 0 {
				t.Error("Reset left something")
			}
			l.add(Call{Operation: list})
			if diff := cmp.Diff([]int{6}, seqs(l.Calls())); diff != "" {
				t.Errorf("numbers after Reset (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLogTable(t *testing.T) {
	l := newLog(0)
	l.add(Call{Operation: create, Status: 201, Duration: 30 * time.Millisecond})
	l.add(Call{Operation: create, Duration: 10 * time.Millisecond, Fault: FaultLostReply})
	l.add(Call{Operation: list, Status: 429, Duration: 1500 * time.Microsecond, Fault: FaultThrottle})
	got := &strings.Builder{}
	if err := l.WriteTable(got); err != nil {
		t.Fatal(err)
	}
	want := `
SERVICE  OPERATION    KIND     CALLS  FAILED  NO ANSWER  FAULTS      MEAN   LONGEST
compute  ListServers  read         1       1          0       1     1.5ms     1.5ms
network  CreatePort   write        2       0          1       1      20ms      30ms
total                              3       1          1       2   13.83ms      30ms
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
