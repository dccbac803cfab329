// Package config reads cloud.conf of OpenStack: it parses, defaults and validates the file, merges
// clouds.yaml into it, and documents every key.
package config

import (
	"time"

	commonconfig "github.com/unified-ccm/unified-ccm/pkg/common/config"
)

// Values of keys that have a closed set of them.
const (
	endpointPublic   = "public"
	endpointInternal = "internal"
	endpointAdmin    = "admin"
	// suffixURL is the suffix of their older names, such as internalURL.
	suffixURL = "URL"

	lbVersion     = "v2"
	providerOVN   = "ovn"
	storeBarbican = "barbican"
	storeExternal = "external"
	insecureTrue  = "true"
	maxRetries    = 10
	minTimeout    = time.Second
	maxTimeout    = 10 * time.Minute
)

// Config is cloud.conf. The zero value is not valid: Read sets the defaults.
type Config struct {
	Global            Global
	LoadBalancer      LoadBalancer
	LoadBalancerClass map[string]*LoadBalancerClass
	Networking        Networking
	Route             Route
	Metadata          Metadata
}

// Global is the section [Global]: endpoints and credentials.
type Global struct {
	AuthURL string `gcfg:"auth-url"`

	Username  string              `gcfg:"username"`
	UserID    string              `gcfg:"user-id"`
	Password  commonconfig.Secret `gcfg:"password"`
	TrustID   string              `gcfg:"trust-id"`
	TrusteeID string              `gcfg:"trustee-id"`
	// TrusteePassword overrides Password.
	TrusteePassword             commonconfig.Secret `gcfg:"trustee-password"`
	ApplicationCredentialID     string              `gcfg:"application-credential-id"`
	ApplicationCredentialName   string              `gcfg:"application-credential-name"`
	ApplicationCredentialSecret commonconfig.Secret `gcfg:"application-credential-secret"`
	Token                       commonconfig.Secret `gcfg:"token"`

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

	RequestTimeout commonconfig.Duration `gcfg:"request-timeout"`
	LegacyMetrics  bool                  `gcfg:"legacy-metrics"`
}

// LoadBalancer is the section [LoadBalancer]: the defaults of Services.
type LoadBalancer struct {
	Enabled               bool                  `gcfg:"enabled"`
	Version               string                `gcfg:"lb-version"`
	Provider              string                `gcfg:"lb-provider"`
	Method                string                `gcfg:"lb-method"`
	SubnetID              string                `gcfg:"subnet-id"`
	NetworkID             string                `gcfg:"network-id"`
	MemberSubnetID        string                `gcfg:"member-subnet-id"`
	FloatingNetworkID     string                `gcfg:"floating-network-id"`
	FloatingSubnetID      string                `gcfg:"floating-subnet-id"`
	FloatingSubnet        string                `gcfg:"floating-subnet"`
	FloatingSubnetTags    string                `gcfg:"floating-subnet-tags"`
	Internal              bool                  `gcfg:"internal-lb"`
	ManageSecurityGroups  bool                  `gcfg:"manage-security-groups"`
	CreateMonitor         bool                  `gcfg:"create-monitor"`
	MonitorDelay          commonconfig.Duration `gcfg:"monitor-delay"`
	MonitorTimeout        commonconfig.Duration `gcfg:"monitor-timeout"`
	MonitorMaxRetries     uint                  `gcfg:"monitor-max-retries"`
	MonitorMaxRetriesDown uint                  `gcfg:"monitor-max-retries-down"`
	NodeSelector          string                `gcfg:"node-selector"`
	CascadeDelete         bool                  `gcfg:"cascade-delete"`
	FlavorID              string                `gcfg:"flavor-id"`
	AvailabilityZone      string                `gcfg:"availability-zone"`
	EnableIngressHostname bool                  `gcfg:"enable-ingress-hostname"`
	IngressHostnameSuffix string                `gcfg:"ingress-hostname-suffix"`
	TLSContainerRef       string                `gcfg:"default-tls-container-ref"`
	ContainerStore        string                `gcfg:"container-store"`
	MaxSharedLB           int                   `gcfg:"max-shared-lb"`
	SerialAPICalls        bool                  `gcfg:"provider-requires-serial-api-calls"`
}

// LoadBalancerClass is a section [LoadBalancerClass "name"], which Services select by annotation.
type LoadBalancerClass struct {
	FloatingNetworkID  string `gcfg:"floating-network-id"`
	FloatingSubnetID   string `gcfg:"floating-subnet-id"`
	FloatingSubnet     string `gcfg:"floating-subnet"`
	FloatingSubnetTags string `gcfg:"floating-subnet-tags"`
	NetworkID          string `gcfg:"network-id"`
	SubnetID           string `gcfg:"subnet-id"`
	MemberSubnetID     string `gcfg:"member-subnet-id"`
}

// Networking is the section [Networking]: it selects the addresses of nodes.
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

// Metadata is the section [Metadata]. Its request timeout is the fallback of that in [Global].
type Metadata struct {
	SearchOrder    string                `gcfg:"search-order"`
	RequestTimeout commonconfig.Duration `gcfg:"request-timeout"`
}

const (
	sectionGlobal       = "Global"
	sectionLoadBalancer = "LoadBalancer"
	sectionClass        = "LoadBalancerClass"
	sectionNetworking   = "Networking"
	sectionRoute        = "Route"
	sectionMetadata     = "Metadata"
)
