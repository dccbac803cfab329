package nlb

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// groupProtocols are the protocols of target groups that a listener of each protocol can forward to.
var groupProtocols = map[string][]string{
	"TCP": {"TCP", "TCP_UDP"}, "TLS": {"TCP", "TLS"}, "UDP": {"UDP", "TCP_UDP"}, "TCP_UDP": {"TCP_UDP"},
}

type targetGroupInput struct {
	healthCheck
	targetGroupRef
	Name          string
	Protocol      string
	Port          *int32
	VpcID         string `q:"VpcId"`
	TargetType    string
	IPAddressType string `q:"IpAddressType"`
	Tags          []elb.Tag
}

type targetGroupsOutput struct {
	Groups     query.Members[targetGroupView] `xml:"TargetGroups"`
	NextMarker string                         `xml:"NextMarker,omitempty"`
}

func (t *Tx) createTargetGroup(in targetGroupInput) (out targetGroupsOutput, err error) {
	g, err := t.newTargetGroup(in)
	if err != nil {
		return out, err
	}
	tags, err := elb.CheckTags(in.Tags)
	if err != nil {
		return out, err
	}
	for _, old := range t.targetGroups {
		if old.name != in.Name {
			continue
		}
		if old.protocol != g.protocol || old.port != g.port || old.VPC != g.VPC || old.targetType != g.targetType ||
			!equalChecks(old.check, g.check) {
			return out, core.Refuse("DuplicateTargetGroupName",
				"A target group with the same name '%s' exists, but with different settings", in.Name)
		}
		out.Groups.Member = []targetGroupView{t.viewTargetGroup(old)}
		return out, nil
	}
	if len(t.targetGroups) >= t.Options.Quotas[core.QuotaTargetGroups] {
		return out, core.Refuse("TooManyTargetGroups", "The maximum number of target groups has been reached")
	}
	g.arn = t.ARN("elasticloadbalancing", fmt.Sprintf("targetgroup/%s/%016x", g.name, t.Random.Uint64()))
	t.targetGroups[g.arn] = g
	t.SetTags(g.arn, tags)
	t.HideNew(g.arn)
	t.LinkedRole = true
	out.Groups.Member = []targetGroupView{t.viewTargetGroup(g)}
	return out, nil
}

func equalChecks(a, b healthCheck) bool {
	equal := a.Matcher == nil && b.Matcher == nil || a.Matcher != nil && b.Matcher != nil && *a.Matcher == *b.Matcher
	a.Matcher, b.Matcher, a.HealthCheckEnabled, b.HealthCheckEnabled = nil, nil, nil, nil
	return equal && a == b
}

func (t *Tx) newTargetGroup(in targetGroupInput) (*targetGroup, error) {
	g := &targetGroup{
		name: in.Name, protocol: in.Protocol, VPC: in.VpcID, targetType: cmp.Or(in.TargetType, "instance"),
		addressType: cmp.Or(in.IPAddressType, addressTypeIPv4),
		attributes:  groupAttributes(in.Protocol, cmp.Or(in.TargetType, "instance")),
	}
	switch {
	case !elb.NamePattern.MatchString(in.Name):
		return nil, core.Validation(
			"Target group name '%s' must be 1 to 32 letters, digits and hyphens, and cannot begin or "+
				"end with a hyphen", in.Name)
	case g.targetType != "instance" && g.targetType != "ip":
		return nil, core.Validation("Target type '%s' is not available: use 'instance' or 'ip'", g.targetType)
	case !core.Has(groupProtocols, g.protocol):
		return nil, core.Refuse("UnsupportedProtocol",
			"Target group protocol '%s' is not supported for network load balancers",
			g.protocol)
	case in.Port == nil:
		return nil, core.Validation("A port between 1 and 65535 must be specified")
	case !core.Has(t.VPCs, in.VpcID):
		return nil, core.Validation("The VPC ID '%s' is not found", in.VpcID)
	}
	g.port = *in.Port
	check, err := completeCheck(healthCheck{}, in.healthCheck)
	g.check = check
	return g, err
}

// completeCheck applies a request to a health check, and sets the defaults of unset fields.
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
			return c, refuseConfiguration("Health check path and matcher are not supported for health checks with protocol TCP")
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
		return c, core.Validation("Health check protocol '%s' must be one of HTTP, HTTPS, TCP", c.HealthCheckProtocol)
	}
	return c, c.validate()
}

func (c healthCheck) validate() error {
	if p, err := strconv.Atoi(c.HealthCheckPort); c.HealthCheckPort != "traffic-port" &&
		(err != nil || p < 1 || p > 65535) {
		return core.Validation("Health check port '%s' must be either 'traffic-port' or a port number between 1 and 65535",
			c.HealthCheckPort)
	}
	if c.HealthCheckPath != "" && !strings.HasPrefix(c.HealthCheckPath, "/") {
		return core.Validation("Health check path '%s' must begin with a '/' character", c.HealthCheckPath)
	}
	if c.HealthCheckTimeoutSeconds > c.HealthCheckIntervalSeconds {
		return core.Validation("Health check timeout '%d' must be smaller than or equal to the interval '%d'",
			c.HealthCheckTimeoutSeconds, c.HealthCheckIntervalSeconds)
	}
	return nil
}

func (t *Tx) modifyTargetGroup(g *targetGroup, in targetGroupInput) (out targetGroupsOutput, err error) {
	check, err := completeCheck(g.check, in.healthCheck)
	if err != nil {
		return out, err
	}
	g.check = check
	out.Groups.Member = []targetGroupView{t.viewTargetGroup(g)}
	return out, nil
}

// deleteTargetGroup succeeds for a missing target group.
func (t *Tx) deleteTargetGroup(in struct{ TargetGroupArn string }) (core.Nothing, error) {
	if err := checkARN(in.TargetGroupArn, "targetgroup", "target group"); err != nil {
		return core.Nothing{}, err
	}
	if len(t.balancersOf(in.TargetGroupArn)) > 0 {
		return core.Nothing{}, core.Refuse("ResourceInUse", "Target group '%s' is currently in use by a listener or a rule",
			in.TargetGroupArn)
	}
	delete(t.targetGroups, in.TargetGroupArn)
	t.RemoveRecords(in.TargetGroupArn)
	return core.Nothing{}, nil
}

func (t *Tx) findTargetGroup(arn string) (*targetGroup, error) {
	return find(t.targetGroups, arn, "targetgroup", "target group", errNoTargetGroup())
}

func errNoTargetGroup() error {
	return core.Refuse("TargetGroupNotFound", "One or more target groups not found")
}

// balancersOf returns the load balancers that forward to a target group.
func (t *Tx) balancersOf(arn string) []string {
	var out []string
	for _, l := range t.listeners {
		if l.forwardsTo(arn) {
			out = append(out, l.balancer)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (t *Tx) describeTargetGroups(in struct {
	elb.Page
	LoadBalancerArn string
	TargetGroupArns []string
	Names           []string
}) (out targetGroupsOutput, err error) {
	var found []*targetGroup
	if in.LoadBalancerArn != "" {
		if _, err := t.findBalancer(in.LoadBalancerArn); err != nil {
			return out, err
		}
	}
	for _, arn := range in.TargetGroupArns {
		g, err := t.findTargetGroup(arn)
		if err != nil {
			return out, err
		}
		if !t.Visible(arn) {
			return out, errNoTargetGroup()
		}
		found = append(found, g)
	}
	missing := map[string]bool{}
	for _, name := range in.Names {
		missing[name] = true
	}
	for _, arn := range core.VisibleIDs(t.Base(), t.targetGroups) {
		g := t.targetGroups[arn]
		if len(in.TargetGroupArns) > 0 || len(in.Names) > 0 && !missing[g.name] ||
			in.LoadBalancerArn != "" && !slices.Contains(t.balancersOf(arn), in.LoadBalancerArn) {
			continue
		}
		delete(missing, g.name)
		found = append(found, g)
	}
	if len(missing) > 0 {
		return out, errNoTargetGroup()
	}
	out.Groups, out.NextMarker, err = elb.Cut(found, in.Page, func(g *targetGroup) string { return g.arn },
		t.viewTargetGroup)
	return out, err
}

type targetGroupView struct {
	healthCheck
	ARN         string                `xml:"TargetGroupArn"`
	Name        string                `xml:"TargetGroupName"`
	Protocol    string                `xml:"Protocol"`
	Port        int32                 `xml:"Port"`
	VPC         string                `xml:"VpcId"`
	Balancers   query.Members[string] `xml:"LoadBalancerArns"`
	TargetType  string                `xml:"TargetType"`
	AddressType string                `xml:"IpAddressType"`
}

func (t *Tx) viewTargetGroup(g *targetGroup) targetGroupView {
	enabled := true
	v := targetGroupView{
		healthCheck: g.check, ARN: g.arn, Name: g.name, Protocol: g.protocol, Port: g.port, VPC: g.VPC,
		Balancers: query.MembersOf(t.balancersOf(g.arn)), TargetType: g.targetType, AddressType: g.addressType,
	}
	v.HealthCheckEnabled = &enabled
	return v
}
