package bench

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
)

func TestTableOfSeveralClouds(t *testing.T) {
	report := CloudsReport{
		Alone: []Report{
			{Provider: "aws", Nodes: 300, Services: 20, LatencyMilliseconds: 50, CPUs: 2, Phases: []Phase{
				{Key: lab.PhaseJoin, Reads: 12, Seconds: 2, PeakMemoryBytes: 60 << 20}}},
			{Provider: "vsphere", Nodes: 300, Services: 20, LatencyMilliseconds: 50, CPUs: 2, Phases: []Phase{
				{Key: lab.PhaseJoin, Reads: 1300, Seconds: 4, PeakMemoryBytes: 40 << 20}}},
		},
		Together: Report{Provider: "aws,vsphere", Phases: []Phase{
			{Key: lab.PhaseJoin, Reads: 1313, Seconds: 4.4, PeakMemoryBytes: 60 << 20,
				Clouds: map[string]int{"aws": 12, "vsphere": 1301}}}},
	}
	var got strings.Builder
	if err := report.WriteTable(&got); err != nil {
		t.Fatal(err)
	}
	want := `clouds aws, vsphere in one manager, and alone; 50 ms per call; 300 nodes and 20 Services in each; 2 CPUs for everything
CALLS to each cloud; SECONDS of the slowest cloud alone; peak MEMORY of the managers alone, added

      CALLS aws  together  CALLS vsphere  together  SECONDS      together   MEMORY         together
join         12        12          1,300     1,301      4.0  4.4 (+10 %)  100 MiB  60 MiB (-40 %)
`
	if diff := cmp.Diff(fields(want), fields(got.String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
