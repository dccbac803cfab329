package gce_test

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

// A Node whose instance does not exist, or whose zone does not, keeps no other one out of a load balancer, and no load
// balancer from being created or replaced.
func TestNodeWithoutInstanceKeepsNoOtherOut(t *testing.T) {
	t.Parallel()
	for name, scheme := range map[string]intent.Scheme{"external": intent.Public, "internal": intent.Internal} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := newWorld(t, sim.Options{})
			cloud, err := newCloud(world, "[global]\nnode-tags = node\n")
			if err != nil {
				t.Fatal(err)
			}
			node := func(name, zone string, exists bool) *v1.Node {
				if exists {
					if _, err := world.Launch(conformance.Machine{Name: name, Zone: zone}); err != nil {
						t.Fatal(err)
					}
				}
				return &v1.Node{
					ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone}},
					Spec:       v1.NodeSpec{ProviderID: "gce://simulated/" + zone + "/" + name},
					Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
				}
			}
			a, b := node("a", "europe-west1-b", true), node("b", "europe-west1-b", true)
			gone, nowhere := node("gone", "europe-west1-b", false), node("nowhere", "europe-west1-z", false)
			svc := &v1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
					Annotations: map[string]string{intent.KeyScheme: string(scheme)}},
				Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
					Ports: []v1.ServicePort{{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}}},
			}
			balancers, _ := cloud.LoadBalancer()
			verify := func(when string, nodes []*v1.Node, want ...string) {
				t.Helper()
				_, err := balancers.EnsureLoadBalancer(t.Context(), "c", svc, nodes)
				if cloudapi.Is(err, cloudapi.Invalid) { // Compute Engine has no such zone, which the next attempt knows
					_, err = balancers.EnsureLoadBalancer(t.Context(), "c", svc, nodes)
				}
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				lbs := world.LoadBalancers()
				if len(lbs) != 1 || len(lbs[0].Listeners) == 0 || !slices.Equal(lbs[0].Listeners[0].Members, want) {
					t.Errorf("%s: %+v, want the members %q", when, lbs, want)
				}
			}
			verify("created", []*v1.Node{a, b, gone, nowhere}, "a", "b")
			verify("a node leaves", []*v1.Node{a, gone, nowhere}, "a")
			svc = svc.DeepCopy()
			svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP
			verify("replaced", []*v1.Node{a, b, gone, nowhere}, "a", "b")
			b.Spec.ProviderID = "" // as those of kubelets that started without --cloud-provider=external
			verify("without a provider ID", []*v1.Node{a, b}, "a", "b")
			verify("deleted", []*v1.Node{a}, "a")
			verify("never a member", []*v1.Node{a, b}, "a")
		})
	}
}
