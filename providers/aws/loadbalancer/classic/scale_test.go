package classic

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// many is how many Services there are at once.
const many = 25

func numbered(n int) *v1.Service {
	return service(func(svc *v1.Service) {
		svc.Name, svc.UID = fmt.Sprintf("web-%d", n), types.UID(fmt.Sprintf("%08d-2222-3333-4444-555555555555", n))
	})
}

// all runs a step for all Services at once.
func (r *rig) all(step func(*v1.Service) error) {
	r.t.Helper()
	var wg sync.WaitGroup
	for n := range many {
		wg.Go(func() {
			if err := step(numbered(n)); err != nil {
				r.t.Errorf("Service %d: %v", n, err)
			}
		})
	}
	wg.Wait()
}

// TestConcurrentServicesWithinCallBudget pins what shared reads save, and that Services do not get into each other's way.
func TestConcurrentServicesWithinCallBudget(t *testing.T) {
	r := newRig(t, sim.Options{})
	before := r.sim.Objects()
	ensure := func(svc *v1.Service) error {
		_, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, svc, r.nodes)
		return err
	}
	r.ensure(numbered(0)) // the instances are known from now on
	r.all(ensure)

	r.restart()
	r.ensure(numbered(0))
	r.all(ensure)
	if got := operations(r.sim.Front().Log().Mutations()); len(got) > 0 {
		t.Errorf("a restart made the calls %v", got)
	}
	// Attributes of each; tags, 20 at once; subnets, route tables, zones, security groups, load balancers.
	if got, most := r.lbCalls(), many+(many+19)/20+5; got > most {
		t.Errorf("a restart made %d calls, want at most %d: %v", got, most, r.sim.Front().Log().Count())
	}

	r.launch()
	r.sim.Front().Log().Reset()
	r.update(numbered(0))
	r.all(func(svc *v1.Service) error {
		return r.manager.UpdateLoadBalancer(t.Context(), clusterName, svc, r.nodes)
	})
	if got := r.lbCalls(); got > many+1 {
		t.Errorf("a node that joins made %d calls, want at most %d: %v", got, many+1, r.sim.Front().Log().Count())
	}

	r.all(func(svc *v1.Service) error { return r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, svc) })
	before["instances"]++
	for kind, n := range r.sim.Objects() {
		if kind != "instances" && n != before[kind] {
			t.Errorf("%d %s before, %d after", before[kind], kind, n)
		}
	}
}

// TestUnknownSecurityGroupErrorNamesAnnotation pins that a listed group that does not exist names the annotation, and
// that nothing of the attempt stays when the Service goes.
func TestUnknownSecurityGroupErrorNamesAnnotation(t *testing.T) {
	r := newRig(t, sim.Options{})
	before := r.sim.Objects()
	svc := service(annotate("extra-security-groups", "sg-0123456789abcdef0"))
	err := r.ensureError(svc)
	if !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), annotation.KeyExtraSecurityGroups) || !strings.Contains(err.Error(), "sg-0123456789abcdef0") {
		t.Errorf("error %v", err)
	}
	r.remove(svc)
	if after := r.sim.Objects(); after["security-groups"] != before["security-groups"] {
		t.Errorf("objects before %v, after %v", before, after)
	}
}
