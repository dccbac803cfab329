package loadbalancer

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// TestClientsOfListenerAreRemovedOnlyForCause verifies that a listener of another manager keeps each range that the
// Service has never named, until an approval, and that other changes of it, and of its ranges, are applied.
func TestClientsOfListenerAreRemovedOnlyForCause(t *testing.T) {
	byHand := []string{"198.51.100.0/24", "203.0.113.0/24"}
	named, other := byHand[:1], "192.0.2.0/24"
	ranges := func(cidrs ...string) func(*v1.Service) {
		return func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = cidrs }
	}
	for name, tt := range map[string]struct {
		change func(*rig, *v1.Service)
		want   []string
	}{
		"no change": {func(*rig, *v1.Service) {}, byHand},
		"another setting": {func(_ *rig, svc *v1.Service) {
			annotate("connection-limit", "77")(svc)
		}, byHand},
		"edit": {func(_ *rig, svc *v1.Service) { ranges(other)(svc) }, []string{other, byHand[1]}},
		"edit of a port": {func(_ *rig, svc *v1.Service) {
			annotate(intent.KeyPortSourceRanges, "http=198.51.100.7/32")(svc)
		}, []string{"198.51.100.7/32", byHand[1]}},
		"edit after a restart": {func(r *rig, svc *v1.Service) {
			annotate("connection-limit", "77")(svc)
			r.ensure(svc)
			ranges(other)(svc)
			r.restart()
		}, []string{other, byHand[1]}},
		"approval": {(*rig).approveHeld, named},
	} {
		t.Run(name, func(t *testing.T) {
			svc := service(ranges(named...))
			takeOver(t, sim.Options{}, svc, func(r *rig, _ api.LoadBalancer) {
				r.allow(byHand...)
				r.restart()
				r.ensure(svc)
				r.wantEvent("disrupts traffic: no edit of the Service that was seen since the load balancer was taken over causes it")
				if m := r.mutations(); len(m) > 0 {
					t.Errorf("taking over made %v", m)
				}
				tt.change(r, svc)
				r.ensure(svc)
				l := r.listener(80)
				if got := slices.Sorted(slices.Values(l.AllowedCIDRs)); !slices.Equal(got, tt.want) {
					t.Errorf("allowed %q, want %q", got, tt.want)
				}
				if value, ok := svc.Annotations[annotation.KeyConnectionLimit]; ok && fmt.Sprint(l.ConnLimit) != value {
					t.Errorf("connection limit %d, want %s", l.ConnLimit, value)
				}
			})
		})
	}
}

// TestClientsAddedByHandAreRemoved verifies that drift of the allowed clients is corrected, and that a listener gets
// further clients without a cause.
func TestClientsAddedByHandAreRemoved(t *testing.T) {
	own := []string{"198.51.100.0/24", "203.0.113.0/24"}
	for name, byHand := range map[string][]string{
		"added": append(slices.Clone(own), "192.0.2.0/24"), "removed": own[:1], "all clients": {"0.0.0.0/0"}, "open": {},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service(func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = own })
				r.ensure(svc)
				r.allow(byHand...)
				r.restart()
				r.ensure(svc)
				if l := r.listener(80); !slices.Equal(l.AllowedCIDRs, own) {
					t.Errorf("allowed %q, want %q", l.AllowedCIDRs, own)
				}
			})
		})
	}
}

// allow sets the allowed clients of the listener at port 80 by hand.
func (r *rig) allow(cidrs ...string) {
	r.t.Helper()
	_, err := r.api.UpdateListener(r.t.Context(), r.listener(80).ID, listeners.UpdateOpts{AllowedCIDRs: &cidrs})
	if err != nil {
		r.t.Fatal(err)
	}
	r.front.Log().Reset()
}

// TestRangesOfGuestEditedWithoutManager verifies the ranges of a Service that shares a load balancer, whose tags have no
// record of it. Its status shows what was edited while no manager ran. Without the status, what exists counts as applied:
// fewer clients need another edit, or an approval, and more clients need neither.
func TestRangesOfGuestEditedWithoutManager(t *testing.T) {
	const first, second, third = "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"
	ranges := func(svc *v1.Service, cidrs ...string) { svc.Spec.LoadBalancerSourceRanges = cidrs }
	forget := func(r *rig, svc *v1.Service) {
		svc.Status.Conditions = nil
		r.restart()
	}
	for name, tt := range map[string]struct {
		edit func(*rig, *v1.Service)
		want []string
	}{
		"fewer, while a manager runs": {func(_ *rig, guest *v1.Service) { ranges(guest, first) }, []string{first}},
		"fewer, while none runs": {func(r *rig, guest *v1.Service) {
			ranges(guest, first)
			r.restart()
		}, []string{first}},
		"fewer, without a history": {func(r *rig, guest *v1.Service) {
			ranges(guest, first)
			forget(r, guest)
		}, []string{first, second}},
		"more, without a history": {func(r *rig, guest *v1.Service) {
			ranges(guest, first, second, third)
			forget(r, guest)
		}, []string{first, second, third}},
		"fewer, without a history, and approved": {func(r *rig, guest *v1.Service) {
			ranges(guest, first)
			forget(r, guest)
			r.ensure(guest)
			r.wantEvent("disrupts traffic: no edit of the Service")
			r.approveHeld(guest)
		}, []string{first}},
		"others, without a history, and edited again": {func(r *rig, guest *v1.Service) {
			ranges(guest, first)
			forget(r, guest)
			r.ensure(guest)
			ranges(guest, third)
		}, []string{second, third}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				owner := service()
				r.ensure(owner)
				guest := service(named("guest"), onPorts(8080), annotate("load-balancer-id", r.balancer().ID))
				ranges(guest, first, second)
				r.ensure(guest)
				r.restart()
				r.ensure(owner)
				r.ensure(guest)
				tt.edit(r, guest)
				r.ensure(guest)
				if got := r.listener(8080).AllowedCIDRs; !slices.Equal(slices.Sorted(slices.Values(got)), tt.want) {
					t.Errorf("allowed %q, want %q", got, tt.want)
				}
				r.launch("node-9")
				r.ensure(guest)
				if n := len(r.membersAt(8080)); n != 4 {
					t.Errorf("%d members, want 4", n)
				}
				r.remove(guest)
				r.remove(owner)
			})
		})
	}
}
