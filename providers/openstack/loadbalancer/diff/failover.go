package diff

import (
	"slices"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/steps"
)

// A load balancer in the state ERROR may still forward traffic, and Octavia changes nothing of it, including
// its members. A failover builds it again with its address and all its parts. Only if Octavia denies it, as
// it does by default to all but administrators, another load balancer replaces it, with its address if that
// is still free. Either needs an approval.

// needsFailover reports whether a load balancer needs a failover that Octavia has not refused. One that Octavia has
// failed to delete needs none: its successor has the causes of the deletion.
func (d *differ) needsFailover(lb api.LoadBalancer) bool {
	refused := d.have.FailoverRefused || d.want.FailoverRefused == lb.ID
	return lb.ProvisioningStatus == api.Error && d.owner && !d.creationFailed(lb) && !refused && !d.have.Abandoned
}

// creationFailed reports whether the creation of a load balancer of this manager failed: its ID and its address are
// written on the Service only after it has worked. Tools that apply manifests may remove the ID, but not the status.
// One that replaces another has the address of that one from the beginning.
func (d *differ) creationFailed(lb api.LoadBalancer) bool {
	return d.have.Unbuilt || !model.StoredRecord(lb).IsZero() && d.key.Named != lb.ID && !d.hasServed(lb)
}

// hasServed reports whether the Service's status shows that a load balancer has worked: it has one of its addresses, or
// a host name.
func (d *differ) hasServed(lb api.LoadBalancer) bool {
	addresses := []string{lb.VipAddress}
	for _, f := range d.attachedFloatingIPs(&lb) {
		addresses = append(addresses, f.FloatingIP)
	}
	return slices.ContainsFunc(addresses, d.key.HasAddress) ||
		slices.ContainsFunc(d.key.Addresses, func(a string) bool { return model.FamilyOf(a) == "" })
}

// failureTime identifies one failure of a load balancer: an approval holds for that one only.
func failureTime(lb api.LoadBalancer) string { return lb.UpdatedAt.Format(time.RFC3339) }

// requestFailover requests that Octavia builds a load balancer again.
func (d *differ) requestFailover(have api.LoadBalancer) plan.Change {
	change := plan.Change{
		Ref: d.ref(kindLoadBalancer, have.Name, plan.Update, "failover"),
		Fields: []plan.Field{{Name: "provisioning_status", Before: have.ProvisioningStatus,
			After: api.Active + " after " + failureTime(have)}},
		Reason: "the load balancer is in the state ERROR: requesting a failover",
		Step:   steps.Failover(have.ID),
	}
	kinds.FailsOver.Declare(&change)
	return change
}
