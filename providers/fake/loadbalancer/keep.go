package loadbalancer

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// keep returns the desired objects with the existing values of some differences.
func keep(want Desired, have Observed, differences []plan.Difference) Desired {
	if have.LoadBalancer == nil {
		return want
	}
	lb := *have.LoadBalancer
	want.Listeners, want.Pools = slices.Clone(want.Listeners), slices.Clone(want.Pools)
	for _, d := range differences {
		switch {
		case d.Kind == kindListener && d.Field == fieldSourceRanges:
			keepSourceRanges(&want, lb, d.Object)
		case d.Kind == kindListener:
			keepListener(&want, lb, d.Object)
		case d.Kind == kindAddress || d.Field == fieldAddresses:
			want.Addresses = addressSpecs(want, have)
		case d.Field == fieldScheme:
			want.LoadBalancer.Scheme, want.Addresses = lb.Scheme, addressSpecs(want, have)
		case d.Field == fieldFamilies:
			want.LoadBalancer.Families = familiesOf(lb.Addresses)
		}
	}
	return want
}

// keepSourceRanges keeps the source ranges of a listener.
func keepSourceRanges(want *Desired, lb api.LoadBalancer, name string) {
	for i, listener := range want.Listeners {
		k := slices.IndexFunc(lb.Listeners, func(l api.Listener) bool { return l.Name == listener.Name })
		if listener.Name == name && k >= 0 {
			want.Listeners[i].SourceRanges = lb.Listeners[k].SourceRanges
		}
	}
}

// keepListener keeps a listener that is not wanted, with its pool. No other one gets its port.
func keepListener(want *Desired, lb api.LoadBalancer, name string) {
	i := slices.IndexFunc(lb.Listeners, func(l api.Listener) bool { return l.Name == name })
	if i < 0 {
		return
	}
	kept := lb.Listeners[i]
	want.Listeners = slices.DeleteFunc(want.Listeners, func(l api.Listener) bool {
		return l.Name == name || samePort(l, kept)
	})
	want.Listeners = append(want.Listeners, kept)
	wanted := func(p api.Pool) bool { return p.Name == kept.Pool }
	k := slices.IndexFunc(lb.Pools, wanted)
	if k >= 0 && !slices.ContainsFunc(want.Pools, wanted) {
		want.Pools = append(want.Pools, lb.Pools[k])
	}
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
