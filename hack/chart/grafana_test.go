package main

import (
	"os"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// TestDashboardHasGrafanaSchema decodes the dashboard with the types that are generated from Grafana's schemas of
// dashboards, panels and Prometheus queries. Unknown and missing fields and wrong values are errors.
func TestDashboardHasGrafanaSchema(t *testing.T) {
	text, err := os.ReadFile("../../deploy/chart/files/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	runtime := cog.NewRuntime()
	runtime.RegisterPanelcfgVariant(stat.VariantConfig())
	runtime.RegisterPanelcfgVariant(timeseries.VariantConfig())
	runtime.RegisterDataqueryVariant(prometheus.VariantConfig())
	var d dashboard.Dashboard
	if err := d.UnmarshalJSONStrict(text); err != nil {
		t.Error(err)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
}
