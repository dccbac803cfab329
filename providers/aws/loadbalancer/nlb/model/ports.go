package model

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Default health checks. They are those of existing load balancers: another interval would replace every
// target group.
const (
	clusterInterval, clusterThreshold = 30 * time.Second, 3
	localInterval, localThreshold     = 10 * time.Second, 2
)

// Bounds of the idle timeout, as AWS documents them.
const minIdleTimeout, maxIdleTimeout = time.Minute, 6000 * time.Second

// listeners returns a listener for each port number: TCP and UDP on one number share it.
func (b *builder) listeners() []DesiredListener {
	var out []DesiredListener
	for i, p := range b.Service.Ports {
		first := slices.IndexFunc(b.Service.Ports, func(q intent.Port) bool { return q.Port == p.Port })
		if first < i {
			continue // joined with the first port of this number
		}
		l := b.listener(p)
		for _, q := range b.Service.Ports[i+1:] {
			if q.Port == p.Port {
				b.joinPorts(&l, p, q)
			}
		}
		l.Group = b.targetGroup(l, p, b.groupProtocol(l))
		out = append(out, l)
	}
	sorting.Func(out, func(a, b DesiredListener) int { return cmp.Compare(a.Port, b.Port) })
	return out
}

func (b *builder) listener(p intent.Port) DesiredListener {
	l := DesiredListener{Port: p.Port, Protocol: string(p.Protocol)}
	if p.Protocol == v1.ProtocolTCP && b.Options.TLSPort(p.Name, p.Port) {
		l.Protocol, l.Policy, l.Certificates = ProtocolTLS, b.Options.TLSPolicy, b.Options.Certificates
	}
	if idle := b.Options.IdleTimeout; idle > 0 && l.Protocol == ProtocolTCP {
		if idle < minIdleTimeout || idle > maxIdleTimeout {
			b.problems.Addf(intent.KeyIdleTimeout, idle.String(), "network load balancers keep TCP connections from %s to "+
				"%s: write that much", minIdleTimeout, maxIdleTimeout)
		}
		l.IdleTimeout = int32(idle / time.Second) //nolint:gosec // checked above
	}
	return l
}

// joinPorts makes a listener accept both protocols on its port.
func (b *builder) joinPorts(l *DesiredListener, p, q intent.Port) {
	field := "spec.ports (" + strconv.Itoa(int(p.Port)) + "/" + string(q.Protocol) + ")"
	switch {
	case l.Protocol == ProtocolTLS || q.Protocol == v1.ProtocolTCP && b.Options.TLSPort(q.Name, q.Port):
		b.problems.Addf(field, "", "a port cannot be TLS and UDP at once: leave it out of %s, or move one of them to "+
			"another port", annotation.KeyTLSPorts)
	case p.NodePort != q.NodePort:
		b.problems.Addf(field, strconv.Itoa(int(q.NodePort)), "TCP and UDP on one port share one listener, which sends to "+
			"one node port: give both the same nodePort, such as %d", p.NodePort)
	default:
		l.Protocol, l.IdleTimeout = protocolTCPUDP, 0
	}
}

// groupProtocol returns the protocol of the target group of a listener.
func (b *builder) groupProtocol(l DesiredListener) string {
	if l.Protocol == ProtocolTLS && b.Options.BackendProtocol != "ssl" {
		return ProtocolTCP
	}
	return l.Protocol
}

// targetGroup returns the target group of a listener.
func (b *builder) targetGroup(l DesiredListener, p intent.Port, protocol string) DesiredGroup {
	g := DesiredGroup{Protocol: protocol, Port: p.NodePort, TargetType: targetInstance, Health: b.health(),
		Attributes: b.Options.GroupAttributes}
	if b.Options.IPTargets {
		g.TargetType = targetIP
	}
	variant := ""
	if g.AddressType = b.targetFamily(); g.AddressType != AddressIPv4 {
		variant = g.AddressType
	}
	g.Targets = b.Targets(g)
	g.Name = names.TargetGroupName(names.TargetGroup{
		ClusterID: b.Shared.Cluster.ID, Service: tags.Service(b.Key), Port: l.Port, NodePort: g.Port, Protocol: g.Protocol,
		TargetType:     g.TargetType,
		HealthProtocol: g.Health.Protocol, HealthInterval: g.Health.Interval, Variant: variant,
	})
	if l.Protocol == protocolUDP && g.Health.Protocol == ProtocolTCP && g.Health.Port == annotation.TrafficPort {
		b.warnf("spec.ports (%d/UDP): its nodes are probed by TCP on the UDP node port, and count as unhealthy unless "+
			"something listens there: set %s and %s, or externalTrafficPolicy: Local",
			l.Port, annotation.KeyHealthCheckProtocol, annotation.KeyHealthCheckPort)
	}
	return g
}

// targetFamily returns the family of the targets' addresses: the Service's first, if the load balancer can have it.
func (b *builder) targetFamily() string {
	if !b.noIPv6 && len(b.Service.Families) > 0 && b.Service.Families[0] == v1.IPv6Protocol {
		return addressIPv6
	}
	return AddressIPv4
}

// health returns the health check of the targets of a listener.
func (b *builder) health() HealthCheck {
	local := b.Service.LocalTraffic
	o := b.Options.HealthCheck
	interval, threshold := clusterInterval, clusterThreshold
	if local {
		interval, threshold = localInterval, localThreshold
	}
	//nolint:gosec // the thresholds are at most 10
	h := HealthCheck{
		Protocol: cmp.Or(o.Protocol, ProtocolTCP), Port: cmp.Or(o.Port, annotation.TrafficPort), Path: o.Path,
		Interval: seconds(cmp.Or(o.Interval, interval)), Timeout: seconds(o.Timeout),
		Healthy: int32(cmp.Or(o.Healthy, threshold)), Unhealthy: int32(cmp.Or(o.Unhealthy, threshold)),
	}
	if shared := b.settings.Shared; shared != nil && !local {
		h.Protocol, h.Port, h.Path = protocolHTTP, strconv.Itoa(int(shared.Port)), shared.Path
	}
	if h.Protocol == ProtocolTCP {
		h.Path = ""
	} else {
		h.Path = cmp.Or(h.Path, "/")
	}
	b.checkHealth(h)
	return h
}

// checkHealth refuses values that AWS would reject. Portable annotations allow more than network load balancers do.
func (b *builder) checkHealth(h HealthCheck) {
	for _, c := range []struct {
		key                     string
		value, minimum, maximum int32
	}{
		{intent.KeyHealthCheckInterval, h.Interval, 5, 300},
		{intent.KeyHealthCheckHealthyThreshold, h.Healthy, 2, 10},
		{intent.KeyHealthCheckUnhealthyThreshold, h.Unhealthy, 2, 10},
		{intent.KeyHealthCheckTimeout, cmp.Or(h.Timeout, 2), 2, 120},
	} {
		if _, portable := b.Service.Annotations[c.key]; portable && (c.value < c.minimum || c.value > c.maximum) &&
			!b.reported(c.key) {
			b.problems.Addf(c.key, b.Service.Annotations[c.key], "network load balancers accept %d to %d", c.minimum, c.maximum)
		}
	}
}

// reported reports whether there is already a problem with a key: every listener has the same health check.
func (b *builder) reported(key string) bool {
	if b.reportedKeys == nil {
		b.reportedKeys = map[string]bool{}
	}
	reported := b.reportedKeys[key]
	b.reportedKeys[key] = true
	return reported
}

func seconds(d time.Duration) int32 { return int32(d / time.Second) } //nolint:gosec // at most 6000

// Targets returns the nodes as targets of a group, sorted.
func (r Request) Targets(g DesiredGroup) []DesiredTarget {
	var out []DesiredTarget
	for _, node := range r.Nodes {
		canRegister, keep := r.canBeTarget(node.InstanceID, g)
		if !keep {
			continue
		}
		id := node.InstanceID
		if g.TargetType == targetIP {
			if id = address(node.Addresses, g.AddressType); id == "" {
				continue
			}
		}
		out = append(out, DesiredTarget{Target: Target{ID: id, Port: g.Port}, Keep: !canRegister})
	}
	sorting.Func(out, func(a, b DesiredTarget) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(out, func(a, b DesiredTarget) bool { return a.ID == b.ID })
}

// canBeTarget reports whether an instance can be registered with a group, and whether a registered one stays.
func (r Request) canBeTarget(id string, g DesiredGroup) (canRegister, keep bool) {
	instance, ok := r.Shared.Instances[id]
	if !ok {
		return false, r.Shared.Unread[id] != nil // else it does not exist, or is in another VPC
	}
	canRegister, keep = instanceState(instance)
	if g.TargetType == targetInstance && g.AddressType != AddressIPv4 && !vpc.HasPrimaryIPv6(instance) {
		canRegister = false
	}
	return canRegister, keep
}

// checkPrimaryIPv6 warns about nodes that AWS does not accept as IPv6 targets, and refuses to create a load balancer
// without others.
func (b *builder) checkPrimaryIPv6() {
	if b.Options.IPTargets || b.targetFamily() == AddressIPv4 {
		return
	}
	var rejected []string
	targets := 0
	for _, node := range b.Nodes {
		instance, ok := b.Shared.Instances[node.InstanceID]
		if _, keep := instanceState(instance); !ok || !keep {
			continue
		}
		targets++
		if !vpc.HasPrimaryIPv6(instance) {
			rejected = append(rejected, node.InstanceID)
		}
	}
	if len(rejected) == 0 {
		return
	}
	slices.Sort(rejected)
	problem := fmt.Sprintf("%s without a primary IPv6 address cannot be targets: enable it on the network interfaces "+
		"(EnablePrimaryIpv6), or set %s to ip", vpc.ShowInstances(rejected), annotation.KeyTargetType)
	if len(rejected) == targets {
		b.creation.Add("spec.ipFamilies", string(v1.IPv6Protocol), problem)
		b.noIPv6, b.dual = true, false
	} else {
		b.warnf("spec.ipFamilies: %s", problem)
	}
}

// address returns the first address of a family.
func address(addresses []string, family string) string {
	for _, text := range addresses {
		if addr, err := netip.ParseAddr(text); err == nil && addr.Unmap().Is6() == (family == addressIPv6) {
			return addr.Unmap().String()
		}
	}
	return ""
}

// healthPorts returns the probed ports of the nodes, sorted.
func healthPorts(listeners []DesiredListener) []int32 {
	var ports []int32
	for _, l := range listeners {
		ports = append(ports, healthPort(l.Group))
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// healthPort returns the probed port of the nodes.
func healthPort(g DesiredGroup) int32 {
	port, err := strconv.ParseInt(g.Health.Port, 10, 32)
	if err != nil {
		return g.Port
	}
	return int32(port)
}
