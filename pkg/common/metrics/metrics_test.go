package metrics

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics/legacyregistry"
)

// exposed returns the names and types that /metrics of this process shows, of those in want.
func exposed(t *testing.T, want map[string]Type) map[string]Type {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]Type{"COUNTER": Counter, "GAUGE": Gauge, "HISTOGRAM": Histogram}
	got := map[string]Type{}
	for _, f := range families {
		if _, ok := want[f.GetName()]; ok {
			got[f.GetName()] = types[f.GetType().String()]
		}
	}
	return got
}

func TestSet(t *testing.T) {
	s := &Set{}
	labels := []string{"provider"}
	counter := s.Counter(Doc{Name: "ccm_test_things_total", Help: "Things.", Labels: labels})
	gauge := s.Gauge(Doc{Name: "ccm_test_things", Help: "Things now.", Labels: labels})
	histogram := s.Histogram(Doc{Name: "ccm_test_seconds", Help: "Time.", Labels: labels}, []float64{1, 2})
	use := func() {
		counter.WithLabelValues("fake").Inc()
		gauge.WithLabelValues("fake").Set(1)
		histogram.WithLabelValues("fake").Observe(1)
	}
	want := map[string]Type{"ccm_test_things_total": Counter, "ccm_test_things": Gauge, "ccm_test_seconds": Histogram}

	use()
	if got := exposed(t, want); len(got) != 0 {
		t.Errorf("shown before Register: %v", got)
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(s.Register)
	}
	wg.Wait()
	use()
	if diff := cmp.Diff(want, exposed(t, want)); diff != "" {
		t.Errorf("shown after Register (-want +got):\n%s", diff)
	}

	docs := s.Docs()
	documented := map[string]Type{}
	for _, d := range docs {
		documented[d.Name] = d.Type
	}
	if diff := cmp.Diff(want, documented); diff != "" {
		t.Errorf("documented (-want +got):\n%s", diff)
	}
	if docs[0].Name = "changed"; s.Docs()[0].Name == "changed" {
		t.Error("Docs hands out its own slice")
	}
}
