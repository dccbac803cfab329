package octavia

import (
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// LBFlavor is one of Octavia's flavors.
type LBFlavor struct {
	core.Object
	Name        string `json:"name"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
	Profile     string `json:"flavor_profile_id"`
}

type lbZone struct {
	core.Object
	Name        string `json:"name"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
	Profile     string `json:"availability_zone_profile_id"`
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
