package diff

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/steps"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// wantedFloatingIP returns the desired floating IP of a load balancer; nil for none. Without a load balancer
// it returns that of a new one. The family of the address decides: only IPv4 has floating IPs.
func (d *differ) wantedFloatingIP(lb *api.LoadBalancer) *model.FloatingIP {
	family := d.want.Families[0]
	if lb != nil && lb.VipAddress != "" {
		family = model.FamilyOf(lb.VipAddress)
	}
	if family != v1.IPv4Protocol {
		return nil
	}
	return d.want.FloatingIP
}

// diffFloatingIP plans the public address of a load balancer that this Service owns. lb is nil for one that the plan
// creates; freed are the floating IPs of the one that it replaces, which the changes in after detach.
func (d *differ) diffFloatingIP(lb *api.LoadBalancer, freed []api.FloatingIP, after []plan.Ref) error {
	attached := d.attachedFloatingIPs(lb)
	if lb == nil {
		attached = d.floatingIPsOfPort(len(freed) == 0)
	}
	served := d.servedFloatingIPs(attached, withoutFloatingIPs(freed, attached))
	d.awaited = idsOf(withoutFloatingIPs(served, attached))
	// What serves goes before what an interruption left.
	free := withoutFloatingIPs(served, attached)
	free = append(free, withoutFloatingIPs(d.orphanedFloatingIPs(), free)...)
	if kept := filter(served, d.keepsFloatingIP); len(kept) > 0 {
		d.ensureKeptFloatingIPs(kept, len(attached) > 0, after)
		return nil
	}
	want := d.wantedFloatingIP(lb)
	d.warnFloatingIP(want)
	if want == nil {
		d.ensureNoFloatingIP(attached, free, freed, after)
		return nil
	}
	for _, f := range attached {
		if want.Address == "" || model.SameIP(f.FloatingIP, want.Address) {
			if change, ok := d.floatingIPMark(f); ok {
				d.add(change)
			}
			d.releaseFloatingIPs(withoutFloatingIPs(free, served), after)
			d.releaseSucceeded(*want, withoutFloatingIPs(served, []api.FloatingIP{f}), after)
			return nil
		}
	}
	if len(attached) > 0 {
		return d.exchangeFloatingIP(*want, attached, free, after)
	}
	return d.attachFloatingIP(*want, served, free, after)
}

// floatingIPsOfPort returns the floating IPs of the port that a new load balancer gets, if a user has created it: it
// outlives load balancers with what is attached to it. One that is not known to be the Service's is used if any is
// wanted, and otherwise left alone.
func (d *differ) floatingIPsOfPort(hasNone bool) []api.FloatingIP {
	port, want := d.creationPlace().PortID, d.wantedFloatingIP(nil)
	var list []api.FloatingIP
	for _, f := range d.have.Project {
		isWanted := want != nil && (hasNone && want.Address == "" || model.SameIP(f.FloatingIP, want.Address))
		if port != "" && f.PortID == port && (isWanted || d.ownsFloatingIP(f) || d.key.HasAddress(f.FloatingIP)) {
			list = append(list, f)
		}
	}
	sorting.Func(list, func(a, b api.FloatingIP) int { return cmp.Compare(a.ID, b.ID) })
	return d.rankFloatingIPs(list)
}

// withoutFloatingIPs returns the floating IPs of a list that are not in another one.
func withoutFloatingIPs(list, other []api.FloatingIP) []api.FloatingIP {
	return filter(list, func(f api.FloatingIP) bool { return !containsFloatingIP(other, f) })
}

func idsOf(list []api.FloatingIP) []string {
	var ids []string
	for _, f := range list {
		ids = append(ids, f.ID)
	}
	return ids
}

func containsFloatingIP(list []api.FloatingIP, f api.FloatingIP) bool {
	return slices.ContainsFunc(list, func(other api.FloatingIP) bool { return other.ID == f.ID })
}

// servedFloatingIPs returns the floating IPs that serve the Service, or that served it last: those of the load balancer
// that the plan replaces, or, after an interruption, the one with the address in the Service's status. A user may have
// allocated any of them. That of another Service, which kept it, serves this one only by its name.
func (d *differ) servedFloatingIPs(attached, freed []api.FloatingIP) []api.FloatingIP {
	if served := slices.Concat(attached, freed); len(served) > 0 {
		return served
	}
	for _, f := range d.have.Project {
		isNamed := d.want.FloatingIP != nil && model.SameIP(f.FloatingIP, d.want.FloatingIP.Address) && !d.isOfOther(f)
		if f.PortID == "" && d.key.HasAddress(f.FloatingIP) && (isNamed || !d.isForOther(f)) {
			return []api.FloatingIP{f}
		}
	}
	return nil
}

// keepsFloatingIP reports whether the release of a floating IP is held.
func (d *differ) keepsFloatingIP(f api.FloatingIP) bool {
	return d.keeps(kindFloatingIP, f.FloatingIP, "floating_ip_address")
}

// ensureKeptFloatingIPs plans the marks of floating IPs that stay, also at a load balancer that replaces another.
func (d *differ) ensureKeptFloatingIPs(kept []api.FloatingIP, attached bool, after []plan.Ref) {
	var attachments []plan.Ref
	for _, f := range kept {
		change, ok := d.floatingIPMark(f)
		switch {
		case !attached:
			change = d.floatingIPAttach(f, nil, after)
			attachments = append(attachments, change.Ref)
			d.add(change)
		case ok:
			d.add(change)
		}
	}
	d.releaseFloatingIPs(d.orphanedFloatingIPs(), attachments)
}

// ensureNoFloatingIP plans for a load balancer that should have no floating IP: one that becomes internal loses those
// that are attached, unless its replacement is refused. Where no floating IP can be chosen, attached ones stay, also at
// a load balancer that replaces another.
func (d *differ) ensureNoFloatingIP(attached, free, freed []api.FloatingIP, after []plan.Ref) {
	switch {
	case d.want.Internal:
		for _, f := range attached {
			release := d.floatingIPRelease(f, "the load balancer becomes internal")
			release.After = slices.Concat(release.After, after, d.refused)
			d.add(release)
		}
		d.releaseFloatingIPs(free, after)
	case len(attached) == 0:
		for _, f := range freed {
			d.add(d.floatingIPAttach(f, nil, after))
		}
	}
}

// releaseSucceeded plans for floating IPs that are left beside the wanted one by an interrupted exchange: Neutron
// attaches one of each external network. Those that a user has attached in addition stay.
func (d *differ) releaseSucceeded(want model.FloatingIP, others []api.FloatingIP, after []plan.Ref) {
	for _, f := range others {
		if want.Address != "" && (d.ownsFloatingIP(f) || d.key.HasAddress(f.FloatingIP)) {
			d.add(d.floatingIPSucceeded(f, want, after))
		}
	}
}

// attachFloatingIP plans the wanted floating IP, a free one or a new one, where none is attached. If it is refused, the
// one that served last serves again.
func (d *differ) attachFloatingIP(want model.FloatingIP, served, free []api.FloatingIP, after []plan.Ref) error {
	chosen, err := d.chooseFloatingIP(want, free)
	switch {
	case err == nil:
	case d.have.LoadBalancer == nil:
		return err
	case len(served) > 0:
		d.add(d.floatingIPAttach(served[0], nil, nil))
		d.keepFloatingIP(served[0], err)
		return nil
	default:
		d.refuseFloatingIP(err)
		return nil
	}
	var change plan.Change
	if chosen == nil {
		change = d.floatingIPCreate(want, after)
	} else {
		change = d.floatingIPAttach(*chosen, served, after)
	}
	if len(served) > 0 && (chosen == nil || chosen.ID != served[0].ID) {
		change.Step = floatingIPSuccession{change.Step, floatingIPAttachment{d, served[0], d.loadBalancer(), nil}}
	}
	d.add(change)
	d.releaseOthers(want, chosen, served, free, change.Ref)
	for _, f := range d.freed {
		if !d.givesWay(f, want, chosen, served) {
			d.add(d.floatingIPAttach(f, nil, after))
		}
	}
	return nil
}

// exchangeFloatingIP plans the wanted floating IP in place of those that are attached: a free one, or a new one. It is
// allocated before one is detached, and attached before one is deleted: many users may not choose an address, and a
// rejection must not cost the working one.
func (d *differ) exchangeFloatingIP(want model.FloatingIP, attached, free []api.FloatingIP, after []plan.Ref) error {
	chosen, err := d.chooseFloatingIP(want, free)
	if err != nil {
		d.keepFloatingIP(attached[0], err)
		return nil
	}
	var change plan.Change
	if chosen != nil {
		change = d.floatingIPAttach(*chosen, attached, after)
	} else {
		creation := d.floatingIPCreate(want, after)
		handle := plan.Handle(creation.Ref.Name)
		creation.Step = floatingIPAllocation{differ: d, want: want, handle: handle}
		d.add(creation)
		change = plan.Change{
			Ref:    d.ref(kindFloatingIP, d.want.Name, plan.Update, "attach"),
			Fields: []plan.Field{{Name: "load balancer", After: d.want.Name}},
			After:  []plan.Ref{creation.Ref},
			Step:   steps.CreatedAttachment{FloatingIP: handle, LoadBalancer: d.loadBalancer(), Attached: attached},
		}
	}
	d.add(change)
	d.releaseOthers(want, chosen, attached, free, change.Ref)
	return nil
}

// releaseOthers plans the release of what served, and of orphans, once the wanted floating IP is attached: that may be
// refused.
func (d *differ) releaseOthers(want model.FloatingIP, chosen *api.FloatingIP, served, free []api.FloatingIP,
	attachment plan.Ref) {
	for _, f := range served {
		if want.Address != "" && (chosen == nil || f.ID != chosen.ID) && d.givesWay(f, want, chosen, served) {
			d.add(d.floatingIPSucceeded(f, want, []plan.Ref{attachment}))
		}
	}
	d.releaseFloatingIPs(filter(withoutFloatingIPs(free, served), func(f api.FloatingIP) bool {
		return chosen == nil || f.ID != chosen.ID
	}), []plan.Ref{attachment})
}

// givesWay reports whether a floating IP that serves is the chosen one, or ends with it: Neutron attaches one of each
// external network, and those that a user has attached in addition stay.
func (d *differ) givesWay(f api.FloatingIP, want model.FloatingIP, chosen *api.FloatingIP,
	served []api.FloatingIP) bool {
	network := want.NetworkID
	if chosen != nil {
		network = chosen.FloatingNetworkID
	}
	return len(served) == 1 || f.FloatingNetworkID == network ||
		want.Address != "" && (d.ownsFloatingIP(f) || d.key.HasAddress(f.FloatingIP))
}

// floatingIPSucceeded releases a floating IP that gives way to the one that the Service requests.
func (d *differ) floatingIPSucceeded(f api.FloatingIP, want model.FloatingIP, after []plan.Ref) plan.Change {
	release := d.floatingIPRelease(f, "the Service requests "+want.Address)
	release.After = after
	return release
}

// keepFloatingIP warns that a load balancer keeps a floating IP, because of an error of the one that is requested.
func (d *differ) keepFloatingIP(kept api.FloatingIP, err error) {
	d.plan.Unapplied = append(d.plan.Unapplied, d.want.Sources.FieldOf(intent.KeyStaticAddresses))
	d.warnf("the load balancer keeps the floating IP %s: %v", kept.FloatingIP, err)
}

// refuseFloatingIP plans for an existing load balancer without a floating IP that cannot get the requested one, because
// of an error. The Service has no address: a change fails once all others are applied.
func (d *differ) refuseFloatingIP(err error) {
	d.last = append(d.last, plan.Change{
		Ref: d.ref(kindFloatingIP, d.want.Name, plan.Update, "attach"), Reason: err.Error(),
		Fields: []plan.Field{{Name: "load balancer", After: d.want.Name}},
		Step:   refusal{err},
	})
}

// chooseFloatingIP returns an existing floating IP that can be used: an orphan of an interrupted creation or a replaced
// load balancer, or the one of the address that the Service names.
func (d *differ) chooseFloatingIP(want model.FloatingIP, free []api.FloatingIP) (*api.FloatingIP, error) {
	for _, f := range free {
		if !f.Forwards && (want.Address == "" || model.SameIP(f.FloatingIP, want.Address)) {
			return &f, nil
		}
	}
	if want.Address == "" {
		return nil, nil
	}
	for _, f := range d.have.Project {
		if !model.SameIP(f.FloatingIP, want.Address) {
			continue
		}
		problems := intent.Problems{Sources: d.want.Sources}
		other, cluster, _ := names.ParseFloatingIPDescription(f.Description)
		switch {
		case f.PortID != "":
			problems.Addf(intent.KeyStaticAddresses, want.Address, "the floating IP %s has this address and is in use at port "+
				"%s: detach it there, or choose another", f.ID, f.PortID)
		case f.Forwards:
			problems.Addf(intent.KeyStaticAddresses, want.Address, "the floating IP %s has this address and forwards ports: "+
				"delete its port forwardings, or choose another", f.ID)
		case d.isOfOther(f):
			problems.Addf(intent.KeyStaticAddresses, want.Address, "the floating IP %s has this address and is the Service "+
				"%s's of the cluster %s: set %s to \"true\" there before you delete that Service, choose another, or remove the "+
				"tag %s from it if that cluster is gone", f.ID, other, cluster, annotation.KeyKeepFloatingIP,
				names.ClusterTag(names.ClusterUID(f.Tags)))
		default:
			return &f, nil
		}
		return nil, problems.Err(d.plan.Subject)
	}
	return nil, nil
}

// warnFloatingIP warns about annotations for a floating IP that a load balancer with an IPv6 address cannot have, and
// about tags that cannot be written.
func (d *differ) warnFloatingIP(want *model.FloatingIP) {
	requested := d.want.FloatingIP
	if want == nil && requested != nil && len(requested.Explicit) > 0 {
		d.warnWithReason(events.LoadBalancerFloatingIPSkipped, "%s has no effect: the load balancer has an IPv6 address, "+
			"for which there are no floating IPs; its own address is used", strings.Join(requested.Explicit, ", "))
	}
	if want != nil && d.have.TagsDenied {
		d.warnf("Neutron denies this manager the tags of floating IPs, so that the floating IP of the Service is " +
			"identified by its description alone: allow update_floatingips_tags in Neutron's policy")
	}
}

func (d *differ) releaseFloatingIPs(list []api.FloatingIP, after []plan.Ref) {
	for _, f := range list {
		if slices.Contains(f.Tags, names.KeepTag) || d.isKept(f) || !d.ownsFloatingIP(f) || d.keepsFloatingIP(f) ||
			f.Forwards {
			continue
		}
		change := d.floatingIPRelease(f, "no Service uses it")
		change.After = after
		d.add(change)
	}
}

// releaseAtDeletion plans the deletion of a floating IP whose load balancer is about to be deleted. One that outlives
// the Service gets a tag, so that no other Service of the same name releases it. It is false if nothing has to change.
func (d *differ) releaseAtDeletion(f api.FloatingIP) (plan.Change, bool) {
	switch {
	case !d.ownsFloatingIP(f):
		return plan.Change{}, false
	case d.isKept(f):
		return d.floatingIPMark(f)
	}
	return d.floatingIPRelease(f, ""), true
}
