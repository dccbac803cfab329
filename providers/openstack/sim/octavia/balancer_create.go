package octavia

import (
	"cmp"
	"errors"
	"net/http"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
)

type balancerSpec struct {
	balancerUpdate
	VIPPort    string          `json:"vip_port_id"`
	VIPSubnet  string          `json:"vip_subnet_id"`
	VIPNetwork string          `json:"vip_network_id"`
	VIP        string          `json:"vip_address"`
	Additional []additionalVIP `json:"additional_vips"`
	Project    string          `json:"project_id"`
	Tenant     string          `json:"tenant_id"`
	Provider   string          `json:"provider"`
	Flavor     string          `json:"flavor_id"`
	Zone       string          `json:"availability_zone"`
	Listeners  []listenerInput `json:"listeners"`
	Pools      []poolSpec      `json:"pools"`
}

// checkTypes validates each value of a request by itself, which Octavia does first.
func (in *balancerSpec) checkTypes() error {
	errs := []error{checkTexts(in.Name.v, in.Description.v, in.Tags.v)}
	for i := range in.Listeners {
		l := &in.Listeners[i]
		errs = append(errs, l.checkTypes())
		if l.Pool != nil {
			errs = append(errs, l.Pool.checkTypes(true))
		}
	}
	for i := range in.Pools {
		errs = append(errs, in.Pools[i].checkTypes(true))
	}
	if in.VIP != "" {
		errs = append(errs, checkIP("vip_address", in.VIP))
	}
	return cmp.Or(errs...)
}

// createBalancer creates a load balancer with all objects of the request. It creates the VIP port first, and
// a later error leaves that port behind, as in Octavia.
func (t *Tx) createBalancer() (any, error) {
	in, err := core.Decode[balancerSpec](t.Base(), "loadbalancer")
	if err != nil {
		return nil, err
	}
	if err := in.checkTypes(); err != nil {
		return nil, err
	}
	project := t.Call.Project()
	if in.Project != "" && in.Project != project {
		if !t.Call.Admin() {
			return nil, core.ErrPolicy()
		}
		project = in.Project
	}
	n, s, err := t.resolveVIPSubnet(in)
	if err != nil {
		return nil, err
	}
	if in.Provider == "" || in.Provider == "octavia" {
		in.Provider = t.Options.Providers[0]
	}
	if err := t.checkPlacement(in); err != nil {
		return nil, err
	}
	if err := t.overQuota(core.QuotaLoadBalancers, "Load Balancer", len(t.Balancers), 1); err != nil {
		return nil, err
	}
	b := &balancer{base: t.newBase(project), Provider: in.Provider, VIPNetwork: n.ID,
		Additional: []additionalVIP{}}
	merge(b, &in.balancerUpdate)
	if in.Flavor != "" {
		b.Flavor = &in.Flavor
	}
	if in.Zone != "" {
		b.Zone = &in.Zone
	}
	if err := t.assignVIP(b, in, n, s); err != nil {
		return nil, wrapNeutronError(in.Provider, err)
	}
	if err := t.createChildren(b, in); err != nil {
		t.removeChildren(b) // The VIP port stays, and is marked as used by a load balancer that does not exist.
		return nil, err
	}
	t.Balancers[b.ID] = b
	t.startChange(b, pendingCreate, b.descendants())
	return map[string]any{"loadbalancer": t.fullView(b)}, nil
}

// resolveVIPSubnet finds the network and the subnet of a VIP.
func (t *Tx) resolveVIPSubnet(in balancerSpec) (*neutron.Network, *neutron.Subnet, error) {
	switch {
	case in.VIPPort != "":
		p := t.Ports[in.VIPPort]
		if p == nil || !t.Call.May(p.Project) {
			return nil, nil, errUnknown("Port", in.VIPPort)
		}
		if p.DeviceID != "" {
			return nil, nil, invalid("Port %s is already used by device %s ", p.ID, p.DeviceID)
		}
		if len(p.FixedIPs) == 0 {
			return nil, nil, invalid("VIP port's subnet could not be determined. Please specify either a VIP subnet or address.")
		}
		fixed, ok := fixedIPAt(p, in.VIP)
		if !ok {
			return nil, nil, invalid("Specified VIP address not found on the specified VIP port.")
		}
		return t.Networks[p.Network], t.Subnets[fixed.Subnet], nil
	case in.VIPNetwork != "":
		return t.resolveVIPOnNetwork(in)
	case in.VIPSubnet != "":
		s, err := t.Subnet(in.VIPSubnet)
		if err != nil {
			return nil, nil, errUnknown("Subnet", in.VIPSubnet)
		}
		return t.Networks[s.Network], s, nil
	}
	return nil, nil, invalid("VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.")
}

// resolveVIPOnNetwork finds the subnet of a VIP in the network of the request.
func (t *Tx) resolveVIPOnNetwork(in balancerSpec) (*neutron.Network, *neutron.Subnet, error) {
	n := t.Networks[in.VIPNetwork]
	if n == nil || !t.SeesNetwork(n) {
		return nil, nil, errUnknown("Network", in.VIPNetwork)
	}
	if in.VIPSubnet != "" {
		if s := t.Subnets[in.VIPSubnet]; s != nil && s.Network == n.ID {
			return n, s, nil
		}
		return nil, nil, errUnknown("Subnet", in.VIPSubnet)
	}
	for _, version := range []int{4, 6} {
		for _, s := range t.SubnetsOf(n.ID, version) {
			if ip, err := netip.ParseAddr(in.VIP); in.VIP == "" || err == nil && s.Contains(ip) {
				return n, s, nil
			}
		}
	}
	if in.VIP != "" {
		return nil, nil, invalid("Supplied network does not contain a subnet for VIP address specified.")
	}
	return nil, nil, invalid("Supplied network does not contain a subnet.")
}

// checkPlacement checks provider, flavor and availability zone.
func (t *Tx) checkPlacement(in balancerSpec) error {
	if !slices.Contains(t.Options.Providers, in.Provider) {
		return core.Refuse(http.StatusBadRequest, "", "Provider '%s' is not enabled.", in.Provider)
	}
	if in.Flavor != "" {
		if t.LBFlavors[in.Flavor] == nil {
			return invalid("Invalid flavor_id.")
		}
		if in.Provider == core.ProviderOVN {
			return unsupported(core.ProviderOVN, "OVN provider does not support flavors")
		}
	}
	if in.Zone != "" && !slices.Contains(t.Options.Zones, in.Zone) {
		return invalid("Invalid availability zone.")
	}
	return nil
}

// wrapNeutronError wraps Neutron's error for the address of a VIP as Octavia does.
func wrapNeutronError(provider string, err error) error {
	var r *core.RefusalError
	if errors.As(err, &r) && (r.Kind == "InvalidIpForSubnet" || r.Kind == "IpAddressAlreadyAllocated") {
		return core.Refuse(http.StatusInternalServerError, "", "Provider '%s' reports error: %s", provider, r.Message)
	}
	return err
}

// fixedIPAt returns the fixed IP of a port with an address; the first for "".
func fixedIPAt(p *neutron.Port, address string) (neutron.FixedIP, bool) {
	i := slices.IndexFunc(p.FixedIPs, func(f neutron.FixedIP) bool { return address == "" || f.Address == address })
	if i < 0 {
		return neutron.FixedIP{}, false
	}
	return p.FixedIPs[i], true
}

// assignVIP sets the port of a load balancer: an existing one from the request, or a new one.
func (t *Tx) assignVIP(b *balancer, in balancerSpec, n *neutron.Network, s *neutron.Subnet) error {
	p := t.Ports[in.VIPPort]
	if in.Provider == core.ProviderOVN && t.Options.Octavia() < octaviaOVNAdditionalVIPs {
		in.Additional = nil
	}
	if p == nil {
		wanted := []neutron.FixedIP{{Subnet: s.ID, Address: in.VIP}}
		for _, a := range in.Additional {
			other, err := t.Subnet(a.Subnet)
			if err != nil {
				return errUnknown("Subnet", a.Subnet)
			}
			if other.Network != n.ID {
				return invalid("All VIP subnets must belong to the same network.")
			}
			wanted = append(wanted, neutron.FixedIP(a))
		}
		var err error
		if p, err = t.NewPort(b.Project, "octavia-lb-"+b.ID, n, wanted); err != nil {
			return err
		}
		p.AdminStateUp, p.DeviceOwner = false, neutron.OwnerLoadBalancer
	}
	p.DeviceID = "lb-" + b.ID
	fixed := p.FixedIPs[0]
	if in.VIPPort != "" {
		fixed, _ = fixedIPAt(p, in.VIP)
	}
	b.VIPPort, b.VIPSubnet, b.VIP = p.ID, fixed.Subnet, fixed.Address
	for i := range in.Additional {
		b.Additional = append(b.Additional, additionalVIP(p.FixedIPs[i+1]))
	}
	return nil
}

// createChildren creates the pools and the listeners of a new load balancer.
func (t *Tx) createChildren(b *balancer, in balancerSpec) error {
	specs, err := collectPools(in)
	if err != nil {
		return err
	}
	if err := t.overQuota(core.QuotaPools, "Pool", len(t.Pools), len(specs)); err != nil {
		return err
	}
	byName := map[string]*pool{}
	for _, spec := range specs {
		if spec.Protocol == "" || !spec.Algorithm.isSet {
			attribute := "protocol"
			if spec.Protocol != "" {
				attribute = "lb_algorithm"
			}
			return invalid("Pool definition for '%s' missing required attribute: %s", spec.Name.v, attribute)
		}
		p := t.newPool(b, spec)
		t.Pools[p.ID] = p
		b.pools = append(b.pools, p)
		if err := cmp.Or(p.validate(t), t.addMembersAndMonitor(p, spec)); err != nil {
			return err
		}
		byName[p.Name] = p
	}
	if err := t.overQuota(core.QuotaListeners, "Listener", len(t.Listeners), len(in.Listeners)); err != nil {
		return err
	}
	for _, spec := range in.Listeners {
		l := t.newListener(b, spec)
		if spec.Pool != nil {
			p := byName[spec.Pool.Name.v]
			if err := checkProtocols(l.Protocol, p.Protocol); err != nil {
				return err
			}
			l.DefaultPool = &p.ID
		}
		if err := t.checkListener(b, l); err != nil {
			return err
		}
		t.Listeners[l.ID] = l
		b.listeners = append(b.listeners, l)
	}
	return nil
}

// collectPools returns the pools of a request, from its list and from its listeners. A listener may also refer to one
// by name.
func collectPools(in balancerSpec) ([]poolSpec, error) {
	specs := slices.Clone(in.Pools)
	var named []string
	for _, l := range in.Listeners {
		switch {
		case l.Pool == nil:
		case l.Pool.Name.v == "":
			return nil, invalid("Pools must be named when creating a fully populated loadbalancer.")
		case l.Pool.Protocol != "" || l.Pool.Algorithm.isSet || len(l.Pool.Members) > 0:
			specs = append(specs, *l.Pool)
		default:
			named = append(named, l.Pool.Name.v)
		}
	}
	seen := map[string]bool{}
	for _, s := range specs {
		if seen[s.Name.v] {
			return nil, invalid("Pool names must be unique when creating a fully populated loadbalancer.")
		}
		seen[s.Name.v] = true
	}
	for _, name := range named {
		if !seen[name] {
			return nil, invalid("Pool '%s' was referenced but no full definition was found.", name)
		}
	}
	return specs, nil
}

// fullView returns a new load balancer with all of its children.
func (t *Tx) fullView(b *balancer) any {
	b.refresh()
	out := core.AsMap(b)
	listeners, pools := []any{}, []any{}
	for _, l := range b.listeners {
		view := core.AsMap(l)
		delete(view, "loadbalancers")
		listeners = append(listeners, view)
	}
	for _, p := range b.pools {
		p.refresh()
		view := core.AsMap(p)
		view["members"] = append([]*member{}, p.members...)
		// Octavia returns none here, although there may be one.
		view["healthmonitor"] = nil
		delete(view, "healthmonitor_id")
		delete(view, "loadbalancers")
		pools = append(pools, view)
	}
	out["listeners"], out["pools"] = listeners, pools
	return out
}
