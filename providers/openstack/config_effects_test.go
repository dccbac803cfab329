package openstack

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/simtest"
)

// TestEveryConfigKeyHasItsEffect runs, for each key of the reference, a case that fails if nothing
// reads the key. A key without a case fails, and so does a case without a key.
func TestEveryConfigKeyHasItsEffect(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*testing.T){}
	for _, some := range []map[string]func(*testing.T){
		credentialEffects(), accessEffects(), transportEffects(), nodeEffects(), balancerEffects(), placeEffects(), monitorEffects(),
	} {
		maps.Copy(cases, some)
	}
	for _, k := range config.Keys() {
		name := "[" + k.Section + "] " + k.Key
		effect, ok := cases[name]
		if !ok {
			t.Errorf("%s has no case", name)
			continue
		}
		delete(cases, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			effect(t)
		})
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Errorf("%s has a case and is not a key", name)
	}
}

const clusterUID = "2f2c1d67-33f5-4a65-8d7a-7d4c5a3e9b10"

// balancerEffect is what a configuration does to a Service's load balancer on a simulated cloud. The
// zero value of everything but check is a Service of one port on an ordinary cloud with two nodes.
type balancerEffect struct {
	// config returns lines after the header of the section [LoadBalancer].
	config func(*madeBalancer) string
	// annotations of the Service, without the prefix loadbalancer.openstack.org/.
	annotations map[string]string
	// noSubnet leaves subnet-id out.
	noSubnet bool
	// check is called with the configuration, and once more without: then the effect must be absent.
	check func(*madeBalancer) bool
}

// madeBalancer is a Service's load balancer, and what it is in.
type madeBalancer struct {
	t       *testing.T
	world   *simtest.Cloud
	places  sim.Places
	cloud   *Cloud
	api     *api.Clients
	nodes   []*v1.Node
	service *v1.Service
	status  *v1.LoadBalancerStatus
	err     error
	// ids are the objects that config created for check.
	ids map[string]string
}

// run creates the load balancer twice, each time on a new cloud: the effect must exist with the configuration,
// and must not exist without it.
func (e balancerEffect) run(t *testing.T) {
	t.Helper()
	for _, configured := range []bool{true, false} {
		e.inBubble(t, configured, configured)
	}
}

// inBubble checks the effect in fake time.
func (e balancerEffect) inBubble(t *testing.T, configured, want bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := e.made(t, configured)
		if got := e.check(m); got != want {
			t.Errorf("configured %v, has the effect %v; load balancer: %v", configured, got, m.err)
		}
	})
}

func (e balancerEffect) made(t *testing.T, configured bool) *madeBalancer {
	t.Helper()
	w := simtest.New(t, sim.Options{})
	m := &madeBalancer{t: t, world: w, places: w.Places(), ids: map[string]string{}}
	lines := fmt.Sprintf("[LoadBalancer]\nfloating-network-id = %s\n", m.places.PublicNetwork)
	if !e.noSubnet {
		lines += fmt.Sprintf("subnet-id = %s\n", m.places.PrivateSubnet)
	}
	if e.config != nil {
		if more := e.config(m); configured {
			lines += more + "\n"
		}
	}
	m.cloud = cloudOn(t, w, lines)
	m.api = api.New(m.cloud.client)
	m.cloud.SetRuntime(provider.Runtime{Recorder: record.NewFakeRecorder(1000), ClusterUID: clusterUID})
	for i := range 2 {
		m.nodes = append(m.nodes, m.node(fmt.Sprintf("node-%d", i)))
	}
	m.service = webService()
	for key, value := range e.annotations {
		m.service.Annotations["loadbalancer.openstack.org/"+key] = value
	}
	m.world.Front().Log().Reset()
	m.status, m.err = m.ensure(m.service)
	return m
}

// webService is a Service of one TCP port.
func webService() *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: types.UID("11111111-2222-3333-4444-555555555555"), Annotations: map[string]string{}},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
			Ports: []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}}},
	}
}

// cloudOn returns the provider on an existing cloud, with more lines of configuration.
func cloudOn(t *testing.T, w *simtest.Cloud, lines string) *Cloud {
	t.Helper()
	cloud, err := NewCloud(readConfig(t, w.Config(lines)), WithTransport(w.Front().Transport()))
	if err != nil {
		t.Fatal(err)
	}
	return cloud
}

// node is a machine that has been initialized.
func (m *madeBalancer) node(name string) *v1.Node {
	m.t.Helper()
	node, err := m.world.Cloud.Launch(world.Machine{Name: name})
	if err != nil {
		m.t.Fatal(err)
	}
	meta, err := m.cloud.instances.InstanceMetadata(m.t.Context(), node)
	if err != nil {
		m.t.Fatal(err)
	}
	node.Spec.ProviderID, node.Status.Addresses, node.Spec.Taints = meta.ProviderID, meta.NodeAddresses, nil
	return node
}

func (m *madeBalancer) ensure(service *v1.Service) (*v1.LoadBalancerStatus, error) {
	return m.cloud.loadBalancer.EnsureLoadBalancer(m.t.Context(), "kubernetes", service, m.nodes)
}

// only returns the one object of a list, and fails the test if there is another number of them.
func only[T any](m *madeBalancer, list []T, err error) T {
	m.t.Helper()
	if err != nil || len(list) != 1 {
		m.t.Fatalf("there are %d of %T, want 1 (%v, %v)", len(list), list, err, m.err)
	}
	return list[0]
}

func (m *madeBalancer) balancer() api.LoadBalancer {
	m.t.Helper()
	list, err := m.api.ListLoadBalancers(m.t.Context())
	return only(m, list, err)
}

func (m *madeBalancer) listener() api.Listener {
	m.t.Helper()
	list, err := m.api.ListListeners(m.t.Context(), "")
	return only(m, list, err)
}

func (m *madeBalancer) pool() api.Pool {
	m.t.Helper()
	list, err := m.api.ListPools(m.t.Context(), "")
	return only(m, list, err)
}

func (m *madeBalancer) monitor() api.HealthMonitor {
	m.t.Helper()
	list, err := m.api.ListHealthMonitors(m.t.Context())
	return only(m, list, err)
}

func (m *madeBalancer) floatingIPs() []api.FloatingIP {
	m.t.Helper()
	list, err := m.api.ListFloatingIPs(m.t.Context(), "")
	if err != nil {
		m.t.Fatal(err)
	}
	return list
}

func (m *madeBalancer) members() []api.Member {
	m.t.Helper()
	list, err := m.api.ListMembers(m.t.Context(), m.pool().ID)
	if err != nil {
		m.t.Fatal(err)
	}
	return list
}

// calls returns the number of calls of an operation since the load balancer was requested.
func (m *madeBalancer) calls(operation string) int { return m.world.Front().Log().Count()[operation] }

// readConfig reads a valid configuration.
func readConfig(t *testing.T, content string) config.Config {
	t.Helper()
	cfg, _, err := config.Read("cloud.conf", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}
