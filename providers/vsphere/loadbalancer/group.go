package loadbalancer

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// ensureGroup plans the group of the clients that may connect to a port. It returns its path, "" if all may, and the
// change that creates it.
func (d *differ) ensureGroup(port Port) (path string, created []plan.Ref) {
	if len(port.Ranges) == 0 {
		return "", nil
	}
	expression := []api.AddressExpression{{ResourceType: "IPAddressExpression", IPAddresses: port.Ranges}}
	tags := d.owner.tags(map[string]string{names.TagPort: port.Name})
	i := slices.IndexFunc(d.have.Groups, func(g api.Group) bool { return g.Tag(names.TagPort) == port.Name })
	if i < 0 {
		return d.groupCreate(port, expression, tags)
	}
	have := d.have.Groups[i]
	var f plan.Fields
	f.Diff(fieldRanges, showRanges(have.Expression), showRanges(expression))
	diffTags(&f, have.Tags, tags)
	if len(f) == 0 {
		return have.Path, nil
	}
	change := plan.Change{
		Ref: d.portRef(kindGroup, port.Name, plan.Update), Key: port.Name, ID: have.Path, Fields: f,
		Mark: len(f) == 1 && f.Has("tags"),
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return d.write.store.groups.update(ctx, have.Path, func(g *api.Group) {
				g.Expression, g.Tags = expression, setTags(g.Tags, tags)
			})
		},
	}
	if f.Has(fieldRanges) {
		closesServer.Declare(&change)
	}
	d.plan.Add(change)
	return have.Path, nil
}

func (d *differ) groupCreate(
	port Port, expression []api.AddressExpression, tags map[string]string,
) (string, []plan.Ref) {
	want := api.Group{Expression: expression}
	want.DisplayName, want.Tags = d.name(), setTags(nil, tags)
	path := api.Groups + "/" + d.owner.objectID(partGroup, port.Name)
	change := plan.Change{
		Ref: d.portRef(kindGroup, port.Name, plan.Create), Key: port.Name,
		Fields: []plan.Field{{Name: fieldRanges, After: showRanges(expression)}},
		Do: func(ctx context.Context, _ *plan.Handles) error {
			_, err := d.write.store.groups.put(ctx, path, want)
			return err
		},
	}
	if d.firstServer(port.Name).Path != "" {
		// It only serves a restriction of a virtual server that exists.
		closesServer.Declare(&change)
	}
	d.plan.Add(change)
	return path, []plan.Ref{change.Ref}
}

// showRanges formats the ranges of a group.
func showRanges(list []api.AddressExpression) string {
	var all []string
	for _, e := range list {
		all = append(all, e.IPAddresses...)
	}
	return plan.ShowSet(all)
}
