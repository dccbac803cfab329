package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type targetGroup struct {
	arn, name, protocol string
	port                int32
	vpc, targetType     string
	addressType         string
	check               healthCheck
	targets             []*target
	attributes          map[string]string
	// usedSince is when a listener first forwarded to it.
	usedSince time.Time
}

// healthCheck of a target group. Thresholds and times are in checks and seconds.
type healthCheck struct {
	HealthCheckProtocol        string
	HealthCheckPort            string
	HealthCheckPath            string
	HealthCheckEnabled         *bool
	HealthCheckIntervalSeconds int32
	HealthCheckTimeoutSeconds  int32
	HealthyThresholdCount      int32
	UnhealthyThresholdCount    int32
	Matcher                    *matcher
}

type matcher struct {
	HTTPCode string `q:"HttpCode" xml:"HttpCode"`
}

func v2TargetGroupOperations() []operation {
	return []operation{
		read("DescribeTargetGroups", (*tx).describeTargetGroups),
		write("CreateTargetGroup", (*tx).createTargetGroup),
		write("ModifyTargetGroup", on((*tx).modifyTargetGroup)),
		write("DeleteTargetGroup", (*tx).deleteTargetGroup),
		read("DescribeTargetGroupAttributes", on((*tx).describeGroupAttributes)),
		write("ModifyTargetGroupAttributes", on((*tx).modifyGroupAttributes)),
	}
}

type targetGroupInput struct {
	healthCheck
	ofTargetGroup
	Name          string
	Protocol      string
	Port          *int32
	VpcID         string `q:"VpcId"`
	TargetType    string
	IPAddressType string `q:"IpAddressType"`
	Tags          []elbTag
}

type targetGroupsOutput struct {
	Groups     query.Members[targetGroupView] `xml:"TargetGroups"`
	NextMarker string                         `xml:"NextMarker,omitempty"`
}

func (t *tx) createTargetGroup(in targetGroupInput) (out targetGroupsOutput, err error) {
	g, err := t.newTargetGroup(in)
	if err != nil {
		return out, err
	}
	tags, err := checkELBTags(in.Tags)
	if err != nil {
		return out, err
	}
	for _, old := range t.targetGroups {
		if old.name != in.Name {
			continue
		}
		if old.protocol != g.protocol || old.port != g.port || old.vpc != g.vpc || old.targetType != g.targetType ||
			!sameCheck(old.check, g.check) {
			return out, refuse("DuplicateTargetGroupName",
				"A target group with the same name '%s' exists, but with different settings", in.Name)
		}
		out.Groups.Member = []targetGroupView{t.viewTargetGroup(old)}
		return out, nil
	}
	if len(t.targetGroups) >= t.o.Quotas[QuotaTargetGroups] {
		return out, refuse("TooManyTargetGroups", "The maximum number of target groups has been reached")
	}
	g.arn = t.arn("elasticloadbalancing", fmt.Sprintf("targetgroup/%s/%016x", g.name, t.cloud.random.Uint64()))
	t.targetGroups[g.arn] = g
	t.setTags(g.arn, tags)
	t.hideNew(g.arn)
	out.Groups.Member = []targetGroupView{t.viewTargetGroup(g)}
	return out, nil
}

func sameCheck(a, b healthCheck) bool {
	same := a.Matcher == nil && b.Matcher == nil || a.Matcher != nil && b.Matcher != nil && *a.Matcher == *b.Matcher
	a.Matcher, b.Matcher, a.HealthCheckEnabled, b.HealthCheckEnabled = nil, nil, nil, nil
	return same && a == b
}

func (t *tx) newTargetGroup(in targetGroupInput) (*targetGroup, error) {
	g := &targetGroup{
		name: in.Name, protocol: in.Protocol, vpc: in.VpcID, targetType: cmp.Or(in.TargetType, "instance"),
		addressType: cmp.Or(in.IPAddressType, "ipv4"),
		attributes:  groupAttributes(in.Protocol, cmp.Or(in.TargetType, "instance")),
	}
	switch {
	case !balancerName.MatchString(in.Name):
		return nil, validation("Target group name '%s' must be 1 to 32 letters, digits and hyphens, and cannot begin or "+
			"end with a hyphen", in.Name)
	case g.targetType != "instance" && g.targetType != "ip":
		return nil, validation("Target type '%s' is not available: use 'instance' or 'ip'", g.targetType)
	case !has(compatible, g.protocol):
		return nil, refuse("UnsupportedProtocol", "Target group protocol '%s' is not supported for network load balancers",
			g.protocol)
	case in.Port == nil || *in.Port < 1 || *in.Port > 65535:
		return nil, validation("A port between 1 and 65535 must be specified")
	case !has(t.vpcs, in.VpcID):
		return nil, validation("The VPC ID '%s' is not found", in.VpcID)
	case g.addressType != "ipv4" && g.addressType != "ipv6":
		return nil, validation("IpAddressType '%s' must be 'ipv4' or 'ipv6'", g.addressType)
	}
	g.port = *in.Port
	check, err := completeCheck(healthCheck{}, in.healthCheck)
	g.check = check
	return g, err
}

// completeCheck applies a request to a health check, and gives what is still open its default.
func completeCheck(c, in healthCheck) (healthCheck, error) {
	c.HealthCheckProtocol = cmp.Or(in.HealthCheckProtocol, c.HealthCheckProtocol, "TCP")
	c.HealthCheckPort = cmp.Or(in.HealthCheckPort, c.HealthCheckPort, "traffic-port")
	c.HealthCheckIntervalSeconds = cmp.Or(in.HealthCheckIntervalSeconds, c.HealthCheckIntervalSeconds, 30)
	c.HealthyThresholdCount = cmp.Or(in.HealthyThresholdCount, c.HealthyThresholdCount, 5)
	c.UnhealthyThresholdCount = cmp.Or(in.UnhealthyThresholdCount, c.UnhealthyThresholdCount, 2)
	timeout := int32(10)
	if c.HealthCheckProtocol == "HTTP" {
		timeout = 6
	}
	c.HealthCheckTimeoutSeconds = cmp.Or(in.HealthCheckTimeoutSeconds, c.HealthCheckTimeoutSeconds,
		min(timeout, c.HealthCheckIntervalSeconds))
	switch c.HealthCheckProtocol {
	case "TCP":
		if in.HealthCheckPath != "" || in.Matcher != nil && in.Matcher.HTTPCode != "" {
			return c, refuse("InvalidConfigurationRequest",
				"Health check path and matcher are not supported for health checks with protocol TCP")
		}
		c.HealthCheckPath, c.Matcher = "", nil
	case "HTTP", "HTTPS":
		c.HealthCheckPath = cmp.Or(in.HealthCheckPath, c.HealthCheckPath, "/")
		if c.Matcher == nil {
			c.Matcher = &matcher{"200-399"}
		}
		if in.Matcher != nil && in.Matcher.HTTPCode != "" {
			c.Matcher = &matcher{in.Matcher.HTTPCode}
		}
	default:
		return c, validation("Health check protocol '%s' must be one of HTTP, HTTPS, TCP", c.HealthCheckProtocol)
	}
	return c, c.validate()
}

func (c healthCheck) validate() error {
	if p, err := strconv.Atoi(c.HealthCheckPort); c.HealthCheckPort != "traffic-port" &&
		(err != nil || p < 1 || p > 65535) {
		return validation("Health check port '%s' must be either 'traffic-port' or a port number between 1 and 65535",
			c.HealthCheckPort)
	}
	if c.HealthCheckPath != "" && !strings.HasPrefix(c.HealthCheckPath, "/") {
		return validation("Health check path '%s' must begin with a '/' character", c.HealthCheckPath)
	}
	for _, b := range []struct {
		name               string
		value, least, most int32
	}{
		{"interval", c.HealthCheckIntervalSeconds, 5, 300}, {"timeout", c.HealthCheckTimeoutSeconds, 2, 120},
		{"healthy threshold count", c.HealthyThresholdCount, 2, 10},
		{"unhealthy threshold count", c.UnhealthyThresholdCount, 2, 10},
	} {
		if b.value < b.least || b.value > b.most {
			return validation("Health check %s must be between %d and %d", b.name, b.least, b.most)
		}
	}
	if c.HealthCheckTimeoutSeconds > c.HealthCheckIntervalSeconds {
		return validation("Health check timeout '%d' must be smaller than or equal to the interval '%d'",
			c.HealthCheckTimeoutSeconds, c.HealthCheckIntervalSeconds)
	}
	return nil
}

func (t *tx) modifyTargetGroup(g *targetGroup, in targetGroupInput) (out targetGroupsOutput, err error) {
	check, err := completeCheck(g.check, in.healthCheck)
	if err != nil {
		return out, err
	}
	g.check = check
	out.Groups.Member = []targetGroupView{t.viewTargetGroup(g)}
	return out, nil
}

// deleteTargetGroup is no error when there is nothing to delete.
func (t *tx) deleteTargetGroup(in struct{ TargetGroupArn string }) (nothing, error) {
	if !strings.Contains(in.TargetGroupArn, ":targetgroup/") {
		return nothing{}, validation("'%s' is not a valid target group ARN", in.TargetGroupArn)
	}
	if len(t.balancersOf(in.TargetGroupArn)) > 0 {
		return nothing{}, refuse("ResourceInUse", "Target group '%s' is currently in use by a listener or a rule",
			in.TargetGroupArn)
	}
	delete(t.targetGroups, in.TargetGroupArn)
	t.removeRecords(in.TargetGroupArn)
	return nothing{}, nil
}

func (t *tx) targetGroupOf(arn string) (*targetGroup, error) {
	if g := t.targetGroups[arn]; g != nil {
		return g, nil
	}
	if !strings.Contains(arn, ":targetgroup/") {
		return nil, validation("'%s' is not a valid target group ARN", arn)
	}
	return nil, refuse("TargetGroupNotFound", "One or more target groups not found")
}

// balancersOf returns the load balancers that forward to a target group.
func (t *tx) balancersOf(arn string) []string {
	var out []string
	for _, l := range t.listeners {
		if l.forwardsTo(arn) {
			out = append(out, l.balancer)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (t *tx) describeTargetGroups(in struct {
	elbPage
	LoadBalancerArn string
	TargetGroupArns []string
	Names           []string
}) (out targetGroupsOutput, err error) {
	var found []*targetGroup
	if in.LoadBalancerArn != "" {
		if _, err := t.balancerOf(in.LoadBalancerArn); err != nil {
			return out, err
		}
	}
	for _, arn := range in.TargetGroupArns {
		g, err := t.targetGroupOf(arn)
		if err != nil {
			return out, err
		}
		if !t.visible(arn) {
			return out, refuse("TargetGroupNotFound", "One or more target groups not found")
		}
		found = append(found, g)
	}
	missing := map[string]bool{}
	for _, name := range in.Names {
		missing[name] = true
	}
	for _, arn := range sortedIDs(t.targetGroups) {
		g := t.targetGroups[arn]
		if !t.visible(arn) || len(in.TargetGroupArns) > 0 || len(in.Names) > 0 && !missing[g.name] ||
			in.LoadBalancerArn != "" && !slices.Contains(t.balancersOf(arn), in.LoadBalancerArn) {
			continue
		}
		delete(missing, g.name)
		found = append(found, g)
	}
	if len(missing) > 0 {
		return out, refuse("TargetGroupNotFound", "One or more target groups not found")
	}
	out.Groups, out.NextMarker, err = elbCut(found, in.elbPage, func(g *targetGroup) string { return g.arn },
		t.viewTargetGroup)
	return out, err
}

type targetGroupView struct {
	ARN         string                `xml:"TargetGroupArn"`
	Name        string                `xml:"TargetGroupName"`
	Protocol    string                `xml:"Protocol"`
	Port        int32                 `xml:"Port"`
	VPC         string                `xml:"VpcId"`
	CheckProto  string                `xml:"HealthCheckProtocol"`
	CheckPort   string                `xml:"HealthCheckPort"`
	Enabled     bool                  `xml:"HealthCheckEnabled"`
	Interval    int32                 `xml:"HealthCheckIntervalSeconds"`
	Timeout     int32                 `xml:"HealthCheckTimeoutSeconds"`
	Healthy     int32                 `xml:"HealthyThresholdCount"`
	Unhealthy   int32                 `xml:"UnhealthyThresholdCount"`
	Path        string                `xml:"HealthCheckPath,omitempty"`
	Matcher     *matcher              `xml:"Matcher"`
	Balancers   query.Members[string] `xml:"LoadBalancerArns"`
	TargetType  string                `xml:"TargetType"`
	AddressType string                `xml:"IpAddressType"`
}

func (t *tx) viewTargetGroup(g *targetGroup) targetGroupView {
	c := g.check
	return targetGroupView{
		ARN: g.arn, Name: g.name, Protocol: g.protocol, Port: g.port, VPC: g.vpc, CheckProto: c.HealthCheckProtocol,
		CheckPort: c.HealthCheckPort,
		Enabled:   true, Interval: c.HealthCheckIntervalSeconds, Timeout: c.HealthCheckTimeoutSeconds,
		Healthy:   c.HealthyThresholdCount,
		Unhealthy: c.UnhealthyThresholdCount, Path: c.HealthCheckPath, Matcher: c.Matcher,
		Balancers:  query.MembersOf(t.balancersOf(g.arn)),
		TargetType: g.targetType, AddressType: g.addressType,
	}
}
