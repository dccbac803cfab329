package loadbalancer

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// onPorts gives the Service other ports, with node ports to go with them.
func onPorts(ports ...int32) func(*v1.Service) {
	return func(svc *v1.Service) {
		svc.Spec.Ports = nil
		for _, p := range ports {
			svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Protocol: v1.ProtocolTCP, Port: p, NodePort: 30000 + p%1000})
		}
	}
}

func TestServicesShareLoadBalancer(t *testing.T) {
	bubble(t, sim.Options{SettleTime: 500 * time.Millisecond}, Settings{MaxShared: ptr.To(3)}, func(r *rig) {
		owner := service()
		address := r.ensure(owner).Ingress[0].IP
		id := r.balancer().ID
		guest := service(named("guest"), onPorts(8080), annotate("load-balancer-id", id))
		if got := r.ensure(guest).Ingress[0].IP; got != address {
			t.Errorf("the guest has the address %s, its owner %s", got, address)
		}
		inside := service(named("inside"), onPorts(9090), annotate("load-balancer-id", id), internal)
		if got := r.ensure(inside).Ingress[0].IP; got != r.balancer().VipAddress {
			t.Errorf("the internal guest has the address %s", got)
		}
		r.wantPorts(4)
		r.steady(owner)
		r.steady(guest)
		if tags := names.Services(r.balancer().Tags); len(tags) != 3 {
			t.Errorf("tags %q", tags)
		}
		r.ensureError(service(named("fourth"), onPorts(7070), annotate("load-balancer-id", id)), "max-shared-lb", "load-balancer-id")

		// The owner goes; the load balancer stays with its address as long as anyone uses it.
		r.remove(owner)
		r.wantPorts(2)
		if got := r.ensure(guest).Ingress[0].IP; got != address {
			t.Errorf("the guest has the address %s after its owner went, was %s", got, address)
		}
		r.remove(inside)
		r.remove(guest)
		r.nothing()
	})
}

// A maximum of none keeps every Service on its own load balancer.
func TestNoServiceSharesLoadBalancer(t *testing.T) {
	bubble(t, sim.Options{}, Settings{MaxShared: ptr.To(0)}, func(r *rig) {
		owner := service()
		r.ensure(owner)
		r.ensureError(service(named("guest"), onPorts(8080), annotate("load-balancer-id", r.balancer().ID)), "max-shared-lb",
			"is 0")
		r.steady(owner)
		r.remove(owner)
		r.nothing()
	})
}

func TestSharingNeedsDistinctPorts(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		owner := service(annotate("x-forwarded-for", "true"))
		r.ensure(owner)
		guest := service(named("guest"), onPorts(443, 8080), annotate("load-balancer-id", r.balancer().ID))
		r.sim.Front().Log().Reset()
		// Today an HTTP listener is not seen to have the port, and Octavia rejects it forever.
		r.ensureError(guest, "TCP 443", lbName("web"))
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("made %v before the clash was found", m)
		}
		r.remove(guest)
		r.steady(owner)
		r.remove(owner)
		r.nothing()
	})
}

func TestExternalGuestNeedsFloatingIP(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.ensure(service(internal))
		id := r.balancer().ID
		r.ensureError(service(named("guest"), onPorts(8080), annotate("load-balancer-id", id)), "no floating IP")
		r.wantPorts(2)
		r.ensure(service(named("guest"), onPorts(8080), annotate("load-balancer-id", id), internal))
		r.wantPorts(3)
	})
}

// Two workers change one load balancer: no one's change is lost, and no one waits for an error.
func TestConcurrentGuests(t *testing.T) {
	bubble(t, sim.Options{SettleTime: time.Second}, Settings{MaxShared: ptr.To(10)}, func(r *rig) {
		owner := service()
		r.ensure(owner)
		id := r.balancer().ID
		var guests []*v1.Service
		for i, name := range []string{"g1", "g2", "g3", "g4"} {
			guests = append(guests, service(named(name), onPorts(int32(8080+i)), annotate("load-balancer-id", id)))
		}
		together(guests, func(svc *v1.Service) { r.ensure(svc) })
		if tags := names.Services(r.balancer().Tags); len(tags) != 5 {
			t.Errorf("tags %q: one was lost", tags)
		}
		r.wantPorts(6)
		together(append(guests, owner), func(svc *v1.Service) { r.remove(svc) })
		r.nothing()
	})
}

func TestUserLoadBalancerIsKept(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		made, err := r.api.CreateLoadBalancer(r.t.Context(), loadbalancers.CreateOpts{Name: "mine", VipSubnetID: r.sim.Places().PrivateSubnet, Listeners: []listeners.CreateOpts{{Name: "mine", Protocol: "TCP", ProtocolPort: 22}}})
		if err != nil {
			t.Fatal(err)
		}
		svc := service(internal, annotate("load-balancer-id", made.ID))
		r.ensure(svc)
		r.steady(svc)
		// A port that is dropped from the spec, and never synced, goes all the same.
		svc.Spec.Ports = svc.Spec.Ports[:1]
		r.remove(svc)
		lb := r.balancer()
		if len(lb.Tags) != 0 || len(lb.Listeners) != 1 || len(lb.Pools) != 0 {
			t.Errorf("left in the user's load balancer: %+v", lb)
		}
	})
}

func TestUserListenersAreKept(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		if _, err := r.api.CreateListener(r.t.Context(), listeners.CreateOpts{LoadbalancerID: r.balancer().ID, Name: "by-hand", Protocol: "TCP", ProtocolPort: 22, ConnLimit: new(int)}); err != nil {
			t.Fatal(err)
		}
		r.steady(svc)
		r.listener(22)
		r.remove(svc)
		r.nothing()
	})
}

// Today adding our tag to a listener drops the tags that it has.
func TestForeignTagsAreKept(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		l := r.listener(80)
		if _, err := r.api.UpdateListener(r.t.Context(), l.ID, listeners.UpdateOpts{Tags: &[]string{"theirs"}}); err != nil {
			t.Fatal(err)
		}
		r.restart()
		r.ensure(svc)
		if tags := r.listener(80).Tags; !slices.Contains(tags, "theirs") || !slices.Contains(tags, lbName("web")) {
			t.Errorf("tags %q", tags)
		}
		r.remove(svc)
	})
}

func TestRejectLoadBalancerOfOtherCluster(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		r.uid = "11111111-2222-3333-4444-000000000000"
		r.restart()
		r.ensureError(svc, "belongs to another cluster", clusterUID)
		r.remove(svc)
		if m := slices.DeleteFunc(r.mutations(), func(m string) bool { return m == "DeleteFloatingIP" }); len(m) > 0 {
			t.Errorf("changed another cluster's load balancer: %v", m)
		}
		if n := r.sim.Objects()["load-balancers"]; n != 1 {
			t.Errorf("%d load balancers", n)
		}
	})
}

func TestClusterRename(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		address := r.ensure(svc).Ingress[0].IP
		lb := r.balancer()
		annotate("load-balancer-id", lb.ID)(svc)
		r.cluster = "renamed"
		r.restart()
		if got := r.ensure(svc).Ingress[0].IP; got != address {
			t.Errorf("address %s, was %s", got, address)
		}
		now := r.balancer()
		if now.ID != lb.ID || now.Name != "kube_service_renamed_default_web" || slices.Contains(now.Tags, lb.Name) {
			t.Errorf("load balancer %+v", now)
		}
		r.steady(svc)
		r.remove(svc)
		for _, f := range r.fips() { // its description names the old cluster
			if !strings.Contains(f.Description, "cluster kubernetes") {
				t.Errorf("left %+v", f)
			}
		}
		r.dropFIPs()
	})
}

// Another project's load balancer can be neither read nor deleted. Today such a Service never goes.
func TestRejectLoadBalancerOfOtherProject(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		other := newAPI(r.t, r.sim, r.sim.OtherAccount())
		made, err := other.CreateLoadBalancer(r.t.Context(), loadbalancers.CreateOpts{Name: "theirs", VipSubnetID: r.sim.Places().PublicSubnet})
		if err != nil {
			t.Fatal(err)
		}
		svc := service(annotate("load-balancer-id", made.ID))
		r.ensureError(svc, "load-balancer-id", made.ID, "another project")
		r.remove(svc)
		if _, exists, err := r.manager.GetLoadBalancer(r.t.Context(), r.cluster, svc); exists || err != nil {
			t.Errorf("something is left: %v, %v", exists, err)
		}
	})
}

func TestConcurrentChangesOfOnePort(t *testing.T) {
	bubble(t, sim.Options{Latency: 10 * time.Millisecond}, Settings{ManageSecurityGroups: true}, func(r *rig) {
		services := fleet(6)
		together(services, func(svc *v1.Service) { r.ensure(svc) })
		ports, err := r.api.ListPorts(r.t.Context(), api.PortFilter{DeviceIDs: []string{r.sim.Server("node-0")}})
		if err != nil || len(ports[0].SecurityGroups) != 7 {
			t.Errorf("groups %q, %v: want the default one and one for each Service", ports[0].SecurityGroups, err)
		}
		var group sync.WaitGroup
		for _, svc := range services {
			group.Go(func() { r.remove(svc) })
		}
		group.Wait()
		r.nothing()
	})
}

func TestSecurityGroups(t *testing.T) {
	bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true}, func(r *rig) {
		svc := service(func(s *v1.Service) {
			s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
		})
		r.ensure(svc)
		rules := r.ingressRules()
		for _, want := range []string{"IPv4 tcp 30080-30080 from 10.0.0.0/16", "IPv4 tcp 30443-30443 from 10.0.0.0/16", "IPv4 tcp 32000-32000 from 10.0.0.0/16"} {
			if !slices.Contains(rules, want) {
				t.Errorf("the rule %q is missing: %q", want, rules)
			}
		}
		r.steady(svc)
		// A node that leaves loses the group, one that joins gets it.
		left := r.nodes[0]
		r.nodes = r.nodes[1:]
		r.launch("node-9")
		r.update(svc)
		for name, want := range map[string]int{left.Name: 1, "node-9": 2} {
			ports, err := r.api.ListPorts(r.t.Context(), api.PortFilter{DeviceIDs: []string{r.sim.Server(name)}})
			if err != nil || len(ports[0].SecurityGroups) != want {
				t.Errorf("%s has the groups %q, want %d", name, ports[0].SecurityGroups, want)
			}
		}
		r.steady(svc)
		svc.Spec.Ports[0].NodePort = 31111
		r.ensure(svc)
		if rules := r.ingressRules(); len(rules) != 3 || !strings.Contains(strings.Join(rules, " "), "31111") {
			t.Errorf("rules %q", rules)
		}
		// Switched off, what was created before goes.
		r.settings.ManageSecurityGroups = false
		r.restart()
		r.remove(svc)
		r.nothing()
	})
}

func TestOVNSecurityGroupsAllowClients(t *testing.T) {
	bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true, Provider: model.ProviderOVN}, func(r *rig) {
		svc := service(func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} })
		r.ensure(svc)
		if rules := r.ingressRules(); !slices.Contains(rules, "IPv4 tcp 30080-30080 from 192.0.2.0/24") || len(rules) != 2 {
			t.Errorf("rules %q", rules)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

func (r *rig) ingressRules() []string {
	r.t.Helper()
	groups, err := r.api.ListSecurityGroups(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	var list []string
	for _, g := range groups {
		if !strings.HasPrefix(g.Name, "lb-sg-") {
			continue
		}
		for _, rule := range g.Rules {
			if rule.Direction == "ingress" {
				list = append(list, model.ShowRule(model.RuleOf(rule)))
			}
		}
	}
	return list
}
