package config

import (
	"net"
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"

	common "github.com/unified-ccm/unified-ccm/pkg/common/config"
)

const (
	defaultPort = "443"
	// DefaultSecretsDirectory is read if it exists and no other source of credentials is configured.
	DefaultSecretsDirectory = "/etc/cloud/secrets" //nolint:gosec // a path
)

// Config is a valid configuration with the settings of the environment.
type Config struct {
	// File is the file, for output.
	File File
	// VCenters are sorted by name.
	VCenters []VCenter
	// Region and Zone are the categories of tags; both or none are set.
	Region, Zone string
	Addresses    Addresses
	// KeepDeleted keeps the nodes of deleted machines.
	KeepDeleted bool
	// NSXT, LoadBalancer and RouterPath are empty if load balancers and routes are off.
	NSXT         *NSX
	LoadBalancer *LoadBalancing
	RouterPath   string
}

// NSX is the connection to the manager of NSX-T.
type NSX struct {
	Host              string
	Insecure          bool
	CAFile            string
	CertFile, KeyFile string
	User              string
	Password          common.Secret
	RemoteAuth        bool
	VMCToken          common.Secret
	VMCAuthHost       string
	Secret            SecretRef
}

// LoadBalancing is the configuration of load balancers.
type LoadBalancing struct {
	// Size, ServiceID and Tier1Path select the load balancer service: one with that ID, or one on the gateway, which is
	// created with that size.
	Size, ServiceID, Tier1Path string
	SNATDisabled               bool
	// Tags are set on all objects. The tag owner replaces the name of the program.
	Tags map[string]string
	// Classes have an entry for names.DefaultClass.
	Classes map[string]Class
}

// Class is a class of load balancers.
type Class struct {
	// Pool is the pool of addresses; TCP and UDP are the application profiles, by path or by name.
	Pool, TCP, UDP Named
}

// Named references an object of NSX-T: by ID or path if that is set, else by its display name.
type Named struct{ ID, Name string }

// IsZero reports whether nothing is referenced.
func (n Named) IsZero() bool { return n == Named{} }

// VCenter is one vCenter, with the defaults of [Global] filled in.
type VCenter struct {
	// Name is the name of the section, or the address of the server.
	Name, Server, Port string
	Insecure           bool
	CAFile, Thumbprint string
	Datacenters        []string
	Families           []v1.IPFamily
	Credentials        Credentials
	Secret             SecretRef
	SecretsDirectory   string
}

// Address returns host:port.
func (v VCenter) Address() string { return net.JoinHostPort(strings.Trim(v.Server, "[]"), v.Port) }

// SecretRef references a Secret of the cluster.
type SecretRef struct{ Namespace, Name string }

// Credentials are the credentials of one vCenter. Those of a session manager have no user.
type Credentials struct {
	User     string
	Password common.Secret
	// SessionManagerURL and SessionManagerToken give access to a shared session.
	SessionManagerURL   string
	SessionManagerToken common.Secret
}

// Empty reports whether there is nothing to log in with.
func (c Credentials) Empty() bool { return c.User == "" && c.SessionManagerURL == "" }

// Describe returns a text without secrets.
func (c Credentials) Describe() string {
	if c.SessionManagerURL != "" {
		return "session manager " + c.SessionManagerURL
	}
	return "user " + c.User
}

// Addresses selects the addresses of a node.
type Addresses struct{ Internal, External AddressRule }

// AddressRule selects the addresses of one type.
type AddressRule struct {
	// Ranges are tried in order: the first one with an address of the node decides.
	Ranges []netip.Prefix
	// Exclude are ranges whose addresses are never used.
	Exclude []netip.Prefix
	// Network is the name of the port group that is used if no range decides.
	Network string
}

// resolver computes a Config from a file and the environment.
type resolver struct {
	config *Config
	file   *common.File
	env    environment
	isYAML bool
}
