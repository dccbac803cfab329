package loadbalancer

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// groupKind are the groups of the clients that may connect to a port.
var groupKind = objectKind[api.Group, *api.Group]{
	in: func(s *store) *collection[api.Group, *api.Group] { return s.groups },
	Kind: rows.Kind[*api.Group, *api.Group]{
		Name: kindGroup,
		Key:  func(g *api.Group) string { return g.Tag(names.TagPort) },
		Rows: rows.InPlace([]rows.Row[*api.Group, *api.Group]{
			{
				Name:   fieldRanges,
				Value:  rows.Of(showRanges, func(g *api.Group) *[]api.AddressExpression { return &g.Expression }),
				Effect: closesServer,
			},
			tagsRow[api.Group](),
		}),
	},
}

// ensureGroup plans the group of the clients that may connect to a port. It returns its path, "" if all may, and the
// change that creates it.
func (d *differ) ensureGroup(port Port) (path string, created []plan.Ref) {
	if len(port.Ranges) == 0 {
		return "", nil
	}
	want := api.Group{Expression: []api.AddressExpression{{ResourceType: "IPAddressExpression", IPAddresses: port.Ranges}}}
	tags := d.owner.tags(map[string]string{names.TagPort: port.Name})
	i := slices.IndexFunc(d.have.Groups, func(g api.Group) bool { return g.Tag(names.TagPort) == port.Name })
	if i >= 0 {
		have := d.have.Groups[i]
		want.Tags = setTags(have.Tags, tags)
		if update, ok := groupKind.update(d, have, want, tags); ok {
			d.plan.Add(update)
		}
		return have.Path, nil
	}
	want.DisplayName, want.Tags = d.name(), setTags(nil, tags)
	path = d.owner.newPath(d.have.Deleted, api.Groups, partGroup, port.Name)
	creation := groupKind.create(d, path, want)
	if d.firstServer(port.Name).Path != "" {
		// It only serves a restriction of a virtual server that exists.
		closesServer.Declare(&creation)
	}
	d.plan.Add(creation)
	return path, []plan.Ref{creation.Ref}
}

// showRanges formats the ranges of a group.
func showRanges(list []api.AddressExpression) string {
	var all []string
	for _, e := range list {
		all = append(all, e.IPAddresses...)
	}
	return plan.ShowSet(all)
}
