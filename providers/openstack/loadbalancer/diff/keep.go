package diff

import (
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/kinds"
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
	keepsPool := hasPool && d.keeps(kindListener, key, kinds.FieldPoolProtocol)
	if d.keeps(kindListener, key, "protocol") || keepsPool && !canForward(string(port.Listener.Protocol), pool.Protocol) {
		port = keepProtocol(port, have)
	}
	if keepsPool {
		port.Pool.Protocol = pools.Protocol(pool.Protocol)
	}
	if hasPool && d.keeps(kindListener, key, kinds.FieldMemberSubnet) {
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

// keepProtocol returns a port with the protocol of its listener, and with what depends on it: all but the PROXY header.
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
