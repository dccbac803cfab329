package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	commonconfig "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/pkg/common/config/configtest"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
)

func TestReadDefaults(t *testing.T) {
	cfg, warnings, err := Read("", nil)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	want := Config{Global: Global{
		NodeIPFamilies: []string{"ipv4"}, ClusterServiceLoadBalancerHealthProbeMode: "ServiceNodePort",
		ClusterServiceSharedLoadBalancerHealthProbePort: 10256, ClusterServiceSharedLoadBalancerHealthProbePath: "/healthz",
		SupportedTopologyInstanceTypePattern: `^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\.[0-9a-z]*)$`,
	}}
	if diff := cmp.Diff(want, cfg); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// everyKey is a cloud.conf with every key of [Global] in the forms that clusters have.
const everyKey = `
[global]
zone = us-west-2a
VPC = vpc-0123
SubnetID = subnet-0123
RouteTableID = rtb-0123
RoleARN = arn:aws:iam::123456789012:role/path/ccm
SourceARN = arn:aws:eks:us-west-2:123456789012:cluster/prod
KubernetesClusterTag = prod
KubernetesClusterID = prod
DisableSecurityGroupIngress
ElbSecurityGroup = sg-0123
NodeIPFamilies = ipv6
NodeIPFamilies = ipv4
ClusterServiceLoadBalancerHealthProbeMode = Shared
ClusterServiceSharedLoadBalancerHealthProbePort = 0x2711
ClusterServiceSharedLoadBalancerHealthProbePath = /livez
SupportedTopologyInstanceTypePattern = "^p5\\..*$"
NLBSecurityGroupMode = Managed
LegacyMetrics = yes
`

func TestReadEveryKey(t *testing.T) {
	cfg, warnings, err := Read("", []byte(everyKey))
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	want := Config{Global: Global{
		Zone: "us-west-2a", VPC: "vpc-0123", SubnetID: "subnet-0123", RouteTableID: "rtb-0123",
		RoleARN: "arn:aws:iam::123456789012:role/path/ccm", SourceARN: "arn:aws:eks:us-west-2:123456789012:cluster/prod",
		KubernetesClusterTag: "prod", KubernetesClusterID: "prod", DisableSecurityGroupIngress: true, ElbSecurityGroup: "sg-0123",
		NodeIPFamilies: []string{"ipv6", "ipv4"}, ClusterServiceLoadBalancerHealthProbeMode: "Shared",
		ClusterServiceSharedLoadBalancerHealthProbePort: 10001, ClusterServiceSharedLoadBalancerHealthProbePath: "/livez",
		SupportedTopologyInstanceTypePattern: `^p5\..*$`, NLBSecurityGroupMode: "Managed", LegacyMetrics: true,
	}}
	if diff := cmp.Diff(want, cfg); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	if cfg.Region() != "us-west-2" || cfg.ClusterID() != "prod" || !cfg.LegacyTag() {
		t.Errorf("region %s, cluster %s, legacy %v", cfg.Region(), cfg.ClusterID(), cfg.LegacyTag())
	}
}

func TestEveryKeyIsDocumented(t *testing.T) { configtest.VerifyDocumented(t, Config{}, Keys()) }

func TestReadProblems(t *testing.T) {
	tests := []struct {
		name, text string
		errors     []string
		warnings   []string
	}{
		{name: "zone", text: "[Global]\nZone = us-west-2\n", errors: []string{
			`cloud.conf:2: [Global] Zone: must be an availability zone such as us-west-2a, not "us-west-2"; to give a region alone set Region`}},
		{name: "zone before region", text: "[Global]\nZone = us-west-2a\nRegion = us-east-1\n", warnings: []string{
			"cloud.conf:3: [Global] Region: has no effect: the region is us-west-2, from Zone = us-west-2a; remove Zone to use us-east-1"}},
		{name: "region", text: "[Global]\nRegion = us-west\n", errors: []string{
			`cloud.conf:2: [Global] Region: must be a region such as us-west-2, not "us-west"`}},
		{name: "IDs, all at once", text: "[Global]\nVPC = 10.0.0.0/16\nSubnetID = subnet-1,subnet-2\nElbSecurityGroup = default\nRouteTableID = rtb-\n", errors: []string{
			`cloud.conf:2: [Global] VPC: must be one ID that begins with vpc-, not "10.0.0.0/16"`,
			`cloud.conf:3: [Global] SubnetID: must be one ID that begins with subnet-, not "subnet-1,subnet-2"`,
			`cloud.conf:4: [Global] ElbSecurityGroup: must be one ID that begins with sg-, not "default"`,
			`cloud.conf:5: [Global] RouteTableID: must be one ID that begins with rtb-, not "rtb-"`}},
		{name: "role", text: "[Global]\nRoleARN = ccm\nSourceARN = me\n", errors: []string{
			`cloud.conf:2: [Global] RoleARN: must be the ARN of an IAM role such as arn:aws:iam::123456789012:role/ccm, not "ccm"`,
			`cloud.conf:3: [Global] SourceARN: must be an ARN such as arn:aws:eks:us-west-2:123456789012:cluster/prod, not "me"`}},
		{name: "source without role", text: "[Global]\nSourceARN = arn:aws:eks:us-west-2:123456789012:cluster/prod\n", warnings: []string{
			"cloud.conf:2: [Global] SourceARN: has no effect without RoleARN: it is sent when the role is assumed"}},
		{name: "two clusters", text: "[Global]\nKubernetesClusterTag = a\nKubernetesClusterID = b\n", errors: []string{
			`cloud.conf:2: [Global] KubernetesClusterTag: is "a", and KubernetesClusterID is "b": both name the same cluster and must be equal; ` +
				`keep KubernetesClusterTag only if the tag KubernetesCluster is still needed`}},
		{name: "long ID", text: "[Global]\nKubernetesClusterID = " + strings.Repeat("x", 107) + "\n", errors: []string{
			"cloud.conf:2: [Global] KubernetesClusterID: is 107 characters long; AWS allows 106, since it becomes a part of a tag's key"}},
		{name: "families", text: "[Global]\nNodeIPFamilies = ipv4\nNodeIPFamilies = IPv6\nNodeIPFamilies = ipv4\n", errors: []string{
			`cloud.conf:4: [Global] NodeIPFamilies: must be ipv4 or ipv6, not "IPv6"; for both, repeat the key in the order wanted`,
			`cloud.conf:4: [Global] NodeIPFamilies: ipv4 is given twice; give each family once`}},
		{name: "pattern", text: "[Global]\nSupportedTopologyInstanceTypePattern = p5(\n", errors: []string{
			"cloud.conf:2: [Global] SupportedTopologyInstanceTypePattern: is not a regular expression: error parsing regexp: missing closing ): `p5(`"}},
		{name: "modes", text: "[Global]\nClusterServiceLoadBalancerHealthProbeMode = shared\nNLBSecurityGroupMode = managed\n", errors: []string{
			`cloud.conf:2: [Global] ClusterServiceLoadBalancerHealthProbeMode: must be ServiceNodePort or Shared, not "shared"; did you mean Shared?`,
			`cloud.conf:3: [Global] NLBSecurityGroupMode: must be Managed, or unset, not "managed"; did you mean Managed?`}},
		{name: "probe", text: "[Global]\nClusterServiceLoadBalancerHealthProbeMode = Shared\nClusterServiceSharedLoadBalancerHealthProbePort = 70000\nClusterServiceSharedLoadBalancerHealthProbePath = healthz\n", errors: []string{
			`cloud.conf:3: [Global] ClusterServiceSharedLoadBalancerHealthProbePort: must be a port from 1 to 65535, or 0 for 10256, not 70000`,
			`cloud.conf:4: [Global] ClusterServiceSharedLoadBalancerHealthProbePath: must be a path such as /healthz, not "healthz"`}},
		{name: "probe without its mode", text: "[Global]\nClusterServiceSharedLoadBalancerHealthProbePort = 10256\n", warnings: []string{
			`cloud.conf:2: [Global] ClusterServiceSharedLoadBalancerHealthProbePort: has no effect without ClusterServiceLoadBalancerHealthProbeMode = Shared`}},
		{name: "unknown keys only warn", text: "[Global]\nDisableStrictZoneCheck = true\nRegoin = x\n", warnings: []string{
			"cloud.conf:2: unknown key DisableStrictZoneCheck in section [Global]",
			"cloud.conf:3: unknown key Regoin in section [Global]; did you mean Region?"}},
		{name: "override, empty", text: "[ServiceOverride \"1\"]\n", errors: []string{
			`cloud.conf:1: [ServiceOverride "1"] Service: is missing: Service, Region, URL and SigningRegion are required`,
			`cloud.conf:1: [ServiceOverride "1"] Region: is missing: Service, Region, URL and SigningRegion are required`,
			`cloud.conf:1: [ServiceOverride "1"] URL: is missing: Service, Region, URL and SigningRegion are required`,
			`cloud.conf:1: [ServiceOverride "1"] SigningRegion: is missing: Service, Region, URL and SigningRegion are required`}},
		{name: "override, unknown", text: "[ServiceOverride \"1\"]\nService = EC3\nRegion = r\nURL = http://ec2\nSigningRegion = r\n", warnings: []string{
			`cloud.conf:2: [ServiceOverride "1"] Service: has no effect: unknown service "EC3"; did you mean EC2?`}},
		{name: "override, bad", text: "[ServiceOverride \"1\"]\nService = EC2\nRegion = r\nURL = ec2.example\nSigningRegion = r\n", errors: []string{
			`cloud.conf:4: [ServiceOverride "1"] URL: must be a URL such as https://ec2.us-west-2.amazonaws.com, not "ec2.example"`}},
		{name: "override, twice", text: override("1", "ec2", "us-west-2", "http://a") + override("2", "EC2", "us-west-2", "http://b"), errors: []string{
			`cloud.conf:7: [ServiceOverride "2"] Service: EC2 in us-west-2 is overridden twice, here and in [ServiceOverride "1"]; keep one`}},
		{name: "override without effect", text: "[Global]\nRegion = us-east-1\n" + override("1", "ec2", "us-west-2", "http://a") + override("2", "kms", "us-east-1", "http://b") + "SigningMethod = v2\n", warnings: []string{
			`cloud.conf:5: [ServiceOverride "1"] Region: has no effect: it is for us-west-2, and the region of the manager is us-east-1`,
			`cloud.conf:9: [ServiceOverride "2"] Service: has no effect: this manager does not call kms`,
			`cloud.conf:13: [ServiceOverride "2"] SigningMethod: has no effect: requests are signed with version 4`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, warnings, err := Read("", []byte(tt.text))
			var got []string
			if problems, ok := err.(commonconfig.Problems); ok { //nolint:errorlint // as documented
				got = problems.Strings()
			}
			if diff := cmp.Diff(tt.errors, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.warnings, warnings.Strings()); diff != "" && len(tt.warnings)+len(warnings) > 0 {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// override returns a section [ServiceOverride].
func override(name, service, region, url string) string {
	return "[ServiceOverride \"" + name + "\"]\nService = " + service + "\nRegion = " + region + "\nURL = " + url +
		"\nSigningRegion = " + region + "\n"
}

func TestOverride(t *testing.T) {
	both := override("both", "elasticloadbalancing", "us-west-2", "http://both")
	tests := []struct {
		name, text string
		service    api.Service
		want       string
	}{
		{name: "none", service: api.ServiceEC2},
		{name: "SDK v2", text: override("1", "EC2", "us-west-2", "http://ec2"), service: api.ServiceEC2, want: "http://ec2"},
		{name: "SDK v1", text: override("1", "ec2", "us-west-2", "http://ec2"), service: api.ServiceEC2, want: "http://ec2"},
		{name: "spaces around", text: override("1", " \" EC2 \" ", "us-west-2", "http://ec2"), service: api.ServiceEC2, want: "http://ec2"},
		{name: "another region", text: override("1", "EC2", "us-east-1", "http://ec2"), service: api.ServiceEC2},
		{name: "both generations, classic", text: both, service: api.ServiceELB, want: "http://both"},
		{name: "both generations, network", text: both, service: api.ServiceELBV2, want: "http://both"},
		{name: "one generation before both", text: both + override("v2", "Elastic Load Balancing v2", "us-west-2", "http://v2"), service: api.ServiceELBV2, want: "http://v2"},
		{name: "one generation before both, in any order", text: override("a", "Elastic Load Balancing", "us-west-2", "http://v1") + both, service: api.ServiceELB, want: "http://v1"},
		{name: "STS", text: override("1", "sts", "us-west-2", "http://sts"), service: api.ServiceSTS, want: "http://sts"},
		{name: "metadata, any region", text: override("1", "ec2imds", "us-east-1", "http://imds"), service: api.ServiceIMDS, want: "http://imds"},
		{name: "metadata, SDK v1", text: override("1", "ec2metadata", "us-west-2", "http://imds"), service: api.ServiceIMDS, want: "http://imds"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, _, err := Read("", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if o := cfg.Override(tt.service, "us-west-2"); o != nil {
				got = o.URL
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
