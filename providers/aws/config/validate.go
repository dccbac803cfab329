package config

import (
	"regexp"
	"slices"
	"strings"

	commonconfig "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Formats of values. IDs are hexadecimal in AWS; simulations use other ones.
var (
	regionFormat = regexp.MustCompile(`\A[a-z]+(-[a-z]+)+-[0-9]+\z`)
	roleFormat   = regexp.MustCompile(`\Aarn:aws[a-z-]*:iam::[0-9]{12}:role/.+\z`)
	arnFormat    = regexp.MustCompile(`\Aarn:[^:]+:[^:]+:[^:]*:[^:]*:.+\z`)
)

func (c *Config) validate(f *commonconfig.File) {
	c.validateLocation(f)
	c.validateRole(f)
	c.validateCluster(f)
	c.validateNodes(f)
	c.validateLoadBalancers(f)
	for _, name := range c.overrideNames() {
		c.validateOverride(f, name)
	}
}

// validateLocation validates the location of the cluster.
func (c *Config) validateLocation(f *commonconfig.File) {
	g := c.Global
	zoneRegion, isZone := names.RegionOfZone(g.Zone)
	if g.Zone != "" && !isZone {
		f.Errorf(SectionGlobal, "Zone",
			"must be an availability zone such as us-west-2a, not %q; to give a region alone set Region", g.Zone)
	}
	if g.Region != "" && !regionFormat.MatchString(g.Region) {
		f.Errorf(SectionGlobal, "Region", "must be a region such as us-west-2, not %q", g.Region)
	}
	if isZone && g.Region != "" && g.Region != zoneRegion {
		f.Warnf(SectionGlobal, "Region",
			"has no effect: the region is %s, from Zone = %s; remove Zone to use %s", zoneRegion, g.Zone, g.Region)
	}
	validateID(f, "VPC", "vpc-", g.VPC)
	validateID(f, "SubnetID", "subnet-", g.SubnetID)
	validateID(f, "ElbSecurityGroup", "sg-", g.ElbSecurityGroup)
	validateID(f, "RouteTableID", "rtb-", g.RouteTableID)
}

func validateID(f *commonconfig.File, key, prefix, value string) {
	valid := strings.HasPrefix(value, prefix) && len(value) > len(prefix) && !strings.ContainsAny(value, " ,/")
	if value != "" && !valid {
		f.Errorf(SectionGlobal, key, "must be one ID that begins with %s, not %q", prefix, value)
	}
}

// validateRole validates the role that the manager assumes.
func (c *Config) validateRole(f *commonconfig.File) {
	g := c.Global
	if g.RoleARN != "" && !roleFormat.MatchString(g.RoleARN) {
		f.Errorf(SectionGlobal, "RoleARN",
			"must be the ARN of an IAM role such as arn:aws:iam::123456789012:role/ccm, not %q", g.RoleARN)
	}
	switch {
	case g.SourceARN == "":
	case !arnFormat.MatchString(g.SourceARN):
		f.Errorf(SectionGlobal, "SourceARN",
			"must be an ARN such as arn:aws:eks:us-west-2:123456789012:cluster/prod, not %q", g.SourceARN)
	case g.RoleARN == "":
		f.Warnf(SectionGlobal, "SourceARN", "has no effect without RoleARN: it is sent when the role is assumed")
	}
}

// validateCluster validates the ID of the cluster.
func (c *Config) validateCluster(f *commonconfig.File) {
	g := c.Global
	if g.KubernetesClusterTag != "" && g.KubernetesClusterID != "" && g.KubernetesClusterTag != g.KubernetesClusterID {
		f.Errorf(SectionGlobal, "KubernetesClusterTag",
			"is %q, and KubernetesClusterID is %q: both name the same cluster and must be equal; "+
				"keep KubernetesClusterTag only if the tag %s is still needed",
			g.KubernetesClusterTag, g.KubernetesClusterID, names.LegacyClusterTag)
	}
	ids := []pair{{"KubernetesClusterTag", g.KubernetesClusterTag}, {"KubernetesClusterID", g.KubernetesClusterID}}
	for _, id := range ids {
		if len(names.ClusterTag(id.value)) > names.MaxTagKey {
			f.Errorf(SectionGlobal, id.key, "is %d characters long; AWS allows %d, since it becomes a part of a tag's key",
				len(id.value), names.MaxTagKey-len(names.ClusterTagPrefix))
		}
	}
}

// validateNodes validates addresses and labels of Nodes.
func (c *Config) validateNodes(f *commonconfig.File) {
	g := c.Global
	for i, family := range g.NodeIPFamilies {
		switch {
		case family != FamilyIPv4 && family != FamilyIPv6:
			f.Errorf(SectionGlobal, "NodeIPFamilies",
				"must be %s or %s, not %q; for both, repeat the key in the order wanted", FamilyIPv4, FamilyIPv6, family)
		case slices.Contains(g.NodeIPFamilies[:i], family):
			f.Errorf(SectionGlobal, "NodeIPFamilies", "%s is given twice; give each family once", family)
		}
	}
	if _, err := c.TopologyPattern(); err != nil {
		f.Errorf(SectionGlobal, "SupportedTopologyInstanceTypePattern", "is not a regular expression: %v", err)
	}
}

// validateLoadBalancers validates settings of load balancers.
func (c *Config) validateLoadBalancers(f *commonconfig.File) {
	g := c.Global
	f.RequireOneOf(SectionGlobal, "ClusterServiceLoadBalancerHealthProbeMode",
		g.ClusterServiceLoadBalancerHealthProbeMode, ProbeNodePort, ProbeShared)
	f.RequireOneOf(SectionGlobal, "NLBSecurityGroupMode", g.NLBSecurityGroupMode, "", GroupsManaged)
	if port := g.ClusterServiceSharedLoadBalancerHealthProbePort; port < 0 || port > 65535 {
		f.Errorf(SectionGlobal, "ClusterServiceSharedLoadBalancerHealthProbePort",
			"must be a port from 1 to 65535, or 0 for %d, not %d", defaultProbePort, port)
	}
	path := g.ClusterServiceSharedLoadBalancerHealthProbePath
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \t") {
		f.Errorf(SectionGlobal, "ClusterServiceSharedLoadBalancerHealthProbePath",
			"must be a path such as %s, not %q", defaultProbePath, path)
	}
	if g.ClusterServiceLoadBalancerHealthProbeMode == ProbeShared {
		return
	}
	for _, key := range []string{"ClusterServiceSharedLoadBalancerHealthProbePort",
		"ClusterServiceSharedLoadBalancerHealthProbePath"} {
		if f.Has(SectionGlobal, key) {
			f.Warnf(SectionGlobal, key, "has no effect without ClusterServiceLoadBalancerHealthProbeMode = %s", ProbeShared)
		}
	}
}
