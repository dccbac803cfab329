package api

// Kinds of objects that have tags, as paths name them.
const (
	Ports          = "ports"
	FloatingIPs    = "floatingips"
	SecurityGroups = "security-groups"
	Routers        = "routers"
)

// NeutronNetwork is a network.
type NeutronNetwork struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	External bool     `json:"router:external"`
	Shared   bool     `json:"shared"`
	Subnets  []string `json:"subnets"`
}

// NetworkFilter selects networks; what is empty does not matter.
type NetworkFilter struct {
	IDs []string
	// External selects those that floating IPs come from.
	External bool
}

// Subnet is a range of addresses in a network.
type Subnet struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	NetworkID string   `json:"network_id"`
	CIDR      string   `json:"cidr"`
	IPVersion int      `json:"ip_version"`
	Tags      []string `json:"tags"`
}

// SubnetFilter selects subnets; what is empty does not matter.
type SubnetFilter struct {
	IDs       []string
	NetworkID string
	// Tags must all be there, of TagsAny at least one; not all of NotTags, and none of NotTagsAny.
	Tags, TagsAny, NotTags, NotTagsAny []string
}

// Port is a network interface.
type Port struct {
	ID                  string        `json:"id"`
	Name                string        `json:"name"`
	Status              string        `json:"status"`
	ProjectID           string        `json:"project_id"`
	NetworkID           string        `json:"network_id"`
	DeviceID            string        `json:"device_id"`
	DeviceOwner         string        `json:"device_owner"`
	FixedIPs            []FixedIP     `json:"fixed_ips"`
	SecurityGroups      []string      `json:"security_groups"`
	AllowedAddressPairs []AddressPair `json:"allowed_address_pairs"`
	// PortSecurity is nil where the extension is switched off, and means true then.
	PortSecurity *bool `json:"port_security_enabled"`
	// CreatedAt is by Neutron's clock, in whole seconds of RFC 3339; empty where the extension is switched off.
	CreatedAt string   `json:"created_at"`
	Tags      []string `json:"tags"`
	Revision  int      `json:"revision_number"`
	Trunk     *Trunk   `json:"trunk_details"`
}

// StatusActive is the status of a port that works.
const StatusActive = "ACTIVE"

// FixedIP is an address of a port.
type FixedIP struct {
	SubnetID string `json:"subnet_id,omitempty"`
	Address  string `json:"ip_address"`
}

// AddressPair lets a port send from addresses that are not its own.
type AddressPair struct {
	Address string `json:"ip_address"`
	MAC     string `json:"mac_address,omitempty"`
}

// Trunk names the ports below a port.
type Trunk struct {
	SubPorts []struct {
		PortID string `json:"port_id"`
	} `json:"sub_ports"`
}

// PortFilter selects ports; what is empty does not matter.
type PortFilter struct {
	IDs       []string
	DeviceIDs []string
	// DeviceOwner is what uses the port, such as network:router_interface.
	DeviceOwner, NetworkID, Name string
	// Addresses are fixed addresses, of which a port has one.
	Addresses      []string
	SecurityGroups []string
}

// PortPatch is what changes of a port.
type PortPatch struct {
	SecurityGroups      Field[[]string]      `json:"security_groups,omitzero"`
	AllowedAddressPairs Field[[]AddressPair] `json:"allowed_address_pairs,omitzero"`
}

// FloatingIP is a public address.
type FloatingIP struct {
	ID          string   `json:"id"`
	Address     string   `json:"floating_ip_address"`
	NetworkID   string   `json:"floating_network_id"`
	PortID      string   `json:"port_id"`
	FixedIP     string   `json:"fixed_ip_address"`
	Status      string   `json:"status"`
	Description string   `json:"description"`
	ProjectID   string   `json:"project_id"`
	Tags        []string `json:"tags"`
}

// FloatingIPFilter selects floating IPs; what is empty does not matter.
type FloatingIPFilter struct {
	PortIDs []string
	Address string
	Tags    []string
}

// FloatingIPSpec is a floating IP to be made.
type FloatingIPSpec struct {
	NetworkID string `json:"floating_network_id"`
	SubnetID  string `json:"subnet_id,omitempty"`
	// Address asks for a certain one, which is usually forbidden.
	Address     string `json:"floating_ip_address,omitempty"`
	PortID      string `json:"port_id,omitempty"`
	FixedIP     string `json:"fixed_ip_address,omitempty"`
	Description string `json:"description,omitempty"`
}

// FloatingIPPatch is what changes of a floating IP. A PortID of null detaches it.
type FloatingIPPatch struct {
	PortID      Field[string] `json:"port_id,omitzero"`
	Description Field[string] `json:"description,omitzero"`
}

// SecurityGroup is a set of rules for ports.
type SecurityGroup struct {
	ID          string              `json:"id"`
	Name        string              `json:"name"`
	Description string              `json:"description"`
	ProjectID   string              `json:"project_id"`
	Tags        []string            `json:"tags"`
	Revision    int                 `json:"revision_number"`
	Rules       []SecurityGroupRule `json:"security_group_rules"`
}

// SecurityGroupFilter selects groups; what is empty does not matter.
type SecurityGroupFilter struct {
	IDs, Names []string
	Tags       []string
}

// SecurityGroupSpec is a group to be made.
type SecurityGroupSpec struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// SecurityGroupRule lets traffic pass. Ports are 0 where the rule has none.
type SecurityGroupRule struct {
	ID string `json:"id"`
	SecurityGroupRuleSpec
}

// SecurityGroupRuleSpec is a rule to be made.
type SecurityGroupRuleSpec struct {
	GroupID string `json:"security_group_id"`
	// Direction is ingress or egress, EtherType IPv4 or IPv6.
	Direction   string `json:"direction"`
	EtherType   string `json:"ethertype"`
	Protocol    string `json:"protocol,omitempty"`
	PortMin     int    `json:"port_range_min,omitempty"`
	PortMax     int    `json:"port_range_max,omitempty"`
	RemoteCIDR  string `json:"remote_ip_prefix,omitempty"`
	RemoteGroup string `json:"remote_group_id,omitempty"`
	Description string `json:"description,omitempty"`
}

// Router connects networks.
type Router struct {
	ID       string       `json:"id"`
	Name     string       `json:"name"`
	Routes   []ExtraRoute `json:"routes"`
	Tags     []string     `json:"tags"`
	Revision int          `json:"revision_number"`
}

// ExtraRoute is a static route of a router.
type ExtraRoute struct {
	Destination string `json:"destination"`
	NextHop     string `json:"nexthop"`
}
