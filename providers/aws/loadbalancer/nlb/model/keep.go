package model

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// These functions return a desired state with values of the existing load balancer, and with what follows from them.
// They share no slice or map with the original.

// KeepIPv4 is for a load balancer that does not get IPv6.
func (d Desired) KeepIPv4() Desired {
	r := d.request
	r.Service.Families = []v1.IPFamily{v1.IPv4Protocol}
	rebuilt, _ := Desire(r, d.settings)
	d.AddressType, d.SourceNAT, d.UDPKeepsIPv4 = rebuilt.AddressType, false, false
	d.Listeners, d.ByCIDR, d.Managed, d.Probes = rebuilt.Listeners, rebuilt.ByCIDR, rebuilt.Managed, rebuilt.Probes
	d.Zones = slices.Clone(d.Zones)
	for i := range d.Zones {
		d.Zones[i].IPv6 = ""
	}
	return d
}

// KeepListener is for a listener that is not deleted. The rules for its ports are differences of their own. It is the
// last of these functions to be called.
func (d Desired) KeepListener(have Listener, group TargetGroup) Desired {
	l := DesiredListener{Port: have.Port, Protocol: have.Protocol, Certificates: have.Certificates, KeepGroup: true,
		Group: group.Desired()}
	d.Listeners = append(slices.Clone(d.Listeners), l)
	sorting.Func(d.Listeners, func(a, b DesiredListener) int { return cmp.Compare(a.Port, b.Port) })
	return d
}

// KeepProtocol is for a listener that keeps its protocol, certificates and TLS policy. Its target group has a protocol
// that this listener can forward to: that of the existing one.
func (d Desired) KeepProtocol(have Listener, group TargetGroup) Desired {
	i := d.Listener(have.Port)
	if i < 0 {
		return d
	}
	want := d.Listeners[i]
	kept := want
	kept.Protocol, kept.Policy, kept.Certificates = have.Protocol, "", nil
	if have.Protocol == ProtocolTLS {
		kept.Certificates = have.Certificates
	}
	if have.Protocol != ProtocolTCP {
		kept.IdleTimeout = 0
	}
	kept.Group = d.regroup(kept, group.Protocol)
	d.Listeners = slices.Clone(d.Listeners)
	d.Listeners[i] = kept
	d.ByCIDR.Traffic = replaceTraffic(d.ByCIDR.Traffic, want, kept)
	return d.withHealthPorts()
}

// regroup returns the target group of a listener, with another protocol.
func (d Desired) regroup(l DesiredListener, protocol string) DesiredGroup {
	i := slices.IndexFunc(d.request.Service.Ports, func(p intent.Port) bool { return p.Port == l.Port })
	if i < 0 {
		return l.Group
	}
	b := &builder{Request: d.request, settings: d.settings, problems: d.request.Options.NewProblems(),
		noIPv6: l.Group.AddressType == AddressIPv4}
	return b.targetGroup(l, d.request.Service.Ports[i], protocol)
}

// replaceTraffic replaces the node port of a listener, and its transports.
func replaceTraffic(traffic []vpc.Port, want, kept DesiredListener) []vpc.Port {
	transports := kept.transports()
	if slices.Equal(want.transports(), transports) && want.Group.Port == kept.Group.Port {
		return traffic
	}
	var out []vpc.Port
	port := vpc.Port{Port: kept.Group.Port}
	for _, p := range traffic {
		if p.Port == want.Group.Port {
			port.Sources = append(port.Sources, p.Sources...)
		} else {
			out = append(out, p)
		}
	}
	for _, transport := range transports {
		port.Protocol = transport
		out = append(out, port)
	}
	return out
}

// transports returns the transports of a listener as EC2 writes them.
func (l DesiredListener) transports() []string {
	switch l.Protocol {
	case protocolUDP:
		return []string{vpc.ProtocolUDP}
	case protocolTCPUDP:
		return []string{vpc.ProtocolTCP, vpc.ProtocolUDP}
	default:
		return []string{vpc.ProtocolTCP}
	}
}

// KeepTargetGroup is for a listener that does not move to another target group. Settings that can change in place do.
func (d Desired) KeepTargetGroup(port int32, group TargetGroup) Desired {
	i := d.Listener(port)
	if i < 0 {
		return d
	}
	want := d.Listeners[i]
	kept := want
	kept.KeepGroup, kept.Group = true, group.Desired()
	kept.Group.Attributes = want.Group.Attributes
	if h := want.Group.Health; h.Protocol == group.Health.Protocol && h.Interval == group.Health.Interval {
		kept.Group.Health = h
	}
	d.Listeners = slices.Clone(d.Listeners)
	d.Listeners[i] = kept
	d.ByCIDR.Traffic = replaceTraffic(d.ByCIDR.Traffic, want, kept)
	return d.withHealthPorts()
}

// KeepAttribute is for an attribute of the target group of a listener. One that the existing group does not have is not
// set.
func (d Desired) KeepAttribute(port int32, key string, existing map[string]string) Desired {
	i := d.Listener(port)
	if i < 0 {
		return d
	}
	d.Listeners = slices.Clone(d.Listeners)
	group := &d.Listeners[i].Group
	attributes := map[string]string{}
	maps.Copy(attributes, group.Attributes)
	delete(attributes, key)
	if value, ok := existing[key]; ok {
		attributes[key] = value
	}
	group.Attributes = attributes
	return d
}

// KeepHealth is for the health check of the target group of a listener.
func (d Desired) KeepHealth(port int32, health HealthCheck) Desired {
	i := d.Listener(port)
	if i < 0 {
		return d
	}
	d.Listeners = slices.Clone(d.Listeners)
	d.Listeners[i].Group.Health = health
	return d.withHealthPorts()
}

// KeepPolicy is for a listener that keeps its TLS policy.
func (d Desired) KeepPolicy(port int32) Desired {
	i := d.Listener(port)
	if i < 0 {
		return d
	}
	d.Listeners = slices.Clone(d.Listeners)
	d.Listeners[i].Policy = ""
	return d
}

// withHealthPorts updates the probed ports.
func (d Desired) withHealthPorts() Desired {
	d.ByCIDR.Health = healthPorts(d.Listeners)
	return d
}

// Desired returns the desired state of an existing target group whose settings stay.
func (g TargetGroup) Desired() DesiredGroup {
	return DesiredGroup{Name: g.Name, Protocol: g.Protocol, Port: g.Port, TargetType: g.TargetType,
		AddressType: g.AddressType, Health: g.Health}
}
