package loadbalancer

import (
	"context"
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
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
		v.AccessListControl = nil
		if group != "" {
			v.AccessListControl = &api.AccessControl{Action: "ALLOW", Enabled: true, GroupPath: group}
		}
		v.Tags = tagged(v.Tags, d.tags(map[string]string{
			names.TagPort: port.Name, names.TagPool: d.want.Pool, names.TagClass: d.want.Class,
		}))
	}
	have := d.firstServer(port.Name)
	if have.Path == "" {
		return d.serverCreate(port, address, after, apply), true
	}
	return d.serverUpdate(port, have, address, after, apply)
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
	fields := serverFields(api.LBVirtualServer{}, want)
	fields.Diff("ports", "", plan.ShowInt(port.Port))
	return plan.Change{
		Ref: d.portRef(kindServer, port.Name, plan.Create), Fields: fields, After: after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			address, err := resolveAddress(address, ids)
			if err != nil {
				return err
			}
			service, err := d.servicePath(ids)
			if err != nil {
				return err
			}
			want.IPAddress, want.LBServicePath = address, service
			path := api.LBVirtualServers + "/" + d.owner.objectID(partServer, port.Name)
			_, err = d.store.servers.put(ctx, path, want)
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
	change := plan.Change{
		Ref: d.portRef(kindServer, port.Name, plan.Update), ID: have.Path, Fields: f, After: after,
		Mark: len(f) == 1 && f.Has("tags"),
		Do: func(ctx context.Context, ids *plan.Handles) error {
			address, err := resolveAddress(address, ids)
			if err != nil {
				return err
			}
			return d.store.servers.update(ctx, have.Path, func(v *api.LBVirtualServer) { apply(v, address) })
		},
	}
	switch {
	case f.Has("ip_address"):
		change.Disrupts, change.Follows = plan.DisruptsAddress, addressFields()
	case f.Has("access_list_control") && want.AccessListControl != nil:
		change.Disrupts, change.Follows = plan.DisruptsTraffic, intent.RangeFields()
	case f.Has("application_profile_path"):
		change.Disrupts, change.Follows = plan.DisruptsTraffic, addressFields()
	}
	return change, true
}

func (d *differ) serverDelete(have api.LBVirtualServer, after []plan.Ref) plan.Change {
	change := d.deletion(d.portRef(kindServer, have.Tag(names.TagPort), plan.Delete), have.Resource, after,
		d.store.servers.remove)
	change.Disrupts, change.Follows = plan.DisruptsTraffic, []string{intent.FieldPorts}
	return change
}

// serverFields returns the differences of two virtual servers, by the names of the API.
func serverFields(have, want api.LBVirtualServer) plan.Fields {
	var f plan.Fields
	f.Diff("ip_address", have.IPAddress, want.IPAddress)
	f.Diff("application_profile_path", have.ApplicationProfilePath, want.ApplicationProfilePath)
	f.Diff("pool_path", have.PoolPath, want.PoolPath)
	f.Diff("default_pool_member_ports", plan.ShowSet(have.DefaultPoolMemberPorts),
		plan.ShowSet(want.DefaultPoolMemberPorts))
	f.Diff("access_list_control", showAccess(have.AccessListControl), showAccess(want.AccessListControl))
	f.Diff("tags", showTags(have.Tags), showTags(want.Tags))
	return f
}

func showAccess(a *api.AccessControl) string {
	if a == nil || !a.Enabled {
		return ""
	}
	return a.Action + " " + a.GroupPath
}

// serviceHandle is the path of the load balancer service in a plan before it exists.
const serviceHandle plan.Handle = "load balancer service"

func (d *differ) servicePath(ids *plan.Handles) (string, error) {
	if d.have.Service != nil {
		return d.have.Service.Path, nil
	}
	return ids.ID(serviceHandle)
}

// serviceID returns the ID of the load balancer service of the cluster.
func (d *differ) serviceID() string {
	cluster := d.owner.key.ClusterUID
	if cluster == "" {
		cluster = d.owner.key.ClusterName
	}
	return names.ObjectID(cluster, partService, d.cloud.config.Tier1Path)
}

// serviceCreate is the change that creates the load balancer service of the cluster. Another Service may create it at
// the same time.
func (d *differ) serviceCreate() plan.Change {
	cluster := d.owner.key.ClusterName
	want := api.LBService{Size: d.cloud.config.Size, Enabled: true, ConnectivityPath: d.cloud.config.Tier1Path}
	want.DisplayName = names.ClusterDisplay(cluster)
	tags := d.tags(nil)
	delete(tags, names.TagService)
	want.Tags = tagged(nil, tags)
	path := api.LBServices + "/" + d.serviceID()
	var f plan.Fields
	f.Diff("size", "", want.Size)
	f.Diff("connectivity_path", "", want.ConnectivityPath)
	return plan.Change{
		Ref: plan.Ref{Kind: kindService, Name: want.DisplayName, Action: plan.Create}, Fields: f,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			unlock, err := d.store.services.writing.Lock(ctx, path)
			if err != nil {
				return err
			}
			defer unlock()
			if existing, err := d.cloud.service(); err == nil && existing != nil {
				ids.Set(serviceHandle, existing.Path)
				return nil
			}
			made, err := d.store.services.put(ctx, path, want)
			if err == nil {
				ids.Set(serviceHandle, made.Path)
			}
			return err
		},
	}
}

// ownsService reports whether the load balancer service was created for this cluster. Only then it is deleted after
// its last virtual server.
func (d *differ) ownsService(s api.LBService) bool {
	key, uid := d.owner.key, s.Tag(names.TagClusterUID)
	return d.cloud.config.ServiceID == "" && s.Tag(names.TagOwner) == d.cloud.app &&
		s.Tag(names.TagCluster) == key.ClusterName &&
		(uid == "" || key.ClusterUID == "" || uid == key.ClusterUID)
}

// serviceDelete is the change that deletes the load balancer service. It stays if another Service uses it now.
func (d *differ) serviceDelete(have api.LBService, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref: plan.Ref{Kind: kindService, Name: have.DisplayName, Action: plan.Delete}, ID: have.Path, After: after,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			err := d.store.services.remove(ctx, have.Path)
			if cloudapi.Is(err, cloudapi.Conflict) {
				return nil
			}
			return err
		},
	}
}
