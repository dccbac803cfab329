package guard

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	testclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// spy is a provider that records calls and returns preset answers.
type spy struct {
	cloudprovider.Interface // Clusters, Zones, HasClusterID: never called
	plan                    plan.Plan
	exists                  bool
	// found are the nodes whose instances exist in any case.
	found map[string]bool
	// answer, if set, reports whether the instance of a node exists.
	answer func(node string) bool
	routes []*cloudprovider.Route
	err    error
	panics bool

	mu      sync.Mutex
	calls   []string
	runtime provider.Runtime
}

var _ loadbalancer.Interface = spyBalancer{}

type (
	spyInstances struct{ *spy }
	spyBalancer  struct{ *spy }
	spyRoutes    struct{ *spy }
)

func (s *spy) note(method string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, strings.TrimSpace(fmt.Sprintln(append([]any{method}, args...)...)))
}

func (s *spy) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {
	s.note("Initialize")
}
func (s *spy) SetInformers(informers.SharedInformerFactory)     { s.note("SetInformers") }
func (s *spy) SetRuntime(r provider.Runtime)                    { s.note("SetRuntime"); s.runtime = r }
func (s *spy) Check(context.Context) error                      { s.note("Check"); return s.err }
func (s *spy) ProviderName() string                             { return "spy" }
func (s *spy) Instances() (cloudprovider.Instances, bool)       { return nil, false }
func (s *spy) InstancesV2() (cloudprovider.InstancesV2, bool)   { return spyInstances{s}, true }
func (s *spy) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return spyBalancer{s}, true }
func (s *spy) Routes() (cloudprovider.Routes, bool)             { return spyRoutes{s}, true }

func (s spyInstances) InstanceExists(_ context.Context, n *v1.Node) (bool, error) {
	s.note("InstanceExists", n.Name)
	if s.panics {
		panic("a defect")
	}
	if s.answer != nil {
		return s.answer(n.Name), s.err
	}
	return s.exists || s.found[n.Name], s.err
}

func (s spyInstances) InstanceShutdown(_ context.Context, n *v1.Node) (bool, error) {
	s.note("InstanceShutdown", n.Name)
	return s.err == nil, s.err
}

func (s spyInstances) InstanceMetadata(_ context.Context, n *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	s.note("InstanceMetadata", n.Name)
	if s.err != nil {
		return nil, s.err
	}
	return &cloudprovider.InstanceMetadata{ProviderID: "spy://1"}, nil
}

func (s spyBalancer) GetLoadBalancer(context.Context, string, *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	return &v1.LoadBalancerStatus{}, true, s.err
}
func (s spyBalancer) GetLoadBalancerName(context.Context, string, *v1.Service) string { return "lb-1" }
func (s spyBalancer) EnsureLoadBalancer(_ context.Context, _ string, _ *v1.Service,
	nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	s.note("EnsureLoadBalancer", names(nodes))
	return &v1.LoadBalancerStatus{}, s.err
}

func (s spyBalancer) UpdateLoadBalancer(_ context.Context, _ string, _ *v1.Service, nodes []*v1.Node) error {
	s.note("UpdateLoadBalancer", names(nodes))
	return s.err
}

func (s spyBalancer) EnsureLoadBalancerDeleted(context.Context, string, *v1.Service) error {
	s.note("EnsureLoadBalancerDeleted")
	return s.err
}

func (s spyBalancer) PlanLoadBalancer(_ context.Context, _ string, _ *v1.Service, nodes []*v1.Node,
	o loadbalancer.PlanOptions) (plan.Plan, error) {
	s.note("PlanLoadBalancer", names(nodes), o.Remove)
	return s.plan, s.err
}

func (s spyBalancer) AuditLoadBalancer(_ context.Context, _ string,
	current loadbalancer.CurrentFunc) (plan.Plan, *v1.LoadBalancerStatus, error) {
	_, nodes := current()
	s.note("AuditLoadBalancer", names(nodes))
	return s.plan, nil, s.err
}

func (s spyBalancer) AuditsTogether() bool { return false }

func (s spyBalancer) RemoveOrphans(context.Context, string, *v1.Service, loadbalancer.ApproveFunc) (plan.Result, error) {
	s.note("RemoveOrphans")
	return plan.Result{}, s.err
}

func (s spyRoutes) ListRoutes(context.Context, string) ([]*cloudprovider.Route, error) {
	return s.routes, s.err
}

func (s spyRoutes) LimitTo(clusterCIDRs []netip.Prefix) { s.note("LimitTo", clusterCIDRs) }

func (s spyRoutes) CreateRoute(_ context.Context, _, _ string, r *cloudprovider.Route) error {
	s.note("CreateRoute", r.TargetNode)
	return s.err
}

func (s spyRoutes) DeleteRoute(_ context.Context, _ string, r *cloudprovider.Route) error {
	s.note("DeleteRoute", r.Name)
	return s.err
}

func names(nodes []*v1.Node) (list []string) {
	for _, n := range nodes {
		list = append(list, n.Name)
	}
	return list
}

// node makes an initialised node.
func node(name, providerID string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec: v1.NodeSpec{ProviderID: providerID}}
}

func tainted(n *v1.Node) *v1.Node {
	n.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true"}}
	return n
}

func optOut(n *v1.Node) *v1.Node {
	n.Labels = map[string]string{provider.ManagedLabel: "false"}
	return n
}

// fixture is a guarded spy with a fake clock and recorded Events.
type fixture struct {
	*guarded
	spy    *spy
	clock  *testclock.FakeClock
	events *record.FakeRecorder
}

func newFixture(t *testing.T, o Options) *fixture {
	t.Helper()
	clk := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if o.Clock == nil {
		o.Clock = clk
	}
	f := &fixture{spy: &spy{exists: true}, clock: clk, events: record.NewFakeRecorder(100)}
	g, ok := Wrap(f.spy, o).(*guarded)
	if !ok {
		t.Fatal("Wrap returned another type")
	}
	g.shared.events.setRecorder(f.events)
	f.guarded = g
	return f
}

func (f *fixture) pass(d time.Duration) { f.clock.SetTime(f.clock.Now().Add(d)) }

func (f *fixture) said() (list []string) {
	for {
		select {
		case e := <-f.events.Events:
			list = append(list, e)
		default:
			return list
		}
	}
}

func (f *fixture) exists(t *testing.T, n *v1.Node, want bool) {
	t.Helper()
	got, err := f.instances.InstanceExists(t.Context(), n)
	if err != nil || got != want {
		t.Errorf("%s exists = %v, %v, want %v", n.Name, got, err, want)
	}
}
