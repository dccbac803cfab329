package classic

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"

	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// tagCounter counts the tags of each call of AddTags.
type tagCounter struct {
	api.ELB
	counts []int
}

func (c *tagCounter) AddTags(ctx context.Context, in *elb.AddTagsInput, o ...func(*elb.Options)) (*elb.AddTagsOutput, error) {
	c.counts = append(c.counts, len(in.Tags))
	return c.ELB.AddTags(ctx, in, o...)
}

// TestAddTagsAddsAtMostTen verifies the number of tags of one call. The API reference of AddTags names the limit:
// https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/API_AddTags.html
func TestAddTagsAddsAtMostTen(t *testing.T) {
	counter := &tagCounter{}
	r := newRig(t, sim.Options{}, func(o *Options) { counter.ELB, o.API = o.API, counter })
	r.ensure(service())
	counter.counts = nil
	var list []string
	for i := range 24 {
		list = append(list, fmt.Sprintf("key%d=value", i))
	}
	r.ensure(service(annotate("additional-resource-tags", strings.Join(list, ","))))
	if slices.Max(counter.counts) > 10 {
		t.Errorf("calls with %v tags", counter.counts)
	}
	out, err := r.elb.DescribeTags(t.Context(), &elb.DescribeTagsInput{LoadBalancerNames: []string{*r.balancer().LoadBalancerName}})
	if err != nil {
		t.Fatal(err)
	}
	added := 0
	for _, tag := range out.TagDescriptions[0].Tags {
		if strings.HasPrefix(*tag.Key, "key") {
			added++
		}
	}
	if added != len(list) {
		t.Errorf("%d tags were added, want %d", added, len(list))
	}
}

// TestCertificateInAnotherCaseIsTheSame verifies that the case of a certificate's ARN makes no difference, as with
// cloud-provider-aws.
func TestCertificateInAnotherCaseIsTheSame(t *testing.T) {
	r := newRig(t, sim.Options{})
	const lower = "arn:aws:acm:us-west-2:123456789012:certificate/abcdef78-1234-1234-1234-123456789012"
	r.ensure(service(annotate("ssl-cert", lower, "ssl-ports", "443")))
	r.mutations()
	r.restart()
	r.ensure(service(annotate("ssl-cert", strings.Replace(lower, "abcdef", "ABCDEF", 1), "ssl-ports", "443")))
	if got := r.mutations(); len(got) > 0 {
		t.Errorf("calls %v", got)
	}
	for _, l := range r.balancer().ListenerDescriptions {
		if id := aws.ToString(l.Listener.SSLCertificateId); id != "" && id != lower {
			t.Errorf("certificate %s", id)
		}
	}
}
