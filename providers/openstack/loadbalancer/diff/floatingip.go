package diff

import (
	"context"
	"errors"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// canTag reports whether the cluster's mark can be set on a floating IP.
func (d *differ) canTag(f api.FloatingIP) bool { return d.key.ClusterUID != "" && d.supportsTags(f) }

// isKept reports whether a floating IP of this cluster outlives the Service that it was allocated for: the annotation
// of that Service decides. For a deleted Service without the annotation, and for another Service, the tag decides.
func (d *differ) isKept(f api.FloatingIP) bool {
	service, _, _ := names.ParseFloatingIPDescription(f.Description)
	tagged, own := slices.Contains(f.Tags, names.KeepTag), service == d.key.Service().String()
	if keep := d.have.KeepFloatingIP; keep != nil && own {
		return *keep
	}
	return tagged && (d.deleting || !own)
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

// diffFloatingIP plans the public address of a load balancer that this Service owns. lb is nil for one that the plan
// creates; freed are the floating IPs of the one that it replaces, which the changes in after detach.
func (d *differ) diffFloatingIP(lb *api.LoadBalancer, freed []api.FloatingIP, after []plan.Ref) error {
	attached, free := d.attachedFloatingIPs(lb), append(d.orphanedFloatingIPs(), freed...)
	if kept := filter(append(slices.Clone(attached), freed...), d.keepsFloatingIP); len(kept) > 0 {
		d.ensureKeptFloatingIPs(kept, after)
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
			d.releaseFloatingIPs(free, nil)
			return nil
		}
	}
	return d.attachFloatingIP(*want, attached, free, after)
}

// keepsFloatingIP reports whether the release of a floating IP is held.
func (d *differ) keepsFloatingIP(f api.FloatingIP) bool {
	return d.keeps(kindFloatingIP, f.FloatingIP, "floating_ip_address")
}

// ensureKeptFloatingIPs plans the marks of floating IPs that stay, also at a load balancer that replaces another.
func (d *differ) ensureKeptFloatingIPs(kept []api.FloatingIP, after []plan.Ref) {
	for _, f := range kept {
		change, ok := d.floatingIPMark(f)
		switch {
		case len(after) > 0:
			d.add(d.floatingIPAttach(f, after))
		case ok:
			d.add(change)
		}
	}
	d.releaseFloatingIPs(d.orphanedFloatingIPs(), after)
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
	case len(attached) == 0 && len(freed) > 0:
		d.add(d.floatingIPAttach(freed[0], after))
	}
}

// attachFloatingIP plans the wanted floating IP in place of those that are attached: a free one, or a new one.
func (d *differ) attachFloatingIP(want model.FloatingIP, attached, free []api.FloatingIP, after []plan.Ref) error {
	chosen, err := d.chooseFloatingIP(want, free)
	switch {
	case err == nil:
	case d.have.LoadBalancer == nil:
		return err
	default:
		d.keepFloatingIP(attached, err)
		return nil
	}
	others := filter(free, func(f api.FloatingIP) bool { return chosen == nil || f.ID != chosen.ID })
	if len(attached) > 0 {
		d.exchangeFloatingIP(want, attached, chosen)
		d.releaseFloatingIPs(others, nil)
		return nil
	}
	if chosen == nil {
		d.add(d.floatingIPCreate(want, after))
	} else {
		d.add(d.floatingIPAttach(*chosen, after))
	}
	d.releaseFloatingIPs(others, after)
	return nil
}

// keepFloatingIP plans for an existing load balancer that cannot get the requested floating IP, because of an error: it
// keeps the one that it has. Without one the Service has no address: then a change fails once all others are applied.
func (d *differ) keepFloatingIP(attached []api.FloatingIP, err error) {
	if len(attached) > 0 {
		d.plan.Unapplied = append(d.plan.Unapplied, d.want.Sources.FieldOf(intent.KeyStaticAddresses))
		d.warnf("the load balancer keeps the floating IP %s: %v", attached[0].FloatingIP, err)
		return
	}
	d.last = append(d.last, plan.Change{
		Ref: d.ref(kindFloatingIP, d.want.Name, plan.Update, "attach"), Reason: err.Error(),
		Fields: []plan.Field{{Name: "load balancer", After: d.want.Name}},
		Step:   refusal{err},
	})
}

// refusal fails with an error.
type refusal struct{ err error }

// Do implements plan.Step.
func (s refusal) Do(context.Context, Writer, *plan.Handles) error { return s.err }

// exchangeFloatingIP plans another floating IP in place of those that are attached: chosen, or a new one. It is
// allocated before one is detached, and attached before one is deleted: many users may not choose an address, and a
// rejection must not cost the working one.
func (d *differ) exchangeFloatingIP(want model.FloatingIP, attached []api.FloatingIP, chosen *api.FloatingIP) {
	exchange := floatingIPExchange{attached: attached, port: d.have.LoadBalancer.VipPortID}
	var change plan.Change
	var created []plan.Ref
	if chosen != nil {
		change = d.floatingIPAttach(*chosen, nil)
		exchange.attachment = change.Step
	} else {
		creation := d.floatingIPCreate(want, nil)
		handle := plan.Handle(creation.Ref.Name)
		creation.Step = floatingIPAllocation{differ: d, want: want, handle: handle}
		d.add(creation)
		created = []plan.Ref{creation.Ref}
		change = plan.Change{
			Ref:    d.ref(kindFloatingIP, d.want.Name, plan.Update, "attach"),
			Fields: []plan.Field{{Name: "load balancer", After: d.want.Name}},
		}
		exchange.attachment = createdAttachment{handle, exchange.port}
	}
	change.After = created
	for _, f := range attached {
		release := d.floatingIPRelease(f, "the Service requests "+want.Address)
		if release.Action == plan.Delete {
			exchange.detached = append(exchange.detached, f)
			release.After = []plan.Ref{change.Ref}
		} else {
			release.After = created
			change.After = append(slices.Clone(change.After), release.Ref)
		}
		d.add(release)
	}
	change.Step = exchange
	d.add(change)
}

// floatingIPExchange attaches a floating IP to a port, in place of others. If that is refused, the port gets its own
// again.
type floatingIPExchange struct {
	// detached are those of attached that no other change detaches.
	attached, detached []api.FloatingIP
	port               string
	attachment         any
}

// Do implements plan.Step.
func (s floatingIPExchange) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	for _, f := range s.detached {
		if _, err := w.AttachFloatingIP(ctx, f.ID, ""); err != nil {
			return err
		}
	}
	err := doStep(ctx, w, ids, s.attachment)
	if err == nil {
		return nil
	}
	_, back := w.AttachFloatingIP(ctx, s.attached[0].ID, s.port)
	return errors.Join(err, back)
}

// createdAttachment attaches a floating IP that the plan has created.
type createdAttachment struct {
	floatingIP plan.Handle
	port       string
}

// Do implements plan.Step.
func (s createdAttachment) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	id, err := ids.ID(s.floatingIP)
	if err != nil {
		return err
	}
	_, err = w.AttachFloatingIP(ctx, id, s.port)
	return err
}

// chooseFloatingIP returns an existing floating IP that can be used: an orphan of an interrupted creation or a replaced
// load balancer, or the one of the address that the Service names.
func (d *differ) chooseFloatingIP(want model.FloatingIP, free []api.FloatingIP) (*api.FloatingIP, error) {
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
		if slices.Contains(f.Tags, names.KeepTag) || d.isKept(f) || !d.ownsFloatingIP(f) || d.keepsFloatingIP(f) {
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

// floatingIPMark plans the tags of a floating IP that was created for the Service: its cluster, and whether it outlives
// the Service. It is false if they are up to date or cannot be written.
func (d *differ) floatingIPMark(f api.FloatingIP) (plan.Change, bool) {
	want := d.floatingIPTags(f)
	if !d.ownsFloatingIP(f) || plan.ShowSet(f.Tags) == plan.ShowSet(want) {
		return plan.Change{}, false
	}
	return plan.Change{
		Ref:    d.ref(kindFloatingIP, f.FloatingIP, plan.Update, "tags"),
		Fields: []plan.Field{{Name: "tags", Before: plan.ShowSet(f.Tags), After: plan.ShowSet(want)}},
		Mark:   true, Retry: d.have.TagsDenied,
		Step: floatingIPTagging{f, want},
	}, true
}

// floatingIPTagging sets the tags of a floating IP, unless the plan has released it.
type floatingIPTagging struct {
	floatingIP api.FloatingIP
	want       []string
}

// Do implements plan.Step.
func (s floatingIPTagging) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	if !w.HasFloatingIP(s.floatingIP.ID) {
		return nil
	}
	return w.TagFloatingIP(ctx, s.floatingIP, s.want)
}

// floatingIPTags returns the desired tags of a floating IP that was created for the Service: those of this manager,
// and existing ones of other clients.
func (d *differ) floatingIPTags(f api.FloatingIP) []string {
	if !d.canTag(f) {
		return f.Tags
	}
	want := slices.DeleteFunc(slices.Clone(f.Tags), func(tag string) bool { return tag == names.KeepTag })
	if d.isKept(f) {
		want = append(want, names.KeepTag)
	}
	return tags.Add(want, []string{names.ClusterTag(d.key.ClusterUID)})
}

// floatingIPCreate allocates a public address, in the first subnet that has one.
func (d *differ) floatingIPCreate(want model.FloatingIP, after []plan.Ref) plan.Change {
	var f plan.Fields
	f.Diff("floating_network_id", "", want.NetworkID)
	f.Diff("floating_ip_address", "", want.Address)
	f.Diff("subnet", "", strings.TrimSpace(want.SubnetID+" "+want.SubnetPattern+" "+want.SubnetTags))
	return plan.Change{
		Ref: d.ref(kindFloatingIP, d.want.Name, plan.Create, ""), Fields: f, After: after,
		Step: floatingIPAllocation{differ: d, want: want, lb: ptr.To(d.loadBalancer())},
	}
}

// floatingIPAllocation allocates a floating IP for a load balancer; without one, it stores the ID under a handle.
type floatingIPAllocation struct {
	*differ
	want   model.FloatingIP
	lb     *reference
	handle plan.Handle
}

// Do implements plan.Step.
func (s floatingIPAllocation) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	port := ""
	if s.lb != nil {
		var err error
		if port, err = vipPort(w, ids, *s.lb); err != nil || port == "" {
			return err
		}
	}
	created, err := w.AllocateFloatingIP(ctx, s.want, port)
	if err != nil {
		return err
	}
	if s.lb == nil {
		ids.Set(s.handle, created.ID)
	}
	return w.TagFloatingIP(ctx, created, s.floatingIPTags(created))
}

func (d *differ) floatingIPAttach(f api.FloatingIP, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    d.ref(kindFloatingIP, f.FloatingIP, plan.Update, "attach"),
		Fields: []plan.Field{{Name: "load balancer", After: d.want.Name}},
		After:  after,
		Step:   floatingIPAttachment{d, f, d.loadBalancer()},
	}
}

// floatingIPAttachment attaches a floating IP to a load balancer.
type floatingIPAttachment struct {
	*differ
	floatingIP api.FloatingIP
	lb         reference
}

// Do implements plan.Step.
func (s floatingIPAttachment) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	port, err := vipPort(w, ids, s.lb)
	if err != nil || port == "" {
		return err
	}
	attached, err := w.AttachFloatingIP(ctx, s.floatingIP.ID, port)
	if err != nil {
		return err
	}
	if want := s.floatingIPTags(s.floatingIP); s.ownsFloatingIP(s.floatingIP) && !slices.Equal(want, attached.Tags) {
		return w.TagFloatingIP(ctx, attached, want)
	}
	return nil
}

// floatingIPRelease deletes a floating IP, or detaches one that was not allocated for this Service or is to be kept.
// The deletion of one that is not attached costs its address as well: a user may have exchanged it for a while.
func (d *differ) floatingIPRelease(f api.FloatingIP, reason string) plan.Change {
	change := d.floatingIPRemoval(f, reason)
	if !d.deleting {
		change.Fields = append(change.Fields, plan.Field{Name: "floating_ip_address", Before: f.FloatingIP})
		if want := d.want.FloatingIP; want != nil {
			change.Fields[len(change.Fields)-1].After = want.Address
		}
		change.Key = f.FloatingIP
		kinds.MovesFloatingIP.Declare(&change)
	}
	return change
}

// floatingIPRemoval is floatingIPRelease without the disruption.
func (d *differ) floatingIPRemoval(f api.FloatingIP, reason string) plan.Change {
	if owned := d.ownsFloatingIP(f); !owned || d.isKept(f) {
		return plan.Change{
			Ref:    d.ref(kindFloatingIP, f.FloatingIP, plan.Update, "detach"),
			Reason: reason + "; it is kept",
			Fields: []plan.Field{{Name: "port", Before: f.PortID}},
			Step:   floatingIPDetachment{d, f, owned},
		}
	}
	return plan.Change{
		Ref:    d.ref(kindFloatingIP, f.FloatingIP, plan.Delete, f.ID),
		ID:     f.ID,
		Reason: reason,
		Step:   floatingIPDeletion(f.ID),
	}
}

// floatingIPDetachment detaches a floating IP, and sets the tags of one that this manager has allocated.
type floatingIPDetachment struct {
	*differ
	floatingIP api.FloatingIP
	owned      bool
}

// Do implements plan.Step.
func (s floatingIPDetachment) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	if s.owned {
		if err := w.TagFloatingIP(ctx, s.floatingIP, s.floatingIPTags(s.floatingIP)); err != nil {
			return err
		}
	}
	_, err := w.AttachFloatingIP(ctx, s.floatingIP.ID, "")
	return err
}

// floatingIPDeletion deletes a floating IP, by its ID.
type floatingIPDeletion string

// Do implements plan.Step.
func (s floatingIPDeletion) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.DeleteFloatingIP(ctx, string(s))
}

// vipPort returns the port of the address of a load balancer. It is "" for an IPv6 address.
func vipPort(w Writer, ids *plan.Handles, lb reference) (string, error) {
	id, err := lb.Resolve(ids)
	if err != nil {
		return "", err
	}
	return w.VIPPort(id)
}
