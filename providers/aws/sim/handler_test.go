package sim

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
)

func newCloud(t *testing.T, o Options) *Cloud {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// post sends a form, signed for a service unless that is empty.
func post(c *Cloud, service, form string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if service != "" {
		r.Header.Set(
			"Authorization",
			"AWS4-HMAC-SHA256 Credential=AKIA/20260102/us-west-2/"+service+"/aws4_request, SignedHeaders=host, Signature=0",
		)
	}
	w := httptest.NewRecorder()
	c.Front().ServeHTTP(w, r)
	return w
}

func TestProtocolErrors(t *testing.T) {
	c := newCloud(t, Options{})
	const elb = "elasticloadbalancing"
	for _, tc := range []struct {
		name, service, form string
		status              int
		want                string
	}{
		{"unknown EC2 action", "ec2", "Action=Fly&Version=2016-11-15", 400,
			"<Response><Errors><Error><Code>InvalidAction</Code>"},
		{"no action", "ec2", "Version=2016-11-15", 400, "<Code>MissingParameter</Code>"},
		{"unknown ELB action", elb, "Action=Fly&Version=2015-12-01", 400,
			"<Message>Could not find operation Fly for version 2015-12-01</Message>"},
		{"an operation of the other generation", elb, "Action=CreateTargetGroup&Version=2012-06-01", 400,
			"<Code>InvalidAction</Code>"},
		{"unsigned EC2", "", "Action=DescribeVpcs&Version=2016-11-15", 401, "<Code>AuthFailure</Code>"},
		{"unsigned ELB", "", "Action=DescribeLoadBalancers&Version=2015-12-01", 403,
			"<Code>MissingAuthenticationToken</Code>"},
		{"unknown parameter", "ec2", "Action=DescribeVpcs&Version=2016-11-15&Colour=red", 400,
			"<Code>UnknownParameter</Code><Message>The parameter Colour is not recognized"},
		{"not a number", "ec2", "Action=DescribeVpcs&Version=2016-11-15&MaxResults=x", 400,
			"<Code>InvalidParameterValue</Code>"},
		{"not a number, ELB", elb, "Action=DescribeLoadBalancers&Version=2015-12-01&PageSize=x", 400,
			"<Code>MalformedInput</Code>"},
		{"error namespace", elb, "Action=DescribeLoadBalancers&Version=2012-06-01&LoadBalancerNames.member.1=x", 400,
			`<ErrorResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2012-06-01/">`},
		{"an old version of EC2", "ec2", "Action=DescribeVpcs&Version=2014-10-01", 200,
			`<DescribeVpcsResponse xmlns="http://ec2.amazonaws.com/doc/2014-10-01/"><requestId>`},
		{"ELB result", elb, "Action=DescribeLoadBalancers&Version=2015-12-01", 200,
			"<DescribeLoadBalancersResult><LoadBalancers></LoadBalancers></DescribeLoadBalancersResult>"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := post(c, tc.service, tc.form)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("status %d, body %s", w.Code, w.Body)
			}
		})
	}
}

func TestCredentialsForAnotherRegionAreRejected(t *testing.T) {
	c := newCloud(t, Options{Region: "eu-west-1"})
	if w := post(c, "ec2", "Action=DescribeVpcs&Version=2016-11-15"); w.Code != http.StatusUnauthorized {
		t.Errorf("status %d", w.Code)
	}
	w := post(c, "elasticloadbalancing", "Action=DescribeLoadBalancers&Version=2015-12-01")
	if w.Code != http.StatusForbidden {
		t.Errorf("status %d", w.Code)
	}
}

// TestOperations lists what cloud controller managers for AWS call, or may call.
func TestOperations(t *testing.T) {
	want := map[string]string{
		core.ServiceEC2: `DescribeInstances DescribeInstanceTopology DescribeAvailabilityZones DescribeNetworkInterfaces
			DescribeSubnets DescribeRouteTables DescribeSecurityGroups CreateSecurityGroup DeleteSecurityGroup
			AuthorizeSecurityGroupIngress RevokeSecurityGroupIngress CreateTags DeleteTags CreateRoute DeleteRoute
			ModifyInstanceAttribute DescribeVpcs ReplaceRoute DescribeSecurityGroupRules DescribeInstanceStatus
			DescribeAddresses`,
		core.ServiceELB: `CreateLoadBalancer DeleteLoadBalancer DescribeLoadBalancers AddTags
			RegisterInstancesWithLoadBalancer DeregisterInstancesFromLoadBalancer CreateLoadBalancerPolicy
			DescribeLoadBalancerPolicies SetLoadBalancerPoliciesForBackendServer SetLoadBalancerPoliciesOfListener
			AttachLoadBalancerToSubnets DetachLoadBalancerFromSubnets CreateLoadBalancerListeners DeleteLoadBalancerListeners
			ApplySecurityGroupsToLoadBalancer ConfigureHealthCheck DescribeLoadBalancerAttributes ModifyLoadBalancerAttributes
			DescribeTags RemoveTags`,
		core.ServiceELBv2: `CreateLoadBalancer DeleteLoadBalancer DescribeLoadBalancers SetSecurityGroups
			DescribeLoadBalancerAttributes ModifyLoadBalancerAttributes CreateTargetGroup DescribeTargetGroups
			ModifyTargetGroup DeleteTargetGroup DescribeTargetHealth DescribeTargetGroupAttributes ModifyTargetGroupAttributes
			RegisterTargets DeregisterTargets CreateListener DescribeListeners ModifyListener DeleteListener AddTags
			RemoveTags DescribeTags SetSubnets SetIpAddressType AddListenerCertificates RemoveListenerCertificates
			DescribeListenerCertificates`,
		core.ServiceSTS: `GetCallerIdentity AssumeRole AssumeRoleWithWebIdentity`,
	}
	have := catalogue()
	for service, names := range want {
		for _, name := range strings.Fields(names) {
			o, ok := have[service][name]
			if !ok {
				t.Errorf("%s %s is missing", service, name)
			}
			reads := strings.HasPrefix(name, "Describe") || strings.HasPrefix(name, "Get") || service == core.ServiceSTS
			if ok && reads == o.mutating {
				t.Errorf("%s %s: mutating is %v", service, name, o.mutating)
			}
		}
	}
}

// TestInvalidRequestsChangeNothing sends every operation without parameters: a rejected request must not change the
// state.
func TestInvalidRequestsChangeNothing(t *testing.T) {
	c := newCloud(t, Options{})
	if _, err := c.Launch(world.Machine{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{
		core.ServiceEC2:   versionEC2,
		core.ServiceELB:   versionELB,
		core.ServiceELBv2: versionELBv2,
		core.ServiceSTS:   versionSTS,
	}
	scopes := map[string]string{core.ServiceEC2: "ec2", core.ServiceSTS: "sts", core.ServiceELB: "elasticloadbalancing",
		core.ServiceELBv2: "elasticloadbalancing"}
	for service, operations := range catalogue() {
		for name, o := range operations {
			before := c.Objects()
			w := post(c, scopes[service], "Action="+name+"&Version="+versions[service])
			if w.Code >= http.StatusInternalServerError {
				t.Errorf("%s %s: status %d: %s", service, name, w.Code, w.Body)
			}
			if after := c.Objects(); w.Code != http.StatusOK && !equalCounts(before, after) {
				t.Errorf("%s %s: refused, and yet %v became %v", service, name, before, after)
			}
			if !o.mutating && w.Code != http.StatusOK && service == core.ServiceEC2 {
				t.Errorf("%s: status %d: %s", name, w.Code, w.Body)
			}
		}
	}
}

func equalCounts(a, b map[string]int) bool {
	return slices.EqualFunc(core.SortedIDs(a), core.SortedIDs(b), func(x, y string) bool { return x == y && a[x] == b[y] })
}

func TestTerminatedInstancesExpire(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))
	c := newCloud(t, Options{Clock: clock})
	if _, err := c.Launch(world.Machine{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Terminate("a"); err != nil {
		t.Fatal(err)
	}
	const describe = "Action=DescribeInstances&Version=2016-11-15"
	if w := post(c, "ec2", describe); !strings.Contains(w.Body.String(), "<name>terminated</name>") {
		t.Errorf("at once: %s", w.Body)
	}
	clock.Step(time.Hour)
	if w := post(c, "ec2", describe); !strings.Contains(w.Body.String(), "<reservationSet></reservationSet>") {
		t.Errorf("after an hour: %s", w.Body)
	}
}

func BenchmarkDescribeFiveThousandInstances(b *testing.B) {
	c, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	for range 5000 {
		if _, err := c.Launch(world.Machine{}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		w := post(c, "ec2", "Action=DescribeInstances&Version=2016-11-15&MaxResults=1000"+
			"&Filter.1.Name=tag-key&Filter.1.Value.1=kubernetes.io/cluster/sim")
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}

// TestFilters has the filters of the EC2 API reference that managers send, or may send.
func TestFilters(t *testing.T) {
	c := newCloud(t, Options{IPv6: true})
	if _, err := c.Launch(world.Machine{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	for operation, names := range map[string]string{
		"DescribeInstances": `instance-id instance-state-name instance-state-code instance-type availability-zone
			availability-zone-id image-id owner-id reservation-id launch-time iam-instance-profile.arn source-dest-check
			vpc-id subnet-id private-dns-name private-ip-address ipv6-address instance.group-id instance.group-name tag:Name
			network-interface.vpc-id network-interface.subnet-id network-interface.private-dns-name
			network-interface.source-dest-check network-interface.network-interface-id network-interface.group-id
			network-interface.addresses.private-ip-address network-interface.ipv6-addresses.ipv6-address`,
		"DescribeNetworkInterfaces": `network-interface-id vpc-id subnet-id availability-zone private-ip-address
			private-dns-name mac-address status interface-type requester-managed owner-id attachment.instance-id
			attachment.attachment-id attachment.status attachment.device-index source-dest-check group-id group-name
			addresses.private-ip-address ipv6-addresses.ipv6-address`,
		"DescribeVpcs": `vpc-id cidr cidr-block-association.cidr-block state owner-id is-default isDefault dhcp-options-id
			ipv6-cidr-block-association.ipv6-cidr-block tag-key tag-value`,
		"DescribeSubnets": `subnet-id vpc-id availability-zone availabilityZone availability-zone-id cidr-block cidr cidrBlock
			ipv6-cidr-block-association.ipv6-cidr-block state owner-id default-for-az defaultForAz ipv6-native enable-dns64
			map-customer-owned-ip-on-launch map-public-ip-on-launch subnet-arn`,
		"DescribeRouteTables": `route-table-id association.route-table-id vpc-id owner-id association.subnet-id
			association.main route.destination-cidr-block route.destination-ipv6-cidr-block route.gateway-id
			route.nat-gateway-id route.state route.origin`,
		"DescribeSecurityGroups": `group-id group-name vpc-id description owner-id ip-permission.group-id
			ip-permission.group-name ip-permission.protocol ip-permission.user-id egress.ip-permission.cidr`,
		"DescribeSecurityGroupRules": `group-id security-group-rule-id`,
		"DescribeAvailabilityZones":  `zone-name zone-id region-name state zone-type group-name opt-in-status`,
		"DescribeRegions":            `region-name endpoint opt-in-status`,
		"DescribeTags":               `key value resource-id resource-type`,
	} {
		for _, name := range strings.Fields(names) {
			for value, found := range map[string]bool{"*": true, "no such value": false} {
				form := url.Values{"Action": {operation}, "Version": {"2016-11-15"}, "Filter.1.Name": {name},
					"Filter.1.Value.1": {value}}
				w := post(c, "ec2", form.Encode())
				if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "<item>") != found {
					t.Errorf("%s by %s %q: %d %s", operation, name, value, w.Code, w.Body)
				}
			}
		}
	}
	for operation, names := range map[string]string{
		"DescribeInstances": "dns-name ip-address network-interface.association.public-ip",
		"DescribeAddresses": `allocation-id association-id domain instance-id network-interface-id private-ip-address
			public-ip network-interface-owner-id network-border-group`,
		"DescribeNetworkInterfaces": "requester-id association.public-ip description",
		"DescribeRouteTables":       "route.instance-id",
		"DescribeInstanceTopology":  "availability-zone instance-type zone-id",
		"DescribeSecurityGroups": `ip-permission.cidr ip-permission.ipv6-cidr ip-permission.prefix-list-id
			ip-permission.from-port ip-permission.to-port`,
		"DescribeAvailabilityZones": "parent-zone-id parent-zone-name message group-long-name",
	} {
		for _, name := range strings.Fields(names) {
			w := post(c, "ec2", "Action="+operation+"&Version=2016-11-15&Filter.1.Value.1=x&Filter.1.Name="+name)
			if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "<item>") {
				t.Errorf("%s by %s, which nothing has: %d %s", operation, name, w.Code, w.Body)
			}
		}
	}
}
