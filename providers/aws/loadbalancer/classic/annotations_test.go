package classic

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// state is what a load balancer looks like once a Service was synced.
type state struct {
	elbtypes.LoadBalancerDescription
	attributes elbtypes.LoadBalancerAttributes
	tags       map[string]string
	policies   map[string]string
}

func (r *rig) state() state {
	r.t.Helper()
	s := state{LoadBalancerDescription: r.balancer(), tags: map[string]string{}, policies: map[string]string{}}
	ctx, name := r.t.Context(), s.LoadBalancerName
	attributes, err := r.elb.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerName: name})
	if err != nil {
		r.t.Fatal(err)
	}
	s.attributes = *attributes.LoadBalancerAttributes
	tags, err := r.elb.DescribeTags(ctx, &elb.DescribeTagsInput{LoadBalancerNames: []string{*name}})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, tag := range tags.TagDescriptions[0].Tags {
		s.tags[*tag.Key] = aws.ToString(tag.Value)
	}
	policies, err := r.elb.DescribeLoadBalancerPolicies(ctx, &elb.DescribeLoadBalancerPoliciesInput{LoadBalancerName: name})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range policies.PolicyDescriptions {
		s.policies[*p.PolicyName] = *p.PolicyTypeName + " " + *p.PolicyAttributeDescriptions[0].AttributeName + "=" + *p.PolicyAttributeDescriptions[0].AttributeValue
	}
	return s
}

// listener shows the nth listener.
func (s state) listener(n int) string {
	l := s.ListenerDescriptions[n]
	return fmt.Sprintf("%s %d %s %d %v", *l.Listener.Protocol, l.Listener.LoadBalancerPort, *l.Listener.InstanceProtocol, *l.Listener.InstancePort, l.PolicyNames)
}

// TestAnnotations pins what each annotation does to a classic load balancer.
func TestAnnotations(t *testing.T) {
	const policy = "ELBSecurityPolicy-TLS-1-2-2017-01"
	for _, tc := range []struct {
		name string
		svc  *v1.Service
		show func(state) string
		want string
	}{
		{"none", service(), func(s state) string { return s.listener(0) + ", " + s.listener(1) + ", " + *s.Scheme }, "TCP 80 TCP 30080 [], TCP 443 TCP 30443 [], internet-facing"},
		{"internal", service(annotate("internal", "true")), func(s state) string { return *s.Scheme }, "internal"},
		{"internal: false", service(annotate("internal", "false")), func(s state) string { return *s.Scheme }, "internet-facing"},
		{"ssl-cert", service(annotate("ssl-cert", certificate)), func(s state) string { return s.listener(0) + *s.ListenerDescriptions[0].Listener.SSLCertificateId },
			"SSL 80 TCP 30080 [ELBSecurityPolicy-2016-08]" + certificate},
		{"ssl-ports by number", service(annotate("ssl-cert", certificate, "ssl-ports", "443")), func(s state) string { return s.listener(0) + ", " + s.listener(1) },
			"TCP 80 TCP 30080 [], SSL 443 TCP 30443 [ELBSecurityPolicy-2016-08]"},
		{"ssl-ports by name", service(annotate("ssl-cert", certificate, "ssl-ports", "HTTPS")), func(s state) string { return s.listener(1) }, "SSL 443 TCP 30443 [ELBSecurityPolicy-2016-08]"},
		{"ssl-negotiation-policy", service(annotate("ssl-cert", certificate, "ssl-negotiation-policy", policy)), func(s state) string {
			return s.listener(0) + ", " + s.policies["k8s-SSLNegotiationPolicy-"+policy]
		}, "SSL 80 TCP 30080 [k8s-SSLNegotiationPolicy-" + policy + "], SSLNegotiationPolicyType Reference-Security-Policy=" + policy},
		{"backend-protocol: http, with a certificate", service(annotate("ssl-cert", certificate, "backend-protocol", "http")), func(s state) string { return s.listener(0) }, "HTTPS 80 HTTP 30080 [ELBSecurityPolicy-2016-08]"},
		{"backend-protocol: https", service(annotate("ssl-cert", certificate, "backend-protocol", "https")), func(s state) string { return s.listener(0) + " " + *s.HealthCheck.Target },
			"HTTPS 80 HTTPS 30080 [ELBSecurityPolicy-2016-08] SSL:30080"},
		{"backend-protocol: ssl", service(annotate("ssl-cert", certificate, "backend-protocol", "ssl")), func(s state) string { return s.listener(0) + " " + *s.HealthCheck.Target },
			"SSL 80 SSL 30080 [ELBSecurityPolicy-2016-08] SSL:30080"},
		{"backend-protocol: http, without", service(annotate("backend-protocol", "http")), func(s state) string { return s.listener(0) }, "HTTP 80 HTTP 30080 []"},
		{"backend-protocol: ssl, without", service(annotate("backend-protocol", "ssl")), func(s state) string { return s.listener(0) + " " + *s.HealthCheck.Target }, "TCP 80 TCP 30080 [] SSL:30080"},
		{"proxy-protocol", service(annotate("proxy-protocol", "*")), func(s state) string {
			return fmt.Sprint(*s.BackendServerDescriptions[0].InstancePort, s.BackendServerDescriptions[0].PolicyNames, s.policies["k8s-proxyprotocol-enabled"])
		}, "30080 [k8s-proxyprotocol-enabled]ProxyProtocolPolicyType ProxyProtocol=true"},
		{"cross-zone", service(annotate("cross-zone-load-balancing-enabled", "true")), func(s state) string { return fmt.Sprint(s.attributes.CrossZoneLoadBalancing.Enabled) }, "true"},
		{"access log", service(annotate("access-log-enabled", "true", "access-log-emit-interval", "5", "access-log-s3-bucket-name", "b", "access-log-s3-bucket-prefix", "p")), func(s state) string {
			l := s.attributes.AccessLog
			return fmt.Sprint(l.Enabled, *l.EmitInterval, *l.S3BucketName, *l.S3BucketPrefix)
		}, "true 5bp"},
		{"draining", service(annotate("connection-draining-enabled", "true", "connection-draining-timeout", "30")), func(s state) string {
			return fmt.Sprint(s.attributes.ConnectionDraining.Enabled, *s.attributes.ConnectionDraining.Timeout)
		}, "true 30"},
		{"idle timeout", service(annotate("connection-idle-timeout", "30")), func(s state) string { return fmt.Sprint(*s.attributes.ConnectionSettings.IdleTimeout) }, "30"},
		{"health check", service(annotate("healthcheck-protocol", "Http", "healthcheck-port", "8080", "healthcheck-path", "/ok", "healthcheck-healthy-threshold", "3",
			"healthcheck-unhealthy-threshold", "4", "healthcheck-timeout", "6", "healthcheck-interval", "7")), showCheck, "HTTP:8080/ok 7 6 3 4"},
		{"a short interval shortens the timeout", service(annotate("healthcheck-interval", "5")), showCheck, "TCP:30080 5 4 2 6"},
		{"local traffic", service(local), showCheck, "HTTP:31000/healthz 10 5 2 6"},
		{"local traffic, probed at the traffic port", service(local, annotate("healthcheck-port", "traffic-port")), showCheck, "HTTP:30080/healthz 10 5 2 6"},
		{"tags", service(annotate("additional-resource-tags", "a=b,c=,d, e=f=g")), func(s state) string {
			return fmt.Sprintf("%q %q %q %q", s.tags["a"], s.tags["c"], s.tags["d"], s.tags["e"])
		}, `"b" "" "" "f"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			r.ensure(tc.svc)
			if got := tc.show(r.state()); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func showCheck(s state) string {
	h := s.HealthCheck
	return fmt.Sprint(*h.Target, " ", *h.Interval, *h.Timeout, *h.HealthyThreshold, *h.UnhealthyThreshold)
}

// TestSharedProbe pins that one probe stands for all Services, that annotations still win over it,
// and that local traffic keeps its own.
func TestSharedProbe(t *testing.T) {
	for _, tc := range []struct {
		name string
		svc  *v1.Service
		want string
	}{
		{"cluster traffic", service(), "HTTP:10256/healthz 10 5 2 6"},
		{"a port of its own", service(annotate("healthcheck-port", "8080")), "HTTP:8080/healthz 10 5 2 6"},
		{"a protocol of its own", service(annotate("healthcheck-protocol", "tcp")), "TCP:10256 10 5 2 6"},
		{"local traffic", service(local), "HTTP:31000/healthz 10 5 2 6"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, sim.Options{}, func(o *Options) { o.SharedProbe = &annotation.SharedProbe{Port: 10256, Path: "/healthz"} })
			r.ensure(tc.svc)
			if got := showCheck(r.state()); got != tc.want {
				t.Errorf("health check %s, want %s", got, tc.want)
			}
		})
	}
}

// TestLegacyTagIsWrittenIfConfigured pins that the tag of earlier managers is written where the configuration enables it.
func TestLegacyTagIsWrittenIfConfigured(t *testing.T) {
	r := newRig(t, sim.Options{}, func(o *Options) { o.Cluster.Legacy = true })
	r.ensure(service())
	if got := r.state().tags["KubernetesCluster"]; got != "sim" {
		t.Errorf("the tag KubernetesCluster is %q", got)
	}
	var keys []string
	for _, tag := range r.group(managedName).Tags {
		keys = append(keys, *tag.Key+"="+*tag.Value)
	}
	if !slices.Contains(keys, "KubernetesCluster=sim") {
		t.Errorf("the group's tags are %s", strings.Join(keys, ", "))
	}
}
