package aws

import (
	"regexp"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// maxTagKey is the longest key of a tag that EC2 and Elastic Load Balancing accept.
const maxTagKey = 128

// Forms of values. IDs are hexadecimal in AWS; simulations make up others.
var (
	regionForm  = regexp.MustCompile(`\A[a-z]+(-[a-z]+)+-[0-9]+\z`)
	roleForm    = regexp.MustCompile(`\Aarn:aws[a-z-]*:iam::[0-9]{12}:role/.+\z`)
	accountForm = regexp.MustCompile(`\Aarn:[^:]+:[^:]+:[^:]*:[^:]*:.+\z`)
)

func (c *Config) validate(f *config.File) {
	c.validatePlace(f)
	c.validateRole(f)
	c.validateCluster(f)
	c.validateNodes(f)
	c.validateLoadBalancers(f)
	for _, name := range c.overrideNames() {
		c.validateOverride(f, name)
	}
}

// pair is a key with its value.
type pair struct{ key, value string }

// validatePlace checks where the cluster is.
func (c *Config) validatePlace(f *config.File) {
	g := c.Global
	fromZone, isZone := names.RegionOfZone(g.Zone)
	if g.Zone != "" && !isZone {
		f.Errorf(sectionGlobal, "Zone", "must be an availability zone such as us-west-2a, not %q; to give a region alone set Region", g.Zone)
	}
	if g.Region != "" && !regionForm.MatchString(g.Region) {
		f.Errorf(sectionGlobal, "Region", "must be a region such as us-west-2, not %q", g.Region)
	}
	if isZone && g.Region != "" && g.Region != fromZone {
		f.Warnf(sectionGlobal, "Region", "has no effect: the region is %s, from Zone = %s; remove Zone to use %s", fromZone, g.Zone, g.Region)
	}
	validateID(f, "VPC", "vpc-", g.VPC)
	validateID(f, "SubnetID", "subnet-", g.SubnetID)
	validateID(f, "ElbSecurityGroup", "sg-", g.ElbSecurityGroup)
	validateID(f, "RouteTableID", "rtb-", g.RouteTableID)
}

func validateID(f *config.File, key, prefix, value string) {
	if value != "" && (!strings.HasPrefix(value, prefix) || len(value) == len(prefix) || strings.ContainsAny(value, " ,/")) {
		f.Errorf(sectionGlobal, key, "must be one ID that begins with %s, not %q", prefix, value)
	}
}

// validateRole checks as whom the manager calls.
func (c *Config) validateRole(f *config.File) {
	g := c.Global
	if g.RoleARN != "" && !roleForm.MatchString(g.RoleARN) {
		f.Errorf(sectionGlobal, "RoleARN", "must be the ARN of an IAM role such as arn:aws:iam::123456789012:role/ccm, not %q", g.RoleARN)
	}
	switch {
	case g.SourceARN == "":
	case !accountForm.MatchString(g.SourceARN):
		f.Errorf(sectionGlobal, "SourceARN", "must be an ARN such as arn:aws:eks:us-west-2:123456789012:cluster/prod, not %q", g.SourceARN)
	case g.RoleARN == "":
		f.Warnf(sectionGlobal, "SourceARN", "has no effect without RoleARN: it is sent when the role is assumed")
	}
}

// validateCluster checks how the cluster's objects are marked.
func (c *Config) validateCluster(f *config.File) {
	g := c.Global
	if g.KubernetesClusterTag != "" && g.KubernetesClusterID != "" && g.KubernetesClusterTag != g.KubernetesClusterID {
		f.Errorf(sectionGlobal, "KubernetesClusterTag", "is %q, and KubernetesClusterID is %q: both name the same cluster and must be equal; "+
			"keep KubernetesClusterTag only if the tag %s is still needed", g.KubernetesClusterTag, g.KubernetesClusterID, names.LegacyClusterTag)
	}
	for _, id := range []pair{{"KubernetesClusterTag", g.KubernetesClusterTag}, {"KubernetesClusterID", g.KubernetesClusterID}} {
		if len(names.ClusterTag(id.value)) > maxTagKey {
			f.Errorf(sectionGlobal, id.key, "is %d characters long; AWS allows %d, since it becomes a part of a tag's key", len(id.value), maxTagKey-len(names.ClusterTagPrefix))
		}
	}
}

// validateNodes checks what Nodes are given.
func (c *Config) validateNodes(f *config.File) {
	g := c.Global
	for i, family := range g.NodeIPFamilies {
		switch {
		case family != FamilyIPv4 && family != FamilyIPv6:
			f.Errorf(sectionGlobal, "NodeIPFamilies", "must be %s or %s, not %q; for both, repeat the key in the order wanted", FamilyIPv4, FamilyIPv6, family)
		case slices.Contains(g.NodeIPFamilies[:i], family):
			f.Errorf(sectionGlobal, "NodeIPFamilies", "%s is given twice; give each family once", family)
		}
	}
	if _, err := c.topologyPattern(); err != nil {
		f.Errorf(sectionGlobal, "SupportedTopologyInstanceTypePattern", "is no regular expression: %v", err)
	}
}

// validateLoadBalancers checks what load balancers are given.
func (c *Config) validateLoadBalancers(f *config.File) {
	g := c.Global
	f.OneOf(sectionGlobal, "ClusterServiceLoadBalancerHealthProbeMode", g.ClusterServiceLoadBalancerHealthProbeMode, ProbeNodePort, ProbeShared)
	f.OneOf(sectionGlobal, "NLBSecurityGroupMode", g.NLBSecurityGroupMode, "", GroupsManaged)
	if port := g.ClusterServiceSharedLoadBalancerHealthProbePort; port < 0 || port > 65535 {
		f.Errorf(sectionGlobal, "ClusterServiceSharedLoadBalancerHealthProbePort", "must be a port from 1 to 65535, or 0 for %d, not %d", defaultProbePort, port)
	}
	if path := g.ClusterServiceSharedLoadBalancerHealthProbePath; !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \t") {
		f.Errorf(sectionGlobal, "ClusterServiceSharedLoadBalancerHealthProbePath", "must be a path such as %s, not %q", defaultProbePath, path)
	}
	if g.ClusterServiceLoadBalancerHealthProbeMode == ProbeShared {
		return
	}
	for _, key := range []string{"ClusterServiceSharedLoadBalancerHealthProbePort", "ClusterServiceSharedLoadBalancerHealthProbePath"} {
		if f.Has(sectionGlobal, key) {
			f.Warnf(sectionGlobal, key, "has no effect without ClusterServiceLoadBalancerHealthProbeMode = %s", ProbeShared)
		}
	}
}
