package realservices

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// TestInventoryHasTheKindsOfTheSimulator reads the simulator through its API, as if it were real services.
func TestInventoryHasTheKindsOfTheSimulator(t *testing.T) {
	simulated, err := sim.New(sim.Options{IPv6: true})
	if err != nil {
		t.Fatal(err)
	}
	roots, a := newServices(t, simulated), simulated.Account()
	tenant, err := login(t.Context(), roots["identity"]+"/v3", a.Username, a.Password, a.ProjectName)
	if err != nil {
		t.Fatal(err)
	}
	tenant.roots = roots
	fixtures := simulated.Places()
	c := &Cloud{tenant: tenant, places: places{
		project: a.ProjectID, network: fixtures.PrivateNetwork, router: fixtures.Router, public: fixtures.PublicNetwork,
	}}
	if _, err := simulated.Launch(world.Machine{Name: "node-1"}); err != nil {
		t.Fatal(err)
	}
	if err := simulated.AddForeignRoute("10.244.9.0/24"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Reserve(); err != nil {
		t.Fatal(err)
	}
	if err := tenant.call(t.Context(), "POST load-balancer/lbaas/loadbalancers", object{"loadbalancer": object{
		"name": "web", "vip_subnet_id": fixtures.PrivateSubnet, "listeners": []object{{
			"name": "listener", "protocol": "TCP", "protocol_port": 80, "timeout_client_data": 2000000, "default_pool": object{
				"name": "pool", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN",
				"members":       []object{{"name": "node-1", "address": "10.0.0.7", "protocol_port": 30080}},
				"healthmonitor": object{"name": "monitor", "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1},
			},
		}},
	}}, nil); err != nil {
		t.Fatal(err)
	}
	got, want := c.Inventory(), simulated.Inventory()
	kinds := map[string]bool{}
	for _, list := range [][]world.Object{got, want} {
		for _, o := range list {
			kinds[o.Kind] = true
			if o.Kind == "server" {
				clear(o.Fields) // the simulator's have another form than Nova's
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-simulator's own +through its API):\n%s", diff)
	}
	if len(kinds) != 11 {
		t.Errorf("kinds %v, want all 11", kinds)
	}
}
