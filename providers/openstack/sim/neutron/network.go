// Package neutron simulates Neutron.
package neutron

import (
	"net/http"
	"net/netip"
	"slices"

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

func networkOperations() []core.Operation[*Tx] {
	networks := core.Resource[*Tx, *Network]{
		Name: "Network", Key: "network", Path: "networks",
		List: func(t *Tx) ([]*Network, error) { return core.Only(core.ByID(t.Networks), t.SeesNetwork), nil },
		Get:  func(t *Tx) (*Network, error) { return t.network(t.Call.Params["id"]) },
	}
	subnets := core.Resource[*Tx, *Subnet]{
		Name: "Subnet", Key: "subnet", Path: "subnets",
		List: func(t *Tx) ([]*Subnet, error) { return core.Only(core.ByID(t.Subnets), t.seesSubnet), nil },
		Get:  func(t *Tx) (*Subnet, error) { return t.Subnet(t.Call.Params["id"]) },
	}
	return append(networks.Operations(subnets.Operations()...),
		core.Read("ListExtensions", "extensions", (*Tx).listExtensions),
		core.Read("ShowExtension", "extensions/{id}", (*Tx).showExtension),
		core.Read("ShowQuota", "quotas/{id}", (*Tx).showNetworkQuota),
	)
}

// notFound returns the error of Neutron for an object that does not exist or is not visible to the caller.
func notFound(kind, id string) error {
	return core.Refuse(http.StatusNotFound, kind+"NotFound", "%s %s could not be found.", kind, id)
}

// errMissing returns the function that returns notFound for objects of a kind.
func errMissing(kind string) func(id string) error {
	return func(id string) error { return notFound(kind, id) }
}

func conflict(kind, format string, args ...any) error {
	return core.Refuse(http.StatusConflict, kind, format, args...)
}

func badRequest(kind, format string, args ...any) error {
	return core.Refuse(http.StatusBadRequest, kind, format, args...)
}

// SeesNetwork reports whether the caller sees a network.
func (t *Tx) SeesNetwork(n *Network) bool { return t.Call.May(n.Project) || n.Shared || n.External }

func (t *Tx) seesSubnet(s *Subnet) bool {
	return t.Call.May(s.Project) || t.SeesNetwork(t.Networks[s.Network])
}

func (t *Tx) network(id string) (*Network, error) {
	n := t.Networks[id]
	if n == nil || !t.SeesNetwork(n) {
		return nil, notFound("Network", id)
	}
	return n, nil
}

// Subnet returns a subnet that the caller sees.
func (t *Tx) Subnet(id string) (*Subnet, error) {
	s := t.Subnets[id]
	if s == nil || !t.seesSubnet(s) {
		return nil, notFound("Subnet", id)
	}
	return s, nil
}

// extensions returns the names of the extensions that a client may check, by alias.
func extensions() map[string]string {
	return map[string]string{
		"address-scope": "Address scope", "allowed-address-pairs": "Allowed Address Pairs",
		"availability_zone": "Availability Zone",
		"extraroute":        "Neutron Extra Route", "extraroute-atomic": "Atomically add/remove extra routes",
		"external-net": "Neutron external network", "filter-validation": "Filter parameters validation",
		"pagination":    "Pagination support",
		"port-security": "Port Security", "quotas": "Quota management support",
		"revision-if-match": "If-Match constraints based on revision_number",
		"router":            "Neutron L3 Router", "security-group": "security-group", "sorting": "Sorting support",
		"standard-attr-description": "standard-attr-description",
		"standard-attr-revisions":   "Resource revision numbers",
		"standard-attr-tag": "Tag support for resources with standard attribute: subnet, trunk, " +
			"network_segment_range, router, network, policy, subnetpool, port, security_group, floatingip",
		"standard-attr-timestamp": "Resource timestamps", "trunk": "Trunk Extension", "trunk-details": "Trunk port details",
		"binding": "Port Binding",
	}
}

// HasExtension reports whether an extension is known and enabled.
func (t *Tx) HasExtension(alias string) bool {
	_, known := extensions()[alias]
	return known && !slices.Contains(t.Options.WithoutExtensions, alias)
}

func extensionView(alias string) any {
	return map[string]any{"alias": alias, "name": extensions()[alias], "description": extensions()[alias] + ".",
		"updated": "2013-02-01T10:00:00-00:00", "links": []any{}}
}

func (t *Tx) listExtensions() (any, error) {
	out := []any{}
	for _, alias := range core.SortedKeys(extensions()) {
		if t.HasExtension(alias) {
			out = append(out, extensionView(alias))
		}
	}
	return map[string]any{"extensions": out}, nil
}

func (t *Tx) showExtension() (any, error) {
	alias := t.Call.Params["id"]
	if !t.HasExtension(alias) {
		return nil, core.Refuse(http.StatusNotFound, "ExtensionNotFound", "Extension with alias %s does not exist", alias)
	}
	return map[string]any{"extension": extensionView(alias)}, nil
}

func (t *Tx) showNetworkQuota() (any, error) {
	if !t.Call.May(t.Call.Params["id"]) {
		return nil, core.Refuse(http.StatusForbidden, "PolicyNotAuthorized", "rule:get_quota is disallowed by policy")
	}
	out := map[string]int{"network": 100, "subnet": 100, "router": 10, "subnetpool": -1, "rbac_policy": 10, "trunk": -1}
	for _, name := range []string{core.QuotaPorts, core.QuotaFloatingIPs, core.QuotaGroups, core.QuotaRules} {
		out[name] = t.Options.Quotas[name]
	}
	return map[string]any{"quota": out}, nil
}

// NewNetwork creates a network without subnets. The simulated API cannot create networks and subnets.
func (t *Tx) NewNetwork(project, name string, external bool) *Network {
	n := &Network{Base: t.newBase(project, name), AdminStateUp: true, Status: "ACTIVE", External: external,
		MTU: 1450, Subnets: []string{}, PortSecurity: true, Zones: []string{"nova"}, ZoneHints: []string{}}
	t.Networks[n.ID] = n
	return n
}

// NewSubnet creates a subnet of a network.
func (t *Tx) NewSubnet(n *Network, name string, p netip.Prefix) *Subnet {
	gateway := p.Addr().Next()
	last := LastOf(p)
	if p.Addr().Is4() {
		last = last.Prev() // The broadcast address is reserved.
	}
	s := &Subnet{
		Base: t.newBase(n.Project, name), Network: n.ID, CIDR: p.String(), Version: 4, Gateway: new(gateway.String()),
		DHCP: !n.External, Nameservers: []string{}, HostRoutes: []Route{}, ServiceTypes: []string{},
		prefix: p, first: gateway.Next(), last: last, next: gateway.Next(),
	}
	if p.Addr().Is6() {
		s.Version, s.RAMode, s.AddressMode = 6, new("slaac"), new("slaac")
	}
	s.Pools = []addressRange{{Start: s.first.String(), End: s.last.String()}}
	t.Subnets[s.ID], t.Used[s.ID] = s, map[netip.Addr]bool{}
	n.Subnets = append(n.Subnets, s.ID)
	return s
}

// LastOf returns the last address of a network.
func LastOf(p netip.Prefix) netip.Addr {
	bytes := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// AllocateIP allocates an address of the subnet: the requested one, or any if want is not valid.
func (t *Tx) AllocateIP(s *Subnet, want netip.Addr) (netip.Addr, error) {
	used := t.Used[s.ID]
	if want.IsValid() {
		switch {
		case !s.Contains(want) || s.isReserved(want):
			return want, badRequest("InvalidIpForSubnet", "IP address %s is not a valid IP for the specified subnet.", want)
		case used[want] || s.Gateway != nil && *s.Gateway == want.String():
			return want, conflict("IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", want, s.ID)
		}
		used[want] = true
		return want, nil
	}
	start := s.next
	for ip := start; ; {
		next := ip.Next()
		if next.Compare(s.last) > 0 {
			next = s.first
		}
		if !used[ip] {
			used[ip], s.next = true, next
			return ip, nil
		}
		if ip = next; ip == start {
			return ip, conflict("IpAddressGenerationFailure", "No more IP addresses available on network %s.", s.Network)
		}
	}
}

// SubnetsOf returns the subnets of a network with an IP version, or with any for version 0.
func (t *Tx) SubnetsOf(network string, version int) []*Subnet {
	return core.Only(core.BySeq(t.Subnets), func(s *Subnet) bool {
		return s.Network == network && (version == 0 || s.Version == version)
	})
}

// Contains reports whether an address belongs to the subnet.
func (s *Subnet) Contains(ip netip.Addr) bool { return s.prefix.Contains(ip) }

// isReserved reports whether an address is the first one of the subnet or its broadcast address.
func (s *Subnet) isReserved(ip netip.Addr) bool {
	isLast := ip.Is4() && !s.prefix.Contains(ip.Next())
	return s.prefix.Bits() < ip.BitLen()-1 && (isLast || ip == s.prefix.Masked().Addr())
}

// External returns the network of floating IPs.
func (t *Tx) External() *Network {
	for _, n := range core.BySeq(t.Networks) {
		if n.External {
			return n
		}
	}
	return nil
}

// Overlaps reports whether the subnet has addresses of a network.
func (s *Subnet) Overlaps(p netip.Prefix) bool { return s.prefix.Overlaps(p) }
