package loadbalancer

import (
	"context"
	"maps"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

func TestEnsureAnnotatesIDAndAddress(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		r.manager.SetRuntime(provider.Runtime{Recorder: r.recorder, ClusterUID: r.uid, Annotate: func(_ context.Context, s *v1.Service, a map[string]string) error {
			maps.Copy(s.Annotations, a)
			return nil
		}})
		address := r.ensure(svc).Ingress[0].IP
		if got := svc.Annotations[annotation.KeyLoadBalancerID]; got != r.balancer().ID {
			t.Errorf("the ID is %q", got)
		}
		if got := svc.Annotations[annotation.KeyLoadBalancerAddress]; got != address {
			t.Errorf("the address is %q, want %s", got, address)
		}
		r.sim.Front().Log().Reset()
		r.ensure(svc)
		if calls := r.calls(); len(calls) != 0 {
			t.Errorf("the sync that the annotations cause made calls: %v", calls)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}
