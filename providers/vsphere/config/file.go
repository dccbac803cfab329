// Package config reads vsphere.conf in both of its forms, INI and YAML: it parses, defaults and validates the file,
// adds the settings of the environment, and documents every key.
package config

import (
	"strings"

	common "github.com/unified-ccm/unified-ccm/pkg/common/config"
)

// List is a list of texts: separated by commas in the INI form, a list in YAML. Blanks at the ends do not count.
type List []string

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *List) UnmarshalText(text []byte) error {
	*l = nil
	for item := range strings.SplitSeq(string(text), ",") {
		if item = strings.TrimSpace(item); item != "" {
			*l = append(*l, item)
		}
	}
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (l List) MarshalText() ([]byte, error) { return []byte(strings.Join(l, ",")), nil }

// MarshalYAML writes a list in the YAML form.
func (l List) MarshalYAML() (any, error) { return []string(l), nil }

// File has the keys of vsphere.conf.
type File struct {
	Global            Global                        `gcfg:"Global" yaml:"global"`
	VirtualCenter     map[string]*VirtualCenter     `gcfg:"VirtualCenter" yaml:"vcenter"`
	Labels            Labels                        `gcfg:"Labels" yaml:"labels"`
	Nodes             Nodes                         `gcfg:"Nodes" yaml:"nodes"`
	NSXT              NSXT                          `gcfg:"NSXT" yaml:"nsxt"`
	LoadBalancer      LoadBalancer                  `gcfg:"LoadBalancer" yaml:"loadBalancer"`
	LoadBalancerClass map[string]*LoadBalancerClass `gcfg:"LoadBalancerClass" yaml:"loadBalancerClass"`
	Route             Route                         `gcfg:"Route" yaml:"route"`
}

// VirtualCenter is the section [VirtualCenter "name"]: one vCenter. Empty keys have the value of [Global].
type VirtualCenter struct {
	Server             string        `gcfg:"server" yaml:"server"`
	Port               string        `gcfg:"port" yaml:"port"`
	User               string        `gcfg:"user" yaml:"user"`
	Password           common.Secret `gcfg:"password" yaml:"password"`
	Insecure           bool          `gcfg:"insecure-flag" yaml:"insecureFlag"`
	Datacenters        List          `gcfg:"datacenters" yaml:"datacenters"`
	SOAPRoundtripCount uint          `gcfg:"soap-roundtrip-count" yaml:"soapRoundtripCount"`
	CAFile             string        `gcfg:"ca-file" yaml:"caFile"`
	Thumbprint         string        `gcfg:"thumbprint" yaml:"thumbprint"`
	SecretName         string        `gcfg:"secret-name" yaml:"secretName"`
	SecretNamespace    string        `gcfg:"secret-namespace" yaml:"secretNamespace"`
	IPFamily           List          `gcfg:"ip-family" yaml:"ipFamily"`
}

// Global is the section [Global]: the defaults of all vCenters.
type Global struct {
	VirtualCenter

	SecretsDirectory string `gcfg:"secrets-directory" yaml:"secretsDirectory"`
	APIDisable       bool   `gcfg:"api-disable" yaml:"apiDisable"`
	APIBinding       string `gcfg:"api-binding" yaml:"apiBinding"`
}

// Labels is the section [Labels]: the categories of the tags that become zones and regions.
type Labels struct {
	Region string `gcfg:"region" yaml:"region"`
	Zone   string `gcfg:"zone" yaml:"zone"`
}

// Nodes is the section [Nodes]: which addresses of a virtual machine are those of its node.
type Nodes struct {
	InternalCIDR        List   `gcfg:"internal-network-subnet-cidr" yaml:"internalNetworkSubnetCidr"`
	ExternalCIDR        List   `gcfg:"external-network-subnet-cidr" yaml:"externalNetworkSubnetCidr"`
	InternalNetwork     string `gcfg:"internal-vm-network-name" yaml:"internalVmNetworkName"`
	ExternalNetwork     string `gcfg:"external-vm-network-name" yaml:"externalVmNetworkName"`
	ExcludeInternalCIDR List   `gcfg:"exclude-internal-network-subnet-cidr" yaml:"excludeInternalNetworkSubnetCidr"`
	ExcludeExternalCIDR List   `gcfg:"exclude-external-network-subnet-cidr" yaml:"excludeExternalNetworkSubnetCidr"`
}

type (
	// NSXT is the section of the connection to NSX-T.
	NSXT struct {
		Host               string        `gcfg:"host" yaml:"host"`
		User               string        `gcfg:"user" yaml:"user"`
		Password           common.Secret `gcfg:"password" yaml:"password"`
		Insecure           bool          `gcfg:"insecure-flag" yaml:"insecureFlag"`
		RemoteAuth         bool          `gcfg:"remote-auth" yaml:"remoteAuth"`
		CAFile             string        `gcfg:"ca-file" yaml:"caFile"`
		ClientAuthCertFile string        `gcfg:"client-auth-cert-file" yaml:"clientAuthCertFile"`
		ClientAuthKeyFile  string        `gcfg:"client-auth-key-file" yaml:"clientAuthKeyFile"`
		VMCAccessToken     common.Secret `gcfg:"vmc-access-token" yaml:"vmcAccessToken"`
		VMCAuthHost        string        `gcfg:"vmc-auth-host" yaml:"vmcAuthHost"`
		SecretName         string        `gcfg:"secret-name" yaml:"secretName"`
		SecretNamespace    string        `gcfg:"secret-namespace" yaml:"secretNamespace"`
	}
	// LoadBalancer is the section of load balancers, with the defaults of classes.
	LoadBalancer struct {
		LoadBalancerClass

		Size             string `gcfg:"size" yaml:"size"`
		LBServiceID      string `gcfg:"lb-service-id" yaml:"lbServiceId"`
		Tier1GatewayPath string `gcfg:"tier1-gateway-path" yaml:"tier1GatewayPath"`
		SNATDisabled     bool   `gcfg:"snat-disabled" yaml:"snatDisabled"`
		Tags             string `gcfg:"tags" yaml:"tags"`
	}
	// LoadBalancerClass is a section of a class of load balancers.
	LoadBalancerClass struct {
		IPPoolName        string `gcfg:"ip-pool-name" yaml:"ipPoolName"`
		IPPoolID          string `gcfg:"ip-pool-id" yaml:"ipPoolId"`
		TCPAppProfileName string `gcfg:"tcp-app-profile-name" yaml:"tcpAppProfileName"`
		TCPAppProfilePath string `gcfg:"tcp-app-profile-path" yaml:"tcpAppProfilePath"`
		UDPAppProfileName string `gcfg:"udp-app-profile-name" yaml:"udpAppProfileName"`
		UDPAppProfilePath string `gcfg:"udp-app-profile-path" yaml:"udpAppProfilePath"`
	}
	// Route is the section of routes.
	Route struct {
		RouterPath string `gcfg:"router-path" yaml:"routerPath"`
	}
)

// The names of the sections.
const (
	sectionGlobal       = "Global"
	sectionVCenter      = "VirtualCenter"
	sectionLabels       = "Labels"
	sectionNodes        = "Nodes"
	sectionNSXT         = "NSXT"
	sectionLoadBalancer = "LoadBalancer"
	sectionClass        = "LoadBalancerClass"
	sectionRoute        = "Route"
)
