package fake

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/fake/config"
	"github.com/unified-ccm/unified-ccm/providers/fake/sim"
)

const clusterName = "prod"

// fixture is a simulated cloud and managers on it.
type fixture struct {
	*testing.T
	world *sim.Cloud
}

func newFixture(t *testing.T, o sim.Options) *fixture {
	t.Helper()
	world, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := world.Check(); err != nil {
			t.Errorf("the world contradicts itself: %v", err)
		}
		if err := world.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{T: t, world: world}
}

// manager returns a new manager with an empty memory.
func (f *fixture) manager(lines string) *Cloud {
	f.Helper()
	cfg, _, err := config.Read("", []byte("[Global]\n"+lines))
	if err != nil {
		f.Fatal(err)
	}
	cloud, err := NewCloud(cfg, WithTransport(f.world.Front().Transport()))
	if err != nil {
		f.Fatal(err)
	}
	cloud.SetRuntime(provider.Runtime{Recorder: &record.FakeRecorder{}, ClusterUID: "c-1"})
	return cloud
}

// calls runs something and returns the calls that the cloud saw, by operation.
func (f *fixture) calls(run func()) map[string]int {
	f.world.Front().Log().Reset()
	run()
	return f.world.Front().Log().Count()
}

func (f *fixture) wantCalls(want map[string]int, run func()) {
	f.Helper()
	if diff := cmp.Diff(want, f.calls(run)); diff != "" {
		f.Errorf("calls (-want +got):\n%s", diff)
	}
}

// launch starts machines and returns their nodes, initialised.
func (f *fixture) launch(c *Cloud, from, to int) []*v1.Node {
	f.Helper()
	var nodes []*v1.Node
	for i := from; i <= to; i++ {
		node, err := f.world.Launch(conformance.Machine{Name: fmt.Sprintf("node-%04d", i)})
		if err != nil {
			f.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	for _, node := range nodes {
		metadata, err := c.instances.InstanceMetadata(f.Context(), node)
		if err != nil {
			f.Fatal(err)
		}
		node.Spec.ProviderID, node.Spec.Taints = metadata.ProviderID, nil
		node.Labels[v1.LabelTopologyZone] = metadata.Zone
	}
	return nodes
}

func (f *fixture) ensure(c *Cloud, svc *v1.Service, nodes []*v1.Node) *v1.LoadBalancerStatus {
	f.Helper()
	status, err := c.loadBalancer.EnsureLoadBalancer(f.Context(), clusterName, svc, nodes)
	if err != nil {
		f.Fatal(err)
	}
	return status
}

func service(n int) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("web-%03d",
				n), UID: types.UID(fmt.Sprintf("6a9b1c2d-3e4f-4a5b-8c7d-%012d", n)),
			Annotations: map[string]string{},
		},
		Spec: v1.ServiceSpec{
			Type:       v1.ServiceTypeLoadBalancer,
			IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
			Ports:      []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: 80, NodePort: int32(30000 + n)}},
		},
	}
}

// joining is a node as its kubelet registers it.
func joining(name, providerID string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Spec: v1.NodeSpec{
			ProviderID: providerID,
			Taints: []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true",
				Effect: v1.TaintEffectNoSchedule}},
		},
	}
}
