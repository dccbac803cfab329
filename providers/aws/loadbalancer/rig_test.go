package loadbalancer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/golden"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/statustest"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

const clusterName = "kubernetes"

// certificateA and B are certificates that the simulator takes for existing.
const (
	certificateA = "arn:aws:acm:us-west-2:123456789012:certificate/aaaaaaaa-1234-1234-1234-123456789012"
	certificateB = "arn:aws:acm:us-west-2:123456789012:certificate/bbbbbbbb-1234-1234-1234-123456789012"
)

// skipping is a clock on which waiting takes no time, and time passes all the same.
type skipping struct{ *clocktesting.FakeClock }

func (s skipping) NewTimer(d time.Duration) clock.Timer {
	timer := s.FakeClock.NewTimer(d)
	s.Step(d)
	return timer
}

// rig is a manager of load balancers, in process with a simulated cloud, by the SDK's own clients.
type rig struct {
	t        *testing.T
	sim      *sim.Cloud
	ec2      *ec2.Client
	elb      *elb.Client
	elbv2    *elbv2.Client
	clock    skipping
	vpc      string
	settings Settings
	nodes    []*v1.Node
	// lister lists nodes as the framework's informer does; nil without one.
	lister *nodes.LazyLister
	// named are IDs and the names that a test has given them.
	named golden.Names
	// killed says that a fault has ended the manager.
	killed atomic.Bool

	cloud   *Cloud
	manager *statustest.Manager
	// services outlive managers.
	services statustest.Services
	recorder *record.FakeRecorder
}

func newRig(t *testing.T, o sim.Options, settings ...func(*Settings)) *rig {
	t.Helper()
	r := &rig{t: t, clock: skipping{clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}}
	o.Clock = r.clock
	cloud, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.sim = cloud
	config := simtest.Config(cloud)
	r.ec2, r.elb, r.elbv2 = ec2.NewFromConfig(config), elb.NewFromConfig(config), elbv2.NewFromConfig(config)
	r.vpc = cloud.VPC()
	r.launch("a", "b", "c")
	for _, set := range settings {
		set(&r.settings)
	}
	r.restart()
	return r
}

// restart gives the rig a new manager, which knows nothing.
func (r *rig) restart() {
	source := &instances{client: r.ec2, clock: r.clock}
	r.cloud = New(Options{
		Connect: func(context.Context) (Connection, error) {
			return Connection{EC2: r.ec2, ELB: r.elb, ELBV2: r.elbv2, VPC: r.vpc, Cluster: vpc.Cluster{ID: "sim"}, Instances: source}, nil
		},
		InstanceID: func(id string) (string, error) {
			if rest, ok := strings.CutPrefix(id, "aws:///"); ok {
				return rest[strings.LastIndex(rest, "/")+1:], nil
			}
			return "", fmt.Errorf("%q is not of AWS", id)
		},
		Settings: r.settings, Clock: r.clock,
	})
	controller := lbcommon.New(lbcommon.Options{
		Provider: "aws", Clock: r.clock, Vocabulary: annotation.Vocabulary("aws"), DeferRecords: true, Nodes: r.lister,
	}, r.cloud)
	r.recorder = record.NewFakeRecorder(1000)
	r.manager = statustest.New(controller, &r.services, provider.Runtime{Recorder: r.recorder, ClusterUID: "cluster-1"})
	r.sim.Front().Log().Reset()
}

// instances is a bulk snapshot of half a minute.
type instances struct {
	client *ec2.Client
	clock  clock.PassiveClock

	mu     sync.Mutex
	readAt time.Time
	known  map[string]*ec2types.Instance
}

func (i *instances) Described(ctx context.Context, ids []string, fresh bool) (map[string]*ec2types.Instance, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	missing := slices.ContainsFunc(ids, func(id string) bool { _, ok := i.known[id]; return !ok })
	if fresh || missing || i.clock.Since(i.readAt) > 30*time.Second {
		out, err := i.client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
		if err != nil {
			return nil, err
		}
		i.known, i.readAt = map[string]*ec2types.Instance{}, i.clock.Now()
		for _, reservation := range out.Reservations {
			for _, instance := range reservation.Instances {
				i.known[*instance.InstanceId] = &instance
			}
		}
	}
	return i.known, nil
}

func (r *rig) launch(names ...string) {
	r.t.Helper()
	for _, name := range names {
		node, err := r.sim.Launch(world.Machine{Name: name})
		if err != nil {
			r.t.Fatal(err)
		}
		node.Spec.ProviderID = "aws:///us-west-2a/" + r.sim.Instance(name)
		r.nodes = append(r.nodes, node)
	}
}

// service is a Service with a network load balancer with two ports.
func service(change ...func(*v1.Service)) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web", UID: types.UID("0123abcd-4567-89ef-0123-456789abcdef"),
			Annotations: map[string]string{annotation.KeyType: "nlb"},
		},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, Ports: []v1.ServicePort{
			{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080},
			{Name: "https", Protocol: v1.ProtocolTCP, Port: 443, NodePort: 30443},
		}},
	}
	for _, f := range change {
		f(svc)
	}
	return svc
}

const webName = "a0123abcd456789ef0123456789abcde"

// annotate sets annotations.
func annotate(pairs ...string) func(*v1.Service) {
	return func(svc *v1.Service) {
		for i := 0; i < len(pairs); i += 2 {
			svc.Annotations[pairs[i]] = pairs[i+1]
		}
	}
}

func without(key string) func(*v1.Service) {
	return func(s *v1.Service) { delete(s.Annotations, key) }
}

// ensure brings the cloud in line and returns the Service's status.
func (r *rig) ensure(svc *v1.Service) *v1.LoadBalancerStatus {
	r.t.Helper()
	status, err := r.manager.EnsureLoadBalancer(r.t.Context(), clusterName, svc, r.nodes)
	if err != nil {
		r.t.Fatalf("ensure: %v", err)
	}
	return status
}

// ensureError fails unless the Service is refused with these texts, before anything is changed.
func (r *rig) ensureError(svc *v1.Service, texts ...string) {
	r.t.Helper()
	r.log().Reset()
	_, err := r.manager.EnsureLoadBalancer(r.t.Context(), clusterName, svc, r.nodes)
	if err == nil {
		r.t.Fatal("it is not refused")
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			r.t.Errorf("the error does not say %q: %v", text, err)
		}
	}
	r.noMutations("a refused Service")
}

// steady fails unless neither this manager nor a new one has anything to do.
func (r *rig) steady(svc *v1.Service) {
	r.t.Helper()
	r.log().Reset()
	r.ensure(svc)
	r.noMutations("a second ensure")
	r.restart()
	r.ensure(svc)
	r.noMutations("a restart")
	drift, _, err := r.manager.AuditLoadBalancer(r.t.Context(), clusterName, func() (*v1.Service, []*v1.Node) { return svc, r.nodes })
	if err != nil || !drift.Empty() {
		r.t.Errorf("audit: %v, %v", plan.Summary(drift), err)
	}
	r.noMutations("an audit")
}

func (r *rig) noMutations(what string) {
	r.t.Helper()
	for _, call := range r.log().Mutations() {
		r.t.Errorf("%s calls %s", what, call.Operation.Name)
	}
}

// remove deletes the load balancer as the framework does.
func (r *rig) remove(svc *v1.Service) {
	r.t.Helper()
	_, exists, err := r.manager.GetLoadBalancer(r.t.Context(), clusterName, svc)
	if err != nil {
		r.t.Fatalf("get: %v", err)
	}
	if !exists {
		return
	}
	if err := r.manager.EnsureLoadBalancerDeleted(r.t.Context(), clusterName, svc); err != nil {
		r.t.Fatalf("delete: %v", err)
	}
}

func (r *rig) log() *kit.Log { return r.sim.Front().Log() }

// wantCalls fails if more than most calls were made since the log was reset.
func (r *rig) wantCalls(what string, most int) {
	r.t.Helper()
	if n := r.log().Len(); n > most {
		r.t.Errorf("%s: %d calls, at most %d are allowed: %v", what, n, most, r.log().Count())
	}
}

// events are the texts of the Events since the last time.
func (r *rig) events() []string {
	var out []string
	for {
		select {
		case e := <-r.recorder.Events:
			out = append(out, e)
		default:
			return out
		}
	}
}

func (r *rig) wantEvent(text string) {
	r.t.Helper()
	events := r.events()
	if !slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, text) }) {
		r.t.Errorf("no event says %q: %q", text, events)
	}
}

// local sets externalTrafficPolicy: Local, for which kube-proxy answers on a node port of its own.
func local(s *v1.Service) {
	s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 31000
}

// bare is what exists before any Service.
func (r *rig) bare() map[string]int { return maps.Clone(r.sim.Objects()) }

func (r *rig) sameAs(t *testing.T, before map[string]int) {
	t.Helper()
	if after := r.sim.Objects(); !maps.Equal(nonZero(before), nonZero(after)) {
		t.Errorf("objects\nbefore %v\nafter  %v", nonZero(before), nonZero(after))
	}
}

func nonZero(m map[string]int) map[string]int {
	out := map[string]int{}
	for k, v := range m {
		if v != 0 {
			out[k] = v
		}
	}
	return out
}
