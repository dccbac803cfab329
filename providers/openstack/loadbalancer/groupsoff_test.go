package loadbalancer

import (
	"slices"
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// TestConfigurationAloneClosesNoNodePort disables the management of security groups. The rules that let traffic reach the
// nodes of an unchanged Service stay, also once the deletion of another Service has shown them to the manager.
func TestConfigurationAloneClosesNoNodePort(t *testing.T) {
	bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true}, func(r *rig) {
		svc, other := service(), service()
		other.Name, other.UID = "other", "ffffffff-4567-89ef-0123-456789abcdef"
		r.ensure(svc)
		r.ensure(other)
		before := r.ingressRules()
		r.settings.ManageSecurityGroups = false
		r.restart()
		r.ensure(svc)
		if got := r.ingressRules(); !slices.Equal(got, before) {
			t.Errorf("rules after the change of the configuration %q, want %q", got, before)
		}
		if _, _, err := r.manager.GetLoadBalancer(r.t.Context(), r.cluster, other); err != nil { // as the framework does first
			t.Fatal(err)
		}
		r.remove(other)
		r.ensure(svc)
		_, ports := r.serviceGroup()
		if len(r.ingressRules()) == 0 || len(ports) == 0 {
			t.Errorf("rules after another Service was deleted %q, at ports %q: traffic no longer reaches the nodes", r.ingressRules(), ports)
		}
		r.remove(svc)
		r.nothing()
	})
}
