package neutron

import (
	"net/netip"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// State has all objects by ID.
type State struct {
	Networks  map[string]*Network
	Subnets   map[string]*Subnet
	Ports     map[string]*Port
	Routers   map[string]*Router
	Addresses map[string]*FloatingIP
	Groups    map[string]*SecurityGroup
	Rules     map[string]*securityRule
	// Used are the allocated addresses of each subnet.
	Used map[string]map[netip.Addr]bool
	// Exhausted are subnets without free addresses.
	Exhausted map[string]bool
	// Foreign are destinations of routes that the console created.
	Foreign map[string]bool
}

// NewState returns the state without objects.
func NewState() *State {
	return &State{
		Networks: map[string]*Network{}, Subnets: map[string]*Subnet{}, Ports: map[string]*Port{},
		Routers: map[string]*Router{}, Addresses: map[string]*FloatingIP{}, Groups: map[string]*SecurityGroup{},
		Rules: map[string]*securityRule{}, Used: map[string]map[netip.Addr]bool{}, Exhausted: map[string]bool{},
		Foreign: map[string]bool{},
	}
}

// Tx is one operation on the state.
type Tx struct {
	*core.Tx
	*State
}

// Base is embedded in all objects of Neutron.
type Base struct {
	core.Object
	Name        string   `json:"name"`
	Project     string   `json:"project_id"`
	Tenant      string   `json:"tenant_id"`
	Description string   `json:"description"`
	Created     string   `json:"created_at"`
	Updated     string   `json:"updated_at"`
	Revision    int      `json:"revision_number"`
	Tags        []string `json:"tags"`
}

// Network is a network.
type Network struct {
	Base
	AdminStateUp bool     `json:"admin_state_up"`
	Status       string   `json:"status"`
	External     bool     `json:"router:external"`
	Shared       bool     `json:"shared"`
	MTU          int      `json:"mtu"`
	Subnets      []string `json:"subnets"`
	PortSecurity bool     `json:"port_security_enabled"`
	Zones        []string `json:"availability_zones"`
	ZoneHints    []string `json:"availability_zone_hints"`
	Scope4       *string  `json:"ipv4_address_scope"`
	Scope6       *string  `json:"ipv6_address_scope"`
	QoS          *string  `json:"qos_policy_id"`
}

type addressRange struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// Subnet is a subnet of a network.
type Subnet struct {
	Base
	Network      string         `json:"network_id"`
	CIDR         string         `json:"cidr"`
	Version      int            `json:"ip_version"`
	Gateway      *string        `json:"gateway_ip"`
	DHCP         bool           `json:"enable_dhcp"`
	Pools        []addressRange `json:"allocation_pools"`
	Nameservers  []string       `json:"dns_nameservers"`
	HostRoutes   []Route        `json:"host_routes"`
	RAMode       *string        `json:"ipv6_ra_mode"`
	AddressMode  *string        `json:"ipv6_address_mode"`
	Pool         *string        `json:"subnetpool_id"`
	Segment      *string        `json:"segment_id"`
	ServiceTypes []string       `json:"service_types"`

	prefix netip.Prefix
	// The allocation pool is from first to last; next is where the search for a free address starts.
	first, last, next netip.Addr
}

// FixedIP is an address of a port.
type FixedIP struct {
	Subnet  string `json:"subnet_id"`
	Address string `json:"ip_address"`
}

// Port is a port.
type Port struct {
	Base
	Network      string         `json:"network_id"`
	MAC          string         `json:"mac_address"`
	AdminStateUp bool           `json:"admin_state_up"`
	Status       string         `json:"status"`
	DeviceID     string         `json:"device_id"`
	DeviceOwner  string         `json:"device_owner"`
	FixedIPs     []FixedIP      `json:"fixed_ips"`
	Pairs        []addressPair  `json:"allowed_address_pairs"`
	Groups       []string       `json:"security_groups"`
	PortSecurity bool           `json:"port_security_enabled"`
	VNICType     string         `json:"binding:vnic_type"`
	DHCPOptions  []any          `json:"extra_dhcp_opts"`
	QoS          *string        `json:"qos_policy_id"`
	Trunk        *TrunkDetails  `json:"trunk_details,omitempty"`
	DNSName      string         `json:"dns_name,omitempty"`
	Profile      map[string]any `json:"binding:profile,omitempty"`
}

type addressPair struct {
	MAC     string `json:"mac_address"`
	Address string `json:"ip_address"`
}

// TrunkDetails is the trunk of a parent port.
type TrunkDetails struct {
	ID       string    `json:"trunk_id"`
	SubPorts []SubPort `json:"sub_ports"`
}

// SubPort is a port of a trunk besides its parent.
type SubPort struct {
	Port             string `json:"port_id"`
	MAC              string `json:"mac_address"`
	SegmentationType string `json:"segmentation_type"`
	Segmentation     int    `json:"segmentation_id"`
}

// Router is a router.
type Router struct {
	Base
	AdminStateUp bool         `json:"admin_state_up"`
	Status       string       `json:"status"`
	Gateway      *gatewayInfo `json:"external_gateway_info"`
	Routes       []Route      `json:"routes"`
	Zones        []string     `json:"availability_zones"`
	ZoneHints    []string     `json:"availability_zone_hints"`
	Flavor       *string      `json:"flavor_id"`
}

// Route is an extra route of a router, or a host route of a subnet.
type Route struct {
	Destination string `json:"destination"`
	NextHop     string `json:"nexthop"`
}

type gatewayInfo struct {
	Network  string    `json:"network_id"`
	FixedIPs []FixedIP `json:"external_fixed_ips"`
	SNAT     bool      `json:"enable_snat"`
}

// FloatingIP is a floating IP.
type FloatingIP struct {
	Base
	Network     string         `json:"floating_network_id"`
	Address     string         `json:"floating_ip_address"`
	Port        *string        `json:"port_id"`
	Fixed       *string        `json:"fixed_ip_address"`
	Router      *string        `json:"router_id"`
	Status      string         `json:"status"`
	QoS         *string        `json:"qos_policy_id"`
	Details     map[string]any `json:"port_details"`
	Forwardings []any          `json:"port_forwardings"`

	subnet string
}

// SecurityGroup is a security group of a project.
type SecurityGroup struct {
	Base
	Stateful bool            `json:"stateful"`
	Shared   bool            `json:"shared"`
	Rules    []*securityRule `json:"security_group_rules"`
}

type securityRule struct {
	Base
	Group        string  `json:"security_group_id"`
	Direction    string  `json:"direction"`
	EtherType    string  `json:"ethertype"`
	Protocol     *string `json:"protocol"`
	PortMin      *int    `json:"port_range_min"`
	PortMax      *int    `json:"port_range_max"`
	RemoteIP     *string `json:"remote_ip_prefix"`
	RemoteGroup  *string `json:"remote_group_id"`
	AddressGroup *string `json:"remote_address_group_id"`
	Normalized   *string `json:"normalized_cidr"`
}
