package client

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// newTestClient returns a Client with static credentials and these lines in section [Global].
func newTestClient(t *testing.T, rt http.RoundTripper, conf string) *Client {
	t.Helper()
	cfg, _, err := config.Read("", []byte("[Global]\n"+conf))
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{
		Config: &cfg, Transport: rt, Clock: clock.RealClock{},
		Credentials: credentials.NewStaticCredentialsProvider("AKIAEXAMPLE", "secret", ""),
	})
}

// newTestClients returns the clients of newTestClient.
func newTestClients(t *testing.T, rt http.RoundTripper, conf string) *Clients {
	t.Helper()
	clients, err := newTestClient(t, rt, conf).Connect(t.Context(), "us-west-2")
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func TestErrorClasses(t *testing.T) {
	garbled := func(resp *http.Response) { resp.Body = io.NopCloser(strings.NewReader("<html>")) }
	proxy := func(status int) func(*http.Response) {
		return func(resp *http.Response) {
			garbled(resp)
			resp.StatusCode, resp.Header = status, http.Header{}
		}
	}
	tests := []struct {
		name    string
		options sim.Options
		change  func(*http.Response)
		call    func(*testing.T, *Clients) error
		want    cloudapi.Class
	}{
		{name: "EC2 not found", call: describeGroup("sg-0123456789abcdef0"), want: cloudapi.NotFound},
		{name: "ELBv2 not found", want: cloudapi.NotFound, call: func(t *testing.T, c *Clients) error {
			_, err := c.ELBV2.DescribeLoadBalancers(t.Context(), &elbv2.DescribeLoadBalancersInput{Names: []string{"web"}})
			return err
		}},
		{name: "ELB not found", want: cloudapi.NotFound, call: func(t *testing.T, c *Clients) error {
			_, err := c.ELB.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{"web"}})
			return err
		}},
		{name: "invalid", call: describeGroup("web"), want: cloudapi.Invalid},
		{name: "denied", options: sim.Options{Allow: func(string) bool { return false }}, call: describeGroup("sg-0123456789abcdef0"), want: cloudapi.Denied},
		{name: "unknown key", options: sim.Options{AccessKeys: []string{"AKIAOTHER"}}, call: describeGroup("sg-0123456789abcdef0"), want: cloudapi.Denied},
		{name: "unparsable error", change: garbled, call: describeGroup("sg-0123456789abcdef0"), want: cloudapi.Unknown},
		{name: "unparsable success", change: garbled, want: cloudapi.Unavailable, call: func(t *testing.T, c *Clients) error {
			_, err := c.EC2.DescribeSubnets(t.Context(), nil)
			return err
		}},
		{name: "404 of a proxy is not NotFound", change: proxy(404), call: describeGroup("sg-0123456789abcdef0"), want: cloudapi.Unknown},
		{name: "502 of a gateway", change: proxy(502), call: describeGroup("sg-0123456789abcdef0"), want: cloudapi.Unavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world, _ := simtest.WithSelf(t, tt.options)
				err := tt.call(t, newTestClients(t, &simtest.Recorder{Base: world.Front().Transport(), Change: tt.change}, simtest.Located))
				if got := cloudapi.ClassOf(err); got != tt.want {
					t.Errorf("got %s, want %s: %v", got, tt.want, err)
				}
				var own *cloudapi.Error
				if !errors.As(err, &own) || !strings.HasPrefix(own.Operation, "Describe") {
					t.Errorf("operation missing in %v", err)
				}
			})
		})
	}
}

func describeGroup(id string) func(*testing.T, *Clients) error {
	return func(t *testing.T, c *Clients) error {
		_, err := c.EC2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
		return err
	}
}

func TestRetries(t *testing.T) {
	tests := []struct {
		name  string
		fault kit.Fault
		calls int
		want  cloudapi.Class
	}{
		{name: "no fault", calls: 1},
		{name: "throttled once", fault: kit.Fault{Kind: kit.FaultThrottle, Times: 1}, calls: 2},
		{name: "always throttled", fault: kit.Fault{Kind: kit.FaultThrottle, Times: kit.Always}, calls: 4, want: cloudapi.Throttled},
		{name: "failing twice", fault: kit.Fault{Kind: kit.FaultError, Times: 2}, calls: 3},
		{name: "always failing", fault: kit.Fault{Kind: kit.FaultError, Times: kit.Always}, calls: 4, want: cloudapi.Unavailable},
		{name: "reply lost", fault: kit.Fault{Kind: kit.FaultLostReply, Times: 1}, calls: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world, _ := simtest.WithSelf(t, sim.Options{})
				c := newTestClients(t, world.Front().Transport(), simtest.Located)
				if tt.fault.Kind != "" {
					world.Front().SetFaults(tt.fault)
				}
				start := time.Now()
				_, err := c.ELBV2.DescribeLoadBalancers(t.Context(), nil)
				if got := cloudapi.ClassOf(err); got != tt.want {
					t.Errorf("got %q, want %q: %v", got, tt.want, err)
				}
				if got := len(simtest.Operations(world)); got != tt.calls {
					t.Errorf("%d calls, want %d", got, tt.calls)
				}
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestCallToUnresponsiveCloudTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := simtest.RoundTripFunc(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		c := newTestClients(t, silent, simtest.Located)
		start := time.Now()
		_, err := c.ELB.DescribeLoadBalancers(t.Context(), nil)
		if took := time.Since(start); !cloudapi.Is(err, cloudapi.Unavailable) || took < attemptTimeout || took > CallTimeout {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestSlowResponseDoesNotSkewClock: the SDK corrects its clock by the Date of responses, and a slow one must
// not make it sign the next request with a wrong time.
func TestSlowResponseDoesNotSkewClock(t *testing.T) {
	for _, delay := range []time.Duration{0, 29 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			world, _ := simtest.WithSelf(t, sim.Options{})
			w := &simtest.Recorder{Base: world.Front().Transport(), Change: func(resp *http.Response) {
				// The response is written at once and arrives late.
				resp.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
				time.Sleep(delay)
			}}
			c := newTestClients(t, w, simtest.Located)
			for range 2 {
				if _, err := c.ELBV2.DescribeLoadBalancers(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
			signed, err := time.Parse("20060102T150405Z", w.Last().Header.Get("X-Amz-Date"))
			if err != nil {
				t.Fatal(err)
			}
			// The last request was sent one delay ago.
			if skew := time.Since(signed) - delay; skew.Abs() > staleDateAfter {
				t.Errorf("answers after %v: signed %v off", delay, skew)
			}
		})
	}
}

func TestAssumedRole(t *testing.T) {
	world, _ := simtest.WithSelf(t, sim.Options{})
	w := &simtest.Recorder{Base: world.Front().Transport()}
	c := newTestClients(t, w, simtest.Located+"RoleARN = arn:aws:iam::123456789012:role/ccm\nSourceARN = arn:aws:eks:us-west-2:123456789012:cluster/prod\n")
	for range 2 {
		_, err := c.ELBV2.DescribeLoadBalancers(t.Context(), nil)
		_, err2 := c.ELB.DescribeLoadBalancers(t.Context(), nil)
		if _, err3 := c.EC2.DescribeSubnets(t.Context(), nil); err != nil || err2 != nil || err3 != nil {
			t.Fatal(err, err2, err3)
		}
	}
	calls := simtest.Operations(world)
	if n := len(slices.DeleteFunc(calls, func(name string) bool { return name != "AssumeRole" })); n != 1 {
		t.Errorf("the role was assumed %d times by four clients, want once", n)
	}
	assume := w.Sent()[0].Header
	if assume.Get("X-Amz-Source-Account") != "123456789012" || assume.Get("X-Amz-Source-Arn") != "arn:aws:eks:us-west-2:123456789012:cluster/prod" ||
		!strings.Contains(assume.Get("Authorization"), "x-amz-source-account;x-amz-source-arn") {
		t.Errorf("headers %v", assume)
	}
	who, err := c.STS.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil || *who.Arn != "arn:aws:sts::123456789012:assumed-role/ccm/unified-ccm" {
		t.Errorf("who %+v, %v", who, err)
	}
}

// TestDefaultChain covers the credentials of the SDK's default chain.
func TestDefaultChain(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "none")
	isolate := func(t *testing.T) {
		for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"} {
			t.Setenv(name, "")
		}
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", empty)
		t.Setenv("AWS_CONFIG_FILE", empty)
	}
	whoami := func(t *testing.T, conf string) (string, error) {
		world, _ := simtest.WithSelf(t, sim.Options{})
		cfg, _, err := config.Read("", []byte("[Global]\n"+simtest.Located+conf))
		if err != nil {
			t.Fatal(err)
		}
		c := New(Options{Config: &cfg, Transport: world.Front().Transport(), Clock: clock.RealClock{}})
		clients, err := c.Connect(t.Context(), "us-west-2")
		if err != nil {
			return "", err
		}
		out, err := clients.STS.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
		if err != nil {
			return "", err
		}
		return *out.Arn, nil
	}
	t.Run("environment", func(t *testing.T) {
		isolate(t)
		t.Setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
		if who, err := whoami(t, ""); err != nil || !strings.HasSuffix(who, ":user/sim") {
			t.Errorf("who %s, %v", who, err)
		}
	})
	t.Run("web identity", func(t *testing.T) {
		isolate(t)
		token := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(token, []byte("a.b.c"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token)
		t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/pod")
		if who, err := whoami(t, ""); err != nil || who != "arn:aws:sts::123456789012:assumed-role/pod/unified-ccm" {
			t.Errorf("who %s, %v", who, err)
		}
		if who, err := whoami(t, "RoleARN = arn:aws:iam::123456789012:role/ccm\n"); err != nil || who != "arn:aws:sts::123456789012:assumed-role/ccm/unified-ccm" {
			t.Errorf("role after role: who %s, %v", who, err)
		}
	})
	t.Run("role of a profile", func(t *testing.T) {
		isolate(t)
		file := filepath.Join(t.TempDir(), "config")
		content := "[profile ccm]\nrole_arn = arn:aws:iam::123456789012:role/profile\nsource_profile = base\n[profile base]\naws_access_key_id = AKIAEXAMPLE\naws_secret_access_key = secret\n"
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("AWS_CONFIG_FILE", file)
		t.Setenv("AWS_PROFILE", "ccm")
		if who, err := whoami(t, ""); err != nil || who != "arn:aws:sts::123456789012:assumed-role/profile/unified-ccm" {
			t.Errorf("who %s, %v", who, err)
		}
	})
	t.Run("instance profile", func(t *testing.T) {
		isolate(t)
		if who, err := whoami(t, ""); err != nil || !strings.Contains(who, ":assumed-role/") {
			t.Errorf("who %s, %v", who, err)
		}
	})
}

func TestRequest(t *testing.T) {
	for _, tt := range []struct {
		id, operation string
		want          cloudapi.Request
	}{
		{"EC2", "DescribeInstances", cloudapi.Request{Service: "ec2", Operation: "DescribeInstances"}},
		{"EC2", "CreateTags", cloudapi.Request{Service: "ec2", Operation: "CreateTags", Mutating: true, Idempotent: true}},
		{"Elastic Load Balancing", "ConfigureHealthCheck", cloudapi.Request{Service: "elb", Operation: "ConfigureHealthCheck", Mutating: true, Idempotent: true}},
		{"Elastic Load Balancing v2", "RegisterTargets", cloudapi.Request{Service: "elbv2", Operation: "RegisterTargets", Mutating: true, Idempotent: true}},
		{"STS", "AssumeRole", cloudapi.Request{Service: "sts", Operation: "AssumeRole"}},
		{"ec2imds", "getToken", cloudapi.Request{Service: "imds", Operation: "getToken"}},
		{"SSO", "GetRoleCredentials", cloudapi.Request{Service: "credentials", Operation: "GetRoleCredentials"}},
	} {
		if diff := cmp.Diff(tt.want, newRequest(tt.id, tt.operation)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.id, tt.operation, diff)
		}
	}
}

func TestClassify(t *testing.T) {
	response := func(status int, body string) *http.Response {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}
	}
	for _, tt := range []struct {
		name string
		resp *http.Response
		err  error
		want cloudapi.Class
	}{
		{name: "success", resp: response(200, "<Code>InvalidGroup.NotFound</Code>")},
		{name: "code", resp: response(400, "<Response><Errors><Error><Code>InvalidGroup.NotFound</Code>"), want: cloudapi.NotFound},
		{name: "throttled with 400", resp: response(400, "<ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code>"), want: cloudapi.Throttled},
		{name: "404 without code", resp: response(404, "not here"), want: cloudapi.Unknown},
		{name: "503 without code", resp: response(503, ""), want: cloudapi.Unavailable},
		{name: "no response", err: &url.Error{Op: "Post", Err: io.EOF}, want: cloudapi.Unavailable},
	} {
		if got := classify(tt.resp, tt.err); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
