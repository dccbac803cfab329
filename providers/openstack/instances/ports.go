package instances

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

const (
	// idsPerCall keeps the query of a read by IDs below the 8 kB limit of the services.
	idsPerCall = 100
	// portMaxAge is the max age for ports that were read with servers to serve another purpose. Updates of
	// ports are conditional on their revision, so that a stale one does no harm.
	portMaxAge = time.Minute
)

// Ports reads the ports of servers and caches them. It is safe for concurrent use.
type Ports struct {
	api   api.NetworkAPI
	store *snapshot.Store
	// cached are the ports by ID, with an index by their fixed addresses, which several networks may share.
	cached *snapshot.Table[api.Port]
}

// NewPorts returns an empty cache.
func NewPorts(network api.NetworkAPI, c clock.PassiveClock) *Ports {
	store := snapshot.NewStore(c)
	return &Ports{api: network, store: store, cached: snapshot.NewTable(store, snapshot.Kind[api.Port]{
		MaxAge: portMaxAge, Index: fixedAddresses,
	})}
}

func fixedAddresses(port api.Port) []string {
	var addresses []string
	for _, ip := range port.FixedIPs {
		addresses = append(addresses, ip.Address)
	}
	return addresses
}

// ofServers returns the ports of servers by server ID, in the order of Neutron. It reads the ports of a few
// servers by their IDs, and those of many from one list of all visible ports.
func (p *Ports) ofServers(ctx context.Context, servers []api.Server) (map[string][]api.Port, error) {
	out := make(map[string][]api.Port, len(servers))
	ids := make([]string, 0, len(servers))
	for _, s := range servers {
		ids = append(ids, s.ID)
		out[s.ID] = nil
	}
	if len(ids) > idsPerCall {
		if err := p.read(ctx, api.PortFilter{}, out); err != nil {
			return nil, err
		}
		// The ports of a server may belong to another project, whose ports the list does not contain.
		ids = ids[:0]
		for _, s := range servers {
			if len(out[s.ID]) == 0 && len(s.Addresses) > 0 {
				ids = append(ids, s.ID)
			}
		}
	}
	for chunk := range slices.Chunk(ids, idsPerCall) {
		if err := p.read(ctx, api.PortFilter{DeviceIDs: chunk}, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read adds ports to out, for the servers that are its keys.
func (p *Ports) read(ctx context.Context, f api.PortFilter, out map[string][]api.Port) error {
	r := p.store.Begin()
	list, err := p.api.ListPorts(ctx, f)
	if err != nil {
		return err
	}
	for _, port := range list {
		if _, ok := out[port.DeviceID]; ok {
			out[port.DeviceID] = append(out[port.DeviceID], port)
			p.cached.Merge(r, port.ID, port)
		}
	}
	return nil
}

// subPorts returns the addresses of trunk subports, by server and by the name of their network. Errors are
// only logged: without these addresses a node still has its own.
func (p *Ports) subPorts(ctx context.Context, ports map[string][]api.Port) map[string]networkAddresses {
	serverOf, ids := trunkSubPorts(ports)
	if len(ids) == 0 {
		return nil
	}
	found, networks, err := p.portsAndNetworks(ctx, ids)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to read trunk subports; nodes lack their addresses", "ports", len(ids))
		return nil
	}
	out := map[string]networkAddresses{}
	for _, port := range found {
		server := serverOf[port.ID]
		if out[server] == nil {
			out[server] = networkAddresses{}
		}
		for _, ip := range port.FixedIPs {
			network := networks[port.NetworkID]
			address := api.ServerAddress{Address: ip.Address, Type: "fixed"}
			out[server][network] = append(out[server][network], address)
		}
	}
	return out
}

// trunkSubPorts returns the sorted IDs of the subports of the trunks of servers, and the server of each.
func trunkSubPorts(ports map[string][]api.Port) (serverOf map[string]string, ids []string) {
	serverOf = map[string]string{}
	for server, list := range ports {
		for _, port := range list {
			if port.Trunk == nil {
				continue
			}
			for _, sub := range port.Trunk.SubPorts {
				serverOf[sub.PortID] = server
				ids = append(ids, sub.PortID)
			}
		}
	}
	slices.Sort(ids)
	return serverOf, ids
}

// OfServers returns the visible ports of servers and the subports of their trunks, by server ID.
func (p *Ports) OfServers(ctx context.Context, servers []string) (map[string][]api.Port, error) {
	byServer := make(map[string][]api.Port, len(servers))
	for _, server := range servers {
		byServer[server] = nil
	}
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(byServer)), idsPerCall) {
		if err := p.read(ctx, api.PortFilter{DeviceIDs: chunk}, byServer); err != nil {
			return nil, err
		}
	}
	serverOf, ids := trunkSubPorts(byServer)
	r := p.store.Begin()
	found, err := p.byIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, port := range found {
		p.cached.Merge(r, port.ID, port)
		byServer[serverOf[port.ID]] = append(byServer[serverOf[port.ID]], port)
	}
	return byServer, nil
}

func (p *Ports) byIDs(ctx context.Context, ids []string) ([]api.Port, error) {
	var found []api.Port
	for chunk := range slices.Chunk(ids, idsPerCall) {
		list, err := p.api.ListPorts(ctx, api.PortFilter{IDs: chunk})
		if err != nil {
			return nil, err
		}
		found = append(found, list...)
	}
	return found, nil
}

// portsAndNetworks returns ports, and the names of their networks by ID.
func (p *Ports) portsAndNetworks(ctx context.Context, ids []string) ([]api.Port, map[string]string, error) {
	found, err := p.byIDs(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	var networkIDs []string
	for _, port := range found {
		networkIDs = append(networkIDs, port.NetworkID)
	}
	slices.Sort(networkIDs)
	networkNames := map[string]string{}
	for chunk := range slices.Chunk(slices.Compact(networkIDs), idsPerCall) {
		list, err := p.api.ListNetworks(ctx, chunk)
		if err != nil {
			return nil, nil, err
		}
		for _, network := range list {
			networkNames[network.ID] = network.Name
		}
	}
	return found, networkNames, nil
}

// Put caches a port as the response to a write showed it.
func (p *Ports) Put(port api.Port) { p.cached.Put(port.ID, port) }

// Invalidate drops a port, so that it is read before its next use.
func (p *Ports) Invalidate(port api.Port) { p.cached.MergeMissing(p.store.Begin(), port.ID) }

// ByAddress returns the ports that have these addresses and match. It reads those that are not cached in
// bulk. Addresses without such a port are absent from the result.
func (p *Ports) ByAddress(
	ctx context.Context, addresses []string, match func(address string, port api.Port) bool,
) (map[string]api.Port, error) {
	out := make(map[string]api.Port, len(addresses))
	var unknown []string
	for _, address := range addresses {
		candidates := p.cached.Lookup(address)
		i := slices.IndexFunc(candidates, func(port api.Port) bool { return p.cached.Fresh(port.ID) && match(address, port) })
		if i < 0 {
			unknown = append(unknown, address)
			continue
		}
		out[address] = candidates[i]
	}
	for chunk := range slices.Chunk(unknown, idsPerCall) {
		r := p.store.Begin()
		list, err := p.api.ListPorts(ctx, api.PortFilter{Addresses: chunk})
		if err != nil {
			return nil, err
		}
		for _, port := range list {
			p.cached.Merge(r, port.ID, port)
			for _, ip := range port.FixedIPs {
				if slices.Contains(chunk, ip.Address) && match(ip.Address, port) {
					out[ip.Address] = port
				}
			}
		}
	}
	return out, nil
}
