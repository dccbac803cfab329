package observe

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
)

// NodeListeners returns the IDs of the listeners that have a node of this cluster among their members. servers are
// those of its nodes. The address of a member alone proves nothing: clusters from one template have nodes of the same
// names and addresses, in networks of their own. Neutron shows which server has the address.
func (s *Store) NodeListeners(ctx context.Context, have Observed, servers map[string]bool) (map[string]bool, error) {
	if len(servers) == 0 {
		return nil, nil
	}
	found, members := map[string]bool{}, map[string][]api.Member{}
	var addresses []string
	for _, l := range have.Listeners {
		if l.DefaultPoolID == "" {
			continue
		}
		list, _, err := s.Members.Ensure(ctx, l.DefaultPoolID)
		if err != nil {
			return nil, err
		}
		members[l.ID] = list
		for _, m := range list {
			addresses = append(addresses, m.Address)
		}
	}
	slices.Sort(addresses)
	for chunk := range slices.Chunk(slices.Compact(addresses), maxServersPerRead) {
		ports, err := s.api.ListPorts(ctx, api.PortFilter{Addresses: chunk})
		if err != nil {
			return nil, err
		}
		for listener, list := range members {
			found[listener] = found[listener] ||
				slices.ContainsFunc(list, func(m api.Member) bool { return isServer(m, ports, servers) })
		}
	}
	return found, nil
}

// isServer reports whether a member is one of the servers: the port of one has its address, in the subnet of the
// member. The subnet of a member may be that of the load balancer's address, from which the nodes are routed: then no
// other device of the project may have the address.
func isServer(m api.Member, ports []api.Port, servers map[string]bool) bool {
	ours, others := false, false
	for _, p := range ports {
		for _, f := range p.FixedIPs {
			switch {
			case !model.SameIP(f.Address, m.Address):
			case !servers[p.DeviceID]:
				others = true
			case f.SubnetID == m.SubnetID:
				return true
			default:
				ours = true
			}
		}
	}
	return ours && !others
}
