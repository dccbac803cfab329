package loadbalancer

import (
	"context"
	"fmt"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

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
	apply := func(v *api.LBVirtualServer, address string) {
		v.IPAddress, v.PoolPath, v.ApplicationProfilePath = address, pool, port.Profile
		v.DefaultPoolMemberPorts = []string{fmt.Sprint(port.NodePort)}
		switch {
		case group != "":
			v.AccessListControl = &api.AccessControl{Action: "ALLOW", Enabled: true, GroupPath: group}
		case d.restricts(*v):
			v.AccessListControl = nil
		}
		v.Tags = setTags(v.Tags, d.owner.tags(map[string]string{
			names.TagPort: port.Name, names.TagPool: d.want.Pool, names.TagClass: d.want.Class,
		}))
	}
	have := d.firstServer(port.Name)
	if have.Path == "" {
		return d.serverCreate(port, address, after, apply), true
	}
	return d.serverUpdate(port, have, address, after, apply)
}

// restricts reports whether the access list of a virtual server is that of the Service. One with another group was made
// by a user: without it, the port would be open to everyone.
func (d *differ) restricts(v api.LBVirtualServer) bool {
	return v.AccessListControl != nil && slices.ContainsFunc(d.have.Groups, func(g api.Group) bool {
		return g.Path == v.AccessListControl.GroupPath
	})
}

// resolveAddress returns the address of the plan once it is allocated.
func resolveAddress(address string, ids *plan.Handles) (string, error) {
	if address != "" {
		return address, nil
	}
	return ids.ID(addressHandle)
}

func (d *differ) serverCreate(port Port, address string, after []plan.Ref,
	apply func(*api.LBVirtualServer, string),
) plan.Change {
	want := api.LBVirtualServer{Enabled: true, Ports: []string{fmt.Sprint(port.Port)}}
	want.DisplayName = d.name()
	apply(&want, address)
	if len(d.have.Servers) == 0 && port.Name == d.want.Ports[0].Name {
		want.Tags = setTags(want.Tags, map[string]string{names.TagApplied: d.want.record().Encode()})
	}
	fields := serverFields(api.LBVirtualServer{}, want)
	fields.Diff("ports", "", plan.ShowInt(port.Port))
	return plan.Change{
		Ref: d.portRef(kindServer, port.Name, plan.Create), Fields: fields, After: after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			address, err := resolveAddress(address, ids)
			if err != nil {
				return err
			}
			service, release, err := d.write.holdService(ctx)
			if err != nil {
				return err
			}
			defer release()
			want.IPAddress, want.LBServicePath = address, service
			path := api.LBVirtualServers + "/" + d.owner.objectID(partServer, port.Name)
			_, err = d.write.store.servers.put(ctx, path, want)
			return err
		},
	}
}

func (d *differ) serverUpdate(port Port, have api.LBVirtualServer, address string, after []plan.Ref,
	apply func(*api.LBVirtualServer, string),
) (plan.Change, bool) {
	want := have
	apply(&want, address)
	f := serverFields(have, want)
	if len(f) == 0 {
		return plan.Change{}, false
	}
	d.describeWanted(f, port)
	change := plan.Change{
		Ref: d.portRef(kindServer, port.Name, plan.Update), Key: port.Name, ID: have.Path, Fields: f, After: after,
		Mark: len(f) == 1 && f.Has("tags"),
		Do: func(ctx context.Context, ids *plan.Handles) error {
			address, err := resolveAddress(address, ids)
			if err != nil {
				return err
			}
			return d.write.store.servers.update(ctx, have.Path, func(v *api.LBVirtualServer) { apply(v, address) })
		},
	}
	if f.Has(fieldAddress) {
		movesAddress.Declare(&change)
	}
	if f.Has(fieldAccess) && want.AccessListControl != nil {
		closesServer.Declare(&change)
	}
	if f.Has(fieldProfile) {
		changesProfile.Declare(&change)
	}
	return change, true
}

// describeWanted names, in the differences of a virtual server, the address that is still to be allocated, and the
// ranges of the group that is allowed: not only that there is one.
func (d *differ) describeWanted(f plan.Fields, port Port) {
	for i, field := range f {
		switch {
		case field.Name == fieldAddress:
			f[i].After, f[i].Place = d.wantedAddress(), placeAddress
		case field.Name == fieldAccess && field.After != "":
			f[i].After += " (" + plan.ShowSet(port.Ranges) + ")"
		}
	}
}

func (d *differ) serverDelete(have api.LBVirtualServer, after []plan.Ref) plan.Change {
	change := d.deletion(d.portRef(kindServer, have.Tag(names.TagPort), plan.Delete), have.Resource, after,
		d.write.store.servers.remove)
	change.Key = have.Tag(names.TagPort)
	deletesServer.Declare(&change)
	return change
}

// serverFields returns the differences of two virtual servers, by the names of the API.
func serverFields(have, want api.LBVirtualServer) plan.Fields {
	var f plan.Fields
	f.Diff(fieldAddress, have.IPAddress, want.IPAddress)
	f.Diff(fieldProfile, have.ApplicationProfilePath, want.ApplicationProfilePath)
	f.Diff("pool_path", have.PoolPath, want.PoolPath)
	f.Diff("default_pool_member_ports", plan.ShowSet(have.DefaultPoolMemberPorts),
		plan.ShowSet(want.DefaultPoolMemberPorts))
	f.Diff(fieldAccess, showAccess(have.AccessListControl), showAccess(want.AccessListControl))
	f.Diff("tags", showTags(have.Tags), showTags(want.Tags))
	return f
}

func showAccess(a *api.AccessControl) string {
	if a == nil || !a.Enabled {
		return ""
	}
	return a.Action + " " + a.GroupPath
}
