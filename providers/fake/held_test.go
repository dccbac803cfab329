package fake_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/heldtest"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/fake/sim"
)

// Each disruptive edit, and each pair of them, is held without holding anything else.
func TestHeldEdits(t *testing.T) {
	heldtest.Run(t, heldtest.Options{Subject: subject(), Edits: map[string]heldtest.Edit{
		"a port is removed": {Make: heldtest.Of(func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] })},
		"source ranges": {Make: heldtest.Of(func(s *v1.Service) {
			s.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
		})},
		"internal": {Make: heldtest.Annotate(intent.KeyScheme, string(intent.Internal))},
		"address": {Make: func(s *v1.Service, w conformance.World) (err error) {
			_, s.Spec.LoadBalancerIP, err = w.(*sim.Cloud).Reserve()
			return err
		}},
	}})
}
