package loadbalancer

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// keep returns the desired objects with the existing values of some differences.
func keep(want Desired, have Observed, held []plan.Difference) Desired {
	if have.LoadBalancer == nil {
		return want
	}
	lb, d := *have.LoadBalancer, differ{have: have}
	existing := []api.LoadBalancerSpec{d.existing(lb)}
	want.LoadBalancer = rows.Keep(&balancerKind, []api.LoadBalancerSpec{want.LoadBalancer}, existing, held)[0]
	if slices.ContainsFunc(held, keepsAddresses) {
		want.Addresses = addressSpecs(want, have)
	}
	want.Listeners = withoutPorts(want.Listeners, lb.Listeners, held)
	want.Listeners = rows.Keep(&listenerKind, want.Listeners, lb.Listeners, held)
	want.Pools = withPools(want.Pools, want.Listeners, lb.Pools)
	return want
}

// keepsAddresses reports whether the load balancer keeps its addresses while a difference is held.
func keepsAddresses(d plan.Difference) bool {
	return d.Kind == kindAddress || d.Field == fieldAddresses || d.Field == fieldScheme
}

// withoutPorts returns the wanted listeners without those that have the port of one whose deletion is held.
func withoutPorts(want, have []api.Listener, held []plan.Difference) []api.Listener {
	return slices.DeleteFunc(slices.Clone(want), func(w api.Listener) bool {
		return slices.ContainsFunc(have, func(h api.Listener) bool {
			return samePort(w, h) && plan.Difference{Kind: kindListener, Object: h.Name}.IsIn(held)
		})
	})
}

// withPools returns the wanted pools with those of listeners that are kept.
func withPools(want []api.Pool, listeners []api.Listener, have []api.Pool) []api.Pool {
	want = slices.Clone(want)
	for _, pool := range have {
		named := func(p api.Pool) bool { return p.Name == pool.Name }
		used := slices.ContainsFunc(listeners, func(l api.Listener) bool { return l.Pool == pool.Name })
		if used && !slices.ContainsFunc(want, named) {
			want = append(want, pool)
		}
	}
	return want
}

// addressSpecs returns the addresses that a load balancer has as desired ones. It has no other address of a family.
func addressSpecs(want Desired, have Observed) []api.AddressSpec {
	var specs []api.AddressSpec
	for _, a := range have.Addresses {
		if slices.Contains(have.LoadBalancer.AddressIDs, a.ID) {
			specs = append(specs, api.AddressSpec{
				Name: a.Name, Family: a.Family, IP: a.IP, Cluster: want.LoadBalancer.Cluster, Tags: want.LoadBalancer.Tags,
			})
		}
	}
	return specs
}
