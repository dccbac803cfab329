package loadbalancer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// namesAge is the max age of the names of pools and profiles.
const namesAge = 10 * time.Minute

// Observed are the objects of one Service, and the load balancer service. Readers share them.
type Observed struct {
	// Service is the load balancer service of the cluster; nil if there is none. Used reports whether it has virtual
	// servers of others, or is about to have them.
	Service     *api.LBService
	Used        bool
	Allocations []api.IPAllocation
	Servers     []api.LBVirtualServer
	Pools       []api.LBPool
	Monitors    []api.LBMonitor
	Groups      []api.Group
	// Deleted are the paths of deleted objects that new ones cannot have yet.
	Deleted map[string]bool
	// Address is that in the status of the Service; "" without one.
	Address string
}

// reader reads the objects of all Services. It is safe for concurrent use.
type reader struct {
	config config.LoadBalancing
	app    string
	store  *store
	// poolsByName and profilesByName are read only if the configuration has names.
	poolsByName, profilesByName *snapshot.Value[map[string][]string]
}

func newReader(client api.NSXT, cfg config.LoadBalancing, c clock.PassiveClock) *reader {
	return &reader{
		config: cfg, app: cmp.Or(cfg.Tags[names.TagOwner], names.App), store: newStore(client, c),
		poolsByName: namesOf(client, c, api.IPPools, func(r api.Resource) (key, value string) { return r.DisplayName, r.ID }),
		profilesByName: namesOf(client, c, api.LBAppProfiles, func(r api.Resource) (key, value string) {
			return profileKey(r.ResourceType, r.DisplayName), r.Path
		}),
	}
}

// namesOf returns the values of the objects of a collection by key.
func namesOf(
	client api.NSXT, c clock.PassiveClock, path string, entry func(api.Resource) (key, value string),
) *snapshot.Value[map[string][]string] {
	return snapshot.NewValue(snapshot.ValueOptions[map[string][]string]{Clock: c, MaxAge: namesAge,
		Read: func(ctx context.Context) (map[string][]string, error) {
			documents, err := client.List(ctx, path)
			if err != nil {
				return nil, err
			}
			out := map[string][]string{}
			for _, document := range documents {
				var r api.Resource
				if err := json.Unmarshal(document, &r); err != nil {
					return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: "List", Err: err}
				}
				key, value := entry(r)
				out[key] = append(out[key], value)
			}
			return out, nil
		}})
}

// ownerOf identifies the objects of a Service with this address in its status; "" without one.
func (r *reader) ownerOf(key lbcommon.Key, address string) owner {
	return owner{key: key, app: r.app, address: address, extraTags: r.config.Tags}
}

// sharedState reads the pools and profiles, if the configuration has names of them.
func (r *reader) sharedState(ctx context.Context) (SharedState, error) {
	var s SharedState
	var err error
	hasNames := func(reference func(config.Class) config.Named) bool {
		for _, class := range r.config.Classes {
			if n := reference(class); n.ID == "" && n.Name != "" {
				return true
			}
		}
		return false
	}
	if hasNames(func(class config.Class) config.Named { return class.Pool }) {
		if s.Pools, err = r.poolsByName.Get(ctx); err != nil {
			return s, err
		}
	}
	if hasNames(func(class config.Class) config.Named { return class.TCP }) ||
		hasNames(func(class config.Class) config.Named { return class.UDP }) {
		s.Profiles, err = r.profilesByName.Get(ctx)
	}
	return s, err
}

// observe returns the existing objects of a Service.
func (r *reader) observe(ctx context.Context, request lbcommon.Request[Desired]) (Observed, error) {
	reread := request.Freshness == lbcommon.Authoritative
	if err := r.store.refresh(ctx, reread); err != nil {
		return Observed{}, err
	}
	key, tag := request.Key, serviceTag(request.Key)
	have := Observed{
		Deleted: r.store.deleted.paths(), Address: request.Reference.ID,
		Servers: r.store.servers.lookup(tag), Pools: r.store.pools.lookup(tag), Monitors: r.store.monitors.lookup(tag),
		Groups: r.store.groups.lookup(tag),
	}
	pools, err := r.configuredPools(ctx)
	if err != nil {
		return Observed{}, err
	}
	for _, server := range have.Servers {
		if pool := server.Tag(names.TagPool); pool != "" {
			pools = append(pools, pool)
		}
	}
	if have.Allocations, err = r.store.allocationsOf(ctx, tag, pools, reread); err != nil {
		return Observed{}, err
	}
	o := r.ownerOf(key, request.Reference.ID)
	if err := r.addAddresses(ctx, o, have); err != nil {
		return Observed{}, err
	}
	have = selectOwned(o, have)
	if have.Service, err = r.service(); err != nil {
		return Observed{}, err
	}
	if have.Service != nil {
		have.Used = r.store.serviceHolds.Load() > 0
		for path, server := range r.store.servers.table.All() {
			isOwn := slices.ContainsFunc(have.Servers, func(v api.LBVirtualServer) bool { return v.Path == path })
			have.Used = have.Used || !isOwn && server.LBServicePath == have.Service.Path
		}
	}
	return have, nil
}

// configuredPools returns the IDs of the pools of the configuration.
func (r *reader) configuredPools(ctx context.Context) ([]string, error) {
	shared, err := r.sharedState(ctx)
	if err != nil {
		return nil, err
	}
	var pools []string
	for _, class := range r.config.Classes {
		pool, err := resolveName(class.Pool, shared.Pools[class.Pool.Name], "ip-pool-name")
		if err == nil && pool != "" {
			pools = append(pools, pool)
		}
	}
	return pools, nil
}

// addAddresses fills in the addresses of allocations. The only one of a pool has the address of the virtual servers, if
// they have one; others are read once.
func (r *reader) addAddresses(ctx context.Context, o owner, have Observed) error {
	candidates := map[string]int{}
	for _, a := range have.Allocations {
		if o.mayOwn(a.Resource) {
			candidates[a.Pool]++
		}
	}
	for i, a := range have.Allocations {
		address := ""
		if candidates[a.Pool] == 1 {
			address = serverAddress(o, have.Servers, a)
		}
		if a.AllocationIP != "" && address != a.AllocationIP {
			address = ""
		}
		if address == "" && o.mayOwn(a.Resource) {
			var err error
			address, err = r.store.addressOf(ctx, a)
			// A pool without such an address shows in the plan that waits for it.
			if have.Allocations[i].Failed = errors.Is(err, api.ErrNotAllocated); err != nil && !have.Allocations[i].Failed {
				return err
			}
		}
		have.Allocations[i].Address = address
	}
	return nil
}

// serverAddress returns the address that all virtual servers with the name of the Service and the pool of an allocation
// have, or "". An allocation that is newer than one of them may be for a move that was interrupted.
func serverAddress(o owner, servers []api.LBVirtualServer, a api.IPAllocation) string {
	address := ""
	for _, v := range servers {
		if !o.mayOwn(v.Resource) || v.Tag(names.TagPool) != a.Pool {
			continue
		}
		if address != "" && address != v.IPAddress || v.CreateTime < a.CreateTime {
			return ""
		}
		address = v.IPAddress
	}
	return address
}

// service returns the load balancer service of the configuration; nil if it is to be created.
func (r *reader) service() (*api.LBService, error) {
	for path, service := range r.store.services.table.All() {
		if r.config.ServiceID != "" && path == api.LBServices+"/"+r.config.ServiceID {
			if tier1 := r.config.Tier1Path; tier1 != "" && service.ConnectivityPath != tier1 {
				return nil, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "GET lb-services", Err: fmt.Errorf("lb-service-id "+
					"in section [LoadBalancer]: the load balancer service %s is on %q, and tier1-gateway-path is %s: correct one of "+
					"both", r.config.ServiceID, service.ConnectivityPath, tier1)}
			}
			return &service, nil
		}
		if r.config.ServiceID == "" && service.ConnectivityPath == r.config.Tier1Path {
			return &service, nil
		}
	}
	if r.config.ServiceID != "" {
		return nil, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "GET lb-services", Err: fmt.Errorf("lb-service-id "+
			"in section [LoadBalancer]: NSX-T has no load balancer service %s", r.config.ServiceID)}
	}
	return nil, nil
}

// selectOwned keeps the objects that belong to the Service, among those with its tag.
func selectOwned(o owner, have Observed) Observed {
	have.Servers = filter(have.Servers, func(v api.LBVirtualServer) bool {
		return o.owns(v.Resource, partServer, v.Tag(names.TagPort)) ||
			o.mayOwn(v.Resource) && o.address != "" && v.IPAddress == o.address
	})
	have.Allocations = filter(have.Allocations, func(a api.IPAllocation) bool {
		used := slices.ContainsFunc(have.Servers, func(v api.LBVirtualServer) bool { return v.IPAddress == a.Address })
		return o.ownsAllocation(a) || o.mayOwn(a.Resource) && a.Address != "" && (used || a.Address == o.address)
	})
	have.Pools = filter(have.Pools, func(p api.LBPool) bool {
		used := slices.ContainsFunc(have.Servers, func(v api.LBVirtualServer) bool { return v.PoolPath == p.Path })
		return o.owns(p.Resource, partPool, p.Tag(names.TagPort)) || o.mayOwn(p.Resource) && used
	})
	have.Monitors = filter(have.Monitors, func(m api.LBMonitor) bool {
		used := slices.ContainsFunc(have.Pools, func(p api.LBPool) bool {
			return slices.Contains(p.ActiveMonitorPaths, m.Path)
		})
		return o.owns(m.Resource, partMonitor, m.Tag(names.TagPort), m.ResourceType) || o.mayOwn(m.Resource) && used
	})
	have.Groups = filter(have.Groups, func(g api.Group) bool {
		used := slices.ContainsFunc(have.Servers, func(v api.LBVirtualServer) bool {
			return v.AccessListControl != nil && v.AccessListControl.GroupPath == g.Path
		})
		return o.owns(g.Resource, partGroup, g.Tag(names.TagPort)) || o.mayOwn(g.Resource) && used
	})
	return have
}

// filter returns the objects to keep.
func filter[T any](objects []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(objects), func(object T) bool { return !keep(object) })
}
