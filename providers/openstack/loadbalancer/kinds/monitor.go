package kinds

import (
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"

	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// Monitor has the fields of a health monitor, existing or wanted. NewName is set only if the name changes.
type Monitor struct {
	monitors.CreateOpts
	Key, NewName string
}

// Monitors is the kind of health monitors. Octavia's settings of probes are sent together.
var Monitors = rows.Kind[*Monitor, *monitors.UpdateOpts]{
	Name: observe.KindMonitor,
	Key:  func(m *Monitor) string { return m.Key },
	Rows: []rows.Row[*Monitor, *monitors.UpdateOpts]{
		{Name: FieldMonitorType, Value: rows.Text(func(m *Monitor) *string { return &m.Type })},
		probeRow("delay", rows.Number(func(m *Monitor) *int { return &m.Delay }),
			func(p *monitors.UpdateOpts, want *Monitor) { p.Delay = want.Delay }),
		probeRow("timeout", rows.Number(func(m *Monitor) *int { return &m.Timeout }),
			func(p *monitors.UpdateOpts, want *Monitor) { p.Timeout = want.Timeout }),
		probeRow("max_retries", rows.Number(func(m *Monitor) *int { return &m.MaxRetries }),
			func(p *monitors.UpdateOpts, want *Monitor) { p.MaxRetries = want.MaxRetries }),
		probeRow("max_retries_down", rows.Number(func(m *Monitor) *int { return &m.MaxRetriesDown }),
			func(p *monitors.UpdateOpts, want *Monitor) { p.MaxRetriesDown = want.MaxRetriesDown }),
		probeRow("url_path", rows.Text(func(m *Monitor) *string { return &m.URLPath }),
			func(p *monitors.UpdateOpts, want *Monitor) { p.URLPath = want.URLPath }),
		probeRow("http_method", rows.Text(func(m *Monitor) *string { return &m.HTTPMethod }),
			func(p *monitors.UpdateOpts, want *Monitor) { p.HTTPMethod = want.HTTPMethod }),
		probeRow("expected_codes", rows.Text(func(m *Monitor) *string { return &m.ExpectedCodes }),
			func(p *monitors.UpdateOpts, want *Monitor) { p.ExpectedCodes = want.ExpectedCodes }),
		probeRow("name", rows.Text(func(m *Monitor) *string { return &m.NewName }),
			func(p *monitors.UpdateOpts, want *Monitor) {
				if want.NewName != "" {
					p.Name = &want.NewName
				}
			}),
	},
}

func probeRow(name string, value rows.Value[*Monitor], set func(*monitors.UpdateOpts, *Monitor),
) rows.Row[*Monitor, *monitors.UpdateOpts] {
	return rows.Row[*Monitor, *monitors.UpdateOpts]{Name: name, Value: value, Set: set, Group: "probes"}
}
