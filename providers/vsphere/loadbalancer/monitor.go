package loadbalancer

import (
	"cmp"
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

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
		path = api.LBMonitors + "/" + d.owner.objectID(partMonitor, port.Name, want.ResourceType)
		change := plan.Change{
			Ref:    d.portRef(kindMonitor, monitorPort(port.Name, want.ResourceType), plan.Create),
			Fields: monitorFields(api.LBMonitor{}, want),
			Do: func(ctx context.Context, _ *plan.Handles) error {
				_, err := d.write.store.monitors.put(ctx, path, want)
				return err
			},
		}
		d.plan.Add(change)
		return path, []plan.Ref{change.Ref}
	}
	have := d.have.Monitors[i]
	record := storedRecord(d.have)
	setDefaults(&want, record.Has)
	keepSettings(&want, have)
	f := monitorFields(have, want)
	diffTags(&f, have.Tags, tags)
	if len(f) > 0 {
		d.plan.Add(plan.Change{
			Ref: d.portRef(kindMonitor, monitorPort(port.Name, want.ResourceType), plan.Update), ID: have.Path, Fields: f,
			Mark: len(f) == 1 && f.Has("tags"),
			Do: func(ctx context.Context, _ *plan.Handles) error {
				return d.write.store.monitors.update(ctx, have.Path, func(m *api.LBMonitor) {
					m.MonitorPort, m.Interval, m.Timeout = want.MonitorPort, want.Interval, want.Timeout
					m.RiseCount, m.FallCount, m.RequestURL = want.RiseCount, want.FallCount, want.RequestURL
					m.Tags = setTags(m.Tags, tags)
				})
			},
		})
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

// monitorFields returns the differences of two monitors, by the names of the API.
func monitorFields(have, want api.LBMonitor) plan.Fields {
	var f plan.Fields
	f.Diff("monitor_port", plan.ShowInt(have.MonitorPort), plan.ShowInt(want.MonitorPort))
	f.Diff("interval", plan.ShowInt(have.Interval), plan.ShowInt(want.Interval))
	f.Diff("timeout", plan.ShowInt(have.Timeout), plan.ShowInt(want.Timeout))
	f.Diff("rise_count", plan.ShowInt(have.RiseCount), plan.ShowInt(want.RiseCount))
	f.Diff("fall_count", plan.ShowInt(have.FallCount), plan.ShowInt(want.FallCount))
	f.Diff("request_url", have.RequestURL, want.RequestURL)
	return f
}
