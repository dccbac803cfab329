package gce_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

// A load balancer keeps its address if Compute Engine refuses the other one, and gets it otherwise.
func TestRefusedAddressCostsNoLoadBalancer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		scheme intent.Scheme
		edit   func(s *v1.Service, taken string)
		moves  bool
	}{
		"gateway": {scheme: intent.Internal, edit: func(s *v1.Service, _ string) { s.Spec.LoadBalancerIP = "10.132.0.1" }},
		"address of another rule": {scheme: intent.Internal, edit: func(s *v1.Service, taken string) {
			s.Spec.LoadBalancerIP = taken
		}},
		"free address": {scheme: intent.Internal, moves: true, edit: func(s *v1.Service, _ string) {
			s.Spec.LoadBalancerIP = "10.132.9.9"
		}},
		"other subnet": {scheme: intent.Internal, moves: true, edit: func(s *v1.Service, _ string) {
			s.Annotations[annotation.KeySubnet] = "second"
		}},
		"internal": {scheme: intent.Public, moves: true, edit: func(s *v1.Service, _ string) {
			s.Annotations[intent.KeyScheme] = string(intent.Internal)
		}},
		"internal in a subnet that does not exist": {scheme: intent.Public, edit: func(s *v1.Service, _ string) {
			s.Annotations[intent.KeyScheme], s.Annotations[annotation.KeySubnet] = string(intent.Internal), "typo"
		}},
		"tier": {scheme: intent.Public, moves: true, edit: func(s *v1.Service, _ string) {
			s.Annotations[annotation.KeyNetworkTier] = "Standard"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := newWorld(t, sim.Options{})
			cloud, err := newCloud(world, "[global]\nnode-tags = nodes\nsubnetwork-name = default\n")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := world.Subnet(); err != nil {
				t.Fatal(err)
			}
			node, err := world.Launch(conformance.Machine{Name: "a", Zone: "europe-west1-b"})
			if err != nil {
				t.Fatal(err)
			}
			balancers, _ := cloud.LoadBalancer()
			ensure := func(s *v1.Service) (string, error) {
				status, err := balancers.EnsureLoadBalancer(t.Context(), "c", s, []*v1.Node{node})
				if err != nil {
					return "", err
				}
				s.Status.LoadBalancer = *status
				return status.Ingress[0].IP, nil
			}
			services := map[string]*v1.Service{}
			for name, scheme := range map[string]intent.Scheme{"web": tc.scheme, "db": intent.Internal} {
				uid := map[string]string{"web": "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", "db": "1f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"}[name]
				services[name] = &v1.Service{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uid),
						Annotations: map[string]string{intent.KeyScheme: string(scheme)}},
					Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
						Ports: []v1.ServicePort{{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}}},
				}
			}
			taken, err := ensure(services["db"])
			if err != nil {
				t.Fatal(err)
			}
			before, err := ensure(services["web"])
			if err != nil {
				t.Fatal(err)
			}
			edited := services["web"].DeepCopy()
			tc.edit(edited, taken)
			ip, err := ensure(edited)
			if (err == nil) != tc.moves || tc.moves && ip == before {
				t.Errorf("address %s, was %s, error %v", ip, before, err)
			}
			if !tc.moves {
				if ip, err := ensure(services["web"]); err != nil || ip != before {
					t.Errorf("after the revert: address %s, was %s, error %v", ip, before, err)
				}
			}
			for _, object := range world.Inventory() {
				if object.Kind == "address" {
					t.Errorf("the address %s remains", object.Name)
				}
			}
		})
	}
}
