package diff

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/members"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// keepPorts replaces the wanted values of ports by the existing ones that stay, and computes what follows from them.
func (d *differ) keepPorts() {
	if len(d.want.Kept) == 0 {
		return
	}
	d.want.Ports = slices.Clone(d.want.Ports)
	for i, port := range d.want.Ports {
		if have, ok := d.listenerOf(port); ok {
			d.want.Ports[i] = d.keepPort(port, have)
		}
	}
}

// keepPort returns a port with the existing values that stay.
func (d *differ) keepPort(port model.Port, have api.Listener) model.Port {
	key := portKey(port)
	pool, hasPool := d.poolOf(have.DefaultPoolID)
	keepsPool := hasPool && d.keeps(kindListener, key, fieldPoolProtocol)
	if d.keeps(kindListener, key, "protocol") || keepsPool && !canForward(string(port.Listener.Protocol), pool.Protocol) {
		port = keepProtocol(port, have)
	}
	if keepsPool {
		port.Pool.Protocol = pools.Protocol(pool.Protocol)
	}
	if hasPool && d.keeps(kindListener, key, fieldMemberSubnet) {
		port.Members = keepMemberSubnet(port.Members, pool)
	}
	if kept := d.keptItems(kindListener, key, "allowed_cidrs"); len(kept) > 0 {
		port.Listener.AllowedCIDRs = model.KeepRanges(have.AllowedCIDRs, port.Listener.AllowedCIDRs, kept)
	}
	if d.keeps(kindMonitor, key, "type") {
		port = withoutMonitor(port)
	}
	return port
}

// keepProtocol returns a port with the protocol of its listener, and with what depends on it. The PROXY header of a pool
// does not.
func keepProtocol(port model.Port, have api.Listener) model.Port {
	port.Listener.Protocol = listeners.Protocol(have.Protocol)
	port.Listener.DefaultTlsContainerRef, port.Listener.InsertHeaders = have.DefaultTlsContainerRef, have.InsertHeaders
	if !canForward(have.Protocol, string(port.Pool.Protocol)) || port.Pool.Protocol == api.ProtocolHTTP {
		port.Pool.Protocol = pools.Protocol(have.Protocol)
		if have.Protocol == api.ProtocolTerminatedHTTPS {
			port.Pool.Protocol = api.ProtocolHTTP
		}
	}
	return port
}

// canForward reports whether Octavia accepts a listener and a pool of two protocols.
func canForward(listener, pool string) bool {
	switch pool {
	case api.ProtocolPROXY, api.ProtocolPROXYV2:
		return transportOf(listener) == api.ProtocolTCP
	case api.ProtocolHTTP:
		return listener == api.ProtocolTCP || listener == api.ProtocolHTTP || listener == api.ProtocolTerminatedHTTPS
	}
	return listener == pool
}

// keepMemberSubnet returns members that are reached from the subnet of those that exist.
func keepMemberSubnet(want []api.Member, pool observe.Pool) []api.Member {
	want = members.KeepSubnets(pool.Members, want)
	subnets := members.Subnets(pool.Members)
	for i, m := range want {
		if len(subnets) > 0 && !slices.Contains(subnets, m.SubnetID) {
			want[i].SubnetID = subnets[0]
		}
	}
	return want
}

// withoutMonitor returns a port whose members are not probed.
func withoutMonitor(port model.Port) model.Port {
	port.Monitor, port.Members = nil, slices.Clone(port.Members)
	for i := range port.Members {
		port.Members[i].MonitorPort = 0
	}
	return port
}

// keepPlace replaces the wanted place of the load balancer by the existing one, as far as it stays.
func (d *differ) keepPlace() error {
	lb := d.have.LoadBalancer
	if lb == nil || lb.ProvisioningStatus == api.Error {
		return nil
	}
	kept := map[string]bool{}
	for _, f := range d.immutableDifferences(*lb) {
		kept[f.Name] = d.keeps(kindLoadBalancer, lb.Name, f.Name)
	}
	if !slices.Contains(slices.Collect(maps.Values(kept)), true) {
		return nil
	}
	if !d.canPlace(*lb, kept) {
		for name := range kept {
			kept[name] = true
		}
	}
	d.configured = d.configured.WithPlace(keptPlace(*lb, kept))
	var err error
	d.want, err = d.configured.For(lb, d.have.Subnets)
	return err
}

// keptPlace returns the part of the place of a load balancer that stays.
func keptPlace(lb api.LoadBalancer, kept map[string]bool) model.KeptPlace {
	place := model.KeptPlace{Port: kept[fieldPort]}
	if kept[fieldSubnet] || kept[fieldPort] {
		place.SubnetID = lb.VipSubnetID
	}
	if kept[fieldNetwork] {
		place.NetworkID = lb.VipNetworkID
	}
	if kept[fieldAddress] {
		place.Address = lb.VipAddress
	}
	if kept[fieldFlavor] {
		place.FlavorID = &lb.FlavorID
	}
	if kept[fieldZone] {
		place.Zone = &lb.AvailabilityZone
	}
	return place
}

// canPlace reports whether another load balancer can have a part of the place of this one, which kept has as true, and
// the wanted values of the others. The port of a load balancer is deleted with it.
func (d *differ) canPlace(lb api.LoadBalancer, kept map[string]bool) bool {
	changes := func(name string) bool { value, differs := kept[name]; return differs && !value }
	want := d.want.LoadBalancer
	switch {
	case kept[fieldPort]:
		return false
	case kept[fieldAddress]:
		return !changes(fieldPort) && !changes(fieldSubnet) && !changes(fieldNetwork)
	case kept[fieldSubnet]:
		return !changes(fieldPort) && !changes(fieldNetwork) && (!changes(fieldAddress) ||
			d.subnetHas(lb.VipSubnetID, want.Address))
	case kept[fieldNetwork]:
		return !changes(fieldPort) && (!changes(fieldSubnet) || d.have.Subnets[want.SubnetID].NetworkID == lb.VipNetworkID) &&
			(!changes(fieldAddress) || changes(fieldSubnet) || d.subnetHas(lb.VipSubnetID, want.Address))
	}
	return true
}

// subnetHas reports whether a subnet of the project certainly has an address.
func (d *differ) subnetHas(subnet, address string) bool {
	prefix, err := netip.ParsePrefix(d.have.Subnets[subnet].CIDR)
	parsed, invalid := netip.ParseAddr(address)
	return err == nil && invalid == nil && prefix.Contains(parsed)
}
