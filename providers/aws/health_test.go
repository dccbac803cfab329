package aws

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/client"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// withAttempts limits the attempts of a call. Retries would wait for a stopped clock.
func withAttempts(n int) Option { return func(o *options) { o.attempts = n } }

// sick is a manager whose cloud can fail in parts. Its calls are not repeated.
type sick struct {
	*Cloud
	t     *testing.T
	world *sim.Cloud
	clock *testingclock.FakeClock
}

func newSick(t *testing.T, o sim.Options, conf string, options ...Option) *sick {
	t.Helper()
	world, _ := simtest.WithSelf(t, o)
	cfg, _, err := config.Read("", []byte("[Global]\n"+conf))
	if err != nil {
		t.Fatal(err)
	}
	s := &sick{t: t, world: world, clock: testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	options = append([]Option{WithTransport(world.Front().Transport()), WithClock(s.clock), withAttempts(1),
		WithCredentials(awssdk.CredentialsProviderFunc(func(context.Context) (awssdk.Credentials, error) {
			return awssdk.Credentials{AccessKeyID: "AKIAEXAMPLE", SecretAccessKey: "secret"}, nil
		}))}, options...)
	if s.Cloud, err = NewCloud(cfg, options...); err != nil {
		t.Fatal(err)
	}
	return s
}

// want compares the parts with what each one's error shall have in it, "" for none.
func (s *sick) want(when, nodes, balancers, routes string) {
	s.t.Helper()
	calls := s.world.Front().Log().Len()
	want := map[string]string{provider.PartNodes: nodes, provider.PartLoadBalancers: balancers, provider.PartRoutes: routes}
	got := s.Health()
	if len(got) != len(want) {
		s.t.Errorf("%s: %d parts, want %d", when, len(got), len(want))
	}
	for _, p := range got {
		text, ok := want[p.Part]
		if !ok || (p.Err != nil) != (text != "") || p.Err != nil && !strings.Contains(p.Err.Error(), text) {
			s.t.Errorf("%s: %s: %v, want %q", when, p.Part, p.Err, text)
		}
		if (p.Err != nil) == p.Since.IsZero() {
			s.t.Errorf("%s: %s: %v since %v", when, p.Part, p.Err, p.Since)
		}
	}
	if n := s.world.Front().Log().Len(); n != calls {
		s.t.Errorf("%s: looking at the health made %d calls", when, n-calls)
	}
}

func (s *sick) clients() *client.Clients {
	s.t.Helper()
	p, err := s.connection.Get(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return p.clients
}

// fails makes a call three times, which must fail each time.
func (s *sick) fails(call func(context.Context, *client.Clients) error) {
	s.t.Helper()
	for range 3 {
		if call(s.t.Context(), s.clients()) == nil {
			s.t.Fatal("the call does not fail")
		}
	}
}

func describeBalancers(ctx context.Context, c *client.Clients) error {
	_, err := c.ELBV2.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{})
	return err
}

func listInstances(ctx context.Context, c *client.Clients) error {
	_, err := c.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
	return err
}

func deleteRoute(ctx context.Context, c *client.Clients) error {
	_, err := c.EC2.DeleteRoute(ctx, &ec2.DeleteRouteInput{RouteTableId: awssdk.String("rtb-0123"), DestinationCidrBlock: awssdk.String("10.0.0.0/24")})
	return err
}

func TestFailingServiceAffectsOnlyItsParts(t *testing.T) {
	s := newSick(t, sim.Options{}, simtest.Located)
	s.want("before the first call", "", "", "")
	if err := errors.Join(s.Check(t.Context()), describeBalancers(t.Context(), s.clients())); err != nil {
		t.Fatal(err)
	}
	s.world.Front().SetFaults(kit.Fault{Kind: kit.FaultError, Operation: "DescribeLoadBalancers", Times: kit.Always})
	s.fails(describeBalancers)
	const balancers = "the last 3 requests to the service elbv2 failed, most recently DescribeLoadBalancers: unavailable"
	s.want("without network load balancers", "", balancers, "")
	s.clock.Step(time.Minute)
	if err := s.Check(t.Context()); !cloudapi.Is(err, cloudapi.Unavailable) {
		t.Errorf("the check asks again: %v, want Unavailable", err)
	}
	if since := s.Health()[1].Since; s.clock.Since(since) != time.Minute {
		t.Errorf("failing since %v, want for a minute", since)
	}
	s.world.Front().SetFaults()
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	s.want("once they are back", "", "", "")

	s.world.Front().SetFaults(kit.Fault{Kind: kit.FaultError, Operation: "DescribeInstances", Times: kit.Always})
	s.fails(listInstances)
	const instances = "the last 3 requests to the service ec2 failed, most recently DescribeInstances: unavailable"
	s.want("without EC2", instances, instances, instances)
	s.world.Front().SetFaults()
	s.world.Front().Log().Reset()
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	s.want("once EC2 is back", "", "", "")
	s.world.Front().Log().Reset()
	if err := s.Check(t.Context()); err != nil || s.world.Front().Log().Len() != 1 {
		t.Errorf("%v, calls %v: for a healthy cloud, Check only calls STS", err, simtest.Operations(s.world))
	}
}

func TestMissingPermissionAffectsOnlyItsParts(t *testing.T) {
	denied := map[string]bool{"ec2:DeleteRoute": true}
	s := newSick(t, sim.Options{Allow: func(action string) bool { return !denied[action] }}, simtest.Located)
	s.fails(deleteRoute)
	s.want("routes may not be deleted", "", "", "ec2 for routes failed, most recently DeleteRoute: denied")
	denied["ec2:DescribeSecurityGroups"] = true
	s.fails(func(ctx context.Context, c *client.Clients) error {
		_, err := c.EC2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{})
		return err
	})
	s.want("nor security groups be read", "", "ec2 for load-balancers failed, most recently DescribeSecurityGroups: denied", "DeleteRoute")
	clear(denied)
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	s.want("once all is allowed", "", "", "")
}

func TestRejectedCredentialsAffectAllParts(t *testing.T) {
	var trouble error
	provider := awssdk.CredentialsProviderFunc(func(context.Context) (awssdk.Credentials, error) {
		// They expire at once, so that each request asks for them.
		return awssdk.Credentials{AccessKeyID: "AKIAEXAMPLE", SecretAccessKey: "secret", CanExpire: true}, trouble
	})
	keys := []string{"AKIAOTHER"}
	s := newSick(t, sim.Options{AccessKeys: keys}, simtest.Located, WithCredentials(provider))
	const refused = "AWS rejects the credentials"
	if err := s.Check(t.Context()); !cloudapi.Is(err, cloudapi.Denied) || !strings.Contains(err.Error(), refused) {
		t.Errorf("error %v", err)
	}
	s.want("with another account's key", refused, refused, refused)
	keys[0] = "AKIAEXAMPLE"
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	s.want("with a key that AWS takes", "", "", "")

	trouble = errors.New("the file is empty")
	if err := listInstances(t.Context(), s.clients()); err == nil {
		t.Error("a request was signed with nothing")
	}
	const none = "no AWS credentials to sign requests with: failed to refresh cached credentials, the file is empty"
	s.want("without credentials", none, none, none)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	trouble = nil
	if err := s.Check(gone); err == nil {
		t.Error("a check without time passes")
	}
	s.want("after a check without time", none, none, none)
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	s.want("with credentials again", "", "", "")
}

// TestCheckWithoutSTS pins that where STS cannot be reached the services' own answers count.
func TestCheckWithoutSTS(t *testing.T) {
	s := newSick(t, sim.Options{}, simtest.Located)
	sts := kit.Fault{Kind: kit.FaultError, Operation: "GetCallerIdentity", Times: kit.Always}
	s.world.Front().SetFaults(sts)
	for range 3 {
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("EC2 accepts us: %v", err)
		}
	}
	s.want("without STS", "", "", "")
	s.world.Front().SetFaults(sts, kit.Fault{Kind: kit.FaultError, Operation: "DescribeInstances", Times: kit.Always},
		kit.Fault{Kind: kit.FaultError, Operation: "DescribeRouteTables", Times: kit.Always}, kit.Fault{Kind: kit.FaultError, Operation: "DescribeSecurityGroups", Times: kit.Always})
	if err := s.Check(t.Context()); !cloudapi.Is(err, cloudapi.Unavailable) || !strings.Contains(err.Error(), "could not be verified with STS") {
		t.Errorf("error %v", err)
	}
	const unreachable = "the last 3 requests to the service ec2 failed"
	s.want("without EC2 either", unreachable, unreachable, unreachable)
}

func TestUnknownClusterAffectsAllParts(t *testing.T) {
	s := newSick(t, sim.Options{}, "Region = us-west-2\n")
	s.world.Front().SetFaults(kit.Fault{Kind: kit.FaultError, Operation: "GetMetadata", Times: kit.Always})
	if err := s.Check(t.Context()); err == nil {
		t.Fatal("it passes without a cluster")
	}
	const unknown = "VPC and KubernetesClusterID are not set in section [Global]"
	s.want("without the metadata service", unknown, unknown, unknown)
	s.world.Front().SetFaults()
	s.clock.Step(connectRetry)
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	s.want("once it answers", "", "", "")
}
