package loadbalancer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// The owner of a load balancer adds a port that a guest has, or a guest one that the owner has.
func TestSharedListenerKeepsItsPool(t *testing.T) {
	for _, adds := range []string{"owner", "guest"} {
		t.Run(adds, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				owner := service()
				r.ensure(owner)
				guest := service(named("guest"), onPorts(8080), annotate("load-balancer-id", r.balancer().ID))
				r.ensure(guest)
				changed, port := owner, int32(8080)
				if adds == "guest" {
					changed, port = guest, 80
				}
				before, members := r.listener(int(port)), r.membersAt(int(port))
				changed.Spec.Ports = append(changed.Spec.Ports,
					v1.ServicePort{Name: "theirs", Protocol: v1.ProtocolTCP, Port: port, NodePort: 31999},
					v1.ServicePort{Name: "ours", Protocol: v1.ProtocolTCP, Port: 9090, NodePort: 31998})
				r.restart()
				r.ensure(changed)
				if diff := cmp.Diff(before, r.listener(int(port))); diff != "" {
					t.Errorf("the listener changed: %s", diff)
				}
				if diff := cmp.Diff(members, r.membersAt(int(port))); diff != "" {
					t.Errorf("its members changed: %s", diff)
				}
				r.wantEvent("is not served")
				r.listener(9090)
				r.launch("node-9")
				r.update(changed)
				if n := len(r.membersAt(9090)); n != 4 {
					t.Errorf("%d members, want 4", n)
				}
				r.remove(guest)
				r.remove(owner)
				r.nothing()
			})
		})
	}
}
