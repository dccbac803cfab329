package sim

import (
	"encoding/json"
	"net/netip"
)

type floatingIP struct {
	neutronObject
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

func floatingIPOperations() []operation {
	r := neutronResource("FloatingIP", "floatingip", "floatingips",
		func(t *tx) map[string]*floatingIP { return t.addresses }, (*tx).floatingIP)
	return r.operations(
		create("CreateFloatingIP", "floatingips", (*tx).createFloatingIP),
		change("UpdateFloatingIP", "floatingips/{id}", (*tx).updateFloatingIP),
		remove("DeleteFloatingIP", "floatingips/{id}", func(t *tx) error {
			f, err := r.get(t)
			if err != nil {
				return err
			}
			if err := t.ifMatch(&f.neutronObject); err != nil {
				return err
			}
			t.releaseFloatingIP(f)
			return nil
		}),
	)
}

func (t *tx) floatingIP(id string) (*floatingIP, error) {
	return lookup(t, t.addresses, id, missing("FloatingIP"))
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

// portOf reads the port that a request gives; given is false if it says nothing of one.
func (in floatingIPInput) portOf() (id string, given bool) {
	if len(in.Port) == 0 {
		return "", false
	}
	// Null leaves the ID empty, and so does what is no text, which no port has as its ID.
	_ = json.Unmarshal(in.Port, &id)
	return id, true
}

func (t *tx) createFloatingIP() (any, error) {
	in, err := decode[floatingIPInput](t, "floatingip")
	if err != nil {
		return nil, err
	}
	n := t.networks[in.Network]
	switch {
	case n == nil || !t.seesNetwork(n):
		return nil, notFound("Network", in.Network)
	case !n.External:
		return nil, badRequest("BadRequest", "Bad floatingip request: Network %s is not a valid external network.", n.ID)
	case in.Address != "" && !t.call.admin():
		return nil, refuse(403, "PolicyNotAuthorized",
			"(rule:create_floatingip and rule:create_floatingip:floating_ip_address) is disallowed by policy")
	}
	used := 0
	for _, f := range t.addresses {
		if f.Project == t.call.project() {
			used++
		}
	}
	if err := t.overQuota(QuotaFloatingIPs, used, 1); err != nil {
		return nil, err
	}
	portID, _ := in.portOf()
	if err := t.checkAssociation(n.ID, portID, in.Fixed, nil); err != nil {
		return nil, err
	}
	f, err := t.allocate(t.call.project(), n, in.Subnet, in.Address)
	if err != nil {
		return nil, err
	}
	set(&f.Description, in.Description)
	if portID != "" {
		t.attach(f, t.ports[portID], in.Fixed)
	}
	return map[string]any{"floatingip": f}, nil
}

// allocate takes an address of the external network: of the requested subnet, if any.
func (t *tx) allocate(project string, n *network, subnetID, address string) (*floatingIP, error) {
	candidates := t.subnetsOf(n.ID, 4)
	if subnetID != "" {
		s := t.subnets[subnetID]
		if s == nil {
			return nil, notFound("Subnet", subnetID)
		}
		if s.Network != n.ID {
			return nil, badRequest("InvalidInput",
				"Invalid input for operation: Failed to create port on network %s, because fixed_ips included invalid subnet %s.",
				n.ID, s.ID)
		}
		candidates = []*subnet{s}
	}
	var want netip.Addr
	if address != "" {
		var err error
		if want, err = netip.ParseAddr(address); err != nil {
			return nil, badRequest("HTTPBadRequest",
				"Invalid input for floating_ip_address. Reason: '%s' is not a valid IP address.", address)
		}
		candidates = only(candidates, func(s *subnet) bool { return s.prefix.Contains(want) })
		if len(candidates) == 0 {
			return nil, badRequest("InvalidIpForNetwork",
				"IP address %s is not a valid IP for any of the subnets on the specified network.", address)
		}
	}
	if len(candidates) == 0 {
		return nil, badRequest("BadRequest", "Bad floatingip request: Network %s does not contain any IPv4 subnet.", n.ID)
	}
	var err error
	for _, s := range candidates {
		var ip netip.Addr
		if ip, err = t.allocateIP(s, want); err == nil {
			f := &floatingIP{neutronObject: t.newNeutron(project, ip.String()), Network: n.ID, Address: ip.String(),
				Status: statusDown, Forwardings: []any{}, subnet: s.ID}
			t.addresses[f.ID] = f
			return f, nil
		}
	}
	return nil, err
}

// checkAssociation returns an error unless a floating IP of the network can be associated with a port.
func (t *tx) checkAssociation(external, portID, fixed string, self *floatingIP) error {
	if portID == "" {
		return nil
	}
	p, err := t.port(portID)
	if err != nil {
		return err
	}
	f, err := t.fixedOf(p, fixed)
	if err != nil {
		return err
	}
	if t.routerTo(external, f.Subnet) == nil {
		return refuse(404, "ExternalGatewayForFloatingIPNotFound",
			"External network %s is not reachable from subnet %s.  Therefore, cannot associate Port %s with a Floating IP.",
			external, f.Subnet, p.ID)
	}
	for _, other := range t.addresses {
		if other != self && other.Port != nil && *other.Port == p.ID && *other.Fixed == f.Address {
			return conflict("FloatingIPPortAlreadyAssociated",
				"Cannot associate floating IP %s (%s) with port %s using fixed IP %s, as that fixed IP already has a floating "+
					"IP on external network %s.",
				external, external, p.ID, f.Address, external)
		}
	}
	return nil
}

// fixedOf returns the IPv4 address of a port that a floating IP leads to.
func (t *tx) fixedOf(p *port, fixed string) (fixedIP, error) {
	for _, f := range p.FixedIPs {
		if t.subnets[f.Subnet].Version == 4 && (fixed == "" || fixed == f.Address) {
			return f, nil
		}
	}
	if fixed != "" {
		return fixedIP{}, badRequest("BadRequest", "Bad floatingip request: Port %s does not have fixed ip %s.", p.ID, fixed)
	}
	return fixedIP{}, badRequest("BadRequest",
		"Bad floatingip request: Cannot add floating IP to port %s that has no fixed IPv4 addresses.", p.ID)
}

func (t *tx) attach(f *floatingIP, p *port, fixed string) {
	at, err := t.fixedOf(p, fixed)
	if err != nil {
		return // Checked before.
	}
	id, r := p.ID, t.routerTo(f.Network, at.Subnet)
	f.Port, f.Fixed, f.Status = &id, &at.Address, statusActive
	if r != nil {
		f.Router = &r.ID
	}
	f.Details = map[string]any{"name": p.Name, "network_id": p.Network, "mac_address": p.MAC,
		"admin_state_up": p.AdminStateUp,
		"status":         p.Status, "device_id": p.DeviceID, "device_owner": p.DeviceOwner}
	t.markUpdated(&f.neutronObject)
}

func (t *tx) detach(f *floatingIP) {
	f.Port, f.Fixed, f.Router, f.Details, f.Status = nil, nil, nil, nil, statusDown
	t.markUpdated(&f.neutronObject)
}

func (t *tx) updateFloatingIP() (any, error) {
	f, err := t.floatingIP(t.call.params["id"])
	if err != nil {
		return nil, err
	}
	in, err := decode[floatingIPInput](t, "floatingip")
	if err != nil {
		return nil, err
	}
	if err := t.ifMatch(&f.neutronObject); err != nil {
		return nil, err
	}
	portID, given := in.portOf()
	if err := t.checkAssociation(f.Network, portID, in.Fixed, f); err != nil {
		return nil, err
	}
	set(&f.Description, in.Description)
	switch {
	case portID != "":
		t.attach(f, t.ports[portID], in.Fixed)
	case given:
		t.detach(f)
	default:
		t.markUpdated(&f.neutronObject)
	}
	return map[string]any{"floatingip": f}, nil
}

func (t *tx) releaseFloatingIP(f *floatingIP) {
	if ip, err := netip.ParseAddr(f.Address); err == nil {
		delete(t.used[f.subnet], ip)
	}
	delete(t.addresses, f.ID)
}
