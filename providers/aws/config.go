package aws

import (
	"regexp"

	"github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Config is cloud.conf. The zero value is not valid: ReadConfig fills in defaults.
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

// ServiceOverride is a section [ServiceOverride "NAME"]: another endpoint for one service.
type ServiceOverride struct {
	Service       string
	Region        string
	URL           string
	SigningRegion string
	SigningName   string
	SigningMethod string
}

const (
	sectionGlobal   = "Global"
	sectionOverride = "ServiceOverride"
)

// Values of keys that have a closed set of them.
const (
	// FamilyIPv4 and FamilyIPv6 are the IP families of nodes' addresses.
	FamilyIPv4 = "ipv4"
	FamilyIPv6 = "ipv6"

	// ProbeNodePort has a load balancer probe each Service at its own port; ProbeShared has it
	// probe kube-proxy for Services with externalTrafficPolicy: Cluster.
	ProbeNodePort = "ServiceNodePort"
	ProbeShared   = "Shared"

	// GroupsManaged gives each network load balancer a security group of its own.
	GroupsManaged = "Managed"
)

const (
	// defaultProbePort and defaultProbePath are where kube-proxy serves its health by default.
	defaultProbePort = 10256
	defaultProbePath = "/healthz"
	// defaultTopologyPattern matches the instance types for which a Node must not become ready
	// without the labels of its network topology: those for tightly coupled work.
	defaultTopologyPattern = `^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\.[0-9a-z]*)$`
)

// ReadConfig parses, defaults and validates a cloud.conf; no content is a valid one. It returns all
// errors at once, each with its line. Warnings are about keys that have no effect, and about
// unknown ones: files for AWS were never checked for those, so they must not keep a manager from starting.
func ReadConfig(file string, content []byte) (Config, config.Problems, error) {
	var cfg Config
	f := config.Decode(file, content, &cfg)
	cfg.setDefaults()
	cfg.validate(f)
	return cfg, f.Warnings(), f.Err()
}

// configuration reads cloud.conf for the descriptor and the factory.
var configuration config.Reader[Config] = ReadConfig

func (c *Config) setDefaults() {
	g := &c.Global
	if len(g.NodeIPFamilies) == 0 {
		g.NodeIPFamilies = []string{FamilyIPv4}
	}
	if g.ClusterServiceLoadBalancerHealthProbeMode == "" {
		g.ClusterServiceLoadBalancerHealthProbeMode = ProbeNodePort
	}
	if g.ClusterServiceSharedLoadBalancerHealthProbePort == 0 {
		g.ClusterServiceSharedLoadBalancerHealthProbePort = defaultProbePort
	}
	if g.ClusterServiceSharedLoadBalancerHealthProbePath == "" {
		g.ClusterServiceSharedLoadBalancerHealthProbePath = defaultProbePath
	}
	if g.SupportedTopologyInstanceTypePattern == "" {
		g.SupportedTopologyInstanceTypePattern = defaultTopologyPattern
	}
}

// region is the configured region, that of Zone before Region as it has always been; "" if neither is set.
func (c *Config) region() string {
	if region, ok := names.RegionOfZone(c.Global.Zone); ok {
		return region
	}
	return c.Global.Region
}

// clusterID is the configured ID of the cluster in tags, "" if there is none.
func (c *Config) clusterID() string {
	if c.Global.KubernetesClusterTag != "" {
		return c.Global.KubernetesClusterTag
	}
	return c.Global.KubernetesClusterID
}

// legacyTags says whether what is made also carries the tag of earlier days.
func (c *Config) legacyTags() bool { return c.Global.KubernetesClusterTag != "" }

// topologyPattern is the compiled SupportedTopologyInstanceTypePattern of a valid configuration.
func (c *Config) topologyPattern() (*regexp.Regexp, error) {
	return regexp.Compile(c.Global.SupportedTopologyInstanceTypePattern)
}

// balancers are the settings of load balancers.
func (c *Config) balancers() loadbalancer.Settings {
	g := c.Global
	s := loadbalancer.Settings{
		ManagedGroups: g.NLBSecurityGroupMode == GroupsManaged, ClassicGroup: g.ElbSecurityGroup, NoNodeRules: g.DisableSecurityGroupIngress,
	}
	if g.ClusterServiceLoadBalancerHealthProbeMode == ProbeShared {
		s.Shared = &annotation.SharedProbe{Port: g.ClusterServiceSharedLoadBalancerHealthProbePort, Path: g.ClusterServiceSharedLoadBalancerHealthProbePath}
	}
	return s
}
