package loadbalancer

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
)

// replacement is an edit that replaces objects.
type replacement struct {
	before func(*v1.Service)
	edit   func(*v1.Service)
	// moves is set if the address changes; costs are the calls without which no forwarding rule can be made again.
	moves bool
	costs []string
}

func replacements() map[string]replacement {
	external := func(*v1.Service) {}
	inside := func(s *v1.Service) { internal(s) }
	share := func(s *v1.Service) { internal(s).Annotations[annotation.KeyBackendShare] = "true" }
	affinity := func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP }
	udp := func(s *v1.Service) { s.Spec.Ports[0].Protocol = v1.ProtocolUDP }
	port := func(s *v1.Service) { s.Spec.Ports[0].Port = 81 }
	toLocal := func(s *v1.Service) { local(s) }
	annotate := func(key, value string) func(*v1.Service) { return func(s *v1.Service) { s.Annotations[key] = value } }
	pool := []string{"targetPools.insert"}
	return map[string]replacement{
		"port": {before: external, edit: port}, "protocol": {before: external, edit: udp},
		"affinity": {before: external, edit: affinity, costs: pool},
		"affinity and policy": {before: external, edit: func(s *v1.Service) { affinity(local(s)) },
			costs: pool},
		"policy":                      {before: external, edit: toLocal},
		"tier":                        {before: external, edit: annotate(annotation.KeyNetworkTier, "Standard"), moves: true},
		"external to internal":        {before: external, edit: inside, moves: true},
		"internal to external":        {before: inside, edit: func(s *v1.Service) { s.Annotations = nil }, moves: true},
		"port of an internal one":     {before: inside, edit: port},
		"protocol of an internal one": {before: inside, edit: udp, costs: []string{"backendServices.update"}},
		"policy of an internal one":   {before: inside, edit: toLocal},
		"subnet":                      {before: inside, edit: annotate(annotation.KeySubnet, "t"), moves: true},
		"address":                     {before: inside, edit: func(s *v1.Service) { s.Spec.LoadBalancerIP = "10.0.0.99" }, moves: true},
		"shared backend service":      {before: inside, edit: share},
		"own backend service":         {before: share, edit: func(s *v1.Service) { delete(s.Annotations, annotation.KeyBackendShare) }},
		"own one for local traffic":   {before: share, edit: toLocal},
		"protocol of a shared one":    {before: share, edit: udp},
	}
}

// newReplacement returns a rig with the Service before and after an edit, and its address.
func newReplacement(t *testing.T, tc replacement) (r *rig, edited *v1.Service, n *v1.Node, ip string) {
	t.Helper()
	r = newRig(t, config.Global{SubnetworkName: "s"})
	for _, name := range []string{"s", "t"} {
		r.put("regions/r1/subnetworks/"+name, map[string]any{"name": name, "ipCidrRange": "10.0.0.0/16"})
	}
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	tc.before(s)
	ip = r.ensure(s, n)
	r.calls()
	return r, edit(s, tc.edit), n, ip
}

// ownNames returns the names of the objects of one load balancer. What several share stays until one is deleted.
func (r *rig) ownNames() []string {
	var out []string
	for path := range r.objects {
		if strings.Contains(path, web) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// Whatever call of a replacement is refused, again and again: a forwarding rule exists after the next sync, and the load
// balancer is the wanted one once the call is accepted, without objects of the earlier one.
func TestRefusedCallsCostNoForwardingRule(t *testing.T) {
	t.Parallel()
	for name, tc := range replacements() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s, n, _ := newReplacement(t, tc)
			r.ensure(s, n)
			want := r.ownNames()
			_, changes := r.calls()
			slices.Sort(changes)
			for _, call := range slices.Compact(changes) {
				r, s, n, ip := newReplacement(t, tc)
				r.denied[call] = true
				for range 2 {
					_, _ = r.controller.EnsureLoadBalancer(t.Context(), "c", s, []*v1.Node{n})
				}
				isLost := r.objects[rulePath+web] == nil
				if mayBeLost := slices.Contains(append(tc.costs, "forwardingRules.insert"), call); isLost && !mayBeLost {
					t.Errorf("without %s, no forwarding rule is left", call)
				}
				r.denied[call] = false
				r.restart(config.Global{SubnetworkName: "s"})
				_, _ = r.controller.EnsureLoadBalancer(t.Context(), "c", s, []*v1.Node{n})
				if got := r.ensure(s, n); (got == ip) == tc.moves {
					t.Errorf("after %s, the address is %s, and was %s", call, got, ip)
				}
				if got := r.ownNames(); !slices.Equal(got, want) {
					t.Errorf("after %s, there are %q, want %q", call, got, want)
				}
				if p := r.plan(s, n); !p.Empty() {
					t.Errorf("after %s, the plan is %v", call, p.Changes)
				}
			}
		})
	}
}
