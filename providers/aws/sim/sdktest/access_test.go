package sdktest

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	clocktesting "k8s.io/utils/clock/testing"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func TestUnknownAccessKeyIsRejected(t *testing.T) {
	c := newClients(t, sim.Options{AccessKeys: []string{"AKIAOTHER"}})
	_, err := c.ec2.DescribeVpcs(t.Context(), nil)
	wantCode(t, err, "AuthFailure", 401)
	_, err = c.elbv2.DescribeLoadBalancers(t.Context(), nil)
	wantCode(t, err, "InvalidClientTokenId", 403)
	_, err = c.sts.GetCallerIdentity(t.Context(), nil)
	wantCode(t, err, "InvalidClientTokenId", 403)
}

func TestDeniedActionsAreRejected(t *testing.T) {
	c := newClients(t, sim.Options{Allow: func(action string) bool { return strings.HasPrefix(action, "sts:") }})
	_, err := c.ec2.DescribeVpcs(t.Context(), nil)
	wantCode(t, err, "UnauthorizedOperation", 403)
	_, err = c.elbv2.DescribeLoadBalancers(t.Context(), nil)
	wantCode(t, err, "AccessDenied", 403)
	if account := *must(c.sts.GetCallerIdentity(t.Context(), nil))(t).Account; account != "123456789012" {
		t.Errorf("account %s", account)
	}
}

func TestAssumeRole(t *testing.T) {
	c := newClients(t, sim.Options{})
	role := ptr("arn:aws:iam::123456789012:role/path/ccm")
	out := must(c.sts.AssumeRole(t.Context(),
		&sts.AssumeRoleInput{RoleArn: role, RoleSessionName: ptr("session"), DurationSeconds: ptr(int32(900))}))(t)
	if *out.AssumedRoleUser.Arn != "arn:aws:sts::123456789012:assumed-role/ccm/session" ||
		time.Until(*out.Credentials.Expiration) > 15*time.Minute {
		t.Errorf("session %+v", out)
	}
	must(c.sts.AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{RoleArn: role,
		RoleSessionName: ptr("session"), WebIdentityToken: ptr("a.b.c")}))(t)
	_, err := c.sts.AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{RoleArn: role,
		RoleSessionName: ptr("session"), WebIdentityToken: ptr("nonsense")})
	wantCode(t, err, "InvalidIdentityToken", 400)
}

func TestFaultsUseErrorFormatOfService(t *testing.T) {
	c := newClients(t, sim.Options{})
	c.cloud.Front().SetFaults(kit.Fault{Kind: kit.FaultThrottle, Times: kit.Always})
	_, err := c.ec2.DescribeVpcs(t.Context(), nil)
	wantCode(t, err, "RequestLimitExceeded", 503)
	_, err = c.elbv2.DescribeLoadBalancers(t.Context(), nil)
	wantCode(t, err, "Throttling", 400)
	c.cloud.Front().SetFaults(kit.Fault{Kind: kit.FaultError, Times: kit.Always})
	_, err = c.ec2.DescribeVpcs(t.Context(), nil)
	wantCode(t, err, "InternalError", 500)
	_, err = c.elbv2.DescribeLoadBalancers(t.Context(), nil)
	wantCode(t, err, "InternalFailure", 500)
	c.cloud.Front().SetFaults()
	if s := c.cloud.Front().Log().Stats(); len(s) != 2 || s[0].Service != "ec2" || s[1].Service != "elbv2" ||
		s[0].Mutating {
		t.Errorf("log %+v", s)
	}
}

func TestNewObjectsAreEventuallyVisible(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))
	c := newClients(t, sim.Options{Clock: clock, SettleTime: 5 * time.Second})
	id := c.group(t, "a")
	describe := func() error {
		_, err := c.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
		return err
	}
	wantCode(t, describe(), "InvalidGroup.NotFound", 400)
	if n := len(must(c.ec2.DescribeSecurityGroups(t.Context(),
		&ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{filter("group-name", "a")}}))(t).SecurityGroups); n != 0 {
		t.Errorf("%d groups are seen too early", n)
	}
	clock.Step(5 * time.Second)
	if err := describe(); err != nil {
		t.Error(err)
	}
}

func TestMetadata(t *testing.T) {
	c := newClients(t, sim.Options{})
	c.launch(t, world.Machine{Name: "a"}, world.Machine{Name: "b"})
	if err := c.cloud.SetSelf("b"); err != nil {
		t.Fatal(err)
	}
	client := imds.New(imds.Options{Endpoint: "http://metadata.invalid",
		HTTPClient: &http.Client{Transport: c.cloud.Front().Transport()}})
	document := must(client.GetInstanceIdentityDocument(t.Context(), nil))(t)
	get := func(path string) string {
		t.Helper()
		out := must(client.GetMetadata(t.Context(), &imds.GetMetadataInput{Path: path}))(t)
		return string(must(io.ReadAll(out.Content))(t))
	}
	b := c.instances(t, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{filter("tag:Name", "b")}})[0]
	if document.InstanceID != *b.InstanceId || document.Region != "us-west-2" ||
		document.PrivateIP != *b.PrivateIpAddress || document.PendingTime.IsZero() {
		t.Errorf("document %+v", document)
	}
	mac := strings.TrimSuffix(get("network/interfaces/macs/"), "/")
	if vpc := get("network/interfaces/macs/" + mac + "/vpc-id"); vpc != *b.VpcId || get("mac") != mac ||
		get("instance-id") != *b.InstanceId {
		t.Errorf("vpc %s of interface %s", vpc, mac)
	}
	if got := get("placement/availability-zone"); got != *b.Placement.AvailabilityZone {
		t.Errorf("zone %s", got)
	}
	if _, err := client.GetMetadata(t.Context(), &imds.GetMetadataInput{Path: "nonsense"}); err == nil {
		t.Error("nonsense was found")
	}
	if _, err := c.elbv2.DescribeTargetGroups(t.Context(),
		&elbv2.DescribeTargetGroupsInput{Names: []string{"x"}}); err == nil {
		t.Error("a target group was found")
	}
}
