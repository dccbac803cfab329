package neutron

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// Owners of ports.
const (
	OwnerLoadBalancer = "Octavia"
	ownerInterface    = "network:router_interface"
	OwnerCompute      = "compute:"
)

// Statuses of ports and of other objects.
const (
	StatusActive = "ACTIVE"
	StatusDown   = "DOWN"
)

func (t *Tx) port(id string) (*Port, error) { return lookup(t, t.Ports, id, errMissing("Port")) }

// matchesFixedIPs reports whether a port has one of the addresses and one of the subnets of a query, at the same or at
// different IPs.
func matchesFixedIPs(p *Port, values []string) bool {
	wanted := map[string][]string{}
	for _, v := range values {
		name, value, _ := strings.Cut(v, "=")
		wanted[name] = append(wanted[name], value)
	}
	for name, options := range wanted {
		if !slices.ContainsFunc(p.FixedIPs, func(f FixedIP) bool {
			switch name {
			case "ip_address":
				return slices.Contains(options, f.Address)
			case "ip_address_substr":
				return slices.ContainsFunc(options, func(o string) bool { return strings.Contains(f.Address, o) })
			}
			return name == "subnet_id" && slices.Contains(options, f.Subnet)
		}) {
			return false
		}
	}
	return true
}

// portInput has the fields of a create or update request; nil fields are unset.
type portInput struct {
	Name         *string          `json:"name"`
	Description  *string          `json:"description"`
	Network      string           `json:"network_id"`
	AdminStateUp *bool            `json:"admin_state_up"`
	FixedIPs     *[]FixedIP       `json:"fixed_ips"`
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

func (t *Tx) createPort() (any, error) {
	in, err := core.Decode[portInput](t.Base(), "port")
	if err != nil {
		return nil, err
	}
	n, err := t.network(in.Network)
	if err != nil {
		return nil, err
	}
	if err := checkQuota(t, core.QuotaPorts, t.Ports, 1); err != nil {
		return nil, err
	}
	var wanted []FixedIP
	if in.FixedIPs != nil {
		wanted = *in.FixedIPs
	}
	if err := t.checkPort(in); err != nil {
		return nil, err
	}
	p, err := t.NewPort(t.Call.Project(), "", n, wanted)
	if err != nil {
		return nil, err
	}
	t.applyPort(p, in)
	if in.Groups == nil && p.PortSecurity {
		p.Groups = []string{t.DefaultGroup(p.Project).ID}
	}
	return map[string]any{"port": p}, nil
}

// NewPort creates a port with the requested addresses, or one of each IP version of the network.
func (t *Tx) NewPort(project, name string, n *Network, wanted []FixedIP) (*Port, error) {
	if wanted == nil {
		for _, version := range []int{4, 6} {
			if s := t.SubnetsOf(n.ID, version); len(s) > 0 {
				wanted = append(wanted, FixedIP{Subnet: s[0].ID})
			}
		}
	}
	p := &Port{Network: n.ID, AdminStateUp: true, Status: StatusDown, FixedIPs: []FixedIP{}, Pairs: []addressPair{},
		Groups: []string{}, PortSecurity: true, VNICType: "normal", DHCPOptions: []any{}}
	for _, w := range wanted {
		f, err := t.allocateFixedIP(n, w)
		if err != nil {
			t.releaseAddresses(p.FixedIPs)
			return nil, err
		}
		p.FixedIPs = append(p.FixedIPs, f)
	}
	p.Base = t.newBase(project, name)
	r := t.Random.Uint64()
	p.MAC = fmt.Sprintf("fa:16:3e:%02x:%02x:%02x", byte(r), byte(r>>8), byte(r>>16))
	t.Ports[p.ID] = p
	return p, nil
}

// allocateFixedIP allocates an address by subnet, by address, or by both.
func (t *Tx) allocateFixedIP(n *Network, want FixedIP) (FixedIP, error) {
	var ip netip.Addr
	if want.Address != "" {
		var err error
		if ip, err = netip.ParseAddr(want.Address); err != nil {
			return want, badRequest("HTTPBadRequest", "Invalid input for fixed_ips. Reason: '%s' is not a valid IP address.",
				want.Address)
		}
	}
	candidates := t.SubnetsOf(n.ID, 0)
	if want.Subnet != "" {
		s := t.Subnets[want.Subnet]
		if s == nil {
			return want, notFound("Subnet", want.Subnet)
		}
		if s.Network != n.ID {
			return want, errSubnetOfOtherNetwork(n, s)
		}
		candidates = []*Subnet{s}
	}
	for _, s := range candidates {
		if ip.IsValid() && want.Subnet == "" && !s.Contains(ip) {
			continue
		}
		got, err := t.AllocateIP(s, ip)
		if err != nil {
			return want, err
		}
		return FixedIP{Subnet: s.ID, Address: got.String()}, nil
	}
	return want, errAddressOfOtherNetwork(want.Address)
}

func errSubnetOfOtherNetwork(n *Network, s *Subnet) error {
	return badRequest("InvalidInput",
		"Invalid input for operation: Failed to create port on network %s, because fixed_ips included invalid subnet %s.",
		n.ID, s.ID)
}

func errAddressOfOtherNetwork(address string) error {
	return badRequest("InvalidIpForNetwork",
		"IP address %s is not a valid IP for any of the subnets on the specified network.", address)
}

func (t *Tx) releaseAddresses(list []FixedIP) {
	for _, f := range list {
		if ip, err := netip.ParseAddr(f.Address); err == nil {
			delete(t.Used[f.Subnet], ip)
		}
	}
}

// RemovePort deletes a port; floating IPs at it are detached.
func (t *Tx) RemovePort(p *Port) {
	t.releaseAddresses(p.FixedIPs)
	delete(t.Ports, p.ID)
	for _, f := range t.Addresses {
		if f.Port != nil && *f.Port == p.ID {
			t.detach(f)
		}
	}
}

func (t *Tx) detach(f *FloatingIP) {
	f.Port, f.Fixed, f.Router, f.Details, f.Status = nil, nil, nil, nil, StatusDown
	t.MarkUpdated(&f.Base)
}

func (t *Tx) updatePort(p *Port, in portInput) error {
	if in.Network != "" || in.Project != "" || in.Tenant != "" {
		return badRequest("HTTPBadRequest", "Cannot update read-only attribute network_id")
	}
	if err := t.checkPort(in); err != nil {
		return err
	}
	if err := p.checkSecurity(in); err != nil {
		return err
	}
	if in.FixedIPs != nil {
		if err := t.replaceFixedIPs(p, *in.FixedIPs); err != nil {
			return err
		}
	}
	t.applyPort(p, in)
	t.MarkUpdated(&p.Base)
	return nil
}

// checkSecurity rejects security groups and address pairs on a port without port security.
func (p *Port) checkSecurity(in portInput) error {
	secure := p.PortSecurity
	if in.PortSecurity != nil {
		secure = *in.PortSecurity
	}
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

// replaceFixedIPs replaces a port's addresses; existing ones that stay keep their allocation.
func (t *Tx) replaceFixedIPs(p *Port, wanted []FixedIP) error {
	kept, added := []FixedIP{}, []FixedIP{}
	for _, w := range wanted {
		if i := slices.IndexFunc(p.FixedIPs, func(f FixedIP) bool {
			return (w.Address == "" || w.Address == f.Address) && (w.Subnet == "" || w.Subnet == f.Subnet) &&
				!slices.Contains(kept, f)
		}); i >= 0 {
			kept = append(kept, p.FixedIPs[i])
			continue
		}
		f, err := t.allocateFixedIP(t.Networks[p.Network], w)
		if err != nil {
			t.releaseAddresses(added)
			return err
		}
		added = append(added, f)
	}
	t.releaseAddresses(core.Only(p.FixedIPs, func(f FixedIP) bool { return !slices.Contains(kept, f) }))
	p.FixedIPs = append(kept, added...)
	return nil
}

// checkPort checks the security groups and the address pairs of a request.
func (t *Tx) checkPort(in portInput) error {
	if in.Groups != nil {
		for _, id := range *in.Groups {
			if _, err := t.group(id); err != nil {
				return err
			}
		}
	}
	if in.Pairs == nil {
		return nil
	}
	if !t.HasExtension("allowed-address-pairs") {
		return core.BadBody(core.ServiceNetwork, "Unrecognized attribute(s) 'allowed_address_pairs'")
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

func (t *Tx) applyPort(p *Port, in portInput) {
	core.Assign(p, in)
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
