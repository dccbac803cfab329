// Package loadbalancer implements load balancers with NSX-T. It implements the interface of
// pkg/common/loadbalancer: Desired computes the objects that should exist, Observe reads the existing ones, and Diff
// returns the changes between them. Each kind of object has its own file.
//
// A Service has an address of a pool, and for each port a virtual server, a pool of members and a monitor. The virtual
// servers of a cluster are on one load balancer service of a Tier-1 gateway.
package loadbalancer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// namesAge is the max age of the names of pools and profiles.
const namesAge = 10 * time.Minute

var errDeleted = errors.New("the object was deleted in the meantime")

// Cloud is NSX-T behind pkg/common/loadbalancer. It is safe for concurrent use.
type Cloud struct {
	api    api.NSXT
	config config.Balancing
	app    string
	clock  clock.Clock
	store  *store
	// poolsByName and profilesByName are read only if the configuration has names.
	poolsByName, profilesByName *snapshot.Value[map[string][]string]
}

var _ lbcommon.Cloud[SharedState, Desired, Observed] = (*Cloud)(nil)

// New returns a Cloud. It makes no call. A nil clock is the real one.
func New(client api.NSXT, cfg config.Balancing, c clock.Clock) *Cloud {
	c = clocks.OrReal(c)
	out := &Cloud{api: client, config: cfg, app: names.App, clock: c, store: newStore(client, c)}
	if owner := cfg.Tags[names.TagOwner]; owner != "" {
		out.app = owner
	}
	out.poolsByName = out.namesOf(api.IPPools, func(r api.Resource) string { return r.ID })
	out.profilesByName = out.namesOf(api.LBAppProfiles, func(r api.Resource) string { return r.Path })
	return out
}

// namesOf returns the values of the objects of a collection by display name.
func (c *Cloud) namesOf(path string, value func(api.Resource) string) *snapshot.Value[map[string][]string] {
	return snapshot.NewValue(snapshot.ValueOptions[map[string][]string]{Clock: c.clock, Age: namesAge,
		Read: func(ctx context.Context) (map[string][]string, error) {
			documents, err := c.api.List(ctx, path)
			if err != nil {
				return nil, err
			}
			out := map[string][]string{}
			for _, document := range documents {
				var r api.Resource
				if err := json.Unmarshal(document, &r); err != nil {
					return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: "List", Err: err}
				}
				out[r.DisplayName] = append(out[r.DisplayName], value(r))
			}
			return out, nil
		}})
}

// Name implements loadbalancer.Cloud. It is the display name of the objects.
func (c *Cloud) Name(key lbcommon.Key) string {
	return names.ServiceDisplay(key.ClusterName, key.Namespace, key.Name)
}

// Reference implements loadbalancer.Cloud. The address in the status of the Service proves which of the objects without
// a mark are its own.
func (c *Cloud) Reference(service *v1.Service) lbcommon.Reference {
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			return lbcommon.Reference{ID: ingress.IP}
		}
	}
	return lbcommon.Reference{}
}

// SharedState are the pools and profiles of the configuration, by display name.
type SharedState struct{ Pools, Profiles map[string][]string }

// SharedState implements loadbalancer.Cloud.
func (c *Cloud) SharedState(ctx context.Context, _ []*v1.Node) (SharedState, error) {
	var s SharedState
	var err error
	named := func(of func(config.Class) config.Named) bool {
		for _, class := range c.config.Classes {
			if n := of(class); n.ID == "" && n.Name != "" {
				return true
			}
		}
		return false
	}
	if named(func(class config.Class) config.Named { return class.Pool }) {
		if s.Pools, err = c.poolsByName.Get(ctx); err != nil {
			return s, err
		}
	}
	if named(func(class config.Class) config.Named { return class.TCP }) ||
		named(func(class config.Class) config.Named { return class.UDP }) {
		s.Profiles, err = c.profilesByName.Get(ctx)
	}
	return s, err
}

// resolve returns the ID or path of an object in the configuration.
func resolve(n config.Named, known map[string][]string, key string) (string, error) {
	if n.ID != "" {
		return n.ID, nil
	}
	switch found := known[n.Name]; len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("%s: NSX-T has none with the name %q; correct vsphere.conf", key, n.Name)
	default:
		return "", fmt.Errorf("%s: NSX-T has %d with the name %q; set the ID or path in vsphere.conf instead", key,
			len(found), n.Name)
	}
}

// Validate implements loadbalancer.Cloud.
func (c *Cloud) Validate(in intent.Service) error {
	problems := in.NewProblems()
	c.class(in, &problems)
	return problems.Err(in.Subject())
}

// classInternal is the class of Services with the portable scheme internal.
const classInternal = string(intent.Internal)

// class returns the name of the class of a Service.
func (c *Cloud) class(in intent.Service, problems *intent.Problems) string {
	name, key, value := annotation.Read(in, problems).Class, annotation.KeyClass, in.Annotations[annotation.KeyClass]
	switch {
	case name == "" && in.Scheme == intent.Internal:
		name, key, value = classInternal, intent.KeyScheme, string(in.Scheme)
	case name == "":
		name, value = names.DefaultClass, names.DefaultClass
	}
	if class, ok := c.config.Classes[name]; !ok || class.Pool.IsZero() {
		problems.Addf(key, value, "vsphere.conf has no class %s with a pool of addresses: add a section [LoadBalancerClass "+
			"%q] with ip-pool-name, or choose another class", intent.Quote(name), name)
	}
	return name
}

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
}

// Observe implements loadbalancer.Cloud.
func (c *Cloud) Observe(ctx context.Context, request lbcommon.Request[Desired]) (Observed, error) {
	now := request.Freshness == lbcommon.Authoritative
	if err := c.store.refresh(ctx, now); err != nil {
		return Observed{}, err
	}
	key, tag := request.Key, serviceTag(request.Key)
	have := Observed{
		Servers: c.store.servers.of(tag), Pools: c.store.pools.of(tag), Monitors: c.store.monitors.of(tag),
		Groups: c.store.groups.of(tag),
	}
	pools, err := c.configuredPools(ctx)
	if err != nil {
		return Observed{}, err
	}
	for _, server := range have.Servers {
		if pool := server.Tag(names.TagPool); pool != "" {
			pools = append(pools, pool)
		}
	}
	if have.Allocations, err = c.store.allocationsOf(ctx, tag, pools, now); err != nil {
		return Observed{}, err
	}
	o := owner{key: key, app: c.app, address: request.Reference.ID}
	if err := c.addAddresses(ctx, o, have); err != nil {
		return Observed{}, err
	}
	have = o.selectOwned(have)
	if have.Service, err = c.service(); err != nil {
		return Observed{}, err
	}
	if have.Service != nil {
		have.Used = c.store.serviceHolds.Load() > 0
		for path, server := range c.store.servers.table.All() {
			own := slices.ContainsFunc(have.Servers, func(v api.LBVirtualServer) bool { return v.Path == path })
			have.Used = have.Used || !own && server.LBServicePath == have.Service.Path
		}
	}
	return have, nil
}

// configuredPools returns the IDs of the pools of the configuration.
func (c *Cloud) configuredPools(ctx context.Context) ([]string, error) {
	shared, err := c.SharedState(ctx, nil)
	if err != nil {
		return nil, err
	}
	var pools []string
	for _, class := range c.config.Classes {
		if pool, err := resolve(class.Pool, shared.Pools, "ip-pool-name"); err == nil {
			pools = append(pools, pool)
		}
	}
	return pools, nil
}

// addAddresses fills in the addresses of allocations. The only one of a pool has the address of the virtual servers, if
// they have one; others are read once.
func (c *Cloud) addAddresses(ctx context.Context, o owner, have Observed) error {
	candidates := map[string]int{}
	for _, a := range have.Allocations {
		if o.mayBe(a.Resource) {
			candidates[a.Pool]++
		}
	}
	for i, a := range have.Allocations {
		address := a.AllocationIP
		if address == "" && candidates[a.Pool] == 1 {
			address = serverAddress(o, have.Servers, a.Pool)
		}
		if address == "" && o.mayBe(a.Resource) {
			var err error
			// A pool without a free address shows in the plan that waits for one.
			if address, err = c.store.addressOf(ctx, a); err != nil && !cloudapi.Is(err, cloudapi.Quota) {
				return err
			}
		}
		have.Allocations[i].Address = address
	}
	return nil
}

// serverAddress returns the address that all virtual servers with the name of the Service and this pool have, or "".
func serverAddress(o owner, servers []api.LBVirtualServer, pool string) string {
	address := ""
	for _, v := range servers {
		if !o.mayBe(v.Resource) || v.Tag(names.TagPool) != pool {
			continue
		}
		if address != "" && address != v.IPAddress {
			return ""
		}
		address = v.IPAddress
	}
	return address
}

// service returns the load balancer service of the configuration; nil if it is to be created.
func (c *Cloud) service() (*api.LBService, error) {
	for path, service := range c.store.services.table.All() {
		if c.config.ServiceID != "" && path == api.LBServices+"/"+c.config.ServiceID {
			if at := c.config.Tier1Path; at != "" && service.ConnectivityPath != at {
				return nil, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "GET lb-services", Err: fmt.Errorf("lb-service-id "+
					"in section [LoadBalancer]: the load balancer service %s is on %q, and tier1-gateway-path is %s: correct one of "+
					"both", c.config.ServiceID, service.ConnectivityPath, at)}
			}
			return &service, nil
		}
		if c.config.ServiceID == "" && service.ConnectivityPath == c.config.Tier1Path {
			return &service, nil
		}
	}
	if c.config.ServiceID != "" {
		return nil, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "GET lb-services", Err: fmt.Errorf("lb-service-id "+
			"in section [LoadBalancer]: NSX-T has no load balancer service %s", c.config.ServiceID)}
	}
	return nil, nil
}
