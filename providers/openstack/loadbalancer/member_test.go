package loadbalancer

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

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
