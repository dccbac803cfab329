package loadbalancer

import (
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// maxTag is the longest tag that Octavia stores.
const maxTag = 255

// mergeTags returns what an object's tags should be: marks and what the Service asks for, without
// what it asked for earlier and no longer does, and those of others as they are.
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

// servesUs reports whether a load balancer has a node of this cluster among its members, by name and
// address: that shows its owner, too.
func (d *differ) servesUs() bool {
	type member struct{ name, address string }
	nodes := map[member]bool{}
	for _, port := range d.want.Ports {
		for _, m := range port.Members {
			nodes[member{m.Name, m.Address}] = true
		}
	}
	return slices.ContainsFunc(d.have.Pools, func(p observe.Pool) bool {
		return slices.ContainsFunc(p.Members, func(m api.Member) bool { return nodes[member{m.Name, m.Address}] })
	})
}
