package loadbalancer

import (
	"context"
	"errors"
	"testing"
	"time"

	cpapi "k8s.io/cloud-provider/api"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/apply"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// late is an Octavia that carries out a creation when no one waits for it any more, or never.
type late struct {
	API
	// after is when it does so; 0 for never.
	after     time.Duration
	creations int
}

func (l *late) CreateLoadBalancer(ctx context.Context, spec loadbalancers.CreateOpts) (api.LoadBalancer, error) {
	l.creations++
	if l.creations > 1 {
		return l.API.CreateLoadBalancer(ctx, spec)
	}
	if l.after > 0 {
		time.AfterFunc(l.after, func() { _, _ = l.API.CreateLoadBalancer(context.WithoutCancel(ctx), spec) })
	}
	return api.LoadBalancer{}, oserr.Wrap("load-balancer", "CreateLoadBalancer", time.Now(), context.DeadlineExceeded)
}

// A creation that was not answered is not sent again while it may still be carried out: Octavia would
// make two load balancers of one name.
func TestUnansweredCreationIsNotRepeated(t *testing.T) {
	for name, after := range map[string]time.Duration{"and takes effect late": time.Minute, "and never takes effect": 0} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				slow := &late{API: r.cloud.applier.API, after: after}
				r.cloud.applier.API = slow
				svc := service()
				r.ensureError(svc, "deadline exceeded")
				began := time.Now()
				err := r.ensureError(svc, "got no reply", "sent in 2m0s")
				var retry *cpapi.RetryError
				if !errors.As(err, &retry) || retry.RetryAfter() > apply.UnansweredTimeout {
					t.Errorf("the error does not say when to come back: %v", err)
				}
				r.sleep(90 * time.Second)
				if after == 0 {
					r.ensureError(svc, "sent in 30s")
					r.sleep(30 * time.Second)
				}
				r.ensure(svc)
				list, err := r.api.ListLoadBalancers(t.Context())
				if err != nil || len(list) != 1 {
					t.Errorf("%d load balancers after %s, %v", len(list), time.Since(began), err)
				}
				if want := map[bool]int{true: 2, false: 1}[after == 0]; slow.creations != want {
					t.Errorf("%d creations were sent, want %d", slow.creations, want)
				}
			})
		})
	}
}

func TestRefusedCreationsLeaveNoPort(t *testing.T) {
	bubble(t, sim.Options{Quotas: map[string]int{sim.QuotaListeners: 1}}, Settings{}, func(r *rig) {
		for range 3 { // as the framework tries again
			r.ensureError(service())
			r.sleep(time.Minute)
		}
		if leaks := r.sim.Leaks(); len(leaks) == 0 {
			t.Error("nothing was left behind to begin with: this tests nothing")
		}
		r.sleep(apply.RefusalAge)
		if leaks := r.sim.Leaks(); len(leaks) > 0 {
			t.Errorf("left %v", leaks)
		}
	})
}
