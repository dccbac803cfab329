package loadbalancer

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// kindMonitor is what plans call it.
const kindMonitor = "health monitor"

// monitored says whether nodes are probed. With externalTrafficPolicy: Local they are unless the
// Service says otherwise: most nodes have no pod then, and only a probe knows which have.
func (w *wisher) monitored() bool {
	if on := w.options.Monitor.Enabled; on != nil {
		return *on
	}
	return w.settings.CreateMonitor || w.in.LocalTraffic
}

// probedForLocal says whether they are for that reason alone.
func (w *wisher) probedForLocal() bool {
	return w.in.LocalTraffic && w.options.Monitor.Enabled == nil && !w.settings.CreateMonitor
}

// monitor says how the nodes are probed for one port; nil for not at all.
func (w *wisher) monitor(lbName string, index int, port intent.Port) *monitors.CreateOpts {
	if !w.monitored() {
		if index == 0 && w.in.LocalTraffic {
			w.warnf("%s is off, so that with externalTrafficPolicy: Local the connections that reach a node without a pod are lost: remove the annotation", annotation.KeyMonitor)
		}
		return nil
	}
	m, s := w.options.Monitor, w.settings
	delay, timeout := valueOr(m.Delay, s.MonitorDelay), valueOr(m.Timeout, s.MonitorTimeout)
	if m.Delay != nil && m.Timeout == nil {
		timeout = min(timeout, delay)
	}
	if timeout > delay {
		w.problemOnce(annotation.KeyMonitorTimeout, timeout.String(), fmt.Sprintf("it exceeds the time between two probes, which is %s: write at most that", delay))
	}
	spec := &monitors.CreateOpts{
		Name: names.HealthMonitor(index, lbName), Type: w.monitorType(port.Protocol),
		Delay: seconds(delay), Timeout: seconds(timeout), MaxRetries: valueOr(m.Retries, s.MonitorMaxRetries), MaxRetriesDown: valueOr(m.Down, s.MonitorMaxRetryDown),
	}
	if spec.Type == monitors.TypeUDPConnect && delay < shortestUDPProbe {
		w.problemOnce(annotation.KeyMonitorDelay, delay.String(), fmt.Sprintf("Octavia probes UDP ports every %s at most: write that or more", shortestUDPProbe))
	}
	if spec.Type == monitors.TypeHTTP {
		spec.URLPath, spec.HTTPMethod, spec.ExpectedCodes = m.Path, http.MethodGet, "200"
		if spec.URLPath == "" {
			spec.URLPath = "/"
		}
	}
	return spec
}

// monitorType is how a port is probed. The provider ovn has no HTTP probes, and Octavia had none for
// UDP at first: a plain probe stands in, which nodes without a pod fail too where Local traffic is dropped.
func (w *wisher) monitorType(protocol v1.Protocol) string {
	plain := map[v1.Protocol]string{v1.ProtocolTCP: monitors.TypeTCP, v1.ProtocolUDP: monitors.TypeUDPConnect, v1.ProtocolSCTP: monitors.TypeSCTP}[protocol]
	if w.options.Monitor.Protocol != string(intent.HealthCheckHTTP) || w.in.LocalTraffic && w.options.Monitor.Port == 0 {
		return plain
	}
	f := w.around.features
	switch {
	case f.ovn && !w.in.LocalTraffic:
		w.problemOnce(intent.KeyHealthCheckProtocol, "HTTP", "Octavia's provider ovn has no HTTP probes: write TCP")
		return plain
	case f.ovn, protocol == v1.ProtocolUDP && !f.udpMonitors():
		return plain
	}
	return monitors.TypeHTTP
}

// probePort is where members are probed; 0 for the port of the traffic.
func (w *wisher) probePort(kind string) int {
	if kind != monitors.TypeHTTP && w.in.LocalTraffic {
		return 0
	}
	return int(w.options.Monitor.Port)
}

func valueOr[T any](given *T, standard T) T {
	if given != nil {
		return *given
	}
	return standard
}

// seconds rounds up, because a zero would mean "off" or "the default".
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// diffMonitor plans the health monitor of a pool that stays. A change of its type is a deletion and
// a creation, since Octavia cannot change it. Names are left as they are.
func (d *differ) diffMonitor(pool Pool, want Port) {
	have, spec := pool.Monitor, want.Monitor
	var after []plan.Ref
	if have != nil && (spec == nil || have.Type != spec.Type) {
		removal := d.monitorDelete(pool, *have)
		d.add(removal)
		after = []plan.Ref{removal.Ref}
		have = nil
	}
	switch {
	case spec == nil:
	case have == nil:
		d.add(d.monitorCreate(*spec, func(*plan.Handles) (string, error) { return pool.ID, nil }, after))
	default:
		if change, ok := d.monitorUpdate(*have, *spec); ok {
			d.add(change)
		}
	}
}

func (d *differ) monitorCreate(spec monitors.CreateOpts, pool func(*plan.Handles) (string, error), after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: kindMonitor, Name: spec.Name, Action: plan.Create},
		Fields: monitorFields(api.HealthMonitor{}, spec),
		After:  after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			id, err := pool(ids)
			if err != nil {
				return err
			}
			spec.PoolID = id
			var made api.HealthMonitor
			return d.mutate(ctx, ids, func(ctx context.Context) (err error) {
				made, err = d.cloud.api.CreateHealthMonitor(ctx, spec)
				return err
			}, func(write uint64) {
				s := d.cloud.store
				s.monitors.put(made.ID, made, write)
				if p, ok := s.pools.get(id); ok {
					p.MonitorID = made.ID
					s.pools.put(id, p, write)
				}
			})
		},
	}
}

func (d *differ) monitorUpdate(have api.HealthMonitor, spec monitors.CreateOpts) (plan.Change, bool) {
	f := monitorFields(have, spec)
	if len(f) == 0 {
		return plan.Change{}, false
	}
	patch := monitors.UpdateOpts{Delay: spec.Delay, Timeout: spec.Timeout, MaxRetries: spec.MaxRetries, MaxRetriesDown: spec.MaxRetriesDown}
	if spec.Type == monitors.TypeHTTP {
		patch.URLPath, patch.HTTPMethod, patch.ExpectedCodes = spec.URLPath, spec.HTTPMethod, spec.ExpectedCodes
	}
	return plan.Change{
		Ref:    plan.Ref{Kind: kindMonitor, Name: spec.Name, Action: plan.Update},
		Fields: f,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			var made api.HealthMonitor
			return d.mutate(ctx, ids, func(ctx context.Context) (err error) {
				made, err = d.cloud.api.UpdateHealthMonitor(ctx, have.ID, patch)
				return err
			}, func(write uint64) { d.cloud.store.monitors.put(made.ID, made, write) })
		},
	}, true
}

func (d *differ) monitorDelete(pool Pool, have api.HealthMonitor) plan.Change {
	return plan.Change{
		Ref: plan.Ref{Kind: kindMonitor, Name: have.Name, Action: plan.Delete},
		Do: func(ctx context.Context, ids *plan.Handles) error {
			return d.mutate(ctx, ids, func(ctx context.Context) error {
				return cloudapi.IgnoreNotFound(d.cloud.api.DeleteHealthMonitor(ctx, have.ID))
			}, func(write uint64) {
				s := d.cloud.store
				s.monitors.drop(have.ID, write)
				delete(s.promised, pool.ID)
				if p, ok := s.pools.get(pool.ID); ok {
					p.MonitorID = ""
					s.pools.put(pool.ID, p, write)
				}
			})
		},
	}
}

// monitorFields are the settings in which two health monitors differ, by their names in the API.
func monitorFields(have api.HealthMonitor, want monitors.CreateOpts) plan.Fields {
	var f plan.Fields
	f.Diff("type", have.Type, want.Type)
	f.Diff("delay", plan.ShowInt(have.Delay), plan.ShowInt(want.Delay))
	f.Diff("timeout", plan.ShowInt(have.Timeout), plan.ShowInt(want.Timeout))
	f.Diff("max_retries", plan.ShowInt(have.MaxRetries), plan.ShowInt(want.MaxRetries))
	f.Diff("max_retries_down", plan.ShowInt(have.MaxRetriesDown), plan.ShowInt(want.MaxRetriesDown))
	if want.Type == monitors.TypeHTTP {
		f.Diff("url_path", have.URLPath, want.URLPath)
		f.Diff("http_method", have.HTTPMethod, want.HTTPMethod)
		f.Diff("expected_codes", have.ExpectedCodes, want.ExpectedCodes)
	}
	return f
}
