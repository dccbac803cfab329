package loadbalancer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/uses"
)

// fails syncs a Service, and fails unless the error has a text.
func (r *rig) fails(text string, service *v1.Service, nodes ...*v1.Node) {
	r.Helper()
	_, err := r.controller.EnsureLoadBalancer(r.Context(), "c", service, nodes)
	if err == nil || !strings.Contains(err.Error(), text) {
		r.Errorf("error %v, want %q", err, text)
	}
}

const (
	rulePath = "regions/r1/forwardingRules/"
	poolLink = "https://www.googleapis.com/compute/v1/projects/p/" + poolPath
)

// The forwarding rule of a Service stays if the cloud refuses what its successor needs.
func TestRuleStaysWithoutItsSuccessor(t *testing.T) {
	t.Parallel()
	affinity := func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP }
	for name, tc := range map[string]struct {
		before, edit func(*v1.Service)
		denied       string
		// user refers to the pool.
		user map[string]any
	}{
		"another backend service": {edit: func(s *v1.Service) {
			delete(s.Annotations, annotation.KeyBackendShare)
		}, before: func(s *v1.Service) {
			internal(s).Annotations[annotation.KeyBackendShare] = "true"
		}, denied: "backendServices.insert"},
		"internal": {edit: func(s *v1.Service) { internal(s) }, denied: "backendServices.insert"},
		"external": {before: func(s *v1.Service) { internal(s) }, edit: func(s *v1.Service) {
			delete(s.Annotations, annotation.KeyType)
		}, denied: "targetPools.insert"},
		"pool that another rule uses": {edit: affinity, user: map[string]any{"IPAddress": "203.0.113.99",
			"target": poolLink, "loadBalancingScheme": "EXTERNAL", "portRange": "80-80"}},
		"pool that another pool has for backup": {edit: affinity, user: map[string]any{"backupPool": poolLink}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, config.Global{SubnetworkName: "s"})
			s, n := service("web", webUID, 80), node("r1-b", "node-1")
			if tc.before != nil {
				tc.before(s)
			}
			ip := r.ensure(s, n)
			if tc.user["target"] != nil {
				tc.user["name"] = "manual"
				r.put(rulePath+"manual", tc.user)
			} else if tc.user != nil {
				tc.user["name"] = "manual"
				r.put("regions/r1/targetPools/manual", tc.user)
			}
			r.restart(config.Global{SubnetworkName: "s"})
			r.ensure(s, n)
			r.denied[tc.denied] = true
			s = edit(s, tc.edit)
			_, _ = r.controller.EnsureLoadBalancer(r.Context(), "c", s, []*v1.Node{n})
			if rule := r.objects[rulePath+web]; rule == nil || rule["IPAddress"] != ip {
				t.Errorf("the forwarding rule is %v", rule)
			}
		})
	}
}

// A pool whose user this manager does not see costs the forwarding rule for one sync only.
func TestPoolThatCannotBeDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	ip := r.ensure(s, n)
	r.put("global/unknown/user", map[string]any{"name": "user", "target": r.object(t, rulePath+web)["target"]})
	s = edit(s, func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP })
	r.fails("alreadyExists", s, n)
	if got := r.ensure(s, n); got != ip {
		t.Errorf("the address was %s and is %s", ip, got)
	}
	r.clock.Step(uses.KeepAge)
	r.ensure(s, n)
	if p := r.plan(s, n); len(p.Unapplied) == 0 {
		t.Error("the session affinity counts as applied")
	}
}

// An address that another user has is refused before the forwarding rule is deleted.
func TestAddressesOfOthers(t *testing.T) {
	t.Parallel()
	const taken = "203.0.113.200"
	for name, tc := range map[string]struct {
		put  func(*rig)
		ip   string
		text string
	}{
		"a machine has it": {text: "instances/vm has it", put: func(r *rig) {
			r.put("regions/r1/addresses/static", map[string]any{"name": "static", "address": taken, "status": "IN_USE",
				"users": []any{"https://www.googleapis.com/compute/v1/projects/p/zones/r1-b/instances/vm"}})
		}},
		"another rule has its ports": {text: "the forwarding rule other has it", put: func(r *rig) {
			r.put("regions/r1/addresses/static", map[string]any{"name": "static", "address": taken})
			r.put(rulePath+"other", map[string]any{"name": "other", "IPAddress": taken, "IPProtocol": "TCP",
				"portRange": "443-8443", "loadBalancingScheme": "EXTERNAL"})
		}},
		"it is reserved for another Service": {text: "reserved it for another Service", put: func(r *rig) {
			r.put("regions/r1/addresses/"+db, map[string]any{"name": db, "address": taken,
				"description": `{"kubernetes.io/service-name":"default/db"}`})
		}},
		"another rule has other ports": {put: func(r *rig) {
			r.put("regions/r1/addresses/static", map[string]any{"name": "static", "address": taken})
			r.put(rulePath+"other", map[string]any{"name": "other", "IPAddress": taken, "IPProtocol": "TCP",
				"portRange": "444-444", "loadBalancingScheme": "EXTERNAL"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, config.Global{})
			s, n := service("web", webUID, 80, 443), node("r1-b", "node-1")
			ip := r.ensure(s, n)
			tc.put(r)
			r.restart(config.Global{})
			r.ensure(s, n)
			s = edit(s, func(s *v1.Service) { s.Spec.LoadBalancerIP = taken })
			if tc.text == "" {
				if got := r.ensure(s, n); got != taken {
					t.Errorf("address %s", got)
				}
				return
			}
			r.fails(tc.text, s, n)
			if got := r.objects[rulePath+web]["IPAddress"]; got != ip {
				t.Errorf("the forwarding rule has the address %v, had %s", got, ip)
			}
		})
	}
}

// Other networks have the same internal addresses.
func TestInternalAddressesOfOtherNetworks(t *testing.T) {
	t.Parallel()
	const taken, links = "10.0.0.5", "https://www.googleapis.com/compute/v1/projects/p/"
	address := func(name, subnet string, users ...any) func(*rig) {
		return func(r *rig) {
			r.put("regions/r1/addresses/"+name, map[string]any{"name": name, "address": taken, "addressType": "INTERNAL",
				"subnetwork": links + "regions/r1/subnetworks/" + subnet, "users": users})
		}
	}
	rule := func(network string) func(*rig) {
		return func(r *rig) {
			address("static", "s")(r)
			r.put(rulePath+"other", map[string]any{"name": "other", "IPAddress": taken, "IPProtocol": "TCP", "ports": []any{"80"},
				"loadBalancingScheme": "INTERNAL", "backendService": links + "regions/r1/backendServices/other",
				"network": links + "global/networks/" + network})
		}
	}
	machine := links + "zones/r1-b/instances/vm"
	for name, tc := range map[string]struct {
		put  func(*rig)
		text string
	}{
		"a machine of another network": {put: address("a", "elsewhere", machine)},
		"a machine of this network":    {put: address("a", "s", machine), text: "instances/vm has it"},
		"a rule of another network":    {put: rule("other")},
		"a rule of this network":       {put: rule("n"), text: "the forwarding rule other has it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Global{SubnetworkName: "s"}
			r := newRig(t, cfg)
			s, n := internal(service("web", webUID, 80)), node("r1-b", "node-1")
			s.Spec.LoadBalancerIP = taken
			r.ensure(s, n)
			tc.put(r)
			r.takeOver(cfg, s)
			if tc.text != "" {
				r.fails(tc.text, s, n)
				return
			}
			r.ensure(s, n)
			r.verifyChanges()
		})
	}
}

// Firewalls are not replaced because the configuration names another network.
func TestOtherNetworkReplacesNoFirewall(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	r.ensure(s, n)
	r.environment.Network = "https://www.googleapis.com/compute/v1/projects/p/global/networks/other"
	r.restart(config.Global{SubnetworkName: "s"})
	r.calls()
	r.ensure(s, n)
	r.verifyChanges()
	if p := r.plan(s, n); len(p.Held) == 0 {
		t.Error("nothing is held")
	}
}

// The provider ID of a Node is that of the instance with its name.
func TestNodeIsTheInstanceOfItsName(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s := service("web", webUID, 80)
	lying := node("r1-b", "node-1")
	lying.Spec.ProviderID = "gce://p/r1-b/database"
	r.ensure(s, lying, node("r1-b", "node-2"), node("r1-b", "node-3.c.p.internal"))
	if event := <-r.events.Events; !strings.Contains(event, "another name receive no traffic: node-1") {
		t.Errorf("event %q", event)
	}
	members := stringsOf(r.object(t, "regions/r1/targetPools/"+web)["instances"])
	if len(members) != 1 || !strings.HasSuffix(members[0], "node-2") {
		t.Errorf("members %q", members)
	}
}

// Source ranges of IPv6 alone do not open an IPv4 load balancer to everybody, on a dual-stack Service either.
func TestIPv6RangesOfDualStackService(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
	s.Spec.LoadBalancerSourceRanges = []string{"2001:db8::/32"}
	r.fails("add the IPv4 ranges", s, n)
	s.Spec.LoadBalancerSourceRanges = []string{"2001:db8::/32", "192.0.2.0/24"}
	r.ensure(s, n)
	s = edit(s, func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = s.Spec.LoadBalancerSourceRanges[:1] })
	r.fails("add the IPv4 ranges", s, n)
	if got := stringsOf(r.object(t, firewallPath)["sourceRanges"]); !slices.Equal(got, []string{"192.0.2.0/24"}) {
		t.Errorf("the firewall admits %q", got)
	}
}

// A load balancer stays where it is if the other place is impossible.
func TestImpossiblePlaceOfLoadBalancer(t *testing.T) {
	t.Parallel()
	subnet := func(name string) func(*v1.Service) {
		return func(s *v1.Service) { internal(s).Annotations[annotation.KeySubnet] = name }
	}
	address := func(ip string) func(*v1.Service) { return func(s *v1.Service) { s.Spec.LoadBalancerIP = ip } }
	for name, tc := range map[string]struct {
		external bool
		edit     func(*v1.Service)
		denied   string
		text     string
		// interrupted is set if the reservation was made, and its users were not read.
		interrupted bool
	}{
		"a subnet that does not exist":      {edit: subnet("typo"), text: "no subnet typo"},
		"internal in a subnet of that kind": {external: true, edit: subnet("typo"), text: "no subnet typo"},
		"a subnet of another network":       {edit: subnet("foreign"), text: "foreign is in the network other"},
		"internal in a subnet for proxies":  {external: true, edit: subnet("proxies"), text: "purpose REGIONAL_MANAGED_PROXY"},
		"a subnet for proxies":              {edit: subnet("proxies"), text: "purpose REGIONAL_MANAGED_PROXY"},
		"an address outside of the subnet": {edit: address("192.0.2.9"),
			text: "has the addresses 10.0.0.0/16, and not 192.0.2.9"},
		"the ephemeral address of another rule": {edit: address("10.0.0.77"),
			text: "forwardingRules/ephemeral has the address 10.0.0.77"},
		"the same after an interruption": {edit: address("10.0.0.77"), interrupted: true,
			text: "forwardingRules/ephemeral has the address 10.0.0.77"},
		"an address for one rule":  {edit: address("10.0.0.78"), text: "not reserved with the purpose SHARED_LOADBALANCER_VIP"},
		"an address of the subnet": {edit: address("10.0.0.1"), denied: "addresses.insert", text: "addresses.insert"},
		"a tier that the region lacks": {external: true, denied: "addresses.insert", text: "addresses.insert",
			edit: func(s *v1.Service) { s.Annotations[annotation.KeyNetworkTier] = "Standard" }},
		"external in a tier that the region lacks": {denied: "addresses.insert", text: "addresses.insert",
			edit: func(s *v1.Service) { s.Annotations = map[string]string{annotation.KeyNetworkTier: "Standard"} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const compute = "https://www.googleapis.com/compute/v1/projects/p/"
			r := newRig(t, config.Global{SubnetworkName: "s"})
			for name, network := range map[string]string{"s": "n", "foreign": "other", "proxies": "n"} {
				r.put("regions/r1/subnetworks/"+name, map[string]any{"name": name, "ipCidrRange": "10.0.0.0/16",
					"network": compute + "global/networks/" + network,
					"purpose": map[string]string{"s": "PRIVATE", "proxies": "REGIONAL_MANAGED_PROXY"}[name]})
			}
			for name, ip := range map[string]string{"ephemeral": "10.0.0.77", "reserved": "10.0.0.78"} {
				r.put(rulePath+name, map[string]any{"name": name, "IPAddress": ip, "IPProtocol": "TCP", "ports": []any{"5432"},
					"loadBalancingScheme": "INTERNAL", "subnetwork": compute + "regions/r1/subnetworks/s",
					"backendService": compute + "regions/r1/backendServices/x"})
			}
			r.put("regions/r1/addresses/reserved", map[string]any{"name": "reserved", "address": "10.0.0.78",
				"addressType": "INTERNAL", "purpose": "GCE_ENDPOINT", "subnetwork": compute + "regions/r1/subnetworks/s"})
			s, n := service("web", webUID, 80), node("r1-b", "node-1")
			if !tc.external {
				internal(s)
			}
			ip := r.ensure(s, n)
			r.denied[tc.denied] = true
			if tc.interrupted {
				r.put("regions/r1/addresses/"+web, map[string]any{"name": web, "address": "10.0.0.77",
					"addressType": "INTERNAL", "subnetwork": compute + "regions/r1/subnetworks/s"})
			}
			for range 2 {
				r.fails(tc.text, edit(s, tc.edit), n)
			}
			if rule := r.objects[rulePath+web]; rule == nil || rule["IPAddress"] != ip {
				t.Fatalf("the forwarding rule is %v", rule)
			}
			r.denied[tc.denied] = false
			if got := r.ensure(s, n); got != ip {
				t.Errorf("after the revert, the address is %s", got)
			}
			if left := r.names("addresses"); !slices.Equal(left, []string{"reserved"}) {
				t.Errorf("addresses %q remain", left)
			}
		})
	}
}

// The pool gets the health check of the Service when the firewall lets its probes pass.
func TestProbesPassBeforeTheyCount(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*v1.Service){
		"external": func(*v1.Service) {}, "internal": func(s *v1.Service) { internal(s) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, config.Global{SubnetworkName: "s"})
			s, n := service("web", webUID, 80), node("r1-b", "node-1")
			prepare(s)
			r.ensure(s, n)
			p := r.plan(edit(s, func(s *v1.Service) {
				s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 30999
			}), n)
			firewall := slices.IndexFunc(p.Changes, func(c plan.Change) bool {
				return c.Kind == kindFirewall && c.Action == plan.Create
			})
			user := slices.IndexFunc(p.Changes, func(c plan.Change) bool {
				return (c.Kind == kindPool || c.Kind == kindBackend) && c.Action == plan.Update
			})
			if firewall < 0 || user < 0 || !slices.Contains(p.Changes[user].After, p.Changes[firewall].Ref) {
				t.Errorf("the health check does not wait for its firewall: %v", p.Changes)
			}
		})
	}
}

// Firewalls keep their tags while those of some nodes are not known.
func TestFirewallsKeepTagsOfUnknownNodes(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	r.tags = []string{"far", "near"}
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	r.ensure(s, n)
	r.tags, r.partialTags = []string{"near"}, true
	r.ensure(s, n)
	r.update(s, n)
	r.verifyTags(t, "far", "near")
	r.tags = []string{"near", "new"}
	r.update(s, n)
	r.verifyTags(t, "far", "near", "new")
	r.partialTags = false
	r.update(s, n)
	r.verifyTags(t, "near", "new")
}

func (r *rig) verifyTags(t *testing.T, want ...string) {
	t.Helper()
	for _, name := range r.names("firewalls") {
		if got := fmt.Sprint(r.object(t, "global/firewalls/"+name)["targetTags"]); got != fmt.Sprint(want) {
			t.Errorf("the tags of %s are %s, want %q", name, got, want)
		}
	}
}
