// Package config reads cloud.conf of the AWS provider: it parses, sets defaults and validates.
package config

import (
	"regexp"

	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Config is the content of cloud.conf. The zero value is not valid: Read sets defaults.
type Config struct {
	Global          Global
	ServiceOverride map[string]*ServiceOverride
}

// Global is the section [Global]. Its keys are those that cloud.conf files for AWS have always had,
// and LegacyMetrics.
type Global struct {
	Zone                        string
	Region                      string
	VPC                         string
	SubnetID                    string
	RouteTableID                string
	RoleARN                     string
	SourceARN                   string
	KubernetesClusterTag        string
	KubernetesClusterID         string
	DisableSecurityGroupIngress bool
	ElbSecurityGroup            string
	NodeIPFamilies              []string

	ClusterServiceLoadBalancerHealthProbeMode       string
	ClusterServiceSharedLoadBalancerHealthProbePort int32
	ClusterServiceSharedLoadBalancerHealthProbePath string

	SupportedTopologyInstanceTypePattern string
	NLBSecurityGroupMode                 string
	LegacyMetrics                        bool
}

// ServiceOverride is a section [ServiceOverride "NAME"]: a custom endpoint of one service.
type ServiceOverride struct {
	Service       string
	Region        string
	URL           string
	SigningRegion string
	SigningName   string
	SigningMethod string
}

// Names of the sections.
const (
	SectionGlobal   = "Global"
	sectionOverride = "ServiceOverride"
)

// Values of keys that accept only some.
const (
	// FamilyIPv4 and FamilyIPv6 are the IP families of node addresses.
	FamilyIPv4 = "ipv4"
	FamilyIPv6 = "ipv6"

	// ProbeNodePort makes load balancers probe each Service at its own port; ProbeShared makes them probe
	// kube-proxy for Services with externalTrafficPolicy: Cluster.
	ProbeNodePort = "ServiceNodePort"
	ProbeShared   = "Shared"

	// GroupsManaged gives each network load balancer its own security group.
	GroupsManaged = "Managed"
)

const (
	// defaultProbePort and defaultProbePath are where kube-proxy serves its health by default.
	defaultProbePort = 10256
	defaultProbePath = "/healthz"
	// defaultTopologyPattern matches the instance types of Nodes that must not become ready without
	// labels of their network topology: those for tightly coupled work.
	defaultTopologyPattern = `^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\.[0-9a-z]*)$`
)

// Region returns the configured region, or "". Zone takes precedence over Region, as in other managers.
func (c *Config) Region() string {
	if region, ok := names.RegionOfZone(c.Global.Zone); ok {
		return region
	}
	return c.Global.Region
}

// ClusterID returns the configured ID of the cluster in tags, or "".
func (c *Config) ClusterID() string {
	if c.Global.KubernetesClusterTag != "" {
		return c.Global.KubernetesClusterTag
	}
	return c.Global.KubernetesClusterID
}

// LegacyTag reports whether new objects also carry the legacy cluster tag.
func (c *Config) LegacyTag() bool { return c.Global.KubernetesClusterTag != "" }

// TopologyPattern compiles SupportedTopologyInstanceTypePattern.
func (c *Config) TopologyPattern() (*regexp.Regexp, error) {
	return regexp.Compile(c.Global.SupportedTopologyInstanceTypePattern)
}
