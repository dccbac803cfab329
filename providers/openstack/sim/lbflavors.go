package sim

// lbFlavor is one of Octavia's flavors.
type lbFlavor struct {
	object
	Name        string `json:"name"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
	Profile     string `json:"flavor_profile_id"`
}

type lbZone struct {
	object
	Name        string `json:"name"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
	Profile     string `json:"availability_zone_profile_id"`
}

// choiceOperations list what a load balancer can be made with.
func choiceOperations() []operation {
	return []operation{
		read("ListProviders", "lbaas/providers", func(t *tx) (any, error) {
			out := []any{}
			for _, p := range t.o.Providers {
				out = append(out, map[string]string{"name": p, "description": "The " + p + " driver."})
			}
			return map[string]any{"providers": out, "providers_links": []any{}}, nil
		}),
		read("ListLoadBalancerFlavors", "lbaas/flavors", func(t *tx) (any, error) {
			return listing[*lbFlavor]{plural: "flavors"}.answer(t, bySeq(t.lbFlavors))
		}),
		read("ShowLoadBalancerFlavor", "lbaas/flavors/{id}", func(t *tx) (any, error) {
			f := t.lbFlavors[t.call.params["id"]]
			if f == nil {
				return nil, errMissing("Flavor", t.call.params["id"])
			}
			return map[string]any{"flavor": f}, nil
		}),
		read("ListLoadBalancerAvailabilityZones", "lbaas/availabilityzones", func(t *tx) (any, error) {
			zones := []*lbZone{}
			for i, name := range t.o.Zones {
				zones = append(zones, &lbZone{object: object{ID: name, seq: i}, Name: name, Enabled: true, Profile: roleID(name)})
			}
			return listing[*lbZone]{plural: "availability_zones"}.answer(t, zones)
		}),
		read("ShowLoadBalancerQuota", "lbaas/quotas/{id}", func(t *tx) (any, error) {
			if !t.call.may(t.call.params["id"]) {
				return nil, errPolicy()
			}
			out := map[string]int{"l7policy": -1, "l7rule": -1}
			for shown, name := range map[string]string{
				"load_balancer": QuotaLoadBalancers, "listener": QuotaListeners, "pool": QuotaPools, "member": QuotaMembers,
				"health_monitor": QuotaHealthMonitors,
			} {
				out[shown] = t.o.Quotas[name]
			}
			return map[string]any{"quota": out}, nil
		}),
	}
}
