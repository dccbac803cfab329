package loadbalancer

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// serverKind are the virtual servers. Without an address, the one that the plan allocates is wanted.
var serverKind = objectKind[api.LBVirtualServer, *api.LBVirtualServer]{
	in: func(s *store) *collection[api.LBVirtualServer, *api.LBVirtualServer] { return s.servers },
	Kind: rows.Kind[*api.LBVirtualServer, *api.LBVirtualServer]{
		Name:     kindServer,
		Key:      func(v *api.LBVirtualServer) string { return v.Tag(names.TagPort) },
		Deletion: deletesServer,
		Rows: rows.InPlace([]rows.Row[*api.LBVirtualServer, *api.LBVirtualServer]{
			{
				Name: fieldAddress, Value: rows.Text(func(v *api.LBVirtualServer) *string { return &v.IPAddress }),
				Effect: movesAddress, Place: placeAddress,
			},
			{
				Name:   fieldProfile,
				Value:  rows.Text(func(v *api.LBVirtualServer) *string { return &v.ApplicationProfilePath }),
				Effect: changesProfile,
			},
			{Name: "pool_path", Value: rows.Text(func(v *api.LBVirtualServer) *string { return &v.PoolPath })},
			{
				Name:  "default_pool_member_ports",
				Value: rows.Set(func(v *api.LBVirtualServer) *[]string { return &v.DefaultPoolMemberPorts }),
			},
			{
				Name: fieldAccess,
				Value: rows.Of(showAccess, func(v *api.LBVirtualServer) **api.AccessControl {
					return &v.AccessListControl
				}),
				Effect:   closesServer,
				Disrupts: func(_, want *api.LBVirtualServer) bool { return want.AccessListControl != nil },
			},
			{ // a user may have moved it to another one; without one, it has no traffic
				Name: "lb_service_path", Value: rows.Text(func(v *api.LBVirtualServer) *string { return &v.LBServicePath }),
				Ignore: func(have, _ *api.LBVirtualServer) bool { return have.LBServicePath != "" },
			},
			tagsRow[api.LBVirtualServer](),
			{ // the port identifies a virtual server
				Name: "ports", Value: rows.Set(func(v *api.LBVirtualServer) *[]string { return &v.Ports }),
				Ignore: func(*api.LBVirtualServer, *api.LBVirtualServer) bool { return true },
			},
		}),
	},
}

// firstServer returns the virtual server of a port. Others of the same port are duplicates.
func (d *differ) firstServer(port string) api.LBVirtualServer {
	for _, server := range d.have.Servers {
		if server.Tag(names.TagPort) == port {
			return server
		}
	}
	return api.LBVirtualServer{}
}

// ensureServer returns the change that creates or updates the virtual server of a port. An empty address is that of the
// plan.
func (d *differ) ensureServer(port Port, pool, group, address string, after []plan.Ref) (plan.Change, bool) {
	have := d.firstServer(port.Name)
	want := have
	want.PoolPath, want.ApplicationProfilePath = pool, port.Profile
	want.DefaultPoolMemberPorts = []string{fmt.Sprint(port.NodePort)}
	switch {
	case group != "":
		want.AccessListControl = &api.AccessControl{Action: "ALLOW", Enabled: true, GroupPath: group}
	case d.restricts(have):
		want.AccessListControl = nil
	}
	tags := d.owner.tags(map[string]string{
		names.TagPort: port.Name, names.TagPool: d.want.Pool, names.TagClass: d.want.Class,
	})
	want.Tags = setTags(have.Tags, tags)
	if have.Path == "" {
		want.IPAddress = address
		return d.serverCreate(port, want, after), true
	}
	want.IPAddress = cmp.Or(address, d.wantedAddress())
	want.LBServicePath = cmp.Or(have.LBServicePath, d.servicePath())
	update, differ := serverKind.update(d, have, want, tags)
	update.After = after
	for i, f := range update.Fields {
		if f.Name == fieldAccess && f.After != "" { // not only that there is a group
			update.Fields[i].After += " (" + plan.ShowSet(port.Ranges) + ")"
		}
	}
	if step, ok := update.Step.(objectUpdate[api.LBVirtualServer, *api.LBVirtualServer]); ok {
		update.Step = serverUpdate{step, address, have.LBServicePath == ""}
	}
	return update, differ
}

// restricts reports whether the access list of a virtual server is that of the Service. One with another group was made
// by a user: without it, the port would be open to everyone.
func (d *differ) restricts(v api.LBVirtualServer) bool {
	return v.AccessListControl != nil && slices.ContainsFunc(d.have.Groups, func(g api.Group) bool {
		return g.Path == v.AccessListControl.GroupPath
	})
}

// refuseRanges returns the change to the source ranges of a port that would replace an access list of a user: a virtual
// server has only one. It is planned, so that it is held like any other, and fails.
func (d *differ) refuseRanges(port Port) (change plan.Change, refused bool) {
	server := d.firstServer(port.Name)
	list := server.AccessListControl
	if len(port.Ranges) == 0 || list == nil || !list.Enabled || d.restricts(server) {
		return plan.Change{}, false
	}
	change = serverKind.named(d, plan.Change{
		Ref: plan.Ref{Kind: kindServer, Name: port.Name, Action: plan.Update}, ID: server.Path,
		Fields: []plan.Field{{Name: fieldAccess, Before: showAccess(list), After: plan.ShowSet(port.Ranges)}},
	})
	change.Name += " access list" // The virtual server may have other changes.
	closesServer.Declare(&change)
	change.Step = rangesRefusal{port.Name, list.GroupPath}
	return change, true
}

// rangesRefusal refuses source ranges.
type rangesRefusal struct{ port, group string }

// Do implements plan.Step.
func (s rangesRefusal) Do(context.Context, writer, *plan.Handles) error {
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "PUT lb-virtual-servers",
		Err: fmt.Errorf("port %s: its virtual server has an access list that was made in NSX-T, with the group %s: remove "+
			"it there, or remove %s and the annotations with source ranges", s.port, s.group, intent.FieldSourceRanges)}
}

func (d *differ) serverCreate(port Port, want api.LBVirtualServer, after []plan.Ref) plan.Change {
	want.Enabled, want.Ports, want.DisplayName = true, []string{fmt.Sprint(port.Port)}, d.name()
	if len(d.have.Servers) == 0 && port.Name == d.want.Ports[0].Name {
		want.Tags = setTags(want.Tags, map[string]string{names.TagApplied: d.want.record().Encode()})
	}
	creation := serverKind.create(d, d.owner.newPath(d.have.Deleted, api.LBVirtualServers, partServer, port.Name), want)
	if step, ok := creation.Step.(objectCreation[api.LBVirtualServer, *api.LBVirtualServer]); ok {
		creation.Step = serverCreation{step}
	}
	creation.After = after
	return creation
}

// serverCreation creates a virtual server on the load balancer service of the cluster.
type serverCreation struct {
	objectCreation[api.LBVirtualServer, *api.LBVirtualServer]
}

// Do implements plan.Step.
func (s serverCreation) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	var err error
	if s.want.IPAddress, err = resolveAddress(s.want.IPAddress, ids); err != nil {
		return err
	}
	service, release, err := w.holdService(ctx)
	if err != nil {
		return err
	}
	defer release()
	s.want.LBServicePath = service
	return s.objectCreation.Do(ctx, w, ids)
}

// serverUpdate updates a virtual server. An empty address is that of the plan. attach is set for one that gets the load
// balancer service.
type serverUpdate struct {
	objectUpdate[api.LBVirtualServer, *api.LBVirtualServer]
	address string
	attach  bool
}

// Do implements plan.Step.
func (s serverUpdate) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	var err error
	if s.want.IPAddress, err = resolveAddress(s.address, ids); err != nil {
		return err
	}
	if s.attach {
		service, release, err := w.holdService(ctx)
		if err != nil {
			return err
		}
		defer release()
		s.want.LBServicePath = service
	}
	return s.objectUpdate.Do(ctx, w, ids)
}

// resolveAddress returns the address of the plan once it is allocated.
func resolveAddress(address string, ids *plan.Handles) (string, error) {
	if address != "" {
		return address, nil
	}
	return ids.ID(addressHandle)
}

func showAccess(a *api.AccessControl) string {
	if a == nil || !a.Enabled {
		return ""
	}
	return a.Action + " " + a.GroupPath
}
