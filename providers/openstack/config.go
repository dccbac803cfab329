package openstack

import (
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer"
)

// Config is cloud.conf. The zero value is not valid: ReadConfig fills in defaults.
type Config struct {
	Global            Global
	LoadBalancer      LoadBalancer
	LoadBalancerClass map[string]*LoadBalancerClass
	Networking        Networking
	Route             Route
	Metadata          Metadata
}

// Global is the section [Global]: where the cloud is, and who asks.
type Global struct {
	AuthURL string `gcfg:"auth-url"`

	Username  string        `gcfg:"username"`
	UserID    string        `gcfg:"user-id"`
	Password  config.Secret `gcfg:"password"`
	TrustID   string        `gcfg:"trust-id"`
	TrusteeID string        `gcfg:"trustee-id"`
	// TrusteePassword stands in for Password.
	TrusteePassword             config.Secret `gcfg:"trustee-password"`
	ApplicationCredentialID     string        `gcfg:"application-credential-id"`
	ApplicationCredentialName   string        `gcfg:"application-credential-name"`
	ApplicationCredentialSecret config.Secret `gcfg:"application-credential-secret"`
	Token                       config.Secret `gcfg:"token"`

	TenantID         string `gcfg:"tenant-id"`
	TenantName       string `gcfg:"tenant-name"`
	DomainID         string `gcfg:"domain-id"`
	DomainName       string `gcfg:"domain-name"`
	UserDomainID     string `gcfg:"user-domain-id"`
	UserDomainName   string `gcfg:"user-domain-name"`
	TenantDomainID   string `gcfg:"tenant-domain-id"`
	TenantDomainName string `gcfg:"tenant-domain-name"`

	Region       string `gcfg:"region"`
	EndpointType string `gcfg:"os-endpoint-type"`

	CAFile      string `gcfg:"ca-file"`
	CertFile    string `gcfg:"cert-file"`
	KeyFile     string `gcfg:"key-file"`
	TLSInsecure string `gcfg:"tls-insecure"`

	UseClouds  bool   `gcfg:"use-clouds"`
	CloudsFile string `gcfg:"clouds-file"`
	Cloud      string `gcfg:"cloud"`

	RequestTimeout config.Duration `gcfg:"request-timeout"`
	LegacyMetrics  bool            `gcfg:"legacy-metrics"`
}

// LoadBalancer is the section [LoadBalancer]: what Services get that do not say otherwise.
type LoadBalancer struct {
	Enabled               bool            `gcfg:"enabled"`
	Version               string          `gcfg:"lb-version"`
	Provider              string          `gcfg:"lb-provider"`
	Method                string          `gcfg:"lb-method"`
	SubnetID              string          `gcfg:"subnet-id"`
	NetworkID             string          `gcfg:"network-id"`
	MemberSubnetID        string          `gcfg:"member-subnet-id"`
	FloatingNetworkID     string          `gcfg:"floating-network-id"`
	FloatingSubnetID      string          `gcfg:"floating-subnet-id"`
	FloatingSubnet        string          `gcfg:"floating-subnet"`
	FloatingSubnetTags    string          `gcfg:"floating-subnet-tags"`
	Internal              bool            `gcfg:"internal-lb"`
	ManageSecurityGroups  bool            `gcfg:"manage-security-groups"`
	CreateMonitor         bool            `gcfg:"create-monitor"`
	MonitorDelay          config.Duration `gcfg:"monitor-delay"`
	MonitorTimeout        config.Duration `gcfg:"monitor-timeout"`
	MonitorMaxRetries     uint            `gcfg:"monitor-max-retries"`
	MonitorMaxRetriesDown uint            `gcfg:"monitor-max-retries-down"`
	NodeSelector          string          `gcfg:"node-selector"`
	CascadeDelete         bool            `gcfg:"cascade-delete"`
	FlavorID              string          `gcfg:"flavor-id"`
	AvailabilityZone      string          `gcfg:"availability-zone"`
	EnableIngressHostname bool            `gcfg:"enable-ingress-hostname"`
	IngressHostnameSuffix string          `gcfg:"ingress-hostname-suffix"`
	TLSContainerRef       string          `gcfg:"default-tls-container-ref"`
	ContainerStore        string          `gcfg:"container-store"`
	MaxSharedLB           int             `gcfg:"max-shared-lb"`
	SerialAPICalls        bool            `gcfg:"provider-requires-serial-api-calls"`
}

// LoadBalancerClass is a section [LoadBalancerClass "name"], which Services name in an annotation.
type LoadBalancerClass struct {
	FloatingNetworkID  string `gcfg:"floating-network-id"`
	FloatingSubnetID   string `gcfg:"floating-subnet-id"`
	FloatingSubnet     string `gcfg:"floating-subnet"`
	FloatingSubnetTags string `gcfg:"floating-subnet-tags"`
	NetworkID          string `gcfg:"network-id"`
	SubnetID           string `gcfg:"subnet-id"`
	MemberSubnetID     string `gcfg:"member-subnet-id"`
}

// Networking is the section [Networking]: which addresses nodes have.
type Networking struct {
	IPv6SupportDisabled  bool     `gcfg:"ipv6-support-disabled"`
	PublicNetworkNames   []string `gcfg:"public-network-name"`
	InternalNetworkNames []string `gcfg:"internal-network-name"`
	AddressSortOrder     string   `gcfg:"address-sort-order"`
}

// Route is the section [Route].
type Route struct {
	RouterID string `gcfg:"router-id"`
}

// Metadata is the section [Metadata], which has the time limit of requests in it for historical reasons.
type Metadata struct {
	SearchOrder    string          `gcfg:"search-order"`
	RequestTimeout config.Duration `gcfg:"request-timeout"`
}

const (
	sectionGlobal       = "Global"
	sectionLoadBalancer = "LoadBalancer"
	sectionClass        = "LoadBalancerClass"
	sectionNetworking   = "Networking"
	sectionRoute        = "Route"
	sectionMetadata     = "Metadata"
)

// ReadConfig parses, defaults and validates a cloud.conf. It returns all errors at once, each with
// its line. Warnings are about keys that have no effect. Files that it names are read later, each
// time that they change.
func ReadConfig(file string, content []byte) (Config, config.Problems, error) {
	if content == nil {
		return Config{}, nil, fmt.Errorf("the %s provider needs a configuration file: give one with --cloud-config, and auth-url and credentials in its section [Global]", ProviderName)
	}
	cfg := Config{
		LoadBalancer: LoadBalancer{
			Enabled: true, CascadeDelete: true, MonitorMaxRetries: defaultMaxRetries, MonitorMaxRetriesDown: defaultMaxRetriesDown,
			MaxSharedLB: defaultMaxSharedLB, IngressHostnameSuffix: defaultHostnameSuffix,
			MonitorDelay: config.Duration{Duration: defaultMonitorDelay}, MonitorTimeout: config.Duration{Duration: defaultMonitorTimeout},
		},
	}
	f := config.Decode(file, content, &cfg)
	cfg.setDefaults()
	cfg.validate(f)
	return cfg, f.Warnings(), f.Err()
}

// configuration reads cloud.conf for the descriptor and the factory.
var configuration config.Reader[Config] = ReadConfig

func (c *Config) setDefaults() {
	lb := &c.LoadBalancer
	if lb.Provider == "" {
		lb.Provider = defaultLBProvider
	}
	if lb.Method == "" {
		lb.Method = api.AlgorithmRoundRobin
		if lb.Provider == providerOVN {
			// The only one that OVN has.
			lb.Method = api.AlgorithmSourceIPPort
		}
	}
	if lb.ContainerStore == "" {
		lb.ContainerStore = storeBarbican
	}
	g := &c.Global
	if g.EndpointType == "" && !c.readsClouds() {
		g.EndpointType = endpointPublic
	}
	if g.RequestTimeout.Duration == 0 {
		g.RequestTimeout = c.Metadata.RequestTimeout
	}
	if g.RequestTimeout.Duration == 0 {
		g.RequestTimeout.Duration = defaultRequestTimeout
	}
}

// balancers returns what the configuration says about load balancers.
func (c *Config) balancers() loadbalancer.Settings {
	lb := c.LoadBalancer
	s := loadbalancer.Settings{
		Provider: lb.Provider, Method: lb.Method,
		Place: loadbalancer.Place{
			FloatingNetworkID: lb.FloatingNetworkID, FloatingSubnetID: lb.FloatingSubnetID, FloatingSubnet: lb.FloatingSubnet,
			FloatingSubnetTags: lb.FloatingSubnetTags, SubnetID: lb.SubnetID, NetworkID: lb.NetworkID, MemberSubnetID: lb.MemberSubnetID,
		},
		Classes:  map[string]loadbalancer.Place{},
		Internal: lb.Internal, ManageSecurityGroups: lb.ManageSecurityGroups,
		CreateMonitor: lb.CreateMonitor, MonitorDelay: lb.MonitorDelay.Duration, MonitorTimeout: lb.MonitorTimeout.Duration,
		MonitorMaxRetries: int(lb.MonitorMaxRetries), MonitorMaxRetryDown: int(lb.MonitorMaxRetriesDown), //nolint:gosec // at most 10
		NodeSelector: lb.NodeSelector, NoCascade: !lb.CascadeDelete, FlavorID: lb.FlavorID, AvailabilityZone: lb.AvailabilityZone,
		IngressHostname: lb.EnableIngressHostname, IngressHostnameSuffix: lb.IngressHostnameSuffix,
		TLSContainer: lb.TLSContainerRef, ContainerStore: lb.ContainerStore, MaxShared: lb.MaxSharedLB, Serial: lb.SerialAPICalls,
	}
	for name, class := range c.LoadBalancerClass {
		s.Classes[name] = loadbalancer.Place{
			FloatingNetworkID: class.FloatingNetworkID, FloatingSubnetID: class.FloatingSubnetID, FloatingSubnet: class.FloatingSubnet,
			FloatingSubnetTags: class.FloatingSubnetTags, SubnetID: class.SubnetID, NetworkID: class.NetworkID, MemberSubnetID: class.MemberSubnetID,
		}
	}
	return s
}
