package ccmapp

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/assign"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// portsPlanner records the first port of each Service that it plans, after that of the Service in the cluster.
type portsPlanner struct {
	cloudprovider.LoadBalancer

	mu      sync.Mutex
	planned []int32
	calls   int
	// removals counts the plans that remove a load balancer.
	removals int
}

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (p *portsPlanner) GetLoadBalancerName(_ context.Context, _ string, s *v1.Service) string {
	return s.Name
}

// plannerCloud is a cloud with the load balancers of a portsPlanner.
type plannerCloud struct {
	cloudprovider.Interface
	balancers *portsPlanner
}

func (c plannerCloud) Routes() (cloudprovider.Routes, bool) { return nil, false }

func (c plannerCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c.balancers, true }

func (p *portsPlanner) PlanLoadBalancer(_ context.Context, _ string, service *v1.Service, _ []*v1.Node,
	o loadbalancer.PlanOptions) (plan.Plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if o.Remove {
		p.removals++
	}
	if o.Live != nil {
		p.planned = append(p.planned, o.Live.Spec.Ports[0].Port)
	}
	p.planned = append(p.planned, service.Spec.Ports[0].Port)
	return plan.Plan{}, nil
}

// Without an applied record, the Service in the cluster counts as applied. The plan of a file therefore starts from that
// Service, unless it does not exist yet.
func TestPlanOfFileStartsFromServiceInCluster(t *testing.T) {
	live := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u"},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{{Port: 80}}}}
	for name, want := range map[string][]int32{"web": {80, 443}, "new": {443}} {
		balancers := &portsPlanner{}
		file := filepath.Join(t.TempDir(), "service.yaml")
		text := "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec: {type: LoadBalancer, ports: [{port: 443}]}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := &planner{options: planOptions{files: []string{file}}, client: fake.NewClientset(live), choice: assign.Choice{Clouds: []string{"fake"}},
			cloud: plannerCloud{balancers: balancers}, err: io.Discard}
		input, err := p.read(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, failed := p.plan(t.Context(), input); len(failed) > 0 {
			t.Error(failed)
		}
		if diff := cmp.Diff(want, balancers.planned); diff != "" {
			t.Errorf("%s: planned ports:\n%s", name, diff)
		}
		if balancers.calls != 1 {
			t.Errorf("%s: %d plans, want one", name, balancers.calls)
		}
	}
}

// Services of another class belong to another controller, which may use the same finalizer.
func TestPlansFollowLoadBalancerClasses(t *testing.T) {
	service := func(name string, class *string) *v1.Service {
		return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
			Finalizers: []string{servicehelper.LoadBalancerCleanupFinalizer}},
			Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, LoadBalancerClass: class, Ports: []v1.ServicePort{{Port: 80}}}}
	}
	client := fake.NewClientset(service("plain", nil), service("own", ptr.To(loadbalancer.ClassOf("fake"))),
		service("foreign", ptr.To("example.com/lb")))
	for classes, want := range map[loadbalancer.Classes][]string{
		loadbalancer.DefaultClass: {"plain"}, loadbalancer.OwnClass: {"own"}, loadbalancer.AllClasses: {"own", "plain"},
	} {
		balancers := &portsPlanner{}
		p := &planner{options: planOptions{all: true, classes: classes}, client: client, source: cloudSource{Descriptor: provider.Descriptor{Name: "fake"}},
			choice: assign.Choice{Clouds: []string{"fake"}, Default: "fake", Classes: classes},
			cloud:  plannerCloud{balancers: balancers}, err: io.Discard}
		input, err := p.read(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var planned, audited []string
		for _, s := range input.services {
			planned = append(planned, s.Name)
		}
		all, err := p.auditSession(0).Services(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			described := orphans.Describe(t.Context(), p.cloud, "prod", s)
			if described.Reconciled {
				audited = append(audited, s.Name)
			} else if !described.OtherController {
				t.Errorf("%s: Service %s is neither wanted nor another controller's", classes, s.Name)
			}
		}
		if diff := cmp.Diff(want, planned); diff != "" {
			t.Errorf("%s: planned (-want +got):\n%s", classes, diff)
		}
		if diff := cmp.Diff(want, audited); diff != "" {
			t.Errorf("%s: audited (-want +got):\n%s", classes, diff)
		}
		if _, failed := p.plan(t.Context(), input); len(failed) > 0 || balancers.calls != len(want) || balancers.removals > 0 {
			t.Errorf("%s: %d plans, %d of them removals, failed %q", classes, balancers.calls, balancers.removals, failed)
		}
	}
}

func TestMergeExistingKeepsFieldsMissingInFile(t *testing.T) {
	live := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{UID: "live", Finalizers: []string{"f"}},
		Spec: v1.ServiceSpec{
			IPFamilies: []v1.IPFamily{v1.IPv6Protocol}, HealthCheckNodePort: 31000,
			Ports: []v1.ServicePort{{Port: 80, Protocol: v1.ProtocolTCP, NodePort: 30080},
				{Port: 53, Protocol: v1.ProtocolUDP, NodePort: 30053}},
		},
	}
	s := &v1.Service{Spec: v1.ServiceSpec{ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyLocal,
		Ports: []v1.ServicePort{
			{Port: 53, Protocol: v1.ProtocolUDP}, {Port: 53, Protocol: v1.ProtocolTCP}, {Port: 80, Protocol: v1.ProtocolTCP, NodePort: 30999},
		}}}
	mergeExisting(s, live)
	var ports []int32
	for _, p := range s.Spec.Ports {
		ports = append(ports, p.NodePort)
	}
	if diff := cmp.Diff([]int32{30053, 0, 30999}, ports); diff != "" {
		t.Errorf("node ports:\n%s", diff)
	}
	if s.UID != "live" || s.Spec.HealthCheckNodePort != 31000 || len(s.Spec.IPFamilies) != 1 || len(s.Finalizers) != 1 {
		t.Errorf("got %+v", s)
	}
}

// TestDecodeManifestsSkipsOtherKinds reads a file as users have it: with the Deployment of the Service.
func TestDecodeManifestsSkipsOtherKinds(t *testing.T) {
	var w planInput
	problems := decodeManifests("f", []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"+
		"---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: c}\n"+
		"---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n"), &w)
	if len(problems) > 0 || len(w.services) != 1 {
		t.Errorf("problems %q, %d services", problems, len(w.services))
	}
	if diff := cmp.Diff([]string{"Deployment", "Certificate"}, w.skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

func TestDecodeManifests(t *testing.T) {
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
	for _, tc := range []struct {
		name, text      string
		services, nodes int
		problem         string
	}{
		{"several documents", service + "---\n" + service + "---\napiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n", 2, 1, ""},
		{"comments and empty documents", "# hello\n---\n---\n" + service + "---\n# bye\n", 1, 0, ""},
		{"JSON", `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}`, 1, 0, ""},
		{"a typed list", "apiVersion: v1\nkind: NodeList\nitems: [{metadata: {name: a}}, {metadata: {name: b}}]\n", 0, 2, ""},
		{"a list", "apiVersion: v1\nkind: List\nitems: []\n", 0, 0, "a List is not supported"},
		{"another version", "apiVersion: v2\nkind: Service\nmetadata: {name: s}\n", 0, 0, "there is no Service in version v2; write apiVersion: v1"},
		{"an unknown field", service + "spec: {tpye: LoadBalancer}\n", 0, 0, `unknown field "spec.tpye"`},
		{"no kind", "a: b\n", 0, 0, "document 1: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var w planInput
			problems := strings.Join(decodeManifests("f", []byte(tc.text), &w), "\n")
			if len(w.services) != tc.services || len(w.nodes) != tc.nodes {
				t.Errorf("%d services, %d nodes", len(w.services), len(w.nodes))
			}
			if (problems == "") != (tc.problem == "") || !strings.Contains(problems, tc.problem) {
				t.Errorf("problems: %q, want %q", problems, tc.problem)
			}
		})
	}
}
