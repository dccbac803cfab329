package gce_test

import (
	"maps"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/heldtest"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

// editsOfBoth are the disruptive edits of external and internal load balancers; the scheme is the other one.
func editsOfBoth(scheme intent.Scheme) map[string]heldtest.Edit {
	return map[string]heldtest.Edit{
		"a port is removed": {Make: heldtest.Of(func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] })},
		"source ranges": {Make: heldtest.Of(func(s *v1.Service) {
			s.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
		})},
		"UDP": {Make: heldtest.Of(func(s *v1.Service) {
			for i := range s.Spec.Ports {
				s.Spec.Ports[i].Protocol = v1.ProtocolUDP
			}
		})},
		"other scheme": {Make: heldtest.Annotate(intent.KeyScheme, string(scheme))},
	}
}

func clientIP() heldtest.Change {
	return heldtest.Of(func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP })
}

func localTraffic() heldtest.Change {
	return heldtest.Of(func(s *v1.Service) {
		s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	})
}

// Each disruptive edit, and each pair of them, is held. A forwarding rule gets no port beside one that is held.
func TestHeldEdits(t *testing.T) {
	external := editsOfBoth(intent.Internal)
	maps.Copy(external, map[string]heldtest.Edit{
		"session affinity": {Make: clientIP()},
		"network tier":     {Make: heldtest.Annotate(annotation.KeyNetworkTier, "Standard")},
		"address": {Make: func(s *v1.Service, w conformance.World) (err error) {
			_, s.Spec.LoadBalancerIP, err = w.(*sim.Cloud).Reserve()
			return err
		}},
	})
	inside := editsOfBoth(intent.Public)
	maps.Copy(inside, map[string]heldtest.Edit{
		"no global access": {Before: heldtest.Annotate(annotation.KeyGlobalAccess, "true"),
			Make: heldtest.Annotate(annotation.KeyGlobalAccess, "false")},
		"session affinity of a shared backend service": {Before: heldtest.Annotate(annotation.KeyBackendShare, "true"),
			Make: clientIP()},
		"own backend service": {Before: heldtest.Annotate(annotation.KeyBackendShare, "true"),
			Make: heldtest.Annotate(annotation.KeyBackendShare, "false")},
		"own backend service for local traffic": {Before: heldtest.Annotate(annotation.KeyBackendShare, "true"),
			Make: localTraffic()},
		"shared backend service": {Make: heldtest.Annotate(annotation.KeyBackendShare, "true")},
		"subnet": {Make: func(s *v1.Service, w conformance.World) (err error) {
			s.Annotations[annotation.KeySubnet], err = w.(*sim.Cloud).Subnet()
			return err
		}},
	})
	const backends = "internal load balancers have backend services"
	const others = "nobody has attached one"
	const network, configured = "the firewall is replaced by one in another network", "the configuration names the network"
	for scheme, held := range map[intent.Scheme]heldtest.Options{
		intent.Public: {Edits: external, NotCaused: map[string]string{
			"clients in other regions lose access":            "external load balancers serve all regions",
			"the protocol of the backend service changes":     "external load balancers have target pools",
			"a health check of others leaves the target pool": others,
			network: configured,
		}},
		intent.Internal: {Edits: inside, NotCaused: map[string]string{
			"the target pool is replaced, and its forwarding rule with it": backends,
			"a health check of others leaves the target pool":              others,
			network: configured,
		}},
	} {
		t.Run(string(scheme), func(t *testing.T) {
			held.Subject, held.WithoutPort = subject(scheme), true
			heldtest.Run(t, held)
		})
	}
}
