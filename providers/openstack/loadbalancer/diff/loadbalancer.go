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
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/members"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/steps"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// loadBalancerCreate creates the load balancer with everything in it, and waits until it is ACTIVE.
func (d *differ) loadBalancerCreate(after []plan.Ref) plan.Change {
	place := d.creationPlace()
	change := kinds.LoadBalancers.Create(&kinds.LoadBalancer{
		Object: d.want.Name, Provider: place.Provider, Port: place.PortID, Subnet: place.SubnetID, Network: place.NetworkID,
		Flavor: place.FlavorID, Zone: place.Zone, Address: place.Address, Tags: d.creationTags(),
	})
	for _, port := range d.want.Ports {
		if shown := plan.ShowMembers(members.Format(port.Members)); shown != "" {
			change.Fields = append(change.Fields, plan.Field{After: shown, Membership: true,
				Name: fmt.Sprintf("listener %s %d", port.Transport, port.Number)})
		}
	}
	change.Ref = d.ref(kindLoadBalancer, d.want.Name, plan.Create, "")
	change.After, change.Step = after, loadBalancerCreation{d}
	return change
}

// loadBalancerCreation creates the load balancer of a plan.
type loadBalancerCreation struct{ *differ }

var _ plan.WaitingStep[Writer] = loadBalancerCreation{}

// Do implements plan.Step.
func (s loadBalancerCreation) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	spec, err := s.createSpec(ctx, w)
	if err != nil {
		return err
	}
	w.Reserve(s.awaited...)
	created, err := w.CreateLoadBalancer(ctx, spec)
	if err != nil {
		return s.addAnnotations(err, spec)
	}
	ids.Set(loadBalancerHandle, created.ID)
	return nil
}

// Ready implements plan.WaitingStep.
func (s loadBalancerCreation) Ready(ctx context.Context, w Writer, ids *plan.Handles) error {
	id, err := ids.ID(loadBalancerHandle)
	if err != nil {
		return err
	}
	return w.AwaitCreation(ctx, id, s.want)
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

// checkFloatingIP returns an error if a new load balancer needs a new floating IP that cannot be allocated.
func (d *differ) checkFloatingIP(ctx context.Context, w Writer) error {
	f := d.wantedFloatingIP(nil)
	if f == nil || f.NetworkID == "" || f.Address != "" || len(d.freed)+len(d.orphanedFloatingIPs()) > 0 {
		return nil
	}
	return w.CheckFloatingIP(ctx, *f)
}

// createSpec returns the options of a creation. It first checks conditions that would block the load
// balancer's floating IP.
func (d *differ) createSpec(ctx context.Context, w Writer) (loadbalancers.CreateOpts, error) {
	if err := d.checkFloatingIP(ctx, w); err != nil {
		return loadbalancers.CreateOpts{}, err
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
			subnet, err = w.SecondSubnet(ctx, place, d.want.Families[1])
		}
		if err != nil {
			return spec, err
		}
		if subnet != "" {
			spec.AdditionalVips = []api.VIP{{SubnetID: subnet}}
			families = d.want.Families
		}
	}
	if err := d.checkContainers(ctx, w); err != nil || d.want.Serial {
		return spec, err
	}
	spec.Listeners = d.listenerSpecs(families)
	return spec, nil
}

// checkContainers returns an error if the container of a listener's certificate cannot be read.
func (d *differ) checkContainers(ctx context.Context, w Writer) error {
	checked := map[string]bool{}
	for _, port := range d.want.Ports {
		ref := port.Listener.DefaultTlsContainerRef
		if checked[ref] {
			continue
		}
		checked[ref] = true
		if err := w.CheckContainer(ctx, ref); err != nil {
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

// loadBalancerUpdate updates tags and name, or waits for a load balancer that is still being created. It
// returns false if nothing has to change.
func (d *differ) loadBalancerUpdate(have api.LoadBalancer) (plan.Change, bool) {
	existing := kinds.LoadBalancer{Object: have.Name, Tags: have.Tags}
	want := kinds.LoadBalancer{Object: have.Name, Tags: d.serviceTags(have.Tags)}
	if d.want.Features.Tags() && d.key.Renamed(have) {
		existing.NewName, want.NewName = have.Name, d.want.Name
	}
	change, differ := kinds.LoadBalancers.Update(&existing, &want)
	if !differ {
		return d.loadBalancerAwait(have)
	}
	var patch loadbalancers.UpdateOpts
	kinds.LoadBalancers.Set(&patch, &want, change.Fields)
	if patch.Name != nil {
		patch.Description = &d.want.LoadBalancer.Description
	}
	change.Ref = d.ref(kindLoadBalancer, have.Name, plan.Update, have.ID)
	// The tag of a Service that shares the load balancer counts it.
	change.Mark = change.Mark && d.owner && !d.changesGuests(have)
	change.Step = loadBalancerUpdate{d, have, patch, plan.Fields(change.Fields).Has(kinds.FieldTags)}
	return change, true
}

// loadBalancerUpdate changes settings of a load balancer, and its tags to those of the Service with tags.
type loadBalancerUpdate struct {
	*differ
	have  api.LoadBalancer
	patch loadbalancers.UpdateOpts
	tags  bool
}

// Do implements plan.Step.
func (s loadBalancerUpdate) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	if !s.tags {
		return w.UpdateLoadBalancer(ctx, s.have, s.patch, nil)
	}
	return w.UpdateLoadBalancer(ctx, s.have, s.patch, s.serviceTags)
}

// loadBalancerAwait waits for a load balancer that is still being created. It returns false for another one.
func (d *differ) loadBalancerAwait(have api.LoadBalancer) (plan.Change, bool) {
	if have.ProvisioningStatus != api.PendingCreate {
		return plan.Change{}, false
	}
	return plan.Change{
		Ref:    d.ref(kindLoadBalancer, have.Name, plan.Update, have.ID),
		Fields: []plan.Field{{Name: "provisioning_status", Before: have.ProvisioningStatus, After: api.Active}},
		Reason: "it is still being created", Step: steps.CreationWait(have.ID),
	}, true
}

// untag removes this Service's tag from a load balancer that stays. If other Services leave at the same time,
// the last one deletes it.
func (d *differ) untag(have api.LoadBalancer, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref: d.ref(kindLoadBalancer, have.Name, plan.Update, have.ID),
		ID:  observe.TagID(have.ID, names.ServiceTag(d.key.LoadBalancer())),
		Fields: []plan.Field{{Name: kinds.FieldTags, Before: plan.ShowSet(have.Tags),
			After: plan.ShowSet(d.withoutServiceTag(have.Tags))}},
		After: after, Step: loadBalancerLeave{d, have},
	}
}

// withoutServiceTag returns tags without that of the Service.
func (d *differ) withoutServiceTag(have []string) []string {
	own := names.ServiceTag(d.key.LoadBalancer())
	// An empty list is sent, nil is not.
	return slices.DeleteFunc(append([]string{}, have...), func(tag string) bool { return tag == own })
}

// loadBalancerLeave ends the use of a load balancer by a Service.
type loadBalancerLeave struct {
	*differ
	lb api.LoadBalancer
}

// Do implements plan.Step.
func (s loadBalancerLeave) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.Leave(ctx, s.lb, LeaveOptions{
		IsLast:  func(lb api.LoadBalancer) bool { return s.isOfCluster(lb) && len(s.key.Guests(lb)) == 0 },
		Release: func(ctx context.Context, lb api.LoadBalancer) error { return s.release(ctx, w, lb) },
		Retag:   s.withoutServiceTag,
	})
}

// release releases the floating IPs of a load balancer, right before it is deleted.
func (d *differ) release(ctx context.Context, w Writer, lb api.LoadBalancer) error {
	for _, f := range d.attachedFloatingIPs(&lb) {
		change, ok := d.releaseAtDeletion(f)
		if !ok {
			continue
		}
		if err := doStep(ctx, w, nil, change.Step); err != nil {
			return err
		}
	}
	return nil
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
// is being deleted, also if that has failed, or if its creation failed.
func (d *differ) declareReplacement(lb api.LoadBalancer, removal *plan.Change) {
	switch {
	case lb.ProvisioningStatus == api.PendingDelete:
	case lb.ProvisioningStatus == api.Error && (d.creationFailed(lb) || d.have.Abandoned):
	default:
		replacement := d.placeReplacement(lb)
		removal.Fields, removal.Disrupts = replacement.Fields, replacement.Disrupts
		if lb.ProvisioningStatus == api.Error {
			removal.Fields = append(plan.Fields{{Name: "id", Before: lb.ID, After: "another, after " + failureTime(lb)}},
				removal.Fields...)
			kinds.ReplacesFailed.Declare(removal)
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
	change := kinds.LoadBalancers.Delete(&kinds.LoadBalancer{Object: have.Name})
	change.Ref, change.ID, change.Reason = d.ref(kindLoadBalancer, have.Name, plan.Delete, have.ID), have.ID, reason
	change.Step = d.loadBalancerDeletion(have)
	return change
}

func (d *differ) loadBalancerDeletion(lb api.LoadBalancer) loadBalancerDeletion {
	return loadBalancerDeletion{lb, d.have.Listeners, d.have.Pools}
}

// loadBalancerDeletion deletes a load balancer with everything in it.
type loadBalancerDeletion struct {
	lb        api.LoadBalancer
	listeners []api.Listener
	pools     []observe.Pool
}

// Do implements plan.Step.
func (s loadBalancerDeletion) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.DeleteLoadBalancer(ctx, s.lb, s.listeners, s.pools, nil)
}
