package loadbalancer

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// addPort adds a port to a Service.
func addPort(svc *v1.Service) {
	svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: "more", Protocol: v1.ProtocolTCP, Port: 8080, NodePort: 30088})
}

// lb-provider is for new load balancers: an existing one keeps its provider, and can do what that can.
func TestLoadBalancerKeepsFeaturesOfItsProvider(t *testing.T) {
	t.Run("amphora", func(t *testing.T) {
		bubble(t, sim.Options{}, Settings{}, func(r *rig) {
			svc := service(annotate("x-forwarded-for", "true", "timeout-client-data", "60000", "lb-method", "LEAST_CONNECTIONS"))
			fresh := service(named("fresh"), annotate("x-forwarded-for", "true"))
			r.ensure(svc)
			delete(svc.Annotations, annotation.KeyMethod)
			r.settings.Provider, r.settings.Method = model.ProviderOVN, api.AlgorithmSourceIPPort
			r.restart()
			r.steady(svc)
			addPort(svc)
			r.launch("joins")
			r.ensure(svc)
			if l := r.listener(8080); l.Protocol != api.ProtocolHTTP || l.TimeoutClientData != 60000 || len(l.AllowedCIDRs) != 1 {
				t.Errorf("the new listener is %+v, want the features of an amphora", l)
			}
			if method := r.pool(80).LBMethod; method != api.AlgorithmLeastConnections {
				t.Errorf("the algorithm became %s", method)
			}
			if members := r.membersAt(80); len(members) != len(r.nodes) {
				t.Errorf("%d members, want %d", len(members), len(r.nodes))
			}
			r.steady(svc)
			r.ensureError(fresh, annotation.KeyXForwardedFor, "provider ovn")
			r.remove(svc)
			r.nothing()
		})
	})
	t.Run("ovn", func(t *testing.T) {
		bubble(t, sim.Options{}, Settings{Provider: model.ProviderOVN, Method: api.AlgorithmSourceIPPort}, func(r *rig) {
			svc := service()
			r.ensure(svc)
			r.settings.Provider, r.settings.Method = "amphora", api.AlgorithmRoundRobin
			r.restart()
			r.steady(svc)
			addPort(svc)
			r.ensure(svc)
			if method := r.pool(8080).LBMethod; method != api.AlgorithmSourceIPPort {
				t.Errorf("the algorithm of the new pool is %s", method)
			}
			annotate("x-forwarded-for", "true")(svc)
			r.ensureError(svc, annotation.KeyXForwardedFor, "provider ovn")
			r.ensure(service(named("fresh"), annotate("x-forwarded-for", "true")))
		})
	})
}

// picky is an Octavia whose driver does not support an algorithm.
type picky struct{ API }

func (p picky) UpdatePool(ctx context.Context, id string, o pools.UpdateOpts) (api.Pool, error) {
	if o.LBMethod == api.AlgorithmLeastConnections {
		return api.Pool{}, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "UpdatePool"}
	}
	return p.API.UpdatePool(ctx, id, o)
}

// A load balancer that exists goes on with its algorithm, and gets all other changes.
func TestRefusedAlgorithmDoesNotStopOtherChanges(t *testing.T) {
	for _, method := range []string{api.AlgorithmSourceIPPort, api.AlgorithmLeastConnections} {
		t.Run(method, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service()
				r.ensure(svc)
				r.wrap = func(clients *api.Clients) API { return picky{clients} }
				r.restart()
				annotate("lb-method", method)(svc)
				svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP
				addPort(svc)
				r.ensure(svc)
				r.ensure(svc)
				if !slices.ContainsFunc(r.events(), func(e string) bool { return strings.Contains(e, "LoadBalancerLbMethodUnknown") }) {
					t.Error("no Event about the algorithm")
				}
				if pool := r.pool(80); pool.LBMethod != api.AlgorithmRoundRobin || pool.Persistence.Type != api.PersistenceSourceIP {
					t.Errorf("the pool has the algorithm %s and the persistence %q", pool.LBMethod, pool.Persistence.Type)
				}
				r.listener(8080)
				r.front.Log().Reset()
				r.ensure(svc)
				if m := r.mutations(); len(m) > 0 {
					t.Errorf("changes where there are none to make: %v", m)
				}
				r.remove(svc)
				r.nothing()
			})
		})
	}
}
