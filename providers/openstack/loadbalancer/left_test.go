package loadbalancer

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// A Service that has shared one load balancer and names another one since leaves nothing in the first when it is
// deleted: its listeners would forward to node ports that other Services get, and the load balancer would stay for it.
func TestDeletedGuestLeavesEarlierLoadBalancers(t *testing.T) {
	for name, tt := range map[string]struct {
		// owns says that the guest has a load balancer of its own first, and shares that with another Service if hosts.
		owns, hosts bool
		// back says that the guest names its own one at the end, gone that the owner of the first one is deleted.
		back, gone bool
	}{
		"to another one":               {},
		"to another one, last":         {gone: true},
		"from its own":                 {owns: true},
		"from its own, which it hosts": {owns: true, hosts: true},
		"back to its own":              {owns: true, back: true},
	} {
		for _, restarts := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				bubble(t, sim.Options{}, Settings{}, func(r *rig) {
					created := map[string]string{} // the IDs of load balancers by name
					ensure := func(svc *v1.Service, at string) *v1.Service {
						if at != "" {
							annotate("load-balancer-id", created[lbName(at)])(svc)
						}
						r.ensure(svc)
						list, err := r.api.ListLoadBalancers(r.t.Context())
						for _, lb := range list {
							created[lb.Name] = lb.ID
						}
						if err != nil {
							t.Fatal(err)
						}
						return svc
					}
					first, second := ensure(service(named("first")), ""), ensure(service(named("second")), "")
					guest, other := service(named("guest"), onPorts(8080)), service(named("other"), onPorts(9090))
					if tt.owns {
						ensure(guest, "")
					}
					if tt.hosts {
						ensure(other, "guest")
					}
					ensure(guest, "first")
					if tt.back {
						ensure(guest, "guest")
					} else {
						ensure(guest, "second")
					}
					if tt.gone {
						r.remove(first)
					}
					if restarts {
						r.restart()
					}
					r.remove(guest)
					list, err := r.api.ListListeners(r.t.Context(), "")
					for _, l := range list {
						if slices.Contains(l.Tags, lbName("guest")) {
							t.Errorf("left the listener %s at %d", l.Name, l.ProtocolPort)
						}
					}
					if err != nil {
						t.Fatal(err)
					}
					if tt.hosts {
						r.remove(other)
					}
					r.remove(first)
					r.remove(second)
					r.nothing()
				})
			})
		}
	}
}
