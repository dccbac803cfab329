package aws

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func TestOverridesAndEnvironment(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "http://all.test")
	t.Setenv("AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING", "http://classic.test/env")
	world, _ := newWorld(t, sim.Options{})
	conf := given + override("1", "ec2", "us-west-2", "http://ec2.test/path") + "SigningName = other\n" +
		override("2", "sts", "us-west-2", "http://sts.test") + override("3", "ec2imds", "us-west-2", "http://imds.test")
	conf = strings.Replace(conf, "SigningRegion = us-west-2", "SigningRegion = us-east-1", 1)
	w := &wire{to: world.Front().Transport()}
	m := newManager(t, w, conf)
	p, err := m.parts.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := p.clients
	for _, tt := range []struct {
		name, host, scope string
		call              func() error
	}{
		{"EC2", "ec2.test/path", "/us-east-1/other/aws4_request", func() error { return describeGroup("sg-1")(t, c) }},
		{"STS", "sts.test", "/us-west-2/sts/aws4_request", func() error {
			_, err := c.sts.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
			return err
		}},
		{"ELBv2", "all.test", "/us-west-2/elasticloadbalancing/aws4_request", func() error {
			_, err := c.elbv2.DescribeLoadBalancers(t.Context(), nil)
			return err
		}},
		{"ELB", "classic.test/env", "/us-west-2/elasticloadbalancing/aws4_request", func() error {
			_, err := c.elb.DescribeLoadBalancers(t.Context(), nil)
			return err
		}},
		{"metadata", "imds.test", "", func() error {
			_, err := metadataText(t.Context(), m.connection.imds, "instance-id")
			return err
		}},
	} {
		_ = tt.call() // what the cloud says to it does not matter
		sent := w.last()
		if got := sent.URL.Host + sent.URL.Path; !strings.HasPrefix(got, tt.host) {
			t.Errorf("%s: sent to %s, want %s", tt.name, got, tt.host)
		}
		if !strings.Contains(sent.Header.Get("Authorization"), tt.scope) {
			t.Errorf("%s: signed %s, want %s", tt.name, sent.Header.Get("Authorization"), tt.scope)
		}
		if !strings.Contains(sent.Header.Get("User-Agent"), "unified-ccm/") {
			t.Errorf("%s: user agent %s", tt.name, sent.Header.Get("User-Agent"))
		}
	}
}

// TestEndpointVariants pins that the SDK's switches for FIPS and dual-stack endpoints hold for every
// service that no section of cloud.conf overrides.
func TestEndpointVariants(t *testing.T) {
	t.Setenv("AWS_USE_FIPS_ENDPOINT", "true")
	t.Setenv("AWS_USE_DUALSTACK_ENDPOINT", "true")
	world, _ := newWorld(t, sim.Options{})
	w := &wire{to: world.Front().Transport()}
	c := newTestClients(t, w, given+override("1", "elasticloadbalancing", "us-west-2", "http://both.test"))
	_ = describeGroup("sg-1")(t, c) // what the cloud says to it does not matter
	if got := w.last().URL.Host; got != "ec2-fips.us-west-2.api.aws" {
		t.Errorf("EC2 is called at %s", got)
	}
	if _, err := c.elbv2.DescribeLoadBalancers(t.Context(), nil); err != nil || w.last().URL.Host != "both.test" {
		t.Errorf("Elastic Load Balancing is called at %s, %v", w.last().URL.Host, err)
	}
}
