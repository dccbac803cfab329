package sim

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

type fixedIP struct {
	Subnet  string `json:"subnet_id"`
	Address string `json:"ip_address"`
}

type addressPair struct {
	MAC     string `json:"mac_address"`
	Address string `json:"ip_address"`
}

type subPort struct {
	Port             string `json:"port_id"`
	MAC              string `json:"mac_address"`
	SegmentationType string `json:"segmentation_type"`
	Segmentation     int    `json:"segmentation_id"`
}

type trunkDetails struct {
	ID       string    `json:"trunk_id"`
	SubPorts []subPort `json:"sub_ports"`
}

type port struct {
	neutronObject
	Network      string         `json:"network_id"`
	MAC          string         `json:"mac_address"`
	AdminStateUp bool           `json:"admin_state_up"`
	Status       string         `json:"status"`
	DeviceID     string         `json:"device_id"`
	DeviceOwner  string         `json:"device_owner"`
	FixedIPs     []fixedIP      `json:"fixed_ips"`
	Pairs        []addressPair  `json:"allowed_address_pairs"`
	Groups       []string       `json:"security_groups"`
	PortSecurity bool           `json:"port_security_enabled"`
	VNICType     string         `json:"binding:vnic_type"`
	DHCPOptions  []any          `json:"extra_dhcp_opts"`
	QoS          *string        `json:"qos_policy_id"`
	Trunk        *trunkDetails  `json:"trunk_details,omitempty"`
	DNSName      string         `json:"dns_name,omitempty"`
	Profile      map[string]any `json:"binding:profile,omitempty"`
}

const (
	ownerLoadBalancer = "Octavia"
	ownerInterface    = "network:router_interface"
	ownerCompute      = "compute:"
)

const (
	statusActive = "ACTIVE"
	statusDown   = "DOWN"
)

func portOperations() []operation {
	r := neutronResource("Port", "port", "ports", func(t *tx) map[string]*port { return t.ports }, (*tx).port)
	r.filters = map[string]filter[*port]{"fixed_ips": matchesFixedIPs}
	return r.operations(
		create("CreatePort", "ports", (*tx).createPort),
		change("UpdatePort", "ports/{id}", (*tx).updatePort),
		remove("DeletePort", "ports/{id}", func(t *tx) error {
			p, err := t.port(t.call.params["id"])
			if err != nil {
				return err
			}
			if err := t.ifMatch(&p.neutronObject); err != nil {
				return err
			}
			if strings.HasPrefix(p.DeviceOwner, "network:router") {
				return conflict("ServicePortInUse", "Port %s cannot be deleted directly via the port API: has device owner %s.",
					p.ID, p.DeviceOwner)
			}
			t.removePort(p)
			return nil
		}),
	)
}

func (t *tx) port(id string) (*port, error) { return lookup(t, t.ports, id, missing("Port")) }

// matchesFixedIPs reports whether the port has one of the addresses and one of the subnets that are named, on whichever
// of its IPs.
func matchesFixedIPs(p *port, values []string) bool {
	wanted := map[string][]string{}
	for _, v := range values {
		name, value, _ := strings.Cut(v, "=")
		wanted[name] = append(wanted[name], value)
	}
	for name, options := range wanted {
		if !slices.ContainsFunc(p.FixedIPs, func(f fixedIP) bool {
			switch name {
			case "ip_address":
				return contains(options, f.Address)
			case "ip_address_substr":
				return slices.ContainsFunc(options, func(o string) bool { return strings.Contains(f.Address, o) })
			}
			return name == "subnet_id" && contains(options, f.Subnet)
		}) {
			return false
		}
	}
	return true
}

// portInput is what a create or an update may give; what is nil is not given.
type portInput struct {
	Name         *string          `json:"name"`
	Description  *string          `json:"description"`
	Network      string           `json:"network_id"`
	AdminStateUp *bool            `json:"admin_state_up"`
	FixedIPs     *[]fixedIP       `json:"fixed_ips"`
	DeviceID     *string          `json:"device_id"`
	DeviceOwner  *string          `json:"device_owner"`
	Project      string           `json:"project_id"`
	Tenant       string           `json:"tenant_id"`
	Groups       *[]string        `json:"security_groups"`
	Pairs        *[]addressPair   `json:"allowed_address_pairs"`
	PortSecurity *bool            `json:"port_security_enabled"`
	MAC          string           `json:"mac_address"`
	DNSName      *string          `json:"dns_name"`
	VNICType     *string          `json:"binding:vnic_type"`
	QoS          *json.RawMessage `json:"qos_policy_id"`
}

func (t *tx) createPort() (any, error) {
	in, err := decode[portInput](t, "port")
	if err != nil {
		return nil, err
	}
	n, err := t.network(in.Network)
	if err != nil {
		return nil, err
	}
	if err := t.overQuota(QuotaPorts, t.portsOf(t.call.project()), 1); err != nil {
		return nil, err
	}
	var wanted []fixedIP
	if in.FixedIPs != nil {
		wanted = *in.FixedIPs
	}
	if err := t.checkPort(in); err != nil {
		return nil, err
	}
	p, err := t.newPort(t.call.project(), "", n, wanted)
	if err != nil {
		return nil, err
	}
	t.applyPort(p, in)
	if in.Groups == nil && p.PortSecurity {
		p.Groups = []string{t.defaultGroup(p.Project).ID}
	}
	return map[string]any{"port": p}, nil
}

func (t *tx) portsOf(project string) int {
	n := 0
	for _, p := range t.ports {
		if p.Project == project {
			n++
		}
	}
	return n
}

// newPort makes a port with the requested addresses, or one of each IP version that the network has.
func (t *tx) newPort(project, name string, n *network, wanted []fixedIP) (*port, error) {
	if wanted == nil {
		for _, version := range []int{4, 6} {
			if s := t.subnetsOf(n.ID, version); len(s) > 0 {
				wanted = append(wanted, fixedIP{Subnet: s[0].ID})
			}
		}
	}
	p := &port{Network: n.ID, AdminStateUp: true, Status: statusDown, FixedIPs: []fixedIP{}, Pairs: []addressPair{},
		Groups:       []string{},
		PortSecurity: true, VNICType: "normal", DHCPOptions: []any{}}
	for _, w := range wanted {
		f, err := t.allocateFixedIP(n, w)
		if err != nil {
			t.releaseAddresses(p)
			return nil, err
		}
		p.FixedIPs = append(p.FixedIPs, f)
	}
	p.neutronObject = t.newNeutron(project, name)
	r := t.cloud.random.Uint64()
	p.MAC = "fa:16:3e:" + hexByte(r) + ":" + hexByte(r>>8) + ":" + hexByte(r>>16)
	t.ports[p.ID] = p
	return p, nil
}

func hexByte(n uint64) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[n>>4&15], digits[n&15]})
}

// allocateFixedIP reserves an address by subnet, by address, or by both.
func (t *tx) allocateFixedIP(n *network, want fixedIP) (fixedIP, error) {
	var ip netip.Addr
	if want.Address != "" {
		var err error
		if ip, err = netip.ParseAddr(want.Address); err != nil {
			return want, badRequest("HTTPBadRequest", "Invalid input for fixed_ips. Reason: '%s' is not a valid IP address.",
				want.Address)
		}
	}
	candidates := t.subnetsOf(n.ID, 0)
	if want.Subnet != "" {
		s := t.subnets[want.Subnet]
		if s == nil {
			return want, notFound("Subnet", want.Subnet)
		}
		if s.Network != n.ID {
			return want, badRequest("InvalidInput",
				"Invalid input for operation: Failed to create port on network %s, because fixed_ips included invalid subnet %s.",
				n.ID, s.ID)
		}
		candidates = []*subnet{s}
	}
	for _, s := range candidates {
		if ip.IsValid() && want.Subnet == "" && !s.prefix.Contains(ip) {
			continue
		}
		got, err := t.allocateIP(s, ip)
		if err != nil {
			return want, err
		}
		return fixedIP{Subnet: s.ID, Address: got.String()}, nil
	}
	return want, badRequest("InvalidIpForNetwork",
		"IP address %s is not a valid IP for any of the subnets on the specified network.", want.Address)
}

func (t *tx) releaseAddresses(p *port) {
	for _, f := range p.FixedIPs {
		if ip, err := netip.ParseAddr(f.Address); err == nil {
			delete(t.used[f.Subnet], ip)
		}
	}
}

// removePort deletes a port; floating IPs at it are detached.
func (t *tx) removePort(p *port) {
	t.releaseAddresses(p)
	delete(t.ports, p.ID)
	for _, f := range t.addresses {
		if f.Port != nil && *f.Port == p.ID {
			t.detach(f)
		}
	}
}

func (t *tx) updatePort() (any, error) {
	p, err := t.port(t.call.params["id"])
	if err != nil {
		return nil, err
	}
	in, err := decode[portInput](t, "port")
	if err != nil {
		return nil, err
	}
	if err := t.ifMatch(&p.neutronObject); err != nil {
		return nil, err
	}
	if in.Network != "" || in.Project != "" || in.Tenant != "" {
		return nil, badRequest("HTTPBadRequest", "Cannot update read-only attribute network_id")
	}
	if err := t.checkPort(in); err != nil {
		return nil, err
	}
	if err := p.checkSecurity(in); err != nil {
		return nil, err
	}
	if in.FixedIPs != nil {
		if err := t.replaceFixedIPs(p, *in.FixedIPs); err != nil {
			return nil, err
		}
	}
	t.applyPort(p, in)
	t.markUpdated(&p.neutronObject)
	return map[string]any{"port": p}, nil
}

// checkSecurity refuses security groups and address pairs on a port without port security.
func (p *port) checkSecurity(in portInput) error {
	secure := p.PortSecurity
	set(&secure, in.PortSecurity)
	if !secure && (in.Groups != nil && len(*in.Groups) > 0 || in.Groups == nil && len(p.Groups) > 0) {
		return conflict("PortSecurityPortHasSecurityGroup",
			"Port has security group associated. Cannot disable port security or IP address until security group is removed.")
	}
	if !secure && in.Pairs != nil && len(*in.Pairs) > 0 {
		return conflict("AddressPairAndPortSecurityRequired",
			"Port Security must be enabled in order to have allowed address pairs on a port.")
	}
	return nil
}

// replaceFixedIPs replaces a port's addresses; those that it has and keeps stay.
func (t *tx) replaceFixedIPs(p *port, wanted []fixedIP) error {
	kept, fresh := []fixedIP{}, &port{}
	for _, w := range wanted {
		if i := slices.IndexFunc(p.FixedIPs, func(f fixedIP) bool {
			return (w.Address == "" || w.Address == f.Address) && (w.Subnet == "" || w.Subnet == f.Subnet) &&
				!slices.Contains(kept, f)
		}); i >= 0 {
			kept = append(kept, p.FixedIPs[i])
			continue
		}
		f, err := t.allocateFixedIP(t.networks[p.Network], w)
		if err != nil {
			t.releaseAddresses(fresh)
			return err
		}
		fresh.FixedIPs = append(fresh.FixedIPs, f)
	}
	removed := &port{FixedIPs: only(slices.Clone(p.FixedIPs), func(f fixedIP) bool { return !slices.Contains(kept, f) })}
	t.releaseAddresses(removed)
	p.FixedIPs = append(kept, fresh.FixedIPs...)
	return nil
}

// checkPort checks references of a port.
func (t *tx) checkPort(in portInput) error {
	if in.Groups != nil {
		for _, id := range *in.Groups {
			if g := t.groups[id]; g == nil || !t.call.may(g.Project) {
				return refuse(http.StatusNotFound, "SecurityGroupNotFound", "Security group %s does not exist", id)
			}
		}
	}
	if in.Pairs == nil {
		return nil
	}
	if !t.hasExtension("allowed-address-pairs") {
		return badBody(serviceNetwork, "Unrecognized attribute(s) 'allowed_address_pairs'")
	}
	seen := map[addressPair]bool{}
	for _, pair := range *in.Pairs {
		_, errPrefix := netip.ParsePrefix(pair.Address)
		_, errAddr := netip.ParseAddr(pair.Address)
		if errPrefix != nil && errAddr != nil {
			return badRequest("HTTPBadRequest", "'%s' is not a valid IP address", pair.Address)
		}
		if seen[pair] {
			return badRequest("DuplicateAddressPairInRequest",
				"Request contains duplicate address pair: mac_address %s ip_address %s.", pair.MAC, pair.Address)
		}
		seen[pair] = true
	}
	return nil
}

func (t *tx) applyPort(p *port, in portInput) {
	set(&p.Name, in.Name)
	set(&p.Description, in.Description)
	set(&p.AdminStateUp, in.AdminStateUp)
	set(&p.DeviceID, in.DeviceID)
	set(&p.DeviceOwner, in.DeviceOwner)
	set(&p.PortSecurity, in.PortSecurity)
	set(&p.DNSName, in.DNSName)
	set(&p.VNICType, in.VNICType)
	if in.Groups != nil {
		p.Groups = append([]string{}, *in.Groups...)
	}
	if in.Pairs != nil {
		p.Pairs = append([]addressPair{}, *in.Pairs...)
		for i := range p.Pairs {
			if p.Pairs[i].MAC == "" {
				p.Pairs[i].MAC = p.MAC
			}
		}
	}
}

// set sets a field if the request gives a value.
func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// ifMatch rejects a change with another revision of an object.
func (t *tx) ifMatch(n *neutronObject) error {
	want := t.call.header.Get("If-Match")
	if want == "" || !t.hasExtension("revision-if-match") {
		return nil
	}
	number, ok := strings.CutPrefix(want, "revision_number=")
	if !ok {
		return badRequest("HTTPBadRequest", "The 'If-Match' header must be of the form 'revision_number=X'")
	}
	if have := itoa(n.Revision); number != have {
		return refuse(http.StatusPreconditionFailed, "RevisionNumberConstraintFailed",
			"Constrained to %s, but current revision is %s", number, have)
	}
	return nil
}
