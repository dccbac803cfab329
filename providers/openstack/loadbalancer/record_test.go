package loadbalancer

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// otherSubnet adds a network, and returns its subnet.
func (r *rig) otherSubnet() string {
	r.t.Helper()
	network, _, err := r.sim.AddNetwork("other", netip.MustParsePrefix("192.0.2.0/24"), false)
	if err != nil {
		r.t.Fatal(err)
	}
	subnets, err := r.api.ListSubnets(r.t.Context(), network)
	if err != nil {
		r.t.Fatal(err)
	}
	return subnets[0].ID
}

// The record has the ports and the annotations of protocols, so that a pool that would be replaced because of the
// configuration is held, and one that is replaced because of the Service is not.
func TestRecordHoldsPoolsThatConfigurationReplaces(t *testing.T) {
	bubble(t, sim.Options{}, Settings{Classes: map[string]Place{"gold": {}}}, func(r *rig) {
		svc := service(annotate("class", "gold"))
		r.ensure(svc)
		pool := r.pool(80).ID
		r.settings.Classes = map[string]Place{"gold": {MemberSubnetID: r.otherSubnet()}}
		for range 2 {
			r.restart()
			r.ensure(svc)
			r.wantEvent("no edit of the Service causes it")
			if m := r.mutations(); len(m) > 0 {
				t.Errorf("changes %v, want none while they are held", m)
			}
		}
		r.launch("joins")
		r.restart()
		r.update(svc)
		if n := len(r.membersAt(80)); n != 4 || r.pool(80).ID != pool {
			t.Errorf("%d members of pool %s, want 4 of %s", n, r.pool(80).ID, pool)
		}
		annotate("proxy-protocol", "true")(svc)
		r.restart()
		r.ensure(svc)
		if got := r.pool(80); got.ID == pool || got.Protocol != "PROXY" {
			t.Errorf("pool %s with protocol %s, want another one with PROXY", got.ID, got.Protocol)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

// A listener that another client replaced is corrected, also while other changes of the Service have no effect.
func TestDriftOfListenersIsCorrected(t *testing.T) {
	for name, change := range map[string]func(*v1.Service){
		"unchanged Service":                  func(*v1.Service) {},
		"Service with a change of no effect": annotate("floating-subnet", "another*"),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service()
				r.ensure(svc)
				change(svc)
				r.ensure(svc)
				l := r.listener(80)
				if err := r.api.DeleteListener(t.Context(), l.ID); err != nil {
					t.Fatal(err)
				}
				if _, err := r.api.CreateListener(t.Context(), listeners.CreateOpts{
					Name: l.Name, LoadbalancerID: r.balancer().ID, Protocol: listeners.ProtocolHTTP, ProtocolPort: 80, Tags: l.Tags,
				}); err != nil {
					t.Fatal(err)
				}
				r.restart()
				r.ensure(svc)
				if got := r.listener(80); got.Protocol != "TCP" {
					t.Errorf("the listener has the protocol %s, want TCP", got.Protocol)
				}
				r.steady(svc)
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// Records of earlier releases have no ports: they are neither written nor do they hold changes.
func TestRecordWithoutPorts(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(annotate("proxy-protocol", "true"))
		r.ensure(svc)
		lb := r.balancer()
		earlier := applied.New("", "", map[string]string{model.FieldName: lb.Name})
		stored := append(tags.WithoutRecord(lb.Tags), names.AppliedTagPrefix+earlier.Encode())
		if _, err := r.api.UpdateLoadBalancer(t.Context(), lb.ID, loadbalancers.UpdateOpts{Tags: &stored}); err != nil {
			t.Fatal(err)
		}
		r.restart()
		r.steady(svc)
		r.launch("joins")
		r.update(svc)
		r.steady(svc)
		if got := r.balancer().Tags; !slices.Equal(got, stored) {
			t.Errorf("tags %q, want %q", got, stored)
		}
		delete(svc.Annotations, annotation.KeyProxyProtocol)
		r.restart()
		r.ensure(svc)
		if got := r.pool(80).Protocol; got != "TCP" {
			t.Errorf("the pool has the protocol %s, want TCP", got)
		}
		if record := model.StoredRecord(r.balancer()); !record.Has(intent.FieldPorts) {
			t.Errorf("record %+v has no ports", record)
		}
		for _, e := range r.events() {
			if strings.Contains(e, "held") {
				t.Errorf("Event %s", e)
			}
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}
