package classic

import "github.com/unified-ccm/unified-ccm/pkg/common/plan"

// DiffMembers returns the changes of instances alone. Problems of the request's options are ignored.
func (c *Cloud) DiffMembers(r Request, have Observed) []plan.Change {
	d := &differ{cloud: c, key: r.Key, name: Name(r.Key), have: have}
	if have.Balancer == nil || d.foreignOwner(*have.Balancer) != "" {
		return nil
	}
	d.want.Instances = filterRegistrable(r.Instances, r.Shared.Instances)
	d.diffInstances(have.Balancer.Instances)
	return d.plan.Changes
}
