package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
)

func sample() Report {
	return Report{
		Provider: "fake", Nodes: 1000, Targets: 100, Services: 1, LatencyMilliseconds: 20, CPUs: 2,
		Phases: []Phase{
			{Name: "1,000 nodes joining", Reads: 3, Seconds: 21.04, CPUSeconds: 7.129, PeakMemoryBytes: 100 << 20, Target: &lab.Budget{Calls: 3}},
			{
				Name: "restart", Reads: 1234567, Mutations: 1, Failed: 2, Seconds: 0.25, CPUSeconds: 1, PeakMemoryBytes: 90<<20 - 1,
				Target:     &lab.Budget{Calls: 9999999, ReadOnly: true, Seconds: 10},
				Operations: map[string]int{"DescribeA": 4, "DescribeB": 1234563, "DescribeC": 4},
			},
			{Name: "delete all", Mutations: 7},
		},
	}
}

func TestWriteTable(t *testing.T) {
	want := `cloud fake, 20 ms per call; 1,000 nodes, 100 of them targets, and 1 Service; 2 CPUs for everything
CALLS to the cloud, CHANGES among them; SECONDS on the clock; CPU and peak MEMORY of the manager

                         CALLS  CHANGES  FAILED  SECONDS  CPU SECONDS   MEMORY  TARGET
  1,000 nodes joining        3        0       0     21.0         7.13  100 MiB  ≤ 3
  restart            1,234,568        1       2      0.2         1.00   90 MiB  ≤ 9,999,999, 0 changes, 10 s  MISSED
  delete all                 7        7       0      0.0         0.00    0 MiB

MISSED restart: 1,234,563 DescribeB, 4 DescribeA, 4 DescribeC
`
	var b strings.Builder
	if err := sample().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	// The width of columns is for tabwriter.
	if diff := cmp.Diff(fields(want), fields(b.String())); diff != "" {
		t.Errorf("WriteTable (-want +got):\n%s\n%s", diff, b.String())
	}
}

func TestMissed(t *testing.T) {
	budget := func(b lab.Budget) *lab.Budget { return &b }
	r := Report{Phases: []Phase{
		{Name: "no target", Reads: 100},
		{Name: "just met", Reads: 2, Mutations: 1, Target: budget(lab.Budget{Calls: 3})},
		{Name: "one too many", Reads: 2, Mutations: 2, Target: budget(lab.Budget{Calls: 3})},
		{Name: "no changes", Reads: 3, Target: budget(lab.Budget{Calls: 3, ReadOnly: true})},
		{Name: "a change", Mutations: 1, Target: budget(lab.Budget{Calls: 3, ReadOnly: true})},
		{Name: "slow", Seconds: 11, Target: budget(lab.Budget{Calls: 3, Seconds: 10})},
	}}
	if diff := cmp.Diff([]string{"one too many", "a change"}, r.Missed()); diff != "" {
		t.Errorf("Missed (-want +got):\n%s", diff)
	}
}

func fields(text string) (out [][]string) {
	for line := range strings.Lines(text) {
		out = append(out, strings.Fields(line))
	}
	return out
}

func TestWriteJSON(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Errorf("JSON and back (-want +got):\n%s", diff)
	}
	for _, key := range []string{`"latencyMilliseconds": 20`, `"reads": 3`, `"cpuSeconds": 7.129`, `"peakMemoryBytes": 104857600`} {
		if !strings.Contains(b.String(), key) {
			t.Errorf("no %s in:\n%s", key, b.String())
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) is %q, want %q", n, got, want)
		}
	}
}

func TestParseRefresh(t *testing.T) {
	nodes, took, ok := parseRefresh(`I1121 05:28:03.634795   16380 node_controller.go:274] Update 1000 nodes status took 1.5s.`)
	if nodes != 1000 || took != 1500*time.Millisecond || !ok {
		t.Errorf("got %d, %s, %t", nodes, took, ok)
	}
	if _, _, ok := parseRefresh("I1121 05:28:03.6 16380 node_controller.go:477] Successfully initialized node node-3"); ok {
		t.Error("took another line for the one of a refresh")
	}
}

func TestFollower(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write := func(text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n")
	f, err := follow(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		text string
		want []string
	}{
		{"one\ntw", []string{"one"}}, {"", []string{}}, {"o\nthree\n", []string{"two", "three"}},
	} {
		write(step.text)
		got, err := f.lines()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("after %q (-want +got):\n%s", step.text, diff)
		}
	}
}
