package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

// kindFloatingIP is the kind in plans.
const kindFloatingIP = observe.KindFloatingIP

// ownsFloatingIP reports whether a floating IP was created for a Service of this cluster. Our mark proves it.
// Other managers mark it only with the cluster's name, and two clusters may have the same name: without our
// mark, or if the cluster's UID is unknown, it is ours only at a load balancer of ours. If Neutron has no
// tags, the description is enough.
func (d *differ) ownsFloatingIP(f api.FloatingIP) bool {
	if !strings.HasPrefix(f.Description, names.FloatingIPMark) {
		return false
	}
	if uid := names.ClusterUID(f.Tags); uid != "" && d.key.ClusterUID != "" {
		return uid == d.key.ClusterUID
	}
	named := strings.HasSuffix(f.Description, " from cluster "+d.key.ClusterName)
	return named && (!d.supportsTags(f) || f.PortID != "" && f.PortID == d.home)
}

// canMark reports whether our mark can be set on a floating IP.
func (d *differ) canMark(f api.FloatingIP) bool { return d.key.ClusterUID != "" && d.supportsTags(f) }

// supportsTags reports whether tags of floating IPs can be written, as far as it is known.
func (d *differ) supportsTags(f api.FloatingIP) bool {
	return f.Tags != nil && !d.cloud.untagged.Load() && !d.have.TagsWait
}

// isKept reports whether a floating IP of ours outlives the Service: the Service decides. For a deleted
// Service without the annotation, the tag decides.
func (d *differ) isKept(f api.FloatingIP) bool {
	if keep := d.have.KeepFloatingIP; keep != nil {
		return *keep
	}
	return d.deleting && slices.Contains(f.Tags, names.KeepTag)
}

// attached are the floating IPs at the load balancer's port.
func (d *differ) attached(lb *api.LoadBalancer) []api.FloatingIP {
	var found []api.FloatingIP
	for _, f := range d.have.FloatingIPs {
		if lb != nil && f.PortID != "" && f.PortID == lb.VipPortID {
			found = append(found, f)
		}
	}
	return found
}

// orphanedFloatingIPs returns those that were created for a Service of this cluster and are not attached.
func (d *differ) orphanedFloatingIPs() []api.FloatingIP {
	var found []api.FloatingIP
	for _, f := range d.have.FloatingIPs {
		if f.PortID == "" && d.ownsFloatingIP(f) {
			found = append(found, f)
		}
	}
	return found
}

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

// diffFloatingIP plans the public address of a load balancer of this Service, or of one that we share as its
// owner. lb is nil for one that the plan creates; freed are those of its predecessor until the change named
// by after.
func (d *differ) diffFloatingIP(lb *api.LoadBalancer, freed []api.FloatingIP, after []plan.Ref) error {
	attached, free := d.attached(lb), append(d.orphanedFloatingIPs(), freed...)
	want := d.wantedFloatingIP(lb)
	d.warnFloatingIP(want)
	if want == nil {
		d.withoutFloatingIP(attached, free, freed, after)
		return nil
	}
	for _, f := range attached {
		if want.Address == "" || model.SameIP(f.FloatingIP, want.Address) {
			if change, ok := d.mark(f); ok {
				d.add(change)
			}
			d.releaseFloatingIPs(free, nil)
			return nil
		}
	}
	return d.attachFloatingIP(*want, attached, free, after)
}

// withoutFloatingIP plans for a load balancer that should have no floating IP: one that becomes internal loses those
// that are attached. Where no floating IP can be chosen, attached ones stay, also at a load balancer that replaces
// another.
func (d *differ) withoutFloatingIP(attached, free, freed []api.FloatingIP, after []plan.Ref) {
	switch {
	case d.want.Internal:
		for _, f := range attached {
			d.add(d.floatingIPRelease(f, "the load balancer becomes internal"))
		}
		d.releaseFloatingIPs(free, after)
	case len(attached) == 0 && len(freed) > 0:
		d.add(d.floatingIPAttach(freed[0], after))
	}
}

// attachFloatingIP plans the wanted floating IP in place of those that are attached: a free one, or a new one.
func (d *differ) attachFloatingIP(want model.FloatingIP, attached, free []api.FloatingIP, after []plan.Ref) error {
	use, err := d.pick(want, free)
	if err != nil {
		return err
	}
	if use == nil && len(attached) > 0 {
		d.exchangeFloatingIP(want, attached)
		d.releaseFloatingIPs(free, nil)
		return nil
	}
	for _, f := range attached {
		release := d.floatingIPRelease(f, "the Service asks for "+want.Address)
		d.add(release)
		after = append(after, release.Ref)
	}
	if use == nil {
		d.add(d.floatingIPCreate(want, after))
	} else {
		d.add(d.floatingIPAttach(*use, after))
	}
	d.releaseFloatingIPs(slices.DeleteFunc(free, func(f api.FloatingIP) bool { return use != nil && f.ID == use.ID }),
		after)
	return nil
}

// exchangeFloatingIP plans another floating IP in place of those that are attached. It is allocated before
// one is released: many users may not choose an address, and a rejection must not cost the working one.
func (d *differ) exchangeFloatingIP(want model.FloatingIP, attached []api.FloatingIP) {
	creation := d.floatingIPCreate(want, nil)
	handle, port := plan.Handle(creation.Ref.Name), d.have.LoadBalancer.VipPortID
	movesFloatingIP.Declare(&creation)
	creation.Do = func(ctx context.Context, ids *plan.Handles) error {
		made, err := d.cloud.allocateFloatingIP(ctx, want, "")
		if err := d.finish(err, func() { d.cloud.store.FloatingIPs.Put(made.ID, made) }); err != nil {
			return err
		}
		ids.Set(handle, made.ID)
		return d.retag(ctx, made, d.marks(made))
	}
	d.add(creation)
	after := []plan.Ref{creation.Ref}
	for _, f := range attached {
		release := d.floatingIPRelease(f, "the Service asks for "+want.Address)
		release.After = []plan.Ref{creation.Ref}
		d.add(release)
		after = append(after, release.Ref)
	}
	d.add(plan.Change{
		Ref:    d.ref(kindFloatingIP, d.want.Name, plan.Update, "attach"),
		Fields: []plan.Field{{Name: "load balancer", After: d.want.Name}},
		After:  after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			id, err := ids.ID(handle)
			if err != nil {
				return err
			}
			made, err := d.cloud.api.UpdateFloatingIP(ctx, id, floatingips.UpdateOpts{PortID: &port})
			return d.finish(err, func() { d.cloud.store.FloatingIPs.Put(made.ID, made) })
		},
	})
}

// pick returns an existing floating IP that can be used: an orphan of an interrupted creation or a replaced
// load balancer, or the one of the address that the Service names.
func (d *differ) pick(want model.FloatingIP, free []api.FloatingIP) (*api.FloatingIP, error) {
	for _, f := range free {
		if want.Address == "" || model.SameIP(f.FloatingIP, want.Address) {
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
		if f.PortID == "" {
			return &f, nil
		}
		problems := intent.Problems{Sources: d.want.Sources}
		problems.Addf(intent.KeyStaticAddresses, want.Address, "the floating IP %s has this address and is in use at port "+
			"%s: detach it there, or choose another", f.ID, f.PortID)
		return nil, problems.Err(d.plan.Subject)
	}
	return nil, nil
}

// warnFloatingIP warns about annotations for a floating IP that a load balancer with an IPv6 address cannot have, and
// about tags that cannot be written.
func (d *differ) warnFloatingIP(want *model.FloatingIP) {
	asked := d.want.FloatingIP
	if want == nil && asked != nil && len(asked.Explicit) > 0 {
		d.warnAs(events.LoadBalancerFloatingIPSkipped, "%s has no effect: the load balancer has an IPv6 address, for "+
			"which there "+
			"are no floating IPs; its own address is used", strings.Join(asked.Explicit, ", "))
	}
	if want != nil && d.have.TagsDenied {
		d.warnf("Neutron denies this manager the tags of floating IPs, so that the floating IP of the Service is " +
			"identified by its description alone: allow update_floatingips_tags in Neutron's policy")
	}
}

func (d *differ) releaseFloatingIPs(list []api.FloatingIP, after []plan.Ref) {
	for _, f := range list {
		if slices.Contains(f.Tags, names.KeepTag) || d.isKept(f) || !d.ownsFloatingIP(f) {
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
		return d.mark(f)
	}
	return d.floatingIPRelease(f, ""), true
}

// mark plans the tags of a floating IP that was created for the Service: its cluster, and whether it outlives
// the Service. It is false if they are up to date or cannot be written.
func (d *differ) mark(f api.FloatingIP) (plan.Change, bool) {
	want := d.marks(f)
	if !d.ownsFloatingIP(f) || plan.ShowSet(f.Tags) == plan.ShowSet(want) {
		return plan.Change{}, false
	}
	return plan.Change{
		Ref:    d.ref(kindFloatingIP, f.FloatingIP, plan.Update, "tags"),
		Fields: []plan.Field{{Name: "tags", Before: plan.ShowSet(f.Tags), After: plan.ShowSet(want)}},
		Mark:   true, Follows: []string{annotation.KeyKeepFloatingIP}, Retry: d.have.TagsDenied,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			if _, ok := d.cloud.store.FloatingIPs.Get(f.ID); !ok {
				return nil // the plan has released it
			}
			return d.retag(ctx, f, want)
		},
	}, true
}

// marks returns the desired tags of a floating IP that was created for the Service: ours, and existing ones
// of other clients.
func (d *differ) marks(f api.FloatingIP) []string {
	if !d.canMark(f) {
		return f.Tags
	}
	want := slices.DeleteFunc(slices.Clone(f.Tags), func(tag string) bool { return tag == names.KeepTag })
	if d.isKept(f) {
		want = append(want, names.KeepTag)
	}
	return tags.Add(want, []string{names.ClusterTag(d.key.ClusterUID)})
}

// retag adds and removes tags one by one, so that concurrent changes of other clients are kept.
func (d *differ) retag(ctx context.Context, f api.FloatingIP, want []string) error {
	var err error
	for _, tag := range want {
		if err == nil && !slices.Contains(f.Tags, tag) {
			err = d.cloud.api.AddTag(ctx, api.FloatingIPs, f.ID, tag)
		}
	}
	for _, tag := range f.Tags {
		if err == nil && !slices.Contains(want, tag) {
			err = cloudapi.IgnoreNotFound(d.cloud.api.RemoveTag(ctx, api.FloatingIPs, f.ID, tag))
		}
	}
	switch {
	case oserr.Status(err) == http.StatusNotFound && !cloudapi.Is(err, cloudapi.NotFound):
		// Neutron does not have the path: the extension is disabled.
		d.cloud.untagged.Store(true)
		return nil
	case cloudapi.Is(err, cloudapi.Denied):
		d.cloud.deniedTags.add() // warnFloatingIP reports it
		return nil
	}
	if err == nil {
		d.cloud.deniedTags.reset()
	}
	return d.finish(err, func() {
		if now, ok := d.cloud.store.FloatingIPs.Get(f.ID); ok {
			now.Tags = want
			d.cloud.store.FloatingIPs.Put(f.ID, now)
		}
	})
}

// floatingIPCreate allocates a public address, in the first subnet that has one.
func (d *differ) floatingIPCreate(want model.FloatingIP, after []plan.Ref) plan.Change {
	var f plan.Fields
	f.Diff("floating_network_id", "", want.NetworkID)
	f.Diff("floating_ip_address", "", want.Address)
	f.Diff("subnet", "", strings.TrimSpace(want.SubnetID+" "+want.SubnetPattern+" "+want.SubnetTags))
	return plan.Change{
		Ref: d.ref(kindFloatingIP, d.want.Name, plan.Create, ""), Fields: f, After: after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			port, err := d.vipPort(ids)
			if err != nil || port == "" {
				return err
			}
			made, err := d.cloud.allocateFloatingIP(ctx, want, port)
			if err := d.finish(err, func() { d.cloud.store.FloatingIPs.Put(made.ID, made) }); err != nil {
				return err
			}
			return d.retag(ctx, made, d.marks(made))
		},
	}
}

func (c *Cloud) allocateFloatingIP(ctx context.Context, want model.FloatingIP, port string) (api.FloatingIP, error) {
	if want.NetworkID == "" {
		network, err := observe.FindExternal(ctx, c.api)
		if err != nil {
			return api.FloatingIP{}, err
		}
		if network == "" {
			return api.FloatingIP{}, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "choosing a network for the floating " +
				"IP",
				Err: fmt.Errorf("there is no external network: name one in %s", annotation.KeyFloatingNetworkID)}
		}
		want.NetworkID = network
	}
	subnets := []string{want.SubnetID}
	if want.Address == "" {
		var err error
		if subnets, err = observe.FloatingSubnets(ctx, c.api, want); err != nil {
			return api.FloatingIP{}, err
		}
	}
	var failed []error
	for _, subnet := range subnets {
		made, err := c.api.CreateFloatingIP(ctx, floatingips.CreateOpts{
			FloatingNetworkID: want.NetworkID, SubnetID: subnet, FloatingIP: want.Address, PortID: port,
			Description: want.Description,
		})
		if err == nil {
			return made, nil
		}
		failed = append(failed, err)
		if cloudapi.Is(err, cloudapi.Denied) {
			break // a permission does not depend on the subnet
		}
	}
	err := errors.Join(failed...)
	if kind := oserr.Kind(err); kind == "NetworkNotFound" || kind == "ExternalGatewayForFloatingIPNotFound" ||
		kind == "BadRequest" {
		// Neutron returns the same error for a network that does not exist, one that is not external, and one
		// without a router.
		err = &cloudapi.Error{Class: cloudapi.Invalid, Operation: "making a floating IP",
			Err: fmt.Errorf("%w; name in %s an external network that a router connects with the load balancer's subnet", err,
				annotation.KeyFloatingNetworkID)}
	}
	return api.FloatingIP{}, err
}

func (d *differ) floatingIPAttach(f api.FloatingIP, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    d.ref(kindFloatingIP, f.FloatingIP, plan.Update, "attach"),
		Fields: []plan.Field{{Name: "load balancer", After: d.want.Name}},
		After:  after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			port, err := d.vipPort(ids)
			if err != nil || port == "" {
				return err
			}
			made, err := d.cloud.api.UpdateFloatingIP(ctx, f.ID, floatingips.UpdateOpts{PortID: &port})
			if err := d.finish(err, func() { d.cloud.store.FloatingIPs.Put(made.ID, made) }); err != nil {
				return err
			}
			if !slices.Contains(made.Tags, names.KeepTag) {
				return nil
			}
			return d.retag(ctx, made, d.marks(made))
		},
	}
}

// floatingIPRelease deletes a floating IP, or detaches one that was not created by us or is to be kept.
func (d *differ) floatingIPRelease(f api.FloatingIP, reason string) plan.Change {
	change := d.floatingIPRemoval(f, reason)
	if f.PortID != "" {
		movesFloatingIP.Declare(&change)
	}
	return change
}

// floatingIPRemoval is floatingIPRelease without what it disrupts.
func (d *differ) floatingIPRemoval(f api.FloatingIP, reason string) plan.Change {
	if ours := d.ownsFloatingIP(f); !ours || d.isKept(f) {
		return plan.Change{
			Ref:    d.ref(kindFloatingIP, f.FloatingIP, plan.Update, "detach"),
			Reason: reason + "; it is kept", Follows: movesFloatingIP.Follows(),
			Fields: []plan.Field{{Name: "port", Before: f.PortID}},
			Do: func(ctx context.Context, _ *plan.Handles) error {
				if ours {
					if err := d.retag(ctx, f, d.marks(f)); err != nil {
						return err
					}
				}
				made, err := d.cloud.api.UpdateFloatingIP(ctx, f.ID, floatingips.UpdateOpts{PortID: ptr.To("")})
				return d.finish(err, func() { d.cloud.store.FloatingIPs.Put(made.ID, made) })
			},
		}
	}
	return plan.Change{
		Ref:    d.ref(kindFloatingIP, f.FloatingIP, plan.Delete, f.ID),
		ID:     f.ID,
		Reason: reason, Follows: movesFloatingIP.Follows(),
		Do: func(ctx context.Context, _ *plan.Handles) error {
			err := cloudapi.IgnoreNotFound(d.cloud.api.DeleteFloatingIP(ctx, f.ID))
			return d.finish(err, func() { d.cloud.store.FloatingIPs.Delete(f.ID) })
		},
	}
}

// vipPort returns the port of the load balancer's address. It is "" for an IPv6 address, whose family is
// known only after the creation: there is no floating IP for it.
func (d *differ) vipPort(ids *plan.Handles) (string, error) {
	id, err := d.loadBalancerID(ids)
	if err != nil {
		return "", err
	}
	lb, ok := d.cloud.store.LoadBalancer(id)
	if !ok || lb.VipPortID == "" {
		return "", &cloudapi.Error{Class: cloudapi.Conflict, Operation: "load balancer " + id,
			Err: errors.New("it has no port yet")}
	}
	if model.FamilyOf(lb.VipAddress) == v1.IPv6Protocol {
		return "", nil
	}
	return lb.VipPortID, nil
}
