package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// FailingReport has the latencies of clouds beside one that fails.
type FailingReport struct {
	// Failing is the cloud that fails, Clouds are the others.
	Failing string   `json:"failing"`
	Clouds  []string `json:"clouds"`
	// Nodes and Services are measured in each other cloud and condition.
	Nodes    int `json:"nodes"`
	Services int `json:"services"`
	// LatencyMilliseconds and CPUs are those of Report.
	LatencyMilliseconds int64       `json:"latencyMilliseconds"`
	CPUs                int         `json:"cpus"`
	Conditions          []Condition `json:"conditions"`
}

// Condition is the result while the failing cloud is in one state.
type Condition struct {
	Name string `json:"name"`
	// Failed is the number of calls to the failing cloud that failed on purpose.
	Failed int `json:"failed"`
	// Clouds are the others.
	Clouds []Latencies `json:"clouds"`
}

// Latencies are the seconds that each Service took until its address, and each node until its initialization.
type Latencies struct {
	Provider string    `json:"provider"`
	Services []float64 `json:"services"`
	Nodes    []float64 `json:"nodes"`
}

// WriteJSON writes the report as JSON.
func (r FailingReport) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

// WriteTable writes the report as a table: medians and 99th percentiles of each condition and cloud.
func (r FailingReport) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "clouds %s beside %s in one manager; %d ms per call; %s and %s of each, one after the other; "+
		"%d CPUs for everything\n", strings.Join(r.Clouds, ", "), r.Failing, r.LatencyMilliseconds,
		count(r.Services, "Service"), count(r.Nodes, "node"), r.CPUs)
	fmt.Fprintf(w, "SECONDS until a Service has its address, and until a node is initialized: median, and 99th "+
		"percentile with its\nchange from that while %s is idle. FAILED are calls to %s.\n\n", r.Failing, r.Failing)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\t\tFAILED\tSERVICE\t99 %\tCHANGE\tNODE\t99 %\tCHANGE\t")
	width := 0
	for _, c := range r.Conditions {
		width = max(width, len(c.Name))
	}
	for _, c := range r.Conditions {
		for i, cloud := range c.Clouds {
			name, failed := "", ""
			if i == 0 {
				name, failed = c.Name, thousands(c.Failed)
			}
			fmt.Fprintf(t, "\n%s\t%s\t%s\t", name+strings.Repeat(" ", width-len(name)), cloud.Provider, failed)
			services, nodes := r.base(i)
			for _, values := range [][2][]float64{{cloud.Services, services}, {cloud.Nodes, nodes}} {
				fmt.Fprintf(t, "%.2f\t%.2f\t%s\t", percentile(values[0], 50), percentile(values[0], 99),
					change(percentile(values[0], 99), percentile(values[1], 99)))
			}
		}
	}
	fmt.Fprintln(t)
	return t.Flush()
}

// base returns the seconds of other cloud i while the failing cloud is idle: in the first and in the last condition.
func (r FailingReport) base(i int) (services, nodes []float64) {
	for _, c := range []Condition{r.Conditions[0], r.Conditions[len(r.Conditions)-1]} {
		services = append(services, c.Clouds[i].Services...)
		nodes = append(nodes, c.Clouds[i].Nodes...)
	}
	return services, nodes
}

// percentile returns the smallest value that at least the given percentage of values do not exceed; 0 without values.
func percentile(values []float64, percent float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(percent/100*float64(len(sorted))))-1)]
}
