package lab

import (
	"context"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

const (
	// DemoNamespace is where the demo Services are.
	DemoNamespace = "demo"
	// PodRange is the --cluster-cidr of a lab. Each node gets a /24 of it.
	PodRange = "10.244.0.0/16"
	// MaxNodes is the number of nodes that fit into PodRange.
	MaxNodes = 256
)

// DemoMachine returns machine number i of a lab, counted from 1. Machines beyond MaxNodes have no pod CIDR.
func DemoMachine(i int) world.Machine {
	m := world.Machine{Name: fmt.Sprintf("node-%d", i)}
	if i <= MaxNodes {
		m.PodCIDRs = []string{fmt.Sprintf("10.244.%d.0/24", i-1)}
	}
	return m
}

// JoinNode launches the machine in the cloud and registers its node.
func JoinNode(ctx context.Context, client kubernetes.Interface, cloud world.World, m world.Machine) error {
	node, err := cloud.Launch(m)
	if err != nil {
		return err
	}
	return RegisterNode(ctx, client, node)
}

// Ports of the demo Services: above 1024, so that they need no privileges.
const (
	demoHTTPPort = 8080
	demoDNSPort  = 5353
)

// DemoServices returns n Services for a lab on a cloud, cycling through four kinds: public, internal,
// restricted to some source ranges, and UDP. The restricted one accepts curl, but not curl --interface
// 127.0.0.2.
//
// With several clouds, each Service selects the next one.
func DemoServices(providers []string, n int) []*v1.Service {
	provider := ""
	kinds := []func() *v1.Service{
		func() *v1.Service { return demoService(provider, "web", v1.ProtocolTCP, demoHTTPPort) },
		func() *v1.Service {
			svc := demoService(provider, "internal", v1.ProtocolTCP, demoHTTPPort)
			svc.Annotations[intent.KeyScheme] = string(intent.Internal)
			return svc
		},
		func() *v1.Service {
			svc := demoService(provider, "restricted", v1.ProtocolTCP, demoHTTPPort)
			svc.Spec.LoadBalancerSourceRanges = []string{"127.0.0.1/32", "203.0.113.0/24"}
			return svc
		},
		func() *v1.Service { return demoService(provider, "dns", v1.ProtocolUDP, demoDNSPort) },
	}
	out := make([]*v1.Service, 0, n)
	for i := range n {
		provider = providers[i%len(providers)]
		svc := kinds[i%len(kinds)]()
		if len(providers) > 1 {
			svc.Annotations[intent.KeyProvider] = provider
		}
		if round := i/len(kinds) + 1; round > 1 {
			svc.Name = fmt.Sprintf("%s-%d", svc.Name, round)
			svc.Spec.Selector["app"] = svc.Name
		}
		out = append(out, svc)
	}
	return out
}

func demoService(provider, name string, protocol v1.Protocol, port int32) *v1.Service {
	annotations := map[string]string{}
	maps.Copy(annotations, ServiceAnnotations(provider))
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: DemoNamespace, Name: name, Annotations: annotations},
		Spec: v1.ServiceSpec{
			Type:           v1.ServiceTypeLoadBalancer,
			Selector:       map[string]string{"app": name},
			IPFamilyPolicy: ptr.To(v1.IPFamilyPolicySingleStack),
			Ports:          []v1.ServicePort{{Name: "main", Protocol: protocol, Port: port}},
		},
	}
}

// CreateNamespace creates the namespace of the demo Services, unless it exists.
func CreateNamespace(ctx context.Context, client kubernetes.Interface) error {
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: DemoNamespace}}
	_, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", DemoNamespace, err)
	}
	return nil
}

// CreateService creates a Service.
func CreateService(ctx context.Context, client kubernetes.Interface, svc *v1.Service) error {
	if _, err := client.CoreV1().Services(svc.Namespace).Create(ctx, svc, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating Service %s/%s: %w", svc.Namespace, svc.Name, err)
	}
	return nil
}
