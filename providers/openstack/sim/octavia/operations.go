package octavia

import (
	"net/http"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// Operations returns the operations of Octavia.
func Operations() []core.Operation[*Tx] {
	return slices.Concat(balancerOperations(), listenerOperations(), poolOperations(), memberOperations(),
		monitorOperations(), placementOperations())
}

func balancerOperations() []core.Operation[*Tx] {
	r := newResource("LoadBalancer", "loadbalancer", func(t *Tx) map[string]*balancer { return t.Balancers },
		(*Tx).balancer)
	r.Refresh = func(_ *Tx, b *balancer) { b.refresh() }
	r.Filters = map[string]core.Filter[*balancer]{"listeners": nil, "pools": nil}
	return r.Operations(
		core.Create("CreateLoadBalancer", r.Path, (*Tx).createBalancer),
		core.Change("UpdateLoadBalancer", r.Path+"/{id}", (*Tx).updateBalancer),
		core.Remove("DeleteLoadBalancer", r.Path+"/{id}", (*Tx).deleteBalancer),
		core.Read("ShowLoadBalancerStatusTree", r.Path+"/{id}/status", (*Tx).statusTree),
		core.Read("ShowLoadBalancerStatusTree", r.Path+"/{id}/statuses", (*Tx).statusTree),
		core.Read("ShowLoadBalancerStatistics", r.Path+"/{id}/stats", func(t *Tx) (any, error) {
			_, err := t.balancer(t.Call.Params["id"])
			return noTraffic(), err
		}),
		core.Write("FailoverLoadBalancer", http.MethodPut, r.Path+"/{id}/failover", http.StatusAccepted,
			(*Tx).failoverBalancer),
	)
}

func listenerOperations() []core.Operation[*Tx] {
	r := newResource("Listener", "listener", func(t *Tx) map[string]*listener { return t.Listeners }, (*Tx).listener)
	byBalancer := func(l *listener, ids []string) bool { return slices.Contains(ids, l.balancer.ID) }
	r.Filters = map[string]core.Filter[*listener]{"loadbalancer_id": byBalancer, "load_balancer_id": byBalancer}
	return append(childOperations[listener, listenerSettings](r, (*Tx).createListener),
		core.Read("ShowListenerStatistics", r.Path+"/{id}/stats", func(t *Tx) (any, error) {
			_, err := r.Get(t)
			return noTraffic(), err
		}))
}

func memberOperations() []core.Operation[*Tx] {
	r := core.Resource[*Tx, *member]{
		Name: "Member", Key: "member", Path: "lbaas/pools/{pool}/members", List: (*Tx).members, Get: (*Tx).member,
		Filters: map[string]core.Filter[*member]{},
	}
	return append(childOperations[member, memberSettings](r, (*Tx).createMember),
		core.Write("BatchUpdateMembers", http.MethodPut, r.Path, http.StatusAccepted, (*Tx).batchUpdate))
}

func monitorOperations() []core.Operation[*Tx] {
	r := newResource("HealthMonitor", "healthmonitor", func(t *Tx) map[string]*monitor { return t.Monitors },
		(*Tx).monitor)
	r.Filters = map[string]core.Filter[*monitor]{
		"pool_id": func(m *monitor, ids []string) bool { return slices.Contains(ids, m.pool.ID) }, "pools": nil,
	}
	return childOperations[monitor, monitorSettings](r, (*Tx).createMonitor)
}

func poolOperations() []core.Operation[*Tx] {
	r := newResource("Pool", "pool", func(t *Tx) map[string]*pool { return t.Pools }, (*Tx).pool)
	r.Refresh = func(_ *Tx, p *pool) { p.refresh() }
	r.Filters = map[string]core.Filter[*pool]{
		"loadbalancer_id": func(p *pool, ids []string) bool { return slices.Contains(ids, p.balancer.ID) }, "listeners": nil,
		"members": nil,
	}
	return childOperations[pool, poolSettings](r, (*Tx).createPool)
}

// placementOperations returns the reads of providers, flavors, availability zones and quotas.
func placementOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("ListProviders", "lbaas/providers", func(t *Tx) (any, error) {
			out := []any{}
			for _, p := range t.Options.Providers {
				out = append(out, map[string]string{"name": p, "description": "The " + p + " driver."})
			}
			return map[string]any{"providers": out, "providers_links": []any{}}, nil
		}),
		core.Read("ListLoadBalancerFlavors", "lbaas/flavors", func(t *Tx) (any, error) {
			return core.Listing[*LBFlavor]{Plural: "flavors"}.Response(t.Base(), core.BySeq(t.LBFlavors))
		}),
		core.Read("ShowLoadBalancerFlavor", "lbaas/flavors/{id}", func(t *Tx) (any, error) {
			f := t.LBFlavors[t.Call.Params["id"]]
			if f == nil {
				return nil, errMissing("Flavor", t.Call.Params["id"])
			}
			return map[string]any{"flavor": f}, nil
		}),
		core.Read("ListLoadBalancerAvailabilityZones", "lbaas/availabilityzones", func(t *Tx) (any, error) {
			zones := []*lbZone{}
			for _, name := range t.Options.Zones {
				zones = append(zones, &lbZone{Object: core.Object{ID: name}, Name: name, Enabled: true,
					Profile: core.FixedID(name)})
			}
			return core.Listing[*lbZone]{Plural: "availability_zones"}.Response(t.Base(), zones)
		}),
		core.Read("ShowLoadBalancerQuota", "lbaas/quotas/{id}", func(t *Tx) (any, error) {
			if !t.Call.May(t.Call.Params["id"]) {
				return nil, core.ErrPolicy()
			}
			out := map[string]int{"l7policy": -1, "l7rule": -1}
			for field, name := range map[string]string{
				"load_balancer": core.QuotaLoadBalancers, "listener": core.QuotaListeners, "pool": core.QuotaPools,
				"member": core.QuotaMembers, "health_monitor": core.QuotaHealthMonitors,
			} {
				out[field] = t.Options.Quotas[name]
			}
			return map[string]any{"quota": out}, nil
		}),
	}
}
