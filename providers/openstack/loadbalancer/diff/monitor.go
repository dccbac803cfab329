package diff

import (
	"context"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// diffMonitor plans the health monitor of a pool that stays. A change of its type is a deletion and
// a creation, since Octavia cannot change it.
func (d *differ) diffMonitor(pool observe.Pool, want model.Port) {
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
		creation := d.monitorCreate(*spec, func(*plan.Handles) (string, error) { return pool.ID, nil }, after)
		creation.Key = portKey(want)
		if len(after) == 0 && d.addsProbesToGuest(pool) {
			probesGuest.Declare(&creation)
		}
		d.add(creation)
	default:
		if change, ok := d.monitorUpdate(*have, *spec); ok {
			d.add(change)
		}
	}
}

// addsProbesToGuest reports whether the pool of a guest on a shared load balancer receives traffic without
// probes, and would get them only for externalTrafficPolicy: Local. Probes that a firewall drops would stop
// its traffic. For the owner see keepUnmonitored.
func (d *differ) addsProbesToGuest(pool observe.Pool) bool {
	return !d.owner && d.want.ProbedForLocal && d.isUsed(pool.ID)
}

func monitorRef(spec monitors.CreateOpts, action plan.Action) plan.Ref {
	return plan.Ref{Kind: kindMonitor, Name: spec.Name, Action: action}
}

func (d *differ) monitorCreate(spec monitors.CreateOpts, pool func(*plan.Handles) (string, error),
	after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    monitorRef(spec, plan.Create),
		Fields: monitorFields(api.HealthMonitor{}, spec),
		After:  after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			id, err := pool(ids)
			if err != nil {
				return err
			}
			lb, err := d.loadBalancerID(ids)
			if err != nil {
				return err
			}
			spec.PoolID = id
			return d.write.CreateMonitor(ctx, lb, spec)
		},
	}
}

func (d *differ) monitorUpdate(have api.HealthMonitor, spec monitors.CreateOpts) (plan.Change, bool) {
	f := monitorFields(have, spec)
	renamed := d.owner && monitorIndex(have.Name) != "" && monitorIndex(have.Name) != monitorIndex(spec.Name) &&
		f.Diff("name", have.Name, spec.Name)
	if len(f) == 0 {
		return plan.Change{}, false
	}
	patch := monitors.UpdateOpts{Delay: spec.Delay, Timeout: spec.Timeout, MaxRetries: spec.MaxRetries,
		MaxRetriesDown: spec.MaxRetriesDown}
	if spec.Type == monitors.TypeHTTP {
		patch.URLPath, patch.HTTPMethod, patch.ExpectedCodes = spec.URLPath, spec.HTTPMethod, spec.ExpectedCodes
	}
	if renamed {
		patch.Name = &spec.Name
	}
	return plan.Change{
		Ref:    monitorRef(spec, plan.Update),
		Fields: f,
		Do: d.inLoadBalancer(func(ctx context.Context, lb string) error {
			return d.write.UpdateMonitor(ctx, lb, have.ID, patch)
		}),
	}, true
}

// monitorIndex returns the part of a health monitor's name with the index of its port, or "" for other names. Other
// managers correct the name when the ports of a Service are reordered, while they leave those of listeners and pools:
// a name with another index would be a change when they take over again. On a shared load balancer they name the
// monitors of a guest in two ways in turn.
func monitorIndex(name string) string {
	parts := strings.SplitN(name, "_", 3)
	if len(parts) < 3 || parts[0] != "monitor" {
		return ""
	}
	return parts[1]
}

func (d *differ) monitorDelete(pool observe.Pool, have api.HealthMonitor) plan.Change {
	return plan.Change{
		Ref: plan.Ref{Kind: kindMonitor, Name: have.Name, Action: plan.Delete},
		Do: d.inLoadBalancer(func(ctx context.Context, lb string) error {
			return d.write.DeleteMonitor(ctx, lb, pool.ID, have.ID)
		}),
	}
}

// monitorFields returns the differing settings of two health monitors, by their names in the API.
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
