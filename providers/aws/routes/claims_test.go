package routes

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// A kubelet may register further Nodes with the provider ID of an instance. They have other pod CIDRs.
func TestNodesWithOneProviderIDKeepTheirRoutes(t *testing.T) {
	w := newRouteWorld(t, sim.Options{})
	for _, name := range []string{"a", "b"} {
		cidr := map[string]string{"a": "10.244.0.0/24", "b": "10.244.1.0/24"}[name]
		id := w.node(name, cidr)
		w.mustCreate(name, cidr)
		for _, impostor := range []string{"0-" + name, "z-" + name} {
			node := simtest.InitializedNode(impostor, "aws:///us-west-2a/"+id)
			node.Spec.PodCIDRs = []string{"10.244.9.0/24"}
			if err := w.nodes.Add(node); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 5 {
		w.wantList(map[string]string{"10.244.0.0/24": "a", "10.244.1.0/24": "b"})
	}
}
