package diff

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/apply"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/members"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// loadBalancerCreate creates the load balancer with everything in it, and waits until it is ACTIVE.
func (d *differ) loadBalancerCreate(after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    d.ref(kindLoadBalancer, d.want.Name, plan.Create, ""),
		Fields: d.createFields(),
		After:  after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			spec, err := d.createSpec(ctx)
			if err != nil {
				return err
			}
			created, err := d.write.CreateLoadBalancer(ctx, spec)
			if err != nil {
				return d.addAnnotations(err, spec)
			}
			ids.Set(loadBalancerHandle, created.ID)
			return nil
		},
		Ready: func(ctx context.Context, ids *plan.Handles) error {
			id, err := ids.ID(loadBalancerHandle)
			if err != nil {
				return err
			}
			return d.write.AwaitCreation(ctx, id, d.want)
		},
	}
}

// addAnnotations adds the annotations for the place and properties of the load balancer to an error.
func (d *differ) addAnnotations(err error, spec loadbalancers.CreateOpts) error {
	if !cloudapi.Is(err, cloudapi.Invalid) {
		return err
	}
	explicit := d.want.LoadBalancer.Explicit
	var suspects []string
	for _, setting := range []struct {
		explicit   bool
		key, value string
	}{
		{explicit.Flavor, annotation.KeyFlavorID, spec.FlavorID},
		{explicit.Zone, annotation.KeyAvailabilityZone, spec.AvailabilityZone},
		{explicit.Port, annotation.KeyPortID, spec.VipPortID}, {explicit.Subnet, annotation.KeySubnetID, spec.VipSubnetID},
		{explicit.Network, annotation.KeyNetworkID, spec.VipNetworkID},
	} {
		if setting.explicit && setting.value != "" {
			suspects = append(suspects, fmt.Sprintf("%s is %q", d.want.Sources.FieldOf(setting.key), setting.value))
		}
	}
	if len(suspects) == 0 {
		return err
	}
	return fmt.Errorf("%w; %s: write one that exists, or remove the annotation", err, strings.Join(suspects, ", "))
}

// creationPlace returns the place of a new load balancer. One that replaces a load balancer in the state ERROR gets its
// address.
func (d *differ) creationPlace() model.LoadBalancer {
	place := d.want.LoadBalancer
	if old := d.replaced; old != nil && place.PortID == "" && place.Address == "" && d.immutableDifference(*old) == "" {
		place.Address, place.SubnetID, place.NetworkID = old.VipAddress, old.VipSubnetID, ""
	}
	return place
}

// createSpec returns the options of a creation. It first checks conditions that would block the load
// balancer's floating IP.
func (d *differ) createSpec(ctx context.Context) (loadbalancers.CreateOpts, error) {
	if f := d.wantedFloatingIP(nil); f != nil && f.NetworkID != "" && f.Address == "" {
		if err := d.write.CheckFloatingIP(ctx, *f); err != nil {
			return loadbalancers.CreateOpts{}, err
		}
	}
	place := d.creationPlace()
	spec := loadbalancers.CreateOpts{
		Name: d.want.Name, Description: place.Description, Provider: place.Provider, VipAddress: place.Address,
		VipPortID: place.PortID, VipSubnetID: place.SubnetID, VipNetworkID: place.NetworkID, FlavorID: place.FlavorID,
		AvailabilityZone: place.Zone,
	}
	if d.want.Features.Tags() {
		spec.Tags = d.creationTags()
	}
	families := d.want.Families[:1]
	if len(d.want.Families) > 1 && d.want.Features.AdditionalVIPs() && place.PortID == "" {
		subnet, err := place.NamedSubnetID, error(nil)
		if subnet == "" {
			subnet, err = d.write.SecondSubnet(ctx, place, d.want.Families[1])
		}
		if err != nil {
			return spec, err
		}
		if subnet != "" {
			spec.AdditionalVips = []api.VIP{{SubnetID: subnet}}
			families = d.want.Families
		}
	}
	if err := d.checkContainers(ctx); err != nil || d.want.Serial {
		return spec, err
	}
	spec.Listeners = d.listenerSpecs(families)
	return spec, nil
}

// checkContainers returns an error if the container of a listener's certificate cannot be read.
func (d *differ) checkContainers(ctx context.Context) error {
	checked := map[string]bool{}
	for _, port := range d.want.Ports {
		ref := port.Listener.DefaultTlsContainerRef
		if checked[ref] {
			continue
		}
		checked[ref] = true
		if err := d.write.CheckContainer(ctx, ref); err != nil {
			return err
		}
	}
	return nil
}

// listenerSpecs returns the listeners of a creation with their pools, members and health monitors.
func (d *differ) listenerSpecs(families []v1.IPFamily) []listeners.CreateOpts {
	specs := make([]listeners.CreateOpts, 0, len(d.want.Ports))
	for _, port := range d.want.Ports {
		listener, pool := port.Listener, port.Pool
		listener.Tags, pool.Tags = d.listenerTags(nil, port), d.poolTags(nil, port)
		listener.AllowedCIDRs = model.FilterFamilies(listener.AllowedCIDRs, families)
		for _, m := range port.Members {
			pool.Members = append(pool.Members, m.CreateOpts())
		}
		if port.Monitor != nil {
			pool.Monitor = *port.Monitor
		}
		listener.DefaultPool = &pool
		specs = append(specs, listener)
	}
	return specs
}

func (d *differ) createFields() plan.Fields {
	var f plan.Fields
	place := d.creationPlace()
	f.Diff("provider", "", place.Provider)
	f.Diff("vip_subnet_id", "", place.SubnetID)
	f.Diff("vip_network_id", "", place.NetworkID)
	f.Diff("vip_port_id", "", place.PortID)
	f.Diff("vip_address", "", place.Address)
	f.Diff("flavor_id", "", place.FlavorID)
	f.Diff("availability_zone", "", place.Zone)
	f.Diff("tags", "", plan.ShowSet(d.creationTags()))
	for _, port := range d.want.Ports {
		shown := plan.ShowMembers(members.Format(port.Members))
		if f.Diff(fmt.Sprintf("listener %s %d", port.Transport, port.Number), "", shown) {
			f[len(f)-1].Membership = true
		}
	}
	return f
}

// loadBalancerUpdate updates tags and name, or waits for a load balancer that is still being created. It
// returns false if nothing has to change.
func (d *differ) loadBalancerUpdate(have api.LoadBalancer) (plan.Change, bool) {
	var f plan.Fields
	var patch loadbalancers.UpdateOpts
	var retag func([]string) []string
	if tags.Diff(&f, have.Tags, d.serviceTags(have.Tags)) {
		retag = d.serviceTags
	}
	if d.want.Features.Tags() && d.key.Renamed(have) && f.Diff("name", have.Name, d.want.Name) {
		patch.Name, patch.Description = &d.want.Name, &d.want.LoadBalancer.Description
	}
	reason := ""
	if len(f) == 0 {
		if have.ProvisioningStatus != api.PendingCreate {
			return plan.Change{}, false
		}
		reason = "it is still being created"
		f.Diff("provisioning_status", have.ProvisioningStatus, api.Active)
	}
	change := plan.Change{
		Ref:    d.ref(kindLoadBalancer, have.Name, plan.Update, have.ID),
		Fields: f, Reason: reason,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			if reason != "" {
				return d.write.AwaitLoadBalancer(ctx, have.ID)
			}
			return d.write.UpdateLoadBalancer(ctx, have, patch, retag)
		},
	}
	if d.owner && !d.changesGuests(have) { // the tag of a Service that shares the load balancer counts it
		change = markTags(change)
	}
	return change, true
}

// untag removes this Service's tag from a load balancer that stays. If other Services leave at the same time,
// the last one deletes it.
func (d *differ) untag(have api.LoadBalancer, after []plan.Ref) plan.Change {
	ownTag := names.ServiceTag(d.key.LoadBalancer())
	retag := func(have []string) []string {
		// An empty list is sent, nil is not.
		return slices.DeleteFunc(append([]string{}, have...), func(tag string) bool { return tag == ownTag })
	}
	return plan.Change{
		Ref:    d.ref(kindLoadBalancer, have.Name, plan.Update, have.ID),
		ID:     observe.TagID(have.ID, ownTag),
		Fields: []plan.Field{{Name: "tags", Before: plan.ShowSet(have.Tags), After: plan.ShowSet(retag(have.Tags))}},
		After:  after,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return d.write.Leave(ctx, have, apply.LeaveOptions{
				IsLast:  func(lb api.LoadBalancer) bool { return d.isOfCluster(lb) && len(d.key.Guests(lb)) == 0 },
				Release: d.release, Retag: retag,
			})
		},
	}
}

// replaceReason returns why an existing load balancer cannot become the desired one, or "". It returns an
// error if the load balancer must not be replaced, because others use it.
func (d *differ) replaceReason(lb api.LoadBalancer) (string, error) {
	reason := cmp.Or(unusableReason(lb), d.immutableDifference(lb))
	if reason == "" {
		return "", nil
	}
	if lb.ProvisioningStatus == api.PendingDelete {
		return reason, nil
	}
	guests := d.key.Guests(lb)
	switch {
	case d.owner && len(guests) == 0:
		return reason, nil
	case lb.ProvisioningStatus == api.Error:
		return "", &cloudapi.Error{Class: cloudapi.Unavailable, Operation: d.plan.Subject,
			Err: fmt.Errorf("the load balancer %s is in the state ERROR, and is not this Service's alone: ask the cloud's "+
				"operator for a failover, or move the Services %s to others", lb.ID, strings.Join(guests, ", "))}
	case d.owner:
		d.warnf("%s; it is not replaced, because other Services share the load balancer: %s", reason,
			strings.Join(guests, ", "))
	}
	return "", nil
}

// declareReplacement declares the disruption by the replacement of a load balancer. There is none if the load balancer
// is being deleted, or if its creation failed.
func (d *differ) declareReplacement(lb api.LoadBalancer, removal *plan.Change) {
	switch {
	case lb.ProvisioningStatus == api.PendingDelete, lb.ProvisioningStatus == api.Error && d.creationFailed(lb):
	default:
		removal.Fields = d.immutableDifferences(lb)
		if len(removal.Fields) > 0 {
			replaces.Declare(removal)
		}
		if lb.ProvisioningStatus == api.Error {
			removal.Fields = append(plan.Fields{{Name: "id", Before: lb.ID, After: "another, after " + failureTime(lb)}},
				removal.Fields...)
			replacesFailed.Declare(removal)
		}
	}
}

// unusableReason describes the state of a load balancer that cannot leave it, or returns "".
func unusableReason(lb api.LoadBalancer) string {
	switch lb.ProvisioningStatus {
	case api.PendingDelete:
		return "it is being deleted"
	case api.Error:
		return "it is in the state ERROR, which it cannot leave"
	}
	return ""
}

// loadBalancerDelete deletes the load balancer with everything in it, and waits until it is deleted.
func (d *differ) loadBalancerDelete(have api.LoadBalancer, reason string) plan.Change {
	listeners, pools := d.have.Listeners, d.have.Pools
	return plan.Change{
		Ref:    d.ref(kindLoadBalancer, have.Name, plan.Delete, have.ID),
		ID:     have.ID,
		Reason: reason,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return d.write.DeleteLoadBalancer(ctx, have, listeners, pools)
		},
	}
}

// release releases the floating IPs of a load balancer, right before it is deleted.
func (d *differ) release(ctx context.Context, lb api.LoadBalancer) error {
	for _, f := range d.attachedFloatingIPs(&lb) {
		change, ok := d.releaseAtDeletion(f)
		if !ok {
			continue
		}
		if err := change.Do(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}
