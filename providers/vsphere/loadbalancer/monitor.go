package loadbalancer

import (
	"cmp"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

var monitorKind = objectKind[api.LBMonitor, *api.LBMonitor]{
	in: func(s *store) *collection[api.LBMonitor, *api.LBMonitor] { return s.monitors },
	Kind: rows.Kind[*api.LBMonitor, *api.LBMonitor]{
		Name: kindMonitor,
		Key:  func(m *api.LBMonitor) string { return monitorPort(m.Tag(names.TagPort), m.ResourceType) },
		Rows: rows.InPlace([]rows.Row[*api.LBMonitor, *api.LBMonitor]{
			{Name: "monitor_port", Value: rows.Number(func(m *api.LBMonitor) *int64 { return &m.MonitorPort })},
			{Name: "interval", Value: rows.Number(func(m *api.LBMonitor) *int64 { return &m.Interval })},
			{Name: "timeout", Value: rows.Number(func(m *api.LBMonitor) *int64 { return &m.Timeout })},
			{Name: "rise_count", Value: rows.Number(func(m *api.LBMonitor) *int64 { return &m.RiseCount })},
			{Name: "fall_count", Value: rows.Number(func(m *api.LBMonitor) *int64 { return &m.FallCount })},
			{Name: "request_url", Value: rows.Text(func(m *api.LBMonitor) *string { return &m.RequestURL })},
			tagsRow[api.LBMonitor](),
		}),
	},
}

// ensureMonitor plans the monitor of a port. It returns its path, "" for none, and the change that creates it.
func (d *differ) ensureMonitor(port Port) (path string, created []plan.Ref) {
	if port.Monitor == nil {
		return "", nil
	}
	want := *port.Monitor
	tags := d.owner.tags(map[string]string{names.TagPort: port.Name})
	i := slices.IndexFunc(d.have.Monitors, func(m api.LBMonitor) bool {
		return m.Tag(names.TagPort) == port.Name && m.ResourceType == want.ResourceType
	})
	if i < 0 {
		setDefaults(&want, func(string) bool { return true })
		want.DisplayName = names.MonitorDisplay(d.name(), int32(want.MonitorPort)) //nolint:gosec // a port
		want.Tags = setTags(nil, tags)
		path = d.owner.newPath(d.have.Deleted, api.LBMonitors, partMonitor, port.Name, want.ResourceType)
		creation := monitorKind.create(d, path, want)
		d.plan.Add(creation)
		return path, []plan.Ref{creation.Ref}
	}
	have := d.have.Monitors[i]
	record := storedRecord(d.have)
	setDefaults(&want, record.Has)
	keepSettings(&want, have)
	want.Tags = setTags(have.Tags, tags)
	if update, ok := monitorKind.update(d, have, want, tags); ok {
		d.plan.Add(update)
	}
	return have.Path, nil
}

// setDefaults sets the settings that the Service does not have to those of NSX-T, if the function returns true for the
// annotation that sets them.
func setDefaults(m *api.LBMonitor, reset func(key string) bool) {
	for _, s := range []struct {
		value    *int64
		key      string
		standard int64
	}{
		{&m.Interval, intent.KeyHealthCheckInterval, defaultInterval},
		{&m.Timeout, intent.KeyHealthCheckTimeout, defaultTimeout},
		{&m.RiseCount, intent.KeyHealthCheckHealthyThreshold, defaultRiseCount},
		{&m.FallCount, intent.KeyHealthCheckUnhealthyThreshold, defaultFallCount},
	} {
		if *s.value == 0 && reset(s.key) {
			*s.value = s.standard
		}
	}
	if m.ResourceType == monitorHTTP && m.RequestURL == "" && reset(intent.KeyHealthCheckPath) {
		m.RequestURL = defaultURL
	}
}

// keepSettings sets the settings that are still missing to the existing ones, which a user may have tuned.
func keepSettings(m *api.LBMonitor, have api.LBMonitor) {
	m.Interval, m.Timeout = cmp.Or(m.Interval, have.Interval), cmp.Or(m.Timeout, have.Timeout)
	m.RiseCount, m.FallCount = cmp.Or(m.RiseCount, have.RiseCount), cmp.Or(m.FallCount, have.FallCount)
	m.RequestURL = cmp.Or(m.RequestURL, have.RequestURL)
}
