package loadbalancer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// meanwhile makes another client's change once, right before a call of the manager, or after that of a deletion.
type meanwhile struct {
	*api.Clients
	operation string
	change    *func()
}

func (m meanwhile) start(operation string) {
	if change := *m.change; operation == m.operation && change != nil {
		*m.change = nil
		change()
	}
}

func (m meanwhile) AddTag(ctx context.Context, kind, id, tag string) error {
	m.start("AddTag")
	return m.Clients.AddTag(ctx, kind, id, tag)
}

func (m meanwhile) GetLoadBalancerFlavor(ctx context.Context, id string) (api.LoadBalancerFlavor, error) {
	m.start("GetLoadBalancerFlavor")
	return m.Clients.GetLoadBalancerFlavor(ctx, id)
}

func (m meanwhile) CreateLoadBalancer(ctx context.Context, o loadbalancers.CreateOpts) (api.LoadBalancer, error) {
	m.start("CreateLoadBalancer")
	return m.Clients.CreateLoadBalancer(ctx, o)
}

func (m meanwhile) DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error {
	err := m.Clients.DeleteLoadBalancer(ctx, id, cascade)
	m.start("DeleteLoadBalancer")
	return err
}

// before replaces the manager by one that another client interferes with.
func (r *rig) before(operation string, change func()) {
	r.t.Helper()
	r.wrap = func(own *api.Clients) API { return meanwhile{own, operation, &change} }
	r.restart()
}

// untag removes all tags of the only floating IP, as if another manager had created it.
func (r *rig) untag() api.FloatingIP {
	r.t.Helper()
	f := r.fips()[0]
	for _, tag := range f.Tags {
		if err := r.api.RemoveTag(r.t.Context(), api.FloatingIPs, f.ID, tag); err != nil {
			r.t.Fatal(err)
		}
	}
	return f
}

// A floating IP that a user deletes before its mark does not count as the load balancer's deletion, which would leave
// two of its name.
func TestDeletedFloatingIPIsNoDeletedLoadBalancer(t *testing.T) {
	for _, noCascade := range []bool{false, true} {
		bubble(t, sim.Options{}, Settings{NoCascade: noCascade}, func(r *rig) {
			svc := service()
			r.ensure(svc)
			id, f := r.balancer().ID, r.untag()
			r.before("AddTag", func() { r.dropFIPs() })
			annotate("flavor-id", r.sim.Places().LoadBalancerFlavors["large"])(svc)
			r.ensureError(svc, f.ID)
			if got := r.balancer(); got.ID == id {
				t.Error("the load balancer is not replaced")
			}
			r.sleep(time.Minute)
			r.ensure(svc)
			r.steady(svc)
			r.remove(svc)
			r.nothing()
		})
	}
}

// A Service that joins a load balancer while its owner replaces it keeps its listeners and its address.
func TestGuestOfReplacedLoadBalancerStays(t *testing.T) {
	for _, noCascade := range []bool{false, true} {
		bubble(t, sim.Options{}, Settings{NoCascade: noCascade}, func(r *rig) {
			owner := service()
			address := r.ensure(owner).Ingress[0].IP
			id := r.balancer().ID
			guest := service(named("guest"), onPorts(8080), annotate("load-balancer-id", id))
			r.before("GetLoadBalancerFlavor", func() { r.ensure(guest) })
			annotate("flavor-id", r.sim.Places().LoadBalancerFlavors["large"])(owner)
			r.ensureError(owner, lbName("guest"))
			if got := r.balancer(); got.ID != id || len(got.Listeners) != 3 || r.attached() != address {
				t.Errorf("load balancer %+v with %s, was %s with %s", got, r.attached(), id, address)
			}
			r.ensure(owner)
			r.wantEvent("it is not replaced, because other Services share the load balancer")
			r.steady(guest)
			r.remove(guest)
			r.remove(owner)
			r.nothing()
		})
	}
}

// A floating IP that another client attaches elsewhere while the load balancer is built stays there.
func TestFloatingIPTakenMeanwhileIsNotMoved(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		mine, port := r.takeFIP(), r.serverPort().ID
		r.before("CreateLoadBalancer", func() { r.setPort(mine, port) })
		svc := service(func(s *v1.Service) { s.Spec.LoadBalancerIP = mine.FloatingIP })
		r.ensureError(svc, mine.FloatingIP, "is in use at port "+port)
		if got := r.fips()[0].PortID; got != port {
			t.Errorf("the floating IP is at port %s, was at %s", got, port)
		}
		r.setPort(mine, "")
		r.sleep(time.Minute)
		r.ensure(svc)
		r.steady(svc)
		r.remove(svc)
		r.dropFIPs()
		r.nothing()
	})
}

// missingNetwork is a cloud in which another client has deleted a network.
type missingNetwork struct {
	*api.Clients
	id string
}

func (c missingNetwork) ListSubnets(ctx context.Context, network string) ([]api.Subnet, error) {
	if network == c.id {
		return nil, &cloudapi.Error{Class: cloudapi.NotFound, Operation: "ListSubnets", Err: errors.New("no such network")}
	}
	return c.Clients.ListSubnets(ctx, network)
}

// A check that finds nothing does not count as the deletion that it precedes.
func TestMissingNetworkIsNoDeletedLoadBalancer(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(annotate("floating-subnet", "public-*"))
		r.ensure(svc)
		id := r.balancer().ID
		r.dropFIPs()
		r.wrap = func(own *api.Clients) API { return missingNetwork{own, r.publicNetwork} }
		r.restart()
		annotate("flavor-id", r.sim.Places().LoadBalancerFlavors["large"])(svc)
		r.ensureError(svc, "delete load balancer", "no such network")
		if got := r.balancer(); got.ID != id {
			t.Errorf("load balancer %s, was %s", got.ID, id)
		}
		r.remove(svc)
		r.nothing()
	})
}
