package loadbalancer

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// An author of Services in one namespace names the address that a Service of another namespace keeps. It is used, and
// outlives that Service with its tag: only the Service that an address was allocated for releases it.
func TestKeptFloatingIPOfOtherServiceIsDetached(t *testing.T) {
	byAnnotation := func(s *v1.Service, address string) { s.Annotations[intent.KeyStaticAddresses] = address }
	for _, tt := range []struct {
		name string
		use  func(s *v1.Service, address string)
		// leave is what the other Service does before its deletion.
		leave func(r *rig, s *v1.Service)
	}{
		{name: "named by loadBalancerIP", use: func(s *v1.Service, address string) { s.Spec.LoadBalancerIP = address }},
		{name: "named by static-addresses", use: byAnnotation},
		{name: "with keep-floatingip false", use: func(s *v1.Service, address string) {
			byAnnotation(s, address)
			annotate("keep-floatingip", "false")(s)
		}},
		{name: "then not named any more", use: byAnnotation, leave: func(_ *rig, s *v1.Service) {
			delete(s.Annotations, intent.KeyStaticAddresses)
		}},
		{name: "then internal", use: byAnnotation, leave: func(_ *rig, s *v1.Service) {
			delete(s.Annotations, intent.KeyStaticAddresses)
			internal(s)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				victim := service(func(s *v1.Service) { s.Namespace = "tenant-a" }, annotate("keep-floatingip", "true"))
				address := r.ensure(victim).Ingress[0].IP
				r.remove(victim)
				kept := r.fips()[0]
				tenant := service(named("tenant"), func(s *v1.Service) { s.Namespace = "tenant-b" })
				tt.use(tenant, address)
				if got := r.ensure(tenant).Ingress[0].IP; got != address {
					t.Fatalf("the address is %s, want %s", got, address)
				}
				if tags := r.fips()[0].Tags; !slices.Equal(tags, kept.Tags) {
					t.Errorf("tags %q, were %q", tags, kept.Tags)
				}
				r.steady(tenant)
				if tt.leave != nil {
					tt.leave(r, tenant)
					r.ensure(tenant)
				}
				r.restart()
				r.remove(tenant)
				fips := r.fips()
				if len(fips) != 1 || fips[0].ID != kept.ID || fips[0].PortID != "" || !slices.Contains(fips[0].Tags, names.KeepTag) {
					t.Errorf("floating IPs %+v, want %+v", fips, kept)
				}
				if got := r.ensure(victim).Ingress[0].IP; got != address {
					t.Errorf("its Service gets the address %s, had %s", got, address)
				}
				victim.Annotations = map[string]string{}
				annotate("keep-floatingip", "false")(victim)
				r.remove(victim)
				r.nothing()
			})
		})
	}
}

// The address of a shared load balancer is its owner's: a guest that leaves last deletes it with the load balancer,
// unless the owner keeps it.
func TestAddressOfSharedLoadBalancerFollowsItsOwner(t *testing.T) {
	for name, keep := range map[string]bool{"the owner keeps it": true, "the owner does not keep it": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				owner := service()
				r.ensure(owner)
				guest := service(named("guest"), onPorts(8080), annotate("load-balancer-id", r.balancer().ID, "keep-floatingip", "false"))
				r.ensure(guest)
				if keep {
					annotate("keep-floatingip", "true")(owner)
				}
				r.remove(owner)
				r.restart()
				r.remove(guest)
				if n := len(r.fips()); (n == 1) != keep {
					t.Errorf("%d floating IPs are left", n)
				}
				r.dropFIPs()
				r.nothing()
			})
		})
	}
}

// Services that share a load balancer have its address in their status. If a person deletes it, its owner gets the
// address again, although another one is synced first or even names it.
func TestGuestTakesNoAddressOfItsHost(t *testing.T) {
	for _, owned := range []string{"allocated", "kept"} {
		for _, namesIt := range []bool{false, true} {
			if owned == "kept" && namesIt {
				continue // Whoever names an address that is kept gets it while it is free.
			}
			t.Run(fmt.Sprintf("%s, names it %t", owned, namesIt), func(t *testing.T) {
				bubble(t, sim.Options{}, Settings{}, func(r *rig) {
					owner := floatingOwners[owned](r)
					address := r.ensure(owner).Ingress[0].IP
					guest := service(named("guest"), onPorts(8080), annotate("load-balancer-id", r.balancer().ID))
					r.ensure(guest)
					if err := r.sim.DeleteLoadBalancer(lbName("web")); err != nil {
						t.Fatal(err)
					}
					r.restart()
					if namesIt {
						guest.Spec.LoadBalancerIP = address
						r.ensureError(guest, "default/web")
					} else if got := r.ensure(guest).Ingress[0].IP; got == address {
						t.Errorf("the guest has the address %s of its host", got)
					}
					if got := r.ensure(owner).Ingress[0].IP; got != address {
						t.Errorf("the address is %s, was %s", got, address)
					}
					r.remove(guest)
					r.remove(owner)
					r.dropFIPs()
					r.nothing()
				})
			})
		}
	}
}
