package classic

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

const otherCertificate = "arn:aws:acm:us-west-2:123456789012:certificate/87654321-1234-1234-1234-123456789012"

// TestChanges pins which calls a change of the Service costs.
func TestChanges(t *testing.T) {
	tls := annotate("ssl-cert", certificate, "ssl-ports", "443")
	for _, tc := range []struct {
		name          string
		before, after *v1.Service
		calls         []string
	}{
		{"a certificate is replaced in place", service(tls), service(annotate("ssl-cert", otherCertificate, "ssl-ports", "443")), []string{"SetLoadBalancerListenerSSLCertificate"}},
		{"a TLS policy is created once and set", service(tls), service(tls, annotate("ssl-negotiation-policy", "ELBSecurityPolicy-TLS-1-2-2017-01")),
			[]string{"CreateLoadBalancerPolicy", "SetLoadBalancerPoliciesOfListener"}},
		{"a TLS policy gives way to AWS' default", service(tls, annotate("ssl-negotiation-policy", "ELBSecurityPolicy-TLS-1-2-2017-01")), service(tls),
			[]string{"SetLoadBalancerPoliciesOfListener"}},
		{"proxy protocol on", service(), service(annotate("proxy-protocol", "*")),
			[]string{"CreateLoadBalancerPolicy", "SetLoadBalancerPoliciesForBackendServer", "SetLoadBalancerPoliciesForBackendServer"}},
		{"proxy protocol off", service(annotate("proxy-protocol", "*")), service(),
			[]string{"SetLoadBalancerPoliciesForBackendServer", "SetLoadBalancerPoliciesForBackendServer"}},
		{"a port more", service(), service(func(svc *v1.Service) {
			svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: "x", Port: 8000, NodePort: 31800})
		}), []string{"AuthorizeSecurityGroupIngress", "CreateLoadBalancerListeners"}},
		{"a port less", service(), service(func(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] }),
			[]string{"DeleteLoadBalancerListeners", "RevokeSecurityGroupIngress"}},
		{"another node port", service(), service(func(svc *v1.Service) { svc.Spec.Ports[1].NodePort = 31443 }),
			[]string{"CreateLoadBalancerListeners", "DeleteLoadBalancerListeners"}},
		{"TCP becomes TLS", service(), service(tls), []string{"CreateLoadBalancerListeners", "DeleteLoadBalancerListeners"}},
		{"externalTrafficPolicy", service(), service(local), []string{"ConfigureHealthCheck"}},
		{"idle timeout", service(), service(annotate("connection-idle-timeout", "100")), []string{"ModifyLoadBalancerAttributes"}},
		{"tags change and leave", service(annotate("additional-resource-tags", "team=web,stage=prod")), service(annotate("additional-resource-tags", "team=db")),
			[]string{"AddTags", "CreateTags", "DeleteTags", "RemoveTags"}},
		{"source ranges", service(), service(func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }),
			[]string{"AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			r.ensure(tc.before)
			r.mutations()
			r.ensure(tc.after)
			got := r.mutations()
			slices.Sort(got)
			if !slices.Equal(got, tc.calls) {
				t.Errorf("the change made the calls %v, want %v", got, tc.calls)
			}
			r.restart()
			if p := r.remaining(tc.after); !p.Empty() {
				t.Errorf("left to do: %v", p.Changes)
			}
		})
	}
}

func TestDriftIsReverted(t *testing.T) {
	r := newRig(t, sim.Options{})
	svc := service()
	r.ensure(svc)
	fields, err := r.sim.Drift("a1111111122223333444455555555555")
	if err != nil {
		t.Fatal(err)
	}
	r.restart()
	if p := r.remaining(svc); p.Empty() {
		t.Errorf("a change of %v by hand is not noticed", fields)
	}
	r.ensure(svc)
	r.restart()
	if p := r.remaining(svc); !p.Empty() {
		t.Errorf("left to do: %v", p.Changes)
	}
}

func TestTagsOfOtherOwnersAreKept(t *testing.T) {
	r := newRig(t, sim.Options{})
	svc := service(annotate("additional-resource-tags", "team=web"))
	r.ensure(svc)
	name := *r.balancer().LoadBalancerName
	if _, err := r.elb.AddTags(t.Context(), &elb.AddTagsInput{LoadBalancerNames: []string{name}, Tags: toTags(map[string]string{"by": "hand"})}); err != nil {
		t.Fatal(err)
	}
	r.restart()
	plain := service()
	r.ensure(plain)
	out, err := r.elb.DescribeTags(t.Context(), &elb.DescribeTagsInput{LoadBalancerNames: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for _, tag := range out.TagDescriptions[0].Tags {
		have[*tag.Key] = aws.ToString(tag.Value)
	}
	if _, ok := have["team"]; ok || have["by"] != "hand" || have[names.ServiceTag] != "default/web" || have[tags.ExtraTag] != "" {
		t.Errorf("tags are %v", have)
	}
}

// TestInvalidAnnotationsAreRefused pins that everything wrong is found before the first object, and named.
func TestInvalidAnnotationsAreRefused(t *testing.T) {
	key := func(s string) string { return annotation.Prefix + s }
	for _, tc := range []struct {
		name string
		svc  *v1.Service
		want []string
	}{
		{"UDP", service(func(svc *v1.Service) { svc.Spec.Ports[1].Protocol = v1.ProtocolUDP }), []string{"spec.ports[1].protocol", "UDP", "nlb"}},
		{"Boolean", service(annotate("cross-zone-load-balancing-enabled", "yep")), []string{key("cross-zone-load-balancing-enabled"), "yep", "true or false"}},
		{"integer", service(annotate("healthcheck-interval", "often")), []string{key("healthcheck-interval"), "often"}},
		{"all of them", service(annotate("healthcheck-interval", "often", "connection-idle-timeout", "-1", "proxy-protocol", "yes")),
			[]string{key("healthcheck-interval"), key("connection-idle-timeout"), key("proxy-protocol")}},
		{"timeout above interval", service(annotate("healthcheck-timeout", "10")), []string{key("healthcheck-timeout"), "10"}},
		{"timeout above AWS' limit", service(annotate("healthcheck-timeout", "61", "healthcheck-interval", "100")), []string{key("healthcheck-timeout"), "61", "60"}},
		{"target group attributes", service(annotate("target-group-attributes", "preserve_client_ip.enabled=true")), []string{key("target-group-attributes"), "nlb"}},
		{"several certificates", service(annotate("ssl-cert", certificate+","+otherCertificate)), []string{key("ssl-cert"), "list one"}},
		{"unknown subnet", service(annotate("subnets", "subnet-1,unknown")), []string{key("subnets"), "subnet-1", "unknown"}},
		{"tags", service(annotate("additional-resource-tags", "aws:x=1")), []string{key("additional-resource-tags"), "aws:x"}},
		{"IPv6 alone", service(func(svc *v1.Service) { svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol} }), []string{"spec.ipFamilies", "IPv4"}},
		{"both families", service(func(svc *v1.Service) {
			svc.Spec.IPFamilyPolicy = ptr.To(v1.IPFamilyPolicyRequireDualStack)
			svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
		}), []string{"spec.ipFamilyPolicy", "RequireDualStack", "IPv4 only", "PreferDualStack"}},
		{"affinity", service(func(svc *v1.Service) { svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP }), []string{"spec.sessionAffinity"}},
		{"backend protocol", service(annotate("ssl-cert", certificate, "backend-protocol", "grpc")), []string{key("backend-protocol"), "grpc"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			err := r.ensureError(tc.svc)
			if !cloudapi.Is(err, cloudapi.Invalid) {
				t.Errorf("class %s: %v", cloudapi.ClassOf(err), err)
			}
			for _, text := range tc.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the message does not say %q: %v", text, err)
				}
			}
			if got := r.mutations(); len(got) != 0 {
				t.Errorf("it made the calls %v", got)
			}
		})
	}
}

// TestMissingCertificate pins that what only AWS can know names the annotation, and leaks nothing.
func TestMissingCertificate(t *testing.T) {
	r := newRig(t, sim.Options{Certificates: []string{certificate}})
	before := r.sim.Objects()
	svc := service(annotate("ssl-cert", otherCertificate))
	err := r.ensureError(svc)
	if !strings.Contains(err.Error(), annotation.KeyCertificates) || !strings.Contains(err.Error(), otherCertificate) {
		t.Errorf("message %v", err)
	}
	r.remove(svc)
	for kind, n := range before {
		if after := r.sim.Objects(); after[kind] != n {
			t.Errorf("%d %s before, %d after", n, kind, after[kind])
		}
	}
}

// TestSchemeChangeIsRefused pins that a change between public and internal is refused with advice, and that
// nodes come and go all the same.
func TestSchemeChangeIsRefused(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.ensure(service())
	svc := service(annotate("internal", "true"))
	r.mutations()
	r.ensure(svc)
	if warnings := strings.Join(r.remaining(svc).Warnings, "\n"); !strings.Contains(warnings, annotation.KeyInternal) || !strings.Contains(warnings, "delete the Service") {
		t.Errorf("warnings %s", warnings)
	}
	if got := r.mutations(); len(got) != 0 {
		t.Errorf("it made the calls %v", got)
	}
	r.launch()
	r.update(svc)
	if got := r.mutations(); !slices.Equal(got, []string{"RegisterInstancesWithLoadBalancer"}) {
		t.Errorf("a node that joined made the calls %v", got)
	}
}

// TestIgnoredAnnotationsAreWarnedAbout pins that nothing is accepted without a word.
func TestIgnoredAnnotationsAreWarnedAbout(t *testing.T) {
	r := newRig(t, sim.Options{})
	for _, tc := range []struct{ key, value string }{
		{"scheme", "internal"}, {"eip-allocations", "eipalloc-1"}, {"healthchek-path", "/x"}, {"ssl-ports", "443"}, {"internal", "False"},
	} {
		p := r.remaining(service(annotate(tc.key, tc.value)))
		if !strings.Contains(strings.Join(p.Warnings, "\n"), tc.key) {
			t.Errorf("%s: %s: no warning names it: %v", tc.key, tc.value, p.Warnings)
		}
	}
}

func TestSubnets(t *testing.T) {
	for _, tc := range []struct {
		name          string
		before, after []int // subnets by zone: 0, 1, 2 public of a, b, c; 3 another of a
		calls         []string
		refused       bool
	}{
		{"another zone is attached", []int{0}, []int{0, 1}, []string{"AttachLoadBalancerToSubnets"}, false},
		{"all zones change: attached before detached", []int{0}, []int{1, 2}, []string{"AttachLoadBalancerToSubnets", "DetachLoadBalancerFromSubnets"}, false},
		{"another subnet of a zone: detached first", []int{0, 1}, []int{3, 1}, []string{"DetachLoadBalancerFromSubnets", "AttachLoadBalancerToSubnets"}, false},
		{"both at once", []int{0, 1}, []int{3, 2}, []string{"AttachLoadBalancerToSubnets", "DetachLoadBalancerFromSubnets", "AttachLoadBalancerToSubnets"}, false},
		{"the only subnet cannot be replaced in its zone", []int{0}, []int{3}, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			list := r.publicSubnets()
			pick := func(at []int) func(*v1.Service) {
				var ids []string
				for _, i := range at {
					ids = append(ids, list[i])
				}
				return annotate("subnets", strings.Join(ids, ","))
			}
			r.ensure(service(pick(tc.before)))
			r.mutations()
			svc := service(pick(tc.after))
			r.ensure(svc)
			if tc.refused {
				if warnings := strings.Join(r.remaining(svc).Warnings, "\n"); !strings.Contains(warnings, annotation.KeySubnets) {
					t.Errorf("warnings %s", warnings)
				}
			}
			if got := r.mutations(); !slices.Equal(got, tc.calls) {
				t.Errorf("calls %v, want %v", got, tc.calls)
			}
		})
	}
}

func TestPortableAnnotations(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.ensure(service(func(svc *v1.Service) {
		svc.Annotations[intent.KeyScheme] = "internal"
		svc.Annotations[intent.KeyIdleTimeout] = "90s"
		svc.Annotations[intent.KeyProxyProtocol] = "v1"
	}))
	b := r.balancer()
	if *b.Scheme != "internal" || len(b.BackendServerDescriptions) != 2 {
		t.Errorf("load balancer %+v", b)
	}
}
