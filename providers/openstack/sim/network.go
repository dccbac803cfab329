package sim

import (
	"net/http"
	"net/netip"
	"slices"
)

type network struct {
	neutronObject
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

type subnet struct {
	neutronObject
	Network      string         `json:"network_id"`
	CIDR         string         `json:"cidr"`
	Version      int            `json:"ip_version"`
	Gateway      *string        `json:"gateway_ip"`
	DHCP         bool           `json:"enable_dhcp"`
	Pools        []addressRange `json:"allocation_pools"`
	Nameservers  []string       `json:"dns_nameservers"`
	HostRoutes   []route        `json:"host_routes"`
	RAMode       *string        `json:"ipv6_ra_mode"`
	AddressMode  *string        `json:"ipv6_address_mode"`
	Pool         *string        `json:"subnetpool_id"`
	Segment      *string        `json:"segment_id"`
	ServiceTypes []string       `json:"service_types"`

	prefix      netip.Prefix
	first, last netip.Addr
	cursor      netip.Addr
}

func networkOperations() []operation {
	networks := resource[*network]{
		name: "Network", key: "network", path: "networks",
		list: func(t *tx) ([]*network, error) { return only(byID(t.networks), t.seesNetwork), nil },
		get:  func(t *tx) (*network, error) { return t.network(t.call.params["id"]) },
	}
	subnets := resource[*subnet]{
		name: "Subnet", key: "subnet", path: "subnets",
		list: func(t *tx) ([]*subnet, error) { return only(byID(t.subnets), t.seesSubnet), nil },
		get:  func(t *tx) (*subnet, error) { return t.subnet(t.call.params["id"]) },
	}
	return append(networks.operations(subnets.operations()...),
		read("ListExtensions", "extensions", (*tx).listExtensions),
		read("ShowExtension", "extensions/{id}", (*tx).showExtension),
		read("ShowQuota", "quotas/{id}", (*tx).showNetworkQuota),
	)
}

// notFound is the error of Neutron for an object that does not exist or is not visible to the caller.
func notFound(kind, id string) error {
	return refuse(http.StatusNotFound, kind+"NotFound", "%s %s could not be found.", kind, id)
}

// missing returns a function that returns the error for an object of a kind that does not exist.
func missing(kind string) func(id string) error {
	return func(id string) error { return notFound(kind, id) }
}

func conflict(kind, format string, args ...any) error {
	return refuse(http.StatusConflict, kind, format, args...)
}

func badRequest(kind, format string, args ...any) error {
	return refuse(http.StatusBadRequest, kind, format, args...)
}

func (t *tx) seesNetwork(n *network) bool { return t.call.may(n.Project) || n.Shared || n.External }

func (t *tx) seesSubnet(s *subnet) bool {
	n := t.networks[s.Network]
	return t.call.may(s.Project) || n.Shared || n.External
}

func (t *tx) network(id string) (*network, error) {
	n := t.networks[id]
	if n == nil || !t.seesNetwork(n) {
		return nil, notFound("Network", id)
	}
	return n, nil
}

func (t *tx) subnet(id string) (*subnet, error) {
	s := t.subnets[id]
	if s == nil || !t.seesSubnet(s) {
		return nil, notFound("Subnet", id)
	}
	return s, nil
}

// extensions returns the ones that a controller may look for, and their names.
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

func (t *tx) hasExtension(alias string) bool {
	_, known := extensions()[alias]
	return known && !slices.Contains(t.o.WithoutExtensions, alias)
}

func extensionView(alias string) any {
	return map[string]any{"alias": alias, "name": extensions()[alias], "description": extensions()[alias] + ".",
		"updated": "2013-02-01T10:00:00-00:00", "links": []any{}}
}

func (t *tx) listExtensions() (any, error) {
	out := []any{}
	for _, alias := range sortedKeys(extensions()) {
		if t.hasExtension(alias) {
			out = append(out, extensionView(alias))
		}
	}
	return map[string]any{"extensions": out}, nil
}

func (t *tx) showExtension() (any, error) {
	alias := t.call.params["id"]
	if !t.hasExtension(alias) {
		return nil, refuse(http.StatusNotFound, "ExtensionNotFound", "Extension with alias %s does not exist", alias)
	}
	return map[string]any{"extension": extensionView(alias)}, nil
}

func (t *tx) showNetworkQuota() (any, error) {
	if !t.call.may(t.call.params["id"]) {
		return nil, refuse(http.StatusForbidden, "PolicyNotAuthorized", "rule:get_quota is disallowed by policy")
	}
	out := map[string]int{"network": 100, "subnet": 100, "router": 10, "subnetpool": -1, "rbac_policy": 10, "trunk": -1}
	for _, name := range []string{QuotaPorts, QuotaFloatingIPs, QuotaGroups, QuotaRules} {
		out[name] = t.o.Quotas[name]
	}
	return map[string]any{"quota": out}, nil
}

// overQuota returns an error if n more objects exceed the quota.
func (t *tx) overQuota(name string, used, n int) error {
	if limit := t.o.Quotas[name]; limit >= 0 && used+n > limit && !t.call.admin() {
		return conflict("OverQuota", "Quota exceeded for resources: ['%s'].", name)
	}
	return nil
}

// newNetwork and newSubnet create fixtures; the API cannot create networks.
func (t *tx) newNetwork(project, name string, external bool) *network {
	n := &network{neutronObject: t.newNeutron(project, name), AdminStateUp: true, Status: "ACTIVE", External: external,
		MTU: 1450, Subnets: []string{}, PortSecurity: true, Zones: []string{"nova"}, ZoneHints: []string{}}
	t.networks[n.ID] = n
	return n
}

func (t *tx) newSubnet(n *network, name string, p netip.Prefix) *subnet {
	gateway := p.Addr().Next()
	text := gateway.String()
	last := lastOf(p)
	if p.Addr().Is4() {
		last = last.Prev() // The broadcast address is reserved.
	}
	s := &subnet{neutronObject: t.newNeutron(n.Project, name), Network: n.ID, CIDR: p.String(), Version: 4, Gateway: &text,
		DHCP:        !n.External,
		Nameservers: []string{}, HostRoutes: []route{}, ServiceTypes: []string{}, prefix: p, first: gateway.Next(),
		last: last}
	if p.Addr().Is6() {
		mode := "slaac"
		s.Version, s.RAMode, s.AddressMode = 6, &mode, &mode
	}
	s.Pools = []addressRange{{Start: s.first.String(), End: s.last.String()}}
	s.cursor = s.first
	t.subnets[s.ID], t.used[s.ID] = s, map[netip.Addr]bool{}
	n.Subnets = append(n.Subnets, s.ID)
	return s
}

func lastOf(p netip.Prefix) netip.Addr {
	bytes := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// allocateIP reserves an address of the subnet: the requested one, or any.
func (t *tx) allocateIP(s *subnet, want netip.Addr) (netip.Addr, error) {
	used := t.used[s.ID]
	if want.IsValid() {
		switch {
		case !s.prefix.Contains(want):
			return want, badRequest("InvalidIpForSubnet", "IP address %s is not a valid IP for the specified subnet.", want)
		case used[want] || s.Gateway != nil && *s.Gateway == want.String():
			return want, conflict("IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", want, s.ID)
		}
		used[want] = true
		return want, nil
	}
	start := s.cursor
	for ip := start; ; {
		next := ip.Next()
		if next.Compare(s.last) > 0 {
			next = s.first
		}
		if !used[ip] {
			used[ip], s.cursor = true, next
			return ip, nil
		}
		if ip = next; ip == start {
			return ip, conflict("IpAddressGenerationFailure", "No more IP addresses available on network %s.", s.Network)
		}
	}
}

// subnetsOf returns a network's, those of IPv4 first.
func (t *tx) subnetsOf(network string, version int) []*subnet {
	return only(bySeq(t.subnets), func(s *subnet) bool {
		return s.Network == network &&
			(version == 0 || s.Version == version)
	})
}
