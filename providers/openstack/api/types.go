package api

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	lbflavors "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

// Requests and responses that gophercloud's types cannot express, or that need too much memory for 500 pools
// with 5,000 members each.

// Server is a machine. gophercloud's type has addresses and flavor as untyped maps.
type Server struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Zone   string `json:"OS-EXT-AZ:availability_zone"`
	Flavor struct {
		// ID is set up to microversion 2.46, OriginalName from 2.47 on.
		ID           string `json:"id"`
		OriginalName string `json:"original_name"`
	} `json:"flavor"`
	AccessIPv4 string            `json:"accessIPv4"`
	AccessIPv6 string            `json:"accessIPv6"`
	Metadata   map[string]string `json:"metadata"`
	// Addresses are keyed by the names of networks.
	Addresses map[string][]ServerAddress `json:"addresses"`
}

// ServerAddress is an address in Nova's cache, which may be a minute old.
type ServerAddress struct {
	Address string `json:"addr"`
	// Type is fixed or floating.
	Type string `json:"OS-EXT-IPS:type"`
}

// Statuses of servers.
const (
	ServerBuild       = "BUILD"
	ServerShutOff     = "SHUTOFF"
	ServerDeleted     = "DELETED"
	ServerSoftDeleted = "SOFT_DELETED"
)

// AddressFloating is the type of floating IPs among a server's addresses.
const AddressFloating = "floating"

// Kinds of objects that have tags, as paths name them.
const (
	FloatingIPs = "floatingips"
	Ports       = "ports"
	Routers     = "routers"
)

// Port is a network interface. gophercloud's type lacks port security and trunks, and cannot represent a
// missing creation time; its extensions cannot be combined.
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
	// PortSecurity is nil if the extension is disabled, which means true.
	PortSecurity *bool `json:"port_security_enabled"`
	// CreatedAt is the time of Neutron's clock, in whole seconds of RFC 3339; empty if the extension is
	// disabled.
	CreatedAt string   `json:"created_at"`
	Tags      []string `json:"tags"`
	Revision  int      `json:"revision_number"`
	Trunk     *Trunk   `json:"trunk_details"`
}

// The objects of OpenStack's services are those of gophercloud.
type (
	// Flavor is a size of servers.
	Flavor = flavors.Flavor
	// NeutronNetwork is a network of Neutron.
	NeutronNetwork = networks.Network
	// Subnet is a subnet of a network.
	Subnet = subnets.Subnet
	// SecurityGroup is a set of rules for the traffic of ports.
	SecurityGroup = groups.SecGroup
	// SecurityGroupRule is one rule of a security group.
	SecurityGroupRule = rules.SecGroupRule
	// AddressPair is an additional address that a port may use.
	AddressPair = ports.AddressPair
	// PortUpdate is a change of a port.
	PortUpdate = ports.UpdateOpts
	// Router is a router of Neutron.
	Router = routers.Router
	// ExtraRoute is a static route of a router.
	ExtraRoute = routers.Route
	// LoadBalancer is a load balancer of Octavia.
	LoadBalancer = loadbalancers.LoadBalancer
	// LoadBalancerFlavor is a size of load balancers.
	LoadBalancerFlavor = lbflavors.Flavor
	// VIP is an additional address of a load balancer.
	VIP = loadbalancers.AdditionalVip
	// Listener is a port of a load balancer.
	Listener = listeners.Listener
	// HealthMonitor is the health check of a pool.
	HealthMonitor = monitors.Monitor
)

// PortActive is the status of a working port.
const PortActive = "ACTIVE"

// Octavia is the owner of the ports that it creates. Their names are the prefix and the load balancer's ID.
const (
	OctaviaPortOwner  = "Octavia"
	OctaviaPortPrefix = "octavia-lb-"
)

// FixedIP is an address of a port.
type FixedIP struct {
	SubnetID string `json:"subnet_id,omitempty"`
	Address  string `json:"ip_address"`
}

// Trunk lists the subports of a port.
type Trunk struct {
	SubPorts []struct {
		PortID string `json:"port_id"`
	} `json:"sub_ports"`
}

// LoadBalancerZone is an availability zone of load balancers, which gophercloud does not have.
type LoadBalancerZone struct {
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
}

// PortFilter selects ports; an empty field selects all. Ports of other projects are selected only by their IDs, or by
// that of a server or a security group, because projects have the same addresses. gophercloud's type has a single ID,
// and the provider sends up to a hundred.
type PortFilter struct {
	IDs       []string
	DeviceIDs []string
	// DeviceOwner is the user of the port, such as network:router_interface.
	DeviceOwner, NetworkID string
	// Addresses are fixed addresses; a port matches with any of them.
	Addresses     []string
	SecurityGroup string
}

func (f PortFilter) query() url.Values {
	q := url.Values{}
	for name, values := range map[string][]string{
		"id": f.IDs, "device_id": f.DeviceIDs, "device_owner": {f.DeviceOwner}, "network_id": {f.NetworkID},
		"security_groups": {f.SecurityGroup},
	} {
		for _, value := range values {
			if value != "" {
				q.Add(name, value)
			}
		}
	}
	for _, address := range f.Addresses {
		q.Add("fixed_ips", "ip_address="+address)
	}
	return q
}

// Provisioning statuses of Octavia's objects.
const (
	Active        = "ACTIVE"
	PendingCreate = "PENDING_CREATE"
	PendingUpdate = "PENDING_UPDATE"
	PendingDelete = "PENDING_DELETE"
	Error         = "ERROR"
	Deleted       = "DELETED"
)

// Protocols that listeners and pools share. gophercloud has a separate type for each.
const (
	ProtocolTCP             = "TCP"
	ProtocolUDP             = "UDP"
	ProtocolSCTP            = "SCTP"
	ProtocolHTTP            = "HTTP"
	ProtocolTerminatedHTTPS = "TERMINATED_HTTPS"
	ProtocolPROXY           = "PROXY"
	ProtocolPROXYV2         = "PROXYV2"
)

// Algorithms of pools, for configuration files and annotations.
const (
	AlgorithmRoundRobin       = "ROUND_ROBIN"
	AlgorithmLeastConnections = "LEAST_CONNECTIONS"
	AlgorithmSourceIP         = "SOURCE_IP"
	AlgorithmSourceIPPort     = "SOURCE_IP_PORT"
)

// PersistenceSourceIP is session persistence by client address.
const PersistenceSourceIP = "SOURCE_IP"

// Ref references another object.
type Ref struct {
	ID string `json:"id"`
}

// Pool is a set of members. A list contains only the IDs of its members; gophercloud's type would hold a
// whole Member for each.
type Pool struct {
	pools.Pool
	Members []Ref `json:"members"`
	// RequestedMonitor is the health monitor that the pool was created with, until the pool is read: the
	// response of Octavia to the creation of a complete load balancer omits the health monitors of its pools.
	RequestedMonitor *HealthMonitor `json:"-"`
}

// Member is a port of a node: an existing member, or, without an ID, one to create or to keep. gophercloud's
// type is three times as large, and has different options for each way to send it.
type Member struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Address  string `json:"address"`
	Port     int    `json:"protocol_port"`
	SubnetID string `json:"subnet_id"`
	// MonitorPort is 0 if health checks use Port.
	MonitorPort int `json:"monitor_port"`
	// Weight is set by Octavia; requests omit it.
	Weight int `json:"weight"`
}

// CreateOpts returns the options to create the member, alone or with its pool.
func (m Member) CreateOpts() pools.CreateMemberOpts {
	o := pools.CreateMemberOpts{Name: m.Name, Address: m.Address, ProtocolPort: m.Port, SubnetID: m.SubnetID}
	if m.MonitorPort != 0 {
		o.MonitorPort = &m.MonitorPort
	}
	return o
}

// ToBatchMemberUpdateMap implements pools.BatchUpdateMemberOptsBuilder. gophercloud's options convert each
// member to JSON and back.
func (m Member) ToBatchMemberUpdateMap() (map[string]any, error) {
	body := map[string]any{"address": m.Address, "protocol_port": m.Port}
	if m.Name != "" {
		body["name"] = m.Name
	}
	if m.SubnetID != "" {
		body["subnet_id"] = m.SubnetID
	}
	if m.MonitorPort != 0 {
		body["monitor_port"] = m.MonitorPort
	}
	return body, nil
}

// CreateLoadBalancer implements LoadBalancingAPI. gophercloud builds the request and decodes the response as maps,
// which take several times the memory of a load balancer with hundreds of members.
func (c *Clients) CreateLoadBalancer(ctx context.Context, o loadbalancers.CreateOpts) (LoadBalancer, error) {
	const key = "loadbalancer"
	r := createRequest(LoadBalancing, "CreateLoadBalancer")
	var response map[string]json.RawMessage
	err := c.send(ctx, r, func(ctx context.Context, s *serviceClient) error {
		request := map[string]loadbalancers.CreateOpts{key: o}
		//nolint:bodyclose // gophercloud reads and closes it
		_, err := s.Post(ctx, s.ServiceURL("lbaas", "loadbalancers"), request, &response, nil)
		return err
	})
	if err != nil {
		return LoadBalancer{}, err
	}
	var created LoadBalancer
	err = decode(r.Operation, key, response[key], &created)
	return created, err
}
