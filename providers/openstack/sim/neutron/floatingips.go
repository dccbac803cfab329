package neutron

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

func (t *Tx) floatingIP(id string) (*FloatingIP, error) {
	return lookup(t, t.Addresses, id, errMissing("FloatingIP"))
}

type floatingIPInput struct {
	Network     string  `json:"floating_network_id"`
	Subnet      string  `json:"subnet_id"`
	Address     string  `json:"floating_ip_address"`
	Fixed       string  `json:"fixed_ip_address"`
	Description *string `json:"description"`
	Project     string  `json:"project_id"`
	Tenant      string  `json:"tenant_id"`
	// Port is absent, null or an ID.
	Port json.RawMessage `json:"port_id"`
}

// port returns the ID of the port in a request; isSet is false if the request has no port, not even null.
func (in floatingIPInput) port() (id string, isSet bool) {
	if len(in.Port) == 0 {
		return "", false
	}
	// Null leaves the ID empty, and so does a value that is not a text, which no port has as its ID.
	_ = json.Unmarshal(in.Port, &id)
	return id, true
}

func (t *Tx) createFloatingIP() (any, error) {
	in, err := core.Decode[floatingIPInput](t.Base(), "floatingip")
	if err != nil {
		return nil, err
	}
	n := t.Networks[in.Network]
	switch {
	case n == nil || !t.SeesNetwork(n):
		return nil, notFound("Network", in.Network)
	case !n.External:
		return nil, badRequest("BadRequest", "Bad floatingip request: Network %s is not a valid external network.", n.ID)
	case in.Address != "" && !t.Call.Admin():
		return nil, core.Refuse(http.StatusForbidden, "PolicyNotAuthorized",
			"(rule:create_floatingip and rule:create_floatingip:floating_ip_address) is disallowed by policy")
	}
	if err := checkQuota(t, core.QuotaFloatingIPs, t.Addresses, 1); err != nil {
		return nil, err
	}
	portID, _ := in.port()
	if err := t.checkAssociation(n.ID, portID, in.Fixed, nil); err != nil {
		return nil, err
	}
	f, err := t.Allocate(t.Call.Project(), n, in.Subnet, in.Address)
	if err != nil {
		return nil, err
	}
	core.Assign(f, in)
	if portID != "" {
		t.Attach(f, t.Ports[portID], in.Fixed)
	}
	return map[string]any{"floatingip": f}, nil
}

// Allocate allocates an address of the external network: of the requested subnet, if any.
func (t *Tx) Allocate(project string, n *Network, subnetID, address string) (*FloatingIP, error) {
	candidates := t.SubnetsOf(n.ID, 4)
	if subnetID != "" {
		s := t.Subnets[subnetID]
		if s == nil {
			return nil, notFound("Subnet", subnetID)
		}
		if s.Network != n.ID {
			return nil, errSubnetOfOtherNetwork(n, s)
		}
		candidates = []*Subnet{s}
	}
	var want netip.Addr
	if address != "" {
		var err error
		if want, err = netip.ParseAddr(address); err != nil {
			return nil, badRequest("HTTPBadRequest",
				"Invalid input for floating_ip_address. Reason: '%s' is not a valid IP address.", address)
		}
		candidates = core.Only(candidates, func(s *Subnet) bool { return s.Contains(want) })
		if len(candidates) == 0 {
			return nil, errAddressOfOtherNetwork(address)
		}
	}
	if len(candidates) == 0 {
		return nil, badRequest("BadRequest", "Bad floatingip request: Network %s does not contain any IPv4 subnet.", n.ID)
	}
	var err error
	for _, s := range candidates {
		var ip netip.Addr
		if ip, err = t.AllocateIP(s, want); err == nil {
			f := &FloatingIP{Base: t.newBase(project, ip.String()), Network: n.ID, Address: ip.String(),
				Status: StatusDown, Forwardings: []any{}, subnet: s.ID}
			t.Addresses[f.ID] = f
			return f, nil
		}
	}
	return nil, err
}

// checkAssociation returns an error unless a floating IP of the network can be associated with a port.
func (t *Tx) checkAssociation(external, portID, fixed string, self *FloatingIP) error {
	if portID == "" {
		return nil
	}
	p, err := t.port(portID)
	if err != nil {
		return err
	}
	f, err := t.fixedIPv4(p, fixed)
	if err != nil {
		return err
	}
	if t.routerTo(external, f.Subnet) == nil {
		return core.Refuse(http.StatusNotFound, "ExternalGatewayForFloatingIPNotFound",
			"External network %s is not reachable from subnet %s.  Therefore, cannot associate Port %s with a Floating IP.",
			external, f.Subnet, p.ID)
	}
	for _, other := range t.Addresses {
		// A port may have one of each external network.
		if other != self && other.Network == external && other.Port != nil && *other.Port == p.ID &&
			*other.Fixed == f.Address {
			return conflict("FloatingIPPortAlreadyAssociated",
				"Cannot associate floating IP %s (%s) with port %s using fixed IP %s, as that fixed IP already has a floating "+
					"IP on external network %s.",
				external, external, p.ID, f.Address, external)
		}
	}
	return nil
}

// fixedIPv4 returns the IPv4 address of a port for a floating IP: the requested one, or the only one.
func (t *Tx) fixedIPv4(p *Port, fixed string) (FixedIP, error) {
	found := core.Only(slices.Clone(p.FixedIPs), func(f FixedIP) bool {
		return t.Subnets[f.Subnet].Version == 4 && (fixed == "" || fixed == f.Address)
	})
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return FixedIP{}, badRequest("BadRequest", "Bad floatingip request: Port %s has multiple fixed IPv4 addresses.  "+
			"Must provide a specific IPv4 address when assigning a floating IP.", p.ID)
	case fixed != "":
		return FixedIP{}, badRequest("BadRequest", "Bad floatingip request: Port %s does not have fixed ip %s.", p.ID, fixed)
	}
	return FixedIP{}, badRequest("BadRequest",
		"Bad floatingip request: Cannot add floating IP to port %s that has no fixed IPv4 addresses.", p.ID)
}

// Attach associates a floating IP with a port. The association was checked.
func (t *Tx) Attach(f *FloatingIP, p *Port, fixed string) {
	address, err := t.fixedIPv4(p, fixed)
	if err != nil {
		return // Checked before.
	}
	f.Port, f.Fixed, f.Status = new(p.ID), &address.Address, StatusActive
	if r := t.routerTo(f.Network, address.Subnet); r != nil {
		f.Router = &r.ID
	}
	f.Details = map[string]any{"name": p.Name, "network_id": p.Network, "mac_address": p.MAC,
		"admin_state_up": p.AdminStateUp, "status": p.Status, "device_id": p.DeviceID, "device_owner": p.DeviceOwner}
	t.MarkUpdated(&f.Base)
}

func (t *Tx) updateFloatingIP(f *FloatingIP, in floatingIPInput) error {
	portID, isSet := in.port()
	if err := t.checkAssociation(f.Network, portID, in.Fixed, f); err != nil {
		return err
	}
	// Neutron checks port forwardings last, when the transaction ends.
	if portID != "" {
		if err := f.checkForwardings(); err != nil {
			return err
		}
	}
	core.Assign(f, in)
	switch {
	case portID != "":
		t.Attach(f, t.Ports[portID], in.Fixed)
	case isSet:
		t.detach(f)
	default:
		t.MarkUpdated(&f.Base)
	}
	return nil
}

// checkForwardings returns an error if ports of the address are forwarded.
func (f *FloatingIP) checkForwardings() error {
	if len(f.Forwardings) == 0 {
		return nil
	}
	return conflict("FipInUseByPortForwarding", "Floating IP %s in use by Port Forwarding resources.", f.ID)
}

func (t *Tx) releaseFloatingIP(f *FloatingIP) {
	if ip, err := netip.ParseAddr(f.Address); err == nil {
		delete(t.Used[f.subnet], ip)
	}
	delete(t.Addresses, f.ID)
}
