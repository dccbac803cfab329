package classic

import (
	"context"
	"slices"
	"testing"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// TestEventualConsistencyCausesNoDuplicates pins that a load balancer is not made twice, and a deletion not thought
// done, while AWS does not show yet what was made.
func TestEventualConsistencyCausesNoDuplicates(t *testing.T) {
	r := newRig(t, sim.Options{SettleTime: 40 * time.Second})
	before := r.sim.Objects()
	svc := service()
	r.ensure(svc)
	r.mutations()
	for range 4 {
		r.ensure(svc)
		if got := r.mutations(); len(got) != 0 {
			t.Fatalf("the same again made the calls %v", got)
		}
		r.clock.Step(20 * time.Second)
	}
	r.remove(svc)
	if after := r.sim.Objects(); after["security-groups"] != before["security-groups"] || after["classic-load-balancers"] != before["classic-load-balancers"] {
		t.Errorf("objects before %v, after %v", before, after)
	}
}

// TestRestartDuringEventualConsistency pins that a manager that knows nothing waits instead of giving up.
func TestRestartDuringEventualConsistency(t *testing.T) {
	r := newRig(t, sim.Options{SettleTime: 40 * time.Second})
	svc := service()
	r.ensure(svc)
	r.restart()
	r.until(func() error {
		_, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, svc, r.nodes)
		return err
	})
	if b := r.balancer(); len(b.Instances) != 3 || len(r.sourceGroups()) != 1 {
		t.Errorf("load balancer %+v", b)
	}
	r.restart()
	if p := r.remaining(svc); !p.Empty() {
		t.Errorf("left to do: %v", p.Changes)
	}
}

// TestTerminatedInstanceDoesNotBlockRegistration pins that an instance that went since it was last seen does not keep others from receiving traffic.
func TestTerminatedInstanceDoesNotBlockRegistration(t *testing.T) {
	r := newRig(t, sim.Options{TerminatedTime: -1})
	svc := service()
	r.ensure(svc)
	r.launch()
	r.launch()
	_ = r.remaining(svc) // the instances are known by now
	if err := r.sim.Terminate(r.nodes[4].Name); err != nil {
		t.Fatal(err)
	}
	_ = r.manager.UpdateLoadBalancer(t.Context(), clusterName, svc, r.nodes) // one of them cannot be registered
	var have []string
	for _, i := range r.balancer().Instances {
		have = append(have, *i.InstanceId)
	}
	if !slices.Contains(have, r.nodes[3].Spec.ProviderID) {
		t.Errorf("instances %v lack %s", have, r.nodes[3].Spec.ProviderID)
	}
}

// inconsistentELB responds to changes of instances without those that are registered, as moto does.
type inconsistentELB struct{ api.ELB }

func (e inconsistentELB) RegisterInstancesWithLoadBalancer(
	ctx context.Context, in *elb.RegisterInstancesWithLoadBalancerInput, opts ...func(*elb.Options),
) (*elb.RegisterInstancesWithLoadBalancerOutput, error) {
	out, err := e.ELB.RegisterInstancesWithLoadBalancer(ctx, in, opts...)
	if err == nil {
		out.Instances = []elbtypes.Instance{{}}
	}
	return out, err
}

func (e inconsistentELB) DeregisterInstancesFromLoadBalancer(
	ctx context.Context, in *elb.DeregisterInstancesFromLoadBalancerInput, opts ...func(*elb.Options),
) (*elb.DeregisterInstancesFromLoadBalancerOutput, error) {
	out, err := e.ELB.DeregisterInstancesFromLoadBalancer(ctx, in, opts...)
	if err == nil {
		out.Instances = []elbtypes.Instance{{}}
	}
	return out, err
}

// TestInconsistentResponseIsNotTrusted replaces nodes, again after responses that contradict the calls.
func TestInconsistentResponseIsNotTrusted(t *testing.T) {
	r := newRig(t, sim.Options{}, func(o *Options) { o.API = inconsistentELB{o.API} })
	svc := service()
	r.ensure(svc)
	for _, joins := range []bool{true, true, false, true} {
		r.nodes = r.nodes[1:]
		if joins {
			r.launch()
		}
		r.update(svc)
		var want []string
		for _, n := range r.nodes {
			want = append(want, n.Spec.ProviderID)
		}
		slices.Sort(want)
		if have := fromInstances(r.balancer().Instances); !slices.Equal(have, want) {
			t.Errorf("instances %v, want %v", have, want)
		}
	}
}

// TestDeregistrationIgnoresMissingInstances pins that an instance that is no longer registered does not keep others from being removed.
func TestDeregistrationIgnoresMissingInstances(t *testing.T) {
	r := newRig(t, sim.Options{})
	svc := service()
	r.ensure(svc)
	first, second := r.nodes[0], r.nodes[1]
	other := New(r.cloud.options)
	w := other.writer(lbcommon.Key{})
	w.name = *r.balancer().LoadBalancerName
	if _, err := w.deregisterOnce(t.Context(), []string{first.Spec.ProviderID}); err != nil {
		t.Fatal(err)
	}
	r.nodes = r.nodes[2:]
	r.update(svc)
	if b := r.balancer(); len(b.Instances) != 1 || *b.Instances[0].InstanceId == second.Spec.ProviderID {
		t.Errorf("instances %+v", b.Instances)
	}
}
