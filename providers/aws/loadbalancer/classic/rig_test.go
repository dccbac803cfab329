package classic

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
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

// certificate is one that the simulator takes for existing.
const certificate = "arn:aws:acm:us-west-2:123456789012:certificate/12345678-1234-1234-1234-123456789012"

// rig is a manager of classic load balancers alone, in process with a simulated cloud.
type rig struct {
	t        *testing.T
	sim      *sim.Cloud
	ec2      *ec2.Client
	elb      *elb.Client
	clock    *clocktesting.FakeClock
	vpc      string
	settings Options
	nodes    []*v1.Node

	// records counts the updates of applied records.
	records atomic.Int32

	cloud   *Cloud
	manager *statustest.Manager
	// services outlive managers.
	services statustest.Services
}

func newRig(t *testing.T, o sim.Options, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	o.Clock = r.clock
	cloud, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.sim = cloud
	config := simtest.Config(cloud)
	r.ec2, r.elb = ec2.NewFromConfig(config), elb.NewFromConfig(config)
	r.vpc = cloud.VPC()
	for range 3 {
		r.launch()
	}
	r.settings = Options{API: r.elb, VPC: r.vpc, Cluster: vpc.Cluster{ID: "sim"}, Clock: skipping{r.clock}}
	for _, f := range change {
		f(&r.settings)
	}
	r.restart()
	return r
}

// restart gives the rig a new manager, which knows nothing.
func (r *rig) restart() {
	source := &instances{client: r.ec2, known: map[string]*ec2types.Instance{}}
	reader := vpc.NewReader(vpc.Options{API: r.ec2, VPC: r.vpc, Cluster: r.settings.Cluster, Instances: source, Clock: r.clock})
	o := r.settings
	o.Groups, o.Instances = reader.Groups(), source
	r.cloud = New(o)
	controller := lbcommon.New(lbcommon.Options{
		Provider: "aws", Clock: r.clock,
		Vocabulary: annotation.Vocabulary("aws"), DeferRecords: true,
		Observer: func(change plan.Change, status plan.Status, _ error) {
			if change.Kind == lbcommon.KindRecord && status == plan.Done {
				r.records.Add(1)
			}
		},
	}, seam{r.cloud, reader})
	r.manager = statustest.New(controller, &r.services, provider.Runtime{})
	r.sim.Front().Log().Reset()
}

func (r *rig) launch() {
	r.t.Helper()
	node, err := r.sim.Launch(world.Machine{})
	if err != nil {
		r.t.Fatal(err)
	}
	node.Spec.ProviderID = r.sim.Instance(node.Name)
	r.nodes = append(r.nodes, node)
}

// instances is a bulk snapshot of instances that are read once.
type instances struct {
	client *ec2.Client
	known  map[string]*ec2types.Instance
}

func (i *instances) Described(ctx context.Context, ids []string, fresh bool) (map[string]*ec2types.Instance, error) {
	out := map[string]*ec2types.Instance{}
	for _, id := range ids {
		if _, ok := i.known[id]; ok && !fresh {
			out[id] = i.known[id]
			continue
		}
		answer, err := i.client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{{Name: aws.String("instance-id"), Values: []string{id}}}})
		if err != nil {
			return nil, err
		}
		for _, reservation := range answer.Reservations {
			i.known[id] = &reservation.Instances[0]
			out[id] = &reservation.Instances[0]
		}
	}
	return out, nil
}

// seam is what stands between the controller and this package in the provider.
type seam struct {
	*Cloud
	reader *vpc.Reader
}

var _ lbcommon.RecordKeeper[Desired, Observed] = seam{}

// DesiredRecord implements lbcommon.RecordKeeper.
func (seam) DesiredRecord(want Desired) lbcommon.AppliedRecord { return want.Record }

func ids(nodes []*v1.Node) []string {
	var list []string
	for _, node := range nodes {
		list = append(list, node.Spec.ProviderID)
	}
	return list
}

func (s seam) Name(key lbcommon.Key) string { return Name(key) }

func (s seam) SharedState(ctx context.Context, nodes []*v1.Node) (vpc.SharedState, error) {
	return s.reader.SharedState(ctx, ids(nodes))
}

func (s seam) Desired(key lbcommon.Key, in intent.Service, nodes []*v1.Node, around vpc.SharedState) (Desired, error) {
	o, err := annotation.Read(in)
	want, ownErr := s.Desire(Request{Key: key, Service: in, Options: o, Instances: ids(nodes), Shared: around})
	return want, intent.Join("Service "+in.Namespace+"/"+in.Name, err, ownErr)
}

func (s seam) Reference(*v1.Service) lbcommon.Reference { return lbcommon.Reference{} }

func (s seam) Validate(in intent.Service) error { return annotation.Validate(in) }

func (s seam) Observe(ctx context.Context, request lbcommon.Request[Desired]) (Observed, error) {
	if request.Depth == lbcommon.Existence {
		return s.Cloud.Inventory(ctx, request.Key, request.Freshness)
	}
	return s.Cloud.Observe(ctx, request.Key, request.Want, request.Freshness)
}

func (s seam) DiffMembers(
	key lbcommon.Key, _ intent.Service, nodes []*v1.Node, shared vpc.SharedState, have Observed,
) (plan.Plan, error) {
	changes := s.Cloud.DiffMembers(Request{Key: key, Instances: ids(nodes), Shared: shared}, have)
	return plan.Plan{Changes: changes}, nil
}

func (s seam) Status(_ intent.Service, have Observed) lbcommon.Status {
	return lbcommon.Status{LoadBalancer: s.Cloud.Status(have)}
}

// service returns a Service of two TCP ports.
func service(change ...func(*v1.Service)) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: types.UID("11111111-2222-3333-4444-555555555555"), Annotations: map[string]string{}},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{
			{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080, TargetPort: intstr.FromInt32(8080)},
			{Name: "https", Protocol: v1.ProtocolTCP, Port: 443, NodePort: 30443, TargetPort: intstr.FromInt32(8443)},
		}},
	}
	for _, f := range change {
		f(svc)
	}
	return svc
}

// annotate sets annotations of today's prefix; the keys lack it.
func annotate(pairs ...string) func(*v1.Service) {
	return func(svc *v1.Service) {
		for i := 0; i < len(pairs); i += 2 {
			svc.Annotations[annotation.Prefix+pairs[i]] = pairs[i+1]
		}
	}
}

func (r *rig) ensure(svc *v1.Service) *v1.LoadBalancerStatus {
	r.t.Helper()
	status, err := r.manager.EnsureLoadBalancer(r.t.Context(), clusterName, svc, r.nodes)
	if err != nil {
		r.t.Fatalf("ensure: %v", err)
	}
	return status
}

func (r *rig) ensureError(svc *v1.Service) error {
	r.t.Helper()
	_, err := r.manager.EnsureLoadBalancer(r.t.Context(), clusterName, svc, r.nodes)
	if err == nil {
		r.t.Fatal("ensure: no error")
	}
	return err
}

func (r *rig) update(svc *v1.Service) {
	r.t.Helper()
	if err := r.manager.UpdateLoadBalancer(r.t.Context(), clusterName, svc, r.nodes); err != nil {
		r.t.Fatalf("update: %v", err)
	}
}

// remove deletes until nothing is left; the clock goes on meanwhile.
func (r *rig) remove(svc *v1.Service) {
	r.t.Helper()
	for range 20 {
		err := r.manager.EnsureLoadBalancerDeleted(r.t.Context(), clusterName, svc)
		if err == nil {
			return
		}
		r.clock.Step(releasePause)
	}
	r.t.Fatal("the load balancer is never deleted")
}

const releasePause = 15 * time.Second

// balancer returns the only load balancer.
func (r *rig) balancer() elbtypes.LoadBalancerDescription {
	r.t.Helper()
	out, err := r.elb.DescribeLoadBalancers(r.t.Context(), &elb.DescribeLoadBalancersInput{})
	if err != nil {
		r.t.Fatal(err)
	}
	if len(out.LoadBalancerDescriptions) != 1 {
		r.t.Fatalf("there are %d load balancers", len(out.LoadBalancerDescriptions))
	}
	return out.LoadBalancerDescriptions[0]
}

// group returns a security group by name, nil if there is none.
func (r *rig) group(name string) *ec2types.SecurityGroup {
	r.t.Helper()
	out, err := r.ec2.DescribeSecurityGroups(r.t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{{Name: aws.String("group-name"), Values: []string{name}}}})
	if err != nil {
		r.t.Fatal(err)
	}
	if len(out.SecurityGroups) == 0 {
		return nil
	}
	return &out.SecurityGroups[0]
}

// newGroup makes a security group by hand.
func (r *rig) newGroup(name string, tags ...ec2types.Tag) string {
	r.t.Helper()
	in := &ec2.CreateSecurityGroupInput{GroupName: &name, Description: &name, VpcId: &r.vpc}
	if len(tags) > 0 {
		in.TagSpecifications = []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: tags}}
	}
	out, err := r.ec2.CreateSecurityGroup(r.t.Context(), in)
	if err != nil {
		r.t.Fatal(err)
	}
	return *out.GroupId
}

// sourceGroups are the groups from which the nodes' group lets in traffic, except itself.
func (r *rig) sourceGroups() []string {
	r.t.Helper()
	nodes := r.group("nodes.sim")
	var list []string
	for _, p := range nodes.IpPermissions {
		for _, pair := range p.UserIdGroupPairs {
			if *pair.GroupId != *nodes.GroupId {
				list = append(list, *pair.GroupId)
			}
		}
	}
	slices.Sort(list)
	return list
}

func (r *rig) setFault(f kit.Fault) { r.sim.Front().SetFaults(f) }

// operations names the calls since the log was reset.
func operations(calls []kit.Call) []string {
	var list []string
	for _, c := range calls {
		list = append(list, c.Name)
	}
	return list
}

// mutations returns the mutating calls since the log was reset, without those that update the applied record, and
// resets it.
func (r *rig) mutations() []string {
	list := operations(r.sim.Front().Log().Mutations())
	for range r.records.Swap(0) {
		last := slices.Index(list, "AddTags")
		for i := last; i < len(list); i++ {
			if list[i] == "AddTags" {
				last = i
			}
		}
		list = slices.Delete(list, last, last+1)
	}
	r.sim.Front().Log().Reset()
	return list
}

// lbCalls counts the calls since the log was reset, but for those that describe instances, which
// the provider shares with its nodes.
func (r *rig) lbCalls() int {
	n := 0
	for _, c := range r.sim.Front().Log().Calls() {
		if c.Name != "DescribeInstances" {
			n++
		}
	}
	return n
}

// remaining plans what a manager would still do.
func (r *rig) remaining(svc *v1.Service) plan.Plan {
	r.t.Helper()
	p, err := r.manager.PlanLoadBalancer(r.t.Context(), clusterName, svc, r.nodes, lbcommon.PlanOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// publicSubnets returns the public subnets in the order of their zones, and one more of the first zone.
func (r *rig) publicSubnets() []string {
	r.t.Helper()
	out, err := r.ec2.DescribeSubnets(r.t.Context(), &ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{{Name: aws.String("tag-key"), Values: []string{"kubernetes.io/role/elb"}}}})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.SortFunc(out.Subnets, func(a, b ec2types.Subnet) int { return strings.Compare(*a.AvailabilityZone, *b.AvailabilityZone) })
	var list []string
	for _, s := range out.Subnets {
		list = append(list, *s.SubnetId)
	}
	more, err := r.sim.AddSubnet("us-west-2a", netip.MustParsePrefix("10.0.48.0/24"), true, map[string]string{"Name": "spare"})
	if err != nil {
		r.t.Fatal(err)
	}
	return append(list, more)
}

// until tries as the framework does.
func (r *rig) until(step func() error) {
	r.t.Helper()
	var err error
	for range 10 {
		if err = step(); err == nil {
			return
		}
		r.clock.Step(releasePause)
	}
	r.t.Fatalf("it never ends well: %v", err)
}

// check fails unless the cloud holds what a Service wants (nothing if it is none), and a manager
// that knows nothing agrees; nothing is left once the Service was deleted.
func (r *rig) check(step string, kind kit.FaultKind, k int, wanted any, before map[string]int) {
	r.t.Helper()
	if err := r.manager.WriteRecords(r.t.Context()); err != nil { // as Run does
		r.t.Error(err)
	}
	r.restart()
	if svc, ok := wanted.(*v1.Service); ok {
		if p := r.remaining(svc); !p.Empty() {
			r.t.Errorf("%s with %s at call %d: left to do: %v", step, kind, k, p.Changes)
		}
		r.remove(svc)
	}
	after := r.sim.Objects()
	for name, n := range before {
		if after[name] != n {
			r.t.Errorf("%s with %s at call %d: %d %s before, %d after", step, kind, k, n, name, after[name])
		}
	}
	if rules := r.sourceGroups(); len(rules) != 0 {
		r.t.Errorf("%s with %s at call %d: rules are left: %v", step, kind, k, rules)
	}
}

func tagKeys(keys ...string) []elbtypes.TagKeyOnly {
	var list []elbtypes.TagKeyOnly
	for _, key := range keys {
		list = append(list, elbtypes.TagKeyOnly{Key: aws.String(key)})
	}
	return list
}
