package sim

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScript feeds a script the operations of a line and draws what becomes of each: E error,
// T throttled, L lost reply, dot for nothing.
func TestScript(t *testing.T) {
	marks := map[FaultKind]string{"": ".", FaultError: "E", FaultThrottle: "T", FaultLostReply: "L"}
	tests := []struct {
		name       string
		faults     []Fault
		errorRate  float64
		operations string // one letter for each call
		want       string
	}{
		{name: "no faults", operations: "aaa", want: "..."},
		{name: "the next call", faults: []Fault{{Kind: FaultError}}, operations: "aaa", want: "E.."},
		{name: "call N", faults: []Fault{{Kind: FaultError, Call: 3}}, operations: "abab", want: "..E."},
		{name: "N calls in a row", faults: []Fault{{Kind: FaultError, Call: 2, Times: 2}}, operations: "aaaa", want: ".EE."},
		{name: "by operation", faults: []Fault{{Kind: FaultError, Operation: "b"}}, operations: "aabb", want: "..E."},
		{name: "by operation, N times", faults: []Fault{{Kind: FaultError, Operation: "b", Times: 2}}, operations: "babb", want: "E.E."},
		{name: "call N of an operation", faults: []Fault{{Kind: FaultError, Operation: "b", Call: 2}}, operations: "abab", want: "...E"},
		{name: "from call N on", faults: []Fault{{Kind: FaultError, Call: 3, Times: Always}}, operations: "aaaaa", want: "..EEE"},
		{
			name:       "two faults",
			faults:     []Fault{{Kind: FaultError, Call: 2}, {Kind: FaultLostReply, Call: 4}},
			operations: "aaaaa", want: ".E.L.",
		},
		{
			name:       "the first in the list wins and the other keeps its turn for the next call",
			faults:     []Fault{{Kind: FaultError, Operation: "b"}, {Kind: FaultThrottle, Call: 2}},
			operations: "abab", want: ".ET.",
		},
		{name: "certain rate", faults: []Fault{{Kind: FaultError, Rate: 1}}, operations: "aaa", want: "EEE"},
		{name: "certain rate, N times", faults: []Fault{{Kind: FaultError, Rate: 1, Times: 2}}, operations: "aaa", want: "EE."},
		{name: "certain rate of one operation", faults: []Fault{{Kind: FaultError, Rate: 1, Operation: "b"}}, operations: "aba", want: ".E."},
		{name: "certain error rate", errorRate: 1, operations: "aaa", want: "EEE"},
		{
			name: "script before error rate", errorRate: 1,
			faults: []Fault{{Kind: FaultLostReply, Call: 2}}, operations: "aaa", want: "ELE",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(tt.faults, tt.errorRate, rand.New(rand.NewPCG(1, 0)))
			got := &strings.Builder{}
			for _, name := range tt.operations {
				got.WriteString(marks[s.next(Operation{Name: string(name)}).Kind])
			}
			if got.String() != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if want := len(tt.want) - strings.Count(tt.want, "."); s.injected != want {
				t.Errorf("injected %d, want %d", s.injected, want)
			}
		})
	}
}

func TestScriptRateIsSeeded(t *testing.T) {
	const calls = 1000
	play := func(seed uint64) []bool {
		s := newScript([]Fault{{Kind: FaultError, Rate: 0.25}}, 0, rand.New(rand.NewPCG(seed, 0)))
		var hits []bool
		for range calls {
			hits = append(hits, s.next(Operation{}).Kind != "")
		}
		if s.injected < calls/5 || s.injected > calls*3/10 {
			t.Errorf("seed %d: %d of %d calls failed at a rate of 0.25", seed, s.injected, calls)
		}
		return hits
	}
	if diff := cmp.Diff(play(7), play(7)); diff != "" {
		t.Errorf("one seed, two sequences:\n%s", diff)
	}
	if cmp.Equal(play(7), play(8)) {
		t.Error("two seeds, one sequence")
	}
}

func TestScriptRejectsInvalidFaults(t *testing.T) {
	for name, fault := range map[string]Fault{
		"no kind":       {Call: 1},
		"unknown kind":  {Kind: "eror"},
		"negative call": {Kind: FaultError, Call: -1},
		"rate above 1":  {Kind: FaultError, Rate: 20},
		"negative rate": {Kind: FaultError, Rate: -0.5},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			newScript([]Fault{fault}, 0, nil)
		})
	}
}
