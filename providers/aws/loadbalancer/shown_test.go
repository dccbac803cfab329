package loadbalancer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/golden"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// shown is everything that AWS says about the load balancers, one fact a line, without IDs: those
// of things that a test has given a name, by names of subnets, are put as that name.
func (r *rig) shown() []string {
	r.t.Helper()
	var out []string
	networks, err := r.elbv2.DescribeLoadBalancers(r.t.Context(), &elbv2.DescribeLoadBalancersInput{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, b := range networks.LoadBalancers {
		out = append(out, r.shownNetwork(b)...)
	}
	classics, err := r.elb.DescribeLoadBalancers(r.t.Context(), &elb.DescribeLoadBalancersInput{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, b := range classics.LoadBalancerDescriptions {
		out = append(out, r.shownClassic(b)...)
	}
	for _, rule := range r.rules() {
		if words := strings.Fields(rule); !strings.Contains(rule, "/mtu") { // which is said of each range already
			out = append(out, "nodes let in "+strings.Join(words[:3], " "))
		}
	}
	for i := range out {
		out[i] = r.named.Replace(out[i])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (r *rig) shownNetwork(b elbv2types.LoadBalancer) []string {
	out := []string{"network load balancer", fmt.Sprintf("scheme %s", b.Scheme), fmt.Sprintf("addresses %s", b.IpAddressType), "name " + *b.LoadBalancerName}
	for _, group := range b.SecurityGroups {
		out = append(out, r.shownGroup(group))
	}
	for _, z := range b.AvailabilityZones {
		line := "subnet " + *z.SubnetId
		for _, a := range z.LoadBalancerAddresses {
			line += strings.TrimRight(fmt.Sprintf(" %s %s %s", awssdk.ToString(a.AllocationId), awssdk.ToString(a.PrivateIPv4Address), awssdk.ToString(a.IPv6Address)), " ")
		}
		out = append(out, line)
	}
	attributes, err := r.elbv2.DescribeLoadBalancerAttributes(r.t.Context(), &elbv2.DescribeLoadBalancerAttributesInput{LoadBalancerArn: b.LoadBalancerArn})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, a := range attributes.Attributes {
		out = append(out, fmt.Sprintf("attribute %s=%s", *a.Key, *a.Value))
	}
	out = append(out, shownTags(r.tagsOf(b.LoadBalancerArn))...)
	listeners, err := r.elbv2.DescribeListeners(r.t.Context(), &elbv2.DescribeListenersInput{LoadBalancerArn: b.LoadBalancerArn})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, l := range listeners.Listeners {
		out = append(out, r.shownListener(l)...)
	}
	return out
}

func (r *rig) shownListener(l elbv2types.Listener) []string {
	at := fmt.Sprintf("port %d: ", *l.Port)
	out := []string{at + string(l.Protocol)}
	if l.SslPolicy != nil {
		out = append(out, at+"policy "+*l.SslPolicy)
	}
	if l.Protocol == elbv2types.ProtocolEnumTls {
		certificates, err := r.elbv2.DescribeListenerCertificates(r.t.Context(), &elbv2.DescribeListenerCertificatesInput{ListenerArn: l.ListenerArn})
		if err != nil {
			r.t.Fatal(err)
		}
		for _, c := range certificates.Certificates {
			out = append(out, fmt.Sprintf("%scertificate %s default=%t", at, *c.CertificateArn, awssdk.ToBool(c.IsDefault)))
		}
	}
	attributes, err := r.elbv2.DescribeListenerAttributes(r.t.Context(), &elbv2.DescribeListenerAttributesInput{ListenerArn: l.ListenerArn})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, a := range attributes.Attributes {
		out = append(out, fmt.Sprintf("%sattribute %s=%s", at, *a.Key, *a.Value))
	}
	group := l.DefaultActions[0].TargetGroupArn
	if group == nil {
		group = l.DefaultActions[0].ForwardConfig.TargetGroups[0].TargetGroupArn
	}
	g := r.groupByARN(*group)
	out = append(out, fmt.Sprintf("%sto %s %s %d", at, g.TargetType, g.Protocol, *g.Port),
		fmt.Sprintf("%sprobe %s %s %s", at, g.HealthCheckProtocol, *g.HealthCheckPort, awssdk.ToString(g.HealthCheckPath)),
		fmt.Sprintf("%sprobe every %ds, for %ds at most, %d up, %d down", at, *g.HealthCheckIntervalSeconds, *g.HealthCheckTimeoutSeconds, *g.HealthyThresholdCount, *g.UnhealthyThresholdCount))
	groupAttributes, err := r.elbv2.DescribeTargetGroupAttributes(r.t.Context(), &elbv2.DescribeTargetGroupAttributesInput{TargetGroupArn: g.TargetGroupArn})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, a := range groupAttributes.Attributes {
		out = append(out, fmt.Sprintf("%starget attribute %s=%s", at, *a.Key, *a.Value))
	}
	health, err := r.elbv2.DescribeTargetHealth(r.t.Context(), &elbv2.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, target := range health.TargetHealthDescriptions {
		out = append(out, at+"target "+*target.Target.Id)
	}
	return out
}

func (r *rig) shownClassic(b elbtypes.LoadBalancerDescription) []string {
	out := []string{"classic load balancer", "scheme " + *b.Scheme, "name " + *b.LoadBalancerName}
	for _, group := range b.SecurityGroups {
		out = append(out, r.shownGroup(group))
	}
	for _, subnet := range b.Subnets {
		out = append(out, "subnet "+subnet)
	}
	for _, l := range b.ListenerDescriptions {
		out = append(out, fmt.Sprintf("port %d: %s to %s %d %s %v", l.Listener.LoadBalancerPort, *l.Listener.Protocol, *l.Listener.InstanceProtocol,
			*l.Listener.InstancePort, awssdk.ToString(l.Listener.SSLCertificateId), l.PolicyNames))
	}
	for _, s := range b.BackendServerDescriptions {
		out = append(out, fmt.Sprintf("node port %d: %v", *s.InstancePort, s.PolicyNames))
	}
	for _, i := range b.Instances {
		out = append(out, "target "+*i.InstanceId)
	}
	h := b.HealthCheck
	out = append(out, "probe "+*h.Target, fmt.Sprintf("probe every %ds, for %ds at most, %d up, %d down", *h.Interval, *h.Timeout, *h.HealthyThreshold, *h.UnhealthyThreshold))
	attributes, err := r.elb.DescribeLoadBalancerAttributes(r.t.Context(), &elb.DescribeLoadBalancerAttributesInput{LoadBalancerName: b.LoadBalancerName})
	if err != nil {
		r.t.Fatal(err)
	}
	a := attributes.LoadBalancerAttributes
	out = append(out, fmt.Sprintf("cross zone %t", a.CrossZoneLoadBalancing.Enabled), fmt.Sprintf("idle timeout %d", *a.ConnectionSettings.IdleTimeout),
		fmt.Sprintf("draining %t", a.ConnectionDraining.Enabled), fmt.Sprintf("draining for %d", awssdk.ToInt32(a.ConnectionDraining.Timeout)),
		fmt.Sprintf("logs %t", a.AccessLog.Enabled), fmt.Sprintf("logs every %d", awssdk.ToInt32(a.AccessLog.EmitInterval)),
		fmt.Sprintf("logs to %s", awssdk.ToString(a.AccessLog.S3BucketName)), fmt.Sprintf("logs below %s", awssdk.ToString(a.AccessLog.S3BucketPrefix)))
	tags, err := r.elb.DescribeTags(r.t.Context(), &elb.DescribeTagsInput{LoadBalancerNames: []string{*b.LoadBalancerName}})
	if err != nil {
		r.t.Fatal(err)
	}
	all := map[string]string{}
	for _, tag := range tags.TagDescriptions[0].Tags {
		all[*tag.Key] = awssdk.ToString(tag.Value)
	}
	return append(out, shownTags(all)...)
}

// shownGroup is a security group with the sources that it lets in.
func (r *rig) shownGroup(id string) string {
	out, err := r.ec2.DescribeSecurityGroups(r.t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
	if err != nil {
		r.t.Fatal(err)
	}
	var rules []string
	for _, p := range out.SecurityGroups[0].IpPermissions {
		for _, source := range p.IpRanges {
			rules = append(rules, fmt.Sprintf("%s %d from %s", *p.IpProtocol, awssdk.ToInt32(p.FromPort), *source.CidrIp))
		}
	}
	slices.Sort(rules)
	return strings.TrimSpace(fmt.Sprintf("security group %s %s", *out.SecurityGroups[0].GroupName, strings.Join(rules, ", ")))
}

// shownTags returns tags as lines. The applied record changes with every setting and is not among them.
func shownTags(tags map[string]string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if key == names.AppliedTag || key == names.TargetsTag {
			continue
		}
		out = append(out, "tag "+key+"="+tags[key])
	}
	return out
}

// name gives things of the cloud names, in values of annotations and in what is shown: its
// subnets, two Elastic IPs, the nodes' instances and a security group that the user has made.
func (r *rig) name() {
	r.t.Helper()
	for i, id := range r.sim.Subnets(false) {
		r.named.Add(fmt.Sprintf("{public-%d}", i), id)
	}
	for i, id := range r.sim.Subnets(true) {
		r.named.Add(fmt.Sprintf("{private-%d}", i), id)
	}
	for i := range 3 {
		out, err := r.ec2.AllocateAddress(r.t.Context(), &ec2.AllocateAddressInput{Domain: "vpc"})
		if err != nil {
			r.t.Fatal(err)
		}
		r.named.Add(fmt.Sprintf("{elastic-%d}", i), *out.AllocationId)
	}
	own, err := r.sim.AddSecurityGroup("own", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.named.Add("{group-own}", own)
	for _, n := range r.nodes {
		r.named.Add("{node-"+n.Name+"}", r.sim.Instance(n.Name))
		address := r.privateIP(n)
		r.named.Add("{address-"+n.Name+"}", address)
		n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}
	}
}

// look is what a Service with these annotations leads to in a cloud of its own.
func look(t *testing.T, o sim.Options, settings func(*Settings), svc *v1.Service) (out golden.Outcome) {
	r := newRig(t, o, settings)
	r.name()
	for key, value := range svc.Annotations {
		svc.Annotations[key] = r.named.Expand(value)
	}
	r.nodes[0].Labels["pool"] = "ingress"
	_, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, svc, r.nodes)
	for _, event := range r.events() {
		out.Events = append(out.Events, r.named.Replace(event))
	}
	if err != nil {
		out.Refused = errors.New(r.named.Replace(err.Error()))
		return out
	}
	out.Facts = r.shown()
	return out
}

// generation picks the load balancer's generation by what a Service wants.
func generation(kind annotation.Type) func(*v1.Service) {
	if kind == annotation.Network {
		return annotate(annotation.KeyType, "nlb")
	}
	return without(annotation.KeyType)
}
