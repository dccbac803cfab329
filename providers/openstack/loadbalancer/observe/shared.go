package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
)

const (
	// versionAge is the max age of the API's version: an Octavia is upgraded about twice a year.
	versionAge = time.Hour
	// versionRetry is the time until unreadable versions are read again.
	versionRetry = time.Minute
	// networkAge is that of networks and subnets, which change about as often as clusters are created.
	networkAge = 10 * time.Minute
	// nodePortsAge is that of the ports of a node. They change when it is created, which is detected by their absence.
	nodePortsAge = 5 * time.Minute
	// maxServersPerRead is the maximum number of servers in one read of ports, so that the request line stays short
	// enough for every proxy: an ID takes 47 characters of it.
	maxServersPerRead = 50
)

// SharedReader reads the SharedState and caches it.
type SharedReader struct {
	api      API
	clock    clock.PassiveClock
	settings model.Settings
	serverID func(string) (string, error)

	version  *snapshot.Value[model.Version]
	external *snapshot.Value[string]
	subnets  *snapshot.Value[map[string]api.Subnet]

	// readLock serializes reads of ports, so that waiting callers use the result.
	readLock locks.Mutex
	store    *snapshot.Store
	// ports are keyed by the ID of their server.
	ports *snapshot.Table[[]api.Port]
}

// NewSharedReader returns a reader of the state that Services share. serverID returns the server of a provider ID.
func NewSharedReader(client API, c clock.PassiveClock, s model.Settings,
	serverID func(string) (string, error)) *SharedReader {
	store := snapshot.NewStore(c)
	return &SharedReader{
		api: client, clock: c, settings: s, serverID: serverID, store: store,
		ports: snapshot.NewTable(store, snapshot.Kind[[]api.Port]{MaxAge: nodePortsAge}),
		version: snapshot.NewValue(snapshot.ValueOptions[model.Version]{Clock: c, MaxAge: versionAge,
			RetryAfter: versionRetry,
			Read: func(ctx context.Context) (model.Version, error) {
				list, err := client.ListVersions(ctx)
				if err != nil {
					return model.Version{}, err
				}
				return model.NewestVersion(list)
			}}),
		external: snapshot.NewValue(snapshot.ValueOptions[string]{Clock: c, MaxAge: networkAge,
			Read: func(ctx context.Context) (string, error) { return FindExternal(ctx, client) }}),
		subnets: snapshot.NewValue(snapshot.ValueOptions[map[string]api.Subnet]{Clock: c, MaxAge: networkAge,
			Read: func(ctx context.Context) (map[string]api.Subnet, error) {
				list, err := client.ListSubnets(ctx, "")
				byID := make(map[string]api.Subnet, len(list))
				for _, subnet := range list {
					byID[subnet.ID] = subnet
				}
				return byID, err
			}}),
	}
}

// Get reads what is missing or stale. Reads are serialized, so that everything is read once.
func (s *SharedReader) Get(ctx context.Context, nodes []*v1.Node) (model.SharedState, error) {
	features, err := s.features(ctx)
	if err != nil {
		return model.SharedState{}, err
	}
	out := model.SharedState{Features: features}
	if s.settings.FloatingNetworkID == "" && !s.settings.Internal {
		if out.External, err = s.external.Get(ctx); err != nil {
			return model.SharedState{}, err
		}
		out.NoExternal = out.External == ""
	}
	if s.settings.ManageSecurityGroups {
		if out.Subnets, err = s.subnets.Get(ctx); err != nil {
			return model.SharedState{}, err
		}
		if out.NodePorts, err = s.portsOf(ctx, s.servers(nodes)); err != nil {
			return model.SharedState{}, err
		}
	}
	if s.settings.SubnetID == "" && (s.settings.NetworkID == "" || s.settings.MemberSubnetID == "") {
		out.NodeSubnets = map[v1.IPFamily]string{}
		for _, family := range []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} {
			if out.NodeSubnets[family], err = s.subnetOfNodes(ctx, nodes, family); err != nil {
				return model.SharedState{}, err
			}
		}
	}
	return out, nil
}

// Subnets returns the subnets of the project, by ID; those of a new read if the last ones lack one. If they cannot be
// read, the last ones count. A client that may not list them knows none.
func (s *SharedReader) Subnets(ctx context.Context, lacksOne func(map[string]api.Subnet) bool) (map[string]api.Subnet,
	error) {
	subnets, err := s.subnets.Get(ctx)
	if err == nil && lacksOne(subnets) {
		subnets, err = s.subnets.GetSince(ctx, s.clock.Now().Add(-confirmAge))
	}
	if cloudapi.Is(err, cloudapi.Denied) {
		return map[string]api.Subnet{}, nil
	}
	if last, known := s.subnets.Peek(); err != nil && known && ctx.Err() == nil {
		return last, nil
	}
	return subnets, err
}

// features returns what Octavia supports. If its versions cannot be read, the last answer counts. Without one, the
// newest version is assumed: then nothing that load balancers use is taken away from them, and an older Octavia rejects
// a request with what it lacks. Members follow the nodes in any case.
func (s *SharedReader) features(ctx context.Context) (model.Features, error) {
	out := model.Features{OVN: s.settings.Provider == model.ProviderOVN}
	v, err := s.version.Get(ctx)
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if err != nil {
		var known bool
		if v, known = s.version.Peek(); !known {
			v, out.Assumed = model.VersionNewest, true
		}
	}
	out.Version = v
	return out, nil
}

func (s *SharedReader) servers(nodes []*v1.Node) []string {
	var ids []string
	for _, n := range nodes {
		if id, err := s.serverID(n.Spec.ProviderID); err == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// portsOf reads the ports of servers, many at once.
func (s *SharedReader) portsOf(ctx context.Context, servers []string) (map[string][]api.Port, error) {
	unlock, err := s.readLock.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	out := make(map[string][]api.Port, len(servers))
	var missing []string
	for _, id := range servers {
		if out[id], _ = s.ports.Get(id); !s.ports.Fresh(id) || len(out[id]) == 0 {
			missing, out[id] = append(missing, id), nil
		}
	}
	for chunk := range slices.Chunk(missing, maxServersPerRead) {
		r := s.store.Begin()
		list, err := s.api.ListPorts(ctx, api.PortFilter{DeviceIDs: chunk})
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			out[p.DeviceID] = append(out[p.DeviceID], p)
		}
		for _, id := range chunk {
			s.ports.Merge(r, id, out[id])
		}
	}
	return out, nil
}

// subnetOfNodes returns the subnet of the first node's address of the family, in the order of names, so that
// every manager finds the same one. It makes no call for a family without nodes.
func (s *SharedReader) subnetOfNodes(ctx context.Context, nodes []*v1.Node, family v1.IPFamily) (string, error) {
	nodes = sorting.SortedFunc(slices.Values(nodes), func(a, b *v1.Node) int { return cmp.Compare(a.Name, b.Name) })
	for _, n := range nodes {
		id, err := s.serverID(n.Spec.ProviderID)
		address := model.NodeAddress(n, family)
		if err != nil || address == "" {
			continue
		}
		ports, err := s.portsOf(ctx, []string{id})
		if err != nil {
			return "", err
		}
		if _, subnet := model.PortWithAddress(ports[id], address); subnet != "" {
			return subnet, nil
		}
	}
	return "", nil
}

// FindExternal returns the first external network, in the order of Neutron's list, with an IPv4 subnet or with one that
// this project may not see; "" if there is none. One without subnets has no addresses. Other managers choose the same.
func FindExternal(ctx context.Context, client api.NetworkAPI) (string, error) {
	networks, err := client.ListExternalNetworks(ctx)
	if err != nil {
		return "", err
	}
	for _, n := range networks {
		if len(n.Subnets) == 0 {
			continue
		}
		visible, err := client.ListSubnets(ctx, n.ID)
		if err != nil {
			return "", err
		}
		for _, id := range n.Subnets {
			i := slices.IndexFunc(visible, func(s api.Subnet) bool { return s.ID == id })
			if i < 0 || visible[i].IPVersion == 4 {
				return n.ID, nil
			}
		}
	}
	return "", nil
}

// FloatingSubnets returns the subnets for a floating IP, in the order of their names. One empty ID leaves the
// choice to Neutron.
func FloatingSubnets(ctx context.Context, client api.NetworkAPI, f model.FloatingIP) ([]string, error) {
	switch {
	case f.SubnetID != "":
		return []string{f.SubnetID}, nil
	case f.SubnetPattern == "" && f.SubnetTags == "":
		return []string{""}, nil
	}
	subnets, err := client.ListSubnets(ctx, f.NetworkID)
	if err != nil {
		return nil, err
	}
	match := func(api.Subnet) bool { return true }
	if f.SubnetPattern != "" {
		pattern, err := annotation.ParsePattern(f.SubnetPattern)
		if err != nil {
			return nil, err
		}
		match = func(s api.Subnet) bool { return pattern.Match(s.Name) }
	}
	filter := annotation.ParseTagFilter(f.SubnetTags)
	sortByName(subnets)
	var ids []string
	for _, s := range subnets {
		if s.IPVersion == 4 && match(s) && (f.SubnetTags == "" || filter.Match(s.Tags)) {
			ids = append(ids, s.ID)
		}
	}
	if len(ids) == 0 {
		return nil, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "choosing a subnet for the floating IP",
			Err: fmt.Errorf("no IPv4 subnet of network %s matches %s %q, %s %q: correct them, or name the subnet's ID in %s",
				f.NetworkID, annotation.KeyFloatingSubnet, f.SubnetPattern, annotation.KeyFloatingSubnetTags, f.SubnetTags,
				annotation.KeyFloatingSubnetID)}
	}
	return ids, nil
}

func sortByName(subnets []api.Subnet) {
	sorting.Func(subnets, func(a, b api.Subnet) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
}

// SecondSubnet returns a subnet of the other family in the network of the first, for a second address; "" if there is
// none.
func SecondSubnet(
	ctx context.Context, client api.NetworkAPI, place model.LoadBalancer, family v1.IPFamily,
) (string, error) {
	network := place.NetworkID
	if network == "" {
		if place.SubnetID == "" {
			return "", nil
		}
		subnet, err := client.GetSubnet(ctx, place.SubnetID)
		if err != nil {
			return "", err
		}
		network = subnet.NetworkID
	}
	subnets, err := client.ListSubnets(ctx, network)
	if err != nil {
		return "", err
	}
	version := 4
	if family == v1.IPv6Protocol {
		version = 6
	}
	sortByName(subnets)
	for _, s := range subnets {
		if s.IPVersion == version {
			return s.ID, nil
		}
	}
	return "", nil
}
