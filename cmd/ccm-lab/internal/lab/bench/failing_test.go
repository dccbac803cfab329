package bench

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	tests := []struct {
		name    string
		values  []float64
		percent float64
		want    float64
	}{
		{name: "nothing", percent: 99},
		{name: "one value", values: []float64{3}, percent: 50, want: 3},
		{name: "median of an even number", values: []float64{4, 1, 3, 2}, percent: 50, want: 2},
		{name: "99 of a hundred", values: hundred, percent: 99, want: 99},
		{name: "99 of a few is the largest", values: []float64{1, 9, 5}, percent: 99, want: 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := percentile(tt.values, tt.percent); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTableOfFailingCloud(t *testing.T) {
	latencies := func(services, nodes float64) []Latencies {
		return []Latencies{
			{Provider: "fake", Services: []float64{services}, Nodes: []float64{nodes}},
			{Provider: "gce", Services: []float64{2 * services}, Nodes: []float64{2 * nodes}},
		}
	}
	report := FailingReport{
		Failing: "aws", Clouds: []string{"fake", "gce"}, Nodes: 1, Services: 1, LatencyMilliseconds: 20, CPUs: 2,
		Conditions: []Condition{
			{Name: "is idle", Clouds: latencies(1, 0.5)},
			{Name: "hangs", Failed: 1200, Clouds: latencies(1.1, 0.4)},
			{Name: "is idle again", Clouds: latencies(0.9, 0.5)},
		},
	}
	var got strings.Builder
	if err := report.WriteTable(&got); err != nil {
		t.Fatal(err)
	}
	want := `clouds fake, gce beside aws in one manager; 20 ms per call; 1 Service and 1 node of each, one after the other; 2 CPUs for everything
SECONDS until a Service has its address, and until a node is initialized: median, and 99th percentile with its
change from that while aws is idle. FAILED are calls to aws.

FAILED SERVICE 99 % CHANGE NODE 99 % CHANGE
is idle       fake 0     1.00 1.00 +0 %   0.50 0.50 +0 %
              gce        2.00 2.00 +0 %   1.00 1.00 +0 %
hangs         fake 1,200 1.10 1.10 +10 %  0.40 0.40 -20 %
              gce        2.20 2.20 +10 %  0.80 0.80 -20 %
is idle again fake 0     0.90 0.90 -10 %  0.50 0.50 +0 %
              gce        1.80 1.80 -10 %  1.00 1.00 +0 %
`
	if diff := cmp.Diff(fields(want), fields(got.String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
