package openstack

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

const (
	// idsPerCall keeps the query of a read by IDs below the 8 kB that services take.
	idsPerCall = 100
	// portsAge is how long ports that were read with servers may be used for something else. Changes
	// of them are conditional on their revision, so that an old one does no harm.
	portsAge = time.Minute
)

// nodePorts reads the ports of servers, and remembers them for a while.
type nodePorts struct {
	api   api.NetworkAPI
	clock clock.PassiveClock

	mu sync.Mutex
	// byAddress are the ports that were read lately, by each of their fixed addresses, of which
	// several networks may have the same.
	byAddress map[string][]seenPort
}

type seenPort struct {
	port api.Port
	at   time.Time
}

func newNodePorts(network api.NetworkAPI, c clock.PassiveClock) *nodePorts {
	return &nodePorts{api: network, clock: c, byAddress: map[string][]seenPort{}}
}

// of returns the ports of servers, by server, in the order of Neutron: of few servers by their IDs, of
// many out of one list of all that can be seen.
func (n *nodePorts) of(ctx context.Context, servers []api.Server) (map[string][]api.Port, error) {
	out := make(map[string][]api.Port, len(servers))
	wanted := make([]string, 0, len(servers))
	for _, s := range servers {
		wanted = append(wanted, s.ID)
		out[s.ID] = nil
	}
	if len(wanted) > idsPerCall {
		if err := n.read(ctx, api.PortFilter{}, out); err != nil {
			return nil, err
		}
		// A server without ports in the list may have ports of another project.
		wanted = wanted[:0]
		for _, s := range servers {
			if len(out[s.ID]) == 0 && len(s.Addresses) > 0 {
				wanted = append(wanted, s.ID)
			}
		}
	}
	for chunk := range slices.Chunk(wanted, idsPerCall) {
		if err := n.read(ctx, api.PortFilter{DeviceIDs: chunk}, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read adds ports to those of the servers that out has.
func (n *nodePorts) read(ctx context.Context, f api.PortFilter, out map[string][]api.Port) error {
	at := n.clock.Now()
	list, err := n.api.ListPorts(ctx, f)
	if err != nil {
		return err
	}
	for _, port := range list {
		if _, ok := out[port.DeviceID]; ok {
			out[port.DeviceID] = append(out[port.DeviceID], port)
			n.remember(port, at)
		}
	}
	return nil
}

// below returns the addresses of ports below those of servers (of trunks), by server and by the name of
// their network. They are an extra: without them a node still has its own addresses.
func (n *nodePorts) below(ctx context.Context, ports map[string][]api.Port) map[string]networkAddresses {
	owner := map[string]string{}
	var ids []string
	for server, list := range ports {
		for _, port := range list {
			if port.Trunk == nil {
				continue
			}
			for _, sub := range port.Trunk.SubPorts {
				owner[sub.PortID] = server
				ids = append(ids, sub.PortID)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	found, networks, err := n.portsAndNetworks(ctx, ids)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Reading the ports of trunks failed; nodes go without their addresses", "ports", len(ids))
		return nil
	}
	out := map[string]networkAddresses{}
	for _, port := range found {
		server := owner[port.ID]
		if out[server] == nil {
			out[server] = networkAddresses{}
		}
		for _, ip := range port.FixedIPs {
			network := networks[port.NetworkID]
			out[server][network] = append(out[server][network], api.ServerAddress{Address: ip.Address, Type: "fixed"})
		}
	}
	return out
}

// portsAndNetworks reads ports, and the names of their networks by ID.
func (n *nodePorts) portsAndNetworks(ctx context.Context, ids []string) ([]api.Port, map[string]string, error) {
	var (
		found    []api.Port
		networks []string
	)
	for chunk := range slices.Chunk(ids, idsPerCall) {
		list, err := n.api.ListPorts(ctx, api.PortFilter{IDs: chunk})
		if err != nil {
			return nil, nil, err
		}
		found = append(found, list...)
	}
	for _, port := range found {
		networks = append(networks, port.NetworkID)
	}
	slices.Sort(networks)
	byID := map[string]string{}
	for chunk := range slices.Chunk(slices.Compact(networks), idsPerCall) {
		list, err := n.api.ListNetworks(ctx, chunk)
		if err != nil {
			return nil, nil, err
		}
		for _, network := range list {
			byID[network.ID] = network.Name
		}
	}
	return found, byID, nil
}

func (n *nodePorts) remember(port api.Port, at time.Time) {
	n.forget(port)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, ip := range port.FixedIPs {
		n.byAddress[ip.Address] = append(n.byAddress[ip.Address], seenPort{port, at})
	}
}

// forget lets a port be read again before it is used.
func (n *nodePorts) forget(port api.Port) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, ip := range port.FixedIPs {
		n.byAddress[ip.Address] = slices.DeleteFunc(n.byAddress[ip.Address], func(seen seenPort) bool { return seen.port.ID == port.ID })
	}
}

// at returns the ports that have these addresses and suit, those that were not read lately by few
// calls. An address without one is absent.
func (n *nodePorts) at(ctx context.Context, addresses []string, suits func(address string, port api.Port) bool) (map[string]api.Port, error) {
	out := make(map[string]api.Port, len(addresses))
	now := n.clock.Now()
	var unknown []string
	n.mu.Lock()
	for _, address := range addresses {
		i := slices.IndexFunc(n.byAddress[address], func(seen seenPort) bool {
			return now.Sub(seen.at) < portsAge && suits(address, seen.port)
		})
		if i < 0 {
			unknown = append(unknown, address)
			continue
		}
		out[address] = n.byAddress[address][i].port
	}
	n.mu.Unlock()
	for chunk := range slices.Chunk(unknown, idsPerCall) {
		list, err := n.api.ListPorts(ctx, api.PortFilter{Addresses: chunk})
		if err != nil {
			return nil, err
		}
		for _, port := range list {
			n.remember(port, now)
			for _, ip := range port.FixedIPs {
				if slices.Contains(chunk, ip.Address) && suits(ip.Address, port) {
					out[ip.Address] = port
				}
			}
		}
	}
	return out, nil
}
