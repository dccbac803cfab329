package loadbalancer

import (
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// certificatesAt returns the certificates of the listener of a network load balancer.
func (r *rig) certificatesAt(port int32) []string {
	r.t.Helper()
	var arns []string
	for _, l := range must(r.elbv2.DescribeListeners(r.t.Context(),
		&elbv2.DescribeListenersInput{LoadBalancerArn: r.balancer(webName).LoadBalancerArn}))(r.t).Listeners {
		if *l.Port != port {
			continue
		}
		out := must(r.elbv2.DescribeListenerCertificates(r.t.Context(),
			&elbv2.DescribeListenerCertificatesInput{ListenerArn: l.ListenerArn}))(r.t)
		for _, c := range out.Certificates {
			arns = append(arns, *c.CertificateArn)
		}
	}
	return arns
}

// TestCertificatesByHandOutliveMarks takes over a TLS listener to which a user has added a certificate for another host
// name. It stays when an unrelated edit marks the listener.
func TestCertificatesByHandOutliveMarks(t *testing.T) {
	const policy = "ELBSecurityPolicy-TLS-1-2-2017-01"
	r := newRig(t, sim.Options{})
	oldManager{r, t.Context()}.network(networkShape{tls: policy})
	for _, l := range must(r.elbv2.DescribeListeners(t.Context(),
		&elbv2.DescribeListenersInput{LoadBalancerArn: r.balancer(webName).LoadBalancerArn}))(t).Listeners {
		if *l.Port == 443 {
			must(r.elbv2.AddListenerCertificates(t.Context(), &elbv2.AddListenerCertificatesInput{ListenerArn: l.ListenerArn,
				Certificates: []elbv2types.Certificate{{CertificateArn: awssdk.String(certificateB)}}}))(t)
		}
	}
	r.restart()
	svc := service(annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443", annotation.KeyTLSPolicy, policy))
	r.ensure(svc)
	r.noMutations("taking over")
	svc.Annotations[annotation.KeyTags] = "team=web"
	r.ensure(svc)
	r.steady(svc)
	if got := r.certificatesAt(443); !slices.Contains(got, certificateB) {
		t.Errorf("the listener has the certificates %q: the one for the other host name is gone", got)
	}
}

// TestClassicListenerGetsCertificateWhileItsReplacementIsHeld edits the certificate of a listener that is not replaced by
// one with another protocol to the nodes: certificates do not wait for an approval.
func TestClassicListenerGetsCertificateWhileItsReplacementIsHeld(t *testing.T) {
	const policy = "ELBSecurityPolicy-TLS-1-2-2017-01"
	r := newRig(t, sim.Options{})
	oldManager{r, t.Context()}.classic(classicShape{tls: policy})
	r.restart()
	svc := service(without(annotation.KeyType), annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443",
		annotation.KeyTLSPolicy, policy, annotation.KeyBackendProtocol, "ssl"))
	r.ensure(svc)
	if held := r.heldDifferences(svc); !slices.Equal(held, []string{"listeners listener 443"}) {
		t.Fatalf("held: %q", held)
	}
	svc.Annotations[annotation.KeyCertificates] = certificateB
	r.ensure(svc)
	if facts := strings.Join(r.shown(), "\n"); !strings.Contains(facts, "port 443: SSL to TCP 30443 "+certificateB) {
		t.Errorf("the certificate is not replaced:\n%s", facts)
	}
	if held := r.heldDifferences(svc); !slices.Equal(held, []string{"listeners listener 443"}) {
		t.Errorf("held after the edit: %q", held)
	}
	r.steady(svc)
}
