package loadbalancer

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
)

// firewallPath returns the path of the firewall of the traffic of Service web.
const firewallPath = "global/firewalls/k8s-fw-" + web

func TestSourceRangesOfAnotherFamilyAdmitNobodyElse(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	s.Spec.LoadBalancerSourceRanges = []string{"2001:db8::/32"}
	_, err := r.controller.EnsureLoadBalancer(r.Context(), "c", s, []*v1.Node{n})
	if err != nil {
		return
	}
	if got := stringsOf(r.object(t, firewallPath)["sourceRanges"]); slices.Contains(got, "0.0.0.0/0") {
		t.Errorf("the firewall admits %q", got)
	}
}

func TestAllowRuleKeepsItsPriorityWhileTheDenyRuleExists(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	ip := r.ensure(s, n)
	r.objects[firewallPath]["priority"] = 999.0
	deny := map[string]any{}
	for k, v := range r.objects[firewallPath] {
		deny[k] = v
	}
	deny["name"], deny["priority"], deny["allowed"] = "k8s-fw-"+web+"-deny", 1000.0, nil
	deny["denied"] = []any{map[string]any{"IPProtocol": "all"}}
	deny["destinationRanges"] = []any{ip}
	r.put(firewallPath+"-deny", deny)
	r.restart(config.Global{})
	r.calls()
	r.ensure(s, n)
	if _, changes := r.calls(); !slices.Equal(changes, []string{"firewalls.delete", "firewalls.patch"}) {
		t.Errorf("changes = %q: a deny rule of the same priority wins", changes)
	}
}

func TestOwnAddressKeepsItsTier(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	s.Annotations[annotation.KeyNetworkTier] = "Standard"
	ip := r.ensure(s, n)
	r.calls()
	s = edit(s, func(s *v1.Service) {
		delete(s.Annotations, annotation.KeyNetworkTier)
		s.Spec.LoadBalancerIP = ip
	})
	r.ensure(s, n)
	r.verifyChanges()
	s = edit(s, func(s *v1.Service) { s.Annotations[annotation.KeyNetworkTier] = "Premium" })
	if _, err := r.controller.EnsureLoadBalancer(r.Context(), "c", s, []*v1.Node{n}); err == nil {
		t.Error("an address was moved to another tier")
	}
	r.verifyChanges()
}

func TestDeletionReleasesAnAddressThatWasInUse(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	ip := r.ensure(s, n)
	r.put("regions/r1/addresses/"+web, map[string]any{"name": web, "address": ip, "addressType": "EXTERNAL",
		"networkTier": "PREMIUM"})
	r.restart(config.Global{})
	r.cloud.store.uses.Keep(keptAddress(web))
	r.remove(s)
	r.verify(nil)
}

func TestRuleOfAnotherControllerSinceThePlanStays(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	r.ensure(s, n)
	path := "regions/r1/forwardingRules/" + web
	r.put(path, map[string]any{"name": web, "IPAddress": "192.0.2.9", "loadBalancingScheme": "EXTERNAL",
		"backendService": "regions/r1/backendServices/k8s2-x"})
	r.calls()
	w := writer{store: r.cloud.store, environment: r.environment}
	if err := (ruleDeletion{web}).Do(r.Context(), w, nil); err == nil {
		t.Error("no error")
	}
	r.verifyChanges()
}
