package client

import (
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/component-base/metrics/testutil"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

func TestLegacyMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world, _ := simtest.WithSelf(t, sim.Options{})
		quiet := newTestClients(t, world.Front().Transport(), simtest.Located)
		loud := newTestClients(t, world.Front().Transport(), simtest.Located+"LegacyMetrics = true\n")
		for _, c := range []*Clients{quiet, loud} {
			if _, err := c.EC2.DescribeInstances(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if err := describeGroup("sg-0123456789abcdef0")(t, c); !awserr.Is(err, "InvalidGroup.NotFound") {
				t.Fatal(err)
			}
			world.Front().SetFaults(kit.Fault{Kind: kit.FaultThrottle, Times: kit.Always})
			if _, err := c.EC2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{"i-1"}, Tags: []ec2types.Tag{{}}}); err == nil {
				t.Fatal("not throttled")
			}
			world.Front().SetFaults()
		}
		testutil.AssertHistogramTotalCount(t, "cloudprovider_aws_api_request_duration_seconds", map[string]string{"request": "describe_instance"}, 1)
		testutil.AssertVectorCount(t, "cloudprovider_aws_api_request_errors", map[string]string{"request": "describe_security_groups"}, 1)
		testutil.AssertVectorCount(t, "cloudprovider_aws_api_request_errors", map[string]string{"request": "create_tags"}, 1)
		testutil.AssertVectorCount(t, "cloudprovider_aws_api_throttled_requests_total", map[string]string{"operation_name": "CreateTags"}, 1)
		testutil.AssertVectorCount(t, "cloudprovider_aws_api_response_status_total",
			map[string]string{"service": "EC2", "operation": "DescribeSecurityGroups", "status_code": "400"}, 1)
		testutil.AssertVectorCount(t, "cloudprovider_aws_api_response_status_total",
			map[string]string{"service": "EC2", "operation": "CreateTags", "status_code": "503"}, 4)
	})
}
