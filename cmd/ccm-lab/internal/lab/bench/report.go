// Package bench measures what ccm costs: calls to the cloud, seconds, CPU time and memory, on a real API
// server and a simulated cloud.
package bench

import (
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
)

// Report is the result of a benchmark.
type Report struct {
	Provider string `json:"provider"`
	// Manager is the binary that was measured; empty for this repository's ccm.
	Manager  string `json:"manager,omitempty"`
	Nodes    int    `json:"nodes"`
	Services int    `json:"services"`
	// Targets is the number of nodes that are targets of load balancers; 0 for all.
	Targets int `json:"targets,omitempty"`
	// RealServices reports that the cloud was not a simulation.
	RealServices bool `json:"realServices,omitempty"`
	// LatencyMilliseconds is the latency of each call to the cloud.
	LatencyMilliseconds int64 `json:"latencyMilliseconds"`
	// CPUs is the number of CPUs of this machine, which ccm shares with the API server, etcd and the cloud.
	CPUs   int     `json:"cpus"`
	Phases []Phase `json:"phases"`
	// Interruption is the result of a killed manager, with Options.Again.
	Interruption *Interruption `json:"interruption,omitempty"`
}

// Interruption is the result of a manager that was killed while it created Services.
type Interruption struct {
	// Mutations is the number of mutations before the kill, of those that all Services need.
	Mutations int `json:"mutations"`
	// Left names the objects in the cloud that are left after another manager has created and deleted the Services.
	Left []string `json:"left,omitempty"`
}

// Phase is the result of one phase.
type Phase struct {
	// Key identifies the phase: one of the constants of package lab.
	Key  string `json:"key"`
	Name string `json:"name"`
	// Reads and Mutations are calls to the cloud.
	Reads     int `json:"reads"`
	Mutations int `json:"mutations"`
	// Failed is the number of them that failed.
	Failed int `json:"failed"`
	// Seconds is the time from the first request to the cluster until the phase was complete.
	Seconds float64 `json:"seconds"`
	// CPUSeconds is the CPU time of ccm in the phase, PeakMemoryBytes its largest resident set since its start.
	CPUSeconds      float64 `json:"cpuSeconds"`
	PeakMemoryBytes int64   `json:"peakMemoryBytes"`
	// Clouds counts the calls of each cloud; nil with one cloud.
	Clouds map[string]int `json:"clouds,omitempty"`
	// Operations counts the calls of each operation.
	Operations map[string]int `json:"operations,omitempty"`
	// Again has the calls of a manager that starts when the phase is complete, with Options.Again.
	Again *Calls `json:"again,omitempty"`
	// Target is the budget of the phase; nil without one.
	Target *lab.Budget `json:"target,omitempty"`
}

// Calls are calls to the cloud.
type Calls struct {
	Reads     int `json:"reads"`
	Mutations int `json:"mutations"`
}

// calls returns the number of calls of all kinds.
func (p Phase) calls() int { return p.Reads + p.Mutations }

// met reports whether the phase made no more calls than its target allows. Seconds are not compared, because
// they depend on the machine.
func (p Phase) met() bool {
	return p.Target == nil || p.calls() <= p.Target.Calls && (p.Mutations == 0 || !p.Target.ReadOnly)
}

// target formats the target.
func (p Phase) target() string {
	if p.Target == nil {
		return ""
	}
	text := "≤ " + thousands(p.Target.Calls)
	if p.Target.ReadOnly {
		text += ", 0 changes"
	}
	if p.Target.Seconds > 0 {
		text += fmt.Sprintf(", %g s", p.Target.Seconds)
	}
	if !p.met() {
		text += "  MISSED"
	}
	return text
}

// Missed returns the names of the phases that made more calls than their target allows.
func (r Report) Missed() (names []string) {
	for _, p := range r.Phases {
		if !p.met() {
			names = append(names, p.Name)
		}
	}
	return names
}

// WriteJSON writes the report as JSON.
func (r Report) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

func writeJSON(w io.Writer, report any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(report)
}

// WriteTable writes the report as a table.
func (r Report) WriteTable(w io.Writer) error {
	if r.Manager != "" {
		fmt.Fprintf(w, "manager %s\n", r.Manager)
	}
	latency := fmt.Sprintf("%d ms per call", r.LatencyMilliseconds)
	if r.RealServices {
		latency = fmt.Sprintf("real services, %d ms more per call", r.LatencyMilliseconds)
	}
	nodes := count(r.Nodes, "node")
	if r.Targets > 0 && r.Targets < r.Nodes {
		nodes += fmt.Sprintf(", %d of them targets,", r.Targets)
	}
	fmt.Fprintf(w, "cloud %s, %s; %s and %s; %d CPUs for everything\n",
		r.Provider, latency, nodes, count(r.Services, "Service"), r.CPUs)
	fmt.Fprint(w, "CALLS to the cloud, CHANGES among them; SECONDS on the clock; CPU and peak MEMORY of the manager\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tCALLS\tCHANGES\tFAILED\tSECONDS\tCPU SECONDS\tMEMORY\t")
	width, targets := 0, false
	for _, p := range r.Phases {
		width = max(width, len(p.Name))
		targets = targets || p.Target != nil
	}
	if targets {
		fmt.Fprint(t, "  TARGET")
	}
	for _, p := range r.Phases {
		fmt.Fprintf(t, "\n%s\t%s\t%s\t%s\t%.1f\t%.2f\t%s\t", p.Name+strings.Repeat(" ", width-len(p.Name)),
			thousands(p.calls()), thousands(p.Mutations), thousands(p.Failed), p.Seconds, p.CPUSeconds,
			mebibytes(p.PeakMemoryBytes))
		if target := p.target(); target != "" {
			fmt.Fprint(t, "  "+target)
		}
	}
	fmt.Fprintln(t)
	if err := t.Flush(); err != nil {
		return err
	}
	return r.writeMissed(w)
}

// writeMissed lists the calls of the phases that exceeded their target.
func (r Report) writeMissed(w io.Writer) error {
	for _, p := range r.Phases {
		if p.met() || len(p.Operations) == 0 {
			continue
		}
		var calls []string
		for _, name := range slices.SortedFunc(maps.Keys(p.Operations), func(a, b string) int {
			return stdcmp.Or(stdcmp.Compare(p.Operations[b], p.Operations[a]), stdcmp.Compare(a, b))
		}) {
			calls = append(calls, thousands(p.Operations[name])+" "+name)
		}
		if _, err := fmt.Fprintf(w, "\nMISSED %s: %s\n", p.Name, strings.Join(calls, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// phase returns a phase by its key; a zero one if it was not measured.
func (r Report) phase(key string) Phase {
	i := slices.IndexFunc(r.Phases, func(p Phase) bool { return p.Key == key })
	if i < 0 {
		return Phase{}
	}
	return r.Phases[i]
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<19)>>20) }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

// thousands separates the digits of large numbers.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// change formats the difference of two values in percent of the second.
func change(value, base float64) string {
	if base == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.0f %%", (value-base)/base*100)
}
