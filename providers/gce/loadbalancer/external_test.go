package loadbalancer

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/handover"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
)

func TestExternalLoadBalancer(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s := service("web", webUID, 80, 443)
	ip := r.ensure(s, node("r1-b", "node-1"), node("r1-c", "node-2"))
	r.verify(map[string][]string{
		"forwardingRules": {web}, "targetPools": {web}, "httpHealthChecks": {"k8s-" + testCluster + "-node"},
		"firewalls": {"k8s-fw-" + web, "k8s-" + testCluster + "-node-http-hc"},
	})
	r.verifyChanges("targetPools.insert", "forwardingRules.insert", "httpHealthChecks.insert", "firewalls.insert",
		"firewalls.insert")
	r.clock.Step(snapshotAge)
	if again := r.ensure(s, node("r1-b", "node-1"), node("r1-c", "node-2")); again != ip {
		t.Errorf("address %s, then %s", ip, again)
	}
	reads, changes := r.calls()
	if len(changes) > 0 || len(reads) > 4 {
		t.Errorf("without a change: reads %q, changes %q", reads, changes)
	}
	r.update(s, node("r1-c", "node-2"), node("r1-b", "node-3"))
	r.verifyChanges("targetPools.addInstance", "targetPools.removeInstance")
	r.remove(s)
	r.verify(nil)
}

// edit changes a copy of a Service, as the API server does.
func edit(s *v1.Service, change func(*v1.Service)) *v1.Service {
	s = s.DeepCopy()
	change(s)
	return s
}

func TestChangedPortsKeepTheAddress(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	ip := r.ensure(s, n)
	r.calls()
	s = edit(s, func(s *v1.Service) { s.Spec.Ports = service("", "", 80, 8080, 8081).Spec.Ports })
	if got := r.ensure(s, n); got != ip {
		t.Errorf("the address was %s and is %s", ip, got)
	}
	r.verifyChanges("addresses.insert", "forwardingRules.delete", "forwardingRules.insert", "addresses.delete",
		"firewalls.patch")
	if got := r.object(t, "global/firewalls/k8s-fw-"+web)["allowed"]; !reflect.DeepEqual(got, []any{
		map[string]any{"IPProtocol": "tcp", "ports": []any{"80", "8080-8081"}}}) {
		t.Errorf("allowed = %v", got)
	}
	if got := r.object(t, "regions/r1/forwardingRules/"+web)["portRange"]; got != "80-8081" {
		t.Errorf("portRange = %v", got)
	}
	// A port in the middle of the range changes the firewall only.
	s = edit(s, func(s *v1.Service) { s.Spec.Ports = service("", "", 80, 443, 8081).Spec.Ports })
	r.ensure(s, n)
	r.verifyChanges("firewalls.patch")
}

func TestTrafficPolicyChangesInPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, other, n := service("web", webUID, 80), service("db", dbUID, 81), node("r1-b", "node-1")
	ip := r.ensure(s, n)
	r.ensure(other, n)
	r.calls()
	s = local(edit(s, func(*v1.Service) {}))
	if got := r.ensure(s, n); got != ip {
		t.Errorf("the address was %s and is %s", ip, got)
	}
	r.verifyChanges("httpHealthChecks.insert", "firewalls.insert", "targetPools.removeHealthCheck", "targetPools.addHealthCheck")
	if check := r.object(t, "global/httpHealthChecks/"+web); check["port"] != 31234.0 || check["requestPath"] != "/healthz" {
		t.Errorf("health check %v", check)
	}
	// The health check of nodes goes with the last Service that uses it.
	other = local(edit(other, func(*v1.Service) {}))
	r.ensure(other, n)
	r.verify(map[string][]string{
		"forwardingRules": {web, db}, "targetPools": {web, db}, "httpHealthChecks": {web, db},
		"firewalls": {"k8s-fw-" + web, "k8s-" + web + "-http-hc", "k8s-fw-" + db, "k8s-" + db + "-http-hc"},
	})
	s = edit(s, func(s *v1.Service) { s.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyCluster })
	r.ensure(s, n)
	r.remove(s)
	r.remove(other)
	r.verify(nil)
}

func TestAffinityReplacesThePool(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	ip := r.ensure(s, n)
	r.calls()
	s = edit(s, func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP })
	if got := r.ensure(s, n); got != ip {
		t.Errorf("the address was %s and is %s", ip, got)
	}
	r.verifyChanges("addresses.insert", "forwardingRules.delete", "targetPools.delete", "targetPools.insert",
		"forwardingRules.insert", "addresses.delete")
	if got := r.object(t, "regions/r1/targetPools/"+web)["sessionAffinity"]; got != "CLIENT_IP" {
		t.Errorf("sessionAffinity = %v", got)
	}
}

func TestEachInterruptionIsCompleted(t *testing.T) {
	t.Parallel()
	versions := func() []*v1.Service {
		s := service("web", webUID, 80)
		tier := func(s *v1.Service) { s.Annotations[annotation.KeyNetworkTier] = "Standard" }
		return []*v1.Service{
			s, edit(s, func(s *v1.Service) { s.Spec.Ports = service("", "", 81).Spec.Ports }),
			edit(local(s.DeepCopy()), func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP }),
			internal(s.DeepCopy()), internal(local(s.DeepCopy())),
			edit(internal(s.DeepCopy()), func(s *v1.Service) { s.Annotations[annotation.KeySubnet] = "other" }),
			edit(internal(s.DeepCopy()), func(s *v1.Service) { s.Spec.LoadBalancerIP = "10.0.0.9" }),
			edit(s, tier), s.DeepCopy(), edit(s, tier), edit(s, func(s *v1.Service) {
				s.Annotations[annotation.KeyNetworkTier] = "Premium"
			}), s.DeepCopy(),
		}
	}
	for from := range versions() {
		t.Run(fmt.Sprint("version ", from), func(t *testing.T) {
			t.Parallel()
			for _, reverts := range []bool{false, true} {
				for failing := 1; interrupt(t, versions(), from, failing, reverts) && !t.Failed(); failing++ {
				}
			}
		})
	}
}

// interrupt lets a call of the sync that makes the next version of a Service fail, and completes it, or reverts it. It
// reports whether there are as many calls.
func interrupt(t *testing.T, all []*v1.Service, from, failing int, reverts bool) bool {
	t.Helper()
	cfg := config.Global{SubnetworkName: "s"}
	r, n := newRig(t, cfg), node("r1-b", "node-1")
	for name, cidr := range map[string]string{"s": "10.0.0.0/16", "other": "10.1.0.0/16"} {
		r.put("regions/r1/subnetworks/"+name, map[string]any{"name": name, "ipCidrRange": cidr})
	}
	before, after := all[from], (*v1.Service)(nil)
	r.ensure(before, n)
	if from+1 < len(all) {
		after = all[from+1]
		after.Status = before.Status
	}
	r.failAfter(failing)
	var err error
	if after == nil {
		err = r.controller.EnsureLoadBalancerDeleted(t.Context(), "c", before)
	} else {
		_, err = r.controller.EnsureLoadBalancer(t.Context(), "c", after, []*v1.Node{n})
	}
	r.failAfter(0)
	if err == nil {
		return false // The change was made in fewer calls.
	}
	r.restart(cfg)
	if after == nil {
		r.remove(before)
		r.verify(nil)
		return true
	}
	if reverts {
		after = before.DeepCopy()
	}
	if got := r.ensure(after, n); got == "" {
		t.Error("no address")
	}
	if orphans := r.names("addresses"); len(orphans) > 0 {
		t.Errorf("call %d, reverted %t: addresses %q remain", failing, reverts, orphans)
	}
	r.remove(after)
	r.verify(nil)
	return true
}

func TestStaticAddress(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	s.Spec.LoadBalancerIP = "198.51.100.7"
	_, err := r.controller.EnsureLoadBalancer(t.Context(), "c", s, []*v1.Node{n})
	if !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), "spec.loadBalancerIP") {
		t.Errorf("not reserved: %v", err)
	}
	r.verifyChanges()
	r.put("regions/r1/addresses/mine", map[string]any{"name": "mine", "address": "198.51.100.7", "addressType": "EXTERNAL",
		"networkTier": "STANDARD"})
	if ip := r.ensure(s, n); ip != "198.51.100.7" {
		t.Errorf("address %s", ip)
	}
	// The tier follows from the address.
	if tier := r.object(t, "regions/r1/forwardingRules/"+web)["networkTier"]; tier != "STANDARD" {
		t.Errorf("tier %v", tier)
	}
	r.calls()
	s = edit(s, func(s *v1.Service) { s.Spec.Ports = service("", "", 81).Spec.Ports })
	r.ensure(s, n)
	r.verifyChanges("forwardingRules.delete", "forwardingRules.insert", "firewalls.patch")
	s = edit(s, func(s *v1.Service) { s.Spec.LoadBalancerIP = "" })
	if ip := r.ensure(s, n); ip != "198.51.100.7" {
		t.Errorf("without the field: address %s", ip)
	}
	r.remove(s)
	r.verify(map[string][]string{"addresses": {"mine"}})
}

func TestTierWithoutAnnotationStays(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	s.Annotations[annotation.KeyNetworkTier] = "Standard"
	r.ensure(s, n)
	r.calls()
	s = edit(s, func(s *v1.Service) { delete(s.Annotations, annotation.KeyNetworkTier) })
	r.ensure(s, n)
	r.verifyChanges()
	s = edit(s, func(s *v1.Service) { s.Spec.Ports = service("", "", 81).Spec.Ports })
	r.ensure(s, n)
	if tier := r.object(t, "regions/r1/forwardingRules/"+web)["networkTier"]; tier != "STANDARD" {
		t.Errorf("tier %v", tier)
	}
	s = edit(s, func(s *v1.Service) { s.Annotations[annotation.KeyNetworkTier] = "Premium" })
	old := s.Status.LoadBalancer.Ingress[0].IP
	if ip := r.ensure(s, n); ip == old {
		t.Error("the address of the other tier stays")
	}
	r.verify(map[string][]string{
		"forwardingRules": {web}, "targetPools": {web}, "httpHealthChecks": {"k8s-" + testCluster + "-node"},
		"firewalls": {"k8s-fw-" + web, "k8s-" + testCluster + "-node-http-hc"},
	})
}

func TestLeftoverAddressDoesNotBlock(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	r.ensure(s, n)
	r.put("regions/r1/addresses/"+web, map[string]any{"name": web, "address": "198.51.100.9", "addressType": "EXTERNAL"})
	r.restart(config.Global{})
	s = edit(s, func(s *v1.Service) { s.Spec.Ports = service("", "", 81).Spec.Ports })
	r.ensure(s, n)
	if left := r.names("addresses"); len(left) > 0 {
		t.Errorf("addresses %q remain", left)
	}
}

func TestServicesOfIngressGCEAreNotTouched(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	n := node("r1-b", "node-1")
	rule := map[string]any{"name": web, "IPAddress": "203.0.113.99", "loadBalancingScheme": "EXTERNAL",
		"backendService": "https://www.googleapis.com/compute/v1/projects/p/regions/r1/backendServices/k8s2-x"}
	r.put("regions/r1/forwardingRules/"+web, rule)
	s := service("web", webUID, 80)
	if _, err := r.controller.EnsureLoadBalancer(t.Context(), "c", s, []*v1.Node{n}); err != cloudprovider.ImplementedElsewhere { //nolint:errorlint // compared so by the framework
		t.Errorf("Ensure: %v", err)
	}
	if err := r.controller.UpdateLoadBalancer(t.Context(), "c", s, []*v1.Node{n}); err != cloudprovider.ImplementedElsewhere { //nolint:errorlint // as above
		t.Errorf("Update: %v", err)
	}
	r.remove(s)
	r.verifyChanges()
	r.verify(map[string][]string{"forwardingRules": {web}})
}

func TestServicesAreHandedOver(t *testing.T) {
	t.Parallel()
	class := "networking.gke.io/l4-regional-external"
	for name, tc := range map[string]struct {
		edit    func(*v1.Service)
		subsets bool
		want    bool
	}{
		"external":       {edit: func(*v1.Service) {}, want: true},
		"RBS annotation": {edit: func(s *v1.Service) { s.Annotations[annotation.KeyRBS] = "enabled" }},
		"RBS annotation, ours": {edit: func(s *v1.Service) {
			s.Annotations[annotation.KeyRBS] = "enabled"
			s.Finalizers = []string{handover.FinalizerExternal}
		}, want: true},
		"RBS finalizer":              {edit: func(s *v1.Service) { s.Finalizers = []string{"gke.networking.io/l4-netlb-v2"} }},
		"RBS finalizer 3":            {edit: func(s *v1.Service) { s.Finalizers = []string{"gke.networking.io/l4-netlb-v3"} }},
		"internal":                   {edit: func(s *v1.Service) { internal(s) }, want: true},
		"internal, RBS annotation":   {edit: func(s *v1.Service) { internal(s).Annotations[annotation.KeyRBS] = "enabled" }, want: true},
		"internal, subsets":          {edit: func(s *v1.Service) { internal(s) }, subsets: true},
		"internal, subsets, ours":    {edit: func(s *v1.Service) { internal(s).Finalizers = []string{handover.FinalizerInternal} }, subsets: true, want: true},
		"internal, subset finalizer": {edit: func(s *v1.Service) { internal(s).Finalizers = []string{"gke.networking.io/l4-ilb-v2"} }},
		"class":                      {edit: func(s *v1.Service) { s.Spec.LoadBalancerClass = &class }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := service("web", webUID, 80)
			tc.edit(s)
			if got := handover.Handles(s, tc.subsets); got != tc.want {
				t.Errorf("handles = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestHostProjectDeniesFirewalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	r.environment.NetworkProject = "host"
	r.denied["firewalls.insert"] = true
	r.ensure(service("web", webUID, 80), node("r1-b", "node-1"))
	var sent string
	for len(r.events.Events) > 0 {
		if e := <-r.events.Events; strings.Contains(e, "LoadBalancerManualChange") && strings.Contains(e, "k8s-fw-") {
			sent = e
		}
	}
	const want = "gcloud compute firewall-rules create k8s-fw-" + web + " --network n --priority 1000 --description " +
		`'{"kubernetes.io/service-name":"default/web", "kubernetes.io/service-ip":"203.0.113.1"}' --allow tcp:80 ` +
		"--source-ranges 0.0.0.0/0 --target-tags nodes --destination-ranges 203.0.113.1 --project host"
	if !strings.Contains(sent, want) {
		t.Errorf("sent %q, want %s", sent, want)
	}
}

func TestInvalidServices(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit func(*v1.Service)
		want string
	}{
		"two protocols": {func(s *v1.Service) {
			s.Spec.Ports = append(s.Spec.Ports, v1.ServicePort{Name: "u", Protocol: v1.ProtocolUDP, Port: 80, NodePort: 30001})
		}, "spec.ports"},
		"IPv6": {func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol} }, "spec.ipFamilies"},
		"dual stack": {func(s *v1.Service) {
			policy := v1.IPFamilyPolicyRequireDualStack
			s.Spec.IPFamilies, s.Spec.IPFamilyPolicy = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}, &policy
		}, "spec.ipFamilyPolicy"},
		"tier":     {func(s *v1.Service) { s.Annotations[annotation.KeyNetworkTier] = "Fast" }, "cloud.google.com/network-tier"},
		"weighted": {func(s *v1.Service) { s.Annotations["networking.gke.io/weighted-load-balancing"] = "pods-per-node" }, "ingress-gce"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, config.Global{})
			s := service("web", webUID, 80)
			tc.edit(s)
			_, err := r.controller.EnsureLoadBalancer(t.Context(), "c", s, []*v1.Node{node("r1-b", "node-1")})
			if !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want an error about %s", err, tc.want)
			}
			r.verifyChanges()
		})
	}
}

// Of two Services that are deleted at the same time, each of which saw the other, the last one deletes what they
// shared.
func TestLastOfConcurrentDeletionsDeletesWhatWasShared(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	n := node("r1-b", "node-1")
	one, two := service("web", webUID, 80), service("db", dbUID, 81)
	r.ensure(one, n)
	r.ensure(two, n)
	plans := make([]plan.Plan, 2)
	keys := []lbcommon.Key{{Namespace: "default", Name: "web", UID: webUID}, {Namespace: "default", Name: "db", UID: dbUID}}
	for i, key := range keys {
		have, err := r.cloud.Observe(t.Context(), lbcommon.Request[model.Desired]{Key: key, Depth: lbcommon.Existence})
		if err != nil {
			t.Fatal(err)
		}
		if plans[i], err = r.cloud.Diff(key, nil, have); err != nil {
			t.Fatal(err)
		}
		plans[i] = r.cloud.Bind(key, have, plans[i])
	}
	if _, err := plans[0].Apply(t.Context(), plan.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := plans[1].Apply(t.Context(), plan.ApplyOptions{}); !cloudapi.Is(err, cloudapi.Conflict) {
		t.Errorf("the last one: %v, want a conflict", err)
	}
	r.remove(two)
	r.verify(nil)
}

// Packets reach nodes at the ports of the Service, so that it needs no node ports.
func TestServiceWithoutNodePorts(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s := service("web", webUID, 80)
	s.Spec.AllocateLoadBalancerNodePorts, s.Spec.Ports[0].NodePort = ptr.To(false), 0
	if ip := r.ensure(s, node("r1-b", "node-1")); ip == "" {
		t.Error("no address")
	}
}
