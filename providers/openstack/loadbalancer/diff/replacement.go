package diff

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
)

// checkReplacement returns an error if no other load balancer can be created now in place of an existing one, which
// then stays. The error never has the class NotFound: that of a deletion means that its object is gone.
func (d *differ) checkReplacement(ctx context.Context, w Writer, lb api.LoadBalancer) error {
	err := d.checkCreation(ctx, w, lb)
	if cloudapi.Is(err, cloudapi.NotFound) {
		return &cloudapi.Error{Class: cloudapi.Invalid, Operation: d.plan.Subject, Err: err}
	}
	return err
}

func (d *differ) checkCreation(ctx context.Context, w Writer, lb api.LoadBalancer) error {
	if err := w.CheckCreationBackoff(lb, d.want); err != nil {
		return err
	}
	problem, err := w.CheckPlace(ctx, d.creationPlace(), lb)
	if err != nil {
		return err
	}
	if problem.Key != "" {
		return problem.Err(d.plan.Subject, d.want)
	}
	if err := d.checkFloatingIP(ctx, w); err != nil {
		return err
	}
	return d.checkContainers(ctx, w)
}

// deleteChangedListeners plans the deletion of the listeners that are not the same in the load balancer that replaces
// this one: what that disrupts is no part of what the replacement does.
func (d *differ) deleteChangedListeners(lb api.LoadBalancer) []plan.Ref {
	var deleted []plan.Ref
	if lb.ProvisioningStatus == api.Error || lb.ProvisioningStatus == api.PendingDelete {
		return nil
	}
	for _, l := range filter(d.have.Listeners, d.ownsListener) {
		i := slices.IndexFunc(d.want.Ports, func(p model.Port) bool { return portKey(p) == listenerKey(l) })
		var change plan.Change
		switch {
		case i < 0:
			change = d.listenerDelete(l, "the Service has no such port", nil)
		case len(d.listenerDisruptions(l, d.want.Ports[i])) > 0:
			change = d.listenerReplacement(l, d.want.Ports[i], nil)
		default:
			continue
		}
		change.Step = checkedDeletion{d, lb, change.Step}
		d.add(change)
		deleted = append(deleted, change.Ref)
	}
	return deleted
}

// checkedDeletion deletes a listener of a load balancer that is replaced, unless no other one can be created now.
type checkedDeletion struct {
	*differ
	lb   api.LoadBalancer
	step any
}

// Do implements plan.Step.
func (s checkedDeletion) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	if err := s.checkReplacement(ctx, w, s.lb); err != nil {
		return err
	}
	return doStep(ctx, w, ids, s.step)
}

// replacementDeletion deletes a load balancer that another one replaces, unless that cannot be created now. It first
// marks the floating IPs, so that they are found if the replacement is interrupted. One that another client deletes
// meanwhile needs no mark: its absence must not count as that of the load balancer.
type replacementDeletion struct {
	*differ
	loadBalancerDeletion
}

// Do implements plan.Step.
func (s replacementDeletion) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	if err := s.checkReplacement(ctx, w, s.lb); err != nil {
		return err
	}
	for _, f := range s.freed {
		if change, ok := s.floatingIPMark(f); ok {
			if err := cloudapi.IgnoreNotFound(doStep(ctx, w, ids, change.Step)); err != nil {
				return err
			}
		}
	}
	if s.lb.ProvisioningStatus == api.PendingDelete {
		w.ReserveReplaced(s.lb)
		return s.loadBalancerDeletion.Do(ctx, w, ids)
	}
	err := w.DeleteLoadBalancer(ctx, s.lb, s.listeners, s.pools, s.checkUnshared)
	if err == nil && s.creationPlace().PortID == s.lb.VipPortID {
		return w.ReadFloatingIPs(ctx) // A port that a user has created keeps them.
	}
	return err
}

// checkUnshared returns an error about a load balancer that another Service shares since the plan of its replacement.
func (d *differ) checkUnshared(lb api.LoadBalancer) error {
	guests := d.key.Guests(lb)
	if len(guests) == 0 {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Conflict, Operation: d.plan.Subject,
		Err: fmt.Errorf("the load balancer %s is not replaced: other Services share it now: %s", lb.ID,
			strings.Join(guests, ", "))}
}
