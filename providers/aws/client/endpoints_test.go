package client

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

func TestOverridesAndEnvironment(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "http://all.test")
	t.Setenv("AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING", "http://classic.test/env")
	world, _ := simtest.WithSelf(t, sim.Options{})
	conf := simtest.Located + overrideSection("1", "ec2", "us-west-2", "http://ec2.test/path") + "SigningName = other\n" +
		overrideSection("2", "sts", "us-west-2", "http://sts.test") + overrideSection("3", "ec2imds", "us-west-2", "http://imds.test")
	conf = strings.Replace(conf, "SigningRegion = us-west-2", "SigningRegion = us-east-1", 1)
	w := &simtest.Recorder{Base: world.Front().Transport()}
	client := newTestClient(t, w, conf)
	c, err := client.Connect(t.Context(), "us-west-2")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, host, scope string
		call              func() error
	}{
		{"EC2", "ec2.test/path", "/us-east-1/other/aws4_request", func() error { return describeGroup("sg-1")(t, c) }},
		{"STS", "sts.test", "/us-west-2/sts/aws4_request", func() error {
			_, err := c.STS.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
			return err
		}},
		{"ELBv2", "all.test", "/us-west-2/elasticloadbalancing/aws4_request", func() error {
			_, err := c.ELBV2.DescribeLoadBalancers(t.Context(), nil)
			return err
		}},
		{"ELB", "classic.test/env", "/us-west-2/elasticloadbalancing/aws4_request", func() error {
			_, err := c.ELB.DescribeLoadBalancers(t.Context(), nil)
			return err
		}},
		{"metadata", "imds.test", "", func() error {
			_, err := client.imds.GetMetadata(t.Context(), &imds.GetMetadataInput{Path: "instance-id"})
			return err
		}},
	} {
		_ = tt.call() // the response does not matter
		sent := w.Last()
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

// TestEndpointVariants verifies that the SDK's variables for FIPS and dual-stack endpoints apply to every service
// without a section in cloud.conf.
func TestEndpointVariants(t *testing.T) {
	t.Setenv("AWS_USE_FIPS_ENDPOINT", "true")
	t.Setenv("AWS_USE_DUALSTACK_ENDPOINT", "true")
	world, _ := simtest.WithSelf(t, sim.Options{})
	w := &simtest.Recorder{Base: world.Front().Transport()}
	c := newTestClients(t, w, simtest.Located+overrideSection("1", "elasticloadbalancing", "us-west-2", "http://both.test"))
	_ = describeGroup("sg-1")(t, c) // the response does not matter
	if got := w.Last().URL.Host; got != "ec2-fips.us-west-2.api.aws" {
		t.Errorf("EC2 is called at %s", got)
	}
	if _, err := c.ELBV2.DescribeLoadBalancers(t.Context(), nil); err != nil || w.Last().URL.Host != "both.test" {
		t.Errorf("Elastic Load Balancing is called at %s, %v", w.Last().URL.Host, err)
	}
}

// overrideSection returns a section [ServiceOverride].
func overrideSection(name, service, region, url string) string {
	return "[ServiceOverride \"" + name + "\"]\nService = " + service + "\nRegion = " + region + "\nURL = " + url +
		"\nSigningRegion = " + region + "\n"
}
