package diff

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/steps"
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

// refusal fails with an error.
type refusal struct{ err error }

// Do implements plan.Step.
func (s refusal) Do(context.Context, Writer, *plan.Handles) error { return s.err }

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
		if port, err = steps.VIPPort(w, ids, *s.lb); err != nil || port == "" {
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

// floatingIPAttach attaches a floating IP in place of those that are attached.
func (d *differ) floatingIPAttach(f api.FloatingIP, attached []api.FloatingIP, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    d.ref(kindFloatingIP, f.FloatingIP, plan.Update, "attach"),
		Fields: []plan.Field{{Name: "load balancer", After: d.want.Name}},
		After:  after,
		Step:   floatingIPAttachment{d, f, d.loadBalancer(), attached},
	}
}

// floatingIPAttachment attaches a floating IP to a load balancer, in place of those that are attached.
type floatingIPAttachment struct {
	*differ
	floatingIP api.FloatingIP
	lb         reference
	attached   []api.FloatingIP
}

// Do implements plan.Step.
func (s floatingIPAttachment) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	port, err := steps.VIPPort(w, ids, s.lb)
	if err != nil || port == "" {
		return err
	}
	if err := w.CheckFloatingIPFree(ctx, s.floatingIP, port); err != nil {
		return err
	}
	attached, err := w.AttachFloatingIP(ctx, s.floatingIP.ID, port, s.attached)
	if err != nil {
		return err
	}
	if want := s.floatingIPTags(s.floatingIP); s.ownsFloatingIP(s.floatingIP) && !slices.Equal(want, attached.Tags) {
		return w.TagFloatingIP(ctx, attached, want)
	}
	return nil
}

// floatingIPSuccession gives a load balancer a floating IP. If that is refused, it gets the one that served last.
type floatingIPSuccession struct {
	step any
	last floatingIPAttachment
}

// Do implements plan.Step.
func (s floatingIPSuccession) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	err := doStep(ctx, w, ids, s.step)
	if err == nil {
		return nil
	}
	return errors.Join(err, s.last.Do(ctx, w, ids))
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
		Step:   steps.FloatingIPDeletion(f),
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
	return w.DetachFloatingIP(ctx, s.floatingIP)
}
