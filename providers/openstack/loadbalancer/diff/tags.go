package diff

import (
	"slices"
	"strings"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// creationTags returns the tags of a new load balancer.
func (d *differ) creationTags() []string {
	if !d.want.Features.Tags() {
		return nil
	}
	extra := d.want.LoadBalancer.Tags
	record := model.DesiredRecord(d.want)
	if len(d.want.Kept) > 0 {
		record.State = "" // The next plan does not take what is held for drift.
	}
	marks := append(d.ownerTags(record), d.guestsTags()...)
	return tags.Merge(nil, slices.Concat(marks[:1], extra, marks[1:]), extra)
}

// ownerTags returns the tags of a load balancer that its owner sets: its Service, which other managers read
// too, and those of this manager. A load balancer that was created by hand has none of them.
func (d *differ) ownerTags(record lbcommon.AppliedRecord) []string {
	marks := []string{names.ServiceTag(d.key.LoadBalancer())}
	if d.key.ClusterUID != "" {
		marks = append(marks, names.ClusterTag(d.key.ClusterUID))
	}
	return append(marks, names.AppliedTagPrefix+record.Encode())
}

// serviceTags returns the tags of an existing load balancer with those of the Service. The tags of ownerTags
// are written with the applied record.
func (d *differ) serviceTags(have []string) []string {
	service := names.ServiceTag(d.key.LoadBalancer())
	switch {
	case !d.want.Features.Tags():
		return have
	case d.owner:
		return d.ownedTags(have)
	case slices.Contains(have, service):
		return have
	}
	// A Service that shares the load balancer only marks that it uses it. Load balancers without tags do not
	// name their owner.
	marked := slices.Clone(have)
	if owner := d.have.LoadBalancer.Name; len(names.Services(have)) == 0 &&
		strings.HasPrefix(owner, names.LoadBalancerPrefix) {
		marked = append(marked, names.ServiceTag(owner))
	}
	return append(marked, service)
}

// guestsTags returns the tag with the Services of other namespaces that may share the load balancer, if the Service
// sets them.
func (d *differ) guestsTags() []string {
	if d.want.Guests == nil {
		return nil
	}
	return []string{names.GuestsTagPrefix + *d.want.Guests}
}

// changesGuests reports whether the tag of guestsTags differs.
func (d *differ) changesGuests(lb api.LoadBalancer) bool {
	return !slices.Equal(d.guestsTags(), filter(lb.Tags, func(tag string) bool {
		return strings.HasPrefix(tag, names.GuestsTagPrefix)
	}))
}

// ownedTags is serviceTags for the owner.
func (d *differ) ownedTags(have []string) []string {
	lb, extra := *d.have.LoadBalancer, d.want.LoadBalancer.Tags
	guests := d.guestsTags()
	want := slices.Concat(extra, guests)
	if d.unmonitored {
		want = append(slices.Clone(want), names.UnmonitoredTag)
	}
	if d.key.Renamed(lb) {
		want = append(slices.Clone(want), names.ServiceTag(d.key.LoadBalancer()))
	}
	have = slices.DeleteFunc(slices.Clone(have), func(tag string) bool {
		return tag == names.UnmonitoredTag && !d.unmonitored || tag == lb.Name && d.key.Renamed(lb) ||
			strings.HasPrefix(tag, names.GuestsTagPrefix) && !slices.Contains(guests, tag)
	})
	return tags.Merge(have, want, extra)
}
