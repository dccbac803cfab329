package classic

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// DiffMembers returns the changes of instances alone. Problems of the request's options are ignored. Instances of a
// zone without a subnet join with its subnet, which Diff plans: until then they would receive no traffic.
func (c *Cloud) DiffMembers(r Request, have Observed) []plan.Change {
	d := &differ{scope: c.scope(r.Key), have: have}
	if have.Balancer == nil || d.foreignOwner(*have.Balancer) != "" {
		return nil
	}
	d.want.Instances, d.want.Unread = filterRegistrable(r.Instances, r.Shared.Instances), r.unread()
	b := have.Balancer
	zones, subnets := r.Shared.ZonesOfInstances(d.want.Instances), r.Shared.ZonesOfSubnets()
	d.diffInstances(b.Instances, slices.DeleteFunc(difference(d.want.Instances, b.Instances), func(id string) bool {
		known := zones[id] != "" && !hasZone(b.Subnets, subnets, "")
		return known && !hasZone(b.Subnets, subnets, zones[id])
	}))
	return d.plan.Changes
}
