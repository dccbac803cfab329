package loadbalancer

import (
	"slices"
	"strings"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// maxTag is the maximum length of a tag in Octavia.
const maxTag = 255

// mergeTags returns the desired tags of an object: marks and the Service's tags, without those that the
// Service requested earlier and no longer does, and existing ones of other clients.
func mergeTags(have, want, extra []string) []string {
	asked := strings.Split(names.Value(have, names.ExtraTagPrefix), ",")
	var merged []string
	for _, tag := range have {
		switch {
		case tag == "", strings.HasPrefix(tag, names.ExtraTagPrefix):
		case slices.Contains(asked, tag) && !slices.Contains(want, tag):
		case slices.Contains(merged, tag):
		default:
			merged = append(merged, tag)
		}
	}
	for _, tag := range want {
		if !slices.Contains(merged, tag) {
			merged = append(merged, tag)
		}
	}
	if mark := names.ExtraTagPrefix + strings.Join(slices.Sorted(slices.Values(extra)), ","); len(extra) > 0 &&
		len(mark) <= maxTag {
		merged = append(merged, mark)
	}
	if merged == nil {
		merged = []string{}
	}
	return merged
}

// addTags returns tags with the missing ones of more.
func addTags(tags, more []string) []string {
	for _, tag := range more {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// diffTags adds a field if the tags of an object differ from the desired ones.
func diffTags(f *plan.Fields, have, want []string) bool {
	return f.Diff("tags", showTags(have), showTags(want))
}

// markTags makes a change that only sets tags a mark. It follows from the annotation with the tags of the object, and
// from the portable one.
func markTags(change plan.Change, annotation string) plan.Change {
	if fields := plan.Fields(change.Fields); len(fields) == 1 && fields.Has("tags") {
		change.Mark, change.Follows = true, tagFields(annotation)
	}
	return change
}

// showTags formats tags for a plan. The empty tag, which another manager leaves, is omitted.
func showTags(tags []string) string {
	return plan.ShowSet(slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return tag == "" }))
}

// withoutRecord returns the tags without the applied record.
func withoutRecord(tags []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool {
		return strings.HasPrefix(tag, names.AppliedTagPrefix)
	})
}

// creationTags returns the tags of a new load balancer.
func (d *differ) creationTags() []string {
	if !d.want.Features.Tags() {
		return nil
	}
	extra := d.want.LoadBalancer.Tags
	marks := d.ownerTags(d.cloud.DesiredRecord(d.want))
	return mergeTags(nil, slices.Concat(marks[:1], extra, marks[1:]), extra)
}

// ownerTags returns the tags of a load balancer that its owner sets: its Service, which other managers read
// too, and those of this manager. A load balancer that was created by hand has none of them.
func (d *differ) ownerTags(record lbcommon.AppliedRecord) []string {
	tags := []string{names.ServiceTag(d.key.LoadBalancer())}
	if d.key.ClusterUID != "" {
		tags = append(tags, names.ClusterTag(d.key.ClusterUID))
	}
	return append(tags, names.AppliedTagPrefix+record.Encode())
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
	tags := slices.Clone(have)
	if owner := d.have.LoadBalancer.Name; len(names.Services(have)) == 0 &&
		strings.HasPrefix(owner, names.LoadBalancerPrefix) {
		tags = append(tags, names.ServiceTag(owner))
	}
	return append(tags, service)
}

// ownedTags is serviceTags for the owner.
func (d *differ) ownedTags(have []string) []string {
	lb, extra := *d.have.LoadBalancer, d.want.LoadBalancer.Tags
	want := extra
	if d.unmonitored {
		want = append(slices.Clone(want), names.UnmonitoredTag)
	}
	if d.key.Renamed(lb) {
		want = append(slices.Clone(want), names.ServiceTag(d.key.LoadBalancer()))
	}
	have = slices.DeleteFunc(slices.Clone(have), func(tag string) bool {
		return tag == names.UnmonitoredTag && !d.unmonitored || tag == lb.Name && d.key.Renamed(lb)
	})
	return mergeTags(have, want, extra)
}

// servesUs reports whether the listeners of this Service have a node of this cluster among their members, by
// name and address: that proves their owner, too.
func (d *differ) servesUs() bool {
	type member struct{ name, address string }
	nodes := map[member]bool{}
	for _, port := range d.want.Ports {
		for _, m := range port.Members {
			nodes[member{m.Name, m.Address}] = true
		}
	}
	return slices.ContainsFunc(d.have.Listeners, func(l api.Listener) bool {
		pool, _ := d.poolOf(l.DefaultPoolID)
		return d.ownsListener(l) && slices.ContainsFunc(pool.Members, func(m api.Member) bool {
			return nodes[member{m.Name, m.Address}]
		})
	})
}
