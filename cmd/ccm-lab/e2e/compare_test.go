package e2e

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/text"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/bench"
	"github.com/unified-ccm/unified-ccm/providers/fake"
)

// frameworkManager builds package frameworkccm under a name, which selects a defect.
func frameworkManager(t *testing.T, name string) bench.Manager {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./frameworkccm").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bench.Manager{Binary: binary}
}

// compareFake runs the selected scenarios with managers on the fake cloud, each with the descriptor of its provider.
func compareFake(t *testing.T, pattern string, managers ...bench.Manager) report.Report {
	t.Helper()
	scenarios, err := compare.Select(compare.Scenarios(), pattern)
	if err != nil {
		t.Fatal(err)
	}
	var columns []compare.Column
	for _, m := range managers {
		column := compare.Columns(fake.ProviderName, "")[0]
		if column.Manager = m; m.Binary != "" {
			column.Name = filepath.Base(m.Binary)
		}
		columns = append(columns, column)
	}
	r, err := compare.Run(t.Context(), compare.Options{
		Binaries: planes.binaries, Dir: t.TempDir(), Columns: columns, Scenarios: scenarios, Parallel: len(columns),
		Notify: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestComparisonCatchesAFalseDescriptor(t *testing.T) {
	t.Parallel()
	r := compareFake(t, "annotation.tags", bench.Manager{}, frameworkManager(t, "lying-ccm"))
	want := `lying-ccm annotation.tags: declared "works", observed "ignored in silence"`
	if got := compare.Failures(r); !slices.Equal(got, []string{want}) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestComparisonCatchesAnOrphan(t *testing.T) {
	t.Parallel()
	r := compareFake(t, "service.tcp", frameworkManager(t, "leaky-ccm"))
	got := strings.Join(compare.Failures(r), "; ")
	for _, kind := range []string{"load balancer", "address", "listener", "pool"} {
		if !strings.Contains(got, "leaky-ccm service.tcp: left in the cloud: "+kind+" ") {
			t.Errorf("no %s is named: %s", kind, got)
		}
	}
}

func TestComparisonCatchesOneCallMore(t *testing.T) {
	t.Parallel()
	honest := compareFake(t, "service.tcp", frameworkManager(t, "framework-ccm"))
	same := compareFake(t, "service.tcp", frameworkManager(t, "framework-ccm"))
	if d := text.Compare(honest, same); d.Regressed() {
		t.Errorf("the same manager is worse: %+v", d.Worse)
	}
	r := compareFake(t, "service.tcp", frameworkManager(t, "costly-ccm"))
	rename(&r, "framework-ccm")
	d := text.Compare(honest, r)
	if len(d.Worse) != 1 || d.Worse[0].Value != "calls" {
		t.Errorf("%+v, want one more call", d.Worse)
	}
}

// rename gives the only column another name.
func rename(r *report.Report, name string) {
	old := r.Columns[0].Name
	r.Columns[0].Name = name
	for _, c := range r.Capabilities {
		c.Cells[name] = c.Cells[old]
		delete(c.Cells, old)
	}
}

// TestFrameworkManagerIsAColumn compares a manager that has nothing of ccm but the providers.
func TestFrameworkManagerIsAColumn(t *testing.T) {
	t.Parallel()
	r := compareFake(t, "service.[tu][cd]p", bench.Manager{}, frameworkManager(t, "framework-ccm"))
	for _, c := range r.Capabilities {
		for _, column := range r.Columns {
			if cell := c.Cells[column.Name]; cell.Verdict != report.Works {
				t.Errorf("%s %s: %s: %s", column.Name, c.ID, cell.Verdict, cell.Summary)
			}
		}
	}
	if problems := compare.Failures(r); len(problems) > 0 {
		t.Error(problems)
	}
}
