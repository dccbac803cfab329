package loadbalancer

import (
	"net/netip"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// The address of a load balancer at a port of the user may be in another network than the nodes. Its members are reached
// from the nodes' subnet all the same: an amphora without it has no interface to the nodes, and the OVN driver rejects
// every member that joins (member_create in ovn_octavia_provider/driver.py).
func TestMembersOfLoadBalancerAtPortHaveSubnetOfNodes(t *testing.T) {
	for _, tt := range []struct {
		name, driver string
		configured   bool
	}{
		{name: "amphora", driver: "amphora"}, {name: "ovn", driver: model.ProviderOVN},
		{name: "configured network", driver: "amphora", configured: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{Provider: tt.driver}, func(r *rig) {
				network, _, err := r.sim.AddNetwork("other", netip.MustParsePrefix("10.9.0.0/24"), false)
				if err != nil {
					t.Fatal(err)
				}
				r.settings.SubnetID = ""
				if tt.configured {
					r.settings.NetworkID = network
				}
				r.restart()
				port, err := ports.Create(r.t.Context(), connect(r.t, r.front, r.sim.Account()).services[api.Network],
					ports.CreateOpts{NetworkID: network, Name: "vip"}).Extract()
				if err != nil {
					t.Fatal(err)
				}
				svc := service(internal, annotate("port-id", port.ID))
				r.ensure(svc)
				if lb := r.balancer(); lb.VipPortID != port.ID {
					t.Errorf("the load balancer is at port %s, want %s", lb.VipPortID, port.ID)
				}
				r.launch("joins")
				r.ensure(svc)
				members := r.membersAt(80)
				if len(members) != len(r.nodes) {
					t.Errorf("%d members, want %d", len(members), len(r.nodes))
				}
				for _, m := range members {
					if m.SubnetID != r.privateSubnet {
						t.Errorf("the member %s has the subnet %q, want that of the nodes, %s", m.Name, m.SubnetID, r.privateSubnet)
					}
				}
				r.steady(svc)
				r.remove(svc)
			})
		})
	}
}

// TestMembersHaveDistinctAddresses: a node that registered again under another name has the address of the old one until that
// is deleted. A batch that named a member twice would leave the load balancer PENDING_UPDATE for good.
func TestMembersHaveDistinctAddresses(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		// In the order of names the two are not neighbours.
		r.nodes[2].Status.Addresses = r.nodes[0].Status.Addresses
		svc := service()
		r.ensure(svc)
		r.nodes[1], r.nodes[2] = r.nodes[2], r.nodes[1]
		r.launch("node-3")
		r.update(svc)
		pools, err := r.api.ListPools(t.Context(), r.balancer().ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, pool := range pools {
			members, err := r.api.ListMembers(t.Context(), pool.ID)
			if err != nil {
				t.Fatal(err)
			}
			if len(members) != 3 {
				t.Errorf("pool %s has %d members, want one for each of the 3 addresses of 4 nodes: %v", pool.Name, len(members), members)
			}
		}
		r.remove(svc)
	})
}
