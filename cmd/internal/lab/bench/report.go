// Package bench measures what ccm costs: calls to the cloud, seconds, CPU time and memory, on a
// real API server and a simulated cloud.
package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what a benchmark has measured.
type Report struct {
	Provider string `json:"provider"`
	// Manager is the binary that was measured; empty for this repository's ccm.
	Manager  string `json:"manager,omitempty"`
	Nodes    int    `json:"nodes"`
	Services int    `json:"services"`
	// LatencyMilliseconds is how long the cloud takes for each call.
	LatencyMilliseconds int64 `json:"latencyMilliseconds"`
	// CPUs of this machine, which ccm shares with the API server, etcd and the cloud.
	CPUs   int     `json:"cpus"`
	Phases []Phase `json:"phases"`
}

// Phase is one thing that was measured.
type Phase struct {
	Name string `json:"name"`
	// Reads and Mutations are calls to the cloud.
	Reads     int `json:"reads"`
	Mutations int `json:"mutations"`
	// Failed are those of them that failed.
	Failed int `json:"failed"`
	// Seconds from the first request to the cluster until everything was done.
	Seconds float64 `json:"seconds"`
	// CPUSeconds that ccm used meanwhile, and PeakMemoryBytes its largest resident set since its start.
	CPUSeconds      float64 `json:"cpuSeconds"`
	PeakMemoryBytes int64   `json:"peakMemoryBytes"`
}

// WriteJSON writes the report for machines.
func (r Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteTable writes the report for people.
func (r Report) WriteTable(w io.Writer) error {
	if r.Manager != "" {
		fmt.Fprintf(w, "manager %s\n", r.Manager)
	}
	fmt.Fprintf(w, "cloud %s, %d ms per call; %s and %s; %d CPUs for everything\n\n",
		r.Provider, r.LatencyMilliseconds, count(r.Nodes, "node"), count(r.Services, "Service"), r.CPUs)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tREADS\tMUTATIONS\tFAILED\tSECONDS\tCPU SECONDS\tPEAK MEMORY\t\n")
	width := 0
	for _, p := range r.Phases {
		width = max(width, len(p.Name))
	}
	for _, p := range r.Phases {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.1f\t%.2f\t%s\t\n", p.Name+strings.Repeat(" ", width-len(p.Name)),
			thousands(p.Reads), thousands(p.Mutations), thousands(p.Failed), p.Seconds, p.CPUSeconds, mebibytes(p.PeakMemoryBytes))
	}
	return t.Flush()
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

func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond)) / float64(time.Second)
}
