package loadbalancer

import (
	"fmt"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// manyTags returns tags as in the annotation.
func manyTags(n int) string {
	var tags []string
	for i := range n {
		tags = append(tags, fmt.Sprintf("key-%d=x", i))
	}
	return strings.Join(tags, ",")
}

func ipv6First(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol, v1.IPv4Protocol} }

// TestIgnoredValuesDoNotRefuseExistingLoadBalancer takes over load balancers whose Services have values that
// cloud-provider-aws ignores. They are warnings: nodes join, and other settings are applied.
func TestIgnoredValuesDoNotRefuseExistingLoadBalancer(t *testing.T) {
	classic := without(annotation.KeyType)
	for _, tt := range []struct {
		name    string
		svc     func(...func(*v1.Service)) *v1.Service
		change  func(*v1.Service)
		warning string
		// refusal is that of a Service without a load balancer; "" if it gets one.
		refusal string
		shape   networkShape
	}{
		{"backend protocol", service, annotate(annotation.KeyBackendProtocol, "grpc"), annotation.KeyBackendProtocol, "", networkShape{}},
		{"names of security groups", service, annotate(annotation.KeySecurityGroups, "web,sg-1"), annotation.KeySecurityGroups, "", networkShape{}},
		{"timeout above the interval", service, annotate(annotation.KeyHealthCheckTimeout, "40", annotation.KeyHealthCheckInterval, "30"), annotation.KeyHealthCheckTimeout, "", networkShape{}},
		{"path of a TCP probe", service, annotate(annotation.KeyHealthCheckPath, "ready"), annotation.KeyHealthCheckPath, "", networkShape{}},
		{"Elastic IPs of edited subnets", service, annotate(annotation.KeySubnets, "{public-0},{public-2}", annotation.KeyAllocations, "{elastic-0}"), annotation.KeyAllocations, annotation.KeyAllocations, networkShape{}},
		{"private addresses of a public one", service, annotate(annotation.KeyPrivateIPv4, "10.0.1.10"), annotation.KeyPrivateIPv4, annotation.KeyPrivateIPv4, networkShape{}},
		{"Elastic IPs of an internal one", service, annotate(annotation.KeyInternal, "true", annotation.KeyAllocations, "{elastic-0}"), annotation.KeyAllocations, annotation.KeyAllocations, networkShape{}},
		{"private addresses of edited subnets", service, annotate(annotation.KeyInternal, "true", annotation.KeyPrivateIPv4, "10.0.64.10"), annotation.KeyPrivateIPv4, annotation.KeyPrivateIPv4, networkShape{}},
		{"private addresses in other networks", service, annotate(annotation.KeyInternal, "true", annotation.KeyPrivateIPv4, "10.0.64.10,10.0.64.11,10.0.64.12"), annotation.KeyPrivateIPv4, annotation.KeyPrivateIPv4, networkShape{}},
		{"more than 36 tags", service, annotate(annotation.KeyTags, manyTags(40)), annotation.KeyTags, "", networkShape{}},
		{"IPv6 first", service, ipv6First, "spec.ipFamilies", "spec.ipFamilies", networkShape{}},
		{"IPv6 first with source ranges", service, func(s *v1.Service) { ipv6First(s); s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} }, "spec.ipFamilies", "spec.ipFamilies", networkShape{sources: []string{"192.0.2.0/24"}}},
		{"classic, backend protocol", service, func(s *v1.Service) { classic(s); annotate(annotation.KeyBackendProtocol, "grpc")(s) }, annotation.KeyBackendProtocol, "", networkShape{}},
		{"classic, path of a TCP probe", service, func(s *v1.Service) { classic(s); annotate(annotation.KeyHealthCheckPath, "ready")(s) }, annotation.KeyHealthCheckPath, "", networkShape{}},
		{"classic, Elastic IPs", service, func(s *v1.Service) { classic(s); annotate(annotation.KeyAllocations, "mine")(s) }, annotation.KeyAllocations, "", networkShape{}},
		{"classic, IPv6", service, func(s *v1.Service) { classic(s); s.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol} }, "spec.ipFamilies", "spec.ipFamilies", networkShape{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := adoption{svc: tt.svc(tt.change)}
			r := a.rig(t)
			if annotation.TypeOf(a.svc.Annotations) == annotation.Network {
				oldManager{r, t.Context()}.network(tt.shape)
			} else {
				oldManager{r, t.Context()}.classic(classicShape{})
			}
			r.restart()
			r.ensure(a.svc)
			if calls := r.calls(); calls != "" {
				t.Errorf("taking over calls %s", calls)
			}
			r.wantEvent(tt.warning)
			r.updateTo(a.svc, "d")
			if calls := r.calls(); !strings.Contains(calls, "Register") {
				t.Errorf("a node joins by %s", calls)
			}
			r.log().Reset()
			a.svc.Annotations[annotation.KeyCrossZone] = "true"
			r.ensure(a.svc)
			if calls := r.calls(); !strings.Contains(calls, "ModifyLoadBalancerAttributes") {
				t.Errorf("another edit is made by %s", calls)
			}
			other := a.svc.DeepCopy()
			other.Name, other.UID = "other", "ffffffff-4567-89ef-0123-456789abcdef"
			if tt.refusal != "" {
				r.ensureError(other, tt.refusal)
			} else {
				r.ensure(other)
			}
		})
	}
}

func TestValuesWithEffectAreRefused(t *testing.T) {
	classic := without(annotation.KeyType)
	r := newRig(t, sim.Options{}, managed)
	r.ensureError(service(annotate(annotation.KeySecurityGroups, "web")), annotation.KeySecurityGroups)
	r.ensureError(service(annotate(annotation.KeyHealthCheckProtocol, "http", annotation.KeyHealthCheckPath, "ready")), annotation.KeyHealthCheckPath)
	r.ensureError(service(annotate(intent.KeyHealthCheckTimeout, "40s", intent.KeyHealthCheckInterval, "30s")), intent.KeyHealthCheckTimeout)
	r.ensureError(service(classic, annotate(annotation.KeyCertificates, certificateA, annotation.KeyBackendProtocol, "grpc")), annotation.KeyBackendProtocol)
	r.ensureError(service(classic, annotate(annotation.KeyHealthCheckTimeout, "40", annotation.KeyHealthCheckInterval, "30")), annotation.KeyHealthCheckTimeout)
}

// TestTakingOverKeepsOrphanedTargetGroup leaves an unused target group of the Service behind: it goes with the first
// change.
func TestTakingOverKeepsOrphanedTargetGroup(t *testing.T) {
	r := newRig(t, sim.Options{})
	oldManager{r, t.Context()}.network(networkShape{})
	must(r.elbv2.CreateTargetGroup(t.Context(), &elbv2.CreateTargetGroupInput{
		Name: awssdk.String("k8s-default-web-0123456789"), Protocol: elbv2types.ProtocolEnumTcp, Port: awssdk.Int32(31111), VpcId: &r.vpc,
		Tags: []elbv2types.Tag{{Key: awssdk.String("kubernetes.io/cluster/sim"), Value: awssdk.String("owned")},
			{Key: awssdk.String("kubernetes.io/service-name"), Value: awssdk.String("default/web")}}}))(t)
	r.takeOver(service())
	changed := service(annotate(annotation.KeyCrossZone, "true"))
	r.ensure(changed)
	if calls := r.calls(); !strings.Contains(calls, "DeleteTargetGroup") {
		t.Errorf("the first change calls %s", calls)
	}
	r.steady(changed)
}

// TestListenerAttributesThatCannotBeRead stands for a partition without DescribeListenerAttributes.
func TestListenerAttributesThatCannotBeRead(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.ensure(service())
	r.sim.SetDisruption(sim.Disruption{Denied: []string{"elasticloadbalancing:DescribeListenerAttributes"}})
	r.restart()
	r.ensure(service(annotate(annotation.KeyCrossZone, "true")))
	if calls := r.calls(); !strings.Contains(calls, "ModifyLoadBalancerAttributes") {
		t.Errorf("calls %s", calls)
	}
	r.steady(service(annotate(annotation.KeyCrossZone, "true")))
	r.ensure(service(annotate(annotation.KeyCrossZone, "true", intent.KeyIdleTimeout, "400s")))
	r.wantEvent("cannot be read")
}

// TestTakingOverWritesNoTimeout: cloud-provider-aws ignores healthcheck-timeout on network load balancers.
func TestTakingOverWritesNoTimeout(t *testing.T) {
	r := newRig(t, sim.Options{})
	oldManager{r, t.Context()}.network(networkShape{})
	r.restart()
	svc := service(annotate(annotation.KeyHealthCheckTimeout, "6"))
	r.seesOnly(svc, "ModifyTargetGroup")
	timeout := func() int32 { return *r.groupOn(80).HealthCheckTimeoutSeconds }
	if timeout() == 6 {
		t.Error("another edit sets the timeout")
	}
	svc.Annotations[annotation.KeyHealthCheckTimeout] = "7"
	r.ensure(svc)
	if got := timeout(); got != 7 {
		t.Errorf("after the edit the timeout is %d", got)
	}
	r.steady(svc)
}

// TestTakingOverWritesNoGroupAttributes: releases before 1.35 ignored target-group-attributes.
func TestTakingOverWritesNoGroupAttributes(t *testing.T) {
	r := newRig(t, sim.Options{})
	oldManager{r, t.Context()}.network(networkShape{})
	r.restart()
	const delay = "deregistration_delay.timeout_seconds"
	svc := service(annotate(annotation.KeyGroupAttributes, "preserve_client_ip.enabled=false,"+delay+"=60"))
	r.seesOnly(svc, "ModifyTargetGroupAttributes")
	attributes := func() map[string]string { return r.groupAttributes(r.groupOn(80).TargetGroupArn) }
	if got := attributes(); got[annotation.AttributePreserveClientIP] == "false" || got[delay] == "60" {
		t.Errorf("another edit sets the attributes: %v", got)
	}
	svc.Annotations[annotation.KeyGroupAttributes] = "preserve_client_ip.enabled=false," + delay + "=61"
	r.ensure(svc)
	if got := attributes(); got[delay] != "61" || got[annotation.AttributePreserveClientIP] == "false" {
		t.Errorf("after the edit the attributes are %v", got)
	}
	r.steady(svc)
}

// seesOnly takes over a load balancer, which changes nothing, and makes another edit, which does not call an operation.
func (r *rig) seesOnly(svc *v1.Service, operation string) {
	r.t.Helper()
	r.ensure(svc)
	r.noMutations("taking over")
	r.steady(svc)
	r.log().Reset()
	svc.Annotations[annotation.KeyCrossZone] = "true"
	r.ensure(svc)
	if calls := r.log().Count(); calls[operation] > 0 || calls["ModifyLoadBalancerAttributes"] == 0 {
		r.t.Errorf("another edit calls %v", calls)
	}
	r.steady(svc)
}

// TestPortWithoutNodePortDoesNotRefuseExistingLoadBalancer adds a port to a Service that allocates no node ports:
// cloud-provider-aws leaves it out. The other ports are served, nodes join, and other settings are applied.
func TestPortWithoutNodePortDoesNotRefuseExistingLoadBalancer(t *testing.T) {
	for name, kind := range map[string]func(*v1.Service){"classic": without(annotation.KeyType), "network": func(*v1.Service) {}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			r.ensure(service(kind))
			portless := func(s *v1.Service) {
				s.Spec.AllocateLoadBalancerNodePorts = awssdk.Bool(false)
				s.Spec.Ports = append([]v1.ServicePort{{Name: "metrics", Protocol: v1.ProtocolTCP, Port: 9090}}, s.Spec.Ports...)
			}
			svc := service(kind, portless)
			r.restart()
			r.ensure(svc)
			r.noMutations("a port without a node port")
			r.wantEvent("spec.ports[0].nodePort")
			r.updateTo(svc, "d")
			if calls := r.calls(); !strings.Contains(calls, "Register") {
				t.Errorf("a node joins by %s", calls)
			}
			svc = service(kind, portless, annotate(annotation.KeyCrossZone, "true"))
			svc.Spec.Ports = svc.Spec.Ports[:2]
			r.ensure(svc)
			if calls := r.calls(); !strings.Contains(calls, "ModifyLoadBalancerAttributes") || !strings.Contains(calls, "Delete") {
				t.Errorf("other edits are made by %s", calls)
			}
			r.steady(svc)
			// Without any node port there is nothing to serve: what exists stays.
			for i := range svc.Spec.Ports {
				svc.Spec.Ports[i].NodePort = 0
			}
			r.ensureError(svc, "spec.ports[1].nodePort")
			r.updateTo(svc, "e")
			if calls := r.calls(); !strings.Contains(calls, "Register") {
				t.Errorf("a node joins by %s", calls)
			}
		})
	}
}
