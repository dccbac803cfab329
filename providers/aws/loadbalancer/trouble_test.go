package loadbalancer

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// What an earlier manager does only by the end of a host name is decided by what exists.
func TestTypeChangeIsRefusedByWhatExists(t *testing.T) {
	classic := service(without(annotation.KeyType))
	for name, tc := range map[string]struct{ from, to *v1.Service }{"classic to network": {classic, service()}, "network to classic": {service(), classic}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			before := r.bare()
			r.ensure(tc.from)
			r.ensureError(tc.to, annotation.KeyType, "delete the Service")
			r.ensure(tc.from)
			r.restart()
			r.remove(tc.to) // whatever the annotation says by now
			r.sameAs(t, before)
		})
	}
}

func TestExternalServicesAreIgnored(t *testing.T) {
	r := newRig(t, sim.Options{})
	before := r.bare()
	for _, kind := range []string{"external", "nlb-ip"} {
		svc := service(annotate(annotation.KeyType, kind))
		if _, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, svc, r.nodes); !errors.Is(err, cloudprovider.ImplementedElsewhere) {
			t.Errorf("ensure: %v", err)
		}
		if err := r.manager.UpdateLoadBalancer(t.Context(), clusterName, svc, r.nodes); !errors.Is(err, cloudprovider.ImplementedElsewhere) {
			t.Errorf("update: %v", err)
		}
		if _, exists, err := r.manager.GetLoadBalancer(t.Context(), clusterName, svc); exists || err != nil {
			t.Errorf("get: %t, %v", exists, err)
		}
	}
	r.ensure(service())
	r.remove(service(annotate(annotation.KeyType, "external")))
	r.sameAs(t, before)
}

func TestAnotherClustersLoadBalancerIsLeftAlone(t *testing.T) {
	for name, tags := range map[string]map[string]string{
		"another cluster": {"kubernetes.io/cluster/other": "owned"}, "another cluster of our ID": {"kubernetes.io/cluster/sim": "owned", "unified-ccm.io/cluster-uid": "cluster-2"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			in := &elbv2.CreateLoadBalancerInput{Name: awssdk.String(webName), Type: elbv2types.LoadBalancerTypeEnumNetwork, Subnets: r.sim.Subnets(false)}
			for k, v := range tags {
				in.Tags = append(in.Tags, elbv2types.Tag{Key: awssdk.String(k), Value: awssdk.String(v)})
			}
			if _, err := r.elbv2.CreateLoadBalancer(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			before := r.bare()
			r.ensureError(service(), webName, "left alone")
			r.remove(service())
			r.sameAs(t, before)
		})
	}
}

// One instance that cannot be a target must not keep the others from it.
func TestInvalidTargetDoesNotBlockOthers(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.ensure(service())
	r.launch("d", "e")
	bad := r.nodes[4]
	update := func(nodes ...*v1.Node) error {
		return r.manager.UpdateLoadBalancer(t.Context(), clusterName, service(), nodes)
	}
	if err := update(r.nodes[1:4]...); err != nil { // the manager comes to know e as well
		t.Fatal(err)
	}
	if err := r.sim.Terminate("e"); err != nil {
		t.Fatal(err)
	}
	err := update(append(r.nodes[:3:3], bad)...)
	if !cloudapi.Is(err, cloudapi.Conflict) || !strings.Contains(err.Error(), r.sim.Instance("e")) || strings.Contains(err.Error(), r.sim.Instance("a")) {
		t.Errorf("update: %v", err)
	}
	for _, b := range r.sim.LoadBalancers() {
		for _, l := range b.Listeners {
			if strings.Join(l.Members, "") != "abc" {
				t.Errorf("port %d has %v", l.Port, l.Members)
			}
		}
	}
	r.clock.Step(time.Minute)
	if err := update(append(r.nodes[:3:3], bad)...); err != nil {
		t.Errorf("update, once the instance is known to be terminated: %v", err)
	}
}

// An instance that is stopped stays a target: it may be started again without an event.
func TestStoppedInstanceStaysTarget(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.ensure(service())
	if err := r.sim.Stop("c"); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Minute)
	r.steady(service())
	if members := r.sim.LoadBalancers()[0].Listeners[0].Members; len(members) != 3 {
		t.Errorf("members %v", members)
	}
}

// A new target group takes over when it is healthy, and the old one goes when its connections have
// finished; no worker waits for that.
func TestTargetGroupIsReplacedWithoutOutage(t *testing.T) {
	r := newRig(t, sim.Options{HealthTime: 30 * time.Second, DrainTime: 10 * time.Minute})
	r.ensure(service())
	r.clock.Step(time.Hour)
	before := *r.groupOn(80).TargetGroupArn
	moved := service(annotate(annotation.KeyHealthCheckInterval, "15"))
	r.log().Reset()
	began := r.clock.Now()
	r.ensure(moved)
	if took := r.clock.Since(began); took < 30*time.Second || took > 3*time.Minute {
		t.Errorf("it took %s", took)
	}
	var order []string
	for _, call := range r.log().Mutations() {
		order = append(order, call.Operation.Name)
	}
	if n := strings.Count(strings.Join(order, " "), "ModifyListener"); n != 4 { // for each of two listeners: both groups, then the new one
		t.Errorf("%d changes of listeners: %v", n, order)
	}
	for _, f := range r.listeners()[80].DefaultActions[0].ForwardConfig.TargetGroups {
		if old := *f.TargetGroupArn == before; old != (*f.Weight == 0) {
			t.Errorf("%s has the weight %d", *f.TargetGroupArn, *f.Weight)
		}
	}
	if len(r.groups()) != 4 {
		t.Errorf("%d target groups", len(r.groups()))
	}
	r.log().Reset()
	r.ensure(moved)
	r.noMutations("while connections finish, an ensure")
	// Another move while those connections still finish, and back again.
	for _, interval := range []string{"20", "15"} {
		again := service(annotate(annotation.KeyHealthCheckInterval, interval))
		r.ensure(again)
		for _, f := range r.listeners()[80].DefaultActions[0].ForwardConfig.TargetGroups {
			if wanted := interval == fmt.Sprint(*r.groupByARN(*f.TargetGroupArn).HealthCheckIntervalSeconds); wanted != (awssdk.ToInt32(f.Weight) > 0) {
				t.Errorf("interval %s: %s has the weight %d", interval, *f.TargetGroupArn, awssdk.ToInt32(f.Weight))
			}
		}
	}
	r.clock.Step(10 * time.Minute)
	if _, _, err := r.manager.AuditLoadBalancer(t.Context(), clusterName, func() (*v1.Service, []*v1.Node) { return moved, r.nodes }); err != nil {
		t.Fatal(err)
	}
	if len(r.groups()) != 2 {
		t.Errorf("%d target groups are left", len(r.groups()))
	}
	r.steady(moved)
}

// An orphan of the same name and other settings must not block a new load balancer.
func TestOrphanedTargetGroupDoesNotBlockCreation(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.ensure(service())
	group := r.groupOn(80)
	r.remove(service())
	_, err := r.elbv2.CreateTargetGroup(t.Context(), &elbv2.CreateTargetGroupInput{
		Name: group.TargetGroupName, Protocol: elbv2types.ProtocolEnumUdp, Port: awssdk.Int32(1), VpcId: &r.vpc,
		Tags: []elbv2types.Tag{{Key: awssdk.String("kubernetes.io/cluster/sim"), Value: awssdk.String("owned")}, {Key: awssdk.String("kubernetes.io/service-name"), Value: awssdk.String("default/web")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.ensure(service())
	r.steady(service())
}

// Elastic IPs go to subnets in the order written.
func TestAddressesMatchSubnetsByPosition(t *testing.T) {
	r := newRig(t, sim.Options{})
	subnets := r.sim.Subnets(false)
	var allocations []string
	for range 4 {
		out, err := r.ec2.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{Domain: "vpc"})
		if err != nil {
			t.Fatal(err)
		}
		allocations = append(allocations, *out.AllocationId)
	}
	before := r.bare()
	svc := func(subnetsAt, allocationsAt []int) *v1.Service {
		return service(annotate(annotation.KeySubnets, pick(subnets, subnetsAt)), annotate(annotation.KeyAllocations, pick(allocations, allocationsAt)))
	}
	check := func(subnetsAt, allocationsAt []int) {
		t.Helper()
		s := svc(subnetsAt, allocationsAt)
		r.ensure(s)
		zones := r.balancer(webName).AvailabilityZones
		if len(zones) != len(subnetsAt) {
			t.Errorf("%d zones", len(zones))
		}
		for i, at := range subnetsAt {
			for _, z := range zones {
				if *z.SubnetId == subnets[at] && *z.LoadBalancerAddresses[0].AllocationId != allocations[allocationsAt[i]] {
					t.Errorf("subnet %d has %s", at, *z.LoadBalancerAddresses[0].AllocationId)
				}
			}
		}
		r.steady(s)
	}
	check([]int{2, 0}, []int{0, 1})
	check([]int{2, 0}, []int{0, 2})
	check([]int{2, 0, 1}, []int{0, 2, 3})
	check([]int{1}, []int{3})
	// Addresses that do not fit refuse no load balancer that exists.
	r.log().Reset()
	r.ensure(svc([]int{2, 0}, []int{0}))
	r.noMutations("addresses that do not fit")
	r.wantEvent(annotation.KeyAllocations)
	r.remove(svc([]int{1}, []int{3}))
	r.sameAs(t, before)
}

// TestAnotherSubnetOfAZoneHoldsNothingElse lists another subnet of a zone, which AWS refuses, and adds a port. The subnet
// is replaced once the zone was left out.
func TestAnotherSubnetOfAZoneHoldsNothingElse(t *testing.T) {
	r := newRig(t, sim.Options{})
	subnets := r.sim.Subnets(false)
	other, err := r.sim.AddSubnet("us-west-2a", netip.MustParsePrefix("10.0.49.0/24"), true, map[string]string{"Name": "other"})
	if err != nil {
		t.Fatal(err)
	}
	lists := func(ids ...string) func(*v1.Service) { return annotate(annotation.KeySubnets, strings.Join(ids, ",")) }
	check := func(ids ...string) {
		t.Helper()
		var have []string
		for _, z := range r.balancer(webName).AvailabilityZones {
			have = append(have, *z.SubnetId)
		}
		slices.Sort(have)
		if want := slices.Sorted(slices.Values(ids)); !slices.Equal(have, want) {
			t.Errorf("subnets %v, want %v", have, want)
		}
	}
	port := func(s *v1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, v1.ServicePort{Name: "x", Protocol: v1.ProtocolTCP, Port: 8080, NodePort: 31808})
	}
	r.ensure(service(lists(subnets[0])))
	r.ensure(service(lists(other)))
	check(subnets[0])
	r.ensure(service(lists(other, subnets[1]), port))
	check(subnets[0], subnets[1])
	if _, open := r.listeners()[8080]; !open {
		t.Error("the new port is closed")
	}
	r.wantEvent("list only subnets of other zones for some minutes, then " + other + " as well")
	r.steady(service(lists(other, subnets[1]), port))
	r.ensure(service(lists(subnets[1]), port))
	check(subnets[1])
	r.ensure(service(lists(other, subnets[1]), port))
	check(other, subnets[1])
	r.steady(service(lists(other, subnets[1]), port))
}

func pick(items []string, at []int) string {
	var out []string
	for _, i := range at {
		out = append(out, items[i])
	}
	return strings.Join(out, ",")
}

// Every bad value is named before the first object is made.
func TestInvalidAnnotationsCreateNothing(t *testing.T) {
	r := newRig(t, sim.Options{})
	before := r.bare()
	bad := map[string]string{
		annotation.KeyCrossZone: "perhaps", annotation.KeyAccessLog: "true", annotation.KeyHealthCheckProtocol: "icmp", annotation.KeyHealthCheckPort: "http",
		annotation.KeyHealthCheckInterval: "1", annotation.KeyGroupAttributes: "preserve_client_ip=true", annotation.KeyCertificates: "my-cert",
		annotation.KeyExtraSecurityGroups: "sg-1", annotation.KeySecurityGroups: "web", annotation.KeyAllocations: "eip-1", annotation.KeyPrivateIPv4: "10.0.0.300",
		annotation.KeyTargetType: "pod", annotation.KeyName: "-web-", annotation.KeyTags: "aws:x=1", annotation.KeySubnets: "subnet-nowhere",
		intent.KeyProxyProtocol: "v1", intent.KeyStaticAddresses: "192.0.2.1",
	}
	svc := service(func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP })
	for k, v := range bad {
		svc.Annotations[k] = v
	}
	_, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, svc, r.nodes)
	if !cloudapi.Is(err, cloudapi.Invalid) {
		t.Fatalf("error %v", err)
	}
	for key := range bad {
		if !strings.Contains(err.Error(), key) {
			t.Errorf("nothing is said about %s: %v", key, err)
		}
	}
	if !strings.Contains(err.Error(), "sessionAffinity") {
		t.Errorf("nothing is said about the session affinity: %v", err)
	}
	r.noMutations("a bad Service")
	r.sameAs(t, before)
}

func TestAnnotationsWithoutEffectGetAnEvent(t *testing.T) {
	for name, tc := range map[string]struct{ key, value, event string }{
		"of the other controller":  {annotation.Prefix + "scheme", "internal", annotation.KeyInternal},
		"misspelt":                 {annotation.Prefix + "internel", "true", "did you mean " + annotation.KeyInternal},
		"of classic ones":          {annotation.KeyProxyProtocol, "*", "proxy_protocol_v2.enabled=true"},
		"internal in another case": {annotation.KeyInternal, "False", "write true or false"},
		"policy without TLS":       {annotation.KeyTLSPolicy, "ELBSecurityPolicy-2016-08", annotation.KeyCertificates},
		"a port that is not there": {annotation.KeyTLSPorts, "8443", "no port"},
		"cut":                      {annotation.KeyTags, "a=b=c", "second equal sign"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			r.ensure(service(annotate(tc.key, tc.value)))
			r.wantEvent(tc.event)
		})
	}
}

// An IPv6 range on an IPv4 load balancer is warned about, and everything else works.
func TestIPv6RangeOnIPv4LoadBalancer(t *testing.T) {
	r := newRig(t, sim.Options{})
	svc := service(func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10.1.0.0/16", "2001:db8::/32"} })
	if status := r.ensure(svc); len(status.Ingress) != 1 {
		t.Errorf("status %+v", status)
	}
	r.wantEvent("2001:db8::/32")
	r.steady(svc)
}

// A Service of two families is served by IPv4 alone where the cloud gives no IPv6 without harm.
func TestDualStackRequiresSecurityGroupForSourceRanges(t *testing.T) {
	r := newRig(t, sim.Options{IPv6: true})
	r.ensure(service(func(s *v1.Service) {
		s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
		s.Spec.LoadBalancerSourceRanges = []string{"10.1.0.0/16", "2001:db8::/32"}
	}))
	if b := r.balancer(webName); b.IpAddressType != "ipv4" {
		t.Errorf("address type %s", b.IpAddressType)
	}
	r.wantEvent("spec.ipFamilies")
}

func TestManagedAndListedSecurityGroups(t *testing.T) {
	r := newRig(t, sim.Options{}, func(s *Settings) { s.ManagedGroups = true })
	own, err := r.sim.AddSecurityGroup("mine", nil)
	if err != nil {
		t.Fatal(err)
	}
	before := r.bare()
	listed := service(annotate(annotation.KeySecurityGroups, own))
	r.ensure(service())
	r.steady(service())
	r.ensure(listed)
	if b := r.balancer(webName); len(b.SecurityGroups) != 1 || b.SecurityGroups[0] != own {
		t.Errorf("security groups %v", b.SecurityGroups)
	}
	r.steady(listed)
	r.ensure(service())
	r.steady(service())
	r.ensure(listed)
	r.remove(listed)
	r.sameAs(t, before)
	if rules := r.rules(); len(rules) > 0 {
		t.Errorf("rules are left: %q", rules)
	}
}

func TestManagedGroupOfTLSListenerOpensTCP(t *testing.T) {
	r := newRig(t, sim.Options{}, func(s *Settings) { s.ManagedGroups = true })
	r.ensure(service(annotate(annotation.KeyCertificates, certificateA)))
	out, err := r.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: r.balancer(webName).SecurityGroups})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range out.SecurityGroups[0].IpPermissions {
		if protocol := *p.IpProtocol; protocol != "tcp" && protocol != "icmp" {
			t.Errorf("protocol %s", protocol)
		}
	}
}

// Nodes in a zone where the load balancer has no subnet get no traffic, about which their owner gets an Event
// when the first one joins and not again.
func TestNodesOutsideTheZonesOfALoadBalancer(t *testing.T) {
	for name, kind := range map[string]func(*v1.Service){"classic": without(annotation.KeyType), "network": func(*v1.Service) {}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			svc := service(kind, annotate(annotation.KeySubnets, strings.Join(r.sim.Subnets(false)[:2], ",")))
			all := r.nodes
			r.nodes = all[:2] // one in each zone
			r.ensure(svc)
			if events := strings.Join(r.events(), "\n"); strings.Contains(events, "receive no traffic") {
				t.Errorf("all nodes receive traffic: %s", events)
			}
			r.nodes = all
			if err := r.manager.UpdateLoadBalancer(t.Context(), clusterName, svc, r.nodes); err != nil {
				t.Fatal(err)
			}
			r.wantEvent("nodes in us-west-2c receive no traffic, because the load balancer has no subnet there: list a subnet of each zone in " + annotation.KeySubnets)
			r.ensure(svc)
			if events := strings.Join(r.events(), "\n"); strings.Contains(events, "receive no traffic") {
				t.Errorf("the same Event twice: %s", events)
			}
		})
	}
}
