package loadbalancer

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
)

// The kinds of objects in plans. Members are a separate kind, because only they change when nodes join and leave.
const (
	kindService    = "load balancer service"
	kindAllocation = "IP allocation"
	kindServer     = "virtual server"
	kindPool       = "pool"
	kindMembers    = "members"
	kindMonitor    = "monitor"
	kindGroup      = "group"
)

// addressHandle is the address of the load balancer in a plan before it is allocated.
const addressHandle plan.Handle = "address"

// differ builds one plan.
type differ struct {
	config config.LoadBalancing
	owner  owner
	want   Desired
	have   Observed
	plan   plan.Plan
}

func (d *differ) name() string { return balancerName(d.owner.key) }

// portObjectName returns the name of a port's object in plans and in the inventory.
func portObjectName(balancer, port string) string { return balancer + " " + port }

// monitorPort is the port in the name of a monitor: a port may have monitors of several types.
func monitorPort(port, resourceType string) string { return port + " " + resourceType }

// unused returns a reference that no change of the plan has yet, with the ID of the object if necessary.
func (d *differ) unused(ref plan.Ref, id string) plan.Ref {
	for slices.ContainsFunc(d.plan.Changes, func(c plan.Change) bool { return c.Ref == ref }) {
		ref.Name += " " + id
	}
	return ref
}
