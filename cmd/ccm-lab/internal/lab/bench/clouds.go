package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
)

// CloudsReport compares a manager of several clouds with one manager for each of them.
type CloudsReport struct {
	// Alone are the results with one cloud each, in the order of Together.Provider.
	Alone []Report `json:"alone"`
	// Together is the result of one manager.
	Together Report `json:"together"`
}

// RunClouds measures each cloud alone, each on a cluster of its own, and then all of them in one manager. Alone, each
// has the nodes of the others as neighbors: the number of calls depends on how many nodes join at the same time.
func RunClouds(ctx context.Context, b lab.Binaries, o Options) (report CloudsReport, err error) {
	providers := strings.Split(o.Provider, ",")
	run := func(providers, dir string, neighbors int) (Report, error) {
		one := o
		one.Neighbors = neighbors
		one.Provider, one.Dir, one.Phases = providers, filepath.Join(o.Dir, dir), CloudsPhases()
		one.Step = func(ctx context.Context, name string, do func(context.Context) error) error {
			return o.Step(ctx, dir+": "+name, do)
		}
		if err := os.Mkdir(one.Dir, 0o700); err != nil {
			return Report{}, err
		}
		return Run(ctx, b, one)
	}
	for _, provider := range providers {
		alone, err := run(provider, provider, len(providers)-1)
		if err != nil {
			return report, fmt.Errorf("%s alone: %w", provider, err)
		}
		report.Alone = append(report.Alone, alone)
	}
	report.Together, err = run(o.Provider, "together", 0)
	return report, err
}

// WriteJSON writes the report as JSON.
func (r CloudsReport) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

// WriteTable writes the report as two tables: calls by cloud; seconds and memory.
func (r CloudsReport) WriteTable(w io.Writer) error {
	first := r.Alone[0]
	fmt.Fprintf(w, "clouds %s in one manager, and alone; %d ms per call; %s and %s in each; %d CPUs for everything\n",
		strings.ReplaceAll(r.Together.Provider, ",", ", "), first.LatencyMilliseconds, count(first.Nodes, "node"),
		count(first.Services, "Service"), first.CPUs)
	fmt.Fprint(w, "CALLS to each cloud; SECONDS of the slowest cloud alone; peak MEMORY of the managers alone, added\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\t")
	for _, alone := range r.Alone {
		fmt.Fprintf(t, "CALLS %s\ttogether\t", alone.Provider)
	}
	fmt.Fprint(t, "SECONDS\ttogether\tMEMORY\ttogether\t")
	width := 0
	for _, p := range r.Together.Phases {
		width = max(width, len(p.Key))
	}
	for _, p := range r.Together.Phases {
		fmt.Fprintf(t, "\n%s\t", p.Key+strings.Repeat(" ", width-len(p.Key)))
		slowest, memory := 0.0, int64(0)
		for _, alone := range r.Alone {
			a := alone.phase(p.Key)
			slowest, memory = max(slowest, a.Seconds), memory+a.PeakMemoryBytes
			fmt.Fprintf(t, "%s\t%s\t", thousands(a.calls()), thousands(p.Clouds[alone.Provider]))
		}
		fmt.Fprintf(t, "%.1f\t%.1f (%s)\t%s\t%s (%s)\t", slowest, p.Seconds, change(p.Seconds, slowest), mebibytes(memory),
			mebibytes(p.PeakMemoryBytes), change(float64(p.PeakMemoryBytes), float64(memory)))
	}
	fmt.Fprintln(t)
	return t.Flush()
}
