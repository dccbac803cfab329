package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Default timeouts of listeners in milliseconds. They are always sent, as earlier managers did, whatever the
// operator's own defaults are.
const (
	defaultClientTimeout  = 50_000
	defaultConnectTimeout = 5_000
	defaultMemberTimeout  = 50_000
	defaultInspectTimeout = 0
)

// noLimit is the connection limit of a listener that accepts any number.
const noLimit = -1

// The headers that a Service can request. ForwardedFor has the client's address.
const (
	ForwardedFor   = "X-Forwarded-For"
	forwardedProto = "X-Forwarded-Proto"
	forwardedPort  = "X-Forwarded-Port"
)

// members returns the nodes that the Service selects and that have an address, sorted by name.
func (b *builder) members(list []*v1.Node, subnet string) []node {
	selector := b.selector()
	selected := nodes.FilterByLabels(list, selector)
	if len(selected) == 0 && len(list) > 0 {
		b.warnf("no node has the labels %s, so the load balancer has no members: correct %s or label nodes",
			annotation.ShowNodeLabels(selector), annotation.KeyNodeSelector)
	}
	found := b.nodesWithAddress(selected, subnet)
	if len(found) == 0 && len(selected) > 0 {
		b.warnf("no node has an %s address, so the load balancer has no members", b.in.Families[0])
	}
	return found
}

// nodesWithAddress returns the nodes that have an address of the Service's family, sorted by name.
func (b *builder) nodesWithAddress(list []*v1.Node, subnet string) []node {
	found := make([]node, 0, len(list))
	for _, n := range list {
		address := NodeAddress(n, b.in.Families[0])
		if address == "" {
			continue
		}
		server, err := b.serverID(n.Spec.ProviderID)
		if err != nil {
			server = ""
		}
		found = append(found, node{name: n.Name, address: address, subnet: subnet, server: server})
	}
	sorting.Func(found, func(a, b node) int { return cmp.Compare(a.name, b.name) })
	// A member is identified by its address. Octavia accepts a batch that contains one twice, but its worker
	// fails to apply it: the load balancer stays PENDING_UPDATE, and cannot be changed or deleted.
	seen := make(map[string]bool, len(found))
	return slices.DeleteFunc(found, func(n node) bool {
		duplicate := seen[n.address]
		seen[n.address] = true
		return duplicate
	})
}

// port computes one port of the Service.
func (b *builder) port(lbName string, index int, port intent.Port, nodes []node) Port {
	transport := string(port.Protocol)
	listener, pool := b.protocols(port)
	f := b.shared.Features
	method, keeps := b.algorithm()
	p := Port{
		Transport: transport, Number: int(port.Port), KeepsMethod: keeps,
		Listener: listeners.CreateOpts{
			Name: names.Listener(index, lbName), Protocol: listeners.Protocol(listener), ProtocolPort: int(port.Port),
			ConnLimit: cmp.Or(b.options.ConnectionLimit, ptr.To(noLimit)),
		},
		Pool: pools.CreateOpts{Name: names.Pool(index, lbName), Protocol: pools.Protocol(pool), LBMethod: method},
	}
	if f.Timeouts() {
		t := b.options.Timeouts
		p.Listener.TimeoutClientData = cmp.Or(t.Client, ptr.To(defaultClientTimeout))
		p.Listener.TimeoutMemberConnect = cmp.Or(t.Connect, ptr.To(defaultConnectTimeout))
		p.Listener.TimeoutMemberData = cmp.Or(t.Member, ptr.To(defaultMemberTimeout))
		p.Listener.TimeoutTCPInspect = cmp.Or(t.Inspect, ptr.To(defaultInspectTimeout))
	}
	if f.AllowedCIDRs() {
		p.Listener.AllowedCIDRs = b.allowedCIDRs(port)
	}
	if port.Protocol == v1.ProtocolTCP {
		p.Listener.DefaultTlsContainerRef = b.tlsContainerAt(port)
		switch {
		case port.ForwardedHeaders:
			p.Listener.InsertHeaders = map[string]string{ForwardedFor: "true", forwardedProto: "true", forwardedPort: "true"}
		case b.options.XForwardedFor:
			p.Listener.InsertHeaders = map[string]string{ForwardedFor: "true"}
		}
	}
	if b.in.ClientIPAffinity > 0 {
		p.Pool.Persistence = &pools.SessionPersistence{Type: api.PersistenceSourceIP}
	}
	if f.Tags() {
		p.ListenerTags, p.PoolTags = b.options.ListenerTags, b.options.PoolTags
	}
	p.Monitor = b.monitor(lbName, index, port)
	p.Members = b.membersOf(port, nodes, p.Monitor)
	p.Unowned = b.membersOf(port, b.unowned, p.Monitor)
	return p
}

// protocols returns the protocols of the listener and its pool. HTTP, TLS and the PROXY header apply to TCP ports;
// the other ports of the Service are forwarded unchanged.
func (b *builder) protocols(port intent.Port) (listener, pool string) {
	listener, pool = string(port.Protocol), string(port.Protocol)
	if port.Protocol != v1.ProtocolTCP {
		return listener, pool
	}
	switch {
	case b.tlsContainerAt(port) != "":
		listener, pool = api.ProtocolTerminatedHTTPS, api.ProtocolHTTP
	case b.options.XForwardedFor || port.ForwardedHeaders:
		listener, pool = api.ProtocolHTTP, api.ProtocolHTTP
	}
	switch b.options.ProxyProtocol {
	case 1:
		pool = api.ProtocolPROXY
	case 2:
		pool = api.ProtocolPROXYV2
	}
	return listener, pool
}

// algorithm returns the load balancing algorithm of new pools, and whether existing ones keep theirs because the
// provider does not support the requested one. The provider ovn supports only its own, and no other provider does. The
// default of the configuration is for the configured provider.
func (b *builder) algorithm() (method pools.LBMethod, keeps bool) {
	name, explicit := optionOr(b.options.Method, b.settings.Method)
	method = pools.LBMethod(name)
	switch ovn := b.shared.Features.OVN; {
	case ovn && explicit && method != api.AlgorithmSourceIPPort:
		b.refuseMethod(name, "Octavia's provider ovn has only its own, SOURCE_IP_PORT: remove the annotation")
		return api.AlgorithmSourceIPPort, true
	case ovn:
		return api.AlgorithmSourceIPPort, false
	case method == api.AlgorithmSourceIPPort:
		if explicit {
			b.refuseMethod(name, "only Octavia's provider ovn has it: write ROUND_ROBIN, LEAST_CONNECTIONS or SOURCE_IP")
		}
		return api.AlgorithmRoundRobin, explicit || b.provider != b.settings.Provider
	}
	return cmp.Or(method, api.AlgorithmRoundRobin), false
}

// refuseMethod refuses a new load balancer with an algorithm that its provider does not support. An existing one keeps
// its own.
func (b *builder) refuseMethod(name, fix string) {
	if slices.Contains(b.reported, annotation.KeyMethod) {
		return
	}
	b.reported = append(b.reported, annotation.KeyMethod)
	field := b.options.Sources.FieldOf(annotation.KeyMethod)
	value := cmp.Or(strings.TrimSpace(b.in.Annotations[field]), name)
	b.creation.Add(annotation.KeyMethod, value, fix)
	b.warnWithReason(events.LoadBalancerLbMethodUnknown, "%s is %s and has no effect: %s", field, intent.Quote(value), fix)
}

// membersOf returns the members of one port's pool. A port without a node port has none.
func (b *builder) membersOf(port intent.Port, nodes []node, monitor *monitors.CreateOpts) []api.Member {
	members := make([]api.Member, 0, len(nodes))
	if port.NodePort == 0 {
		return members
	}
	probePort := 0
	if monitor != nil && !b.shared.Features.OVN {
		probePort = b.probePort(monitor.Type)
	}
	for _, n := range nodes {
		members = append(members, b.member(n, int(port.NodePort), probePort))
	}
	return members
}

// member returns a node as the member of a pool.
func (b *builder) member(n node, port, probePort int) api.Member {
	name := n.name
	if b.settings.Serial {
		name = names.SerialMember(n.name, n.address, port)
	}
	return api.Member{Name: name, Address: n.address, Port: port, SubnetID: n.subnet, MonitorPort: probePort}
}

// MembersLike returns the members of an existing pool: the nodes that the Service selects, with the port, the
// subnet and the probed port of the template. unowned are those of nodes of other clouds and regions. Both are nil
// without a port.
func (i Input) MembersLike(template api.Member) (members, unowned []api.Member) {
	if template.Port == 0 {
		return nil, nil
	}
	b := builder{key: i.Key, in: i.Service, settings: i.Settings, shared: i.Shared, serverID: i.ServerID}
	b.options, _ = annotation.Read(i.Service) // other problems do not affect members
	subnet := cmp.Or(template.SubnetID, i.Shared.NodeSubnets[i.Service.Families[0]])
	toMembers := func(nodes []node) []api.Member {
		list := []api.Member{}
		for _, n := range nodes {
			list = append(list, b.member(n, template.Port, template.MonitorPort))
		}
		return list
	}
	return toMembers(b.members(i.Nodes, subnet)),
		toMembers(b.nodesWithAddress(nodes.FilterByLabels(i.Shared.Unowned, b.selector()), subnet))
}
