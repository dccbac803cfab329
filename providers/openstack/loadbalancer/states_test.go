package loadbalancer

import (
	"strings"
	"testing"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// The Events of a Service match the state of its load balancer in Octavia: no Event reports that a failed one is still
// being created.
func TestErrorsByProvisioningStatus(t *testing.T) {
	for _, tt := range []struct {
		state string
		// shared says that another Service uses the load balancer too.
		shared bool
		// error is the expected error; "" for success.
		error string
	}{
		{state: api.Active},
		{state: api.PendingCreate, error: "is still busy"},
		{state: api.PendingUpdate, error: "is still busy"},
		{state: api.PendingDelete, error: "is still busy"},
		{state: api.Error},
		{state: api.Error, shared: true, error: "is in the state ERROR, and is not this Service's alone: ask the cloud's operator for a failover"},
	} {
		name := tt.state
		if tt.shared {
			name += " and shared"
		}
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service()
				r.ensure(svc)
				if tt.shared {
					r.ensure(service(named("guest"), onPorts(8080), annotate("load-balancer-id", r.balancer().ID)))
				}
				if err := r.sim.SetLoadBalancerStatus(lbName("web"), tt.state); err != nil {
					t.Fatal(err)
				}
				r.restart()
				svc.Spec.Ports[0].NodePort = 31111 // something to change
				ctx, cancel := contextWithTimeout(r.t, time.Minute)
				defer cancel()
				_, err := r.manager.EnsureLoadBalancer(ctx, r.cluster, svc, r.nodes)
				if (err == nil) != (tt.error == "") || err != nil && !strings.Contains(err.Error(), tt.error) {
					t.Errorf("error %v, want %q", err, tt.error)
				}
				if err != nil && strings.Contains(err.Error(), "still working") {
					t.Errorf("the Service has to wait: %v", err)
				}
			})
		})
	}
}
