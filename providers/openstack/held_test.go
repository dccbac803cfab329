package openstack_test

import (
	"maps"
	"net/netip"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/heldtest"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// named returns an edit that sets an annotation to the name of something in the world.
func named(key string, name func(*sim.Cloud) string) heldtest.Change {
	return func(s *v1.Service, w conformance.World) error {
		s.Annotations[key] = name(w.(*sim.Cloud))
		return nil
	}
}

// editsOfBoth are the disruptive edits of load balancers of all drivers.
func editsOfBoth() map[string]heldtest.Edit {
	otherSubnet := func(key, prefix string) heldtest.Change {
		return func(s *v1.Service, w conformance.World) (err error) {
			cloud := w.(*sim.Cloud)
			s.Annotations[key], err = cloud.AddSubnet(cloud.Places().PrivateNetwork, key, netip.MustParsePrefix(prefix))
			return err
		}
	}
	return map[string]heldtest.Edit{
		"a port is removed": {Make: heldtest.Of(func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] })},
		"fewer clients": {Make: heldtest.Of(func(s *v1.Service) {
			s.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
		})},
		"internal": {Make: heldtest.Annotate(intent.KeyScheme, string(intent.Internal))},
		"floating IP": {Make: func(s *v1.Service, w conformance.World) (err error) {
			_, s.Spec.LoadBalancerIP, err = w.(*sim.Cloud).Reserve()
			return err
		}},
		"subnet":            {Make: otherSubnet(annotation.KeySubnetID, "198.51.100.0/24")},
		"subnet of members": {Make: otherSubnet(annotation.KeyMemberSubnetID, "192.0.2.0/24")},
	}
}

// Each disruptive edit, and each pair of them, is held without holding anything else.
func TestHeldEdits(t *testing.T) {
	amphora := editsOfBoth()
	maps.Copy(amphora, map[string]heldtest.Edit{
		"TLS": {Make: named(intent.KeyTLSCertificate, func(w *sim.Cloud) string { return w.Certificate() })},
		"flavor": {Make: named(annotation.KeyFlavorID, func(w *sim.Cloud) string {
			return w.Places().LoadBalancerFlavors["large"]
		})},
		"zone":           {Make: heldtest.Annotate(annotation.KeyAvailabilityZone, "az-2")},
		"PROXY protocol": {Make: heldtest.Annotate(annotation.KeyProxyProtocol, "true")},
	})
	const (
		needsFailure = "only a load balancer in ERROR is failed over or replaced"
		needsGuest   = "only a shared load balancer has guests"
		forwards     = "OVN forwards TCP and UDP only"
	)
	notCaused := map[string]string{
		"the pool of a guest on a shared load balancer gets its first health monitor, because of " +
			"`externalTrafficPolicy: Local` alone": needsGuest,
		"the failover of a load balancer that worked and is in ERROR; its other changes wait for it": needsFailure,
		"its replacement, with its address if that is still free, if Octavia refuses the failover":   needsFailure,
	}
	for driver, held := range map[string]heldtest.Options{
		"amphora": {Edits: amphora, NotCaused: map[string]string{
			"a rule of the managed security group that lets traffic reach nodes is removed": "there is no managed group",
		}},
		model.ProviderOVN: {Edits: editsOfBoth(), NotCaused: map[string]string{
			"a listener is replaced (`protocol`)":               forwards,
			"a listener allows fewer clients (`allowed_cidrs`)": "the managed group allows the clients",
		}},
	} {
		t.Run(driver, func(t *testing.T) {
			maps.Copy(held.NotCaused, notCaused)
			held.Subject = subject(driver)
			held.Refused = map[string]string{"floating IP, internal": "a floating IP is not in the subnet"}
			heldtest.Run(t, held)
		})
	}
}
